"""What an evaluation says: plain frozen values, each with `to_dict` for metrics.json.

None stands for "not applicable" throughout: a class without objects has no AP and is left out of means. The long
arrays (curves, one entry a detection) are for the report and stay out of `to_dict`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from ssd_detect.arrays import Doubles

VocMetric: TypeAlias = Literal["voc07", "voc10"]
"""`voc07`: 11-point AP, as VOC 2007 reports it; `voc10`: area under the curve at all points, VOC 2010 and later."""

COCO_NUMBERS = (
    "AP", "AP50", "AP75", "APsmall", "APmedium", "APlarge",
    "AR1", "AR10", "AR100", "ARsmall", "ARmedium", "ARlarge",
)  # fmt: skip
"""COCO's twelve numbers in the order in which its own tool prints them."""


@dataclass(frozen=True)
class Interval:
    """Where a number lies, `level` (0 to 1) sure."""

    low: float
    high: float
    level: float

    def to_dict(self) -> dict[str, float]:
        """Plain values."""
        return {"low": self.low, "high": self.high, "level": self.level}


@dataclass(frozen=True, eq=False)
class ClassResult:
    """How well one class was found, at one IoU threshold.

    Args:
        class_id: from 1.
        name: of the class.
        num_objects: annotated, without the difficult ones.
        num_difficult: annotated as difficult: neither hit nor miss.
        num_detections: of this class, those of difficult objects included.
        ap: average precision, 0 to 1; None without objects.
        score: (k,) of each detection that counts (hit or false alarm), best first.
        precision: (k,) share of hits among the detections with this score or a better rank.
        recall: (k,) share of the objects hit by them; 0 where there are no objects.
    """

    class_id: int
    name: str
    num_objects: int
    num_difficult: int
    num_detections: int
    ap: float | None
    score: Doubles
    precision: Doubles
    recall: Doubles

    def to_dict(self) -> dict[str, Any]:
        """Plain values without the curve."""
        return {
            "class_id": self.class_id,
            "name": self.name,
            "num_objects": self.num_objects,
            "num_difficult": self.num_difficult,
            "num_detections": self.num_detections,
            "ap": self.ap,
        }


@dataclass(frozen=True, eq=False)
class VocResult:
    """AP of every class, and their mean, at one IoU threshold.

    Args:
        metric: how AP is made of the curve.
        iou_threshold: a detection hits an object when their IoU reaches this.
        classes: in the order of the class ids, the background left out.
        mean_ap: plain mean over the classes with objects, 0 to 1; None when no class has any.
        interval: of the mean, by the bootstrap; None when it was not asked for.
    """

    metric: VocMetric
    iou_threshold: float
    classes: tuple[ClassResult, ...]
    mean_ap: float | None
    interval: Interval | None = None

    def to_dict(self) -> dict[str, Any]:
        """Plain values without the curves."""
        return {
            "metric": self.metric,
            "iou_threshold": self.iou_threshold,
            "mean_ap": self.mean_ap,
            "interval": None if self.interval is None else self.interval.to_dict(),
            "classes": [one.to_dict() for one in self.classes],
        }


@dataclass(frozen=True)
class CocoClassResult:
    """COCO's numbers for one class: AP over IoU 0.50 to 0.95, at 0.50, at 0.75, and AR100; None without objects."""

    class_id: int
    name: str
    ap: float | None
    ap50: float | None
    ap75: float | None
    ar100: float | None

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "class_id": self.class_id,
            "name": self.name,
            "ap": self.ap,
            "ap50": self.ap50,
            "ap75": self.ap75,
            "ar100": self.ar100,
        }


@dataclass(frozen=True)
class CocoResult:
    """COCO's AP and AR.

    Args:
        numbers: each of `COCO_NUMBERS`, 0 to 1; None where no object is in its range of sizes (COCO prints -1).
        classes: in the order of the class ids, the background left out.
    """

    numbers: Mapping[str, float | None]
    classes: tuple[CocoClassResult, ...]

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return {"numbers": dict(self.numbers), "classes": [one.to_dict() for one in self.classes]}


@dataclass(frozen=True, eq=False)
class EvaluationResult:
    """All numbers of one evaluation.

    Args:
        num_pictures, num_objects, num_detections: what was compared; difficult and crowd objects included.
        voc: for each metric and IoU threshold that was asked for, in that order.
        coco: None when it was not asked for.
        notes: the conventions behind the numbers, a sentence each.
    """

    num_pictures: int
    num_objects: int
    num_detections: int
    voc: tuple[VocResult, ...]
    coco: CocoResult | None
    notes: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """Plain values without the curves."""
        return {
            "num_pictures": self.num_pictures,
            "num_objects": self.num_objects,
            "num_detections": self.num_detections,
            "voc": [one.to_dict() for one in self.voc],
            "coco": None if self.coco is None else self.coco.to_dict(),
            "notes": list(self.notes),
        }


@dataclass(frozen=True)
class Comparison:
    """Two runs on the same pictures.

    Args:
        metric, iou_threshold: which mean AP was compared.
        mean_ap_a, mean_ap_b: of each run on all pictures.
        difference: of A minus that of B.
        interval: of the difference.
        share_a_better: share of the resamples in which A is better; a tie counts half.
        more_than_chance: the interval leaves 0 out.
        num_resamples: how many were drawn.
        verdict: one sentence for a person.
    """

    metric: VocMetric
    iou_threshold: float
    mean_ap_a: float
    mean_ap_b: float
    difference: float
    interval: Interval
    share_a_better: float
    more_than_chance: bool
    num_resamples: int
    verdict: str

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return {**vars(self), "interval": self.interval.to_dict()}


def mean_of_applicable(values: Sequence[float | None]) -> float | None:
    """Plain mean of those that are not None; None when all are."""
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None
