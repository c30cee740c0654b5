"""What an evaluation shows beyond its numbers, for the report: where a detector fails, and which scores to trust."""

from dataclasses import dataclass
from enum import IntEnum
from typing import Any

import numpy as np
import numpy.typing as npt

from ssd_detect.arrays import Doubles, Flags, Integers


@dataclass(frozen=True)
class ClassThreshold:
    """The score threshold of one class that meets a wish, and what it brings; all but the names None when none does.

    Args:
        class_id, name: the class.
        threshold: keep the detections with a score above this, as `DetectionSettings.score_threshold` does.
        precision, recall, f1: of what is kept, 0 to 1.
    """

    class_id: int
    name: str
    threshold: float | None
    precision: float | None
    recall: float | None
    f1: float | None

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return dict(vars(self))


@dataclass(frozen=True, eq=False)
class ConfusionMatrix:
    """What objects were taken for.

    Args:
        class_names: background first.
        counts: (C, C) int64; row: the object's class, 0: no object there; column: the detection's class, 0: missed.
        score_threshold: detections have a score above this.
        iou_threshold: a detection and an object belong together from this IoU on.
    """

    class_names: tuple[str, ...]
    counts: Integers
    score_threshold: float
    iou_threshold: float

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return {**vars(self), "class_names": list(self.class_names), "counts": self.counts.tolist()}


class ErrorKind(IntEnum):
    """What is to be said about a detection. The numbers are those of `ErrorKinds.kind`."""

    HIT = 0
    CLASS = 1  # right place, wrong class
    LOCATION = 2  # right class, poor overlap
    BOTH = 3  # wrong class and poor overlap
    DUPLICATE = 4  # of an object that a better detection hit
    BACKGROUND = 5  # nothing there
    IGNORED = 6  # of a difficult object or a crowd: neither hit nor error


@dataclass(frozen=True, eq=False)
class ErrorKinds:
    """The kind of every detection, and the objects that were missed.

    Args:
        class_names: background first.
        kind: (n,) int8, an `ErrorKind` for each row of the prediction table; -1: its score is not above the threshold.
        nearest: (n,) int64, the row of the truth table that the detection was judged by; -1: none.
        missed: (m,) bool for each row of the truth table: no detection hit it or explains by CLASS or LOCATION why not.
        counts: (C, 7) int64: detections of each class (row) and kind (column).
        missed_counts: (C,) int64: missed objects of each class.
        score_threshold, iou_threshold, background_threshold: what was used.
    """

    class_names: tuple[str, ...]
    kind: npt.NDArray[np.int8]
    nearest: Integers
    missed: Flags
    counts: Integers
    missed_counts: Integers
    score_threshold: float
    iou_threshold: float
    background_threshold: float

    def to_dict(self) -> dict[str, Any]:
        """Plain values: totals, and a row for each class."""
        rows = zip(self.class_names[1:], self.counts[1:], self.missed_counts[1:], strict=True)
        return {
            "score_threshold": self.score_threshold,
            "iou_threshold": self.iou_threshold,
            "background_threshold": self.background_threshold,
            "total": _kinds_to_dict(self.counts.sum(axis=0), self.missed_counts.sum()),
            "classes": [{"name": name, **_kinds_to_dict(counts, missed)} for name, counts, missed in rows],
        }


def _kinds_to_dict(counts: Integers, missed: np.int64) -> dict[str, int]:
    return {**{kind.name.lower(): int(counts[kind]) for kind in ErrorKind}, "missed": int(missed)}


@dataclass(frozen=True)
class SizeResult:
    """How well objects of one range of sizes were found.

    Args:
        name: `small`, `medium` or `large`.
        low, high: the range of areas, pixels squared; `high` may be infinite.
        num_objects: in the range, without the difficult ones.
        mean_ap: mean over the classes with objects in the range, 0 to 1; None without any.
        classes: AP of each class, from class id 1.
    """

    name: str
    low: float
    high: float
    num_objects: int
    mean_ap: float | None
    classes: tuple[float | None, ...]

    def to_dict(self) -> dict[str, Any]:
        """Plain values; an infinite border is None."""
        high = None if np.isinf(self.high) else self.high
        return {**vars(self), "high": high, "classes": list(self.classes)}


@dataclass(frozen=True, eq=False)
class Calibration:
    """How far scores are what they seem: the share of hits among detections of that score.

    Args:
        edges: (b + 1,) borders of the bins, 0 to 1.
        count: (b,) int64 detections in each bin.
        mean_score: (b,) NaN where a bin is empty.
        precision: (b,) share of hits; NaN where a bin is empty.
        expected_error: mean of |mean_score - precision| over all detections, 0 to 1; None without detections.
    """

    edges: Doubles
    count: Integers
    mean_score: Doubles
    precision: Doubles
    expected_error: float | None

    def to_dict(self) -> dict[str, Any]:
        """Plain values; None for an empty bin's."""
        return {
            "edges": self.edges.tolist(),
            "count": self.count.tolist(),
            "mean_score": _none_for_nan(self.mean_score),
            "precision": _none_for_nan(self.precision),
            "expected_error": self.expected_error,
        }


def _none_for_nan(values: Doubles) -> list[float | None]:
    return [None if np.isnan(value) else float(value) for value in values]
