"""A run from its inputs to its summary, video by video."""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ssd_detect.errors import (
    CheckpointError,
    DeviceError,
    ExitStatus,
    MissingPackageError,
    OutputError,
    SettingError,
    SsdDetectError,
)
from ssd_detect.files import check_target
from ssd_detect.formats.frame_writer import FrameFileWriter
from ssd_detect.formats.frames_csv import FrameCsvWriter
from ssd_detect.formats.frames_jsonl import FrameJsonLinesWriter
from ssd_detect.formats.provenance import Provenance
from ssd_detect.formats.video_head import VideoHead
from ssd_detect.formats.video_summary import VideoResult, write_video_summaries
from ssd_detect.media.detecting import Detect
from ssd_detect.media.video.encoding import choose_encoder
from ssd_detect.media.video.sources.inputs import FoundVideos
from ssd_detect.stages import StageTimes
from ssd_detect.videos.one import VideoHooks, do_video
from ssd_detect.videos.outcome import VideoOutcome, outcome_of
from ssd_detect.videos.place import Place, check_shared, place_of
from ssd_detect.videos.settings import VideoJobSettings
from ssd_detect.videos.summary import JobSummary

if TYPE_CHECKING:
    from ssd_detect.detector import Detector

_ENDS_THE_RUN = (CheckpointError, DeviceError, SettingError, MissingPackageError)


@dataclass(frozen=True)
class VideoJobHooks:
    """What the caller does and hears.

    Args:
        load: makes the detector, as a context manager; called once, after everything that is cheap has been checked.
        progress: as in `VideoHooks`.
        on_start: told where results come from, before the first of them.
        on_head, on_record, on_note, should_stop: as in `VideoHooks`.
        on_outcome: told of each video that is done.
        on_failure: told of each input that fails: why.
    """

    load: Callable[[StageTimes], AbstractContextManager["Detector"]]
    progress: Callable[[str, int | None], AbstractContextManager[Callable[[], None]]]
    on_outcome: Callable[[VideoOutcome], None]
    on_failure: Callable[[SsdDetectError], None]
    on_start: Callable[[Provenance], None] = lambda provenance: None
    on_head: Callable[[VideoHead], None] = lambda head: None
    on_record: Callable[[Mapping[str, Any]], None] = lambda record: None
    on_note: Callable[[str, str], None] = lambda name, note: None
    should_stop: Callable[[], bool] = lambda: False


