"""Where things lie in a VOC data set.

`Annotations` and `JPEGImages` (or `images`, ...) with or without `ImageSets/Main/<split>.txt`; VOCdevkit or any folder
with one such data set in it; a folder of XML files with their pictures among them; `Annotations` itself.
"""

import re
from collections.abc import Container
from dataclasses import dataclass
from pathlib import Path

from ssd_detect.datasets.listing import child_folder, files_below, folders_in, stem_key
from ssd_detect.datasets.rules import ProblemLog
from ssd_detect.datasets.texts import head_of, read_text
from ssd_detect.errors import FormatError, SettingError
from ssd_detect.formats.file_reading import explained_reading
from ssd_detect.media.sources.signatures import is_picture_suffix

_ANNOTATIONS = ("annotations", "annotation", "xml", "xmls", "labels")
_PICTURES = ("jpegimages", "images", "image", "pictures", "imgs")
_HEAD_BYTES = 4096
_FLAGGED = re.compile(r"(.*\S)\s+(?:-1|0|1)")
_MOST_LOOKED_INTO = 20


@dataclass(frozen=True)
class VocPlace:
    """The folders of a VOC data set.

    Args:
        annotations: with the XML files, in folders of their own or not.
        pictures: with the pictures, in the same folders.
        root: that may hold `ImageSets`.
    """

    annotations: Path
    pictures: Path
    root: Path


def find_voc(folder: Path, split: str | None) -> VocPlace | None:
    """Where the VOC data set in `folder` lies; None if there is none.

    Raises:
        FormatError: there are several.
    """
    if place := _place_in(folder, split):
        return place
    devkit = child_folder(folder, "vocdevkit")
    below = [
        p for parent in (folder, devkit) if parent for child in folders_in(parent) if (p := _place_in(child, None))
    ]
    named = [place for place in below if place.root.name == split]
    if len(named or below) > 1:
        names = ", ".join(str(p.root.relative_to(folder)) for p in below)
        raise FormatError(f"{folder}: holds {len(below)} VOC data sets: {names}; name the folder of one")
    return next(iter(named or below), None)


def _place_in(folder: Path, split: str | None) -> VocPlace | None:
    annotations = child_folder(folder, *_ANNOTATIONS)
    if annotations is not None and _holds_annotations(annotations):
        return VocPlace(annotations, _pictures_in(folder) or folder, folder)
    if not _holds_annotations(folder, below=False):
        return None
    root = folder.parent if folder.name.casefold() in _ANNOTATIONS else folder
    return VocPlace(folder, _pictures_in(root) or folder, root)


def _pictures_in(root: Path) -> Path | None:
    """The folder right below that is called like one of pictures, and holds some."""
    found = child_folder(root, *_PICTURES)
    return found if found and any(is_picture_suffix(p.suffix) for p in files_below(found)) else None


def _holds_annotations(folder: Path, *, below: bool = True) -> bool:
    """Whether one of the first XML files in it is an annotation."""
    files = files_below(folder) if below else (p for p in sorted(folder.iterdir()) if p.is_file())
    looked_into = 0
    for path in files:
        if path.suffix.lower() == ".xml":
            if b"<annotation" in head_of(path, _HEAD_BYTES).replace(b"\0", b""):  # UTF-16 is ASCII and zeros
                return True
            looked_into += 1
            if looked_into == _MOST_LOOKED_INTO:
                return False
    return False


def annotation_files(place: VocPlace, log: ProblemLog) -> dict[str, Path]:
    """Place below `annotations`, without suffix -> XML file; the first of several, which may be `a.XML` and `a.xml`."""
    found: dict[str, Path] = {}
    for path in files_below(place.annotations):
        if (
            path.suffix.lower() == ".xml"
            and (first := found.setdefault(stem_key(path, place.annotations), path)) != path
        ):
            log.add("picture-twice", path, f"its picture belongs to {first.name} already")
    return found


def split_keys(place: VocPlace, split: str, known: Container[str], log: ProblemLog) -> list[str]:
    """The pictures of `ImageSets/Main/<split>.txt`, in its order, each once.

    A line is the name of a picture, without suffix; in files of one class (`aeroplane_test`) -1, 0 or 1 follows, which
    says whether the class is in the picture, and all lines count.

    Args:
        place: of the data set.
        split: its name.
        known: the names that there are.
        log: takes what is odd.

    Raises:
        SettingError: no such split; the message names those that there are.
        FormatError: its file cannot be read.
    """
    found = _split_files(place.root)
    if split not in found:
        there = ", ".join(found) or "none: the folder has no ImageSets/Main/*.txt"
        raise SettingError(f"{place.root}: no split {split!r}; there are {there}")
    path, keys = found[split], dict[str, int]()
    with explained_reading(path):
        lines = read_text(path, log).splitlines()
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        key, is_odd = _split_key(line.strip(), known)
        if is_odd:
            log.add("split-line", path, f"{line.strip()!r}, expected a name, or a name and -1, 0 or 1", number)
        if keys.setdefault(key, number) != number:
            log.add("split-twice", path, f"{key!r} stands there twice", number)
    return list(keys)


def _split_key(line: str, known: Container[str]) -> tuple[str, bool]:
    """The name in a line, and whether the line is odd. Names may hold blanks."""
    flagged = _FLAGGED.fullmatch(line)
    for name in (line, flagged.group(1) if flagged else line):
        if (key := _known(name, known)) is not None:
            return key, False
    if (first := _known(line.split()[0], known)) is not None:
        return first, True
    return _without_suffix(flagged.group(1) if flagged else line), False


def _known(name: str, known: Container[str]) -> str | None:
    """The name as it is known: as it stands there, as that of `a.jpg.png` does, or without a picture's suffix."""
    return next((key for key in (name.replace("\\", "/"), _without_suffix(name)) if key in known), None)


def _without_suffix(name: str) -> str:
    stem, dot, suffix = name.replace("\\", "/").rpartition(".")
    return stem if is_picture_suffix(dot + suffix) else name


def _split_files(root: Path) -> dict[str, Path]:
    """Name -> file; those of single classes last, so that the others are told first."""
    sets = child_folder(root, "imagesets")
    folder = sets and (child_folder(sets, "main") or sets)
    paths = sorted(folder.glob("*.txt"), key=lambda p: ("_" in p.stem, p.stem)) if folder else []
    return {p.stem: p for p in paths}
