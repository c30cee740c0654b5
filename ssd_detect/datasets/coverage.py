"""How well anchors cover a data set's objects: the best overlap that any anchor reaches with each.

A network learns an object from anchors that overlap it by half or more (Liu et al. 2016, 2.2), so the share of objects
that some anchor reaches so is about the recall that training can hope for. Overlaps are taken in the network's square
input, into which SSD squeezes the whole picture; there IoU is what it is in the picture, while sizes and shapes are
told as shares of the picture's sides. Regions of crowds are no objects and left out.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ssd_detect.arrays import Doubles, Flags, Floats
from ssd_detect.boxes.anchors import MATCHED_IOU, make_anchors
from ssd_detect.boxes.geometry import cxcywh_to_xyxy, pairwise_iou
from ssd_detect.datasets.dataset import Dataset
from ssd_detect.datasets.statistics import RATIO_LIMITS, SIDE_LIMITS, ObjectColumns, unit_sides

_CHUNK = 128  # objects at once; times 24564 anchors, 4 bytes and a few arrays: below 100 MB


@dataclass(frozen=True)
class Coverage:
    """How well some objects are covered.

    Args:
        objects: how many.
        mean_iou: of their best anchors; None without objects.
        matched: share of the objects whose best anchor reaches an IoU of 0.5; None without objects.
    """

    objects: int
    mean_iou: float | None
    matched: float | None

    @classmethod
    def of(cls, best: Floats) -> "Coverage":
        """From (n,) best IoUs."""
        if len(best) == 0:
            return cls(0, None, None)
        return cls(len(best), float(best.mean()), float((best >= MATCHED_IOU).mean()))


@dataclass(frozen=True)
class AnchorCoverage:
    """How well the anchors of a preset cover a data set.

    Args:
        anchors: the preset.
        overall: all objects.
        by_size: one for each bucket between `SIDE_LIMITS`.
        by_ratio: one for each bucket between `RATIO_LIMITS`, of width / height in the network's square input.
        by_size_and_ratio: rows of sizes, in them ratios.
        by_class: name -> its objects; those without objects too.
    """

    anchors: str
    overall: Coverage
    by_size: tuple[Coverage, ...]
    by_ratio: tuple[Coverage, ...]
    by_size_and_ratio: tuple[tuple[Coverage, ...], ...]
    by_class: dict[str, Coverage]


def best_ious(boxes_unit: Doubles, preset_name: str) -> Floats:
    """The best IoU of each box with any anchor.

    Args:
        boxes_unit: (n, 4) xyxy, shares of the picture's sides, each with an area.
        preset_name: a key of `ANCHOR_PRESETS`.

    Returns:
        (n,) float32, 0 to 1. Anchors are not cut off at the picture's border, as in training.

    Raises:
        SettingError: no such preset.
    """
    anchors = cxcywh_to_xyxy(make_anchors(preset_name))  # (N, 4)
    boxes = boxes_unit.astype(np.float32)
    best = np.empty(len(boxes), np.float32)
    for start in range(0, len(boxes), _CHUNK):
        best[start : start + _CHUNK] = pairwise_iou(boxes[start : start + _CHUNK], anchors).max(axis=1)
    return best


def coverage_of(dataset: Dataset, preset_name: str) -> AnchorCoverage:
    """How well the anchors of a preset cover a data set.

    Raises:
        SettingError: no such preset.
    """
    columns = ObjectColumns.of(dataset)
    counted = ~columns.crowd
    boxes, class_ids = columns.boxes_unit[counted], columns.class_ids[counted]
    best = best_ious(boxes, preset_name)
    sizes = _buckets(unit_sides(boxes), SIDE_LIMITS)
    ratios = _buckets((boxes[:, 2] - boxes[:, 0]) / (boxes[:, 3] - boxes[:, 1]), RATIO_LIMITS)
    return AnchorCoverage(
        preset_name,
        Coverage.of(best),
        tuple(Coverage.of(best[size]) for size in sizes),
        tuple(Coverage.of(best[ratio]) for ratio in ratios),
        tuple(tuple(Coverage.of(best[size & ratio]) for ratio in ratios) for size in sizes),
        {name: Coverage.of(best[class_ids == i]) for i, name in [*enumerate(dataset.class_names)][1:]},
    )


def _buckets(values: Doubles, limits: Sequence[float]) -> list[Flags]:
    """Masks of the values below the first limit, from each limit to below the next, and from the last."""
    places = np.searchsorted(np.array(limits), values, side="right")
    return [places == k for k in range(len(limits) + 1)]
