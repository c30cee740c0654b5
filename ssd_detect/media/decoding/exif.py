"""EXIF blocks: which way is up, and a copy without what no longer fits the picture once it is turned and redrawn.

Pillow's own reader warns, raises or loses the camera's private data where a block is damaged or unusual. This one works
on the bytes. A block is a small TIFF file (EXIF 3.0, 4.5): a header of 8 bytes with the place of the first directory;
a directory is a count, so many entries of 12 bytes (tag, type, number of values, the values or their place), and the
place of the next directory, which holds the thumbnail.
"""

import struct
from collections.abc import Iterator
from dataclasses import dataclass

from PIL import Image

PREFIX = b"Exif\0\0"
ORIENTATION = 0x0112

_EXIF, _GPS, _INTEROPERABILITY, _MAKER_NOTE = 0x8769, 0x8825, 0xA005, 0x927C
_VALUE_BYTES = {1: 1, 2: 1, 3: 2, 4: 4, 5: 8, 6: 1, 7: 1, 8: 2, 9: 4, 10: 8, 11: 4, 12: 8, 13: 4, 129: 1}
# Directory (by the entry that points to it; 0 is the first) -> the directories below it.
_BELOW = {0: (_EXIF, _GPS), _EXIF: (_INTEROPERABILITY,)}
# What the first directory says about the stored picture, or holds of it: size and layout (0x0100-0x0117 without the
# texts among them, ...), thumbnails, XMP (which repeats the orientation), Photoshop's data, the colour profile.
_OF_STORED_PICTURE = {
    *(0x00FE, 0x00FF, 0x0100, 0x0101, 0x0102, 0x0103, 0x0106, 0x010A, 0x0111, ORIENTATION, 0x0115, 0x0116, 0x0117),
    *(0x011C, 0x013D, 0x0140, 0x0142, 0x0143, 0x0144, 0x0145, 0x014A, 0x0152, 0x0153, 0x015B, 0x0201, 0x0202),
    *(0x0211, 0x0212, 0x0213, 0x0214, 0x02BC, 0x8649, 0x8773, 0x935C),
}
_STORED_SIZE = {0xA002, 0xA003}
_DESCRIPTIVE = (0x010D, 0x010E, 0x010F, 0x0110, 0x011A, 0x011B, 0x0128, 0x0131, 0x0132, 0x013B, 0x8298)


REWRITING_FAILS = (
    OSError, SyntaxError, ValueError, TypeError, LookupError, AttributeError, ArithmeticError, struct.error
)  # fmt: skip
"""What Pillow raises on damaged or unusual entries."""


@dataclass(frozen=True)
class _Entry:
    tag: int
    type: int
    raw: bytes  # the 12 bytes
    value: int  # the place of the values, or the number itself when there is one
    num_bytes: int | None  # of the values; None for a type that nobody knows


def read_orientation(block: bytes) -> int | None:
    """1 to 8 as in EXIF's tag 0x0112, 1 when the block does not say; None when it is damaged before it could say.

    Args:
        block: with or without the prefix of JPEG files.
    """
    block = block.removeprefix(PREFIX)
    order = _byte_order(block)
    if order is None:
        return None
    place = struct.unpack_from(order + "I", block, 4)[0]
    for entry in _entries(block, place, order):
        if entry.tag == ORIENTATION:
            return entry.value if 1 <= entry.value <= 8 else 1
    return 1 if _is_whole(block, place, order) else None


def clean_exif(block: bytes, *, maker_note: bool = True) -> bytes | None:
    """A copy, with prefix, that fits the picture as it is shown and saved by us; None if nothing is left.

    Left out are orientation, size and layout of the stored picture, thumbnails and other directories that may show it,
    entries that are damaged, and every byte that no entry points to. All else stays at its place, since cameras'
    private data count bytes from the block's beginning.

    Args:
        block: with or without the prefix of JPEG files.
        maker_note: False leaves out the camera's private data too, which may hold a preview.
    """
    block = block.removeprefix(PREFIX)
    order = _byte_order(block)
    if order is None:
        return None
    copy = _Copy(block, order, set() if maker_note else {_MAKER_NOTE})
    if not copy.directory(struct.unpack_from(order + "I", block, 4)[0], 0):
        return None
    return PREFIX + copy.finish()


