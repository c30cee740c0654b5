"""How sure a mean AP is, given which pictures happen to be in the data set: the bootstrap over pictures.

Source: Efron and Tibshirani, "An Introduction to the Bootstrap" (1993), chapters 6 and 13 (percentile interval). A
resample draws as many pictures as there are, with replacement, and counts a picture as often as it was drawn. What hits
what is decided inside a picture and stays; only counts change, so the matching is done once. Copies of a picture stand
side by side in the ranking.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from ssd_detect.arrays import Doubles, Integers
from ssd_detect.errors import SettingError
from ssd_detect.evaluation.matching import Matches, Outcome
from ssd_detect.evaluation.results import Interval, VocMetric
from ssd_detect.evaluation.tables import PredictionTable, TruthTable
from ssd_detect.evaluation.voc_ap import AP_RULES, counted_objects


@dataclass(frozen=True)
class BootstrapSettings:
    """How the bootstrap is done.

    Args:
        num_resamples: how many; at least 100, below which the ends of the interval are noise.
        level: how sure the interval is to be; above 0, below 1.
        seed: the same seed draws the same pictures.

    Raises:
        SettingError: a value is outside its range.
    """

    num_resamples: int = 500
    level: float = 0.95
    seed: int = 0

    def __post_init__(self) -> None:
        if self.num_resamples < 100:
            raise SettingError(f"num_resamples is {self.num_resamples}, expected a whole number of at least 100")
        if not 0.0 < self.level < 1.0:  # also true for NaN
            raise SettingError(f"level is {self.level}, expected a number above 0 and below 1")
        if self.seed < 0:
            raise SettingError(f"seed is {self.seed}, expected a whole number of at least 0")


@dataclass(frozen=True, eq=False)
class WeightedRun:
    """What a mean AP depends on, ready to be counted with other weights of the pictures.

    Args:
        object_picture, object_class: (m,) int64 of the objects that can be missed.
        picture: (k,) int64 of the detections that count, ranked, class after class, each class up to its last hit:
            what comes later changes no AP.
        starts: (h,) int64: where in `picture` the stretch begins that ends with each hit.
        hit_picture, hit_class: (h,) int64.
        num_classes: with background.
    """

    object_picture: Integers
    object_class: Integers
    picture: Integers
    starts: Integers
    hit_picture: Integers
    hit_class: Integers
    num_classes: int

    @classmethod
    def of(
        cls, truth: TruthTable, predictions: PredictionTable, matches: Matches, class_names: Sequence[str]
    ) -> "WeightedRun":
        """From what was compared, and the matching at one threshold."""
        counted = matches.ranking[matches.outcome[matches.ranking] != Outcome.IGNORED]
        class_id = predictions.class_id[counted]
        hits = np.flatnonzero(matches.outcome[counted] == Outcome.HIT)
        last = np.full(len(class_names), -1)
        last[class_id[hits]] = hits  # ascending: the last one stays
        kept = np.arange(len(counted)) <= last[class_id]
        ends = np.cumsum(kept)[hits]  # one past each hit among the kept
        objects = counted_objects(truth)
        return cls(
            object_picture=truth.picture[objects],
            object_class=truth.class_id[objects],
            picture=predictions.picture[counted[kept]],
            starts=np.append(0, ends)[:-1],
            hit_picture=predictions.picture[counted[hits]],
            hit_class=class_id[hits],
            num_classes=len(class_names),
        )

    def mean_ap(self, weights: Integers, metric: VocMetric) -> float:
        """Mean over the classes that have objects, when picture i counts `weights[i]` times; NaN when none has."""
        num_objects = np.bincount(self.object_class, weights[self.object_picture], self.num_classes)  # (C,)
        found = np.cumsum(weights[self.hit_picture])  # (h,)
        passed = np.cumsum(np.add.reduceat(weights[self.picture], self.starts)) if len(found) else found
        ends = np.searchsorted(self.hit_class, np.arange(self.num_classes), side="right")
        present = np.flatnonzero(num_objects)
        return float(
            np.mean([self._ap(int(k), found, passed, ends, num_objects[k], metric) for k in present] or [math.nan])
        )

    def _ap(
        self, k: int, found: Integers, passed: Integers, ends: Integers, num_objects: float, metric: VocMetric
    ) -> float:
        begin, end = ends[k - 1], ends[k]
        if begin == end:
            return 0.0
        before = (found[begin - 1], passed[begin - 1]) if begin else (0, 0)
        hits, shown = found[begin:end] - before[0], passed[begin:end] - before[1]
        return AP_RULES[metric](hits / num_objects, hits / np.maximum(shown, 1))


def draw_weights(num_pictures: int, settings: BootstrapSettings) -> Iterator[Integers]:
    """How often each picture was drawn, (num_pictures,) int64, for each resample."""
    generator = np.random.default_rng(settings.seed)
    for _ in range(settings.num_resamples):
        yield np.bincount(generator.integers(0, num_pictures, num_pictures), minlength=num_pictures)


def mean_ap_interval(
    run: WeightedRun, num_pictures: int, metric: VocMetric, settings: BootstrapSettings
) -> Interval | None:
    """Percentile interval of the mean AP; None without objects. Resamples without any object are left out."""
    if not len(run.object_class):
        return None
    values = np.array([run.mean_ap(weights, metric) for weights in draw_weights(num_pictures, settings)])
    return percentile_interval(values[~np.isnan(values)], settings.level)


def percentile_interval(values: Doubles, level: float) -> Interval:
    """The middle `level` of (n,) values."""
    low, high = np.quantile(values, [(1 - level) / 2, (1 + level) / 2])
    return Interval(float(low), float(high), level)
