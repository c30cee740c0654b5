"""VOC annotations of data sets.

Pixels count from 1 and both corners belong to the box: xmin = x0 + 1, xmax = x1. Whole numbers where the box's are;
else at most 3 decimals, since a small object would lose too much by whole pixels, and tools read both.
"""

from collections.abc import Iterable, Sequence
from pathlib import PurePosixPath

from ssd_detect.datasets.dataset import AnnotatedPicture
from ssd_detect.detections import BOX_DECIMALS
from ssd_detect.formats.voc import VocEntry, voc_annotation

_FOLDER = "JPEGImages"


def voc_content(picture: AnnotatedPicture, name: PurePosixPath, class_names: Sequence[str]) -> bytes:
    """The XML file of a picture that is called `name` below JPEGImages."""
    columns = zip(picture.boxes.tolist(), picture.class_ids, _difficult(picture), picture.truncated, strict=True)
    entries = [
        VocEntry(class_names[class_id], _corners(box), bool(truncated), bool(difficult))
        for box, class_id, difficult, truncated in columns
    ]
    return voc_annotation(f"{_FOLDER}/{name}", picture.size, entries)


def _difficult(picture: AnnotatedPicture) -> list[bool]:
    """Crowds are neither hit nor miss, as what is difficult is."""
    return [bool(v) for v in picture.difficult | picture.crowd]


def _corners(box: Sequence[float]) -> tuple[str, ...]:
    x0, y0, x1, y1 = box
    return tuple(f"{v:.{BOX_DECIMALS}f}".rstrip("0").rstrip(".") for v in (x0 + 1, y0 + 1, x1, y1))


def voc_list(names: Iterable[PurePosixPath]) -> bytes:
    """The split: a name without suffix a line."""
    return "".join(f"{name.with_suffix('')}\n" for name in names).encode("utf-8", errors="surrogateescape")
