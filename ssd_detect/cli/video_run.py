"""What `ssd-detect video` does with its options: the job's settings, the run, and telling of it."""

import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ssd_detect.cli.interrupt import stop_on_interrupt
from ssd_detect.cli.options import RunSettings, check_class_names
from ssd_detect.cli.progress import counted_progress
from ssd_detect.environment import silence_encoders
from ssd_detect.errors import ExitStatus, SettingError
from ssd_detect.media.sources.inputs import SourceKind
from ssd_detect.media.video.sources.inputs import FoundVideos, find_videos
from ssd_detect.media.video.sources.settings import SourceSettings
from ssd_detect.settings import EncodingSettings, Selection
from ssd_detect.videos.settings import Products, VideoJobSettings

if TYPE_CHECKING:
    from ssd_detect.detector import Detector
    from ssd_detect.formats.frames_jsonl import FrameJsonLinesStream
    from ssd_detect.formats.provenance import Provenance
    from ssd_detect.formats.video_head import VideoHead
    from ssd_detect.stages import StageTimes
    from ssd_detect.videos.job import VideoJob
    from ssd_detect.videos.outcome import VideoOutcome

_STDOUT = Path("-")


@dataclass(frozen=True)
class VideoOptions:
    """The options of `video` itself; see its help. `stride` is None for `auto`."""

    output: Path | None
    recursive: bool
    no_video: bool
    jsonl: Path | None
    csv: Path | None
    summary: Path | None
    crops: Path | None
    snapshot_every: int | None
    snapshots: Path | None
    start: Fraction | None
    end: Fraction | None
    max_seconds: Fraction | None
    max_frames: int | None
    stride: int | None
    between: str
    fps: Fraction | None
    codec: str | None
    crf: int | None
    no_audio: bool
    no_labels: bool
    blur: tuple[str, ...]
    timeout: float
    reconnects: int
    resume: bool
    overwrite: bool


def run_videos(arguments: tuple[str, ...], chosen: VideoOptions, run: RunSettings) -> ExitStatus:
    """Find the inputs, do them, say what came of it."""
    if not run.talk.verbose:
        silence_encoders()
    check_class_names(run.checkpoint, chosen.blur)
    names, file = _inputs_and_output(arguments, chosen)
    found = find_videos(names, recursive=chosen.recursive)
    if file is not None and len(found.inputs) > 1:
        raise SettingError(f"{len(found.inputs)} videos cannot go into one file, {file}; give -o FOLDER instead")
    settings = _job_settings(found, file, chosen, run)
    with stop_on_interrupt(run.talk) as stopping:
        return _run(found, settings, chosen, run, stopping)


def _inputs_and_output(arguments: tuple[str, ...], chosen: VideoOptions) -> tuple[tuple[str, ...], Path | None]:
    if chosen.output is not None and chosen.no_video:
        raise SettingError("-o FOLDER is for annotated copies, which --no-video leaves out; leave one of them out")
    if chosen.no_video:
        if not (chosen.jsonl or chosen.csv or chosen.summary or chosen.crops or chosen.snapshot_every):
            raise SettingError("--no-video leaves nothing to write; add --jsonl, --csv, --summary, --crops or the like")
        return arguments, None
    if chosen.output is not None:
        return arguments, None
    if len(arguments) > 1 and (arguments[-1].endswith(("/", os.sep)) or Path(arguments[-1]).is_dir()):
        raise SettingError(f"{arguments[-1]}: is a folder; give it as -o {arguments[-1]}")
    if len(arguments) != 2:
        count = "1 name" if len(arguments) == 1 else f"{len(arguments)} names"
        raise SettingError(
            f"got {count}, expected an input and an output (IN OUT), or inputs and a folder (IN... -o FOLDER)"
        )
    return arguments[:1], Path(arguments[1])


def _job_settings(found: FoundVideos, file: Path | None, chosen: VideoOptions, run: RunSettings) -> VideoJobSettings:
    is_sequence = any(video.kind is SourceKind.SEQUENCE for video in found.inputs)
    return VideoJobSettings(
        checkpoint=run.checkpoint,
        detection=run.detection,
        session=run.session,
        batch_size=run.batch_size,
        products=_products(file, chosen),
        source=SourceSettings(
            timeout_seconds=chosen.timeout,
            reconnects=chosen.reconnects,
            sequence_rate=(chosen.fps if is_sequence else None) or SourceSettings.sequence_rate,
        ),
        selection=Selection(
            start=chosen.start,
            end=chosen.end,
            max_seconds=chosen.max_seconds,
            max_frames=chosen.max_frames,
            rate=chosen.fps,
            stride=chosen.stride or 1,
        ),
        encoding=EncodingSettings(chosen.codec, chosen.crf),
        audio=not chosen.no_audio,
        labels=not chosen.no_labels,
        blur=chosen.blur,
        interpolates=chosen.between == "interpolate",
        keeps_up=chosen.stride is None,
        resume=chosen.resume,
    )


