"""A run from its inputs to its summary, video by video."""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ssd_detect.errors import (
    CheckpointError,
    DeviceError,
    ExitStatus,
    MissingPackageError,
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
from ssd_detect.media.video.encoding import choose_encoder
from ssd_detect.media.video.sources.inputs import FoundVideos
from ssd_detect.stages import StageTimes
from ssd_detect.videos.one import Detect, VideoHooks, VideoOutcome, do_video, outcome_of
from ssd_detect.videos.place import Place, check_shared, place_of
from ssd_detect.videos.settings import VideoJobSettings

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
        self.outcomes: list[VideoOutcome] = []
        self.num_known = 0
        """Videos whose copies were there before this run, of which nothing else is known."""
        self.num_failed = 0
        for error in found.errors:
            self._fail(error)

    def run(self) -> ExitStatus:
        """Do it; returns how it ended.

        Raises:
            OutputError: a file that all videos share may not be written.
            CheckpointError, SettingError, DeviceError: as `Detector`, and for a codec that is not there.
        """
        places = self._possible()
        check_shared(self._settings.products, _named(places))
        with ExitStack() as stack:
            for place in places:
                if self._hooks.should_stop():
                    break
                self._do(place, stack)
            if self.outcomes and self._detector is not None:
                self._write_shared(_provenance(self._detector, self._settings))
        self._tidy(places)
        return self._status()

    def _possible(self) -> list[Place]:
        """The videos that can be done, as far as that is known before any is opened."""
        videos = self._found.inputs
        places = [place_of(video, self._settings, is_only=len(videos) == 1) for video in videos]
        return [place for place in places if self._is_possible(place)]

    def _is_possible(self, place: Place) -> bool:
        settings, target = self._settings, place.target
        if target is None:
            return True
        try:
            choose_encoder(target, settings.encoding)
            if not settings.resume:
                check_target(target, place.video.path, overwrite=settings.products.overwrite)
        except _ENDS_THE_RUN:
            raise
        except SsdDetectError as error:
            self._fail(error)
            return False
        return True

    def _do(self, place: Place, stack: ExitStack) -> None:
        try:
            outcome = self._known(place) if place.prepare(self._settings) else self._made(place, stack)
        except _ENDS_THE_RUN:
            raise
        except SsdDetectError as error:
            self._fail(error)
            return
        if outcome is not None:
            self.outcomes.append(outcome)
            self._hooks.on_outcome(outcome)

    def _made(self, place: Place, stack: ExitStack) -> VideoOutcome:
        hooks = VideoHooks(
            load=lambda: self._load(stack),
            progress=self._hooks.progress,
            on_head=self._hooks.on_head,
            on_record=self._hooks.on_record,
            on_note=self._hooks.on_note,
            should_stop=self._hooks.should_stop,
        )
        return do_video(place, self._settings, hooks, self._times)

    def _load(self, stack: ExitStack) -> Detect:
        if self._detector is None:
            self._detector = stack.enter_context(self._hooks.load(self._times))
            self._hooks.on_start(_provenance(self._detector, self._settings))
        return self._detector

    def _known(self, place: Place) -> VideoOutcome | None:
        """What an earlier run finished; None if it left nothing but the copy."""
        if place.store.ended is None:
            self.num_known += 1
            self._hooks.on_note(str(place.target), "is there already and is left as it is (--overwrite makes it anew)")
            return None
        outcome = outcome_of(place)
        self._hooks.on_head(outcome.head)
        for frame in place.store.frames():
            self._hooks.on_record(frame.record)
        return outcome

    def _write_shared(self, provenance: Provenance) -> None:
        """The files of all videos, from their stores."""
        products = self._settings.products
        overwrite = products.overwrite or self._settings.resume
        if products.json_lines is not None:
            self._write_frames(FrameJsonLinesWriter(products.json_lines, provenance, overwrite=overwrite))
        if products.csv is not None:
            self._write_frames(FrameCsvWriter(products.csv, overwrite=overwrite))
        if products.summary is not None:
            results = [VideoResult(o.head, o.summary, o.lost, o.interrupted) for o in self.outcomes]
            write_video_summaries(products.summary, results, provenance, overwrite=overwrite)

    def _write_frames(self, writer: FrameFileWriter) -> None:
        with writer:
            for outcome in self.outcomes:
                writer.begin(outcome.head)
                for frame in outcome.place.store.frames():
                    writer.append(frame.record)

    def _tidy(self, places: list[Place]) -> None:
        """Keep of the stores what another run needs to go on."""
        interrupted = {id(outcome.place) for outcome in self.outcomes if outcome.interrupted}
        is_whole = not self.num_failed and not self._is_broken_off
        for place in places:
            if id(place) in interrupted:
                place.keep_for_later()
            elif is_whole or (place.store.ended is not None and not self._settings.products.shared):
                place.clear()

    @property
    def _is_broken_off(self) -> bool:
        """Whether the run was stopped while there was something to do."""
        num_seen = len(self.outcomes) + self.num_known + self.num_failed
        is_cut = any(outcome.interrupted for outcome in self.outcomes)
        return is_cut or (self._hooks.should_stop() and num_seen < len(self._found.inputs))

    def _fail(self, error: SsdDetectError) -> None:
        self.num_failed += 1
        self._hooks.on_failure(error)

    def _status(self) -> ExitStatus:
        if self._hooks.should_stop() and (
            len(self.outcomes) < len(self._found.inputs) or self.outcomes[-1].interrupted
        ):
            return ExitStatus.INTERRUPTED
        if self.num_failed:
            return ExitStatus.SOME_FAILED if self.outcomes or self.num_known else ExitStatus.FAILED
        return ExitStatus.SOME_FAILED if any(outcome.lost for outcome in self.outcomes) else ExitStatus.DONE


def _provenance(detector: "Detector", settings: VideoJobSettings) -> Provenance:
    return Provenance(detector.checkpoint_name, detector.checkpoint_sha256, settings.detection)


def _named(places: list[Place]) -> dict[Path, str]:
    """Every file that no other output may be."""
    named = {place.video.path: "an input" for place in places if place.video.path is not None}
    return named | {place.target: "an annotated copy" for place in places if place.target is not None}
