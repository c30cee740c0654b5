"""Hashes of files, by which checkpoints are known."""

import hashlib
from collections.abc import Iterable
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
        _feed(digest, path)
    return digest.hexdigest()


def git_blob_of(path: Path) -> str:
    """The id under which git keeps a file: SHA-1 of a header with its size, and its content.

    SHA-1 no longer withstands somebody who makes two files for one hash; it withstands one who needs a file for a
    given hash, which is what a changed download is.

    Source: Pro Git, 10.2, "Object Storage".

    Raises:
        CheckpointError: it cannot be read.
    """
    try:
        digest = hashlib.sha1(b"blob %d\0" % path.stat().st_size, usedforsecurity=False)
    except OSError as error:
        raise _unreadable(path, error) from error
    _feed(digest, path)
    return digest.hexdigest()


def _feed(digest: "hashlib._Hash", path: Path) -> None:
    try:
        with path.open("rb") as file:
            while block := file.read(_BLOCK_BYTES):
                digest.update(block)
    except OSError as error:
        raise _unreadable(path, error) from error


def _unreadable(path: Path, error: OSError) -> CheckpointError:
    return CheckpointError(f"{path}: cannot read the checkpoint: {error.strerror or error}")
