"""Where a part of a video ends when several limits are given."""

from fractions import Fraction

import numpy as np
import pytest

from ssd_detect import frames_at_rate
from ssd_detect.media.video.selection import Chosen
from ssd_detect.settings import Selection


@pytest.mark.parametrize(
    ("start", "end", "max_seconds", "max_frames", "taken"),
    [
        (None, None, None, None, range(40)),
        (None, 2, None, None, range(20)),
        (None, None, 1, None, range(10)),
        (None, 2, 1, None, range(10)),  # what comes first counts
        (None, 1, 2, None, range(10)),
        (1, 2, Fraction(1, 2), None, range(10, 15)),
        (1, 2, 3, None, range(10, 20)),
        (1, 2, Fraction(1, 2), 3, range(10, 13)),
        (5, None, 1, None, range(0)),
    ],
)
def test_the_first_limit_counts(
    start: int | None, end: int | None, max_seconds: Fraction | None, max_frames: int | None, taken: range
) -> None:
    frames = list(frames_at_rate([np.zeros((2, 2, 3), np.uint8)] * 40, 10))
    selection = Selection(
        start=None if start is None else Fraction(start),
        end=None if end is None else Fraction(end),
        max_seconds=None if max_seconds is None else Fraction(max_seconds),
        max_frames=max_frames,
    )
    chosen = Chosen(frames, selection)
    assert [frame.frame.time.pts for frame in chosen] == list(taken)
    assert chosen.ended_early == (0 < len(taken) < 40)
