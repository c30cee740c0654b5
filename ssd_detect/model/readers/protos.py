"""The wire format of protocol buffers, as much of it as checkpoints need: fields, one after the other.

Source: protobuf.dev, "Encoding". Messages stay where they are, in memory or in a file, and are walked through: nothing
is built that a hostile file could make large, and nothing calls itself. Files are read, and not mapped into memory: a
mapped file that somebody shortens ends the process.
"""

import os
from collections.abc import Iterator
from io import BufferedReader
from typing import NamedTuple, TypeAlias

from ssd_detect.model.readers.faults import DamagedError

_MOST_FIELDS = 1_000_000  # of one message; an SSD's graph, with its gradients, has some ten thousand nodes
_SMALL = 1 << 16  # bytes that are read at once, since they are quicker walked through then
_FIXED = {1: 8, 5: 4}
_VARINT, _BYTES = 0, 2


class FilePart:
    """Some bytes of an open file, which `bytes` reads. A large slice of them is another part, a small one is in memory.

    Raises:
        DamagedError: from `bytes` and slices, when the file has become shorter.
        OSError: from both.
    """

    def __init__(self, file: BufferedReader, start: int, end: int) -> None:
        self._file, self._start, self._end = file, start, end

    def __len__(self) -> int:
        return self._end - self._start

    def __getitem__(self, part: slice) -> "Message":
        start, end, _ = part.indices(self._end - self._start)
        if end - start > _SMALL:
            return FilePart(self._file, self._start + start, self._start + end)
        return memoryview(self._read(self._start + start, max(end - start, 0)))

    def __bytes__(self) -> bytes:
        return self._read(self._start, len(self))

    def _read(self, start: int, size: int) -> bytes:
        self._file.seek(start)
        data = self._file.read(size)
        if len(data) != size:
            raise DamagedError("it was cut off while it was read")
        return data


Message: TypeAlias = memoryview | FilePart
"""A message, or another field's bytes."""


class Field(NamedTuple):
    """Where a field of a message is: its content, without number and length, is `start` to `end`.

    `kind` is the wire type: 0 a varint, 1 eight bytes, 2 bytes of a told length (texts, messages, packed numbers),
    5 four bytes.
    """

    number: int
    kind: int
    start: int
    end: int


def whole(file: BufferedReader) -> FilePart:
    """All of an open file, of which nothing is read before it is looked at.

    Raises:
        DamagedError: it is empty.
    """
    size = os.fstat(file.fileno()).st_size
    if not size:
        raise DamagedError("an empty file")
    return FilePart(file, 0, size)


def in_memory(message: Message) -> memoryview:
    """The bytes of a message, read if they lie in a file."""
    return message if isinstance(message, memoryview) else memoryview(bytes(message))


def varint(data: bytes | Message, start: int, end: int | None = None) -> tuple[int, int]:
    """An unsigned number of 64 bits at most, and where the next byte is.

    Raises:
        DamagedError: it goes beyond `end`, or on for more than ten bytes.
    """
    value = 0
    for i, byte in enumerate(bytes(data[start : start + 10 if end is None else min(start + 10, end)])):
        value |= (byte & 0x7F) << 7 * i
        if byte < 0x80:
            return value & 0xFFFFFFFFFFFFFFFF, start + i + 1
    raise DamagedError("a number without an end")


def located_fields(data: bytes | Message, start: int, end: int, most: int) -> Iterator[Field]:
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


def fields(message: Message) -> Iterator[tuple[int, int | Message]]:
    """Each field's number and content: a number for varints; else its bytes, of fixed-size numbers too.

    Raises:
        DamagedError: no such message.
    """
    for number, kind, start, end in located_fields(message, 0, len(message), _MOST_FIELDS):
        yield number, varint(message, start)[0] if kind == _VARINT else message[start:end]


def parts(message: Message, wanted: int) -> Iterator[Message]:
    """The contents of the fields with the number `wanted`, which hold bytes: messages, or text."""
    for number, value in fields(message):
        if number == wanted:
            yield as_bytes(value)


def as_bytes(value: int | Message) -> Message:
    """A field's content where bytes are expected."""
    if isinstance(value, int):
        raise DamagedError("a number in place of a message")
    return value


def as_number(value: int | Message) -> int:
    """A field's content where a number is expected: unsigned, of 64 bits."""
    if isinstance(value, int):
        return value
    if len(value) in (4, 8):
        return int.from_bytes(bytes(value), "little")
    raise DamagedError("bytes in place of a number")


def signed(value: int) -> int:
    """The number that 64 bits in two's complement mean."""
    return value - (1 << 64) if value >> 63 else value


def as_text(value: int | Message) -> str:
    """A field's content where UTF-8 text is expected."""
    try:
        return str(bytes(as_bytes(value)), "utf-8")
    except UnicodeDecodeError as error:
        raise DamagedError("a name that is not UTF-8") from error
