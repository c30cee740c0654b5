"""One clock for all the connections to a stream."""

import time
from fractions import Fraction

from ssd_detect.media.video.clock import FrameTime

_LIVE_BASE = Fraction(1, 90_000)  # of a second: RTP's clock for video (RFC 3551, 5), and MPEG's


class StreamClock:
    """Maps times of a connection onto a clock that never goes backwards.

    The times of what is not live stay what they are. A live stream begins at 0; where it tells no times, the time of
    arrival counts, and the first frame of a new connection is as late as the wall clock says.

    Args:
        time_base: seconds a tick of the first connection.
        start: seconds at which it begins on its own clock.
        is_live: whether times may be mapped.
    """

    def __init__(self, time_base: Fraction, start: Fraction, *, is_live: bool) -> None:
        self.time_base = _LIVE_BASE if is_live else time_base
        self.origin = start if is_live else Fraction(0)
        self._is_live = is_live
        self._shift: Fraction | None = -self.origin
        self._began: float | None = None  # by the system's clock, when this one was at 0
        self._last: FrameTime | None = None

    @property
    def seconds(self) -> float:
        """How far it has come: the end of the last frame."""
        return 0.0 if self._last is None else float(self._last.end)

    def restart(self) -> None:
        """The next frame is the first of a new connection."""
        self._shift = None

    def time_of(self, told: FrameTime, *, is_told: bool) -> FrameTime:
        """The time of the next frame; where `is_told` is not, that of its arrival."""
        arrival = time.monotonic()
        start = told.pts * told.time_base
        if self._began is None:
            self._began = arrival - float(start - self.origin if is_told else 0)
        if self._shift is None:
            self._shift = max(Fraction(arrival - self._began), Fraction(self.seconds)) - start
        mapped = Fraction(arrival - self._began) if self._is_live and not is_told else start + self._shift
        self._last = self._growing(mapped, told.duration * told.time_base)
        return self._last

    def _growing(self, start: Fraction, duration: Fraction) -> FrameTime:
        pts = round(start / self.time_base)
        if self._last is not None:
            pts = max(pts, self._last.pts + 1)
        return FrameTime(pts, max(1, round(duration / self.time_base)), self.time_base)
