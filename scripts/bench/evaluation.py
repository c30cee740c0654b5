"""How long an evaluation takes, without the network: 5,000 pictures, 20 classes, a million detections at score 0.01.

The data are made: about three objects a picture, three detections near each, the rest anywhere with low scores.
"""

from collections.abc import Callable

import numpy as np
from measuring import seconds_of

from bench.number import Number, PartResult
from bench.options import Options
from ssd_detect.arrays import Doubles, Integers
from ssd_detect.classes import VOC20
from ssd_detect.evaluation.bootstrap import BootstrapSettings, WeightedRun, mean_ap_interval
from ssd_detect.evaluation.by_size import ap_by_size
from ssd_detect.evaluation.calibration import calibration
from ssd_detect.evaluation.comparison import compare
from ssd_detect.evaluation.confusion import confusion_matrix
from ssd_detect.evaluation.curves import thresholds_for_f1, thresholds_for_precision
from ssd_detect.evaluation.error_kinds import error_kinds
from ssd_detect.evaluation.evaluate import evaluate
from ssd_detect.evaluation.matching import best_objects, match
from ssd_detect.evaluation.overlap import box_areas
from ssd_detect.evaluation.tables import PredictionTable, TruthTable

SIDE = 500.0  # pixels: the longer side of VOC's pictures
_LIMIT_SECONDS = 10.0
_PROMISED = "VOC07, VOC10+ and COCO"
_PER_PICTURE = 200  # detections


def made_boxes(generator: np.random.Generator, n: int) -> Doubles:
    centres, sizes = generator.uniform(0, SIDE, (n, 2)), np.exp(generator.normal(4.5, 0.8, (n, 2)))
    return with_an_area(np.clip(np.concatenate([centres - sizes / 2, centres + sizes / 2], axis=1), 0, SIDE))


def with_an_area(boxes: Doubles) -> Doubles:
    return np.concatenate([boxes[:, :2], np.maximum(boxes[:, 2:], boxes[:, :2] + 2)], axis=1)


def made_truth(generator: np.random.Generator, num_pictures: int) -> TruthTable:
    picture = np.repeat(np.arange(num_pictures), 1 + generator.poisson(2, num_pictures))
    n = len(picture)
    boxes = made_boxes(generator, n)
    difficult = generator.random(n) < 0.2
    class_id = generator.integers(1, len(VOC20), n)
    return TruthTable(picture, class_id, boxes, difficult, np.zeros(n, np.bool_), box_areas(boxes), num_pictures)


def made_predictions(generator: np.random.Generator, truth: TruthTable, per_picture: int) -> PredictionTable:
    """Three near each object, as far as there is room."""
    picture = np.repeat(np.arange(truth.num_pictures), per_picture)
    n = len(picture)
    boxes, class_id = made_boxes(generator, n), generator.integers(1, len(VOC20), n)
    score = 0.01 + 0.98 * generator.beta(0.3, 6, n)
    number = np.arange(len(truth)) - np.searchsorted(truth.picture, truth.picture)  # of the object in its picture
    for turn in range(3):
        has_room = 3 * number + turn < per_picture
        rows: Integers = (truth.picture * per_picture + 3 * number + turn)[has_room]
        near = truth.boxes[has_room] + generator.normal(0, 8, (len(rows), 4))
        boxes[rows], class_id[rows] = with_an_area(near), truth.class_id[has_room]
        score[rows] = generator.uniform(0.05, 1, len(rows))
    return PredictionTable(picture, class_id, boxes, score, truth.num_pictures)


def measure(options: Options) -> PartResult:
    """Each step once."""
    generator = np.random.default_rng(0)
    truth = made_truth(generator, 50 if options.tiny else 5000)
    found, others = (made_predictions(generator, truth, _PER_PICTURE) for _ in range(2))
    taken = {name: seconds_of(step) for name, step in _steps(truth, found, others).items()}
    numbers = [
        Number(f"evaluation: {name}", value, _LIMIT_SECONDS if name == _PROMISED else None, unit="s")
        for name, value in taken.items()
    ]
    told = f"  {truth.num_pictures} pictures, {len(truth)} objects, {len(found)} detections"
    return PartResult(numbers, [told], {name: [value] for name, value in taken.items()})


def _steps(truth: TruthTable, found: PredictionTable, others: PredictionTable) -> dict[str, Callable[[], object]]:
    matches = match(truth, best_objects(truth, found), 0.5)
    run = WeightedRun.of(truth, found, matches, VOC20)
    curves = evaluate(truth, found, VOC20).voc[0].classes
    resamples = BootstrapSettings(200)
    return {
        _PROMISED: lambda: evaluate(truth, found, VOC20),
        "bootstrap, 200 resamples": lambda: mean_ap_interval(run, truth.num_pictures, "voc10", resamples),
        "comparison, 200 resamples": lambda: compare(truth, found, others, VOC20, settings=resamples),
        "thresholds": lambda: (thresholds_for_precision(curves, 0.9), thresholds_for_f1(curves)),
        "confusion matrix at score 0.01": lambda: confusion_matrix(truth, found, VOC20, score_threshold=0.01),
        "kinds of errors at score 0.01": lambda: error_kinds(truth, found, VOC20, score_threshold=0.01),
        "AP by size": lambda: ap_by_size(truth, found, VOC20),
        "calibration": lambda: calibration(found, matches),
    }
