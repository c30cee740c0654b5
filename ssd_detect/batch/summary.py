"""What came of a run, in numbers and in one line."""

from collections import Counter
from dataclasses import dataclass, field

from ssd_detect.batch.journal import Finished
from ssd_detect.errors import ExitStatus, SsdDetectError
from ssd_detect.formats.record import PictureRecord

_MOST_FAILURES_NAMED = 5


@dataclass
class RunSummary:
    """Counts so far.

    Args:
        num_done: pictures whose results are written, those of an earlier run included.
        num_resumed: of them, those of the earlier run.
        num_skipped: files in folders that are no pictures.
        objects: class name -> detections.
        failures: name of each input that failed, and why.
    """

    num_done: int = 0
    num_resumed: int = 0
    num_skipped: int = 0
    objects: Counter[str] = field(default_factory=Counter)
    failures: list[tuple[str, SsdDetectError]] = field(default_factory=list)

    def add(self, record: PictureRecord, *, resumed: bool = False) -> None:
        """Count a picture that is done."""
        self.num_done += 1
        self.num_resumed += resumed
        self.objects.update(found.class_name for found in record.detections)

    def add_finished(self, entry: Finished) -> None:
        """Count a picture that an earlier run has done and nobody has to look at again."""
        self.num_done += 1
        self.num_resumed += 1
        self.objects.update(found["class"] for found in entry.values["detections"])

    def status(self) -> ExitStatus:
        """Done, failed, or some of both."""
        if not self.failures:
            return ExitStatus.DONE
        return ExitStatus.SOME_FAILED if self.num_done else ExitStatus.FAILED

    def line(self, seconds: float) -> str:
        """For a person: pictures, objects by class, failures by name, time and rate."""
        objects = ", ".join(f"{name} {count}" for name, count in self.objects.most_common()) or "none"
        parts = [f"{_pictures(self.num_done)} done, objects: {objects}"]
        if self.num_resumed:
            parts.append(f"{self.num_resumed} of them in an earlier run")
        if self.failures:
            names = [name for name, _ in self.failures]
            more = ", …" if len(names) > _MOST_FAILURES_NAMED else ""
            parts.append(f"{len(names)} failed: {', '.join(names[:_MOST_FAILURES_NAMED])}{more}")
        if self.num_skipped:
            parts.append(f"{self.num_skipped} other files skipped")
        rate = (self.num_done - self.num_resumed) / seconds if seconds > 0 else 0.0
        parts.append(f"{seconds:.1f} s, {rate:.2f} pictures/s")
        return "; ".join(parts)


def _pictures(count: int) -> str:
    return "1 picture" if count == 1 else f"{count} pictures"
