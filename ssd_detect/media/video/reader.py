"""Reading videos: every frame, upright, with its own time."""

from collections.abc import Generator, Iterator
from contextlib import ExitStack, closing
from fractions import Fraction
from itertools import chain
from os import PathLike
from pathlib import Path
from types import TracebackType
from typing import Any

import av
from av.container import InputContainer
from av.packet import Packet
from av.stream import Disposition
from av.video.stream import VideoStream

from ssd_detect.arrays import Pixels
from ssd_detect.errors import VideoError
from ssd_detect.media.video.clock import FrameClock
from ssd_detect.media.video.colour import ColourConverter, colour_of
from ssd_detect.media.video.frames import Frame, VideoInfo
from ssd_detect.media.video.orientation import orientation_of

_USUAL_RATE = Fraction(25)  # FFmpeg's own for raw streams that tell none
_MAX_DAMAGED = 100
_TOLERATED_GAP = 0.5  # seconds by which files that are whole may end before the length that they claim
_TEXT = "tty"  # FFmpeg films the words of any .txt
_PICTURE = "image2"  # and names that end in _pipe, such as png_pipe
_ATTACHED_PICTURE = Disposition.attached_pic  # the cover of a song


class VideoReader:
    """A video file, to be iterated once: every frame in the order of its time. Close it, or use `with`.

    Frames are turned as the file's display matrix says; one of another size than the first is scaled to that.
    A time stamp that is missing or does not grow is moved behind the one before it. Damaged packets are left out;
    after the last frame `losses` says what is missing.

    Raises:
        VideoError: no such file, not a video, no video track, no frames; while iterating: over 100 damaged packets on
            end.
    """

    def __init__(self, path: str | PathLike[str]) -> None:
        self._path = Path(path)
        _check_source(self._path)
        with ExitStack() as stack:
            self._container = stack.enter_context(_open_container(self._path))
            self._stream = _video_stream(self._container, self._path)
            self._rate = self._stream.average_rate or self._stream.guessed_rate or _USUAL_RATE
            self._time_base = self._stream.time_base or 1 / self._rate
            self._clock = FrameClock(self._rate, self._time_base, by_order=self._container.format.name == "avi")
            self._num_damaged = 0
            self._last_end = Fraction(0)  # of any track
            self._decoded = stack.enter_context(closing(self._decode()))
            first = next(self._decoded, None)
            if first is None:
                raise VideoError(f"{self._path}: no frame of its video track can be read; the file is damaged or empty")
            self._orientation = orientation_of(first)
            self.info = self._describe(first)
            self._converter = ColourConverter(self.info.colour)
            self._frames = chain([first], self._decoded)
            self._opened = stack.pop_all()

    def _decode(self) -> Generator[av.VideoFrame, None, None]:
        num_frames, damaged_on_end = 0, 0
        for packet in self._packets():
            try:
                frames = self._stream.decode(packet)
            except av.FFmpegError as error:
                self._num_damaged, damaged_on_end = self._num_damaged + 1, damaged_on_end + 1
                if damaged_on_end > _MAX_DAMAGED:
                    raise VideoError(f"{self._path}: damaged after frame {num_frames} ({error.strerror})") from error
                continue
            damaged_on_end = 0
            self._clock.note_packet(packet.dts)
            yield from frames
            num_frames += len(frames)

    def _packets(self) -> "Iterator[Packet[Any]]":
        """The packets of the video track; those of the audio tracks only tell how far the file goes."""
        try:
            for packet in self._container.demux(self._stream, *self._container.streams.audio):
                if packet.pts is not None:
                    end = (packet.pts + (packet.duration or 0)) * packet.time_base
                    self._last_end = max(self._last_end, end)
                if packet.stream.index == self._stream.index:
                    yield packet
        except av.FFmpegError as error:
            raise VideoError(f"{self._path}: cannot be read further ({error.strerror})") from error

    def _describe(self, first: av.VideoFrame) -> VideoInfo:
        stream, turned = self._stream, self._orientation.swaps_sides
        aspect = stream.sample_aspect_ratio or None
        return VideoInfo(
            name=str(self._path),
            width=first.height if turned else first.width,
            height=first.width if turned else first.height,
            rate=self._rate,
            time_base=self._time_base,
            frame_count=stream.frames or round(self._claimed_seconds() * self._rate) or None,
            companions=self._path,
            pixel_aspect=1 / aspect if aspect and turned else aspect,
            colour=colour_of(first, stream.codec_context),
        )

    def _claimed_seconds(self) -> Fraction:
        return Fraction(max(0, self._container.duration or 0), av.time_base)

    def __iter__(self) -> Iterator[Frame]:
        for frame in self._frames:
            yield Frame(self._pixels(frame), self._clock.time_of(frame))

    def _pixels(self, frame: av.VideoFrame) -> Pixels:
        width, height = self.info.width, self.info.height
        stored = (height, width) if self._orientation.swaps_sides else (width, height)
        return self._orientation.upright(self._converter.to_rgb(frame, *stored))

    @property
    def losses(self) -> str | None:
        """What was missing in the file, in words, once it is read to its end; None when nothing was."""
        if self._num_damaged:
            return f"{self._num_damaged} damaged packets were left out"
        # A file may count its length from 0 or from its start; what is enough for either counts as whole.
        start = Fraction(min(0, self._container.start_time or 0), av.time_base)
        claimed, found = self._claimed_seconds(), self._last_end - start
        if claimed - found > _TOLERATED_GAP:
            return f"it ends after {float(found):.1f} of {float(claimed):.1f} seconds; the file is cut off"
        return None

    def close(self) -> None:
        """Free the file; a second call does nothing."""
        self._opened.close()

    def __enter__(self) -> "VideoReader":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _check_source(path: Path) -> None:
    if not path.exists():
        raise VideoError(f"{path}: no such file")
    if path.is_dir():
        raise VideoError(f"{path}: is a folder, expected a video file")
    if path.is_file() and path.stat().st_size == 0:
        raise VideoError(f"{path}: is empty (0 bytes), expected a video file")


def _open_container(path: Path) -> InputContainer:
    try:
        container = av.open(str(path.absolute()), "r")
    except (av.FFmpegError, OSError) as error:
        raise VideoError(
            f"{path}: cannot be read ({error.strerror}), expected a video file such as .mp4, .mov or .mkv; "
            "a recording or download that was broken off may lack its index"
        ) from error
    name = container.format.name
    if name in (_TEXT, _PICTURE) or name.endswith("_pipe"):
        container.close()
        kind = "a text" if name == _TEXT else "a picture (use ssd-detect image)"
        raise VideoError(f"{path}: is {kind}, expected a video file such as .mp4, .mov or .mkv")
    return container


def _video_stream(container: InputContainer, path: Path) -> VideoStream:
    for stream in container.streams.video:
        if stream.disposition & _ATTACHED_PICTURE:
            continue
        if getattr(stream, "codec_context", None) is None:
            raise VideoError(f"{path}: PyAV has no decoder for its video track; convert it to H.264 with ffmpeg first")
        stream.thread_type = "AUTO"
        return stream
    kinds = ", ".join(sorted({stream.type for stream in container.streams})) or "nothing"
    raise VideoError(f"{path}: has no video track (found: {kinds})")
