"""One video of a run, from its frames to its copy."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from ssd_detect.errors import SettingError, VideoError
from ssd_detect.formats.video_head import VideoHead
from ssd_detect.media.detecting import Detect
from ssd_detect.media.sources.inputs import SourceKind
from ssd_detect.media.video.encoding import container_of
from ssd_detect.media.video.frames import Frame, FrameSource, VideoInfo
from ssd_detect.media.video.reader import VideoReader
from ssd_detect.media.video.record_writer import RecordWriter
from ssd_detect.media.video.run import VideoRun
from ssd_detect.media.video.selection import Chosen, rate_time_base
from ssd_detect.media.video.sources.opening import open_source
from ssd_detect.media.video.writer import VideoWriter
from ssd_detect.settings import Selection
from ssd_detect.stages import StageTimes
from ssd_detect.videos.frame_outputs import FrameOutputs
from ssd_detect.videos.outcome import VideoOutcome
from ssd_detect.videos.place import Place
from ssd_detect.videos.settings import VideoJobSettings


@dataclass(frozen=True)
class VideoHooks:
    """What the caller does and hears while a video is done.

    Args:
        load: gives the detector; called after everything that is cheap has been checked.
        progress: of a video's name and its likely number of frames; gives what is called after each frame.
        on_head: told of a video before its records.
        on_record: told of each frame's record, in order.
        on_note: told what there is to know of how a video is read or written: its name and a short clause.
        should_stop: asked now and then; True ends the run in good order.
    """

    load: Callable[[], Detect]
    progress: Callable[[str, int | None], AbstractContextManager[Callable[[], None]]]
    on_head: Callable[[VideoHead], None] = lambda head: None
    on_record: Callable[[Mapping[str, Any]], None] = lambda record: None
    on_note: Callable[[str, str], None] = lambda name, note: None
    should_stop: Callable[[], bool] = lambda: False


class _StoppedEarlyError(Exception):
    """The run was to stop before the first frame."""


def do_video(place: Place, settings: VideoJobSettings, hooks: VideoHooks, times: StageTimes) -> VideoOutcome | None:
    """Do one video; frames that an earlier run did are not done again. None if it was to stop before the first frame.

    Raises:
        VideoError: it cannot be read, or has no frames where it should.
        OutputError: something cannot be written; whole segments stay in the place's store.
        CheckpointError, SettingError, DeviceError: as `Detector`.
    """
    try:
        with place.store, _opened(place, settings) as source:
            outcome = _OneVideo(place, settings, hooks, times, source).do()
    except _StoppedEarlyError:
        place.leave()
        return None
    except BaseException:
        place.leave()
        raise
    if not outcome.interrupted:
        place.store.end(outcome.to_dict())
    return outcome


@contextmanager
def _opened(place: Place, settings: VideoJobSettings) -> Iterator[FrameSource]:
    source = settings.source
    if place.video.kind in (SourceKind.URL, SourceKind.STDIN):
        place.store.prepare()
        source = replace(source, spool=place.store.folder)
    with open_source(place.video, source) as frames:
        yield frames


class _OneVideo:
    """A video whose source is open."""

    def __init__(
        self, place: Place, settings: VideoJobSettings, hooks: VideoHooks, times: StageTimes, source: FrameSource
    ) -> None:
        self._place, self._hooks, self._times, self._source = place, hooks, times, source
        self._info = source.info
        if settings.keeps_up and not self._info.is_live:
            raise SettingError(
                f"{self._info.name}: --stride auto is for cameras and streams; give a number, such as --stride 5"
            )
        self._settings = _for_source(settings, place, self._info)
        self._selection = self._settings.selection
        self._copied = self._info  # what the copy is like
        if self._selection.rate is not None:
            rate = self._selection.rate
            self._copied = replace(self._info, rate=rate, time_base=rate_time_base(rate))
        head = VideoHead(self._info.name, (self._info.width, self._info.height), self._copied.rate)
        self._outcome = VideoOutcome(place, head, self._copied.time_base)

    def do(self) -> VideoOutcome:
        self._note(self._info.notes)
        with self._writer() as writer:
            if isinstance(writer, VideoWriter):
                self._note(_about_size(writer.size, self._info))
            self._note(known := writer.notes)
            self._through(writer)
            self._source.close()  # then the sound that it has put aside is whole
        self._note(tuple(note for note in writer.notes if note not in known))
        self._outcome.lost = "; ".join(filter(None, (self._source.losses, writer.losses))) or None
        return self._outcome

    def _note(self, notes: tuple[str, ...]) -> None:
        for note in notes:
            self._hooks.on_note(self._info.name, note)

    def _writer(self) -> VideoWriter | RecordWriter:
        place, settings = self._place, self._settings
        if place.target is None:
            return RecordWriter(self._copied, place.store)
        return VideoWriter(
            place.target,
            like=self._copied,
            encoding=settings.encoding,
            audio=settings.audio,
            covers=not settings.blur,  # a cover would show what is hidden in the frames
            from_start=self._selection.start is not None or self._info.is_live,
            overwrite=settings.products.overwrite or (settings.resume and place.may_replace),
            store=place.store,
            times=self._times,
        )

    def _through(self, writer: VideoWriter | RecordWriter) -> None:
        """All frames through detector and writer."""
        if not self._info.is_live:
            self._start()
        self._first_index = self._skip_to_begin()  # before the run, whose reading thread begins at once
        with self._hooks.progress(self._info.name, self._expected()) as advance:
            self._run().do(self._source, self._outputs(writer, advance).write)
        self._check_frames()
        self._outcome.interrupted = self._chosen.ended_early and self._hooks.should_stop()
        writer.ends_with_pictures = self._chosen.ended_early

    def _expected(self) -> int | None:
        """How many frames are still to come."""
        expected = expected_frames(self._info, self._selection)
        return None if expected is None else max(0, expected - self._place.store.num_frames)

    def _start(self) -> None:
        self._detect = self._hooks.load()
        self._hooks.on_head(self._outcome.head)
        self._pass_done()

    def _run(self) -> VideoRun:
        settings, is_live = self._settings, self._info.is_live
        return VideoRun(
            (lambda pictures: self._detect(pictures))
            if is_live
            else self._detect,  # live, it comes with the first frame
            self._choose,
            settings.group_size,
            self._selection.stride,
            interpolates=settings.interpolates and self._selection.stride > 1 and not is_live,
            newest_wins=is_live and not settings.keeps_up,
            keeps_up=settings.keeps_up,
            times=self._times,
        )

    def _outputs(self, writer: VideoWriter | RecordWriter, advance: Callable[[], None]) -> FrameOutputs:
        return FrameOutputs(
            name=self._info.name,
            key=self._place.video.key,
            begin=None if self._info.is_live else self._info.begin,
            settings=self._settings,
            sink=writer,
            summary=self._outcome.summary,
            times=self._times,
            on_record=self._hooks.on_record,
            on_frame=advance,
        )

    def _pass_done(self) -> None:
        """Report the frames that an earlier run did, so that all is as in one run."""
        for frame in self._place.store.frames():
            self._outcome.add_stored(frame)
            self._hooks.on_record(frame.record)

    def _choose(self, frames: Iterable[Frame]) -> Chosen:
        if self._info.is_live:  # what comes while the network is loaded is read and thrown away
            self._start()
        self._chosen = Chosen(
            frames,
            self._selection,
            begin=self._info.begin,
            first_index=self._first_index,
            num_done=self._place.store.num_frames,
            stop=self._hooks.should_stop,
        )
        return self._chosen

    def _skip_to_begin(self) -> int:
        """Let a file begin where the work does, if it can; returns the number of the first frame that comes then."""
        num_done, selection = self._place.store.num_frames, self._selection
        if not isinstance(self._source, VideoReader):
            return 0
        if num_done and selection.rate is None and selection.max_seconds is None:
            last = self._place.store.last()
            self._source.begin_at((last.pts + 1) * self._info.time_base, seek=False)
            return num_done
        if selection.start is not None:
            self._source.begin_at(self._info.begin + selection.start, seek=True)
        return 0

    def _check_frames(self) -> None:
        if self._outcome.summary.num_frames:
            return
        if self._hooks.should_stop():
            raise _StoppedEarlyError
        raise VideoError(f"{self._info.name}: has no frame in the part that was asked for")


def _for_source(settings: VideoJobSettings, place: Place, info: VideoInfo) -> VideoJobSettings:
    """The settings as this source and this kind of file need them."""
    selection = settings.selection
    if selection.rate is None and place.target is not None and container_of(place.target).fixed_rate:
        selection = replace(selection, rate=info.rate)
    return replace(settings, selection=selection, batch_size=1 if info.is_live else settings.batch_size)


def _about_size(size: tuple[int, int], info: VideoInfo) -> tuple[str, ...]:
    if size == (info.width, info.height):
        return ()
    return (
        f"{info.width}x{info.height} becomes {size[0]}x{size[1]}, since the codec needs even sides: "
        "the last row or column is repeated",
    )


def expected_frames(info: VideoInfo, selection: Selection) -> int | None:
    """How many frames there will be, as far as the source tells; None when it does not."""
    if info.frame_count is None:
        return selection.max_frames
    seconds = info.frame_count / info.rate
    start = min(selection.start or Fraction(0), seconds)
    length = min(selection.end or seconds, seconds) - start
    if selection.max_seconds is not None:
        length = min(length, selection.max_seconds)
    count = round(length * info.rate)
    if selection.rate is not None and count:  # as `at_rate` counts: the last frame is shown at the tick nearest to it
        count = max(round(length * selection.rate), round((length - 1 / info.rate) * selection.rate) + 1)
    return count if selection.max_frames is None else min(count, selection.max_frames)
