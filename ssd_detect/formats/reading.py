"""What the readers of all formats are given, and what they give back."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

import numpy as np

from ssd_detect.arrays import Floats
from ssd_detect.detections import Detections
from ssd_detect.formats.rounding import Row


@dataclass(frozen=True)
class ReadSettings:
    """Where results lie and what their format does not hold.

    Args:
        folder: the folder that was written to.
        class_names: of the checkpoint; index = class id, background first.
        size_of: gives (width, height) in pixels of the picture with a key; `yolo` needs it, `voc` checks against it.
        coco_images: the annotation file that a COCO list of results belongs to.
    """

    folder: Path
    class_names: tuple[str, ...]
    size_of: Callable[[PurePosixPath], tuple[int, int]] | None = None
    coco_images: Path | None = None


@dataclass(frozen=True)
class ReadRecord:
    """One picture's results as a file holds them.

    Args:
        file: the picture as the user named it; in `yolo`, which does not hold it, the key.
        detections: what was found.
        key: in formats with a file a picture, that file's place below the folder without suffix; else None.
        sha256: of the picture's file, where the format holds it.
        warnings: what was mended or left out while reading.
    """

    file: str
    detections: Detections
    key: PurePosixPath | None = None
    sha256: str | None = None
    warnings: tuple[str, ...] = ()


def detections_of(rows: Sequence[Row], size: tuple[int, int], class_names: Sequence[str]) -> Detections:
    """Detections from the rows of a file, in their order.

    Raises:
        ValueError: an empty picture, a class that is not in the class list or has another name there, a score outside
            0 to 1, a box that has no area or reaches outside the picture.
    """
    if min(size) < 1:
        raise ValueError(f"the picture's size is {size[0]}x{size[1]}, expected at least 1x1")
    for row in rows:
        _check(row, class_names)
    boxes = np.array([row.box for row in rows], np.float32).reshape(-1, 4)
    _check_boxes(boxes, size)
    return Detections(
        boxes=boxes,
        scores=np.array([row.score for row in rows], np.float32),
        class_ids=np.array([row.class_id for row in rows], np.int64),
        size=size,
        class_names=tuple(class_names),
    )


def _check(row: Row, class_names: Sequence[str]) -> None:
    if not 1 <= row.class_id < len(class_names):
        raise ValueError(f"class number {row.class_id}, expected 1 to {len(class_names) - 1}")
    if class_names[row.class_id] != row.class_name:
        raise ValueError(
            f"class {row.class_id} is {row.class_name!r}, in the class list it is {class_names[row.class_id]!r}; "
            "these results are of another checkpoint"
        )
    if not 0 <= row.score <= 1:
        raise ValueError(f"a score of {row.score}, expected 0 to 1")


def _check_boxes(boxes: Floats, size: tuple[int, int]) -> None:
    fits = (
        (boxes[:, :2] >= 0).all(axis=1)
        & (boxes[:, :2] < boxes[:, 2:]).all(axis=1)
        & (boxes <= [*size, *size]).all(axis=1)
    )
    if not fits.all():
        found = ", ".join(f"{v:g}" for v in boxes[~fits][0].tolist())
        raise ValueError(
            f"a box of {found}, expected one that has an area and lies inside the picture of {size[0]}x{size[1]} pixels"
        )
