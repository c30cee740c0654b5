"""Pictures from files, as a person sees them: upright, RGB, eight bits."""

import io
import stat
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import IO

import cv2
from PIL import Image, ImageFile

from ssd_detect.arrays import Pixels
from ssd_detect.errors import PictureError
from ssd_detect.media.decoding.decoders import open_image
from ssd_detect.media.decoding.deep import decode_deep, is_deep, size_of_tiff
from ssd_detect.media.decoding.exif import read_orientation
from ssd_detect.media.decoding.frames import about_frames
from ssd_detect.media.decoding.kinds import EXPECTED_KINDS, HEAD_BYTES, LONGEST_WEBP_SIDE, claimed_size, kind_of
from ssd_detect.media.decoding.metadata import Metadata, read_metadata
from ssd_detect.media.decoding.origin import PictureOrigin
from ssd_detect.media.decoding.png import check_pixel_checksums
from ssd_detect.media.decoding.quiet import without_warnings
from ssd_detect.media.decoding.rgb import Shown, upright_rgb, upright_rgb_of_array
from ssd_detect.settings import DEFAULT_MAX_PIXELS

_SPOKEN = {"HEIF": "HEIC", "WEBP": "WebP", "JPEG2000": "JPEG 2000"}

# What Pillow's and OpenCV's many decoders raise on damaged files.
_DAMAGE = (
    OSError,
    SyntaxError,
    ValueError,
    EOFError,
    TypeError,
    LookupError,
    ArithmeticError,
    RuntimeError,
    struct.error,
    cv2.error,
)


@dataclass(frozen=True, eq=False)
class Picture:
    """A picture and where it comes from.

    Args:
        pixels: RGB uint8 (H, W, 3), upright, contiguous.
        origin: what its file held besides.
        notes: what the user should know of how it was read, a short clause each.
    """

    pixels: Pixels
    origin: PictureOrigin
    notes: tuple[str, ...] = ()

    @property
    def size(self) -> tuple[int, int]:
        """Width and height in pixels."""
        return self.pixels.shape[1], self.pixels.shape[0]


def read_picture(path: str | PathLike[str]) -> Pixels:
    """The pixels of a picture file: RGB uint8 (H, W, 3), upright. The simple form of `open_picture`.

    Raises:
        PictureError: missing, empty, a folder, damaged, too large, or no picture.
    """
    return open_picture(Path(path), name=str(path)).pixels


def open_picture(source: Path | bytes, *, name: str, max_pixels: int = DEFAULT_MAX_PIXELS) -> Picture:
    """Read a picture of any kind, which its content tells: upright by its EXIF orientation, RGB, eight bits.

    Transparent parts show `rgb.ALPHA_BACKGROUND`. Deeper values are scaled by the rules of `eight_bits`. CMYK and Lab
    become sRGB; the numbers of RGB and grey pictures stay what they are, and the colour profile of RGB comes along.
    Of an animation the first frame is read, of several pages the first. Bytes behind the picture do not matter.

    Args:
        source: a file, a pipe, or the content of a file.
        name: what to call it in messages.
        max_pixels: a picture with more is refused before it is decoded.

    Raises:
        PictureError: missing, empty, a folder, damaged, too large, no picture, or an optional package is missing.
    """
    with _opened(source, name) as stream, without_warnings():
        kind = _known_kind(stream, name, max_pixels)
        try:
            return _read(stream, kind, name, max_pixels)
        except MemoryError as error:
            raise PictureError(f"{name}: is too large for the memory of this computer") from error


def picture_size(path: Path, *, name: str, max_pixels: int = DEFAULT_MAX_PIXELS) -> tuple[int, int]:
    """(width, height), pixels, of a picture file as a person sees it, from its header: nothing is decoded.

    Raises:
        PictureError: as `open_picture`, as far as the header tells.
    """
    with _opened(path, name) as stream, without_warnings():
        kind = _known_kind(stream, name, max_pixels)
        with _explained(name, f"cannot be read as {_SPOKEN.get(kind, kind)}"):
            image = _open_header(stream, kind, name)
            if image is None:
                size, orientation = size_of_tiff(_content(stream)), _of_odd_tiff(stream).orientation
            else:
                # Pillow turns TIFF files itself; since 11.1 their size says so before they are loaded.
                size = getattr(image, "_tile_size", image.size)
                orientation = read_metadata(image, stream).orientation
        _check_size(size, name, max_pixels)
    return (size[1], size[0]) if orientation >= 5 else (size[0], size[1])


@contextmanager
def _opened(source: Path | bytes, name: str) -> Iterator[IO[bytes]]:
    stream = io.BytesIO(source) if isinstance(source, bytes) else _open_file(source, name)
    with stream:
        if not stream.read(1):
            raise PictureError(f"{name}: is empty (0 bytes), expected a picture")
        stream.seek(0)
        yield stream


