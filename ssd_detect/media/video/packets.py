"""From the packets of a video track to decoded frames with their times; damage is stepped over and counted."""

from collections.abc import Generator, Iterator
from fractions import Fraction
from typing import Any

import av
from av.bitstream import BitStreamFilterContext
from av.container import InputContainer
from av.packet import Packet
from av.video.stream import VideoStream

from ssd_detect.errors import VideoError
from ssd_detect.media.video.alpha import alpha_decoder
from ssd_detect.media.video.clock import FrameClock, FrameTime
from ssd_detect.media.video.losses import LostFrames

MAX_DAMAGED = 100
"""So many damaged packets without a good one between them end the reading."""

USUAL_RATE = Fraction(25)
"""Frames a second of streams that tell none; FFmpeg's own choice for raw ones."""
_HIGHEST_RATE = 1000  # frames a second; an average above is one of wrong lengths
# FFmpeg's decoder of VP9 takes packets apart. After an error it keeps the rest, and PyAV cannot fetch it: from then on
# every packet is refused. So it gets the parts.
_SPLIT = {"vp9": "vp9_superframe_split"}


class DecodedFrames:
    """The frames of one pass through a container. Iterate once.

    Args:
        container, stream: opened, at the place where to begin.
        name: of the source, for errors.

    Raises:
        VideoError: while iterating: more than `MAX_DAMAGED` packets on end are damaged.
    """

    def __init__(self, container: InputContainer, stream: VideoStream, name: str) -> None:
        self._container, self._stream, self._name = container, stream, name
        self._decoder = alpha_decoder(stream) or stream.codec_context
        self._splitter = _splitter(stream, self._decoder.name)
        self.rate = rate_of(container, stream)
        self.time_base = Fraction(stream.time_base or 1 / self.rate)
        self._clock = FrameClock(self.rate, self.time_base, by_order=container.format.name == "avi")
        self._lost = LostFrames(stream.codec_context.codec.canonical_name)
        self._damaged_on_end = 0
        self.num_frames = 0
        self.num_refused = 0
        """Packets that the decoder refused."""
        self.num_concealed = 0
        """Frames of which the decoder invented a part."""
        self.last_end = Fraction(0)
        """Second at which the furthest packet of any track ends."""
        self.broke_at_end = False
        """Whether an error at the end of the file hides frames that are still inside the decoder."""
        self.is_at_end = False
        """Whether all has been read."""

    def __iter__(self) -> Generator[tuple[av.VideoFrame, FrameTime], None, None]:
        for packet in self._packets():
            self._lost.note_packet(packet)
            for frame in self._decode(packet):
                self.num_frames += 1
                self.num_concealed += frame.is_corrupt
                self._lost.note_frame(frame)
                yield frame, self._clock.time_of(frame)
        self.is_at_end = True

    @property
    def num_lost(self) -> int:
        """Packets that gave no frame, as far as that can be told."""
        return max(self.num_refused, self._lost.count)

    def _decode(self, packet: "Packet[Any]") -> list[av.VideoFrame]:
        return [frame for part in self._parts(packet) for frame in self._decode_part(part)]

    def _parts(self, packet: "Packet[Any]") -> "list[Packet[Any]]":
        if self._splitter is None or not packet.size:
            return [packet]
        try:
            return self._splitter.filter(packet)
        except av.FFmpegError as error:
            self._splitter.flush()
            self._note_damage(error)
            return []

    def _decode_part(self, packet: "Packet[Any]") -> list[av.VideoFrame]:
        # PyAV's decoder with threads does not tell of an error at the very end of a file that is cut off.
        self.broke_at_end = packet.is_corrupt or (self.broke_at_end and not packet.size)
        try:
            frames = self._decoder.decode(packet)
        except av.FFmpegError as error:
            self._note_damage(error)
            self.broke_at_end = self.broke_at_end or not packet.size
            return []
        self._damaged_on_end = 0
        self._clock.note_packet(packet.dts)
        return frames

    def _note_damage(self, error: av.FFmpegError) -> None:
        self.num_refused += 1
        self._damaged_on_end += 1
        if self._damaged_on_end > MAX_DAMAGED:
            raise VideoError(f"{self._name}: damaged after frame {self.num_frames} ({error.strerror})") from error

    def _packets(self) -> "Iterator[Packet[Any]]":
        """The packets of the video track; those of the audio tracks only tell how far the file goes."""
        try:
            for packet in self._container.demux(self._stream, *self._container.streams.audio):
                if packet.pts is not None:
                    end = (packet.pts + (packet.duration or 0)) * packet.time_base
                    self.last_end = max(self.last_end, end)
                if packet.stream.index == self._stream.index:
                    yield packet
        except av.FFmpegError as error:
            raise VideoError(f"{self._name}: cannot be read further ({error.strerror})") from error


def rate_of(container: InputContainer, stream: VideoStream) -> Fraction:
    """Frames a second of a track: the average where one can be known, else what the codec says."""
    average = stream.average_rate
    if container.duration is None or not average or average > _HIGHEST_RATE:
        return Fraction(stream.codec_context.framerate or stream.guessed_rate or average or USUAL_RATE)
    return Fraction(average)


def _splitter(stream: VideoStream, decoder: str) -> BitStreamFilterContext | None:
    name = _SPLIT.get(decoder)
    return BitStreamFilterContext(name, stream) if name is not None else None
