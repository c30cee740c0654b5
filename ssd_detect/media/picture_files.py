"""Pictures to files: the format of the name's suffix, and what the original's file held besides its pixels."""

import io
import struct
from pathlib import Path
from typing import Any

from PIL import Image

from ssd_detect.arrays import Pixels
from ssd_detect.errors import OutputError
from ssd_detect.files import explained_writing, whole_file
from ssd_detect.media.decoding.exif import REWRITING_FAILS
from ssd_detect.media.decoding.origin import PictureOrigin
from ssd_detect.media.decoding.quiet import without_warnings

QUALITY = 95
"""Of JPEG and lossy WebP, on their scales up to 100, when the original does not tell a better one."""

AVIF_QUALITY = 90

_KEEPS_METADATA = ("JPEG", "PNG", "WEBP", "AVIF", "TIFF")
_LONGEST_SIDE = {"JPEG": 65500, "WEBP": 16383, "GIF": 65535, "AVIF": 65536}  # pixels; limits of format or encoder


def save_picture(path: Path, pixels: Pixels, origin: PictureOrigin | None = None, *, overwrite: bool = False) -> None:
    """Save RGB uint8 (H, W, 3) under `path`, in the format of its suffix; the file appears whole or not at all.

    JPEG, PNG, WebP, AVIF and TIFF carry the origin's colour profile and EXIF, without an orientation. A JPEG made of a
    JPEG is quantised as the original was, any other in high quality and without subsampling. WebP is lossless when the
    original's format was.

    Raises:
        OutputError: unknown suffix, existing file without `overwrite`, a picture that the format cannot hold, or the
            system refuses.
    """
    check_suffix(path)
    kind = _format_of(path.suffix)
    _check_sides(path, pixels, kind)
    # Into memory first: given a file, Pillow's JPEG encoder does not notice that a full disk took only a part.
    encoded = io.BytesIO()
    try:
        with without_warnings():
            Image.fromarray(pixels).save(encoded, kind, **_coding(kind, origin), **_metadata(kind, origin))
    except (OSError, ValueError, TypeError, RuntimeError, struct.error) as error:  # a format's own limits
        raise OutputError(f"{path}: cannot save the picture in this format: {error}") from error
    with whole_file(path, overwrite=overwrite) as temporary, explained_writing(path):
        temporary.write_bytes(encoded.getbuffer())


def is_writable_suffix(suffix: str) -> bool:
    """Whether a picture can be saved under a name that ends in `suffix` (letter case does not count)."""
    return _format_of(suffix) in Image.SAVE


def _format_of(suffix: str) -> str:
    """Pillow's name of a suffix's format, empty where it has none; the usual ones are known without all its plugins."""
    Image.preinit()
    return Image.EXTENSION.get(suffix.lower()) or Image.registered_extensions().get(suffix.lower(), "")


def check_suffix(path: Path) -> None:
    """Find out before the work begins whether there is a format for this name; raises OutputError."""
    if not is_writable_suffix(path.suffix):
        raise OutputError(f"{path}: cannot save as {path.suffix or 'a file without suffix'}; use .png, .jpg or .webp")


def _check_sides(path: Path, pixels: Pixels, kind: str) -> None:
    limit = _LONGEST_SIDE.get(kind)
    if limit is not None and max(pixels.shape) > limit:
        raise OutputError(
            f"{path}: cannot save the picture in this format: {kind} holds at most {limit} pixels a side, "
            f"this is {pixels.shape[1]}x{pixels.shape[0]}; use .png"
        )


def _coding(kind: str, origin: PictureOrigin | None) -> dict[str, Any]:
    """What decides about quality and size."""
    if kind == "JPEG" and origin is not None and origin.quantization:
        return {"qtables": [list(table) for table in origin.quantization], "subsampling": origin.subsampling or 0}
    if kind == "WEBP" and origin is not None and origin.lossless:
        return {"lossless": True}
    if kind == "AVIF":
        return {"quality": AVIF_QUALITY, "subsampling": "4:4:4"}
    return {"quality": QUALITY, "subsampling": 0} if kind == "JPEG" else {"quality": QUALITY}


def _metadata(kind: str, origin: PictureOrigin | None) -> dict[str, bytes]:
    if origin is None or kind not in _KEEPS_METADATA:
        return {}
    exif = origin.exif if origin.exif is not None and _holds_exif(kind, origin.exif) else None
    return {k: v for k, v in (("icc_profile", origin.icc_profile), ("exif", exif)) if v is not None}


def _holds_exif(kind: str, exif: bytes) -> bool:
    """Whether the block fits the format, tried on one pixel: JPEG has too little room, TIFF writes it anew, ..."""
    try:
        Image.new("RGB", (1, 1)).save(io.BytesIO(), kind, exif=exif)
    except REWRITING_FAILS:
        return False
    return True
