"""Precision and recall along the scores, and which score threshold brings what is wanted."""

import math
from collections.abc import Sequence

import numpy as np

from ssd_detect.arrays import Doubles, Integers
from ssd_detect.errors import SettingError
from ssd_detect.evaluation.findings import ClassThreshold
from ssd_detect.evaluation.results import ClassResult
from ssd_detect.evaluation.voc_ap import precision_envelope


def curve_points(result: ClassResult, num_points: int = 200) -> tuple[Doubles, Doubles]:
    """The curve for drawing, thinned: recall ascending and the best precision from there on, each (k,).

    Every `num_points`-th of the way along recall, and where the curve begins and ends; at most `num_points` + 1
    points. Empty without objects or detections.
    """
    if not result.num_objects or not len(result.score):
        return np.zeros(0), np.zeros(0)
    envelope = precision_envelope(result.precision)
    wanted = np.linspace(0.0, result.recall[-1], num_points)
    at = np.unique(np.append(np.searchsorted(result.recall, wanted, side="left"), 0))
    return result.recall[at], envelope[at]


def thresholds_for_precision(classes: Sequence[ClassResult], wanted: float) -> tuple[ClassThreshold, ...]:
    """For each class the lowest score threshold at which precision is still `wanted` (0 to 1, above 0) or more.

    A few better-scored false alarms do not matter as long as precision recovers: what counts is all that is kept.
    None for a class without objects, or whose precision is never so high.

    Raises:
        SettingError: `wanted` is out of range.
    """
    if not 0.0 < wanted <= 1.0:
        raise SettingError(f"precision is {wanted}, expected a number above 0, at most 1")
    return tuple(_threshold_for_precision(result, wanted) for result in classes)


def _threshold_for_precision(result: ClassResult, wanted: float) -> ClassThreshold:
    ends = _last_of_each_score(result.score)
    good = ends[result.precision[ends] >= wanted]
    return _class_threshold(result, int(good[-1]) if len(good) else None)


def thresholds_for_f1(classes: Sequence[ClassResult]) -> tuple[ClassThreshold, ...]:
    """For each class the score threshold with the best F1; of equals the highest. None without objects or hits."""
    return tuple(_threshold_for_f1(result) for result in classes)


def _threshold_for_f1(result: ClassResult) -> ClassThreshold:
    ends = _last_of_each_score(result.score)
    f1 = _f1(result.precision[ends], result.recall[ends])
    return _class_threshold(result, int(ends[f1.argmax()]) if len(ends) and f1.max() > 0 else None)


def _last_of_each_score(score: Doubles) -> Integers:
    """A threshold keeps all detections of one score or none: the places where it can lie; ascending."""
    return np.flatnonzero(np.diff(score, append=-math.inf))


def _f1(precision: Doubles, recall: Doubles) -> Doubles:
    """Harmonic mean; 0 where both are 0."""
    total = precision + recall
    return 2 * precision * recall / np.where(total > 0, total, 1.0)


def _class_threshold(result: ClassResult, last: int | None) -> ClassThreshold:
    """The threshold that keeps the detections up to number `last`."""
    if last is None or not result.num_objects:
        return ClassThreshold(result.class_id, result.name, None, None, None, None)
    precision, recall = result.precision[last], result.recall[last]
    return ClassThreshold(
        class_id=result.class_id,
        name=result.name,
        threshold=_just_below(result.score, last),
        precision=float(precision),
        recall=float(recall),
        f1=float(_f1(precision, recall)),
    )


def _just_below(score: Doubles, last: int) -> float:
    """Half-way to the next lower score, so that rounding in a file cannot move it past either."""
    if last + 1 < len(score):
        return float(score[last] + score[last + 1]) / 2
    return float(np.nextafter(np.float32(score[last]), np.float32(-1)))
