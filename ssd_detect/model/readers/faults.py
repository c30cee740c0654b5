"""What goes wrong inside a file, and the one line that a person gets to read about it."""

from collections.abc import Iterator
from contextlib import contextmanager
from io import BufferedReader
from pathlib import Path

from ssd_detect.errors import CheckpointError


class DamagedError(ValueError):
    """The content contradicts its own format; the text says in which way."""


class RefusedError(ValueError):
    """The content is whole, but not for us; the text says what it is and what to do."""


@contextmanager
def explained(path: Path, *library_errors: type[Exception]) -> Iterator[None]:
    """Turn what the block, or a library in it, finds wrong with the file into an error that names the file.

    Raises:
        CheckpointError: for `DamagedError`, `RefusedError`, OSError, MemoryError, and for `library_errors`, which are
            what a library says of damage.
    """
    damage: tuple[type[Exception], ...] = (DamagedError, MemoryError, *library_errors)
    try:
        yield
    except RefusedError as error:
        raise CheckpointError(f"{path}: {error}") from error
    except damage as error:
        reason = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise CheckpointError(
            f"{path}: damaged or no checkpoint at all ({reason}); copy or download it again"
        ) from error
    except OSError as error:
        raise CheckpointError(f"{path}: cannot read the checkpoint: {error.strerror or error}") from error


@contextmanager
def opened(path: Path) -> Iterator[BufferedReader]:
    """The file, open for reading; only what opening it raises is turned into an error that names it.

    Raises:
        CheckpointError: it cannot be opened.
    """
    with explained(path):
        file = path.open("rb")
    with file:
        yield file
