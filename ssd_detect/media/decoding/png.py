"""The chunks of a PNG file, on their bytes: a length, a name of four letters, content, a checksum (PNG 3, 5.3)."""

import struct
import zlib
from collections.abc import Iterator
from typing import IO

SIGNATURE_BYTES = 8
_PIXEL_CHUNKS = (b"IHDR", b"PLTE", b"tRNS", b"IDAT")
_PIECE = 1 << 20


def check_pixel_checksums(stream: IO[bytes]) -> None:
    """Be sure that the pixels are as they were written: Pillow does not look at their checksums.

    Raises:
        ValueError: a chunk of pixels is damaged or cut off.
    """
    stream.seek(SIGNATURE_BYTES)
    while len(start := stream.read(8)) == 8:
        length, name = struct.unpack(">I4s", start)
        if name != b"IDAT":
            stream.seek(length + 4, 1)
        elif _checksum(stream, length) != stream.read(4):
            raise ValueError("a checksum of its pixels is wrong")


def _checksum(stream: IO[bytes], length: int) -> bytes:
    value = zlib.crc32(b"IDAT")
    while length > 0 and (piece := stream.read(min(length, _PIECE))):
        value = zlib.crc32(piece, value)
        length -= len(piece)
    return value.to_bytes(4, "big")


def reduced_file(content: bytes) -> bytes:
    """Without chunks that libpng warns of, such as well-known faulty profiles, and without animation."""
    end = struct.pack(">I4sI", 0, b"IEND", zlib.crc32(b"IEND"))
    return b"".join([content[:SIGNATURE_BYTES], *_pixel_chunks(content), end])


def _pixel_chunks(content: bytes) -> Iterator[bytes]:
    place = SIGNATURE_BYTES
    while place + 8 <= len(content):
        length, name = struct.unpack_from(">I4s", content, place)
        if name in _PIXEL_CHUNKS:
            yield content[place : place + 12 + length]
        place += 12 + length
