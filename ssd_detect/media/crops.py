"""Each object as a picture of its own."""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from ssd_detect.arrays import Pixels
from ssd_detect.detections import Detections
from ssd_detect.media.regions import check_picture, covering_pixels

_LONGEST_CLASS_BYTES = 80  # of the 255 that a file name may have
# Blanks, and what Windows forbids, a terminal cannot show, or is no UTF-8.
_UNSAFE = re.compile(r'[\s\x00-\x1f\x7f-\x9f<>:"/\\|?*\ud800-\udfff]+')


class Crop(NamedTuple):
    """One object.

    Args:
        class_name: what it is.
        number: from 1 within its class, the best score first.
        pixels: RGB uint8 (h, w, 3), its own memory.
    """

    class_name: str
    number: int
    pixels: Pixels


def crop_detections(picture: Pixels, detections: Detections) -> Iterator[Crop]:
    """The objects cut out of the picture, each with every pixel that its box touches, so at least one.

    Classes whose names are the same in a file name are counted together.

    Args:
        picture: (H, W, 3) uint8 RGB without boxes drawn into it.
        detections: of this picture.

    Raises:
        PictureError: the array is no such picture, or the detections are of one of another size.
    """
    check_picture(picture, detections)
    counts: Counter[str] = Counter()
    for found, (left, top, right, bottom) in zip(detections, covering_pixels(detections).tolist(), strict=True):
        same_file_name = unicodedata.normalize("NFC", _name_part(found.class_name).casefold())
        counts[same_file_name] += 1
        yield Crop(found.class_name, counts[same_file_name], picture[top:bottom, left:right].copy())


def crop_name(picture_name: str, crop: Crop, suffix: str = ".png") -> str:
    """`<picture>_<class>_<number><suffix>`; blanks and what a file system may forbid in the class become `_`."""
    return f"{picture_name}_{_name_part(crop.class_name)}_{crop.number}{suffix}"


def _name_part(class_name: str) -> str:
    part = _UNSAFE.sub("_", class_name).encode()[:_LONGEST_CLASS_BYTES].decode(errors="ignore")
    return part.strip("_.") or "object"
