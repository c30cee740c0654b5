"""Picture files made byte by byte, of kinds that no library at hand writes, and an ICC profile with known numbers."""

import io
import struct
import zlib
from collections.abc import Mapping
from typing import Any

import numpy as np
from PIL import Image

Array = Any


def png(values: Array, *, extra: bytes = b"") -> bytes:
    """A PNG of (H, W, C) uint8 or uint16 with 1 to 4 channels; `extra` chunks come before the pixels."""
    height, width, channels = values.shape
    depth, colour_type = 8 * values.itemsize, {1: 0, 2: 4, 3: 2, 4: 6}[channels]
    rows = b"".join(b"\0" + row.astype(values.dtype.newbyteorder(">")).tobytes() for row in values)
    header = struct.pack(">IIBBBBB", width, height, depth, colour_type, 0, 0, 0)
    chunks = chunk(b"IHDR", header) + extra + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + chunks


def chunk(kind: bytes, content: bytes) -> bytes:
    """A chunk of a PNG."""
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))


def tiff(
    values: Array, *, order: str = "<", big: bool = False, tags: Mapping[int, tuple[int, ...]] | None = None
) -> bytes:
    """An uncompressed TIFF of (H, W, C) of any type of number; more `tags` of numbers as given."""
    height, width, channels = values.shape
    kind = {"u": 1, "i": 2, "f": 3}[values.dtype.kind]
    entries: dict[int, tuple[int, ...]] = {
        256: (width,), 257: (height,), 258: (8 * values.itemsize,) * channels, 259: (1,),
        262: (1 if channels < 3 else 2,), 273: (0,), 277: (channels,), 278: (height,), 279: (values.nbytes,),
        284: (1,), 339: (kind,) * channels, **({338: (2,)} if channels in (2, 4) else {}), **(tags or {}),
    }  # fmt: skip
    return _tiff_file(values.astype(values.dtype.newbyteorder(order)).tobytes(), entries, order, big)


def _tiff_file(pixels: bytes, entries: dict[int, tuple[int, ...]], order: str, big: bool) -> bytes:
    count, offset, room = ("Q", "Q", 8) if big else ("H", "I", 4)
    head_size = 16 if big else 8
    table_size = struct.calcsize(order + count) + len(entries) * (20 if big else 12) + struct.calcsize(order + offset)
    outside, place = b"", head_size + table_size
    rows = []
    entries = {**entries, 273: (place + sum(4 * len(v) for v in entries.values() if 4 * len(v) > room),)}
    for tag, numbers in sorted(entries.items()):
        content = struct.pack(f"{order}{len(numbers)}I", *numbers)
        if len(content) > room:
            pointer = struct.pack(order + offset, place + len(outside))
            outside += content
            content = pointer
        rows.append(struct.pack(order + "HH" + offset, tag, 4, len(numbers)) + content.ljust(room, b"\0"))
    head = b"II" if order == "<" else b"MM"
    head += struct.pack(order + "HHHQ", 43, 8, 0, 16) if big else struct.pack(order + "HI", 42, 8)
    table = struct.pack(order + count, len(rows)) + b"".join(rows) + struct.pack(order + offset, 0)
    return head + table + outside + pixels


def saved(image: Image.Image | Array, kind: str, **options: Any) -> bytes:
    """The file that Pillow writes."""
    file = io.BytesIO()
    (image if isinstance(image, Image.Image) else Image.fromarray(image)).save(file, kind, **options)
    return file.getvalue()


def exif(orientation: int | None = None, *, order: str = "<", more: dict[int, bytes] | None = None) -> bytes:
    """An EXIF block with the maker "ACME", an orientation, a thumbnail, and `more` entries of the Exif directory."""
    thumbnail = b"\xff\xd8the small picture of before\xff\xd9"
    inner = {0xA002: struct.pack(order + "I", 100), 0xA003: struct.pack(order + "I", 40), **(more or {})}
    first = {0x010F: b"ACME\0\0", 0x8769: b"", **({} if orientation is None else {0x0112: b""})}
    second = {0x0201: b"", 0x0202: struct.pack(order + "I", len(thumbnail))}
    sizes = [2 + 12 * len(d) + 4 for d in (first, inner, second)]
    starts = [8, 8 + sizes[0], 8 + sizes[0] + sizes[1]]
    blobs, place = b"", 8 + sum(sizes)

    def entry(tag: int, kind: int, count: int, content: bytes) -> bytes:
        nonlocal blobs
        if len(content) > 4:
            pointer = struct.pack(order + "I", place + len(blobs))
            blobs += content
            content = pointer
        return struct.pack(order + "HHI", tag, kind, count) + content.ljust(4, b"\0")

    tables = [
        [
            entry(0x010F, 2, 6, first[0x010F]),
            *([] if orientation is None else [entry(0x0112, 3, 1, struct.pack(order + "H", orientation))]),
            entry(0x8769, 4, 1, struct.pack(order + "I", starts[1])),
        ],
        [
            entry(tag, 4 if len(value) == 4 else 7, 1 if len(value) == 4 else len(value), value)
            for tag, value in inner.items()
        ],
    ]
    thumbnail_place = place + len(blobs)
    tables.append([
        entry(0x0201, 4, 1, struct.pack(order + "I", thumbnail_place)), entry(0x0202, 4, 1, second[0x0202]),
    ])  # fmt: skip
    following = [starts[2], 0, 0]
    directories = b"".join(
        struct.pack(order + "H", len(table)) + b"".join(table) + struct.pack(order + "I", after)
        for table, after in zip(tables, following, strict=True)
    )
    head = (b"II" if order == "<" else b"MM") + struct.pack(order + "HI", 42, 8)
    return b"Exif\0\0" + head + directories + blobs + thumbnail


