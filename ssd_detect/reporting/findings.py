"""All that the evaluation room finds beyond the result itself, asked for at once."""

from dataclasses import dataclass
from typing import Any

from ssd_detect.arrays import Doubles
from ssd_detect.evaluation.by_size import ap_by_size
from ssd_detect.evaluation.calibration import calibration
from ssd_detect.evaluation.confusion import confusion_matrix
from ssd_detect.evaluation.curves import thresholds_for_f1, thresholds_for_precision
from ssd_detect.evaluation.error_kinds import error_kinds
from ssd_detect.evaluation.findings import Calibration, ClassThreshold, ConfusionMatrix, ErrorKinds, SizeResult
from ssd_detect.evaluation.matching import Matches, Outcome, best_objects, match
from ssd_detect.evaluation.results import VocResult
from ssd_detect.evaluation.voc_ap import voc_result
from ssd_detect.reporting.details import ReportDetails


@dataclass(frozen=True, eq=False)
class Findings:
    """What an evaluation shows beyond its numbers, at one IoU threshold.

    Args:
        curves: precision and recall of each class.
        hit_scores, false_alarm_scores: (n,) scores of the detections that hit an object and of those that do not.
        confusion, errors, sizes, calibration: see `evaluation.findings`.
        precision: what `for_precision` must reach.
        for_precision: the lowest threshold of each class that reaches it.
        for_f1: the threshold of each class with the best F1.
    """

    curves: VocResult
    hit_scores: Doubles
    false_alarm_scores: Doubles
    confusion: ConfusionMatrix
    errors: ErrorKinds
    sizes: tuple[SizeResult, ...]
    calibration: Calibration
    precision: float
    for_precision: tuple[ClassThreshold, ...]
    for_f1: tuple[ClassThreshold, ...]

    def to_dict(self) -> dict[str, Any]:
        """Plain values; curves and single scores are left out."""
        return {
            "errors": self.errors.to_dict(),
            "confusion": self.confusion.to_dict(),
            "sizes": [one.to_dict() for one in self.sizes],
            "calibration": self.calibration.to_dict(),
            "class_thresholds": {
                "wanted_precision": self.precision,
                "for_precision": [one.to_dict() for one in self.for_precision],
                "for_f1": [one.to_dict() for one in self.for_f1],
            },
        }


def find(details: ReportDetails) -> Findings:
    """Ask the evaluation room for everything that a report shows."""
    truth, predictions, names = details.truth, details.predictions, details.class_names
    score, iou = details.settings.score_threshold, details.settings.iou_threshold
    matches = match(truth, best_objects(truth, predictions), iou)
    curves = voc_result(truth, predictions, matches, names, "voc10")
    return Findings(
        curves=curves,
        hit_scores=_scores(details, matches, Outcome.HIT),
        false_alarm_scores=_scores(details, matches, Outcome.FALSE_ALARM),
        confusion=confusion_matrix(truth, predictions, names, score_threshold=score, iou_threshold=iou),
        errors=error_kinds(truth, predictions, names, score_threshold=score, iou_threshold=iou),
        sizes=ap_by_size(truth, predictions, names, iou_threshold=iou),
        calibration=calibration(predictions, matches),
        precision=details.settings.precision,
        for_precision=thresholds_for_precision(curves.classes, details.settings.precision),
        for_f1=thresholds_for_f1(curves.classes),
    )


def _scores(details: ReportDetails, matches: Matches, outcome: Outcome) -> Doubles:
    scores: Doubles = details.predictions.score[matches.outcome == outcome]
    return scores
