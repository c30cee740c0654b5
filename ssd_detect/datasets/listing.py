"""Which files lie in a data set's folders."""

import os
from collections.abc import Iterator
from pathlib import Path

from ssd_detect.errors import FormatError
from ssd_detect.media.sources.signatures import is_picture_suffix

MOST_FOLDERS = 50_000
"""A walk ends with an error there: it is of a whole disk. ImageNet's 21,841 classes have a folder each."""


def files_below(folder: Path) -> Iterator[Path]:
    """All files in and below a folder, sorted by folder, then name; nothing whose name begins with a dot.

    Raises:
        FormatError: the folder is a link to one above its own place, or the root, or has too many folders below it.
    """
    if is_above(folder, Path(os.path.normpath(folder.absolute())).parent):
        raise FormatError(
            f"{folder}: leads to {folder.resolve()}, which holds more than a data set; name a folder in it"
        )
    for number, (top, folders, names) in enumerate(os.walk(folder)):
        if number == MOST_FOLDERS:
            raise FormatError(
                f"{folder}: has more than {MOST_FOLDERS:,} folders below it, too many for a data set; name one of them"
            )
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            if not name.startswith("."):
                yield Path(top, name)


def pictures_below(folder: Path) -> dict[str, list[Path]]:
    """Place below `folder`, with `/` and without suffix -> the pictures of that name: more than one if suffixes differ.

    A name tells, not the content: a damaged picture is to be told as one.
    """
    found: dict[str, list[Path]] = {}
    for path in files_below(folder):
        if is_picture_suffix(path.suffix):
            found.setdefault(stem_key(path, folder), []).append(path)
    return found


def is_above(folder: Path, inner: Path) -> bool:
    """Whether `inner` lies below `folder`, wherever links lead; the root is above itself."""
    return inner.resolve().parent.is_relative_to(folder.resolve())


def stem_key(path: Path, folder: Path) -> str:
    """The place of a file below `folder`, with `/` and without its suffix."""
    return path.relative_to(folder).with_suffix("").as_posix()


def child_folder(folder: Path, *names: str) -> Path | None:
    """The folder right below `folder` with the first of these names that there is; letter case does not count."""
    there = {p.name.casefold(): p for p in reversed(folders_in(folder))}
    return next((there[name] for name in names if name in there), None)


def folders_in(folder: Path) -> list[Path]:
    """The folders right below, sorted; not hidden ones."""
    return sorted(p for p in folder.iterdir() if p.is_dir() and not p.name.startswith("."))
