"""Any pictures in a row as frames of a video, such as those of `imageio.v3.imiter(path)`."""

import math
from collections.abc import Iterable, Iterator
from fractions import Fraction

import numpy as np

from ssd_detect.arrays import Pixels
from ssd_detect.errors import PictureError, SettingError
from ssd_detect.media.video.clock import FrameTime
from ssd_detect.media.video.frames import Frame


def frames_at_rate(pictures: Iterable[Pixels], rate: Fraction | float) -> Iterator[Frame]:
    """The pictures as frames with even times from 0; they are taken one by one, as the frames are.

    Args:
        pictures: RGB uint8 (H, W, 3), all of one size.
        rate: frames a second, above 0.

    Raises:
        SettingError: at once, a rate that makes no sense.
        PictureError: while iterating, something that is no such picture.
    """
    if not (math.isfinite(rate) and rate > 0):
        raise SettingError(f"rate is {rate}, expected a number of frames a second above 0")
    return _frames(pictures, 1 / Fraction(rate).limit_denominator(1_000_000))


def _frames(pictures: Iterable[Pixels], time_base: Fraction) -> Iterator[Frame]:
    shape = None
    for number, pixels in enumerate(pictures):
        _check(pixels, number)
        shape = shape or pixels.shape
        if pixels.shape != shape:
            raise PictureError(
                f"picture {number} is {_size(pixels.shape)} pixels, expected {_size(shape)} as the first"
            )
        yield Frame(pixels, FrameTime(number, 1, time_base))


def _check(pixels: object, number: int) -> None:
    if not isinstance(pixels, np.ndarray):
        found = type(pixels).__name__
    elif pixels.dtype != np.uint8 or pixels.ndim != 3 or pixels.shape[2] != 3 or pixels.size == 0:
        found = f"{pixels.dtype} of shape {pixels.shape}"
    else:
        return
    raise PictureError(f"picture {number} is {found}, expected a NumPy array: RGB, uint8, (height, width, 3)")


def _size(shape: tuple[int, ...]) -> str:
    return f"{shape[1]}x{shape[0]}"