class VideoJob:
    """Everything that inputs and settings ask for.

    Args:
        found: the inputs.
        settings: what to make of them.
        hooks: the caller's part.
        times: gets the seconds of each stage; None makes a new one.
    """

    def __init__(
        self, found: FoundVideos, settings: VideoJobSettings, hooks: VideoJobHooks, times: StageTimes | None = None
    ) -> None:
        self._found, self._settings, self._hooks = found, settings, hooks
        self._times = times or StageTimes()
        self._detector: Detector | None = None
        self._outcomes: list[VideoOutcome] = []
        self._may_replace = False
        self._was_stopped = False
        self.summary = JobSummary(num_skipped=found.num_skipped)
        self.written: list[Path] = []
        """The files of all videos that are whole."""
        self.can_resume = False
        """Whether another run can go on where this one was stopped."""
        for error in found.errors:
            self._fail(str(error).split(": ")[0], error)

    @property
    def picture_folders(self) -> list[Path]:
        """Where crops and snapshots of videos that are done went."""
        folders = self._settings.products.crops, self._settings.products.snapshots
        return [folder for folder in folders if self._outcomes and folder is not None and folder.is_dir()]

    def run(self) -> ExitStatus:
        """Do it; returns how it ended.

        Raises:
            OutputError: a file that all videos share may not be written.
            CheckpointError, SettingError, DeviceError: as `Detector`, and for a codec that is not there.
        """
        places = self._possible()
        self.can_resume = any(place.can_resume for place in places)
        is_begun = self._settings.resume and any(place.is_begun for place in places)
        self._may_replace = self._settings.products.overwrite or is_begun  # what is there is of the run that goes on
        self._check_shared(places)
        is_through = False
        try:
            self._do_all(places)
            is_through = True
        finally:
            self._tidy(places, is_through)
        return self._status()

    def _do_all(self, places: list[Place]) -> None:
        with ExitStack() as stack:
            for place in places:
                if self._hooks.should_stop():
                    self._was_stopped = True
                    break
                self._do(place, stack)
            if self._outcomes and self._detector is not None:
                self._write_shared(_provenance(self._detector, self._settings))

    def _possible(self) -> list[Place]:
        """The videos that can be done, as far as that is known before any is opened."""
        places = self._without_own_results([place_of(video, self._settings) for video in self._found.inputs])
        return [place for place in places if self._is_possible(place)]

    def _without_own_results(self, places: list[Place]) -> list[Place]:
        """Leave out videos that are the copies of others, from an earlier run into a folder among the inputs."""
        if self._settings.products.file is not None:
            return places
        copies = {place.target.resolve(): place for place in places if place.target is not None}
        kept = []
        for place in places:
            path = place.video.path
            made_from = copies.get(path.resolve()) if path is not None else None
            if made_from is None or made_from is place:
                kept.append(place)
        self.summary.num_skipped += len(places) - len(kept)
        return kept

    def _check_shared(self, places: list[Place]) -> None:
        """A file of all videos must not be written anew when what it says of one of them is known to nobody else."""
        products, resume = self._settings.products, self._settings.resume
        forgotten = [p for p in places if resume and p.is_done(products.overwrite) and p.store.ended is None]
        if forgotten and len(forgotten) == len(places):
            return  # none of them is written
        check_shared(products, _named(places), overwrite=self._may_replace)
        if forgotten and products.shared:
            raise OutputError(
                f"{products.shared[0]}: cannot be completed, since what was found in {forgotten[0].video.name} is not "
                f"kept and {forgotten[0].target} is there already; use --overwrite, or name the other inputs only"
            )

    def _is_possible(self, place: Place) -> bool:
        settings, target = self._settings, place.target
        if target is None:
            return True
        try:
            choose_encoder(target, settings.encoding)
            check_target(target, place.video.path, overwrite=settings.products.overwrite or settings.resume)
        except _ENDS_THE_RUN:
            raise
        except SsdDetectError as error:
            self._fail(place.video.name, error)
            return False
        return True

    def _do(self, place: Place, stack: ExitStack) -> None:
        try:
            with place.held_alone():
                outcome = self._known(place, stack) if place.prepare(self._settings) else self._made(place, stack)
        except _ENDS_THE_RUN:
            raise
        except SsdDetectError as error:
            self._fail(place.video.name, error)
            return
        if outcome is not None:
            self._outcomes.append(outcome)
            self.summary.add(outcome)
            self._hooks.on_outcome(outcome)

    def _made(self, place: Place, stack: ExitStack) -> VideoOutcome | None:
        hooks = VideoHooks(
            load=lambda: self._load(stack),
            progress=self._hooks.progress,
            on_head=self._hooks.on_head,
            on_record=self._hooks.on_record,
            on_note=self._hooks.on_note,
            should_stop=self._hooks.should_stop,
        )
        outcome = do_video(place, self._settings, hooks, self._times)
        self._was_stopped |= outcome is None or outcome.interrupted
        return outcome

    def _load(self, stack: ExitStack) -> Detect:
        if self._detector is None:
            self._detector = stack.enter_context(self._hooks.load(self._times))
            self._hooks.on_start(_provenance(self._detector, self._settings))
        return self._detector

    def _known(self, place: Place, stack: ExitStack) -> VideoOutcome | None:
        """What an earlier run finished; None if it left nothing but the copy."""
        self.summary.num_known += 1
        if place.store.ended is None:
            self._hooks.on_note(str(place.target), "is there already and is left as it is (--overwrite makes it anew)")
            return None
        self._load(stack)  # which says where the results come from
        outcome = outcome_of(place)
        self._hooks.on_head(outcome.head)
        for frame in place.store.frames():
            self._hooks.on_record(frame.record)
        return outcome

    def _write_shared(self, provenance: Provenance) -> None:
        """The files of all videos, from their stores."""
        products = self._settings.products
        overwrite = self._may_replace
        if products.json_lines is not None:
            self._write_frames(FrameJsonLinesWriter(products.json_lines, provenance, overwrite=overwrite))
        if products.csv is not None:
            self._write_frames(FrameCsvWriter(products.csv, overwrite=overwrite))
        if products.summary is not None:
            results = [VideoResult(o.head, o.summary, o.lost, o.interrupted) for o in self._outcomes]
            write_video_summaries(products.summary, results, provenance, overwrite=overwrite)
        self.written = products.shared

    def _write_frames(self, writer: FrameFileWriter) -> None:
        with writer:
            for outcome in self._outcomes:
                writer.begin(outcome.head)
                for frame in outcome.place.store.frames():
                    writer.append(frame.record)

    def _tidy(self, places: list[Place], is_through: bool) -> None:
        """Keep of the stores what another run needs to go on."""
        interrupted = {id(outcome.place) for outcome in self._outcomes if outcome.interrupted}
        is_whole = is_through and not self._was_stopped and not self.summary.failures
        for place in places:
            with suppress(OutputError), place.held_alone():  # another run may be at it by now
                if id(place) in interrupted:
                    place.keep_for_later()
                elif is_whole or (place.store.ended is not None and not self._is_to_be_told_again(place)):
                    place.clear()

    def _is_to_be_told_again(self, place: Place) -> bool:
        """Whether another run needs more of a finished video than that its copy is there."""
        products = self._settings.products
        return bool(products.shared) or products.streams or products.overwrite or place.target is None

    def _fail(self, name: str, error: SsdDetectError) -> None:
        self.summary.failures.append(name)
        self._hooks.on_failure(error)

    def _status(self) -> ExitStatus:
        return ExitStatus.INTERRUPTED if self._was_stopped else self.summary.status()


def _provenance(detector: "Detector", settings: VideoJobSettings) -> Provenance:
    reported = detector.settings.with_classes_of(settings.detection)
    return Provenance(detector.checkpoint_name, detector.checkpoint_sha256, reported, settings.session.precision)


def _named(places: list[Place]) -> dict[Path, str]:
    """Every file that no other output may be."""
    named = {place.video.path: "an input" for place in places if place.video.path is not None}
    return named | {place.target: "an annotated copy" for place in places if place.target is not None}
