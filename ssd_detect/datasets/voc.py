"""Reads VOC data sets: an XML file a picture.

Pixels count from 1 and both corners belong to the box, so x0 = xmin - 1 and x1 = xmax. In sets of tools that count from
0, x0 = xmin and x1 = xmax + 1; but x1 = xmax if a far corner anywhere equals its picture's side or has a fraction, for
then they are edges and not numbers of pixels. Both are decided once for all of a set, so that all boxes are alike: it
counts from 0 if more boxes begin at 0 than at 1, since boxes that touch the left or top border begin there.
"""

import math
from collections import Counter
from collections.abc import Sequence
from pathlib import Path, PurePath
from typing import NamedTuple
from xml.etree.ElementTree import Element

from ssd_detect.datasets.dataset import DatasetKind
from ssd_detect.datasets.fitting import Tell, in_order, shown
from ssd_detect.datasets.listing import pictures_below
from ssd_detect.datasets.raw import (
    Corners,
    RawDataset,
    RawObject,
    RawPicture,
    ReadRequest,
    check_found,
    compare_sizes,
    size_or_problem,
)
from ssd_detect.datasets.rules import ProblemLog
from ssd_detect.datasets.texts import parse_xml, read_regular
from ssd_detect.datasets.voc_layout import VocPlace, annotation_files, split_keys
from ssd_detect.formats.file_names import text_to_name
from ssd_detect.formats.json_values import LARGEST

_CORNERS = ("xmin", "ymin", "xmax", "ymax")
_YES = ("1", "true", "yes")


def read_voc(place: VocPlace, request: ReadRequest, log: ProblemLog) -> RawDataset:
    """All pictures of the set or of its split, objects still to be judged.

    Raises:
        SettingError: no such split.
        FormatError: no picture can be used.
    """
    folder = request.pictures or place.pictures
    annotations, pictures = annotation_files(place), pictures_below(folder)
    keys = _keys(place, request, annotations, pictures, log)
    matching = _Matching(folder, pictures, annotations)
    read = [one for key in keys if (one := matching.read(key, log)) is not None]
    one_based = request.one_based
    if one_based is None:
        one_based = _counts_from_1(read, request, log)
    shift = _shift(read, one_based)
    found = [shift.of(picture) for picture in read]
    check_found(request, found, len(keys), str(folder), log)
    return RawDataset(DatasetKind.VOC, found, None)


def _keys(
    place: VocPlace,
    request: ReadRequest,
    annotations: dict[str, Path],
    pictures: dict[str, list[Path]],
    log: ProblemLog,
) -> Sequence[str]:
    """Of the split; else all annotations, then, to be told, pictures that have none."""
    if request.split is not None and request.split != place.root.name:
        return split_keys(place, request.split, annotations.keys() | pictures.keys(), log)
    return [*annotations, *sorted(pictures.keys() - annotations.keys())]


class _Shift(NamedTuple):
    """What is added to near and far corners, so that they are edges that count from 0."""

    near: int
    far: int

    def of(self, picture: RawPicture) -> RawPicture:
        """The picture with such boxes."""
        objects = [one._replace(box=self._edges(*one.box)) for one in picture.objects]
        return picture._replace(objects=objects)

    def _edges(self, xmin: float, ymin: float, xmax: float, ymax: float) -> Corners:
        return xmin + self.near, ymin + self.near, xmax + self.far, ymax + self.far


def _shift(pictures: Sequence[RawPicture], one_based: bool) -> _Shift:
    if one_based:
        return _Shift(-1, 0)
    far = [(v, side) for p in pictures for one in p.objects for v, side in zip(one.box[2:], p.size, strict=True)]
    return _Shift(0, 0) if any(v == side or not v.is_integer() for v, side in far) else _Shift(0, 1)


def _counts_from_1(pictures: Sequence[RawPicture], request: ReadRequest, log: ProblemLog) -> bool:
    begins = Counter(v for picture in pictures for one in picture.objects for v in one.box[:2])
    zeros, ones = begins[0.0], begins[1.0]
    if zeros:
        what = f"{zeros} sides of boxes begin at 0 and {ones} at 1: taken to count from {0 if zeros > ones else 1}"
        log.add("counted-from", request.path, what)
    return zeros <= ones


