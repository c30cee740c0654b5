"""Text files that people and tools have written, and how they begin."""

from pathlib import Path

from ssd_detect.datasets.rules import ProblemLog
from ssd_detect.formats.file_reading import read_regular
from ssd_detect.formats.xml_text import decoded


def head_of(path: Path, most: int) -> bytes:
    """The first bytes of a file; none of what is no file, such as a broken link or a pipe.

    Raises:
        PermissionError: it may not be read, so that nobody can tell what it is.
    """
    try:
        return read_regular(path, most)
    except PermissionError:
        raise
    except OSError:
        return b""


def read_text(path: Path, log: ProblemLog) -> str:
    """The text of a file, without a mark of byte order; a guess at its encoding is a problem.

    Raises:
        OSError: as `read_regular`.
    """
    return decoded(read_regular(path), lambda text: log.add("encoding", path, text))
