"""Greedy non-maximum suppression."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from ssd_detect.arrays import Flags, Floats, Integers
from ssd_detect.boxes.geometry import pairwise_iou
from ssd_detect.boxes.groups import by_group, ranks, sizes_of_runs

# Boxes that are compared with each other at once: fewer mean more calls, more mean more pairs of which one is gone
# already. Measured on 400 and on 8000 boxes of 14 and 20 classes: 32, 64 and 400 take longer.
_BLOCK = 128
_LATER = ~np.tri(_BLOCK, dtype=np.bool_)


def suppress(
    boxes: Floats,
    groups: Integers,
    iou_threshold: float,
    *,
    class_agnostic: bool = False,
    removes_equal: bool = True,
    limit: int | None = None,
) -> Flags:
    """Which boxes stay when each one removes the later ones of its group that overlap it.

    Args:
        boxes: (n, 4) float32 xyxy, those of one group best score first; any unit. Those without an area overlap
            nothing.
        groups: (n,) int64, at least 0: boxes are compared within a picture, or within a class of a picture.
        iou_threshold: a later box goes when its IoU with an earlier one that stays is above this.
        class_agnostic: all are one group.
        removes_equal: an IoU that equals the threshold counts as well.
        limit: at most so many boxes of a group stay, the first ones.

    Returns:
        (n,) bool. Time grows with n times the number that stay in a group.
    """
    if class_agnostic:
        groups = np.zeros_like(groups)
    overlap = _Overlap(np.float32(iou_threshold), removes_equal)
    order = by_group(groups)
    boxes, groups = boxes[order], groups[order]
    kept = np.zeros(len(boxes), np.bool_)
    for start, end in _portions(sizes_of_runs(groups)):
        if end - start <= _BLOCK:  # one matrix for several groups is quicker than one for each
            of = groups[start:end]
            overlaps = overlap(boxes[start:end], boxes[start:end])
            kept[start:end] = _greedy(overlaps if of[0] == of[-1] else overlaps & (of[:, np.newaxis] == of))
        else:
            kept[start + _of_one_group(boxes[start:end], overlap, limit)] = True
    if limit is not None:
        places = np.flatnonzero(kept)
        kept[places[ranks(groups[places]) >= limit]] = False
    stays = np.empty_like(kept)
    stays[order] = kept
    return stays


def _portions(sizes: Integers) -> Iterator[tuple[int, int]]:
    """From where to where, to take whole groups at once, as many as fit a block, or a larger one alone."""
    ends = np.cumsum(sizes)
    start = first = 0
    while first < len(ends):
        last = max(int(np.searchsorted(ends, start + _BLOCK, side="right")), first + 1)
        yield start, (start := int(ends[last - 1]))
        first = last


class _Overlap(NamedTuple):
    """Which pairs of boxes overlap too much: (n, 4) and (m, 4) to (n, m)."""

    threshold: np.float32
    equal_counts: bool

    def __call__(self, boxes: Floats, others: Floats) -> Flags:
        with np.errstate(invalid="ignore"):  # two boxes without an area: their IoU is no number, which is above nothing
            iou = pairwise_iou(boxes, others)
        flags: Flags = iou >= self.threshold if self.equal_counts else iou > self.threshold
        return flags


def _of_one_group(boxes: Floats, overlap: _Overlap, limit: int | None) -> Integers:
    """Places of the boxes that stay, block after block: no matrix of all pairs is made; some beyond the limit too."""
    kept = np.empty(0, np.int64)
    for start in range(0, len(boxes), _BLOCK):
        block = np.arange(start, min(start + _BLOCK, len(boxes)))
        if len(kept):
            block = block[~overlap(boxes[kept], boxes[block]).any(axis=0)]
        kept = np.concatenate([kept, block[_greedy(overlap(boxes[block], boxes[block]))]])
        if limit is not None and len(kept) >= limit:
            break
    return kept


def _greedy(overlap: Flags) -> Flags:
    """(n, n) to (n,), n at most a block: those that no earlier one removes."""
    removes = overlap & _LATER[: len(overlap), : len(overlap)]
    stays = np.ones(len(overlap), np.bool_)
    for i in np.flatnonzero(removes.any(axis=1)):
        if stays[i]:
            stays &= ~removes[i]
    return stays
