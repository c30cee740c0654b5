"""Writing videos: the copy has the size, the rate, the time stamps and the sound of the video that it is made from.

Frames are encoded into a `SegmentStore`. When all are there, the file is put together from them and from what travels
beside the pictures, and gets its name: a run that is killed leaves segments, with which another one can go on.
"""

from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from fractions import Fraction
from os import PathLike
from pathlib import Path
from types import TracebackType
from typing import Any

import av
from av.container import OutputContainer
from av.packet import Packet
from av.video.stream import VideoStream

from ssd_detect.arrays import Pixels
from ssd_detect.errors import OutputError, VideoError
from ssd_detect.files import check_target, explained_writing, file_stamp, give_name
from ssd_detect.media.video.clock import FrameTime
from ssd_detect.media.video.companions import CompanionSettings, check_companions, companions_of
from ssd_detect.media.video.encoder import FrameEncoder, ticks
from ssd_detect.media.video.encoding import GIF, choose_encoder, error_text
from ssd_detect.media.video.frames import VideoInfo
from ssd_detect.media.video.gif import write_gif
from ssd_detect.media.video.output import add_video, check_encoder, open_output
from ssd_detect.media.video.store import SegmentStore, StoredFrame, work_folder
from ssd_detect.settings import EncodingSettings
from ssd_detect.stages import StageTimes

SEGMENT_FRAMES = 100
"""Frames that a killed run loses at most; each segment begins with a key frame, at which players can start."""


