"""What came of a run over videos, in numbers and in one line."""

from collections import Counter
from dataclasses import dataclass, field

from ssd_detect.errors import ExitStatus
from ssd_detect.videos.outcome import VideoOutcome

_MOST_FAILURES_NAMED = 5


@dataclass
class JobSummary:
    """Counts so far.

    Args:
        num_done: videos that are done or broken off, but for those that were left as they are.
        num_frames: of them, with those of an earlier run.
        num_new_frames: of this run.
        num_known: videos that an earlier run has finished.
        num_skipped: files in folders that are no videos, or results of an earlier run.
        num_damaged: videos of which something was lost.
        objects: class name -> detections in all frames.
        failures: name of each input that failed.
    """

    num_done: int = 0
    num_frames: int = 0
    num_new_frames: int = 0
    num_known: int = 0
    num_skipped: int = 0
    num_damaged: int = 0
    objects: Counter[str] = field(default_factory=Counter)
    failures: list[str] = field(default_factory=list)

    def add(self, outcome: VideoOutcome) -> None:
        """Count a video."""
        self.num_done += 1
        self.num_frames += outcome.summary.num_frames
        self.num_new_frames += outcome.num_new_frames
        self.num_damaged += outcome.lost is not None
        self.objects.update(outcome.summary.objects)

    def status(self) -> ExitStatus:
        """Done, failed, or some of both."""
        if self.failures:
            return ExitStatus.SOME_FAILED if self.num_done or self.num_known else ExitStatus.FAILED
        return ExitStatus.SOME_FAILED if self.num_damaged else ExitStatus.DONE

    def line(self, seconds: float) -> str:
        """For a person: videos, frames, objects by class, failures by name, time and rate."""
        objects = ", ".join(f"{name} {count}" for name, count in self.objects.most_common()) or "none"
        parts = [f"{_videos(self.num_done)} done, {self.num_frames} frames, objects: {objects}"]
        if self.num_known:
            parts.append(f"{self.num_known} done in an earlier run")
        if self.failures:
            more = ", …" if len(self.failures) > _MOST_FAILURES_NAMED else ""
            parts.append(f"{len(self.failures)} failed: {', '.join(self.failures[:_MOST_FAILURES_NAMED])}{more}")
        if self.num_damaged:
            parts.append(f"{self.num_damaged} damaged")
        if self.num_skipped:
            parts.append(f"{self.num_skipped} other files skipped")
        rate = self.num_new_frames / seconds if seconds > 0 else 0.0
        parts.append(f"{seconds:.1f} s, {rate:.1f} frames/s")
        return "; ".join(parts)


def _videos(count: int) -> str:
    return "1 video" if count == 1 else f"{count} videos"
