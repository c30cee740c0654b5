"""The first directory of a TIFF or BigTIFF file, on its bytes (TIFF 6.0; BigTIFF has wider counts and places)."""

import struct
from dataclasses import dataclass

_NUMBER = {1: "B", 3: "H", 4: "I", 16: "Q"}
WIDTH, HEIGHT, BITS, SAMPLES, PLANES = 256, 257, 258, 277, 284

# What a reader of the first page's pixels needs, and nothing else.
_PIXEL_TAGS = {
    *(WIDTH, HEIGHT, BITS, 259, 262, 266, 273, SAMPLES, 278, 279, PLANES, 317, 320),
    *(322, 323, 324, 325, 338, 339, 347, 529, 530, 532),
}


@dataclass(frozen=True)
class TiffDirectory:
    """Tags of the first page.

    Args:
        content: the file.
        order: of bytes, for `struct`.
        big: whether it is a BigTIFF.
        entries: by tag, as stored.
    """

    content: bytes
    order: str
    big: bool
    entries: dict[int, bytes]

    def numbers(self, tag: int) -> tuple[int, ...]:
        """The whole numbers of a tag; none if it is missing or holds something else.

        Raises:
            struct.error: they are cut off.
        """
        entry = self.entries.get(tag, b"\0\0\0\0")
        letter = _NUMBER.get(struct.unpack_from(self.order + "H", entry, 2)[0])
        if letter is None:
            return ()
        (count,) = struct.unpack_from(self.order + self._place, entry, 4)
        numbers, room = f"{self.order}{count}{letter}", struct.calcsize(self._place)
        if struct.calcsize(numbers) <= room:
            return struct.unpack_from(numbers, entry, 4 + room)
        return struct.unpack_from(
            numbers, self.content, struct.unpack_from(self.order + self._place, entry, 4 + room)[0]
        )

    def reduced_file(self) -> bytes:
        """The file with a new first directory at its end: one page, not turned, only tags that tell the pixels."""
        kept = [entry for tag, entry in sorted(self.entries.items()) if tag in _PIXEL_TAGS]
        header = self.content[: 8 if self.big else 4]
        start = len(self.content) + len(self.content) % 2  # directories begin at even places
        pointer = struct.pack(self.order + self._place, start)
        count = struct.pack(self.order + ("Q" if self.big else "H"), len(kept))
        rest = self.content[len(header) + len(pointer) :].ljust(start - len(header) - len(pointer), b"\0")
        return b"".join([header, pointer, rest, count, *kept, bytes(len(pointer))])

    @property
    def _place(self) -> str:
        return "Q" if self.big else "I"


def first_directory(content: bytes) -> TiffDirectory:
    """Find the first page's tags.

    Raises:
        ValueError, struct.error: the directory is cut off.
    """
    order, big = ("<" if content[:2] == b"II" else ">"), b"+" in content[2:4]
    (place,) = struct.unpack_from(order + ("Q" if big else "I"), content, 8 if big else 4)
    (count,) = struct.unpack_from(order + ("Q" if big else "H"), content, place)
    first, size = place + (8 if big else 2), 20 if big else 12
    if first + count * size > len(content):
        raise ValueError("its directory is cut off")
    entries = [content[i : i + size] for i in range(first, first + count * size, size)]
    return TiffDirectory(content, order, big, {struct.unpack_from(order + "H", e)[0]: e for e in entries})
