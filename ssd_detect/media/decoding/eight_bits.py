"""Pixel values of more than eight bits to eight. The rules, which a note tells the user:

- whole numbers: white is 4095 when no value is above it (12 bits kept in 16), else 65535, else the largest value;
- broken numbers: from 0 to 1 or from 0 to 255 when all are inside, else from the smallest to the largest;
- what is no number is black; beyond the ends is black or white.

A colour picture has one white for its three colours, so that they keep their balance.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ssd_detect.arrays import Pixels

Numbers: TypeAlias = NDArray[Any]
"""Pixel values of any shape and of any whole or broken type."""

_TWELVE_BITS, _SIXTEEN_BITS = 4095, 65535


@dataclass(frozen=True)
class Scale:
    """How values become 0-255: `black` and below is 0, `white` and above is 255."""

    black: float
    white: float
    note: str | None = None

    def to_eight_bits(self, values: Numbers) -> Pixels:
        """uint8 of the same shape, rounded to the nearest."""
        if values.dtype == np.uint8:
            return values
        if values.dtype == np.uint16:
            return self._scaled(np.arange(65536))[values]
        return self._scaled(values)

    def _scaled(self, values: Numbers) -> Pixels:
        with np.errstate(over="ignore", invalid="ignore"):
            unit = (values.astype(np.float64) - self.black) / (self.white - self.black)
            scaled: Pixels = np.rint(np.nan_to_num(np.clip(unit, 0, 1)) * 255).astype(np.uint8)
        return scaled


def scale_for(parts: Iterable[Numbers]) -> Scale:
    """The scale of a picture that comes in parts, all of one type; a part may be empty."""
    smallest, largest, dtype = np.inf, -np.inf, np.dtype(np.uint8)
    for part in parts:
        dtype = part.dtype
        finite = part[np.isfinite(part)] if dtype.kind == "f" else part
        if finite.size:
            smallest, largest = min(smallest, float(finite.min())), max(largest, float(finite.max()))
    if dtype.itemsize == 1:
        return Scale(0, 255)
    return _scale_of_broken(smallest, largest) if dtype.kind == "f" else _scale_of_whole(largest)


def _scale_of_whole(largest: float) -> Scale:
    if largest <= _TWELVE_BITS:
        return Scale(0, _TWELVE_BITS, "12-bit values (none above 4095) scaled to 8 bits")
    if largest <= _SIXTEEN_BITS:
        return Scale(0, _SIXTEEN_BITS, "16-bit values scaled to 8 bits")
    return Scale(0, largest, f"values up to {largest:.0f} scaled to 8 bits")


def _scale_of_broken(smallest: float, largest: float) -> Scale:
    for white in (1, 255):
        if smallest >= 0 and largest <= white:
            return Scale(0, white, f"floating-point values from 0 to {white} scaled to 8 bits")
    if not smallest < largest:  # one value alone, or no number at all
        return Scale(smallest, np.inf, "floating-point values without a range shown black")
    return Scale(smallest, largest, f"floating-point values from {smallest:.4g} to {largest:.4g} scaled to 8 bits")
