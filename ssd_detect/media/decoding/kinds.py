"""What kind of picture a file is, told by its first bytes and never by its name. Imports nothing heavy."""

import struct

HEAD_BYTES = 256
"""How many first bytes are enough to tell the kind."""

LONGEST_WEBP_SIDE = 16384
"""Pixels of a picture (RFC 9649, 3.4 and 3.5). An animation may claim more, and no encoder makes one."""

EXPECTED_KINDS = "JPEG, PNG, WebP, AVIF, HEIC, GIF, BMP, TIFF, JPEG 2000 or PPM"

# First bytes -> Pillow's name of the format.
_SIGNATURES = {
    b"\xff\xd8\xff": "JPEG",
    b"\x89PNG\r\n\x1a\n": "PNG",
    b"GIF87a": "GIF",
    b"GIF89a": "GIF",
    b"BM": "BMP",
    b"II*\0": "TIFF",
    b"MM\0*": "TIFF",
    b"II+\0": "TIFF",  # BigTIFF
    b"MM\0+": "TIFF",
    b"\xff\x4f\xff\x51": "JPEG2000",
    b"\0\0\0\x0cjP  \r\n\x87\n": "JPEG2000",
}
_AVIF_BRANDS = {b"avif", b"avis"}
_HEIC_BRANDS = {b"heic", b"heix", b"heim", b"heis", b"hevc", b"hevx", b"hevm", b"hevs"}
_CONTAINER_BRANDS = {b"mif1", b"msf1"}  # either; the list of compatible brands tells


def kind_of(head: bytes) -> str | None:
    """Pillow's name of the format ("JPEG", "HEIF", ...) of a file that begins with `head`; None for anything else."""
    for signature, kind in _SIGNATURES.items():
        if head.startswith(signature):
            return kind
    if head[:4] == b"RIFF" and head[8:12] == b"WEBP":
        return "WEBP"
    if head[4:8] == b"ftyp":
        return _kind_of_brands(head)
    if head[:1] == b"P" and head[1:2] in b"123456" and head[2:3] in b" \t\r\n#" and len(head) > 2:
        return "PPM"
    return None


def _kind_of_brands(head: bytes) -> str | None:
    """Of a file that begins with an `ftyp` box (ISO 14496-12, 4.3): its length, "ftyp", a brand, a version, brands."""
    major, end = head[8:12], int.from_bytes(head[:4], "big")
    brands = {major}
    if major in _CONTAINER_BRANDS:
        brands |= {head[i : i + 4] for i in range(16, min(end, len(head)), 4)}
    if brands & _AVIF_BRANDS:
        return "AVIF"
    return "HEIF" if brands & (_HEIC_BRANDS | _CONTAINER_BRANDS) else None


def claimed_size(head: bytes, kind: str) -> tuple[int, int] | None:
    """Width and height where the head of a PNG or WebP claims them: the formats whose mere opening takes memory."""
    if kind == "PNG" and head[12:16] == b"IHDR" and len(head) >= 24:
        width, height = struct.unpack_from(">II", head, 16)
        return width, height
    if kind == "WEBP" and head[12:16] == b"VP8X" and len(head) >= 30:
        return 1 + int.from_bytes(head[24:27], "little"), 1 + int.from_bytes(head[27:30], "little")
    return None
