"""Reads YOLO data sets: a text file a picture, a line an object.

A line is a class number from 0 and the box's centre and size, or the points of a polygon, whose box is taken; all as
shares of the upright picture's sides.
"""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path

from ssd_detect.classes import BACKGROUND
from ssd_detect.counting import counted
from ssd_detect.datasets.dataset import DatasetKind
from ssd_detect.datasets.raw import (
    Corners,
    RawDataset,
    RawObject,
    RawPicture,
    ReadRequest,
    check_found,
    size_or_problem,
)
from ssd_detect.datasets.rules import ProblemLog
from ssd_detect.datasets.texts import read_text
from ssd_detect.datasets.yolo_layout import YoloPlace, label_file, looks_like_labels
from ssd_detect.errors import SettingError
from ssd_detect.filetypes import other_than_file
from ssd_detect.formats.fitting import Tell
from ssd_detect.media.sources.folders import exists

_MOST_SHARE = 2.0  # a number above it is one of pixels
_MOST_CLASSES = 100_000  # a class number from here on is none: without names, all below it would be named
_BOX_FIELDS, _SCORED_FIELDS = 5, 6


def read_yolo_dataset(place: YoloPlace, request: ReadRequest, log: ProblemLog) -> RawDataset:
    """All pictures, objects still to be judged.

    Raises:
        FormatError: no picture can be used.
        SettingError: a folder of pictures was named.
    """
    if request.pictures is not None:
        raise SettingError(f"{request.pictures}: YOLO finds labels by where the pictures lie; leave --pictures out")
    names = place.names
    if names is None and request.class_names is not None:
        names = dict(enumerate(request.class_names[1:]))
    reader = _Reader(place.root, names, log)
    found = [one for path in place.pictures if (one := reader.read(path)) is not None]
    if not place.is_listed:
        _tell_lonely_labels(place.pictures, log)
    check_found(request, found, len(place.pictures), str(place.root), log)
    return RawDataset(DatasetKind.YOLO, found, _class_names(place, reader, log))


def _class_names(place: YoloPlace, reader: "_Reader", log: ProblemLog) -> tuple[str, ...]:
    names = reader.names
    if place.num_classes and place.num_classes != str(len(names)):
        log.add("class-count", place.source, f"nc is {place.num_classes}, but names has {len(names)}")
    if reader.is_nameless:
        num = counted(len(names), "class", "classes")
        if place.odd_yaml:
            log.add("class-nameless", place.odd_yaml[0], f"does not name the {num}: {place.odd_yaml[1]}")
        else:
            log.add("class-nameless", place.source, f"no data.yaml or classes.txt names the {num}")
        names = {i: _number_name(i) for i in range(max(names, default=0) + 1)}
    known: dict[str, None] = {}
    for i, name in sorted(names.items()):
        if name in known:
            log.add("class-twice", place.source, f"class {i} is called {name!r} as another is")
        known[name] = None
    return (BACKGROUND, *known)


def _number_name(number: int) -> str:
    return f"class {number}"


def _tell_lonely_labels(pictures: Sequence[Path], log: ProblemLog) -> None:
    used = {label_file(path) for path in pictures}
    for folder in sorted({path.parent for path in used}):
        for path in sorted(folder.glob("*.txt")):
            if path in used:
                continue
            if other := other_than_file(path):
                log.add("labels-damaged", path, f"is a {other}, expected a file")
            elif looks_like_labels(path):
                log.add("picture-missing", path, "no picture has its name")


class _Reader:
    """Reads labels; without names of classes, it names each number that it meets."""

    def __init__(self, root: Path, names: Mapping[int, str] | None, log: ProblemLog) -> None:
        self._root, self._log = root, log
        self._owners: dict[Path, Path] = {}
        self.is_nameless = names is None
        self.names = dict(names or {})

    def read(self, path: Path) -> RawPicture | None:
        """A picture with its objects; None, and a problem, where it cannot be used."""
        if not exists(path):
            self._log.add("picture-missing", path, "is listed, and is not there")
            return None
        labels = label_file(path)
        if (owner := self._owners.setdefault(labels, path)) != path:
            self._log.add("picture-twice", path, f"has its labels in common with {owner.name}")
            return None
        size = size_or_problem(path, self._log)
        lines = None if size is None else self._lines(labels, path)
        if size is None or lines is None:
            return None
        objects = [one for i, line in enumerate(lines, 1) if (one := self._object(line, size, i, labels)) is not None]
        return RawPicture(path, self._name(path), size, labels, objects)

    def _name(self, path: Path) -> str:
        """Below the root, without the first folder called `images`."""
        parts = [*(path.relative_to(self._root) if path.is_relative_to(self._root) else path).parts]
        images = [part for part in parts[:-1] if part.casefold() == "images"]
        if images:
            parts.remove(images[0])
        return "/".join(parts)

    def _lines(self, labels: Path, picture: Path) -> list[str] | None:
        if not labels.exists():
            self._log.add("labels-missing", picture, f"{labels} is not there")
            return []
        try:
            return read_text(labels, self._log).splitlines()
        except OSError as error:
            self._log.add("labels-damaged", labels, error.strerror or str(error))
            return None

    def _object(self, line: str, size: tuple[int, int], number: int, labels: Path) -> RawObject | None:
        def tell(kind: str, text: str) -> None:
            self._log.add(kind, labels, text, number)

        fields = line.split()
        if not fields:
            return None
        values = _numbers(fields)
        if values is None or not self._is_label(values):
            tell("line-odd" if values is None or all(map(math.isfinite, values)) else "box-not-numbers", _shown(line))
            return None
        class_number, shares = int(values[0]), values[1:]
        if self.is_nameless:
            self.names.setdefault(class_number, _number_name(class_number))
        if class_number not in self.names:
            tell("class-number", f"has the class {class_number}; the names are of 0 to {max(self.names, default=-1)}")
            return None
        if len(values) == _SCORED_FIELDS:
            tell("line-score", f"has a sixth number, {fields[5]}")
        box = _box(shares, tell)
        width, height = size
        if box is None:
            return None
        return RawObject(
            number, self.names[class_number], (box[0] * width, box[1] * height, box[2] * width, box[3] * height)
        )

    @staticmethod
    def _is_label(values: Sequence[float]) -> bool:
        count = len(values)
        fits = count in (_BOX_FIELDS, _SCORED_FIELDS) or (count >= 7 and count % 2 == 1)
        return fits and all(map(math.isfinite, values)) and 0 <= values[0] < _MOST_CLASSES and values[0].is_integer()


def _numbers(fields: Sequence[str]) -> list[float] | None:
    try:
        return [float(field) for field in fields]
    except ValueError:
        return None


def _box(shares: Sequence[float], tell: Tell) -> Corners | None:
    """Corners, as shares: of centre and size, or of a polygon's points."""
    is_polygon = len(shares) >= 6
    counted = shares if is_polygon else shares[:4]
    if max(map(abs, counted)) > _MOST_SHARE:
        tell("box-not-shares", f"has {max(counted, key=abs):g}, expected shares from 0 to 1")
        return None
    if is_polygon:
        return min(shares[::2]), min(shares[1::2]), max(shares[::2]), max(shares[1::2])
    x, y, width, height = counted
    return x - width / 2, y - height / 2, x + width / 2, y + height / 2


def _shown(line: str) -> str:
    return f"is {line[:60]!r}, expected a class number and four shares, or points"
