"""Finding and opening files of results, with one clear error for what is wrong with them."""

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath

from ssd_detect.errors import FormatError
from ssd_detect.filetypes import other_than_file


@contextmanager
def explained_reading(place: object) -> Iterator[None]:
    """Turn what is wrong with a file, inside the block, into one error that begins with `place`.

    Raises:
        FormatError: for any OSError or ValueError.
    """
    try:
        yield
    except OSError as error:
        raise FormatError(f"{place}: cannot be read: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise FormatError(f"{place}: is not UTF-8 text (byte {error.start})") from error
    except ValueError as error:
        raise FormatError(f"{place}: {error}") from error


def read_regular(path: Path, most: int = -1) -> bytes:
    """The first `most` bytes of a regular file, or all.

    Raises:
        OSError: it cannot be read, or is a pipe or device, whose reading may never end.
    """
    if other := other_than_file(path):
        raise OSError(errno.EINVAL, f"is a {other}, expected a file", str(path))
    with path.open("rb") as file:
        return file.read(most)


def own_files(folder: Path, suffix: str) -> list[tuple[PurePosixPath, Path]]:
    """Key and path of each file `<key><suffix>` below `folder`, sorted; not what an interrupted run left behind.

    Raises:
        FormatError: `folder` is no folder.
    """
    if not folder.is_dir():
        raise FormatError(f"{folder}: no such folder")
    paths = [p for p in folder.rglob(f"*{suffix}") if p.is_file() and not _is_temporary(p, suffix)]
    return sorted((_key(p, folder, suffix), p) for p in paths)


def _is_temporary(path: Path, suffix: str) -> bool:
    """Whether the name is one that `files.whole_file` gives to what is not yet whole: `.NAME.8 hex digits.SUFFIX`."""
    stem, _, token = path.name.removesuffix(suffix).rpartition(".")
    return stem.startswith(".") and len(token) == 8 and set(token) <= set("0123456789abcdef")


def _key(path: Path, folder: Path, suffix: str) -> PurePosixPath:
    return PurePosixPath(path.relative_to(folder).as_posix().removesuffix(suffix))
