"""Where a list of detections ends, by the score threshold or by the limits of a profile."""

import numpy as np

from ssd_detect.arrays import Floats
from ssd_detect.boxes.outputs import class_thresholds
from ssd_detect.boxes.profiles import ProfileRules, rules_of
from ssd_detect.detections import Detections
from ssd_detect.settings import DetectionSettings


def list_ends(scores: Floats, found: Detections, settings: DetectionSettings) -> Floats:
    """(C,) float32: the score of each class below which nothing could come into the list.

    Args:
        scores: (N, C) float32, of one picture.
        found: what was made of them, best score first.
        settings: resolved; thresholds, top_k and max_detections count here.
    """
    rules = rules_of(settings)
    thresholds = class_thresholds(settings, found.class_names)
    ends = np.full(scores.shape[1], settings.score_threshold, np.float32) if thresholds is None else thresholds
    if rules.top_k is not None:
        ends = np.maximum(ends, _of_the_best(scores, rules.top_k, per_class=rules.per_class))
    if rules.max_detections is not None and len(found) >= rules.max_detections:
        ends = np.maximum(ends, found.scores[-1])
    return _with_full_classes(ends, found, rules)


def _of_the_best(scores: Floats, count: int, *, per_class: bool) -> Floats:
    """The score of the last of the `count` best: (C,), or (1,) of all classes together; 0 where all find room."""
    columns = scores if per_class else scores[:, 1:].reshape(-1, 1)  # without the background
    if len(columns) <= count:
        return np.zeros(columns.shape[1], np.float32)
    last: Floats = np.partition(columns, -count, axis=0)[-count]
    return last


def _with_full_classes(ends: Floats, found: Detections, rules: ProfileRules) -> Floats:
    if rules.max_per_class is None:
        return ends
    for class_id in np.flatnonzero(np.bincount(found.class_ids) >= rules.max_per_class):
        ends[class_id] = max(ends[class_id], found.scores[found.class_ids == class_id].min())
    return ends
