"""Whether one run is better than another, or only luckier in its pictures: the paired bootstrap.

Both runs are counted on the same resamples, so what the pictures do to both cancels. Source: Efron and Tibshirani
(1993), as for `bootstrap`.
"""

from collections.abc import Sequence

import numpy as np

from ssd_detect.errors import SettingError
from ssd_detect.evaluation.bootstrap import BootstrapSettings, WeightedRun, draw_weights, percentile_interval
from ssd_detect.evaluation.matching import best_objects, check_iou_threshold, match
from ssd_detect.evaluation.results import Comparison, Interval, VocMetric
from ssd_detect.evaluation.tables import PredictionTable, TruthTable


def compare(
    truth: TruthTable,
    predictions_a: PredictionTable,
    predictions_b: PredictionTable,
    class_names: Sequence[str],
    *,
    metric: VocMetric = "voc10",
    iou_threshold: float = 0.5,
    settings: BootstrapSettings = BootstrapSettings(),
) -> Comparison:
    """Compare A with B on the same pictures.

    Raises:
        SettingError: no objects to compare by, or an IoU threshold out of range.
        ValueError: tables of different pictures.
    """
    check_iou_threshold(iou_threshold)
    runs = []
    for predictions in (predictions_a, predictions_b):
        matches = match(truth, best_objects(truth, predictions), iou_threshold)
        runs.append(WeightedRun.of(truth, predictions, matches, class_names))
    a, b = runs
    if not len(a.object_class):
        raise SettingError("the data set has no objects but difficult ones and crowds: nothing to compare by")
    once = np.ones(truth.num_pictures, np.int64)
    mean_ap_a, mean_ap_b = a.mean_ap(once, metric), b.mean_ap(once, metric)
    drawn = draw_weights(truth.num_pictures, settings)
    differences = np.array([a.mean_ap(weights, metric) - b.mean_ap(weights, metric) for weights in drawn])
    differences = differences[~np.isnan(differences)]
    interval = percentile_interval(differences, settings.level)
    more_than_chance = interval.low > 0 or interval.high < 0
    return Comparison(
        metric=metric,
        iou_threshold=iou_threshold,
        mean_ap_a=mean_ap_a,
        mean_ap_b=mean_ap_b,
        difference=mean_ap_a - mean_ap_b,
        interval=interval,
        share_a_better=float(np.mean((differences > 0) + (differences == 0) / 2)),
        more_than_chance=more_than_chance,
        num_resamples=settings.num_resamples,
        verdict=_verdict(mean_ap_a - mean_ap_b, interval, more_than_chance),
    )


def _verdict(difference: float, interval: Interval, more_than_chance: bool) -> str:
    span = f"{100 * interval.level:g} % interval {100 * interval.low:+.2f} to {100 * interval.high:+.2f}"
    if not more_than_chance:
        return f"A - B is {100 * difference:+.2f} mAP points ({span}): no more than chance would give"
    better = "A is better than B" if interval.low > 0 else "B is better than A"
    return f"{better}: A - B is {100 * difference:+.2f} mAP points ({span}), more than chance"
