"""What samples come to, whose turn it is, and what a benchmark decides to measure."""

import statistics
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ssd_detect.benchmark.memory import forget_peak, peak_bytes
from ssd_detect.benchmark.samples import Samples, interleaved
from ssd_detect.benchmark.settings import BenchmarkSettings
from ssd_detect.engines.processor import usable_cores
from ssd_detect.settings import CheckpointSettings, DetectionSettings, SessionSettings

TIMES = st.lists(st.floats(0.0, 1e3), min_size=1, max_size=30)


def chosen(threads: int | None = None, batch_size: int = 4, runs: int = 7, *, quick: bool = False) -> BenchmarkSettings:
    session = SessionSettings(intra_op_threads=threads)
    return BenchmarkSettings(CheckpointSettings("x"), DetectionSettings(), session, batch_size, runs=runs, quick=quick)


class TestSamples:
    @pytest.mark.parametrize(
        ("values", "median", "quartiles"),
        [
            ((3.0,), 3.0, (3.0, 3.0)),
            ((5.0, 3.0), 4.0, (3.0, 5.0)),
            ((5.0, 3.0, 4.0), 4.0, (3.5, 4.5)),
            ((5.0, 1.0, 4.0, 2.0, 3.0), 3.0, (2.0, 4.0)),
            ((1.0, 1.0, 1.0, 100.0), 1.0, (1.0, 25.75)),
        ],
    )
    def test_known(self, values: tuple[float, ...], median: float, quartiles: tuple[float, float]) -> None:
        samples = Samples(values)
        assert (samples.median, samples.quartiles) == (median, quartiles)

    @given(TIMES)
    def test_as_numpy(self, values: list[float]) -> None:
        samples = Samples(tuple(values))
        assert samples.median == pytest.approx(np.median(values))
        if len(values) != 2:
            assert samples.quartiles == pytest.approx(tuple(np.quantile(values, [0.25, 0.75])))

    @given(TIMES)
    def test_order_does_not_matter_and_the_median_is_between(self, values: list[float]) -> None:
        samples = Samples(tuple(values))
        low, high = samples.quartiles
        assert min(values) - 1e-9 <= low <= samples.median + 1e-9
        assert samples.median - 1e-9 <= high <= max(values) + 1e-9
        assert Samples(tuple(sorted(values))).quartiles == samples.quartiles

    def test_none_at_all(self) -> None:
        with pytest.raises(statistics.StatisticsError):
            _ = Samples(()).median


class TestInterleaved:
    def test_all_take_turns(self) -> None:
        order: list[str] = []

        def run(name: str) -> int:
            order.append(name)
            return len(order)

        found = interleaved({name: lambda name=name: run(name) for name in "abc"}, 3)  # type: ignore[misc]
        assert "".join(order) == "abcabcabc"
        assert found == {"a": [1, 4, 7], "b": [2, 5, 8], "c": [3, 6, 9]}

    def test_nothing_to_do(self) -> None:
        assert interleaved({}, 3) == {}


class TestSettings:
    @pytest.mark.parametrize(
        ("threads", "counts"),
        [(1, (1,)), (2, (1, 2)), (3, (1, 2, 3)), (6, (1, 2, 3, 4, 6)), (8, (1, 2, 4, 8)), (48, (1, 2, 4, 24, 48))],
    )
    def test_threads(self, threads: int, counts: tuple[int, ...]) -> None:
        assert chosen(threads).thread_counts == counts
        assert chosen(threads, quick=True).thread_counts == (threads,)

    def test_as_many_threads_as_cores_that_may_be_used(self) -> None:
        assert chosen().most_threads == usable_cores() >= 1
        assert chosen().with_threads(3).most_threads == 3

    @pytest.mark.parametrize(
        ("seconds", "batch_size", "quick", "frames"),
        [
            (10.0, 4, False, 8),  # a slow machine: still enough for two batches
            (10.0, 16, False, 16),
            (0.25, 4, False, 16),
            (0.25, 4, True, 8),
            (0.25, 3, False, 15),
            (1e-4, 4, False, 480),  # a fast one: making the clip must not take longer than measuring
        ],
    )
    def test_frames_fill_batches(self, seconds: float, batch_size: int, quick: bool, frames: int) -> None:
        assert chosen(batch_size=batch_size, quick=quick).num_frames(seconds) == frames

    @pytest.mark.parametrize(
        ("runs", "quick", "cold", "long"), [(2, False, 3, 2), (7, False, 3, 2), (30, False, 15, 10), (3, True, 1, 2)]
    )
    def test_runs(self, runs: int, quick: bool, cold: int, long: int) -> None:
        settings = chosen(runs=runs, quick=quick)
        assert (settings.cold_starts, settings.long_runs) == (cold, long)

    def test_batches_grow(self) -> None:
        assert chosen().batch_sizes == (1, 2, 4, 8)
        assert set(chosen(quick=True).batch_sizes) <= set(chosen().batch_sizes)


@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="only Linux can forget a peak")
def test_a_peak_is_that_of_what_came_since() -> None:
    forget_peak()
    before = peak_bytes()
    large = np.ones(64 * 2**20, np.uint8)
    held = peak_bytes()
    del large
    assert before is not None
    assert held is not None
    assert held - before > 60 * 2**20
    assert peak_bytes() == pytest.approx(held, abs=2**20)  # the kernel counts in bundles of pages
    forget_peak()
    forgotten = peak_bytes()
    assert forgotten is not None
    assert held - forgotten > 60 * 2**20
