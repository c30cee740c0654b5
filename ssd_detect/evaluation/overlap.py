"""Which detections and objects overlap, and how much: all pairs of a data set at once.

Boxes count continuous pixels from 0. That is the VOC devkit's own measure: it counts whole pixels from 1 with both
borders inside, so a box of ours is (x0 + 1, y0 + 1, x1, y1) there, and its width x1 - (x0 + 1) + 1 is our x1 - x0; the
same holds for intersections. Nothing is left to choose.
"""

from dataclasses import dataclass

import numpy as np

from ssd_detect.arrays import Doubles, Integers
from ssd_detect.evaluation.tables import PredictionTable, TruthTable

_BLOCK = 2**20  # pairs computed at a time: bounds memory where hundreds of objects meet hundreds of detections


@dataclass(frozen=True, eq=False)
class Pairs:
    """Detections and objects of one picture that share some area.

    Args:
        detection: (p,) int64 rows of the prediction table, ascending.
        truth: (p,) int64 rows of the truth table, ascending for each detection.
        overlap: (p,) float64, above 0: IoU; for a crowd the share of the detection inside it, as COCO has it.
    """

    detection: Integers
    truth: Integers
    overlap: Doubles


def overlapping_pairs(truth: TruthTable, predictions: PredictionTable, *, same_class: bool = True) -> Pairs:
    """All pairs with a common area; only those of one class unless `same_class` is false.

    Raises:
        ValueError: tables of different pictures.
    """
    if truth.num_pictures != predictions.num_pictures:
        raise ValueError(f"{truth.num_pictures} pictures have objects, {predictions.num_pictures} have detections")
    order, first, count = _partners(truth, predictions, same_class)
    rows = np.flatnonzero(count)
    ends = np.cumsum(count[rows])
    total = int(ends[-1]) if len(ends) else 0
    blocks = np.split(rows, np.searchsorted(ends, np.arange(_BLOCK, total, _BLOCK)))
    parts = [_block(truth, predictions, block, order, first, count) for block in blocks]
    return Pairs(
        np.concatenate([part.detection for part in parts]),
        np.concatenate([part.truth for part in parts]),
        np.concatenate([part.overlap for part in parts]),
    )


def _partners(truth: TruthTable, predictions: PredictionTable, same_class: bool) -> tuple[Integers, Integers, Integers]:
    """Rows of the truth grouped by picture (and class); where each detection's group begins, and its length."""
    truth_key, key = truth.picture, predictions.picture
    if same_class:
        num_classes = 1 + max(truth.class_id.max(initial=0), predictions.class_id.max(initial=0))
        truth_key = truth_key * num_classes + truth.class_id
        key = key * num_classes + predictions.class_id
    order = np.argsort(truth_key, kind="stable")
    grouped = truth_key[order]
    first = np.searchsorted(grouped, key, side="left")
    return order, first, np.searchsorted(grouped, key, side="right") - first


def _block(
    truth: TruthTable, predictions: PredictionTable, rows: Integers, order: Integers, first: Integers, count: Integers
) -> Pairs:
    counts = count[rows]
    begins = np.cumsum(counts) - counts
    detection = np.repeat(rows, counts)  # (p,)
    partner = order[np.arange(len(detection)) + np.repeat(first[rows] - begins, counts)]  # (p,)
    boxes, others = predictions.boxes[detection], truth.boxes[partner]
    sides = np.minimum(boxes[:, 2:], others[:, 2:]) - np.maximum(boxes[:, :2], others[:, :2])  # (p, 2)
    meet = (sides > 0).all(axis=1)
    detection, partner, common = detection[meet], partner[meet], sides[meet].prod(axis=1)
    area = box_areas(boxes[meet])
    whole = np.where(truth.crowd[partner], area, area + box_areas(others[meet]) - common)
    return Pairs(detection, partner, common / whole)


def box_areas(boxes: Doubles) -> Doubles:
    """Width times height; (n, 4) float64 xyxy to (n,). In doubles, unlike `boxes.geometry`, as evaluators compute."""
    areas: Doubles = (boxes[:, 2] - boxes[:, 0]) * (boxes[:, 3] - boxes[:, 1])
    return areas
