"""The wire format of protocol buffers, as much of it as checkpoints need: fields, one after the other.

Source: protobuf.dev, "Encoding". Messages stay where they are, in memory or in a mapped file, and are walked through:
nothing is copied, nothing is built that a hostile file could make large, and nothing calls itself.
"""

import mmap
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple, TypeAlias

from ssd_detect.model.readers.faults import DamagedError

_MOST_FIELDS = 1_000_000  # of one message; an SSD's graph, with its gradients, has some ten thousand nodes
_FIXED = {1: 8, 5: 4}
_VARINT, _BYTES = 0, 2

_Bytes: TypeAlias = bytes | memoryview | mmap.mmap


class Field(NamedTuple):
    """Where a field of a message is: its content, without number and length, is `start` to `end`.

    `kind` is the wire type: 0 a varint, 1 eight bytes, 2 bytes of a told length (texts, messages, packed numbers),
    5 four bytes.
    """

    number: int
    kind: int
    start: int
    end: int


def mapped(path: Path) -> memoryview:
    """The bytes of a file, which the system reads where they are looked at; the file closes with the last view of it.

    Raises:
        DamagedError: the file is empty.
        OSError: it cannot be read.
    """
    with path.open("rb") as file:
        try:
            return memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
        except ValueError as error:
            raise DamagedError("an empty file") from error


def varint(data: _Bytes, start: int, end: int | None = None) -> tuple[int, int]:
    """An unsigned number of 64 bits at most, and where the next byte is.

    Raises:
        DamagedError: it goes beyond `end`, or on for more than ten bytes.
    """
    value = 0
    for i, byte in enumerate(data[start : start + 10 if end is None else min(start + 10, end)]):
        value |= (byte & 0x7F) << 7 * i
        if byte < 0x80:
            return value & 0xFFFFFFFFFFFFFFFF, start + i + 1
    raise DamagedError("a number without an end")


def located_fields(data: _Bytes, start: int, end: int, most: int) -> Iterator[Field]:
    """Where the fields of the message from `start` to `end` are, in their order; none reaches beyond it.

    Raises:
        DamagedError: no such message, or one of more than `most` fields.
    """
    for _ in range(most):
        if start == end:
            return
        key, start = varint(data, start, end)
        number, kind = key >> 3, key & 7
        if number == 0:
            raise DamagedError("a field with the number 0")
        if kind == _VARINT:
            size = varint(data, start, end)[1] - start
        elif kind == _BYTES:
            size, start = varint(data, start, end)
        elif kind in _FIXED:
            size = _FIXED[kind]
        else:
            raise DamagedError(f"a field of the unknown type {kind}")
        if size > end - start:
            raise DamagedError("a field that goes beyond the end")
        yield Field(number, kind, start, start + size)
        start += size
    if start != end:
        raise DamagedError(f"a message of more than {most:,} fields")


def fields(message: memoryview) -> Iterator[tuple[int, int | memoryview]]:
    """Each field's number and content: a number for varints; else its bytes, of fixed-size numbers too.

    Raises:
        DamagedError: no such message.
    """
    for number, kind, start, end in located_fields(message, 0, len(message), _MOST_FIELDS):
        yield number, varint(message, start)[0] if kind == _VARINT else message[start:end]


def parts(message: memoryview, wanted: int) -> Iterator[memoryview]:
    """The contents of the fields with the number `wanted`, which hold bytes: messages, or text."""
    for number, value in fields(message):
        if number == wanted:
            yield as_bytes(value)


def as_bytes(value: int | memoryview) -> memoryview:
    """A field's content where bytes are expected."""
    if isinstance(value, int):
        raise DamagedError("a number in place of a message")
    return value


def as_number(value: int | memoryview) -> int:
    """A field's content where a number is expected: unsigned, of 64 bits."""
    if isinstance(value, memoryview):
        if len(value) in (4, 8):
            return int.from_bytes(value, "little")
        raise DamagedError("bytes in place of a number")
    return value


def signed(value: int) -> int:
    """The number that 64 bits in two's complement mean."""
    return value - (1 << 64) if value >> 63 else value


def as_text(value: int | memoryview) -> str:
    """A field's content where UTF-8 text is expected."""
    try:
        return str(as_bytes(value), "utf-8")
    except UnicodeDecodeError as error:
        raise DamagedError("a name that is not UTF-8") from error
