"""What `ssd-detect image` does with its options: the job's settings, the run, and telling of it."""

import os
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ssd_detect.batch.settings import JobSettings
from ssd_detect.cli.interrupt import stop_on_interrupt
from ssd_detect.cli.options import RunSettings, check_class_names
from ssd_detect.cli.progress import counted_progress
from ssd_detect.errors import ExitStatus, SettingError
from ssd_detect.media.sources.inputs import FoundInputs, find_inputs
from ssd_detect.media.sources.urls import is_url
from ssd_detect.settings import DetectionSettings, FetchSettings

if TYPE_CHECKING:
    from ssd_detect.batch.summary import RunSummary
    from ssd_detect.detector import Detector
    from ssd_detect.formats.jsonl import JsonLinesStream
    from ssd_detect.formats.record import PictureRecord
    from ssd_detect.stages import StageTimes

_FILE_SUFFIXES = (".jpg", ".jpeg", ".png", ".webp", ".tif", ".tiff", ".bmp", ".csv", ".json", ".jsonl", ".xml", ".txt")


@dataclass(frozen=True)
class ImageSettings:
    """The options of `image` itself; see its help."""

    output: str | None
    formats: tuple[str, ...]
    json_target: str | None
    coco_images: Path | None
    sha256: bool
    no_labels: bool
    blur: tuple[str, ...]
    recursive: bool
    resume: bool
    strict: bool
    max_pixels: int
    overwrite: bool
    fetch: FetchSettings


def run_images(arguments: Sequence[str], chosen: ImageSettings, run: RunSettings) -> ExitStatus:
    """Find the inputs, do them, say what came of it."""
    check_class_names(run.checkpoint, chosen.blur)
    if chosen.coco_images is not None and "coco" not in chosen.formats:
        raise SettingError("--coco-images is for the coco format; add -f coco")
    start = time.monotonic()
    found = find_inputs(arguments, recursive=chosen.recursive)
    settings = _job_settings(arguments, chosen, run)
    with stop_on_interrupt(run.talk) as stopping:
        summary = _run(found, settings, chosen, run, stopping)
        if len(found.inputs) + len(found.errors) > 1 or found.num_skipped:
            run.talk.note(summary.line(time.monotonic() - start))
            if stopping():
                run.talk.note("Stopped before the end; the same command with --resume goes on.")
        return ExitStatus.INTERRUPTED if stopping() else summary.status()


def _run(
    found: FoundInputs, settings: JobSettings, chosen: ImageSettings, run: RunSettings, stopping: Callable[[], bool]
) -> "RunSummary":
    from ssd_detect.batch.job import JobHooks, PictureJob

    telling = _Telling(run, several=len(found.inputs) > 1, json_on_stdout=chosen.json_target == "-")
    with counted_progress(len(found.inputs), "pictures", run.talk) as advance:

        def on_record(record: "PictureRecord", targets: list[Path]) -> None:
            telling.record(record, targets)
            advance()

        hooks = JobHooks(
            load=lambda times: telling.open(replace(run, detection=settings.detected), run.detection, times),
            on_record=on_record,
            on_failure=lambda name, error: run.talk.failure(str(error)),
            on_note=telling.note,
            should_stop=stopping,
        )
        job = PictureJob(found, settings, hooks)
        summary = job.run()
    telling.end(job.shared_targets)
    return summary


def _job_settings(arguments: Sequence[str], chosen: ImageSettings, run: RunSettings) -> JobSettings:
    folder, file = _place(arguments, chosen)
    on_disk = chosen.json_target not in (None, "-")
    return JobSettings(
        checkpoint=run.checkpoint,
        detection=run.detection,
        session=run.session,
        batch_size=run.batch_size,
        folder=folder,
        file=file,
        formats=tuple(dict.fromkeys(chosen.formats)),
        json_lines=Path(str(chosen.json_target)) if on_disk else None,
        coco_images=chosen.coco_images,
        sha256=chosen.sha256,
        labels=not chosen.no_labels,
        blur=chosen.blur,
        resume=chosen.resume,
        strict=chosen.strict,
        overwrite=chosen.overwrite,
        max_pixels=chosen.max_pixels,
        fetch=chosen.fetch,
    )


