"""Sorted tables of keys and values, in which TensorFlow keeps its checkpoints.

Source: LevelDB's `table_format.md`; TensorFlow's `core/lib/io/table*` are a copy of it. A table is a file of blocks,
each with a byte for its compression and a CRC-32C behind it; the footer says where the index is, whose values say where
the blocks of data are. In a block each key is stored as what differs from the key before.
"""

from bisect import bisect_left
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, NamedTuple

from ssd_detect.model.readers.crc32c import crc32c, unmasked
from ssd_detect.model.readers.faults import DamagedError
from ssd_detect.model.readers.protos import varint
from ssd_detect.model.readers.sniff import TABLE_MAGIC

FOOTER_BYTES = 48
_TRAILER_BYTES = 5  # compression, checksum
_MOST_KEY_BYTES = 1 << 23  # of all keys that are read; a network's names take some thousand
_COMPRESSIONS = {1: "Snappy"}


class _Handle(NamedTuple):
    """Where a block lies."""

    offset: int
    size: int


class Table:
    """An open table.

    Args:
        file: open for reading; stays open as long as the table is used.
        path: of the file; for messages.

    Raises:
        DamagedError: no table, or a damaged one.
    """

    def __init__(self, file: BinaryIO, path: Path) -> None:
        self._file, self._file_bytes = file, path.stat().st_size
        self._key_bytes = 0
        index = self._block(self._footer())
        self._last_keys: list[bytes] = []
        self._handles: list[_Handle] = []
        for key, value in self._entries(index):
            self._last_keys.append(key)
            self._handles.append(_handle(value, 0)[0])
        self._kept: tuple[_Handle, memoryview] | None = None

    def items(self) -> Iterator[tuple[bytes, memoryview]]:
        """Every key and its value, in order.

        Raises:
            DamagedError: a damaged block.
        """
        for handle in self._handles:
            yield from self._entries(self._block(handle))

    def get(self, key: bytes) -> memoryview:
        """The value of one key; only its block is read.

        Raises:
            DamagedError: no such key, or a damaged block.
        """
        place = bisect_left(self._last_keys, key)
        if place < len(self._handles):
            for found, value in self._entries(self._data_block(self._handles[place])):
                if found == key:
                    return value
        raise DamagedError("an entry of its table of contents is missing")

    def _data_block(self, handle: _Handle) -> memoryview:
        """One block is kept: small tensors share theirs."""
        if self._kept is None or self._kept[0] != handle:
            self._kept = None  # the old one goes before the new one comes
            self._kept = handle, self._block(handle)
        return self._kept[1]

    def _footer(self) -> _Handle:
        if self._file_bytes < FOOTER_BYTES:
            raise DamagedError("too short for a table")
        self._file.seek(self._file_bytes - FOOTER_BYTES)
        footer = self._file.read(FOOTER_BYTES)
        if not footer.endswith(TABLE_MAGIC):
            raise DamagedError("not an sstable: it does not end as one, perhaps it was cut off")
        _, after = _handle(memoryview(footer), 0)  # the meta index, in which TensorFlow puts nothing
        return _handle(memoryview(footer), after)[0]

    def _block(self, handle: _Handle) -> memoryview:
        end = handle.offset + handle.size + _TRAILER_BYTES
        if end > self._file_bytes:
            raise DamagedError("a block that goes beyond the end")
        self._file.seek(handle.offset)
        stored = memoryview(self._file.read(handle.size + _TRAILER_BYTES))
        if len(stored) != handle.size + _TRAILER_BYTES:
            raise DamagedError("a block that goes beyond the end")
        compression = stored[handle.size]
        if crc32c(stored[:-4]) != unmasked(int.from_bytes(stored[-4:], "little")):
            raise DamagedError("a block with a wrong checksum")
        if compression:
            name = _COMPRESSIONS.get(compression, f"method {compression}")
            raise DamagedError(f"a block compressed by {name}, expected none, as TensorFlow writes them")
        return stored[: handle.size]

    def _entries(self, block: memoryview) -> Iterator[tuple[bytes, memoryview]]:
        end = _entries_end(block)
        position, key = 0, b""
        while position < end:
            shared, position = varint(block, position)
            own, position = varint(block, position)
            size, position = varint(block, position)
            if shared > len(key) or own + size > end - position:
                raise DamagedError("an entry that goes beyond its block")
            key = key[:shared] + bytes(block[position : position + own])
            self._count(key)
            position += own
            yield key, block[position : position + size]
            position += size

    def _count(self, key: bytes) -> None:
        """An entry that repeats the key before costs the file three bytes, and us the whole key."""
        self._key_bytes += len(key) + 1
        if self._key_bytes > _MOST_KEY_BYTES:
            raise DamagedError("more than 8 MB of names")


def _handle(data: memoryview, start: int) -> tuple[_Handle, int]:
    offset, start = varint(data, start)
    size, start = varint(data, start)
    return _Handle(offset, size), start


def _entries_end(block: memoryview) -> int:
    """Behind the entries come the places where whole keys stand, four bytes each, and how many of those there are."""
    if len(block) < 4:
        raise DamagedError("a block without an end")
    end = len(block) - 4 - 4 * int.from_bytes(block[-4:], "little")
    if end < 0:
        raise DamagedError("a block without an end")
    return end
