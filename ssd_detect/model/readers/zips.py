"""Zip archives from anywhere, within bounds."""

import zipfile
import zlib
from typing import BinaryIO

from ssd_detect.model.readers.faults import DamagedError, RefusedError

ZIP_ERRORS: tuple[type[Exception], ...] = (
    zipfile.BadZipFile,
    zlib.error,
    NotImplementedError,  # a kind of zip that Python does not know
    RuntimeError,  # encrypted
    EOFError,
    KeyError,  # no such member
    ValueError,
    OverflowError,
)
"""What `zipfile` raises for archives that are damaged."""

_MAX_DIRECTORY_BYTES = 4 * 2**20


class _BoundedReads:
    """A file of which no more than `most` bytes are read at once.

    `zipfile` reads an archive's directory at once and makes some 600 bytes of objects out of each 46 of it.
    """

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self.most = _MAX_DIRECTORY_BYTES

    def read(self, count: int = -1, /) -> bytes:
        data = self._file.read(self.most + 1 if count < 0 else min(count, self.most + 1))
        if len(data) > self.most:
            raise DamagedError(f"a zip whose directory has more than {self.most:,} bytes")
        return data

    def seek(self, offset: int, whence: int = 0, /) -> int:
        if whence == 0 and offset < 0:
            raise DamagedError("a zip whose members begin before it does")
        return self._file.seek(offset, whence)

    def tell(self) -> int:
        return self._file.tell()

    def seekable(self) -> bool:
        return True

    def close(self) -> None:
        """Leaves the file to its owner."""


def open_zip(file: BinaryIO) -> zipfile.ZipFile:
    """The archive in an open file, whose size bounds what its directory may cost.

    Raises:
        DamagedError: a directory of more than 4 MiB.
        Exception: one of `ZIP_ERRORS`.
    """
    bounded = _BoundedReads(file)
    archive = zipfile.ZipFile(bounded)
    bounded.most = file.seek(0, 2)
    return archive


def read_member(archive: zipfile.ZipFile, name: str, most: int) -> bytes:
    """A member, whole, of at most `most` bytes; raises as `stored_member`."""
    return archive.read(stored_member(archive, name, most))


def stored_member(archive: zipfile.ZipFile, name: str, most: int) -> zipfile.ZipInfo:
    """A member that was stored as it is, so that nothing grows while it is read, of at most `most` bytes.

    Raises:
        RefusedError: the member is compressed, as neither PyTorch nor Keras 3 does.
        DamagedError: it has more bytes.
        Exception: one of `ZIP_ERRORS`.
    """
    member = archive.getinfo(name)
    if member.compress_type != zipfile.ZIP_STORED or member.compress_size != member.file_size:
        raise RefusedError(f"a zip whose member {name[:100]} is compressed, expected none to be; save it again")
    if member.file_size > most:
        raise DamagedError(f"member {name[:100]} has {member.file_size:,} bytes, expected at most {most:,}")
    return member
