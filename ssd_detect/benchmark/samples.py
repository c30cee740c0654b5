"""Times of the same thing, again and again: what they come to, and how variants take turns."""

import statistics
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from typing import TypeVar

_K = TypeVar("_K", bound=Hashable)
_T = TypeVar("_T")


@dataclass(frozen=True)
class Samples:
    """Seconds of the runs of one thing, in the order in which they were taken; at least one.

    Medians and quartiles are used since a busy machine makes single runs longer, and never shorter.
    """

    values: tuple[float, ...]

    @property
    def median(self) -> float:
        """The middle one, seconds."""
        return statistics.median(self.values)

    @property
    def quartiles(self) -> tuple[float, float]:
        """The first and the third, seconds: half of the runs lie between them. The extremes where there are two runs.

        Method 7 of Hyndman and Fan 1996, which NumPy's `quantile` takes too.
        """
        if len(self.values) == 1:
            return self.values[0], self.values[0]
        low, _, high = statistics.quantiles(self.values, n=4, method="inclusive")
        return (low, high) if len(self.values) > 2 else (min(self.values), max(self.values))


def interleaved(variants: Mapping[_K, Callable[[], _T]], rounds: int) -> dict[_K, list[_T]]:
    """What each variant gives, by its key: all take turns, so that a busy minute hits all of them alike.

    Args:
        variants: called in their order in each round.
        rounds: at least 1; the first round is in the lists too.
    """
    found: dict[_K, list[_T]] = {key: [] for key in variants}
    for _ in range(rounds):
        for key, run in variants.items():
            found[key].append(run())
    return found
