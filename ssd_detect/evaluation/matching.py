"""Which detections hit an object, by the rule of the VOC development kit (`VOCevaldet.m`).

Detections of a class are taken best score first, ties in the order of the table. Each looks at the object of its class
in its picture that it overlaps most (of equals the first). Below the IoU threshold it is a false alarm. Else, when the
object is difficult, it is ignored; when a better detection has hit the object, it is a false alarm; else a hit.

Crowds, which VOC does not have, are no objects here: what would be a false alarm is ignored when at least the
threshold's share of it lies inside one of its class.
"""

from dataclasses import dataclass
from enum import IntEnum

import numpy as np
import numpy.typing as npt

from ssd_detect.arrays import Doubles, Flags, Integers
from ssd_detect.errors import SettingError
from ssd_detect.evaluation.overlap import Pairs, overlapping_pairs
from ssd_detect.evaluation.tables import PredictionTable, TruthTable


class Outcome(IntEnum):
    """What a detection is."""

    IGNORED = -1
    FALSE_ALARM = 0
    HIT = 1


@dataclass(frozen=True, eq=False)
class BestObjects:
    """For each detection the object of its class that it overlaps most, whatever the threshold.

    Args:
        ranking: (n,) int64 rows of the prediction table: by class, then best score first, ties in their order.
        truth: (n,) int64 row of the truth table; -1: it touches none.
        iou: (n,) float64; 0 where it touches none.
        crowd_share: (n,) float64, the largest share of it inside a crowd of its class.
    """

    ranking: Integers
    truth: Integers
    iou: Doubles
    crowd_share: Doubles


@dataclass(frozen=True, eq=False)
class Matches:
    """What became of each detection at one IoU threshold.

    Args:
        iou_threshold: that threshold.
        ranking: as in `BestObjects`.
        outcome: (n,) int8, an `Outcome` for each row of the prediction table.
        truth: (n,) int64 row of the object that it reaches the threshold with, hit or not; -1: none.
    """

    iou_threshold: float
    ranking: Integers
    outcome: npt.NDArray[np.int8]
    truth: Integers


def check_iou_threshold(value: float) -> None:
    """Refuse a threshold that no overlap can reach, or every one does.

    Raises:
        SettingError: not above 0 and at most 1.
    """
    if not 0.0 < value <= 1.0:  # also true for NaN
        raise SettingError(f"IoU threshold is {value}, expected a number above 0, at most 1")


def rank(predictions: PredictionTable) -> Integers:
    """Rows by class, then best score first, ties in the order of the table; (n,) int64."""
    return np.lexsort((-predictions.score, predictions.class_id))


def best_objects(truth: TruthTable, predictions: PredictionTable) -> BestObjects:
    """What the matching needs, computed once for all thresholds."""
    pairs = overlapping_pairs(truth, predictions)
    in_crowd = truth.crowd[pairs.truth]
    row, iou = largest_overlap(pairs, ~in_crowd, len(predictions))
    _, share = largest_overlap(pairs, in_crowd, len(predictions))
    return BestObjects(rank(predictions), row, iou, share)


def largest_overlap(pairs: Pairs, chosen: Flags, n: int) -> tuple[Integers, Doubles]:
    """The largest overlap of each of `n` detections among the chosen pairs, and the first object that has it."""
    detection, partner, overlap = pairs.detection[chosen], pairs.truth[chosen], pairs.overlap[chosen]
    largest = np.zeros(n)
    np.maximum.at(largest, detection, overlap)
    row = np.full(n, -1)
    first = np.flatnonzero(overlap == largest[detection])[::-1]  # backwards: the last one written is the first
    row[detection[first]] = partner[first]
    return row, largest


def match(truth: TruthTable, best: BestObjects, iou_threshold: float, *, strict: bool = False) -> Matches:
    """Apply the rule at one threshold.

    Args:
        truth: the objects that `best` was made with.
        best: see `best_objects`.
        iou_threshold: 0 to 1, above 0.
        strict: an object is hit only above the threshold, as some ports of SSD have it; the devkit hits at it too.
    """
    reaches = (best.iou > iou_threshold if strict else best.iou >= iou_threshold) & (best.truth >= 0)
    in_crowd = best.crowd_share > iou_threshold if strict else best.crowd_share >= iou_threshold
    difficult = np.zeros(len(reaches), np.bool_)
    difficult[reaches] = truth.difficult[best.truth[reaches]]
    outcome = np.where(difficult | (in_crowd & ~reaches), Outcome.IGNORED, Outcome.FALSE_ALARM).astype(np.int8)
    ranked = best.ranking[(reaches & ~difficult)[best.ranking]]
    _, first = np.unique(best.truth[ranked], return_index=True)
    outcome[ranked[in_crowd[ranked]]] = Outcome.IGNORED
    outcome[ranked[first]] = Outcome.HIT
    return Matches(iou_threshold, best.ranking, outcome, np.where(reaches, best.truth, -1))
