"""The confusion matrix of a detector, with the background as a class.

Source: the matrix in use since Redmon's and Jocher's YOLO tools, with one change: detections that hit an object of
their own class (VOC's rule, see `matching`) come first, so that a hit is never lost to a neighbour of another class.
The rest pairs detections and objects that are left, largest overlap first, each once. Difficult objects and crowds, and
detections of them, are left out.
"""

from collections.abc import Sequence

import numpy as np

from ssd_detect.arrays import Flags, Integers
from ssd_detect.evaluation.findings import ConfusionMatrix
from ssd_detect.evaluation.matching import Matches, Outcome, best_objects, match
from ssd_detect.evaluation.overlap import overlapping_pairs
from ssd_detect.evaluation.selection import above_score
from ssd_detect.evaluation.tables import PredictionTable, TruthTable
from ssd_detect.evaluation.voc_ap import counted_objects


def confusion_matrix(
    truth: TruthTable,
    predictions: PredictionTable,
    class_names: Sequence[str],
    *,
    score_threshold: float = 0.5,
    iou_threshold: float = 0.5,
) -> ConfusionMatrix:
    """Count what objects were taken for, among the detections above a score."""
    shown, _ = above_score(predictions, score_threshold)
    matches = match(truth, best_objects(truth, shown), iou_threshold)
    free_detections = matches.outcome == Outcome.FALSE_ALARM
    free_objects = counted_objects(truth)
    hits = matches.outcome == Outcome.HIT
    free_objects[matches.truth[hits]] = False
    counts = np.zeros((len(class_names), len(class_names)), np.int64)
    np.add.at(counts, (shown.class_id[hits], shown.class_id[hits]), 1)
    for detection, partner in _pair_rest(truth, shown, matches, free_detections, free_objects):
        counts[truth.class_id[partner], shown.class_id[detection]] += 1
    np.add.at(counts[0], shown.class_id[free_detections], 1)
    np.add.at(counts[:, 0], truth.class_id[free_objects], 1)
    return ConfusionMatrix(tuple(class_names), counts, score_threshold, iou_threshold)


def _pair_rest(
    truth: TruthTable, shown: PredictionTable, matches: Matches, free_detections: Flags, free_objects: Flags
) -> list[tuple[int, int]]:
    """Pairs of what is free, which is free no longer."""
    pairs = overlapping_pairs(truth, shown, same_class=False)
    open_ = (pairs.overlap >= matches.iou_threshold) & free_detections[pairs.detection] & free_objects[pairs.truth]
    order: Integers = np.argsort(-pairs.overlap[open_], kind="stable")
    found = []
    for detection, partner in zip(
        pairs.detection[open_][order].tolist(), pairs.truth[open_][order].tolist(), strict=True
    ):
        if free_detections[detection] and free_objects[partner]:
            free_detections[detection] = free_objects[partner] = False
            found.append((detection, partner))
    return found