class _Matching:
    """Brings annotations and pictures together: by stem, else by `<filename>`."""

    def __init__(self, folder: Path, pictures: dict[str, list[Path]], annotations: dict[str, Path]) -> None:
        self._folder, self._pictures, self._annotations = folder, pictures, annotations
        self._named = {p.name: p for paths in pictures.values() for p in reversed(paths)}
        self._owners: dict[Path, Path] = {}

    def read(self, key: str, log: ProblemLog) -> RawPicture | None:
        """The picture of a key, boxes as the file counts; None, and a problem, where it cannot be used."""
        annotation, candidates = self._annotations.get(key), self._pictures.get(key, [])
        if annotation is None:
            self._tell_alone(key, candidates, log)
            return None
        root = _root(annotation, log)
        path = None if root is None else self._picture_of(annotation, root, candidates, log)
        size = None if path is None else size_or_problem(path, log)
        if root is None or path is None or size is None:
            return None
        name = path.relative_to(self._folder).as_posix()
        compare_sizes(_stated_size(root), size, annotation, name, log)
        return RawPicture(path, name, size, annotation, _objects(root, annotation, name, log))

    def _tell_alone(self, key: str, candidates: list[Path], log: ProblemLog) -> None:
        if not candidates:
            log.add("picture-missing", self._folder / key, "neither a picture nor an annotation has this name")
        for path in candidates:
            if path not in self._owners:  # not one that `<filename>` has found
                log.add("annotation-missing", path, "no XML file has its name")

    def _picture_of(self, annotation: Path, root: Element, candidates: list[Path], log: ProblemLog) -> Path | None:
        stated = PurePath(text_to_name((root.findtext("filename") or "").strip()).replace("\\", "/")).name
        path = next((p for p in candidates if p.name == stated), None)
        if path is None and candidates:
            path = candidates[0]
            if len(candidates) > 1:
                names = ", ".join(p.name for p in candidates)
                log.add("picture-ambiguous", annotation, f"its picture may be {names}; {path.name} is taken")
            if stated and PurePath(stated).stem not in (annotation.stem, "") and stated != annotation.stem:
                log.add("picture-name", annotation, f"<filename> is {stated!r}; {path.name} is taken")
        path = path or self._named.get(stated)
        if path is None:
            what = f", nor is there one called {stated}" if stated else ""
            log.add("picture-missing", annotation, f"no picture in {self._folder} has its name{what}")
        elif (owner := self._owners.setdefault(path, annotation)) != annotation:
            log.add("picture-twice", annotation, f"its picture {path.name} belongs to {owner.name} already")
            return None
        return path


def _root(path: Path, log: ProblemLog) -> Element | None:
    try:
        data = read_regular(path)
        if not data.strip():
            log.add("annotation-empty", path, "holds nothing (0 bytes, or blanks)")
            return None
        root = parse_xml(data, path, log)
    except (OSError, ValueError) as error:
        log.add("annotation-damaged", path, getattr(error, "strerror", None) or str(error))
        return None
    if root.tag != "annotation":
        log.add("annotation-foreign", path, f"its outermost element is {root.tag!r}, expected annotation")
        return None
    return root


def _stated_size(root: Element) -> tuple[int, int] | None:
    width, height = (_number(root.findtext(f"size/{tag}")) for tag in ("width", "height"))
    return None if width is None or height is None else (int(width), int(height))


def _number(text: str | None) -> float | None:
    """The number, finite and of a size that can be; else None."""
    try:
        value = float(text or "")
    except ValueError:
        return None
    return value if math.isfinite(value) and abs(value) <= LARGEST else None


def _objects(root: Element, path: Path, name: str, log: ProblemLog) -> list[RawObject]:
    found = []
    for number, element in enumerate(root.findall("object"), 1):

        def tell(kind: str, text: str, number: int = number) -> None:
            log.add(kind, path, f"{name}: {text}", number)

        class_name = (element.findtext("name") or "").strip()
        corners = _corners(element, tell)
        if not class_name:
            tell("class-missing", "has no <name>")
        elif corners is not None:
            difficult, truncated = (_flag(element, tag, tell) for tag in ("difficult", "truncated"))
            found.append(RawObject(number, class_name, corners, difficult=difficult, truncated=truncated))
    return found


def _corners(element: Element, tell: Tell) -> Corners | None:
    texts = [element.findtext(f"bndbox/{tag}") for tag in _CORNERS]
    if any(text is None or not text.strip() for text in texts):
        missing = [tag for tag, text in zip(_CORNERS, texts, strict=True) if text is None or not text.strip()]
        tell("box-missing", f"has no {', '.join(missing)} in <bndbox>")
        return None
    numbers = [v for text in texts if (v := _number(text)) is not None]
    if len(numbers) < len(_CORNERS):
        tell("box-not-numbers", f"its box is {', '.join(repr((text or '').strip()) for text in texts)}")
        return None
    xmin, ymin, xmax, ymax = in_order((numbers[0], numbers[1], numbers[2], numbers[3]), tell)
    if xmin == xmax or ymin == ymax:
        tell("box-thin", f"box {shown((xmin, ymin, xmax, ymax))} is one pixel {'wide' if xmin == xmax else 'high'}")
    return xmin, ymin, xmax, ymax


def _flag(element: Element, tag: str, tell: Tell) -> bool:
    text = (element.findtext(tag) or "").strip()
    value = text.lower() in _YES
    if text not in ("", "0", "1"):
        tell("flag-odd", f"{tag} is {text!r}, expected 0 or 1; taken for {int(value)}")
    return value