# Lab colours of the 16 full mixtures of ink, cyan first: what no formula without the profile would give.
INKS_LAB = {
    (0, 0, 0, 0): (100, 0, 0), (1, 0, 0, 0): (60, -30, -40), (0, 1, 0, 0): (50, 60, 0), (0, 0, 1, 0): (90, -5, 70),
    (1, 1, 0, 0): (30, 20, -40), (1, 0, 1, 0): (50, -50, 30), (0, 1, 1, 0): (48, 55, 40), (1, 1, 1, 0): (20, 0, 0),
}  # fmt: skip


def cmyk_profile() -> bytes:
    """An ICC profile (version 2) of a printer whose inks mix as in `INKS_LAB`; black ink makes everything black."""
    grid = b""
    for mixture in np.ndindex(2, 2, 2, 2):
        lightness, a, b = INKS_LAB[mixture] if mixture[3] == 0 else (0, 0, 0)
        grid += bytes([round(lightness * 255 / 100), a + 128, b + 128])
    identity = bytes(range(256))
    matrix = struct.pack(">9i", *(65536 * v for v in (1, 0, 0, 0, 1, 0, 0, 0, 1)))
    table = b"mft1" + bytes(4) + bytes([4, 3, 2, 0]) + matrix + identity * 4 + grid + identity * 3
    white = b"XYZ " + bytes(4) + struct.pack(">3I", 0xF6D6, 0x10000, 0xD32D)
    name = b"desc" + bytes(4) + struct.pack(">I", 5) + b"inks\0" + bytes(78)
    return _profile(
        b"prtr", b"CMYK", b"Lab ", {b"A2B0": table, b"wtpt": white, b"desc": name, b"cprt": b"text\0\0\0\0x\0"}
    )


def _profile(device: bytes, space: bytes, connection: bytes, tags: dict[bytes, bytes]) -> bytes:
    place, table, content = 128 + 4 + 12 * len(tags), struct.pack(">I", len(tags)), b""
    for name, value in tags.items():
        padded = value + bytes(-len(value) % 4)
        table += name + struct.pack(">II", place + len(content), len(value))
        content += padded
    head = struct.pack(">I4sI4s4s4s12s4s", place + len(content), b"\0" * 4, 0x02400000, device, space, connection,
                       struct.pack(">6H", 2026, 1, 1, 0, 0, 0), b"acsp")  # fmt: skip
    head = head.ljust(68, b"\0") + struct.pack(">3I", 0xF6D6, 0x10000, 0xD32D)
    return head.ljust(128, b"\0") + table + content


def rgb_profile() -> bytes:
    """A small profile of RGB that is not sRGB; only its header matters here."""
    return _profile(b"mntr", b"RGB ", b"XYZ ", {b"cprt": b"text\0\0\0\0x\0"})


def lab_to_srgb(lightness: float, a: float, b: float) -> Array:
    """Three numbers 0-255, by the formulas of CIE 15 and IEC 61966-2-1, D50 adapted to D65 by Bradford's matrix."""
    f = np.array([(lightness + 16) / 116 + a / 500, (lightness + 16) / 116, (lightness + 16) / 116 - b / 200])
    xyz = np.where(f > 6 / 29, f**3, 3 * (6 / 29) ** 2 * (f - 4 / 29)) * [0.96422, 1, 0.82521]
    matrix = np.array([
        [3.1338561, -1.6168667, -0.4906146], [-0.9787684, 1.9161415, 0.0334540], [0.0719453, -0.2289914, 1.4052427],
    ])  # fmt: skip
    linear = np.clip(matrix @ xyz, 0, 1)
    return 255 * np.where(linear <= 0.0031308, 12.92 * linear, 1.055 * linear ** (1 / 2.4) - 0.055)


def ycck_jpeg(inks: Array) -> bytes:
    """A JPEG of CMYK inks (H, W, 4) as Adobe writes it: YCbCr of the first three, and all of it inverted."""
    red, green, blue = (inks[..., i].astype(float) for i in range(3))
    y = 0.299 * red + 0.587 * green + 0.114 * blue
    stored = np.stack([y, 128 + (blue - y) / 1.772, 128 + (red - y) / 1.402, 255.0 - inks[..., 3]], axis=-1)
    file = bytearray(saved(cmyk(255 - np.rint(np.clip(stored, 0, 255)).astype(np.uint8)), "JPEG", quality=100))
    marker = file.index(b"Adobe")
    assert file[marker + 11] == 0
    file[marker + 11] = 2
    return bytes(file)


def cmyk(inks: Array) -> Image.Image:
    """A picture of ink amounts (H, W, 4) uint8."""
    return Image.merge("CMYK", [Image.fromarray(np.ascontiguousarray(inks[..., i])) for i in range(4)])
