"""Reads VOC data sets: an XML file a picture.

Pixels count from 1 and both corners belong to the box, so x0 = xmin - 1 and x1 = xmax. In sets of tools that count from
0, x0 = xmin and x1 = xmax + 1; but x1 = xmax if a far corner anywhere equals its picture's side or has a fraction, for
then they are edges and not numbers of pixels. Both are decided once for all of a set, so that all boxes are alike: it
counts from 0 if more boxes begin at 0 than at 1, since boxes that touch the left or top border begin there.
"""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path, PurePath
from typing import NamedTuple

from ssd_detect.datasets.dataset import DatasetKind
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
from ssd_detect.datasets.voc_layout import VocPlace, annotation_files, split_keys
from ssd_detect.formats.fitting import Tell, shown
from ssd_detect.formats.voc_annotation import AnnotationError, VocAnnotation


def read_voc(place: VocPlace, request: ReadRequest, log: ProblemLog) -> RawDataset:
    """All pictures of the set or of its split, objects still to be judged.

    Raises:
        SettingError: no such split.
        FormatError: no picture can be used.
    """
    folder = request.pictures or place.pictures
    annotations, pictures = annotation_files(place, log), pictures_below(folder)
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
        content = _annotation(annotation, log)
        path = None if content is None else self._picture_of(annotation, content, candidates, log)
        size = None if path is None else size_or_problem(path, log)
        if content is None or path is None or size is None:
            return None
        name = path.relative_to(self._folder).as_posix()
        compare_sizes(content.size, size, annotation, name, log)
        return RawPicture(path, name, size, annotation, _objects(content, annotation, name, log))

    def _tell_alone(self, key: str, candidates: list[Path], log: ProblemLog) -> None:
        if not candidates:
            log.add("picture-missing", self._folder / key, "neither a picture nor an annotation has this name")
        for path in candidates:
            if path not in self._owners:  # not one that `<filename>` has found
                log.add("annotation-missing", path, "no XML file has its name")

    def _picture_of(
        self, annotation: Path, content: VocAnnotation, candidates: list[Path], log: ProblemLog
    ) -> Path | None:
        stated = PurePath(content.filename.strip().replace("\\", "/")).name
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


def _annotation(path: Path, log: ProblemLog) -> VocAnnotation | None:
    try:
        return VocAnnotation(path, lambda text: log.add("encoding", path, text))
    except AnnotationError as error:
        log.add(error.kind, path, str(error))
    except OSError as error:
        log.add("annotation-damaged", path, error.strerror or str(error))
    return None


def _objects(annotation: VocAnnotation, path: Path, name: str, log: ProblemLog) -> list[RawObject]:
    def tell_of(number: int) -> Tell:
        return lambda kind, text: log.add(kind, path, f"{name}: {text}", number)

    found = []
    for one in annotation.objects(tell_of):
        class_name, tell = one.class_name.strip(), tell_of(one.number)
        _tell_thin(one.corners, tell)
        if class_name:
            box, flags = one.corners, {"difficult": one.difficult, "truncated": one.truncated}
            found.append(RawObject(one.number, class_name, box, **flags))
        else:
            tell("class-missing", "has no <name>")
    return found


def _tell_thin(corners: Corners, tell: Tell) -> None:
    xmin, ymin, xmax, ymax = corners
    if xmin == xmax or ymin == ymax:
        tell("box-thin", f"box {shown(corners)} is one pixel {'wide' if xmin == xmax else 'high'}")
