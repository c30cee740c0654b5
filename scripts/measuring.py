"""What the benchmarks share: side-by-side times, memory, and a line for each number."""

import resource
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from ssd_detect.arrays import Pixels
from ssd_detect.settings import DEFAULT_BATCH_SIZE

if TYPE_CHECKING:  # it imports TensorFlow
    from ssd_detect.detector import Detector


def report(what: str, value: str, target: str = "") -> None:
    print(f"  {what:<58} {value:>16}   {target}")


def medians(functions: dict[str, Callable[[], object]], rounds: int) -> dict[str, float]:
    """Median milliseconds of each, run in turns after one warm-up each."""
    times: dict[str, list[float]] = {name: [] for name in functions}
    for i in range(rounds + 1):
        for name, function in functions.items():
            start = time.perf_counter()
            function()
            if i:
                times[name].append(1000 * (time.perf_counter() - start))
    return {name: statistics.median(values) for name, values in times.items()}


def bare_seconds(detector: "Detector", pictures: list[Pixels]) -> float:
    """Of the session calls alone; pictures of one size go through together, as in a run."""
    start = time.perf_counter()
    for i in range(0, len(pictures), DEFAULT_BATCH_SIZE):
        detector._run_network(pictures[i : i + DEFAULT_BATCH_SIZE])
    return time.perf_counter() - start


def resident_mebibytes() -> float:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 2**20
