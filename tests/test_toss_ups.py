"""Which differences of two lists of detections the last digits decide, and which are differences."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ssd_detect.boxes.nms import suppress
from ssd_detect.boxes.toss_ups import Allowed, Kept, are_toss_ups

IOU = 0.45
SIDE = 0.1  # pixels that a side may be off
FLOOR = 0.3

# 100 pixels wide and high; a box moved by d to the right overlaps it by (100 - d) / (100 + d).
HERE = (0, 0, 100, 100)
BEYOND = (20, 0, 120, 100)  # IoU 0.67 with HERE
AT = (37.9311, 0, 137.9311, 100)  # IoU 0.45 with HERE
BELOW = (40, 0, 140, 100)  # IoU 0.43
AWAY = (500, 0, 600, 100)


def moved(box: Any, by: float) -> tuple[float, ...]:
    return tuple(side + by for side in box)


def kept(*rows: tuple[Any, float, bool], group: int = 3) -> Kept:
    """Of box, score, and whether the other one left it too; each box has an anchor of its own."""
    boxes, scores, shared = zip(*rows, strict=True) if rows else ((), (), ())
    return Kept(
        np.array(boxes, np.float32).reshape(-1, 4),
        np.array(scores, np.float32),
        np.full(len(rows), group),
        np.array([int(10 * sum(box)) for box in boxes], np.int64),
        np.array(shared, np.bool_),
    )


def excused(one: Kept, other: Kept, floor: float = FLOOR) -> bool:
    return are_toss_ups(one, other, Allowed(np.full(len(one.scores), floor, np.float32), IOU, SIDE))


NOTHING = kept()


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (NOTHING, NOTHING),
        (NOTHING, kept((HERE, 0.9, False))),  # to be asked the other way round
        (kept((HERE, 0.9, True)), kept((HERE, 0.9, True))),
        (kept((HERE, 0.3001, False)), NOTHING),  # just above the threshold
        (kept((HERE, 0.3, False)), NOTHING),
        (kept((HERE, 0.9, False)), kept((BEYOND, 0.90005, False))),  # rivals as good as equal, in either order
        (kept((HERE, 0.9, False)), kept((BEYOND, 0.89995, False))),
        (kept((AT, 0.5, False)), kept((HERE, 0.9, True))),  # an overlap beside the threshold
        (kept((HERE, 0.5, False)), kept((AT, 0.9, True))),
        # The rival is not in the one list, which is asked the other way round.
        (kept((HERE, 0.5, False)), kept((BEYOND, 0.9, False))),
        # A side may be off by a tenth of such a box.
        (kept(((0, 0, 1, 100), 0.5, False)), kept(((0.4, 0, 1.4, 100), 0.9, True))),
    ],
)
def test_excused(one: Kept, other: Kept) -> None:
    assert excused(one, other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (kept((HERE, 0.9, False)), NOTHING),
        (kept((HERE, 0.3003, False)), NOTHING),  # above the threshold, and by more than may be off
        (kept((HERE, 0.9, False)), kept((AWAY, 0.9, False))),
        (kept((BELOW, 0.5, False)), kept((HERE, 0.9, False))),  # which would not remove it
        (kept((HERE, 0.9, False)), kept((BEYOND, 0.8995, False))),  # a worse one removes nothing
        (kept((AT, 0.9, False)), kept((HERE, 0.8995, True))),
        (kept((HERE, 0.5, False)), kept((BEYOND, 0.9, True))),  # left by both: the one must have left this one out
        (kept((HERE, 0.9, False)), kept((BEYOND, 0.9, False), group=4)),  # another class
        (kept((HERE, 0.9, False), (AWAY, 0.9, False)), kept((BEYOND, 0.9, False))),  # all must be excused
        (kept((HERE, 0.9, False)), kept((HERE, 0.9, False))),  # the same anchor is no rival
        (kept(((0, 0, 0, 100), 0.5, False)), NOTHING),  # without an area
        (kept((HERE, float("nan"), False)), NOTHING),
    ],
)
def test_refused(one: Kept, other: Kept) -> None:
    assert not excused(one, other)


def test_a_limit_that_cut_the_list_excuses_as_the_threshold() -> None:
    assert excused(kept((HERE, 0.7, False)), NOTHING, floor=0.7)
    assert not excused(kept((HERE, 0.7, False)), NOTHING, floor=0.699)


def test_a_chain_ends_in_a_toss_up_or_is_refused() -> None:
    """The first removes the second, which removes the third: when the first is missing, all change places."""
    first, second, third = (moved(HERE, by) for by in (0, 12, 24))  # neighbours overlap by 0.63, the ends by 0.4
    one = kept((first, 0.9, False), (third, 0.7, False))
    other = kept((second, 0.8, False))
    assert excused(other, one)
    assert not excused(one, other)
    tie = kept((second, 0.9, False))
    assert excused(one, tie)
    assert excused(tie, one)


def suppressed(boxes: Any, scores: Any) -> Any:
    order = np.argsort(-scores, kind="stable")
    return order[suppress(boxes[order], np.zeros(len(order), np.int64), IOU)]


@given(st.integers(0, 2**32 - 1), st.integers(0, 300))
def test_rounding_is_always_excused_and_a_lost_detection_is_not(seed: int, count: int) -> None:
    """Many scores are as good as equal; they and the sides move a little. The lost one is away from all others."""
    random = np.random.default_rng(seed)
    corners = random.uniform(0, 200, (count, 2))
    boxes = np.concatenate([corners, corners + random.uniform(20, 100, (count, 2))], axis=1).astype(np.float32)
    boxes = np.concatenate([boxes, np.array([AWAY], np.float32)])
    scores = random.choice(np.linspace(0.31, 0.99, 9), count + 1).astype(np.float32)
    others = (boxes + random.uniform(-0.01, 0.01, boxes.shape)).astype(np.float32)
    other_scores = (scores + random.uniform(-1e-5, 1e-5, count + 1)).astype(np.float32)
    left, other_left = suppressed(boxes, scores), suppressed(others, other_scores)
    one, other = both(boxes, scores, left, others, other_scores, other_left)
    assert excused(one, other)
    assert excused(other, one)
    assert not excused(*both(boxes, scores, left, others, other_scores, other_left[other_left != count]))


def both(boxes: Any, scores: Any, left: Any, others: Any, other_scores: Any, other_left: Any) -> tuple[Kept, Kept]:
    one = Kept(boxes[left], scores[left], np.zeros(len(left), np.int64), left, np.isin(left, other_left))
    groups = np.zeros(len(other_left), np.int64)
    other_shared = np.isin(other_left, left)
    return one, Kept(others[other_left], other_scores[other_left], groups, other_left, other_shared)