def exif_of_tiff(image: Image.Image) -> bytes | None:
    """What the directories of a TIFF file say about the picture, as a clean block; to be asked before it is loaded.

    Raises:
        REWRITING_FAILS: the directories are damaged.
    """
    given, kept = image.getexif(), Image.Exif()
    for tag in _DESCRIPTIVE:
        if tag in given:
            kept[tag] = given[tag]
    for directory in (_EXIF, _GPS):
        if values := dict(given.get_ifd(directory)):
            kept[directory] = values
    return clean_exif(kept.tobytes()) if len(kept) else None


class _Copy:
    """The kept parts of a block, at their places."""

    def __init__(self, block: bytes, order: str, dropped: set[int]) -> None:
        self._block = block
        self._order = order
        self._dropped = dropped | _STORED_SIZE
        self._kept = bytearray(len(block) + 4)  # a cut directory may lack its last four bytes
        self._end = 0
        self._keep(0, 8)

    def directory(self, place: int, pointer: int) -> bool:
        """Copy the good entries of a directory and all below it; False if there are none."""
        entries = [e for e in _entries(self._block, place, self._order) if self._copy_values(e, pointer)]
        if entries:
            table = struct.pack(self._order + "H", len(entries)) + b"".join(e.raw for e in entries)
            self._kept[place : place + len(table)] = table
            self._kept[place + len(table) : place + len(table) + 4] = bytes(4)  # no next directory
            self._end = max(self._end, place + len(table) + 4)
        return bool(entries)

    def _copy_values(self, entry: _Entry, pointer: int) -> bool:
        """False if the entry is not wanted or points to nowhere."""
        if entry.num_bytes is None or entry.tag in self._dropped or (pointer == 0 and entry.tag in _OF_STORED_PICTURE):
            return False
        if entry.tag in _BELOW.get(pointer, ()):
            return self.directory(entry.value, entry.tag)
        if entry.num_bytes <= 4:
            return True
        return entry.value + entry.num_bytes <= len(self._block) and self._keep(entry.value, entry.num_bytes)

    def _keep(self, place: int, num_bytes: int) -> bool:
        self._kept[place : place + num_bytes] = self._block[place : place + num_bytes]
        self._end = max(self._end, place + num_bytes)
        return True

    def finish(self) -> bytes:
        """The block up to the last byte that matters."""
        return bytes(self._kept[: self._end])


def _byte_order(block: bytes) -> str | None:
    """For `struct`; None if this is no EXIF block."""
    return {b"II*\0": "<", b"MM\0*": ">"}.get(block[:4]) if len(block) >= 8 else None


def _count(block: bytes, place: int, order: str) -> int:
    return int(struct.unpack_from(order + "H", block, place)[0]) if place + 2 <= len(block) else 0


def _is_whole(block: bytes, place: int, order: str) -> bool:
    return 8 <= place <= len(block) - 2 and place + 2 + 12 * _count(block, place, order) <= len(block)


def _entries(block: bytes, place: int, order: str) -> Iterator[_Entry]:
    """The entries of a directory, as far as the block goes."""
    count = _count(block, place, order) if place >= 8 else 0
    for start in range(place + 2, place + 2 + 12 * count, 12):
        raw = block[start : start + 12]
        if len(raw) == 12:
            tag, type_, count = struct.unpack(order + "HHI", raw[:8])
            one_short = type_ == 3 and count == 1
            value = struct.unpack(order + ("H" if one_short else "I"), raw[8 : 10 if one_short else 12])[0]
            size = _VALUE_BYTES.get(type_)
            yield _Entry(tag, type_, raw, value, None if size is None else count * size)
