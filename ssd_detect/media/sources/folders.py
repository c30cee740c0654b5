"""Pictures or videos in folders and behind globs: sorted, each folder once, everything else counted."""

import fnmatch
import os
import re
import stat
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from ssd_detect.errors import PictureError, SsdDetectError
from ssd_detect.media.decoding.kinds import HEAD_BYTES
from ssd_detect.media.sources.signatures import is_picture_content, is_picture_suffix


@dataclass(frozen=True)
class Medium:
    """What a search looks for.

    Args:
        noun: what one of it is called.
        error: class of the errors about it.
        is_suffix: whether a suffix (with its dot, in any letter case) promises one.
        is_content: whether a file that begins with these bytes (`kinds.HEAD_BYTES` of it) is one; None when only the
            suffix counts.
    """

    noun: str
    error: type[SsdDetectError]
    is_suffix: Callable[[str], bool]
    is_content: Callable[[bytes], bool] | None = None


PICTURES = Medium("picture", PictureError, is_picture_suffix, is_picture_content)


class FolderSearch:
    """Finds pictures or videos in folders and by globs.

    A file is wanted when its content or its suffix says so: a damaged one is to be reported, not passed over. Hidden
    files and folders (`.name`) are passed over, unless a glob's part begins with a dot. Links are followed; of a folder
    tree each folder is read once.

    Args:
        recursive: read sub-folders too.
        on_error: told of each sub-folder that cannot be read; the search goes on.
        medium: what is wanted; its error is what the methods raise.
    """

    def __init__(self, recursive: bool, on_error: Callable[[SsdDetectError], None], medium: Medium) -> None:
        self._recursive = recursive
        self._on_error = on_error
        self._medium = medium
        self._skipped: set[str] = set()

    @property
    def num_skipped(self) -> int:
        """Files seen so far that are hidden or not wanted, each once."""
        return len(self._skipped)

    def in_folder(self, folder: Path) -> list[Path]:
        """The files in a folder that are wanted.

        Raises:
            SsdDetectError: there is none.
        """
        if files := self._files_in(folder):
            return files
        entries = self._listed(folder)
        if not entries:
            raise self._medium.error(f"{folder}: is an empty folder, expected {self._medium.noun}s in it")
        below = not self._recursive and any(_is_open_folder(entry) for entry in entries)
        hint = "; use --recursive to read its sub-folders too" if below else ""
        raise self._medium.error(f"{folder}: holds no {self._medium.noun}s{hint}")

    def by_glob(self, pattern: str) -> tuple[Path, list[Path]]:
        """The folder in front of the first wildcard, and the files that match; folders stand for what is in them.

        `*`, `?` and `[...]` are as in a shell; a part that is `**` is any number of folders, also none.

        Raises:
            SsdDetectError: nothing matches, or nothing that is wanted.
        """
        parts = Path(pattern).parts
        first = next(i for i, part in enumerate(parts) if is_glob(part))
        base = Path(*parts[:first])
        matches = set(self._expand(base, parts[first:]))
        files = {file for match in matches for file in self._files_at(match)}
        if not files:
            raise self._medium.error(f"{pattern}: matches no {f'{self._medium.noun}s' if matches else 'file'}")
        return base, sorted(files, key=_by_parts)

    def _files_at(self, match: Path) -> list[Path]:
        if is_folder(match):
            return self._files_in(match)
        return [match] if self._is_wanted(match) else []

    def _files_in(self, folder: Path) -> list[Path]:
        folders = self._walk(folder) if self._recursive else [folder]
        files = [entry for each in folders for entry in self._entries(each) if not is_folder(entry)]
        return sorted((f for f in files if self._is_wanted(f, hidden=f.name.startswith("."))), key=_by_parts)

    def _is_wanted(self, file: Path, *, hidden: bool = False) -> bool:
        if not hidden and _is_of(self._medium, file):
            return True
        self._skipped.add(os.path.realpath(file))
        return False

    def _walk(self, top: Path) -> Iterator[Path]:
        """`top` and the folders below it that are not hidden, each once even where links form loops."""
        seen = set()
        waiting = [top]
        while waiting:
            folder = waiting.pop()
            if (real := os.path.realpath(folder)) not in seen:
                seen.add(real)
                yield folder
                waiting += reversed([entry for entry in self._entries(folder) if _is_open_folder(entry)])

    def _expand(self, folder: Path, parts: tuple[str, ...]) -> Iterator[Path]:
        """What matches `parts`, the names and wildcards of a glob, below `folder`."""
        if not parts:
            yield folder
        elif is_folder(folder):
            for entry in self._matching(folder, parts[0]):
                yield from self._expand(entry, parts[1:])

    def _matching(self, folder: Path, part: str) -> Iterable[Path]:
        if part == "**":
            return self._walk(folder)
        if is_glob(part):
            return [entry for entry in self._entries(folder) if _matches(entry.name, part)]
        return [folder / part] if exists(folder / part) else []

    def _entries(self, folder: Path) -> list[Path]:
        try:
            return self._listed(folder)
        except SsdDetectError as error:
            self._on_error(error)
            return []

    def _listed(self, folder: Path) -> list[Path]:
        try:
            return sorted(folder.iterdir())
        except OSError as error:
            raise self._medium.error(f"{folder}: cannot be read: {error.strerror or error}") from error


def is_glob(text: str) -> bool:
    """Whether `text` holds a wildcard."""
    return re.search(r"[*?[]", text) is not None


def exists(path: Path) -> bool:
    """Whether `path` leads to something that can be reached; a broken link does not."""
    return _mode(path) is not None


def is_folder(path: Path) -> bool:
    """Whether `path` leads to a folder, also through links."""
    mode = _mode(path)
    return mode is not None and stat.S_ISDIR(mode)


def _is_open_folder(path: Path) -> bool:
    return not path.name.startswith(".") and is_folder(path)


def _is_of(medium: Medium, path: Path) -> bool:
    """By suffix or content. A pipe or device is none: reading it might never end."""
    mode = _mode(path)
    if mode is not None and not stat.S_ISREG(mode):
        return False
    if medium.is_suffix(path.suffix):
        return True
    if medium.is_content is None:
        return False
    try:
        with path.open("rb") as file:
            return medium.is_content(file.read(HEAD_BYTES))
    except OSError:
        return False


def _mode(path: Path) -> int | None:
    """Kind and permissions of what `path` leads to; None when nothing can be reached there."""
    try:
        return path.stat().st_mode
    except (OSError, ValueError):  # ValueError: a name that no system can take
        return None


def _matches(name: str, pattern: str) -> bool:
    """As in a shell: letter case counts where the system says so, and hidden names need a dot in the pattern."""
    return fnmatch.fnmatch(name, pattern) and (pattern.startswith(".") or not name.startswith("."))


def _by_parts(path: Path) -> tuple[str, ...]:
    return path.parts
