"""Pictures from files and to files, as a person sees them: upright, RGB, eight bits."""

import struct
import zlib
from os import PathLike
from pathlib import Path

import numpy as np
from PIL import Image, ImageOps, UnidentifiedImageError

from ssd_detect.arrays import Pixels
from ssd_detect.errors import OutputError, PictureError
from ssd_detect.files import explained_writing, whole_file
from ssd_detect.media.targets import is_writable_suffix

ALPHA_BACKGROUND = (255, 255, 255)
"""What shows through transparent pixels."""

JPEG_QUALITY = 95

# What Pillow's many decoders raise on damaged files.
_DAMAGE = (
    OSError,
    SyntaxError,
    ValueError,
    EOFError,
    TypeError,
    IndexError,
    KeyError,
    struct.error,
    zlib.error,
)


def read_picture(path: str | PathLike[str]) -> Pixels:
    """Read a picture file: RGB uint8 (H, W, 3), turned upright by its EXIF orientation.

    Grey and palette pictures become RGB. Transparent pixels show `ALPHA_BACKGROUND`. Sixteen-bit grey is scaled by
    its depth: 0-4095 when no value is above that, else 0-65535. Of an animation, the first frame is read.

    Raises:
        PictureError: missing, empty, a folder, damaged, or no picture.
    """
    path = Path(path)
    _check_file(path)
    try:
        with Image.open(path) as image:
            upright = ImageOps.exif_transpose(image)
            return np.array(_rgb(upright))
    except UnidentifiedImageError as error:
        raise PictureError(
            f"{path}: is no picture that can be read; expected JPEG, PNG, WebP, BMP, TIFF or GIF"
        ) from error
    except Image.DecompressionBombError as error:
        raise PictureError(f"{path}: has too many pixels to be read safely: {error}") from error
    except _DAMAGE as error:
        raise PictureError(f"{path}: the picture is damaged: {error}") from error


def _check_file(path: Path) -> None:
    if not path.exists():
        raise PictureError(f"{path}: no such file")
    if path.is_dir():
        raise PictureError(_about_folder(path))
    if path.is_file() and path.stat().st_size == 0:
        raise PictureError(f"{path}: is empty (0 bytes), expected a picture")


def _about_folder(folder: Path) -> str:
    known = Image.registered_extensions()
    pictures = sum(1 for p in folder.iterdir() if p.suffix.lower() in known)
    found = f"{pictures} picture files" if pictures else "no picture files"
    return f"{folder}: is a folder with {found} in it, expected the name of a picture file"


def _rgb(image: Image.Image) -> Image.Image:
    if image.mode in ("I;16", "I;16B", "I;16L", "I"):
        return Image.fromarray(_eight_bits(np.asarray(image))).convert("RGB")
    if image.has_transparency_data:
        background = Image.new("RGBA", image.size, (*ALPHA_BACKGROUND, 255))
        return Image.alpha_composite(background, image.convert("RGBA")).convert("RGB")
    return image.convert("RGB")


def _eight_bits(values: "np.ndarray[tuple[int, ...], np.dtype[np.integer]]") -> Pixels:
    full = 4095 if values.max() <= 4095 else 65535
    scaled: Pixels = np.rint(np.clip(values, 0, full) * (255 / full)).astype(np.uint8)
    return scaled


def write_picture(path: Path, picture: Pixels, *, overwrite: bool = False) -> None:
    """Save RGB uint8 (H, W, 3) under `path`, in the format of its suffix; the file appears whole or not at all.

    Raises:
        OutputError: unknown suffix, existing file without `overwrite`, or the system refuses.
    """
    if not is_writable_suffix(path.suffix):
        raise OutputError(f"{path}: cannot save as {path.suffix or 'a file without suffix'}; use .png, .jpg or .webp")
    with whole_file(path, overwrite=overwrite) as temporary:
        try:
            with explained_writing(path):
                Image.fromarray(picture).save(temporary, quality=JPEG_QUALITY)
        except (ValueError, struct.error) as error:  # a format's own limits, such as WebP's 16383 pixels
            raise OutputError(f"{path}: cannot save the picture in this format: {error}") from error
