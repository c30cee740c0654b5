"""VOC's average precision, 11-point and all-point.

Sources: Everingham et al., "The PASCAL Visual Object Classes (VOC) Challenge" (2010), section 4.2, and the development
kits of VOC 2007 and 2010. Recall is compared with j / 10, not with a sum of steps, whose rounding loses points.
"""

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from ssd_detect.arrays import Doubles, Flags, Integers
from ssd_detect.evaluation.matching import Matches, Outcome
from ssd_detect.evaluation.results import ClassResult, VocMetric, VocResult, mean_of_applicable
from ssd_detect.evaluation.tables import PredictionTable, TruthTable

_RECALL_POINTS = np.array([j / 10 for j in range(11)])


def precision_envelope(precision: Doubles) -> Doubles:
    """The best precision at this recall or a higher one; (k,) to (k,)."""
    envelope: Doubles = np.maximum.accumulate(precision[::-1])[::-1]
    return envelope


def ap_11_points(recall: Doubles, precision: Doubles) -> float:
    """Mean of the envelope at recall 0, 0.1, ... 1, and 0 where that recall is not reached; (k,), recall ascending."""
    at = np.searchsorted(recall, _RECALL_POINTS, side="left")
    return float(np.append(precision_envelope(precision), 0.0)[at].mean())


def ap_all_points(recall: Doubles, precision: Doubles) -> float:
    """Area under the envelope; (k,), recall ascending."""
    return float(np.diff(recall, prepend=0.0) @ precision_envelope(precision))


AP_RULES: Mapping[VocMetric, Callable[[Doubles, Doubles], float]] = {"voc07": ap_11_points, "voc10": ap_all_points}
"""How each metric makes a number of a curve's recall and precision."""


def counted_objects(truth: TruthTable) -> Flags:
    """(m,) bool: objects that can be missed: neither difficult nor a crowd."""
    return ~(truth.difficult | truth.crowd)


def voc_result(
    truth: TruthTable, predictions: PredictionTable, matches: Matches, class_names: Sequence[str], metric: VocMetric
) -> VocResult:
    """AP of every class and their mean.

    Args:
        truth, predictions: what was compared.
        matches: of these tables; see `matching.match`.
        class_names: background first.
        metric: `voc07` or `voc10`.
    """
    num_objects = np.bincount(truth.class_id[counted_objects(truth)], minlength=len(class_names))
    num_difficult = np.bincount(truth.class_id[truth.difficult & ~truth.crowd], minlength=len(class_names))
    ends = np.searchsorted(predictions.class_id[matches.ranking], np.arange(len(class_names)), side="right")
    classes = []
    for class_id in range(1, len(class_names)):
        rows = matches.ranking[ends[class_id - 1] : ends[class_id]]
        score, precision, recall = _curve(rows, predictions, matches, int(num_objects[class_id]))
        classes.append(
            ClassResult(
                class_id=class_id,
                name=class_names[class_id],
                num_objects=int(num_objects[class_id]),
                num_difficult=int(num_difficult[class_id]),
                num_detections=len(rows),
                ap=AP_RULES[metric](recall, precision) if num_objects[class_id] else None,
                score=score,
                precision=precision,
                recall=recall,
            )
        )
    mean_ap = mean_of_applicable([one.ap for one in classes])
    return VocResult(metric, matches.iou_threshold, tuple(classes), mean_ap)


def _curve(
    rows: Integers, predictions: PredictionTable, matches: Matches, num_objects: int
) -> tuple[Doubles, Doubles, Doubles]:
    """Score, precision and recall at each counted detection of one class, best first; `rows` are ranked."""
    counted = rows[matches.outcome[rows] != Outcome.IGNORED]
    hits = np.cumsum(matches.outcome[counted] == Outcome.HIT)
    return predictions.score[counted], hits / np.arange(1, len(counted) + 1), hits / max(num_objects, 1)
