"""Greedy non-maximum suppression."""

import numpy as np

from ssd_detect.arrays import Flags, Floats, Integers
from ssd_detect.boxes.geometry import pairwise_iou

# Boxes that are compared with each other at once: fewer mean more calls, more mean more pairs of which one is gone
# already. Measured on 400 and on 8000 boxes of 14 and 20 classes: 32, 64 and 400 take longer.
_BLOCK = 128


def suppress(
    boxes: Floats,
    class_ids: Integers,
    iou_threshold: float,
    *,
    class_agnostic: bool = False,
    removes_equal: bool = True,
    limit: int | None = None,
) -> Flags:
    """Which boxes stay when each one removes the later ones that overlap it.

    Args:
        boxes: (n, 4) float32 xyxy, best score first; any unit. Those without an area overlap nothing.
        class_ids: (n,) int64.
        iou_threshold: a later box goes when its IoU with an earlier one that stays is above this.
        class_agnostic: compare boxes of different classes too.
        removes_equal: an IoU that equals the threshold counts as well.
        limit: at most so many boxes of a class stay, the first ones; with `class_agnostic`, so many at all.

    Returns:
        (n,) bool. Time grows with n times the number that stay in a class (in all, with `class_agnostic`).
    """
    threshold = np.float32(iou_threshold)
    stays = np.zeros(len(boxes), np.bool_)
    for members in [np.arange(len(boxes))] if class_agnostic else _members(class_ids):
        stays[members[_first_of_each_heap(boxes[members], threshold, removes_equal, limit)]] = True
    return stays


def _members(class_ids: Integers) -> list[Integers]:
    """Places of the boxes of each class that occurs, in their order."""
    by_class = np.argsort(class_ids, kind="stable")
    return np.split(by_class, np.flatnonzero(np.diff(class_ids[by_class])) + 1)


def _first_of_each_heap(boxes: Floats, threshold: np.float32, removes_equal: bool, limit: int | None) -> Integers:
    """Places of the boxes of one class that stay, block after block: no matrix of all pairs is made."""
    kept = np.empty(0, np.int64)
    for start in range(0, len(boxes), _BLOCK):
        block = np.arange(start, min(start + _BLOCK, len(boxes)))
        if len(kept):
            block = block[~_overlap(boxes[kept], boxes[block], threshold, removes_equal).any(axis=0)]
        kept = np.concatenate([kept, block[_greedy(_overlap(boxes[block], boxes[block], threshold, removes_equal))]])
        if limit is not None and len(kept) >= limit:
            break
    return kept[:limit]


def _overlap(boxes: Floats, others: Floats, threshold: np.float32, removes_equal: bool) -> Flags:
    with np.errstate(invalid="ignore"):  # two boxes without an area: their IoU is no number, which is above nothing
        iou = pairwise_iou(boxes, others)
        overlap: Flags = iou >= threshold if removes_equal else iou > threshold
    return overlap


def _greedy(overlap: Flags) -> Flags:
    """(n, n) to (n,): those that no earlier one removes."""
    removes = np.triu(overlap, k=1)  # only later ones
    stays = np.ones(len(overlap), np.bool_)
    for i in np.flatnonzero(removes.any(axis=1)):
        if stays[i]:
            stays &= ~removes[i]
    return stays
