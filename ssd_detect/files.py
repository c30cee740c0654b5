"""Writing files so that one under its final name is always whole."""

import glob
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from ssd_detect.errors import OutputError


def check_target(target: Path, source: Path | None = None, *, overwrite: bool) -> None:
    """Find out before the work begins whether `target` may be written.

    Raises:
        OutputError: it is a folder, is the source itself, exists and must not be overwritten, or has no place to be.
    """
    if target.is_dir():
        raise OutputError(f"{target}: is a folder, expected the name of a file to write")
    if source is not None and target.exists() and source.exists() and target.samefile(source):
        raise OutputError(f"{target}: is the input itself; name another output")
    if target.exists() and not target.is_file():
        raise OutputError(f"{target}: is a device or pipe, expected the name of a file to write")
    if target.exists() and not overwrite:
        raise OutputError(f"{target}: exists already; name another output or use --overwrite")
    place = next((p for p in target.absolute().parents if p.exists()), None)
    if place is None or not place.is_dir():
        raise OutputError(f"{target}: cannot be written: {place} is no folder")
    if not os.access(place, os.W_OK):
        raise OutputError(f"{target}: cannot be written: no permission to write in {place}")


@contextmanager
def whole_file(target: Path, *, overwrite: bool) -> Iterator[Path]:
    """A temporary name beside `target`, of the same suffix, that becomes `target` when the block ends well.

    Missing folders are made. When the block raises, the temporary file goes and `target` stays as it was. The block
    itself should write inside `explained_writing`.

    Raises:
        OutputError: as `check_target`, or the system refuses to make the folder or to give the file its name.
    """
    check_target(target, overwrite=overwrite)
    with scratch_file(target) as temporary:
        yield temporary
        give_name(temporary, target, overwrite=overwrite)


@contextmanager
def scratch_file(place: Path) -> Iterator[Path]:
    """A temporary name beside `place`, of the same suffix, for a file that goes with the block.

    Missing folders are made. `remove_leftovers` knows such files of runs that were killed.

    Raises:
        OutputError: the system refuses to make the folder.
    """
    temporary = place.with_name(f".{shortened(place.stem)}.{secrets.token_hex(4)}{place.suffix}")
    try:
        with explained_writing(place):
            place.parent.mkdir(parents=True, exist_ok=True)
        yield temporary
    finally:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)


def give_name(temporary: Path, target: Path, *, overwrite: bool) -> None:
    """Let a whole file, on the same file system, become `target`.

    Raises:
        OutputError: as `check_target`, since somebody may have written there meanwhile; the system refuses.
    """
    check_target(target, overwrite=overwrite)
    with explained_writing(target):
        temporary.replace(target)


@contextmanager
def explained_writing(target: Path) -> Iterator[None]:
    """Turn the system's refusal to write, inside the block, into an error that names `target`.

    Raises:
        OutputError: for any OSError.
    """
    try:
        yield
    except OSError as error:
        raise OutputError(f"{target}: cannot be written: {error.strerror or error}") from error


def file_stamp(path: Path | None) -> str:
    """Changes when the file does, but not with its name; empty for what is no file."""
    if path is None or not path.is_file():
        return ""
    state = path.stat()
    return f"{state.st_size}-{state.st_mtime_ns}"


def remove_leftovers(target: Path) -> None:
    """Remove temporary files that a killed run left beside `target`."""
    pattern = f".{glob.escape(shortened(target.stem))}.{'[0-9a-f]' * 8}{glob.escape(target.suffix)}"
    for path in target.parent.glob(pattern) if target.parent.is_dir() else ():
        with suppress(OSError):
            path.unlink()


def shortened(stem: str) -> str:
    """At most 80 bytes of a name, so that one made of it is not too long for the file system."""
    return os.fsencode(stem)[:80].decode(errors="ignore")
