"""Detections that one computation makes and another does not, although their numbers are the same but for rounding.

A score beside the threshold, two nearly equal rivals, or an overlap beside the threshold of the suppression is decided
by the last digits. Weights that are random or half trained make thousands of nearly equal scores, and so some of these.
"""

from typing import NamedTuple

import numpy as np

from ssd_detect.arrays import Flags, Floats, Integers
from ssd_detect.boxes.geometry import pairwise_iou

SCORE_MARGIN = 2e-4
"""Scores that are closer are as good as equal: two that may each be off by the 1e-4 that engines are allowed."""


class Kept(NamedTuple):
    """What suppression left of one picture, or of several.

    Args:
        boxes: (n, 4) float32 xyxy, any unit.
        scores: (n,) float32.
        groups: (n,) int64: boxes are compared within a picture, or within a class of a picture.
        ids: (n,) int64, a number for each one's anchor and class: none is a rival of itself.
        is_shared: (n,) bool, whether the other computation left it too.
    """

    boxes: Floats
    scores: Floats
    groups: Integers
    ids: Integers
    is_shared: Flags


class Allowed(NamedTuple):
    """What decides, and how far the two computations may differ in it.

    Args:
        floors: (n,) float32, for each box of the one: the score at which the other's list ends for its class, by the
            threshold or by a limit that cut it.
        iou_threshold: of the suppression.
        side: by how much a side of a box may be off, in the unit of the boxes.
    """

    floors: Floats
    iou_threshold: float
    side: float


def are_toss_ups(one: Kept, other: Kept, allowed: Allowed) -> bool:
    """Whether everything that only `one` left may be missing from `other` by rounding alone; to be asked both ways.

    It may be missing where its score is near the one at which the other's list ends; or where the other has a rival in
    its group, not clearly worse, whose overlap is near the threshold, or above it if `one` did not leave the rival:
    then the same is asked of the rival, so that a chain of such changes must begin with one of the last digits.
    """
    is_near_the_end = one.scores <= allowed.floors + np.float32(SCORE_MARGIN)
    unexplained = np.flatnonzero(~one.is_shared & ~is_near_the_end)
    return all(_has_rival(one, int(place), other, allowed) for place in unexplained)


def _has_rival(one: Kept, place: int, other: Kept, allowed: Allowed) -> bool:
    is_rival = (other.groups == one.groups[place]) & (other.ids != one.ids[place])
    is_rival &= other.scores >= one.scores[place] - np.float32(SCORE_MARGIN)
    box, rivals = one.boxes[[place]], other.boxes[is_rival]  # (1, 4), (m, 4)
    with np.errstate(divide="ignore", invalid="ignore"):  # boxes without an area
        overlaps = pairwise_iou(box, rivals)[0]
        # Two sides of the shorter way across decide most; both may be off.
        margins = 2 * allowed.side / np.minimum(_shortest(box), _shortest(rivals))
    is_too_clear = other.is_shared[is_rival] & (overlaps > allowed.iou_threshold + margins)
    return bool(((overlaps >= allowed.iou_threshold - margins) & ~is_too_clear).any())


def _shortest(boxes: Floats) -> Floats:
    """(n, 4) xyxy to (n,): the shorter of width and height."""
    shortest: Floats = (boxes[:, 2:] - boxes[:, :2]).min(axis=1)
    return shortest
