"""Which frames are taken and which the network sees: limits, strides, constant rates, runs that go on."""

from collections.abc import Iterable, Iterator
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ssd_detect.errors import SettingError
from ssd_detect.media.video.clock import FrameTime
from ssd_detect.media.video.frames import Frame
from ssd_detect.media.video.selection import Chosen, at_rate, rate_time_base
from ssd_detect.settings import Selection

PIXELS = np.zeros((2, 2, 3), np.uint8)
RATES = [Fraction(1), Fraction(25, 2), Fraction(24000, 1001), Fraction(25), Fraction(30000, 1001), Fraction(60)]


def timed(starts: Iterable[int], time_base: Fraction, last: int = 1) -> list[Frame]:
    """Frames that begin at these ticks, each shown until the next one; its first pixel tells its place."""
    ticks = [*starts]
    ends = [*ticks[1:], ticks[-1] + last] if ticks else []
    pictures = (np.full((1, 1, 3), number % 256, np.uint8) for number in range(len(ticks)))
    return [
        Frame(picture, FrameTime(begin, end - begin, time_base))
        for picture, begin, end in zip(pictures, ticks, ends, strict=True)
    ]


def ten_a_second(count: int, begin: int = 0) -> list[Frame]:
    return timed(range(begin, begin + count), Fraction(1, 10))


def places(frames: Iterable[Frame]) -> list[int]:
    return [int(frame.pixels[0, 0, 0]) for frame in frames]


class TestLimits:
    @pytest.mark.parametrize(
        ("selection", "last"), [({"end": Fraction(105, 100)}, 26), ({"max_seconds": Fraction(52, 100)}, 12)]
    )
    def test_no_tick_is_behind_the_end(self, selection: dict[str, Fraction], last: int) -> None:
        """At a constant rate the last frame would be repeated for as long as it is shown."""
        chosen = Chosen(ten_a_second(20), Selection(rate=Fraction(25), **selection))  # type: ignore[arg-type]
        times = [found.frame.time.start for found in chosen]
        assert times[-1] == Fraction(last, 25)
        assert chosen.ended_early

    @pytest.mark.parametrize(
        ("selection", "taken", "ended_early"),
        [
            ({}, range(20), False),
            ({"start": Fraction(5)}, [], False),
            ({"start": Fraction(0)}, range(20), False),
            ({"start": Fraction(1, 2)}, range(5, 20), False),
            ({"start": Fraction(51, 100)}, range(6, 20), False),
            ({"end": Fraction(1, 2)}, range(5), True),
            ({"end": Fraction(51, 100)}, range(6), True),
            ({"end": Fraction(2)}, range(20), False),
            ({"start": Fraction(1, 2), "end": Fraction(7, 10)}, [5, 6], True),
            ({"start": Fraction(1, 2), "end": Fraction(51, 100)}, [5], True),
            ({"max_frames": 1}, [0], True),
            ({"max_frames": 20}, range(20), False),
            ({"max_frames": 21}, range(20), False),
            ({"start": Fraction(1), "max_frames": 3}, [10, 11, 12], True),
            ({"max_seconds": Fraction(3, 10)}, [0, 1, 2], True),
            ({"start": Fraction(1), "max_seconds": Fraction(3, 10)}, [10, 11, 12], True),
            ({"max_seconds": Fraction(3, 10), "max_frames": 2}, [0, 1], True),
        ],
    )
    @pytest.mark.parametrize("begin", [-7, 0, 50])
    def test_what_is_taken(
        self, selection: dict[str, Fraction], taken: Iterable[int], ended_early: bool, begin: int
    ) -> None:
        """Seconds count from where a player counts, wherever the file's clock begins."""
        chosen = Chosen(
            ten_a_second(20, begin),
            Selection(**selection),  # type: ignore[arg-type]
            begin=Fraction(begin, 10),
        )
        found = [*chosen]
        assert places(f.frame for f in found) == [*taken]
        assert [f.number for f in found] == [*range(len(found))]
        assert [f.frame.time.pts for f in found] == [begin + place for place in taken]
        assert all(f.to_detect for f in found)
        assert chosen.ended_early == ended_early

    def test_no_frames(self) -> None:
        chosen = Chosen([], Selection(rate=Fraction(25), max_frames=1, stride=3))
        assert [*chosen] == []
        assert not chosen.ended_early

    def test_it_reads_no_further_than_it_must(self) -> None:
        taken = []

        def frames() -> Iterator[Frame]:
            for frame in ten_a_second(20):
                taken.append(frame)
                yield frame

        assert len([*Chosen(frames(), Selection(end=Fraction(3, 10)))]) == 3
        assert len(taken) == 4

    def test_stop_is_asked_before_each_frame(self) -> None:
        answers = iter([False, False, True])
        chosen = Chosen(ten_a_second(20), Selection(), stop=lambda: next(answers))
        assert len([*chosen]) == 2
        assert chosen.ended_early

    @pytest.mark.parametrize("stride", [1, 2, 3, 7, 100])
    def test_stride(self, stride: int) -> None:
        seen = [f.number for f in Chosen(ten_a_second(20), Selection(stride=stride)) if f.to_detect]
        assert seen == [*range(0, 20, stride)]

    @pytest.mark.parametrize(
        "settings",
        [
            {"start": Fraction(2), "end": Fraction(2)},
            {"start": Fraction(3), "end": Fraction(2)},
            {"max_seconds": Fraction(0)},
            {"max_frames": 0},
            {"rate": Fraction(-1)},
            {"stride": 0},
        ],
    )
    def test_what_makes_no_sense(self, settings: dict[str, Fraction]) -> None:
        with pytest.raises(SettingError, match="expected a"):
            Selection(**settings)  # type: ignore[arg-type]


