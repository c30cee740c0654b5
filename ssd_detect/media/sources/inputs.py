"""From the command line's arguments to pictures or videos.

Imports nothing heavy: what is wrong here is said at once.

An argument is, in this order: `-` (standard input), a URL, a file or folder of exactly that name, `@LIST` (a file that
holds one argument a line), or a glob that the shell has left alone. `./` in front makes a file name of anything.
"""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path, PurePosixPath
from urllib.parse import unquote

from ssd_detect.errors import PictureError, SsdDetectError
from ssd_detect.media.sources.folders import PICTURES, FolderSearch, Medium, exists, is_folder, is_glob
from ssd_detect.media.sources.keys import Place, unique_keys
from ssd_detect.media.sources.urls import WEB_SCHEMES, is_url, shown_url, split_url, without_secrets

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
    search = ArgumentSearch(recursive, PICTURES, _picture_source)
    for argument in arguments:
        search.add(argument)
    inputs = (PictureInput(source.name, source.path, source.url, key) for source, key in search.keyed_sources())
    return FoundInputs(tuple(inputs), search.num_skipped, search.errors)


class SourceKind(Enum):
    """What an argument leads to; the last two only where videos are looked for."""

    FILE = "file"
    URL = "address"
    STDIN = "standard input"
    CAMERA = "camera"
    SEQUENCE = "numbered pictures"


@dataclass(frozen=True)
class Source:
    """An input that has no key yet; the fields are as in the inputs that are made from it."""

    kind: SourceKind
    name: str
    place: Place
    path: Path | None = None
    url: str | None = None


class ArgumentSearch:
    """What the arguments have brought so far.

    Args:
        recursive: of folders, read their sub-folders too.
        medium: what is looked for, in folders and behind globs; its error is the class of all errors.
        source_of: what an argument stands for that is not to be looked up among the files, or None; it may raise.
    """

    def __init__(self, recursive: bool, medium: Medium, source_of: Callable[[str], Source | None]) -> None:
        self._folders = FolderSearch(recursive, self._fail, medium)
        self._medium = medium
        self._source_of = source_of
        self._sources: dict[str, Source] = {}  # by what makes each one unique
        self._errors: dict[str, SsdDetectError] = {}  # by message
        self._origin = ""  # said behind errors while a list is read

    @property
    def num_skipped(self) -> int:
        """Files in folders and behind globs that are hidden or not wanted, each once."""
        return self._folders.num_skipped

    @property
    def errors(self) -> tuple[SsdDetectError, ...]:
        """What could not be found, each once."""
        return tuple(self._errors.values())

    def keyed_sources(self) -> list[tuple[Source, PurePosixPath]]:
        """Every source with its key, in the order in which they were found."""
        sources = list(self._sources.values())
        return list(zip(sources, unique_keys([source.place for source in sources]), strict=True))

    def add(self, argument: str) -> None:
        """Find what an argument names, or note why it cannot be found."""
        try:
            self._add(argument)
        except SsdDetectError as error:
            self._fail(error)

    def _fail(self, error: SsdDetectError) -> None:
        message = f"{error}{self._origin}"
        self._errors.setdefault(message, self._medium.error(message))

    def _add(self, argument: str) -> None:
        if source := self._source_of(argument):
            self._sources.setdefault(source.place.full_name, source)
        elif argument and exists(Path(argument)):
            self._add_path(Path(argument))
        elif argument.startswith("@") and not self._origin:
            self._add_list(Path(argument[1:]))
        elif is_glob(argument):
            base, files = self._folders.by_glob(argument)
            self._take(files, base)
        else:
            raise self._medium.error(_about_missing(argument, self._medium))

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
            source = Source(SourceKind.FILE, str(path), _file_place(path, base), path)
            self._sources.setdefault(os.path.realpath(path), source)


def stream_source(argument: str, schemes: Sequence[str]) -> Source | None:
    """Standard input or an address of one of these schemes; None for anything else.

    Raises:
        PictureError: an address of another scheme, or one that makes no sense.
    """
    if argument == STDIN:
        return Source(SourceKind.STDIN, STDIN, Place(STDIN, (), "stdin"))
    return _url_source(argument, schemes) if is_url(argument) else None


def _picture_source(argument: str) -> Source | None:
    return stream_source(argument, WEB_SCHEMES)


def _about_missing(argument: str, medium: Medium) -> str:
    if not argument:
        return f"an input has an empty name; expected a {medium.noun}, a folder, a URL or -"
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


def _url_source(url: str, schemes: Sequence[str]) -> Source:
    """Its place tells no secrets, and its name is the last part of the address, without what follows a question mark.

    Raises:
        PictureError: another scheme, or no address.
    """
    parts = split_url(without_secrets(url), schemes)
    host = parts.netloc
    names = [host, *(unquote(part) for part in parts.path.split("/") if part)]
    last = PurePosixPath(names[-1].replace("/", "_")) if len(names) > 1 else None
    stem, suffix = (last.stem, last.suffix) if last else (host, "")
    place = Place(url.partition("#")[0], tuple(names[:-1]), stem, suffix)
    return Source(SourceKind.URL, shown_url(url), place, url=url)
