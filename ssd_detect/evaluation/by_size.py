"""AP for small, medium and large objects.

Borders 32 x 32 and 96 x 96 pixels of the original picture, as COCO has them. As there, objects of other sizes are
neither hit nor miss, and a detection that hits nothing counts only where its own size is in the range.
"""

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ssd_detect.evaluation.coco_matching import MEDIUM_AREA, SMALL_AREA
from ssd_detect.evaluation.findings import SizeResult
from ssd_detect.evaluation.matching import Outcome, best_objects, match
from ssd_detect.evaluation.overlap import box_areas
from ssd_detect.evaluation.results import VocMetric
from ssd_detect.evaluation.tables import PredictionTable, TruthTable
from ssd_detect.evaluation.voc_ap import voc_result

SIZES = {"small": (0.0, SMALL_AREA), "medium": (SMALL_AREA, MEDIUM_AREA), "large": (MEDIUM_AREA, math.inf)}
"""Areas, pixels squared; an object exactly on a border counts on both sides."""


def ap_by_size(
    truth: TruthTable,
    predictions: PredictionTable,
    class_names: Sequence[str],
    *,
    metric: VocMetric = "voc10",
    iou_threshold: float = 0.5,
) -> tuple[SizeResult, ...]:
    """One result for each of `SIZES`."""
    best = best_objects(truth, predictions)
    areas = box_areas(predictions.boxes)
    results = []
    for name, (low, high) in SIZES.items():
        in_range = replace(truth, difficult=truth.difficult | (truth.area < low) | (truth.area > high))
        matches = match(in_range, best, iou_threshold)
        elsewhere = (matches.outcome == Outcome.FALSE_ALARM) & ((areas < low) | (areas > high))
        outcome = np.where(elsewhere, np.int8(Outcome.IGNORED), matches.outcome)
        result = voc_result(in_range, predictions, replace(matches, outcome=outcome), class_names, metric)
        results.append(
            SizeResult(
                name=name,
                low=low,
                high=high,
                num_objects=sum(one.num_objects for one in result.classes),
                mean_ap=result.mean_ap,
                classes=tuple(one.ap for one in result.classes),
            )
        )
    return tuple(results)
