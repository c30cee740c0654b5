"""Reading video files: every frame, upright, with its own time."""

from collections.abc import Generator, Iterator
from contextlib import ExitStack, closing
from fractions import Fraction
from os import PathLike
from pathlib import Path
from types import TracebackType

import av

from ssd_detect.errors import VideoError
from ssd_detect.media.video.clock import FrameTime
from ssd_detect.media.video.container import open_file, video_stream
from ssd_detect.media.video.frames import Frame, VideoInfo
from ssd_detect.media.video.packets import DecodedFrames
from ssd_detect.media.video.shown import ShownFrames

_TOLERATED_GAP = 0.5  # seconds by which files that are whole may end before the length that they claim
_WORTH_SEEKING = 5  # seconds; what lies before is decoded otherwise


class VideoReader:
    """A video file, to be iterated once: every frame in the order of its time. Close it, or use `with`.

    Frames are turned as the file's display matrix says; one of another size than the first is scaled to that.
    A time stamp that is missing or does not grow is moved behind the one before it. Damaged packets are left out;
    after the last frame `losses` says what is missing.

    Args:
        path: the file.

    Raises:
        VideoError: no such file, not a video, no video track, no frames; while iterating: over 100 damaged packets on
            end.
    """

    def __init__(self, path: str | PathLike[str]) -> None:
        self._path = Path(path)
        self._begin: Fraction | None = None
        with ExitStack() as stack:
            self._opened = stack
            self._container = stack.enter_context(open_file(self._path))
            self._stream = video_stream(self._container, str(path))
            self._stream.thread_type = "AUTO"
            self._decoded = DecodedFrames(self._container, self._stream, str(path))
            self._frames = stack.enter_context(closing(iter(self._decoded)))
            self._first = next(self._frames, None)
            if self._first is None and self._decoded.broke_at_end:
                self._reopen(threads=False)
                self._first = next(self._frames, None)
            if self._first is None:
                raise VideoError(f"{self._path}: no frame of its video track can be read; the file is damaged or empty")
            self._shown = ShownFrames(self._first[0], self._stream)
            self._claimed = self._claimed_length()
            self.info = self._describe()
            self._opened = stack.pop_all()

    def _claimed_length(self) -> Fraction:
        """Seconds; for an AVI the length that its head tells, since FFmpeg's own is that of what is there."""
        told = Fraction(max(0, self._container.duration or 0), av.time_base)
        if self._container.format.name == "avi":
            return max(told, self._stream.frames / self._decoded.rate)
        return told

    def _describe(self) -> VideoInfo:
        shown, rate = self._shown, self._decoded.rate
        return VideoInfo(
            name=str(self._path),
            width=shown.width,
            height=shown.height,
            rate=rate,
            time_base=self._decoded.time_base,
            frame_count=self._stream.frames or round(self._claimed * rate) or None,
            pixel_aspect=shown.pixel_aspect,
            colour=shown.colour,
            notes=shown.notes,
            companions=self._path,
            begin=Fraction(self._container.start_time or 0, av.time_base),
        )

    def begin_at(self, seconds: Fraction, *, seek: bool) -> None:
        """Leave out the frames that are shown before this second of the file's clock; call it before iterating.

        Args:
            seconds: the place.
            seek: jump there if that is possible. Else all frames before are decoded, which mends their time stamps
                just as reading the whole file does.
        """
        self._begin = seconds
        if seek and self._first is not None and seconds - self._first[1].start > _WORTH_SEEKING:
            self._seek(seconds)

    def _seek(self, seconds: Fraction) -> None:
        """Go to the last key frame before; back to the first frame if the file cannot do that."""
        decoded = DecodedFrames(self._container, self._stream, str(self._path))
        try:
            self._container.seek(round(seconds / decoded.time_base), stream=self._stream)
            frames = iter(decoded)
            first = next(frames, None)
        except (av.FFmpegError, VideoError):
            first = None
        if first is None or first[1].start > seconds or first[0].pts is None:
            self._reopen()
        else:
            self._decoded, self._frames, self._first = decoded, self._opened.enter_context(closing(frames)), first

    def _reopen(self, *, threads: bool = True) -> None:
        """Begin anew with the first frame."""
        self._container = self._opened.enter_context(open_file(self._path))
        self._stream = video_stream(self._container, str(self._path))
        self._stream.thread_type = "AUTO" if threads else "NONE"
        self._decoded = DecodedFrames(self._container, self._stream, str(self._path))
        self._frames, self._first = self._opened.enter_context(closing(iter(self._decoded))), None

    def __iter__(self) -> Iterator[Frame]:
        for frame, time in self._each():
            if self._begin is None or time.start >= self._begin:
                yield Frame(self._shown.pixels(frame), time)

    def _each(self) -> Generator[tuple[av.VideoFrame, FrameTime], None, None]:
        if self._first is not None:
            first, self._first = self._first, None
            yield first
        yield from self._frames
        if self._decoded.broke_at_end:
            yield from self._what_the_decoder_kept()

    def _what_the_decoder_kept(self) -> Iterator[tuple[av.VideoFrame, FrameTime]]:
        """After an error at the end PyAV gives nothing more; without threads it happens at the packet itself."""
        num_known, num_refused = self._decoded.num_frames, self._decoded.num_refused
        self._reopen(threads=False)
        for number, found in enumerate(self._frames):
            if number >= num_known:
                yield found
        self._decoded.num_refused = max(num_refused, self._decoded.num_refused)

    @property
    def losses(self) -> str | None:
        """What was missing in the file, in words, once it is read to its end; None when nothing was."""
        decoded, parts = self._decoded, []
        if num_lost := decoded.num_lost:
            parts.append(f"{_frames(num_lost)} could not be decoded and {_are(num_lost)} left out")
        if decoded.num_concealed:
            parts.append(f"{_frames(decoded.num_concealed)} {_are(decoded.num_concealed)} damaged in part")
        if decoded.is_at_end and (end := self._missing_end()):
            parts.append(end)
        return "; ".join(parts) or None

    def _missing_end(self) -> str | None:
        # A file may count its length from 0 or from its start; what is enough for either counts as whole.
        claimed, found = self._claimed, self._decoded.last_end - min(Fraction(0), self.info.begin)
        if claimed - found <= _TOLERATED_GAP:
            return None
        return f"it ends after {float(found):.1f} of {float(claimed):.1f} seconds; the file is cut off"

    def close(self) -> None:
        """Free the file; a second call does nothing."""
        self._opened.close()

    def __enter__(self) -> "VideoReader":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _frames(count: int) -> str:
    return "1 frame" if count == 1 else f"{count} frames"


def _are(count: int) -> str:
    return "is" if count == 1 else "are"
