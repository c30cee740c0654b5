"""Writing videos: the copy has the size, the rate, the time stamps and the sound of the video that it is made from."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from os import PathLike
from pathlib import Path
from types import TracebackType
from typing import Any, Final

import av
import numpy as np
from av.container import OutputContainer
from av.packet import Packet
from av.video.stream import VideoStream

from ssd_detect.arrays import Pixels
from ssd_detect.errors import OutputError, VideoError
from ssd_detect.files import check_target, whole_file
from ssd_detect.media.video.clock import FrameTime
from ssd_detect.media.video.colour import ColourConverter
from ssd_detect.media.video.frames import VideoInfo
from ssd_detect.media.video.sound import SoundTracks, sound_of

CONTAINERS = {".mp4": "mp4", ".m4v": "mp4", ".mov": "mov", ".mkv": "matroska"}
"""Suffix of a file that can be written -> its container format."""

# The index in front; and starts of tracks to 1/90000 s, for which the default is 1/1000 s.
_MP4_OPTIONS = {"movflags": "faststart", "movie_timescale": "90000"}
_MATROSKA_OPTIONS = {"avoid_negative_ts": "disabled"}  # else the frames come later when the sound starts before 0
_ENCODER: Final = "libx264"
# On 200 frames of 768x432 (H.264, 1.5 MB): 9 ms of CPU a frame with the conversion from RGB, 1.3 MB. The preset medium
# takes 22 ms for the same size, time that a network on the same CPU would miss.
_ENCODER_OPTIONS = {"preset": "veryfast", "crf": "18"}


class VideoWriter:
    """Writes an H.264 video beside its final name, which it takes when the `with` block ends well.

    Size, rate, time stamps, pixel aspect and colours are those of `like`. The picture format that every player knows,
    yuv420p, has even sides only: an odd side grows by one pixel, a copy of the last row or column.

    Args:
        path: .mp4, .m4v, .mov (both with the index in front, so that it plays while loading) or .mkv.
        like: what the video is made from.
        audio: take over the sound of `like.companions`.
        overwrite: replace an existing file.

    Raises:
        OutputError: on entering: an unknown suffix, a file that exists or is the input itself, no place to write;
            later: the system refuses to write.
        VideoError: sound that can be neither copied nor encoded; a frame of another size; no frames.
    """

    def __init__(
        self, path: str | PathLike[str], *, like: VideoInfo, audio: bool = True, overwrite: bool = False
    ) -> None:
        self._path, self._like = Path(path), like
        self._audio, self._overwrite = audio, overwrite
        self._converter = ColourConverter(like.colour.as_yuv())
        self._has_frames = False
        self._durations: dict[int, int] = {}  # of the frames inside the encoder, by time stamp
        self._sound: SoundTracks | None = None

    def __enter__(self) -> "VideoWriter":
        _check_suffix(self._path)
        check_target(self._path, self._like.companions, overwrite=self._overwrite)
        with ExitStack() as stack:
            temporary = stack.enter_context(whole_file(self._path, overwrite=self._overwrite))
            stack.enter_context(self._explained())
            self._container = stack.enter_context(_open_output(temporary, self._path))
            self._stream = _add_video(self._container, self._like)
            if self._audio and self._like.companions is not None:
                self._sound = stack.enter_context(sound_of(self._like.companions, self._container))
            self._container.start_encoding()  # finds out what is missing before any work is done
            self._opened = stack.pop_all()
        return self

    def append(self, pixels: Pixels, time: FrameTime) -> None:
        """Add a frame: RGB uint8 (like.height, like.width, 3); `time` must grow from frame to frame."""
        size = (pixels.shape[1], pixels.shape[0])
        if size != (self._like.width, self._like.height):
            expected = f"{self._like.width}x{self._like.height}"
            raise VideoError(f"{self._path}: got a frame of {size[0]}x{size[1]} pixels, expected {expected}")
        with self._explained():
            frame = self._converter.from_rgb(_with_even_sides(pixels))
            frame.time_base = self._like.time_base
            frame.pts = round(time.pts * time.time_base / self._like.time_base)
            self._durations[frame.pts] = round(time.duration * time.time_base / self._like.time_base)
            self._mux(self._stream.encode(frame))
        self._has_frames = True

    def _mux(self, packets: "list[Packet[Any]]") -> None:
        for packet in packets:
            packet.duration = self._durations.pop(packet.pts or 0, 0)
            if self._sound is not None and packet.dts is not None:
                self._sound.write_until(packet.dts * packet.time_base)
            self._container.mux(packet)

    def _finish(self) -> None:
        if not self._has_frames:
            raise VideoError(f"{self._path}: got no frames, so there is nothing to save")
        self._mux(self._stream.encode(None))
        if self._sound is not None:
            self._sound.write_until(None)
        self._container.close()

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except av.FFmpegError as error:
            raise OutputError(f"{self._path}: cannot be written: {error.strerror}") from error

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is not None:
            self._opened.__exit__(kind, error, trace)
            return
        with self._opened:
            self._finish()


def _check_suffix(path: Path) -> None:
    if path.suffix.lower() not in CONTAINERS:
        raise OutputError(f"{path}: cannot write {path.suffix or 'a file without suffix'}; use .mp4, .mov or .mkv")


@contextmanager
def _open_output(temporary: Path, path: Path) -> Iterator[OutputContainer]:
    """The container to fill; when the block fails, it is closed without a word: the file goes anyway."""
    name = CONTAINERS[path.suffix.lower()]
    options = _MATROSKA_OPTIONS if name == "matroska" else _MP4_OPTIONS
    container = av.open(str(temporary.absolute()), "w", format=name, container_options=dict(options))
    try:
        yield container
    finally:
        with suppress(av.FFmpegError):
            container.close()


def _add_video(container: OutputContainer, like: VideoInfo) -> VideoStream:
    try:
        stream = container.add_stream(_ENCODER, like.rate, options=dict(_ENCODER_OPTIONS))
    except ValueError as error:
        raise OutputError(f"this build of PyAV has no {_ENCODER} encoder; type: pip install --upgrade av") from error
    stream.width, stream.height = like.width + like.width % 2, like.height + like.height % 2
    stream.pix_fmt = "yuv420p"
    context, colour = stream.codec_context, like.colour.as_yuv()
    context.time_base = like.time_base
    if like.pixel_aspect is not None:
        context.sample_aspect_ratio = like.pixel_aspect
    context.colorspace, context.color_range = colour.matrix, colour.range
    context.color_primaries, context.color_trc = colour.primaries, colour.transfer
    return stream


def _with_even_sides(pixels: Pixels) -> Pixels:
    height, width = pixels.shape[:2]
    if height % 2 == width % 2 == 0:
        return pixels
    return np.pad(pixels, ((0, height % 2), (0, width % 2), (0, 0)), mode="edge")
