"""One number with what it should be, and the line that tells both."""

from dataclasses import asdict, dataclass, field
from statistics import median
from typing import Any, Literal

from measuring import ratio_interval


@dataclass(frozen=True)
class Number:
    """A measured number.

    Args:
        name: what it is.
        value: None when it could not be measured; `note` says why.
        limit: what it should be at most, or at least; None for a number that promises nothing.
        bound: which of the two.
        unit: written behind the value; `x` is a ratio.
        interval: 95 % interval of the value, from the noise of the measurement.
        noise: a value beyond the limit by at most this share is as good, if the interval reaches the limit. For
            comparisons of like with like, whose ratio is 1 and falls to either side by chance.
        note: a few words more.
    """

    name: str
    value: float | None
    limit: float | None = None
    bound: Literal["at most", "at least"] = "at most"
    unit: str = "x"
    interval: tuple[float, float] | None = None
    noise: float = 0.0
    note: str = ""

    @property
    def is_reached(self) -> bool:
        """Whether the number is what it should be; one that was not measured is not, one without a limit is."""
        if self.limit is None:
            return True
        if self.value is None:
            return False
        return self._excess(self.value) <= 0 or self._is_noise(self.value)

    def _is_noise(self, value: float) -> bool:
        if self.interval is None:
            return False
        reaches = min(self._excess(end) for end in self.interval) <= 0
        return reaches and self._excess(value) <= self.noise * abs(self.limit or 0)

    def _excess(self, value: float) -> float:
        """How far beyond the limit; negative within it."""
        difference = value - (self.limit or 0)
        return difference if self.bound == "at most" else -difference

    def line(self) -> str:
        """`name: measured (target) yes`."""
        measured = "not measured" if self.value is None else self._text(self.value)
        verdict = "yes" if self.is_reached else "no"
        target = "" if self.limit is None else f" ({self.bound} {self._text(self.limit)}) {verdict}"
        interval = "" if self.interval is None else f"; 95 % {self.interval[0]:.3f} to {self.interval[1]:.3f}"
        return f"{self.name}: {measured}{target}{interval}{'; ' if self.note else ''}{self.note}"

    def _text(self, value: float) -> str:
        digits = (
            f"{value:.1e}" if value and abs(value) < 0.001 else f"{value:.3f}" if abs(value) < 100 else f"{value:.0f}"
        )
        return f"{digits} {self.unit}".rstrip()

    def as_json(self) -> dict[str, Any]:
        """All of it."""
        return asdict(self) | {"reached": self.is_reached}


@dataclass(frozen=True)
class PartResult:
    """What a part has measured.

    Args:
        numbers: each becomes a line.
        table: lines printed as they are, before the numbers.
        samples: every single measurement, by name; for the file that `--json` writes.
    """

    numbers: list[Number]
    table: list[str] = field(default_factory=list)
    samples: dict[str, list[float]] = field(default_factory=dict)


def ratio(
    name: str,
    upper: list[float],
    lower: list[float],
    limit: float | None = None,
    bound: Literal["at most", "at least"] = "at most",
    noise: float = 0.0,
    note: str = "",
) -> Number:
    """The ratio of the medians of two that were measured in the same rounds."""
    value = median(upper) / median(lower)
    return Number(name, value, limit, bound, interval=ratio_interval(upper, lower), noise=noise, note=note)


def spread(name: str, samples: list[float], scale: float = 1000, unit: str = "ms") -> str:
    """A line of a table: median, and from the least to the greatest."""
    middle, least, greatest = (scale * value for value in (median(samples), min(samples), max(samples)))
    return f"  {name:<44} {middle:9.2f} {unit}   {least:.2f} to {greatest:.2f}"
