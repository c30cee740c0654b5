"""From the command line's arguments to pictures. Imports nothing heavy: what is wrong here is said at once.

An argument is, in this order: `-` (standard input), a URL, a file or folder of exactly that name, `@LIST` (a file that
holds one argument a line), or a glob that the shell has left alone. `./` in front makes a file name of anything.
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from urllib.parse import unquote

from ssd_detect.errors import PictureError, SsdDetectError
from ssd_detect.media.sources.folders import FolderSearch, exists, is_folder, is_glob
from ssd_detect.media.sources.keys import Place, unique_keys
from ssd_detect.media.sources.urls import is_url, shown_url, split_url

STDIN = "-"


@dataclass(frozen=True)
class PictureInput:
    """One picture to be read. Without `path` and `url` it comes from standard input.

    Args:
        name: as results record it: the path as found, the URL without what is secret in it, or `-`.
        path: its file.
        url: its address, as given.
        key: place of its results below the output folder, without suffix (append one, as the last name may hold dots);
            see `media.sources.keys`.
    """

    name: str
    path: Path | None
    url: str | None
    key: PurePosixPath


@dataclass(frozen=True)
class FoundInputs:
    """What the arguments have brought.

    Args:
        inputs: in the order of the arguments; sorted within a folder and a glob; each file once.
        num_skipped: hidden files and files that are no pictures, in folders and among the matches of globs.
        errors: what could not be found, one line each.
    """

    inputs: tuple[PictureInput, ...]
    num_skipped: int
    errors: tuple[SsdDetectError, ...]


def find_inputs(arguments: Sequence[str], *, recursive: bool) -> FoundInputs:
    """Find every picture that the arguments name.

    Files named one by one are taken as they are; `FolderSearch` says which ones of a folder or a glob are taken. A file
    that is reached twice, also through links, keeps its first name.

    Lists are UTF-8 (a mark at the start is ignored); blank lines and lines that begin with `#` are passed over, as are
    blanks around a name. As in a shell, names count from the current folder. Lists hold no further lists.

    Args:
        arguments: as the shell hands them over.
        recursive: of folders, read their sub-folders too.
    """
    search = _InputSearch(recursive)
    for argument in arguments:
        search.add(argument)
    return search.result()


@dataclass(frozen=True)
class _Source:
    """An input that has no key yet."""

    name: str
    path: Path | None
    url: str | None
    place: Place


class _InputSearch:
    """What the arguments have brought so far."""

    def __init__(self, recursive: bool) -> None:
        self._folders = FolderSearch(recursive, self._fail)
        self._sources: dict[str, _Source] = {}  # by what makes each one unique
        self._errors: dict[str, SsdDetectError] = {}  # by message
        self._origin = ""  # said behind errors while a list is read

    def result(self) -> FoundInputs:
        sources = self._sources.values()
        keys = unique_keys([source.place for source in sources])
        inputs = (PictureInput(s.name, s.path, s.url, key) for s, key in zip(sources, keys, strict=True))
        return FoundInputs(tuple(inputs), self._folders.num_skipped, tuple(self._errors.values()))

    def add(self, argument: str) -> None:
        """Find what an argument names, or note why it cannot be found."""
        try:
            self._add(argument)
        except PictureError as error:
            self._fail(error)

    def _fail(self, error: PictureError) -> None:
        message = f"{error}{self._origin}"
        self._errors.setdefault(message, PictureError(message))

    def _add(self, argument: str) -> None:
        if argument == STDIN:
            self._sources.setdefault(STDIN, _Source(STDIN, None, None, Place(STDIN, (), "stdin")))
        elif is_url(argument):
            source = _url_source(argument)
            self._sources.setdefault(source.place.full_name, source)
        elif argument and exists(Path(argument)):
            self._add_path(Path(argument))
        elif argument.startswith("@") and not self._origin:
            self._add_list(Path(argument[1:]))
        elif is_glob(argument):
            base, pictures = self._folders.by_glob(argument)
            self._take(pictures, base)
        else:
            raise PictureError(_about_missing(argument))

    def _add_path(self, path: Path) -> None:
        if is_folder(path):
            self._take(self._folders.in_folder(path), path)
        else:
            self._take([path], path.parent)

    def _add_list(self, path: Path) -> None:
        for number, name in _read_list(path):
            self._origin = f" (line {number} of {path}, where names count from the current folder)"
            self.add(name)
        self._origin = ""

    def _take(self, paths: Sequence[Path], base: Path) -> None:
        for path in paths:
            self._sources.setdefault(os.path.realpath(path), _Source(str(path), path, None, _file_place(path, base)))


def _about_missing(argument: str) -> str:
    if not argument:
        return "an input has an empty name; expected a picture, a folder, a URL or -"
    if argument.startswith("@"):
        return f"{argument}: no such file, and a list cannot name another list"
    try:
        Path(argument).stat()
    except PermissionError as error:
        return f"{argument}: cannot be read: {error.strerror}"
    except (OSError, ValueError):
        pass
    return f"{argument}: no such file"


def _read_list(path: Path) -> list[tuple[int, str]]:
    """Line number and content of every line that names an input. Bytes that are no UTF-8 are those of file names.

    Raises:
        PictureError: it cannot be read, is no text, or names nothing.
    """
    try:
        content = path.read_bytes()
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "no such file"
        raise PictureError(f"{path}: the list of inputs cannot be read: {reason}") from error
    if b"\0" in content:
        raise PictureError(f"{path}: is no list of inputs: expected text in UTF-8, one input a line")
    lines = content.decode("utf-8-sig", errors="surrogateescape").split("\n")
    names = [(number, line.strip()) for number, line in enumerate(lines, start=1)]
    named = [(number, name) for number, name in names if name and not name.startswith("#")]
    if not named:
        raise PictureError(f"{path}: the list of inputs names none")
    return named


def _file_place(path: Path, base: Path) -> Place:
    """Where a file lies; the folders between `base` and the file belong to its key."""
    full, full_base = (Path(os.path.normpath(p.absolute())) for p in (path, base))
    num_kept = len(full.relative_to(full_base).parts) - 1 if full.is_relative_to(full_base) else 0
    return Place(str(full), full.parts[1:-1], full.stem, full.suffix, num_kept)


def _url_source(url: str) -> _Source:
    """Its name is the last part of the address, without what follows a question mark.

    Raises:
        PictureError: not an http or https address.
    """
    parts = split_url(url)
    host = parts.netloc.rpartition("@")[2]
    names = [host, *(unquote(part) for part in parts.path.split("/") if part)]
    last = PurePosixPath(names[-1].replace("/", "_")) if len(names) > 1 else None
    stem, suffix = (last.stem, last.suffix) if last else (host, "")
    place = Place(url.partition("#")[0], tuple(names[:-1]), stem, suffix)
    return _Source(shown_url(url), None, url, place)
