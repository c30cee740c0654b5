"""What is compared: all objects of a data set, and all detections in its pictures, as columns.

Pictures are numbered 0 to num_pictures - 1 in the order of the data set; class ids count from 1 as everywhere, and name
entries of one list of class names with the background at 0. Boxes are float64, since the reference evaluators
compute in doubles and are to be equalled to 1e-6.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from ssd_detect.arrays import Doubles, Flags, Integers


@dataclass(frozen=True, eq=False)
class TruthTable:
    """The annotated objects.

    Args:
        picture: (n,) int64, ascending.
        class_id: (n,) int64, from 1.
        boxes: (n, 4) float64 xyxy, pixels of the picture, x1 > x0 and y1 > y0.
        difficult: (n,) bool: neither hit nor miss in the VOC metrics.
        crowd: (n,) bool: COCO's iscrowd.
        area: (n,) float64, pixels squared: COCO's segment area where the data set tells it, else the box's.
        num_pictures: those without objects included.

    Raises:
        ValueError: columns that do not fit together.
    """

    picture: Integers
    class_id: Integers
    boxes: Doubles
    difficult: Flags
    crowd: Flags
    area: Doubles
    num_pictures: int

    def __post_init__(self) -> None:
        _check_columns(self)

    def __len__(self) -> int:
        return len(self.picture)


@dataclass(frozen=True, eq=False)
class PredictionTable:
    """The detections.

    Args:
        picture: (n,) int64, ascending.
        class_id: (n,) int64, from 1.
        boxes: (n, 4) float64 xyxy, pixels of the picture.
        score: (n,) float64, 0 to 1.
        num_pictures: those without detections included.

    Raises:
        ValueError: columns that do not fit together.
    """

    picture: Integers
    class_id: Integers
    boxes: Doubles
    score: Doubles
    num_pictures: int

    def __post_init__(self) -> None:
        _check_columns(self)

    def __len__(self) -> int:
        return len(self.picture)


_DTYPES: Mapping[str, Any] = {
    "picture": np.int64,
    "class_id": np.int64,
    "boxes": np.float64,
    "score": np.float64,
    "area": np.float64,
    "difficult": np.bool_,
    "crowd": np.bool_,
}


def _check_columns(table: TruthTable | PredictionTable) -> None:
    n = len(table.picture)
    for name in (field.name for field in fields(table) if field.name != "num_pictures"):
        column = getattr(table, name)
        shape = (n, 4) if name == "boxes" else (n,)
        if column.shape != shape or column.dtype != _DTYPES[name]:
            raise ValueError(f"{name} is {column.dtype} {column.shape}, expected {np.dtype(_DTYPES[name])} {shape}")
    if n and (table.picture.min() < 0 or table.picture.max() >= table.num_pictures):
        raise ValueError(f"picture numbers must be from 0 to {table.num_pictures - 1}")
    if (np.diff(table.picture) < 0).any():
        raise ValueError("rows must be in the order of the pictures")
    if n and table.class_id.min() < 1:
        raise ValueError("class ids count from 1")
