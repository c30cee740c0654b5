"""Objects in frames that the network did not see, from those in the frames before and after."""

from dataclasses import replace

import numpy as np

from ssd_detect.arrays import Floats, Integers
from ssd_detect.boxes.geometry import pairwise_iou
from ssd_detect.detections import Detections

_SAME_OBJECT = 0.3
"""IoU from which two boxes of one class, some frames apart, count as one object."""


def interpolate(before: Detections, after: Detections, share: float) -> Detections:
    """What is between two frames.

    Boxes and scores of an object that is in both go evenly from one to the other; an object that is in one only is
    shown in the half that is nearer to that one.

    Args:
        before, after: of two frames of one video.
        share: how far the frame is from the first to the second; 0 to 1.
    """
    rows, columns = _pairs(before, after)
    moved = replace(
        before[rows],
        boxes=_mixed(before.boxes[rows], after.boxes[columns], share),
        scores=_mixed(before.scores[rows], after.scores[columns], share),
    )
    nearer, taken = (before, rows) if share < 0.5 else (after, columns)
    alone = nearer[np.setdiff1d(np.arange(len(nearer)), taken)]
    return Detections.merge([moved, alone])


def _mixed(before: Floats, after: Floats, share: float) -> Floats:
    """Evenly between both, and never outside of them: float32 would round 1 to 1.0000001, a box out of its picture."""
    mixed = (before.astype(np.float64) * (1 - share) + after.astype(np.float64) * share).astype(np.float32)
    return np.clip(mixed, np.minimum(before, after), np.maximum(before, after))


def _pairs(before: Detections, after: Detections) -> tuple[Integers, Integers]:
    """Indices (n,) in both of what counts as one object; the best overlaps first."""
    overlap: Floats = pairwise_iou(before.boxes, after.boxes)  # (n, m)
    overlap = np.where(before.class_ids[:, np.newaxis] == after.class_ids, overlap, 0)
    pairs = []
    while overlap.size and overlap.max() >= _SAME_OBJECT:
        row, column = np.unravel_index(int(overlap.argmax()), overlap.shape)
        pairs.append((row, column))
        overlap[row, :] = overlap[:, column] = 0
    rows, columns = np.array(pairs, np.int64).reshape(-1, 2).T
    return rows, columns
