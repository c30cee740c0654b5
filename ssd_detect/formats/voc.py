"""Pascal VOC: `<folder>/<key>.xml`, as labelImg and CVAT open it.

Pixels count from 1 and both corners belong to the box: xmin = floor(x0) + 1, xmax = ceil(x1), so the box covers every
pixel that ours touches and stays inside the picture. Back: x0 = xmin - 1, x1 = xmax. The format holds whole pixels
only. `truncated` is 1 when the box touches the picture's border; `score`, 6 decimals, is an element that such tools
pass over. In class names U+FFFD stands for each character that XML forbids; a file name that holds some, or bytes that
are no UTF-8, stands as `file_names` says.
"""

import math
import re
import xml.etree.ElementTree as ET
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import NamedTuple

from ssd_detect.classes import find_class_ids
from ssd_detect.detections import SCORE_DECIMALS
from ssd_detect.formats.file_names import name_to_text
from ssd_detect.formats.file_reading import explained_reading, own_files
from ssd_detect.formats.fitting import Tell, inside
from ssd_detect.formats.reading import ReadRecord, ReadSettings, detections_of
from ssd_detect.formats.record import PictureRecord
from ssd_detect.formats.rounding import Box, Row, rounded_rows
from ssd_detect.formats.voc_annotation import CORNERS, VocAnnotation, VocStated
from ssd_detect.formats.writer import OwnFileWriter

_FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_ALTERED = re.compile("[^\t\n\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")  # a parser reads \r as \n


class VocWriter(OwnFileWriter):
    """Writes one XML file a picture."""

    suffix = ".xml"

    def content(self, record: PictureRecord) -> bytes:
        """The annotation, indented, in UTF-8."""
        size = record.detections.size
        return voc_annotation(record.file, size, [_entry(row, size) for row in rounded_rows(record.detections)])


class VocEntry(NamedTuple):
    """One object as it is to be written.

    Args:
        class_name: any text.
        corners: xmin, ymin, xmax, ymax as VOC counts: from 1, both corners belonging to the box.
        truncated, difficult: as in `VocObject`.
        score: with its decimals; None writes none.
    """

    class_name: str
    corners: tuple[str, ...]
    truncated: bool
    difficult: bool = False
    score: str | None = None


def voc_annotation(file: str, size: tuple[int, int], entries: Iterable[VocEntry]) -> bytes:
    """The content of an annotation file: XML, indented, in UTF-8.

    Args:
        file: the picture, with the folders it lies in.
        size: (width, height), pixels.
        entries: its objects.
    """
    root = ET.Element("annotation")
    _add_picture(root, file, size)
    for entry in entries:
        _add_object(root, entry)
    ET.indent(root)
    written: bytes = ET.tostring(root, encoding="utf-8", xml_declaration=True)
    return written + b"\n"


def _add_picture(root: ET.Element, file: str, size: tuple[int, int]) -> None:
    path = PurePath(file)
    _add(root, "folder", name_to_text(path.parent.name, _ALTERED))
    _add(root, "filename", name_to_text(path.name, _ALTERED))
    _add(root, "path", name_to_text(file, _ALTERED))
    _add(_add(root, "source"), "database", "ssd-detect")
    element = _add(root, "size")
    for tag, value in zip(("width", "height", "depth"), (*size, 3), strict=True):
        _add(element, tag, str(value))
    _add(root, "segmented", "0")


def _add_object(root: ET.Element, entry: VocEntry) -> None:
    element = _add(root, "object")
    _add(element, "name", _class_text(entry.class_name))
    _add(element, "pose", "Unspecified")
    _add(element, "truncated", str(int(entry.truncated)))
    _add(element, "difficult", str(int(entry.difficult)))
    box = _add(element, "bndbox")
    for tag, value in zip(CORNERS, entry.corners, strict=True):
        _add(box, tag, value)
    if entry.score is not None:
        _add(element, "score", entry.score)


def _entry(row: Row, size: tuple[int, int]) -> VocEntry:
    corners = _corners(row.box)
    touches = corners[0] == 1 or corners[1] == 1 or corners[2] == size[0] or corners[3] == size[1]
    score = f"{row.score:.{SCORE_DECIMALS}f}"
    return VocEntry(row.class_name, tuple(map(str, corners)), touches, score=score)


def _corners(box: Box) -> tuple[int, int, int, int]:
    """The first and last pixel that the box touches, counted from 1. Inside the picture, since the box is."""
    x0, y0, x1, y1 = box
    return math.floor(x0) + 1, math.floor(y0) + 1, math.ceil(x1), math.ceil(y1)


def _add(parent: ET.Element, tag: str, text: str | None = None) -> ET.Element:
    element = ET.SubElement(parent, tag)
    element.text = text
    return element


def _class_text(name: str) -> str:
    """The name as an XML parser will give it back."""
    return _FORBIDDEN.sub("\ufffd", name).replace("\r\n", "\n").replace("\r", "\n")