def _products(file: Path | None, chosen: VideoOptions) -> Products:
    if chosen.snapshots is not None and chosen.snapshot_every is None:
        raise SettingError("--snapshots needs to know how many; add --snapshot-every N")
    beside = (file.parent if file is not None else chosen.output) or Path()
    snapshots = (chosen.snapshots or beside / "snapshots") if chosen.snapshot_every else None
    return Products(
        folder=chosen.output,
        file=file,
        video=not chosen.no_video,
        json_lines=None if chosen.jsonl == _STDOUT else chosen.jsonl,
        csv=chosen.csv,
        summary=chosen.summary,
        crops=chosen.crops,
        snapshots=snapshots,
        snapshot_every=chosen.snapshot_every,
        overwrite=chosen.overwrite,
        streams=chosen.jsonl == _STDOUT,
    )


def _run(
    found: FoundVideos, settings: VideoJobSettings, chosen: VideoOptions, run: RunSettings, stopping: Callable[[], bool]
) -> ExitStatus:
    from ssd_detect.videos.job import VideoJob, VideoJobHooks

    telling = _Telling(run, settings, json_on_stdout=chosen.jsonl == _STDOUT)
    job = VideoJob(
        found,
        settings,
        VideoJobHooks(
            load=telling.open,
            progress=telling.progress,
            on_outcome=telling.outcome,
            on_failure=lambda error: run.talk.failure(str(error)),
            on_start=telling.start,
            on_head=telling.head,
            on_record=telling.record,
            on_note=telling.note,
            should_stop=stopping,
        ),
    )
    begin = time.monotonic()
    status = job.run()
    telling.end(job, status)
    if len(found.inputs) > 1:
        run.talk.note(job.summary.line(time.monotonic() - begin))
    return status


@contextmanager
def _explained_stdout() -> Iterator[None]:
    """What nobody takes ends the run, unlike an output of one video that cannot be written."""
    try:
        yield
    except OSError as error:
        raise click.ClickException(f"standard output: cannot be written: {error.strerror or error}") from error


class _Telling:
    """Prints results as they come."""

    def __init__(self, run: RunSettings, settings: VideoJobSettings, *, json_on_stdout: bool) -> None:
        self._run, self._settings, self._json_on_stdout = run, settings, json_on_stdout
        self._talk = run.talk
        self._json_lines: FrameJsonLinesStream | None = None
        self._detector: Detector | None = None

    def open(self, times: "StageTimes") -> "Detector":
        """Load the detector."""
        from ssd_detect.cli.startup import open_detector

        self._detector = open_detector(replace(self._run, detection=self._settings.detected), times)
        return self._detector

    def start(self, provenance: "Provenance") -> None:
        """Results come from there."""
        from ssd_detect.formats.frames_jsonl import FrameJsonLinesStream

        if self._json_on_stdout:
            self._json_lines = FrameJsonLinesStream(sys.stdout, provenance)

    def head(self, head: "VideoHead") -> None:
        """The next records are of this video."""
        if self._json_lines is not None:
            with _explained_stdout():
                self._json_lines.begin(head)

    def record(self, record: Mapping[str, Any]) -> None:
        """A frame is done."""
        if self._json_lines is not None:
            with _explained_stdout():
                self._json_lines.append(record)

    def note(self, name: str, note: str) -> None:
        """Say how a video was read or written."""
        self._talk.note(f"{click.format_filename(name)}: {note}")

    def progress(self, name: str, total: int | None) -> AbstractContextManager[Callable[[], None]]:
        """The bar of one video."""
        return counted_progress(total, "frames", self._talk)

    def outcome(self, outcome: "VideoOutcome") -> None:
        """What was found in a video, where it went, and what was missing."""
        name = click.format_filename(Path(outcome.head.file).name or outcome.head.file)
        summary = outcome.summary
        frames = "1 frame" if summary.num_frames == 1 else f"{summary.num_frames} frames"
        self._tell(f"{name}: {frames}, {summary.seconds:.1f} s, objects: {self._objects(outcome)}")
        if outcome.place.target is not None:
            self._tell(f"saved {click.format_filename(outcome.place.target)}")
        if outcome.lost is not None:
            self._talk.failure(
                f"{click.format_filename(outcome.head.file)}: {outcome.lost}; all that could be read is done"
            )

    def _objects(self, outcome: "VideoOutcome") -> str:
        summary = outcome.summary
        found = ", ".join(f"{name} {count}" for name, count in summary.objects.most_common())
        guess = summary.best_guess
        if found or guess is None:
            return found or "none"
        return f"none above {self._run.score_limit} (best: {guess.class_name} {guess.score:.3f})"

    def _tell(self, line: str) -> None:
        with _explained_stdout():
            self._talk.result(line, err=self._json_on_stdout)

    def end(self, job: "VideoJob", status: ExitStatus) -> None:
        """Where the rest went, and how long it took."""
        from ssd_detect.cli.startup import tell_stage_times

        for path in job.written:
            self._tell(f"saved {click.format_filename(path)}")
        for folder in job.picture_folders:
            self._tell(f"saved pictures in {click.format_filename(folder)}")
        if status is ExitStatus.INTERRUPTED:
            more = "; the same command with --resume goes on" if job.can_resume else ""
            self._talk.note(f"Stopped before the end{more}.")
        if self._detector is not None:
            tell_stage_times(self._detector, self._talk)
