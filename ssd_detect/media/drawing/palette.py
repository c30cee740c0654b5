"""A colour for each class name, and the colour of text on it."""

import zlib
from functools import lru_cache
from typing import TypeAlias

from ssd_detect.classes import BACKGROUND, COCO80, VOC20

Colour: TypeAlias = tuple[int, int, int]
"""Red, green, blue, 0-255."""

BLACK: Colour = (0, 0, 0)
WHITE: Colour = (255, 255, 255)

# Each colour is the farthest in OKLab from all before it, among lively ones of middle lightness; then a few were
# swapped so that persons, cars, cats and dogs have strong ones. A table and not a formula: rounding must not change
# a colour from one computer to the next. Never reorder it; people know their classes by these colours.
_PALETTE = tuple(
    bytes.fromhex(
        "027eb1 38fa4b 958cde fd09ff 3b865b f9c1fd fbc031 1be5ee b53e95 9b1af5 a46313 2662fe"
        "87b73a fd74b7 fc463c fa9b81 19affe cb6cff 24b6a1 c2e96a c2973a f80791 2dfcb7 735cd6"
        "a2bcff 04a322 c526d5 c73758 f592fe f27700 88851c 19d27f f351d6 4588f7 cd4805 3ca0bc"
        "46d312 f2a3c0 bfc566 e87780 59c2d6 6bddb5 a043c1 c69cec 9d5bf4 f3175f f9bd85 da02af"
        "fd9e32 de5388 41aa66 c67447 85d759 cd1579 80d8fe 129390 6351fb 448810 9ff440 77a2fc"
        "8080fc e5d50d d64fb1 1572db 6f9d17 37bc40 ba80ea bf45fa 9a9f3f de9056 dcb155 d81618"
        "2c93da b9cb11 f168fe a67f38 65c18b 61f381 50f5db 803cfb 69c1fc ef93d9 d514f8 f4d576"
        "5a70f5 fc78e1 f95577 fa07bb eb26db 9674e1 e96e4d baae31 f64da6 fa89a7 ceb6fc dd4d57"
    )
)
PALETTE: tuple[Colour, ...] = tuple(zip(_PALETTE[0::3], _PALETTE[1::3], _PALETTE[2::3], strict=True))

# Known names have a place of their own, so that no two of them share a colour.
_KNOWN_NAMES = tuple(name for name in dict.fromkeys(VOC20 + COCO80) if name != BACKGROUND)
_PLACES = {name: place for place, name in enumerate(_KNOWN_NAMES)}


def class_colour(name: str) -> Colour:
    """The colour of a class; depends on its name alone, so it is the same in every picture and every run."""
    place = _PLACES.get(name)
    if place is None:  # not hash(): that differs from run to run
        place = zlib.crc32(name.encode("utf-8", "surrogatepass")) % len(PALETTE)
    return PALETTE[place]


@lru_cache(maxsize=256)
def text_colour(patch: Colour) -> Colour:
    """Black or white, whichever has the greater contrast on `patch` (contrast ratio of WCAG 2.1)."""
    luminance = _luminance(patch)
    return WHITE if 1.05 / (luminance + 0.05) > (luminance + 0.05) / 0.05 else BLACK


def _luminance(colour: Colour) -> float:
    """Relative luminance of an sRGB colour, 0 to 1 (WCAG 2.1)."""
    red, green, blue = (_linear(channel / 255) for channel in colour)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _linear(channel: float) -> float:
    return channel / 12.92 if channel <= 0.04045 else float(((channel + 0.055) / 1.055) ** 2.4)
