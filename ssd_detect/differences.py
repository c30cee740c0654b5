"""How far two arrays of numbers are from each other: by this, conversions and engines are judged."""

import numpy as np

from ssd_detect.arrays import Floats


def largest_difference(expected: Floats, found: Floats) -> float:
    """The largest absolute difference of two numbers in the same place; 0 where there are none.

    Infinite where the one is a number, or an infinity, and the other is another one or none.

    Args:
        expected, found: of one shape.
    """
    with np.errstate(invalid="ignore"):  # of infinities
        difference = np.abs(np.where(expected == found, np.float32(0), expected - found))
    return float(np.nan_to_num(difference, nan=np.inf, posinf=np.inf).max(initial=0.0))