@dataclass(frozen=True)
class VocObject:
    """One object of an annotation.

    Args:
        name: its class, as it stands there.
        box: x0, y0, x1, y1 in pixels counted from 0, inside the picture, with an area.
        score: 0 to 1; 1 where none stands there.
        truncated: the object goes on beyond its box.
        difficult: not to be counted when detections are judged.
    """

    name: str
    box: Box
    score: float = 1.0
    truncated: bool = False
    difficult: bool = False


@dataclass(frozen=True)
class VocPicture:
    """One annotation file.

    Args:
        file: the picture: the path, else the file name, else empty.
        size: (width, height) in pixels.
        objects: in the file's order, without those that cannot be used.
        warnings: what was mended or left out.
    """

    file: str
    size: tuple[int, int]
    objects: tuple[VocObject, ...]
    warnings: tuple[str, ...]


def parse_voc(path: Path, *, size: tuple[int, int] | None = None, counted_from: int = 1) -> VocPicture:
    """Read an annotation file of any tool. Only names and boxes need be there; where text makes no sense, its default
    holds and a warning says so. Corners that are swapped are swapped back, boxes are cut off at the picture's border,
    and an object without a name, or with no usable box inside the picture, is left out; each with a warning.

    Args:
        path: the file.
        size: (width, height) of the picture, where known; it holds whatever the file says.
        counted_from: the number of the first pixel, 1 in VOC, 0 in the files of some tools; applies to both corners.

    Raises:
        FormatError: missing, no XML or none that says its encoding, no annotation, or without the picture's size while
            `size` is None.
    """
    with explained_reading(path):
        annotation = VocAnnotation(path, _refuse)
        known, warnings = _size(annotation, size)

        def tell_of(number: int) -> Tell:
            return lambda kind, text: warnings.append(f"object {number}: {text}{_DONE.get(kind, '')}")

        judged = (_object(one, known, counted_from, tell_of(one.number)) for one in annotation.objects(tell_of))
        objects = tuple(one for one in judged if one is not None)
    return VocPicture(annotation.path or annotation.filename, known, objects, tuple(warnings))


_DONE = {
    "box-inverted": "; swapped back",
    "box-cut": "; cut off at its border",
    **dict.fromkeys(("class-missing", "box-missing", "box-not-numbers", "box-empty", "box-outside"), "; left out"),
}


def _refuse(text: str) -> None:
    """Results are in UTF-8 or say what they are in: names that are guessed would be other classes."""
    raise ValueError(text)


def _size(annotation: VocAnnotation, known: tuple[int, int] | None) -> tuple[tuple[int, int], list[str]]:
    """(width, height), and a warning when the file says something else."""
    stated = annotation.size
    if stated is not None and min(stated) < 1:
        stated = None
    if known is None:
        if stated is None:
            raise ValueError("does not say the picture's size")
        return stated, []
    if stated is None or stated == known:
        return known, []
    return known, [f"says {stated[0]}x{stated[1]}, the picture has {known[0]}x{known[1]}"]


def _object(one: VocStated, size: tuple[int, int], counted_from: int, tell: Tell) -> VocObject | None:
    xmin, ymin, xmax, ymax = (v - counted_from for v in one.corners)
    box = inside((xmin, ymin, xmax + 1, ymax + 1), size, tell)
    if box is None:
        return None
    return VocObject(one.class_name, box, _score(one.score, tell), one.truncated, one.difficult)


def _score(text: str, tell: Tell) -> float:
    """1 where there is none, and where it is none."""
    try:
        score = float(text or "1")
    except ValueError:
        score = math.nan
    if 0 <= score <= 1:
        return score
    tell("score-odd", f"score is {text!r}, expected a number from 0 to 1; taken for 1")
    return 1.0


def read_voc(settings: ReadSettings) -> Iterator[ReadRecord]:
    """The pictures of all XML files below the folder, sorted by key. Read as `parse_voc` does.

    Raises:
        FormatError: a file is damaged or names an unknown class.
    """
    class_ids = {_class_text(name): i for i, name in reversed([*enumerate(settings.class_names)][1:])}
    for key, path in own_files(settings.folder, VocWriter.suffix):
        picture = parse_voc(path, size=None if settings.size_of is None else settings.size_of(key))
        with explained_reading(path):
            rows = [_row(found, class_ids, settings.class_names) for found in picture.objects]
            detections = detections_of(rows, picture.size, settings.class_names)
        yield ReadRecord(picture.file or str(key), detections, key=key, warnings=picture.warnings)


def _row(found: VocObject, class_ids: dict[str, int], class_names: Sequence[str]) -> Row:
    """A name as the writer wrote it, else one that `find_class_ids` takes for the same."""
    class_id = class_ids.get(found.name) or find_class_ids([found.name.strip()], class_names)[0]
    return Row(class_names[class_id], class_id, found.score, found.box)
