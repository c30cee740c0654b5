"""The time of each frame of a video, mended where its file does not tell it well."""

from collections import deque
from fractions import Fraction
from typing import NamedTuple

import av


class FrameTime(NamedTuple):
    """When a frame is shown and for how long, in ticks of `time_base` seconds."""

    pts: int
    duration: int
    time_base: Fraction

    @property
    def start(self) -> Fraction:
        """Second at which the frame appears, on the clock of its file."""
        return self.pts * self.time_base

    @property
    def end(self) -> Fraction:
        """Second at which the frame is over, on the clock of its file."""
        return (self.pts + self.duration) * self.time_base


class FrameClock:
    """Gives decoded frames, in the order in which they are shown, times that grow from frame to frame.

    A time stamp that is missing continues the frame before; one that does not grow is moved one tick behind it.

    Args:
        rate: frames a second, for frames that do not tell their duration.
        time_base: seconds a tick.
        by_order: do not believe the frames' time stamps; the first frame shown takes that of the first packet
            stored, and so on. AVI needs this: it stores no time stamps, and FFmpeg's guess is jumbled by B-frames.
    """

    def __init__(self, rate: Fraction, time_base: Fraction, *, by_order: bool) -> None:
        self._usual = max(1, round(1 / rate / time_base))
        self._time_base = time_base
        self._stored: deque[int] | None = deque() if by_order else None
        self._last: FrameTime | None = None

    def note_packet(self, dts: int | None) -> None:
        """A packet, which holds one frame, goes to the decoder."""
        if self._stored is not None and dts is not None:
            self._stored.append(dts)

    def time_of(self, frame: av.VideoFrame) -> FrameTime:
        """The time of the next frame."""
        self._last = FrameTime(self._growing(self._told(frame)), frame.duration or self._usual, self._time_base)
        return self._last

    def _told(self, frame: av.VideoFrame) -> int | None:
        return self._stored.popleft() if self._stored else frame.pts

    def _growing(self, pts: int | None) -> int:
        if self._last is None:
            return pts or 0
        return self._last.pts + self._last.duration if pts is None else max(pts, self._last.pts + 1)
