"""What is in a data set: how many objects of which classes, sizes and shapes."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ssd_detect.arrays import Doubles, Flags, Integers
from ssd_detect.datasets.dataset import Dataset
from ssd_detect.evaluation.coco_matching import MEDIUM_AREA, SMALL_AREA

SIDE_LIMITS = (0.05, 0.1, 0.2, 0.4, 0.8)
"""Between the buckets of sizes: square root of a box's share of the picture."""

RATIO_LIMITS = (1 / 3, 1 / 2, 1 / 1.25, 1.25, 2.0, 3.0)
"""Between the buckets of shapes, width / height; the limits lie alike on both sides of 1."""

_QUANTILES = (0.0, 0.25, 0.5, 0.75, 1.0)


@dataclass(frozen=True)
class ClassCount:
    """How often a class occurs.

    Args:
        name: of the class.
        objects: all of them.
        pictures: with at least one.
        difficult, crowd: of the objects.
    """

    name: str
    objects: int
    pictures: int
    difficult: int
    crowd: int


@dataclass(frozen=True)
class DatasetStatistics:
    """What is in a data set.

    Args:
        pictures: all of them.
        empty_pictures: without objects.
        objects, difficult, crowd, truncated: how many.
        classes: one each, also of those that do not occur.
        objects_per_picture: number of objects -> number of pictures.
        coco_sizes: small, medium, large -> objects, by `area`.
        side_pixels: least, quartiles and greatest of the square root of a box's area, pixels; empty without objects.
        side_shares: the same of the square root of the box's share of its picture.
        ratios: the same of width / height, in pixels.
        picture_sizes: least, median and greatest (width, height) by area.
    """

    pictures: int
    empty_pictures: int
    objects: int
    difficult: int
    crowd: int
    truncated: int
    classes: tuple[ClassCount, ...]
    objects_per_picture: dict[int, int]
    coco_sizes: dict[str, int]
    side_pixels: tuple[float, ...]
    side_shares: tuple[float, ...]
    ratios: tuple[float, ...]
    picture_sizes: tuple[tuple[int, int], ...]


@dataclass(frozen=True, eq=False)
class ObjectColumns:
    """All objects of a data set, in the order of its pictures.

    Args:
        picture: (n,) int64, place of the picture in the data set.
        class_ids: (n,) int64.
        boxes: (n, 4) float64 xyxy, pixels.
        boxes_unit: (n, 4) float64 xyxy, shares of the picture's sides.
        area: (n,) float64, pixels squared.
        difficult, crowd, truncated: (n,) bool.
    """

    picture: Integers
    class_ids: Integers
    boxes: Doubles
    boxes_unit: Doubles
    area: Doubles
    difficult: Flags
    crowd: Flags
    truncated: Flags

    @classmethod
    def of(cls, dataset: Dataset) -> "ObjectColumns":
        """The columns of a data set."""
        pictures = dataset.pictures
        boxes = np.concatenate([np.zeros((0, 4)), *(p.boxes for p in pictures)])  # (n, 4)
        counts = [len(p) for p in pictures]
        sizes = np.array([(*p.size, *p.size) for p in pictures], np.float64).reshape(-1, 4)
        return cls(
            np.repeat(np.arange(len(pictures), dtype=np.int64), counts),
            np.concatenate([np.zeros(0, np.int64), *(p.class_ids for p in pictures)]),
            boxes,
            boxes / np.repeat(sizes, counts, axis=0),
            np.concatenate([np.zeros(0), *(p.area for p in pictures)]),
            np.concatenate([np.zeros(0, np.bool_), *(p.difficult for p in pictures)]),
            np.concatenate([np.zeros(0, np.bool_), *(p.crowd for p in pictures)]),
            np.concatenate([np.zeros(0, np.bool_), *(p.truncated for p in pictures)]),
        )


def statistics_of(dataset: Dataset) -> DatasetStatistics:
    """Count everything."""
    columns = ObjectColumns.of(dataset)
    counts = Counter(len(p) for p in dataset.pictures)
    width, height = (columns.boxes[:, 2:] - columns.boxes[:, :2]).T
    return DatasetStatistics(
        pictures=len(dataset.pictures),
        empty_pictures=counts[0],
        objects=len(columns.class_ids),
        difficult=int(columns.difficult.sum()),
        crowd=int(columns.crowd.sum()),
        truncated=int(columns.truncated.sum()),
        classes=tuple(_class_counts(columns, dataset.class_names)),
        objects_per_picture=dict(sorted(counts.items())),
        coco_sizes=_coco_sizes(columns.area),
        side_pixels=_spread(np.sqrt(width * height)),
        side_shares=_spread(unit_sides(columns.boxes_unit)),
        ratios=_spread(width / height),
        picture_sizes=_picture_sizes(dataset),
    )


def unit_sides(boxes_unit: Doubles) -> Doubles:
    """(n, 4) xyxy unit to (n,): the side of the square of the same area, as a share."""
    sides: Doubles = np.sqrt((boxes_unit[:, 2] - boxes_unit[:, 0]) * (boxes_unit[:, 3] - boxes_unit[:, 1]))
    return sides


def _class_counts(columns: ObjectColumns, class_names: Sequence[str]) -> list[ClassCount]:
    found = []
    for class_id, name in [*enumerate(class_names)][1:]:
        of_class = columns.class_ids == class_id
        pictures = len(np.unique(columns.picture[of_class]))
        difficult, crowd = (int((of_class & flags).sum()) for flags in (columns.difficult, columns.crowd))
        found.append(ClassCount(name, int(of_class.sum()), pictures, difficult, crowd))
    return found


def _coco_sizes(area: Doubles) -> dict[str, int]:
    small, large = int((area < SMALL_AREA).sum()), int((area > MEDIUM_AREA).sum())
    return {"small": small, "medium": len(area) - small - large, "large": large}


def _spread(values: Doubles) -> tuple[float, ...]:
    """Least, quartiles, greatest."""
    return tuple(float(v) for v in np.quantile(values, _QUANTILES)) if len(values) else ()


def _picture_sizes(dataset: Dataset) -> tuple[tuple[int, int], ...]:
    sizes = sorted((p.size for p in dataset.pictures), key=lambda size: (size[0] * size[1], size))
    return (sizes[0], sizes[len(sizes) // 2], sizes[-1]) if sizes else ()
