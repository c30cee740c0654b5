"""Which frames of a video are taken, and which of them the network sees."""

from collections.abc import Callable, Iterable, Iterator
from fractions import Fraction
from math import ceil, lcm
from typing import NamedTuple

from ssd_detect.media.video.clock import FrameTime
from ssd_detect.media.video.frames import Frame
from ssd_detect.settings import Selection

_FINE_TICKS = 90_000  # a second: those of MPEG


class ChosenFrame(NamedTuple):
    """A frame that is taken.

    Args:
        number: its place among the frames that are taken, from 0.
        frame: the frame.
        to_detect: whether the network sees it; the objects of the others come from their neighbours.
        is_repeat: it shows what the frame before does, which is not at hand since an earlier run did it.
    """

    number: int
    frame: Frame
    to_detect: bool
    is_repeat: bool = False


class Chosen:
    """The chosen frames of a source, to be iterated once.

    Args:
        frames: all of it.
        selection: what is wanted.
        begin: second of the frames' clock from which a player counts.
        first_index: the number of the first frame; not 0 when the source begins later.
        num_done: frames below this number are done already and left out.
        stop: asked before each frame; True ends.
    """

    def __init__(
        self,
        frames: Iterable[Frame],
        selection: Selection,
        *,
        begin: Fraction = Fraction(0),
        first_index: int = 0,
        num_done: int = 0,
        stop: Callable[[], bool] = lambda: False,
    ) -> None:
        self._frames, self._selection, self._begin, self._stop = frames, selection, begin, stop
        self._first_index, self._num_done = first_index, num_done
        self._end = selection.end
        self.ended_early = False
        """Whether frames of the source are left."""

    def __iter__(self) -> Iterator[ChosenFrame]:
        for index, (repeats, frame) in enumerate(self._timed(), self._first_index):
            if index == self._selection.max_frames or self._is_over(frame) or self._stop():
                self.ended_early = True
                return
            if index >= self._num_done:
                yield self._chosen(index, frame, repeats)

    def _is_over(self, frame: Frame) -> bool:
        """Whether it is shown at the end or later; at a constant rate one may be, though its frame came before."""
        return self._end is not None and frame.time.start - self._begin >= self._end

    def _chosen(self, index: int, frame: Frame, repeats: bool) -> ChosenFrame:
        if self._selection.stride > 1:
            return ChosenFrame(index, frame, index % self._selection.stride == 0)
        return ChosenFrame(index, frame, not repeats or index == self._num_done, repeats)

    def _timed(self) -> Iterator[tuple[bool, Frame]]:
        frames = self._within(self._frames)
        rate = self._selection.rate
        return at_rate(frames, rate) if rate else ((False, frame) for frame in frames)

    def _within(self, frames: Iterable[Frame]) -> Iterator[Frame]:
        selection, is_first = self._selection, True
        for frame in frames:
            seconds = frame.time.start - self._begin
            if selection.start is not None and seconds < selection.start:
                continue
            if is_first and selection.max_seconds is not None:
                last = seconds + selection.max_seconds
                self._end = last if self._end is None else min(self._end, last)
            is_first = False
            if self._is_over(frame):
                self.ended_early = True
                return
            yield frame


def at_rate(frames: Iterable[Frame], rate: Fraction) -> Iterator[tuple[bool, Frame]]:
    """Frames n / rate seconds after the first one, so that nothing drifts: each is the last one that is due then.

    A frame is due at the tick that is nearest to its time. All together take the same time as before, to half of what
    a frame takes then; more only if the last one, which is never left out, is shorter than that. The flag tells whether
    the frame before is repeated.
    """
    shown: Frame | None = None
    begin, tick, repeats = Fraction(0), 0, False
    for frame in frames:
        begin = frame.time.start if shown is None else begin
        due = round((frame.time.start - begin) * rate)
        while shown is not None and tick < due:
            yield repeats, _at_tick(shown, begin, tick, rate)
            tick, repeats = tick + 1, True
        shown, repeats = frame, False
    end = tick if shown is None else max(tick + 1, round((shown.time.end - begin) * rate))
    while shown is not None and tick < end:
        yield repeats, _at_tick(shown, begin, tick, rate)
        tick, repeats = tick + 1, True


def rate_time_base(rate: Fraction) -> Fraction:
    """Seconds a tick with which a copy of frames `at_rate` tells their times: a part of what a frame takes.

    Whole frames would move the first one by up to half of what it takes, and the sound would not be moved with it.
    """
    return 1 / (rate * ceil(_FINE_TICKS / rate))


def _at_tick(frame: Frame, begin: Fraction, tick: int, rate: Fraction) -> Frame:
    start, duration = begin + tick / rate, 1 / rate
    base = Fraction(1, lcm(start.denominator, duration.denominator))
    return frame._replace(time=FrameTime(int(start / base), int(duration / base), base))
