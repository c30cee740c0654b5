"""One opened stream: the frames of its video track with their times, its sound handed on packet by packet."""

import time
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any, NamedTuple

import av
from av.audio.stream import AudioStream
from av.container import InputContainer
from av.packet import Packet

from ssd_detect.errors import VideoError
from ssd_detect.media.video.clock import FrameClock, FrameTime
from ssd_detect.media.video.container import check_kind, video_stream
from ssd_detect.media.video.packets import MAX_DAMAGED, rate_of

FAILURES = (av.FFmpegError, OSError)
"""What reading a stream raises; that PyAV's own are all of the first kind is nowhere promised."""

_NO_TIMESTAMPS = 0x80  # AVFMT_NOTIMESTAMPS of FFmpeg's avformat.h


class TimedFrame(NamedTuple):
    """A decoded frame and its time on the clock of its connection."""

    frame: av.VideoFrame
    time: FrameTime


class Connection:
    """An opened container, which it owns.

    Args:
        container: as opened; closed when it holds no video.
        name: for messages.
        frame_seconds: after so long without a frame, although other things come, TimeoutError is raised; None: never.

    Raises:
        VideoError: it holds a text, a picture, or no video track.
    """

    def __init__(self, container: InputContainer, name: str, frame_seconds: float | None = None) -> None:
        self._container = container
        self._frame_seconds = frame_seconds
        try:
            check_kind(container, name)
            self.video = video_stream(container, name)
        except VideoError:
            container.close()
            raise
        self.rate = rate_of(container, self.video)
        self.time_base = Fraction(self.video.time_base or 1 / self.rate)
        self.num_damaged = 0
        self.end = Fraction(0)  # seconds, of any track, as read so far
        self._damaged_on_end = 0
        self._clock = FrameClock(self.rate, self.time_base, by_order=container.format.name == "avi")

    @property
    def audio(self) -> tuple[AudioStream, ...]:
        """The audio tracks."""
        return tuple(self._container.streams.audio)

    @property
    def has_own_times(self) -> bool:
        """Whether the format tells times at all; motion JPEG over HTTP does not."""
        return not self._container.format.flags & _NO_TIMESTAMPS

    @property
    def start(self) -> Fraction:
        """Seconds on its clock at which it begins."""
        return Fraction(self._container.start_time or 0, av.time_base)

    @property
    def seconds(self) -> Fraction | None:
        """Its length as claimed; None when not told."""
        duration = self._container.duration
        return Fraction(duration, av.time_base) if duration and duration > 0 else None

    @property
    def is_endless(self) -> bool:
        """Whether neither length nor size is told: what a live stream looks like."""
        is_playlist = self._container.format.name == "hls"  # its size is told, and means nothing
        return self.seconds is None and (is_playlist or (self._container.size or 0) <= 0)

    def frames(self, on_sound: "Callable[[Packet[Any]], None] | None") -> Iterator[TimedFrame]:
        """All frames; each packet of sound goes to `on_sound` meanwhile.

        Raises:
            one of FAILURES: the connection is lost or stalls, or too much is damaged; what has been read until then
                comes before.
        """
        try:
            for packet in self._in_time():
                if packet.stream.index == self.video.index:
                    yield from self._decoded(packet)
                elif on_sound is not None:
                    on_sound(packet)
        except FAILURES:
            yield from self._decoded(None)  # what is still in the decoder
            raise

    def _in_time(self) -> "Iterator[Packet[Any]]":
        self._latest = time.monotonic()
        for packet in self._container.demux(self.video, *self.audio):
            if packet.pts is not None:
                self.end = max(self.end, (packet.pts + (packet.duration or 0)) * packet.time_base)
            yield packet
            if self._frame_seconds is not None and time.monotonic() - self._latest > self._frame_seconds:
                raise TimeoutError

    def _decoded(self, packet: "Packet[Any] | None") -> Iterator[TimedFrame]:
        try:
            frames = self.video.decode(packet)
        except FAILURES:
            self.num_damaged, self._damaged_on_end = self.num_damaged + 1, self._damaged_on_end + 1
            if self._damaged_on_end > MAX_DAMAGED:
                raise
            return
        self._damaged_on_end = 0
        if packet is not None:
            self._clock.note_packet(packet.dts)
        for frame in frames:
            yield TimedFrame(frame, self._clock.time_of(frame))
            self._latest = time.monotonic()  # not earlier: the consumer may have taken its time

    def close(self) -> None:
        """Close the container; a second call does nothing."""
        self._container.close()
