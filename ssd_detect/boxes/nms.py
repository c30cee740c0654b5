"""Greedy non-maximum suppression."""

from typing import NamedTuple

import numpy as np

from ssd_detect.arrays import Flags, Floats, Integers
from ssd_detect.boxes.geometry import pairwise_iou

# Boxes that are compared with each other at once: fewer mean more calls, more mean more pairs of which one is gone
# already. Measured on 400 and on 8000 boxes of 14 and 20 classes: 32, 64 and 400 take longer.
_BLOCK = 128
_LATER = ~np.tri(_BLOCK, dtype=np.bool_)


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
    overlap = _Overlap(np.float32(iou_threshold), removes_equal)
    if len(boxes) <= min(_BLOCK, limit or _BLOCK):  # one matrix for all classes is quicker than one for each
        overlaps = overlap(boxes, boxes)
        return _greedy(overlaps if class_agnostic else overlaps & (class_ids[:, np.newaxis] == class_ids))
    stays = np.zeros(len(boxes), np.bool_)
    for members in [np.arange(len(boxes))] if class_agnostic else _members(class_ids):
        stays[members[_of_one_class(boxes[members], overlap, limit)]] = True
    return stays


class _Overlap(NamedTuple):
    """Which pairs of boxes overlap too much: (n, 4) and (m, 4) to (n, m)."""

    threshold: np.float32
    equal_counts: bool

    def __call__(self, boxes: Floats, others: Floats) -> Flags:
        with np.errstate(invalid="ignore"):  # two boxes without an area: their IoU is no number, which is above nothing
            iou = pairwise_iou(boxes, others)
        flags: Flags = iou >= self.threshold if self.equal_counts else iou > self.threshold
        return flags


def _members(class_ids: Integers) -> list[Integers]:
    """Places of the boxes of each class that occurs, in their order."""
    by_class = np.argsort(class_ids, kind="stable")
    return np.split(by_class, np.flatnonzero(np.diff(class_ids[by_class])) + 1)


def _of_one_class(boxes: Floats, overlap: _Overlap, limit: int | None) -> Integers:
    """Places of the boxes that stay, block after block: no matrix of all pairs is made."""
    kept = np.empty(0, np.int64)
    for start in range(0, len(boxes), _BLOCK):
        block = np.arange(start, min(start + _BLOCK, len(boxes)))
        if len(kept):
            block = block[~overlap(boxes[kept], boxes[block]).any(axis=0)]
        kept = np.concatenate([kept, block[_greedy(overlap(boxes[block], boxes[block]))]])
        if limit is not None and len(kept) >= limit:
            break
    return kept[:limit]


def _greedy(overlap: Flags) -> Flags:
    """(n, n) to (n,), n at most a block: those that no earlier one removes."""
    removes = overlap & _LATER[: len(overlap), : len(overlap)]
    stays = np.ones(len(overlap), np.bool_)
    for i in np.flatnonzero(removes.any(axis=1)):
        if stays[i]:
            stays &= ~removes[i]
    return stays
