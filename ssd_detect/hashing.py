"""Hashes of files, by which checkpoints are known."""

import hashlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from ssd_detect.errors import CheckpointError

_BLOCK_BYTES = 1 << 20


def sha256_of(files: Iterable[Path]) -> str:
    """SHA-256 of files, one after the other, in hexadecimal digits.

    Raises:
        CheckpointError: one cannot be read.
    """
    digest = hashlib.sha256()
    for path in files:
        with _explained(path):
            feed(digest, path)
    return digest.hexdigest()


def git_blob_of(path: Path) -> str:
    """The id under which git keeps a file: SHA-1 of a header with its size, and its content.

    SHA-1 no longer withstands somebody who makes two files for one hash; it withstands one who needs a file for a
    given hash, which is what a changed download is.

    Source: Pro Git, 10.2, "Object Storage".

    Raises:
        CheckpointError: it cannot be read.
    """
    with _explained(path):
        digest = hashlib.sha1(b"blob %d\0" % path.stat().st_size, usedforsecurity=False)
        feed(digest, path)
    return digest.hexdigest()


def feed(digest: "hashlib._Hash", path: Path) -> int:
    """Hash all of a file, and return how many bytes it has.

    Raises:
        OSError: it cannot be read.
    """
    with path.open("rb") as file:
        while block := file.read(_BLOCK_BYTES):
            digest.update(block)
        return file.tell()


@contextmanager
def _explained(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise CheckpointError(f"{path}: cannot read the checkpoint: {error.strerror or error}") from error
