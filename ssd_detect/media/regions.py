"""Boxes as whole pixels of the picture in which they were found."""

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from ssd_detect.arrays import Pixels
from ssd_detect.detections import Detections
from ssd_detect.errors import PictureError

PixelBoxes: TypeAlias = NDArray[np.int32]
"""(n, 4): left, top, right, bottom; a box ends before its right column and its bottom row."""


def check_picture(picture: Pixels, detections: Detections) -> None:
    """Be sure that the array is the picture of the detections.

    Raises:
        PictureError: it is not RGB uint8, or of another size.
    """
    width, height = detections.size
    if picture.dtype != np.uint8 or picture.shape != (height, width, 3):
        raise PictureError(
            f"expected the RGB picture of the detections, uint8 ({height}, {width}, 3), "
            f"got {picture.dtype} {picture.shape}"
        )


def covering_pixels(detections: Detections) -> PixelBoxes:
    """(n, 4): every pixel that a box touches. Left and top are rounded down, right and bottom up.

    So a box is at least one pixel wide and high, and inside the picture, since its coordinates are.
    """
    boxes = detections.boxes
    return np.concatenate([np.floor(boxes[:, :2]), np.ceil(boxes[:, 2:])], axis=1).astype(np.int32)
