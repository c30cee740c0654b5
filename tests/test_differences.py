"""How far arrays are from each other, where some numbers are none."""

import math

import numpy as np
import pytest

from ssd_detect.differences import largest_difference

INF, NAN = math.inf, math.nan


@pytest.mark.parametrize(
    ("expected", "found", "largest"),
    [
        ([], [], 0.0),
        ([1.0], [1.0], 0.0),
        ([1.0, 2.0], [1.5, 1.0], 1.0),
        ([INF, -INF], [INF, -INF], 0.0),
        ([INF], [-INF], INF),
        ([INF], [1.0], INF),
        ([NAN], [1.0], INF),
        ([1.0], [NAN], INF),
        ([NAN], [NAN], INF),
    ],
)
def test_largest_difference(expected: list[float], found: list[float], largest: float) -> None:
    assert largest_difference(np.array(expected, np.float32), np.array(found, np.float32)) == largest
