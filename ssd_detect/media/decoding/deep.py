"""Colour pictures of more than eight bits a channel, through OpenCV: Pillow keeps the upper eight of their bits, which
leaves 12-bit pictures nearly black, and does not know colours in floating point at all.

OpenCV and the libraries below it talk to standard error, choke on turned TIFF files, and ignore damage. So they only
see pictures that Pillow has decoded where it can, reduced to what makes the pixels.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import cv2
import numpy as np
from PIL import ImageFile, TiffImagePlugin

from ssd_detect.media.decoding.eight_bits import Numbers
from ssd_detect.media.decoding.png import reduced_file
from ssd_detect.media.decoding.tiff import BITS, HEIGHT, PLANES, SAMPLES, WIDTH, first_directory

_SILENT = 0  # of OpenCV's log levels
_set_log_level = getattr(cv2, "setLogLevel", None) or cv2.utils.logging.setLogLevel  # it moved in OpenCV 4.13
_log_level = threading.Lock()


def is_deep(image: ImageFile.ImageFile) -> bool:
    """Whether Pillow will cut the colours of a PNG or TIFF, opened but not yet loaded, to eight bits."""
    if image.mode not in ("RGB", "RGBA"):
        return False
    if isinstance(image, TiffImagePlugin.TiffImageFile):
        return bool(max(image.tag_v2.get(BITS, (1,))) > 8)
    return image.format == "PNG" and "16" in str(image.tile[0][3])  # such as "RGB;16B"


def decode_deep(content: bytes, kind: str) -> Numbers:
    """The numbers of the first picture in a PNG or TIFF file, as stored: (H, W, C), grey, BGR, or BGR and alpha.

    Raises:
        ValueError, struct.error, cv2.error: OpenCV cannot read it either.
    """
    reduced = reduced_file(content) if kind == "PNG" else _reduced_tiff(content)
    with _silent_opencv():
        values = cv2.imdecode(np.frombuffer(reduced, np.uint8), cv2.IMREAD_UNCHANGED)
    if values is None or (values.ndim == 3 and values.shape[2] not in (1, 3, 4)):
        raise ValueError("unknown arrangement of its numbers")
    return values if values.ndim == 3 else values[..., np.newaxis]  # (H, W) -> (H, W, 1)


def size_of_tiff(content: bytes) -> tuple[int, int]:
    """Width and height of the first page.

    Raises:
        ValueError, struct.error: it does not say.
    """
    directory = first_directory(content)
    width, height = directory.numbers(WIDTH), directory.numbers(HEIGHT)
    if len(width) != 1 or len(height) != 1:
        raise ValueError("it does not tell its size")
    return width[0], height[0]


@contextmanager
def _silent_opencv() -> Iterator[None]:
    """OpenCV's log is one for the whole process, so one thread at a time turns it off and on again."""
    with _log_level:
        before = _set_log_level(_SILENT)
        try:
            yield
        finally:
            _set_log_level(before)


def _reduced_tiff(content: bytes) -> bytes:
    directory = first_directory(content)
    samples, deep = directory.numbers(SAMPLES) or (1,), max(directory.numbers(BITS), default=1) > 8
    if samples[0] == 2 or (deep and samples[0] > 1 and directory.numbers(PLANES) == (2,)):
        raise ValueError("unknown arrangement of its numbers")  # OpenCV would jumble them
    return directory.reduced_file()