def _place(arguments: Sequence[str], chosen: ImageSettings) -> tuple[Path, Path | None]:
    """The folder of all results and, where one picture was named and one file asked for, that file."""
    if chosen.output is None:
        return Path(), None
    output = Path(chosen.output)
    names_folder = chosen.output.endswith(("/", os.sep)) or output.is_dir() or not output.suffix
    if _names_one_picture(arguments) and not names_folder and chosen.formats == ("image",):
        return output.parent, output
    if output.is_file() or (output.suffix.lower() in _FILE_SUFFIXES and not names_folder):
        raise SettingError(f"{output}: names a file, expected a folder for these results (with / at its end)")
    return output, None


def _names_one_picture(arguments: Sequence[str]) -> bool:
    """Whether a single picture is named, and not a folder, a list or a glob, which may bring any number."""
    (first, *rest) = arguments
    plain = Path(first).is_file() or (not set("*?[@") & set(first) and not Path(first).is_dir())
    return not rest and (first == "-" or is_url(first) or plain)


class _Telling:
    """Prints results as they come."""

    def __init__(self, run: RunSettings, *, several: bool, json_on_stdout: bool) -> None:
        self._talk = run.talk
        self._limit = run.score_limit
        self._several = several
        self._json_on_stdout = json_on_stdout
        self._json_lines: JsonLinesStream | None = None
        self._detector: Detector | None = None
        self._told: set[str] = set()

    def note(self, name: str, note: str) -> None:
        """Say how a picture was read; what was said of another one before, only under --verbose."""
        tell = self._talk.detail if note in self._told else self._talk.note
        tell(f"{click.format_filename(name)}: {note}")
        self._told.add(note)

    def open(self, run: RunSettings, reported: DetectionSettings, times: "StageTimes") -> "Detector":
        """Load the detector."""
        from ssd_detect.cli.startup import open_detector
        from ssd_detect.formats.jsonl import JsonLinesStream
        from ssd_detect.formats.provenance import Provenance

        self._detector = detector = open_detector(run, times)
        if self._json_on_stdout:
            settings = detector.settings.with_classes_of(reported)
            provenance = Provenance(
                detector.checkpoint_name, detector.checkpoint_sha256, settings, run.session.precision
            )
            self._json_lines = JsonLinesStream(sys.stdout, provenance)
        return detector

    def record(self, record: "PictureRecord", targets: list[Path]) -> None:
        """The lines of one picture; each begins with its name when there are several."""
        if self._json_lines is not None:
            self._json_lines.append(record)
        start = f"{click.format_filename(record.file)}: " if self._several else ""
        for found in record.detections:
            box = " ".join(f"{v:.1f}" for v in found.box)
            self._tell(f"{start}{found.class_name} {found.score:.3f}  {box}")
        if len(record.detections) == 0:
            self._tell(start + self._nothing(record))
        if targets:
            self._tell(f"{start}saved {_names(targets)}")

    def _nothing(self, record: "PictureRecord") -> str:
        guess = record.detections.best_guess
        best = "" if guess is None else f"; best: {guess.class_name} {guess.score:.3f}"
        return f"nothing scored above {self._limit}{best}"

    def end(self, shared: list[Path]) -> None:
        """Where the rest went, and how long it took."""
        from ssd_detect.cli.startup import tell_stage_times

        if self._detector is None:
            return
        if shared:
            self._talk.note(f"saved {_names(shared)}")
        tell_stage_times(self._detector, self._talk)

    def _tell(self, line: str) -> None:
        self._talk.result(line, err=self._json_on_stdout)


def _names(paths: list[Path]) -> str:
    return ", ".join(click.format_filename(path) for path in paths)