class TestAtRate:
    @pytest.mark.parametrize("rate", RATES)
    @pytest.mark.parametrize("begin", [Fraction(0), Fraction(133508, 90000), Fraction(-1, 2), Fraction(7, 1000)])
    @pytest.mark.parametrize("count", [0, 1, 300])
    def test_frames_of_that_rate_stay_as_they_are(self, rate: Fraction, begin: Fraction, count: int) -> None:
        base = 1 / (rate.numerator * Fraction(begin.denominator * 1001))
        ticks = [int((begin + number / rate) / base) for number in range(count)]
        frames = timed(ticks, base, last=int(1 / rate / base))
        found = [*at_rate(frames, rate)]
        assert [frame.time.start for _, frame in found] == [begin + number / rate for number in range(count)]
        assert [frame.time.end for _, frame in found] == [begin + (number + 1) / rate for number in range(count)]
        assert [repeats for repeats, _ in found] == [False] * count
        assert places(frame for _, frame in found) == [number % 256 for number in range(count)]

    @pytest.mark.parametrize("rate", RATES)
    def test_rounded_times_become_even(self, rate: Fraction) -> None:
        """Matroska counts in milliseconds."""
        frames = timed([round(1000 * number / rate) for number in range(250)], Fraction(1, 1000))
        found = [*at_rate(frames, rate)]
        assert places(frame for _, frame in found) == [*range(250)]
        assert [frame.time.start for _, frame in found] == [number / rate for number in range(250)]

    @given(
        st.lists(st.integers(1, 3000), min_size=1, max_size=40),
        st.integers(-5000, 100_000),
        st.sampled_from(RATES),
    )
    def test_any_times(self, gaps: list[int], begin: int, rate: Fraction) -> None:
        """Times in milliseconds that grow in any way: evenly spaced, as long, never far off, repeats told."""
        starts = [begin + sum(gaps[:number]) for number in range(len(gaps))]
        frames = timed(starts, Fraction(1, 1000), last=gaps[-1])
        found = [*at_rate(frames, rate)]
        times = [frame.time for _, frame in found]
        assert times[0].start == frames[0].time.start
        assert all(after.start - before.start == 1 / rate for before, after in pairwise(times))
        is_short = frames[-1].time.duration < 1000 / rate
        assert abs(times[-1].end - frames[-1].time.end) <= (Fraction(3, 2) if is_short else Fraction(1, 2)) / rate
        shown = places(frame for _, frame in found)
        assert [repeats for repeats, _ in found] == [False, *(a == b for a, b in pairwise(shown))]
        assert shown == sorted(shown)
        assert shown[-1] == len(frames) - 1
        for time, place in zip(times, shown, strict=True):
            assert abs(time.start - frames[place].time.start) <= 1 / (2 * rate) or time.start > frames[place].time.start
            later = next((f for f in frames[place + 1 :]), None)
            assert later is None or later.time.start >= time.start - 1 / (2 * rate)

    def test_the_network_sees_each_picture_once(self) -> None:
        found = [*Chosen(timed([0, 10, 40], Fraction(1, 10), last=10), Selection(rate=Fraction(2)))]
        assert places(f.frame for f in found) == [0, 0, 1, 1, 1, 1, 1, 1, 2, 2]
        assert [f.number for f in found if f.to_detect] == [0, 2, 8]

    def test_limits_count_frames_of_the_copy(self) -> None:
        found = [*Chosen(ten_a_second(30), Selection(rate=Fraction(20), max_frames=7, start=Fraction(1)))]
        assert len(found) == 7
        assert found[0].frame.time.start == 1
        assert found[-1].frame.time.end == Fraction(135, 100)

    @pytest.mark.parametrize("rate", [*RATES, Fraction(1, 3), Fraction(1000), Fraction(100_000)])
    def test_the_clock_of_the_copy(self, rate: Fraction) -> None:
        base = rate_time_base(rate)
        assert (1 / rate / base).denominator == 1
        assert base <= Fraction(1, 90_000)


class TestGoingOn:
    @pytest.mark.parametrize("done", [0, 1, 6, 12, 19, 20])
    @pytest.mark.parametrize("selection", [{}, {"stride": 3}, {"rate": Fraction(10)}, {"start": Fraction(1, 2)}])
    def test_from_the_beginning(self, selection: dict[str, Fraction], done: int) -> None:
        """The source is read again, and what is done left out."""
        wanted = Selection(**selection)  # type: ignore[arg-type]
        whole = [*Chosen(ten_a_second(20), wanted)]
        rest = [*Chosen(ten_a_second(20), wanted, num_done=done)]
        assert [(f.number, f.frame.time, f.to_detect) for f in rest] == [
            (f.number, f.frame.time, f.to_detect) for f in whole[done:]
        ]

    @pytest.mark.parametrize("done", [3, 6, 18])
    def test_from_where_it_was(self, done: int) -> None:
        wanted = Selection(stride=3, max_frames=19)
        whole = [*Chosen(ten_a_second(20), wanted)]
        rest = [*Chosen(ten_a_second(20)[done:], wanted, first_index=done, num_done=done)]
        assert [(f.number, f.frame.time, f.to_detect) for f in rest] == [
            (f.number, f.frame.time, f.to_detect) for f in whole[done:]
        ]

    def test_the_first_one_is_seen_even_if_it_repeats(self) -> None:
        """Its picture was detected in the run before, which is gone."""
        frames = timed([0, 10], Fraction(1, 10), last=10)
        found = [*Chosen(frames, Selection(rate=Fraction(5)), num_done=3)]
        assert [(f.number, f.to_detect) for f in found][:3] == [(3, True), (4, False), (5, True)]
