"""From the packets of a video track to decoded frames with their times; damage is stepped over and counted."""

from collections.abc import Generator, Iterator
from fractions import Fraction
from typing import Any

import av
from av.container import InputContainer
from av.packet import Packet
from av.video.stream import VideoStream

from ssd_detect.errors import VideoError
from ssd_detect.media.video.alpha import alpha_decoder
from ssd_detect.media.video.clock import FrameClock, FrameTime

MAX_DAMAGED = 100
"""So many damaged packets without a good one between them end the reading."""

USUAL_RATE = Fraction(25)
"""Frames a second of streams that tell none; FFmpeg's own choice for raw ones."""


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
        self.rate = stream.average_rate or stream.guessed_rate or USUAL_RATE
        self.time_base = stream.time_base or 1 / self.rate
        self._clock = FrameClock(self.rate, self.time_base, by_order=container.format.name == "avi")
        self._damaged_on_end = 0
        self.num_frames = 0
        self.num_damaged = 0
        """Packets that gave no frame."""
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
            for frame in self._decode(packet):
                self.num_frames += 1
                self.num_concealed += frame.is_corrupt
                yield frame, self._clock.time_of(frame)
        self.is_at_end = True

    def _decode(self, packet: "Packet[Any]") -> list[av.VideoFrame]:
        try:
            frames = self._decoder.decode(packet)
        except av.FFmpegError as error:
            self._note_damage(error)
            self.broke_at_end = packet.size == 0
            return []
        self._damaged_on_end = 0
        self._clock.note_packet(packet.dts)
        return frames

    def _note_damage(self, error: av.FFmpegError) -> None:
        self.num_damaged += 1
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
