"""What readers raise among themselves, and how that becomes the one line that a user sees."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ssd_detect.errors import CheckpointError


class DamagedError(Exception):
    """What was read is not what it should be, in half a sentence, for a reader that knows the file's name."""


@contextmanager
def explained_reading(path: Path) -> Iterator[None]:
    """Turn what goes wrong inside the block into an error that names the file.

    Raises:
        CheckpointError: for `DamagedError`, and when the system refuses to read.
    """
    try:
        yield
    except DamagedError as error:
        raise CheckpointError(
            f"{path}: damaged or no checkpoint at all ({error}); copy or download it again"
        ) from error
    except OSError as error:
        raise CheckpointError(f"{path}: cannot read the checkpoint: {error.strerror or error}") from error
