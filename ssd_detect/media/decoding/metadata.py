"""What a picture file says besides its pixels: which way is up, and what a copy should carry on."""

from typing import IO, NamedTuple

from PIL import ImageFile, JpegImagePlugin, TiffImagePlugin

from ssd_detect.media.decoding.exif import ORIENTATION, REWRITING_FAILS, clean_exif, exif_of_tiff, read_orientation
from ssd_detect.media.decoding.origin import PictureOrigin

_LOSSLESS = ("PNG", "GIF", "BMP", "PPM")
_LOSSY_TIFF = ("jpeg", "tiff_jpeg", "webp")
_EXIF_DAMAGED = "EXIF block damaged, left out of copies"
_ORIENTATION_UNKNOWN = "EXIF block damaged, orientation unknown"


class Metadata(NamedTuple):
    """Of one picture: EXIF orientation (1 to 8) of the pixels as stored, what its copies carry, notes."""

    orientation: int
    origin: PictureOrigin
    notes: tuple[str, ...] = ()


class _Exif(NamedTuple):
    orientation: int
    block: bytes | None
    notes: tuple[str, ...] = ()


def read_metadata(image: ImageFile.ImageFile, stream: IO[bytes]) -> Metadata:
    """Of a picture just opened from `stream`, before it is loaded."""
    exif = _read_tiff_exif(image) if isinstance(image, TiffImagePlugin.TiffImageFile) else _read_exif(image)
    origin = PictureOrigin(
        image.format or "",
        _is_lossless(image, stream),
        _profile_of_rgb(image),
        exif.block,
        *(_coding_of_jpeg(image) if isinstance(image, JpegImagePlugin.JpegImageFile) else ()),
    )
    return Metadata(exif.orientation, origin, exif.notes)


def _read_exif(image: ImageFile.ImageFile) -> _Exif:
    block = image.info.get("exif") or _from_text(image.info.get("Raw profile type exif"))
    if not isinstance(block, bytes):
        return _Exif(1, None)
    orientation = read_orientation(block)
    if orientation is None:
        return _Exif(1, None, (_ORIENTATION_UNKNOWN,))
    return _Exif(orientation, clean_exif(block))


def _from_text(profile: object) -> bytes | None:
    """The EXIF block that ImageMagick keeps in PNG files as text: three lines, then hexadecimal digits."""
    try:
        return bytes.fromhex("".join(profile.split("\n")[3:])) if isinstance(profile, str) else None
    except ValueError:
        return None


def _read_tiff_exif(image: TiffImagePlugin.TiffImageFile) -> _Exif:
    orientation = image.tag_v2.get(ORIENTATION, 1)
    orientation = orientation if orientation in range(1, 9) else 1
    try:
        return _Exif(orientation, exif_of_tiff(image))
    except REWRITING_FAILS:
        return _Exif(orientation, None, (_EXIF_DAMAGED,))


def _profile_of_rgb(image: ImageFile.ImageFile) -> bytes | None:
    """The colour profile if it is one of RGB (ICC.1, 7.2.6): those of grey and CMYK do not fit what we make."""
    profile = image.info.get("icc_profile")
    return profile if isinstance(profile, bytes) and profile[16:20] == b"RGB " else None


def _is_lossless(image: ImageFile.ImageFile, stream: IO[bytes]) -> bool:
    if image.format == "WEBP":
        return _is_lossless_webp(stream)
    if image.format == "TIFF":
        return image.info.get("compression") not in _LOSSY_TIFF
    return image.format in _LOSSLESS


def _is_lossless_webp(stream: IO[bytes]) -> bool:
    """Whether the first picture among the chunks (RIFF: name, length, content, padded to even) is a lossless one."""
    place = 12
    while True:
        stream.seek(place)
        chunk = stream.read(8)
        if len(chunk) < 8 or chunk[:4] in (b"VP8 ", b"VP8L"):
            return chunk[:4] == b"VP8L"
        # A frame holds chunks of its own, behind 16 bytes of place and time.
        place += 8 + (16 if chunk[:4] == b"ANMF" else -(-int.from_bytes(chunk[4:], "little") // 2) * 2)


def _coding_of_jpeg(image: JpegImagePlugin.JpegImageFile) -> tuple[tuple[tuple[int, ...], ...], int | None]:
    """Quantisation tables and subsampling that do to an RGB copy what the file's own did to the picture, or better."""
    try:
        tables = [tuple(image.quantization[component[3]]) for component in image.layer]
    except LookupError:
        return (), None
    if len(tables) != 3:
        return (tables[0],), None  # grey, or CMYK: the table of luma is the finest
    subsampling = JpegImagePlugin.get_sampling(image)
    return tuple(dict.fromkeys(tables)) if tables[1] == tables[2] else tuple(tables), max(subsampling, 0)
