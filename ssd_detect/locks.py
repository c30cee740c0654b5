"""Keeping two runs from writing into one place."""

import hashlib
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from ssd_detect.errors import OutputError

_PAUSE_SECONDS = 0.1  # between two tries to get a lock


@contextmanager
def held_alone(place: Path, *, folder: Path | None = None, on_wait: Callable[[], None] | None = None) -> Iterator[None]:
    """Within the block, nobody else of this user on this computer is in such a block for the same place.

    The lock is a file. The system lets go of it when the process ends, however that comes about.

    Args:
        place: need not exist.
        folder: where the lock's file lies; None: among the system's temporary ones, which two processes need not
            share. A folder that several computers share keeps them apart too, where its file system knows locks.
        on_wait: called once when another one is in such a block; then its end is waited for. None: it is an error.

    Raises:
        OutputError: another one is, or there is no place for the lock.
    """
    name = hashlib.sha256(os.fsencode(place.resolve())).hexdigest()[:24]
    path = (folder or Path(tempfile.gettempdir())) / f"ssd-detect-{name}.lock"
    file = _locked(path)
    if file is None and on_wait is not None:
        on_wait()
        file = _waited_for(path)
    if file is None:
        raise OutputError(f"{place}: another run is writing it; wait for its end, or name another output")
    try:
        yield
    finally:
        with suppress(OSError):  # Windows lets nobody remove what is open
            path.unlink()
        os.close(file)


def _waited_for(path: Path) -> int:
    while (file := _locked(path)) is None:
        time.sleep(_PAUSE_SECONDS)
    return file


def _locked(path: Path) -> int | None:
    """The file, open and locked; None if somebody else holds it."""
    try:
        file = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as error:
        raise OutputError(f"{path}: cannot be written: {error.strerror or error}") from error
    try:
        _lock(file)
        if os.path.samestat(os.fstat(file), path.stat()):  # else its holder has just removed it
            return file
    except (BlockingIOError, PermissionError, FileNotFoundError):  # held, held on Windows, just removed
        pass
    except OSError as error:  # else one would wait for ever
        os.close(file)
        reason = error.strerror or error
        raise OutputError(f"{path}: cannot be locked, as its file system may not know locks: {reason}") from error
    os.close(file)
    return None


def _lock(file: int) -> None:
    if sys.platform == "win32":
        import msvcrt

        msvcrt.locking(file, msvcrt.LK_NBLCK, 1)
    else:
        import fcntl

        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
