"""Which detections hit an object, by COCO's rule (`COCOeval.evaluateImg`), for all thresholds and sizes at once.

Detections of a class are taken picture by picture, best score first, the best 100. Each takes, of the objects of its
class that are still free (a crowd always is) and reach the threshold, the one it overlaps most (of equals the last),
but an ignored one only when no other is left. An object is ignored when it is a crowd or outside the range of sizes.
"""

from dataclasses import dataclass

import numpy as np

from ssd_detect.arrays import Doubles, Flags, Integers
from ssd_detect.evaluation.matching import rank
from ssd_detect.evaluation.overlap import Pairs, overlapping_pairs
from ssd_detect.evaluation.tables import PredictionTable, TruthTable

IOU_THRESHOLDS = np.linspace(0.5, 0.95, 10)
MAX_DETECTIONS = 100
"""Of one class in one picture."""

SMALL_AREA, MEDIUM_AREA, LARGEST_AREA = 32.0**2, 96.0**2, 1e5**2
AREA_RANGES = {
    "all": (0.0, LARGEST_AREA),
    "small": (0.0, SMALL_AREA),
    "medium": (SMALL_AREA, MEDIUM_AREA),
    "large": (MEDIUM_AREA, LARGEST_AREA),
}
"""Pixels squared, both borders inside: an object exactly on one counts twice, as in COCO's own tool."""

_ALMOST_ONE = 1 - 1e-10  # COCO's own guard for a threshold of 1


@dataclass(frozen=True, eq=False)
class CocoMatches:
    """What the detections hit. A = 4 ranges of sizes, T = 10 thresholds.

    Args:
        ranking: (r,) int64 rows of the prediction table: by class, best score first; those past the 100th left out.
        place: (n,) int64: 0 for the best of its class in its picture, 1 for the next, ...
        row: (k,) int64 rows of the prediction table that reach the lowest threshold with some object.
        truth: (A, T, k) int64: row of the object that each took; -1: none.
        ignored: (A, m) bool for each row of the truth table.
    """

    ranking: Integers
    place: Integers
    row: Integers
    truth: Integers
    ignored: Flags


def outside(area: Doubles) -> Flags:
    """Which areas lie outside each range; (n,) to (A, n)."""
    return np.stack([(area < low) | (area > high) for low, high in AREA_RANGES.values()])


def coco_match(truth: TruthTable, predictions: PredictionTable) -> CocoMatches:
    """Apply the rule."""
    ranking = rank(predictions)
    place = _places(predictions, ranking)
    pairs = _near_pairs(overlapping_pairs(truth, predictions), place)
    ignored = outside(truth.area) | truth.crowd
    row, taken = _take_in_turns(pairs, place, truth.crowd, ignored)
    return CocoMatches(ranking[place[ranking] < MAX_DETECTIONS], place, row, taken, ignored)


def _places(predictions: PredictionTable, ranking: Integers) -> Integers:
    """How many better detections of the same class are in the same picture; (n,)."""
    classes = 1 + predictions.class_id.max(initial=0)
    group = predictions.picture[ranking] * classes + predictions.class_id[ranking]
    order = np.argsort(group, kind="stable")
    grouped = group[order]
    place = np.empty(len(ranking), np.int64)
    place[ranking[order]] = np.arange(len(grouped)) - np.searchsorted(grouped, grouped, side="left")
    return place


def _near_pairs(pairs: Pairs, place: Integers) -> Pairs:
    """Those that can become a match, by the place of the detection, then by detection."""
    near = np.flatnonzero((pairs.overlap >= IOU_THRESHOLDS[0]) & (place[pairs.detection] < MAX_DETECTIONS))
    near = near[np.argsort(place[pairs.detection[near]], kind="stable")]
    return Pairs(pairs.detection[near], pairs.truth[near], pairs.overlap[near])


def _take_in_turns(pairs: Pairs, place: Integers, crowd: Flags, ignored: Flags) -> tuple[Integers, Integers]:
    """Rows of the detections, and what each took.

    Detections of the same place are of different pictures or classes, so they cannot want the same object: all of
    one place take their turn together.
    """
    n, (num_ranges, num_objects) = len(pairs.detection), ignored.shape
    thresholds = np.minimum(IOU_THRESHOLDS, _ALMOST_ONE)
    by_overlap = np.lexsort((pairs.truth, pairs.overlap))
    wish = np.empty(n, np.int64)  # from 1; a pair with a larger number is preferred
    wish[by_overlap] = np.arange(1, n + 1)
    busy = np.zeros((num_ranges, len(thresholds), num_objects), np.bool_)
    turns = np.flatnonzero(np.diff(place[pairs.detection])) + 1
    rows, results = [np.zeros(0, np.int64)], [np.zeros((num_ranges, len(thresholds), 0), np.int64)]
    for turn in np.split(np.arange(n), turns) if n else []:
        objects = pairs.truth[turn]
        starts = np.flatnonzero(np.diff(pairs.detection[turn], prepend=-1))  # (d,)
        free = ~busy[:, :, objects] | crowd[objects]
        free &= pairs.overlap[turn] >= thresholds[:, np.newaxis]  # (A, T, p)
        value = free * (wish[turn] + (n + 1) * ~ignored[:, objects])[:, np.newaxis]  # (A, T, p); 0: cannot be taken
        best = np.maximum.reduceat(value, starts, axis=2)  # (A, T, d)
        taken = np.where(best > 0, pairs.truth[by_overlap[best % (n + 1) - 1]], -1)
        a, t, d = np.nonzero(taken >= 0)
        busy[a, t, taken[a, t, d]] = True
        rows.append(pairs.detection[turn[starts]])
        results.append(taken)
    return np.concatenate(rows), np.concatenate(results, axis=2)