def _open_file(path: Path, name: str) -> IO[bytes]:
    try:
        mode = path.stat().st_mode
        if stat.S_ISDIR(mode):
            raise PictureError(_about_folder(path, name))
        if stat.S_ISREG(mode):
            return path.open("rb")
        if stat.S_ISFIFO(mode):
            return io.BytesIO(path.read_bytes())
    except (FileNotFoundError, NotADirectoryError) as error:
        raise PictureError(f"{name}: no such file") from error
    except (OSError, ValueError) as error:
        raise PictureError(f"{name}: cannot be read: {getattr(error, 'strerror', None) or error}") from error
    raise PictureError(f"{name}: is a device, expected a picture file")


def _about_folder(folder: Path, name: str) -> str:
    known = Image.registered_extensions()
    pictures = sum(1 for p in folder.iterdir() if p.suffix.lower() in known)
    found = f"{pictures} picture files" if pictures else "no picture files"
    return f"{name}: is a folder with {found} in it, expected the name of a picture file"


def _known_kind(stream: IO[bytes], name: str, max_pixels: int) -> str:
    head = stream.read(HEAD_BYTES)
    stream.seek(0)
    kind = kind_of(head)
    if kind is None:
        raise PictureError(f"{name}: is no picture that can be read; expected {EXPECTED_KINDS}")
    if size := claimed_size(head, kind):
        _check_size(size, name, max_pixels)
        if kind == "WEBP" and max(size) > LONGEST_WEBP_SIDE:
            raise PictureError(f"{name}: the picture is damaged: a WebP of {size[0]}x{size[1]} pixels cannot be")
    return kind


def _check_size(size: tuple[int, int], name: str, max_pixels: int) -> None:
    width, height = size
    if width * height > max_pixels:
        raise PictureError(
            f"{name}: is {width}x{height} pixels, {width * height:,} in all, more than the limit of {max_pixels:,}; "
            "--max-pixels raises it"
        )


def _read(stream: IO[bytes], kind: str, name: str, max_pixels: int) -> Picture:
    of_unknown_kind = f"cannot be read as {_SPOKEN.get(kind, kind)}"
    with _explained(name, of_unknown_kind):
        image = _open_header(stream, kind, name)
        size = size_of_tiff(_content(stream)) if image is None else image.size
    _check_size(size, name, max_pixels)
    with _explained(name, "the picture is damaged"):
        metadata, frames, shown = _load(image, stream) if image else (_of_odd_tiff(stream), (), None)
    image = None  # frees what Pillow has decoded
    with _explained(name, of_unknown_kind):
        shown = shown or upright_rgb_of_array(decode_deep(_content(stream), kind), metadata.orientation)
    return Picture(shown.pixels, metadata.origin, (*frames, *metadata.notes, *shown.notes))


def _open_header(stream: IO[bytes], kind: str, name: str) -> ImageFile.ImageFile | None:
    """None for a TIFF of a kind that Pillow does not know, such as colours in floating point; OpenCV may know it."""
    try:
        return open_image(stream, kind, name)
    except SyntaxError:
        if kind != "TIFF":
            raise
        return None


def _load(image: ImageFile.ImageFile, stream: IO[bytes]) -> tuple[Metadata, tuple[str, ...], Shown | None]:
    """Decode; of a deep picture only as a check for damage, which OpenCV ignores."""
    metadata, deep = read_metadata(image, stream), is_deep(image)
    image.load()
    if image.format == "PNG":
        check_pixel_checksums(stream)
    turned_by_pillow = image.format == "TIFF"
    shown = None if deep else upright_rgb(image, 1 if turned_by_pillow else metadata.orientation)
    return metadata, about_frames(image, stream), shown


def _of_odd_tiff(stream: IO[bytes]) -> Metadata:
    orientation = read_orientation(_content(stream)) or 1  # a TIFF file is built like an EXIF block
    return Metadata(orientation, PictureOrigin("TIFF", lossless=True))


def _content(stream: IO[bytes]) -> bytes:
    stream.seek(0)
    return stream.read()


@contextmanager
def _explained(name: str, what: str) -> Iterator[None]:
    """Turn what decoders raise into one line that names the picture."""
    try:
        yield
    except Image.DecompressionBombError as error:  # a frame of an animation; the picture's own size is checked by us
        raise PictureError(f"{name}: is an animation too large for Pillow") from error
    except _DAMAGE as error:
        raise PictureError(f"{name}: {what}: {' '.join(str(error).split()) or type(error).__name__}") from error
