"""What the readers of all layouts hand over: objects as they stand there, before classes and boxes are judged."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from ssd_detect.datasets.dataset import DatasetKind, Treatment
from ssd_detect.datasets.rules import ProblemLog
from ssd_detect.errors import FormatError, PictureError
from ssd_detect.filetypes import other_than_file
from ssd_detect.media.pictures import picture_size

Corners = tuple[float, float, float, float]


@dataclass(frozen=True)
class ReadRequest:
    """What is to be read, and how.

    Args:
        path: as the user named it.
        split: such as `test`; None: all there is.
        class_names: the class list to use, background first; None takes that of the data set.
        pictures: the folder of the pictures, where they are not beside the annotations.
        one_based: whether VOC's pixels count from 1; None lets the boxes tell.
        ignore_unknown: leave objects of unknown classes out, where the default is an error.
    """

    path: Path
    split: str | None = None
    class_names: tuple[str, ...] | None = None
    pictures: Path | None = None
    one_based: bool | None = None
    ignore_unknown: bool = False


class RawObject(NamedTuple):
    """One object.

    Args:
        number: which of its file, from 1.
        class_name: as it stands there.
        box: x0, y0, x1, y1, finite, pixels from 0; perhaps swapped, empty or outside.
        area: where the file tells it.
    """

    number: int
    class_name: str
    box: Corners
    difficult: bool = False
    crowd: bool = False
    truncated: bool = False
    area: float | None = None


class RawPicture(NamedTuple):
    """One picture; `source` is the file that its objects stand in, the rest as in `AnnotatedPicture`."""

    path: Path
    name: str
    size: tuple[int, int]
    source: Path
    objects: Sequence[RawObject]
    picture_id: int | str | None = None


class RawDataset(NamedTuple):
    """All pictures; `class_names` with the background first, None where only the objects name classes."""

    kind: DatasetKind
    pictures: Sequence[RawPicture]
    class_names: tuple[str, ...] | None


def check_found(
    request: ReadRequest, pictures: Sequence[RawPicture], num_annotations: int, places: str, log: ProblemLog
) -> None:
    """Refuse a data set of which no picture can be used, although it has annotations.

    Raises:
        FormatError: that is so; says in which `places` pictures were looked for, and the first reason of `log`.
    """
    if num_annotations and not pictures:
        first = next((f" ({p.file.name}: {p.text})" for p in log.in_order() if p.treatment is Treatment.SKIPPED), "")
        raise FormatError(
            f"{request.path}: none of its {num_annotations} annotated pictures can be used{first}; looked "
            f"in {places}; name the folder of the pictures with --pictures, which ssd-detect dataset has"
        )


def size_or_problem(path: Path, log: ProblemLog) -> tuple[int, int] | None:
    """(width, height) of the upright picture; None, and a problem, where it cannot be read."""
    if other := other_than_file(path):
        log.add("picture-unreadable", path, f"is a {other}, expected a picture file")
        return None
    try:
        return picture_size(path, name=str(path))
    except PictureError as error:
        log.add("picture-unreadable", path, str(error).removeprefix(f"{path}: "))
        return None


def compare_sizes(
    stated: tuple[int, int] | None, size: tuple[int, int], file: Path, name: str, log: ProblemLog
) -> None:
    """Take down that the annotation states another size than the picture has."""
    if stated is None or min(stated) < 1:
        log.add("size-missing", file, f"{name}: says no size; the picture has {size[0]}x{size[1]}")
    elif stated != size:
        kind = "size-turned" if stated == size[::-1] else "size-wrong"
        log.add(kind, file, f"{name}: says {stated[0]}x{stated[1]}, the picture has {size[0]}x{size[1]}")