class VideoWriter:
    """Writes a video that gets its final name when the `with` block ends well.

    Size, rate, time stamps, pixel aspect and colours are those of `like`. Most codecs keep colour for four pixels
    together, so that an odd side grows by one pixel, a copy of the last row or column.

    Args:
        path: .mp4, .m4v, .mov (with the index in front, so that they play while loading), .mkv, .webm, .avi or .gif.
        like: what the video is made from.
        encoding: codec and quality.
        audio: take over the sound of `like.companions`; subtitles, chapters and metadata are taken over anyway.
        covers: take over cover pictures, which may show what was hidden in the frames.
        from_start: `like` is a part of its video: let the first frame begin at 0, and the sound with it.
        overwrite: replace an existing file.
        store: where frames wait; the caller decides when they go. None makes one that goes with the block.
        times: gets the seconds of `finish`; None keeps none.

    Raises:
        OutputError: on entering: an unknown suffix, a file that exists or is the input itself, no place to write, no
            encoder; later: the system refuses to write.
        SettingError: on entering: an unknown codec.
        VideoError: sound that can be neither copied nor encoded; a frame of another size; no frames.
    """

    def __init__(
        self,
        path: str | PathLike[str],
        *,
        like: VideoInfo,
        encoding: EncodingSettings | None = None,
        audio: bool = True,
        covers: bool = True,
        from_start: bool = False,
        overwrite: bool = False,
        store: SegmentStore | None = None,
        times: StageTimes | None = None,
    ) -> None:
        self._path, self._like = Path(path), like
        self._encoding = encoding or EncodingSettings()
        self._audio, self._covers, self._from_start, self._overwrite = audio, covers, from_start, overwrite
        self._given_store, self._times = store, times or StageTimes()
        self._waiting: deque[StoredFrame] = deque()  # frames inside the encoder
        self.ends_with_pictures = False
        """Set it when the source was not read to its end: sound that is left then is left out."""
        self.notes: tuple[str, ...] = ()
        """What becomes of sound and subtitles; of a source that is live it is known when the block has ended."""
        self.losses: str | None = None
        """What was damaged in them."""

    def __enter__(self) -> "VideoWriter":
        self._encoder = choose_encoder(self._path, self._encoding)
        check_target(self._path, self._like.companions, overwrite=self._overwrite)
        self._store = self._given_store or SegmentStore(work_folder(self._path), SEGMENT_FRAMES, {})
        check_encoder(self._path, self._encoder, self._like)
        self._check_companions()
        self._frames = FrameEncoder(self._encoder, self._like, self._store.length)
        self._num_frames = self._store.num_frames
        self._store.prepare()
        return self

    def _check_companions(self) -> None:
        path = self._like.companions
        if path is not None and path.is_file() and not self._grows(path):
            start = Fraction(0) if self._encoder.container.fixed_rate else None  # as it will be moved, or nearly
            settings = CompanionSettings(self._audio, self._covers, start)
            self.notes = check_companions(path, self._encoder.container.format, settings)

    def _grows(self, path: Path) -> bool:
        """Whether it is sound of a stream that is put aside while the frames are read."""
        return path.parent.resolve() == self._store.folder.resolve()

    @property
    def size(self) -> tuple[int, int]:
        """Width and height of the copy."""
        return self._encoder.size_for(self._like.width, self._like.height)

    def append(self, pixels: Pixels, time: FrameTime, record: Mapping[str, Any] | None = None) -> None:
        """Add a frame.

        Args:
            pixels: RGB uint8 (like.height, like.width, 3).
            time: grows from frame to frame.
            record: kept beside the frame in the store.
        """
        self._check_size(pixels)
        base = self._like.time_base
        start, duration = ticks(time.pts * time.time_base, base), ticks(time.duration * time.time_base, base)
        self._waiting.append(StoredFrame(start, duration, False, 0, record or {}))
        with self._explained():
            packets = self._frames.encode(pixels, start, key=self._num_frames % self._store.length == 0)
        self._num_frames += 1
        self._keep(packets)

    def _check_size(self, pixels: Pixels) -> None:
        size = (pixels.shape[1], pixels.shape[0])
        if size != (self._like.width, self._like.height):
            expected = f"{self._like.width}x{self._like.height}"
            raise VideoError(f"{self._path}: got a frame of {size[0]}x{size[1]} pixels, expected {expected}")

    def _keep(self, packets: "list[Packet[Any]]") -> None:
        for packet in packets:
            frame = self._waiting.popleft() if self._waiting else None
            if frame is None or packet.pts != frame.pts:
                raise OutputError(f"{self._path}: the encoder {self._encoder.name} changes the order of frames")
            self._store.append(frame._replace(is_key=packet.is_keyframe, size=packet.size), bytes(packet))

    def _finish(self) -> None:
        if self._num_frames == 0:
            raise VideoError(f"{self._path}: got no frames, so there is nothing to save")
        with self._explained():
            packets = self._frames.flush()
        self._keep(packets)
        self._store.seal()
        temporary = self._store.folder / f"whole{self._path.suffix}"
        with self._explained(), explained_writing(self._path):
            if self._encoder.container.format == GIF:
                self._write_gif(temporary)
            else:
                self._put_together(temporary)
        self._store.note_partial(file_stamp(temporary))  # before it has its name: the run may be killed behind that
        give_name(temporary, self._path, overwrite=self._overwrite)

    def _put_together(self, temporary: Path) -> None:
        companions = CompanionSettings(self._audio, self._covers, self._moved_by(), self._end())
        with open_output(temporary, self._encoder) as container:
            stream = add_video(container, self._encoder, self._like)
            if self._like.companions is None:
                self._mux(container, stream, lambda seconds: None)
                return
            with companions_of(self._like.companions, container, companions) as beside:
                self._mux(container, stream, beside.write_until)
                self.notes, self.losses = beside.notes, beside.losses

    def _mux(self, container: OutputContainer, stream: VideoStream, write_until: Any) -> None:
        base, first = self._like.time_base, ticks(self._moved_by() or Fraction(0), self._like.time_base)
        for frame, content in self._store.packets():
            packet = av.Packet(content)
            packet.stream, packet.is_keyframe, packet.time_base = stream, frame.is_key, base
            packet.pts = packet.dts = frame.pts - first
            packet.duration = frame.duration
            write_until(packet.dts * base)
            container.mux(packet)
        write_until(None)
        container.close()

    def _moved_by(self) -> Fraction | None:
        """The second of the source at which the copy begins; None when it keeps the source's clock."""
        first = self._store.first().pts * self._like.time_base
        return first if self._from_start or first < 0 or self._encoder.container.fixed_rate else None

    def _end(self) -> Fraction | None:
        if not self.ends_with_pictures:
            return None
        last = self._store.last()
        return (last.pts + last.duration) * self._like.time_base

    def _write_gif(self, temporary: Path) -> None:
        base, first = self._like.time_base, self._store.first().pts
        last = self._store.last()
        pictures = ((png, (frame.pts - first) * base) for frame, png in self._store.packets())
        write_gif(temporary, pictures, self.size, last.duration * base)

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except av.FFmpegError as error:
            raise OutputError(f"{self._path}: cannot be written: {error_text(error)}") from error

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if kind is None:
                with self._times.measure("finish"):
                    self._finish()
        finally:
            with suppress(OutputError):
                self._store.close()
            if self._given_store is None:
                self._store.clear()
