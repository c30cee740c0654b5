"""What measurements share: turns, the noise of a ratio, memory, and a line for each number."""

import resource
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

_RESAMPLES = 2000


def report(what: str, value: str, target: str = "") -> None:
    print(f"  {what:<58} {value:>16}   {target}")


def in_turns(functions: dict[str, Callable[[], float]], rounds: int) -> dict[str, list[float]]:
    """What each returns, `rounds` times, all of them in each round: what disturbs the machine disturbs all alike."""
    samples: dict[str, list[float]] = {name: [] for name in functions}
    for _ in range(rounds):
        for name, function in functions.items():
            samples[name].append(function())
    return samples


def seconds_of(function: Callable[[], object]) -> float:
    start = time.perf_counter()
    function()
    return time.perf_counter() - start


def ratio_interval(upper: Sequence[float], lower: Sequence[float]) -> tuple[float, float]:
    """95 % interval of the ratio of two medians, by resampling the rounds that both were measured in.

    Efron's percentile bootstrap on pairs: a round that was slow for both counts for both. The seed is fixed.

    Args:
        upper, lower: a sample a round each, of as many rounds.
    """
    pairs = np.array([upper, lower])  # (2, rounds)
    chosen = np.random.default_rng(0).integers(0, pairs.shape[1], (_RESAMPLES, pairs.shape[1]))
    over, under = np.median(pairs[:, chosen], axis=2)  # (resamples,) each
    low, high = np.percentile(over / under, [2.5, 97.5])
    return float(low), float(high)


def resident_mebibytes() -> float:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 2**20
