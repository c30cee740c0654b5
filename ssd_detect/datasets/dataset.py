"""What a data set is, whatever files it lies in."""

from dataclasses import dataclass
from enum import Enum
from pathlib import Path

import numpy as np
import numpy.typing as npt

from ssd_detect.arrays import Flags, Integers


class DatasetKind(str, Enum):
    """The layouts that are read and written."""

    VOC = "voc"
    COCO = "coco"
    YOLO = "yolo"


class Treatment(str, Enum):
    """What is done about a problem."""

    MENDED = "mended"  # the object or picture is used, with the fault put right
    DROPPED = "dropped"  # the object is left out
    SKIPPED = "skipped"  # the picture is left out
    KEPT = "kept"  # used as it is; somebody should look at it


@dataclass(frozen=True)
class Problem:
    """One thing that is not as it should be.

    Args:
        file: the annotation file, or the picture, it is in.
        kind: a short fixed name, such as `box-inverted`; problems are counted by it.
        text: what was found and what was expected, for a person.
        treatment: what is done about it.
        object_number: which object of the file, from 1; None where it is about the whole file.
    """

    file: Path
    kind: str
    text: str
    treatment: Treatment
    object_number: int | None = None


@dataclass(frozen=True, eq=False)
class AnnotatedPicture:
    """A picture and the objects in it.

    Args:
        path: the picture's file.
        name: how it is called in results: unique in the data set, with `/` between folders.
        size: (width, height), pixels, as the boxes count them.
        boxes: (n, 4) float64 xyxy, pixels from 0 at the picture's left and top edge, inside the picture.
        class_ids: (n,) int64 into the data set's class names, from 1.
        difficult, crowd, truncated: (n,) bool.
        area: (n,) float64, pixels squared: of COCO's segment where there is one, else of the box.
        picture_id: COCO's id; None elsewhere.
    """

    path: Path
    name: str
    size: tuple[int, int]
    boxes: npt.NDArray[np.float64]
    class_ids: Integers
    difficult: Flags
    crowd: Flags
    truncated: Flags
    area: npt.NDArray[np.float64]
    picture_id: int | str | None = None

    def __len__(self) -> int:
        return len(self.class_ids)


@dataclass(frozen=True, eq=False)
class Dataset:
    """A data set, or the split of it that was asked for.

    Args:
        root: the folder or file that was named.
        kind: its layout.
        split: such as `test`; None: all there is.
        class_names: background first; for VOC those of the 20 classes, or what the annotations name.
        pictures: in a fixed order; those without objects too.
        problems: in the order of the files.
    """

    root: Path
    kind: DatasetKind
    split: str | None
    class_names: tuple[str, ...]
    pictures: tuple[AnnotatedPicture, ...]
    problems: tuple[Problem, ...]
