"""Pictures of any mode that Pillow knows, and arrays of OpenCV's, to upright RGB of eight bits."""

import io
from collections.abc import Callable
from typing import NamedTuple, TypeAlias

import numpy as np
from PIL import Image, ImageCms

from ssd_detect.arrays import Pixels
from ssd_detect.media.decoding.eight_bits import Numbers, scale_for
from ssd_detect.media.decoding.upright import new_upright, parts

ALPHA_BACKGROUND = (255, 255, 255)
"""What shows through transparent pixels."""

_ON_WHITE = "transparent parts shown on white"
_NUMBER_MODES = ("I;16", "I;16L", "I;16B", "I;16N", "I", "F")

_PartToRgb: TypeAlias = Callable[[Image.Image], Pixels]
"""A part of a picture to (h, w, 3), or to (h, w, 1) where the three are equal."""


class Shown(NamedTuple):
    """An upright RGB picture (H, W, 3), and what the user should know of how it came about."""

    pixels: Pixels
    notes: tuple[str, ...]


def upright_rgb(image: Image.Image, orientation: int) -> Shown:
    """Of a loaded picture. It is converted in parts, so that no second whole copy is in memory.

    Args:
        image: of any mode, as stored.
        orientation: 1 to 8 as in EXIF's tag 0x0112.
    """
    convert, notes = _conversion(image)
    upright, stored = new_upright(*image.size, orientation)
    for left, top, right, bottom in parts(*image.size):
        stored[top:bottom, left:right] = convert(_part(image, (left, top, right, bottom)))
    return Shown(upright, notes)


def upright_rgb_of_array(values: Numbers, orientation: int) -> Shown:
    """Of numbers of any depth, (H, W, C) in OpenCV's order: C is 1 for grey, 3 for BGR, 4 for BGR and alpha."""
    height, width, channels = values.shape
    colours, alpha = values[..., 2::-1], values[..., 3:]  # (H, W, 1 or 3) RGB, (H, W, 0 or 1)
    boxes = list(parts(width, height))
    scale = scale_for(colours[t:b, x:r] for x, t, r, b in boxes)
    alpha_scale = scale_for(alpha[t:b, x:r] for x, t, r, b in boxes)
    transparent = channels == 4 and any((alpha[t:b, x:r] < alpha_scale.white).any() for x, t, r, b in boxes)
    upright, stored = new_upright(width, height, orientation)
    for x, t, r, b in boxes:
        part = scale.to_eight_bits(colours[t:b, x:r])
        if transparent:
            part = _over_white(part, alpha_scale.to_eight_bits(alpha[t:b, x:r]))
        stored[t:b, x:r] = part
    return Shown(upright, tuple(filter(None, (scale.note, _ON_WHITE if transparent else None))))


def _part(image: Image.Image, box: tuple[int, int, int, int]) -> Image.Image:
    return image if box == (0, 0, *image.size) else image.crop(box)


def _conversion(image: Image.Image) -> tuple[_PartToRgb, tuple[str, ...]]:
    if image.mode in _NUMBER_MODES:
        return _from_numbers(image)
    if image.mode == "CMYK":
        return _from_cmyk(image.info.get("icc_profile"))
    if image.mode == "LAB":
        return _by_profile(ImageCms.ImageCmsProfile(ImageCms.createProfile("LAB")), "LAB"), ()
    if _is_transparent(image):
        return _through_palette(image) if image.mode == "P" else _composited, (_ON_WHITE,)
    if image.mode in ("L", "1"):
        return _from_grey, ()
    return _plain, ()


def _plain(part: Image.Image) -> Pixels:
    return np.asarray(part if part.mode == "RGB" else part.convert("RGB"))


def _from_grey(part: Image.Image) -> Pixels:
    return np.asarray(part.convert("L"))[..., np.newaxis]  # (h, w) -> (h, w, 1)


def _is_transparent(image: Image.Image) -> bool:
    """Whether anything shows through: many pictures have transparency and make no use of it."""
    if image.mode in ("RGBA", "LA", "PA"):
        return image.getchannel("A").getextrema() != (255, 255)
    key = image.info.get("transparency")
    if image.mode == "P" and key is not None:
        alphas = key if isinstance(key, bytes) else b"\xff" * int(key) + b"\0"
        used = image.histogram()
        return any(alpha < 255 and count > 0 for alpha, count in zip(alphas, used, strict=False))
    return image.has_transparency_data


def _composited(part: Image.Image) -> Pixels:
    background = Image.new("RGBA", part.size, (*ALPHA_BACKGROUND, 255))
    return np.asarray(Image.alpha_composite(background, part.convert("RGBA")).convert("RGB"))


def _through_palette(image: Image.Image) -> _PartToRgb:
    """Composites the 256 colours, not the pixels."""
    swatches = image.crop((0, 0, 256, 1))
    swatches.putdata(range(256))
    colours = _composited(swatches)[0]  # (256, 3)
    return lambda part: colours[np.asarray(part)]  # (h, w) -> (h, w, 3)


def _over_white(colours: Pixels, alpha: Pixels) -> Pixels:
    """(h, w, 3) of colours (h, w, 3 or 1) and alpha (h, w, 1)."""
    share = alpha.astype(np.float32) / 255
    white = np.array(ALPHA_BACKGROUND, np.float32)
    mixed: Pixels = np.rint(colours * share + white * (1 - share)).astype(np.uint8)
    return mixed


def _from_numbers(image: Image.Image) -> tuple[_PartToRgb, tuple[str, ...]]:
    """Grey of 12, 16 or 32 bits, which may name one value as transparent."""
    scale = scale_for(_numbers(_part(image, box)) for box in parts(*image.size))
    key = image.info.get("transparency")

    def convert(part: Image.Image) -> Pixels:
        values = _numbers(part)
        grey = scale.to_eight_bits(values)
        if key is not None:
            grey = np.where(values == key, np.uint8(ALPHA_BACKGROUND[0]), grey)
        return grey[..., np.newaxis]  # (h, w) -> (h, w, 1)

    return convert, tuple(filter(None, (scale.note, _ON_WHITE if key is not None else None)))


def _numbers(part: Image.Image) -> Numbers:
    """(h, w) in the computer's own byte order."""
    values = np.asarray(part)
    return values.astype(values.dtype.newbyteorder("="), copy=False)


def _from_cmyk(profile: bytes | None) -> tuple[_PartToRgb, tuple[str, ...]]:
    if profile is not None and profile[16:20] == b"CMYK":  # ICC.1, table 17: the space of the colours
        try:
            return _by_profile(ImageCms.ImageCmsProfile(io.BytesIO(profile)), "CMYK"), ()
        except (ImageCms.PyCMSError, OSError):
            return _plain, ("CMYK colours converted without the colour profile, which is damaged",)
    return _plain, ("CMYK colours converted without a colour profile",)


def _by_profile(profile: ImageCms.ImageCmsProfile, mode: str) -> _PartToRgb:
    """To sRGB, as print shops see it on a screen: white stays white, black becomes black."""
    transform = ImageCms.buildTransform(
        profile,
        ImageCms.createProfile("sRGB"),
        mode,
        "RGB",
        renderingIntent=ImageCms.Intent.RELATIVE_COLORIMETRIC,
        flags=ImageCms.Flags.BLACKPOINTCOMPENSATION,
    )
    return lambda part: np.asarray(transform.apply(part))
