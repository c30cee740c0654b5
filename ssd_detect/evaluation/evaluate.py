"""All numbers of an evaluation at once. The file of this room to read first."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from ssd_detect.errors import SettingError
from ssd_detect.evaluation.bootstrap import BootstrapSettings, WeightedRun, mean_ap_interval
from ssd_detect.evaluation.coco_ap import coco_result
from ssd_detect.evaluation.matching import best_objects, check_iou_threshold, match
from ssd_detect.evaluation.results import EvaluationResult, VocMetric, VocResult
from ssd_detect.evaluation.tables import PredictionTable, TruthTable
from ssd_detect.evaluation.voc_ap import AP_RULES, voc_result


@dataclass(frozen=True)
class EvaluationSettings:
    """Which numbers are wanted.

    Args:
        metrics: of VOC.
        iou_thresholds: for each of the metrics; above 0, at most 1.
        strict: VOC's objects are hit only above the threshold; the devkit hits at it too.
        coco: COCO's numbers too.
        bootstrap: with intervals of the mean APs.

    Raises:
        SettingError: a value is outside its range.
    """

    metrics: tuple[VocMetric, ...] = ("voc07", "voc10")
    iou_thresholds: tuple[float, ...] = (0.5,)
    strict: bool = False
    coco: bool = True
    bootstrap: BootstrapSettings | None = None

    def __post_init__(self) -> None:
        for metric in self.metrics:
            if metric not in AP_RULES:
                raise SettingError(f"metric is {metric!r}, expected one of {', '.join(AP_RULES)}")
        for value in self.iou_thresholds:
            check_iou_threshold(value)


def evaluate(
    truth: TruthTable,
    predictions: PredictionTable,
    class_names: Sequence[str],
    settings: EvaluationSettings = EvaluationSettings(),
) -> EvaluationResult:
    """Compare detections with objects.

    Args:
        truth, predictions: of the same pictures.
        class_names: background first; what the class ids of both tables count in.
        settings: what is wanted.

    Raises:
        ValueError: tables of different pictures, or a class id that has no name.
    """
    highest = max(truth.class_id.max(initial=0), predictions.class_id.max(initial=0))
    if highest >= len(class_names):
        raise ValueError(f"class id {highest} has no name: {len(class_names)} names are given, background included")
    return EvaluationResult(
        num_pictures=truth.num_pictures,
        num_objects=len(truth),
        num_detections=len(predictions),
        voc=tuple(_voc_results(truth, predictions, class_names, settings)),
        coco=coco_result(truth, predictions, class_names) if settings.coco else None,
        notes=tuple(_notes(settings)),
    )


def _voc_results(
    truth: TruthTable, predictions: PredictionTable, class_names: Sequence[str], settings: EvaluationSettings
) -> Iterator[VocResult]:
    best = best_objects(truth, predictions)
    for iou_threshold in settings.iou_thresholds:
        matches = match(truth, best, iou_threshold, strict=settings.strict)
        run = WeightedRun.of(truth, predictions, matches, class_names)
        for metric in settings.metrics:
            result = voc_result(truth, predictions, matches, class_names, metric)
            if settings.bootstrap is not None:
                interval = mean_ap_interval(run, truth.num_pictures, metric, settings.bootstrap)
                result = replace(result, interval=interval)
            yield result


def _notes(settings: EvaluationSettings) -> Iterator[str]:
    yield (
        "Boxes are continuous pixels from 0; the VOC devkit's whole pixels from 1, with +1 on widths and heights, "
        "are the same measure."
    )
    yield (
        "VOC: a detection is judged by the object of its class that it overlaps most; it hits at an IoU "
        + ("above" if settings.strict else "of at least")
        + " the threshold, once an object; further ones are false alarms; ties in score keep their order."
    )
    yield (
        "VOC: difficult objects, and detections of them, are neither hit nor miss; so are detections inside crowds "
        "that hit nothing else."
    )
    yield (
        "voc07 is the mean of the best precision at recall 0, 0.1, ... 1; voc10 the area under the best precision "
        "at all recalls. Classes without objects have no AP and are left out of the mean."
    )
    if settings.coco:
        yield (
            "COCO: the rules of pycocotools for boxes; the difficult flag means nothing, crowds and areas count as "
            "there; at most 100 detections of a class in a picture."
        )
    if settings.bootstrap is not None:
        chosen = settings.bootstrap
        yield (
            f"Intervals: {100 * chosen.level:g} % percentile bootstrap over pictures, {chosen.num_resamples} "
            f"resamples, seed {chosen.seed}; the mean is over the classes with objects in the resample."
        )
