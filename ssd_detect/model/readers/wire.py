"""The frame of a protobuf message: where its fields lie, found without reading or copying what is in them.

Source: the encoding as described at protobuf.dev.
"""

import mmap
from collections.abc import Iterator
from typing import NamedTuple

from ssd_detect.model.readers.faults import DamagedError

_FIXED_SIZES = {1: 8, 5: 4}


class Field(NamedTuple):
    """Field `number` of a message: its value, without tag and length, is `start` to `end`.

    `kind` is the wire type: 0 a varint, 1 eight bytes, 2 bytes of a told length (texts, messages, packed numbers),
    5 four bytes.
    """

    number: int
    kind: int
    start: int
    end: int


def fields(data: bytes | mmap.mmap, start: int, end: int, most: int) -> Iterator[Field]:
    """The fields of the message from `start` to `end`, in their order, none of which reaches beyond it.

    Raises:
        DamagedError: this is no message, or one of more than `most` fields.
    """
    for _ in range(most):
        if start == end:
            return
        tag, start = _varint(data, start, end)
        number, kind = tag >> 3, tag & 7
        if kind == 0:
            size = _varint(data, start, end)[1] - start
        elif kind == 2:
            size, start = _varint(data, start, end)
        else:
            size = _FIXED_SIZES.get(kind, end)  # the groups of old messages are no part of any that we read
        if number == 0 or size > end - start:
            raise DamagedError(f"a field of {size:,} bytes, where {end - start:,} are left")
        yield Field(number, kind, start, start + size)
        start += size
    if start != end:
        raise DamagedError(f"a message of more than {most:,} fields")


def _varint(data: bytes | mmap.mmap, at: int, end: int) -> tuple[int, int]:
    """A whole number, seven bits a byte, the lowest first; and where it ends."""
    value = 0
    for i in range(10):
        if at + i >= end:
            raise DamagedError("a number that goes on beyond the end")
        byte = data[at + i]
        value |= (byte & 0x7F) << (7 * i)
        if byte < 0x80:
            return value, at + i + 1
    raise DamagedError("a number of more than ten bytes")
