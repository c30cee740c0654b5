"""Making objects unrecognisable, for pictures that leave the house."""

from dataclasses import replace

import cv2
import numpy as np

from ssd_detect.arrays import Pixels
from ssd_detect.detections import Detections
from ssd_detect.media.decoding.exif import clean_exif
from ssd_detect.media.decoding.origin import PictureOrigin
from ssd_detect.media.regions import check_picture, covering_pixels

MOST_BLOCKS = 8
"""So few blocks along the longer side of a box: a face is one or two of them in a person, a plate as much in a car."""

SMALLEST_BLOCK = 8
"""Pixels; a smaller object becomes one colour."""


def blur_objects(picture: Pixels, detections: Detections) -> Pixels:
    """A new picture in which nobody can tell who or what is in the boxes; all outside stays as it is.

    Each box keeps the mean colours of a few blocks, which run smoothly into each other. Where boxes overlap, the larger
    one is done first, and the smaller on top of what is left of it.

    Args:
        picture: (H, W, 3) uint8 RGB; never changed.
        detections: of this picture, those to hide.

    Raises:
        PictureError: the array is no such picture, or the detections are of one of another size.
    """
    check_picture(picture, detections)
    blurred = np.array(picture, order="C")
    boxes = covering_pixels(detections)
    areas = (boxes[:, 2] - boxes[:, 0]).astype(np.int64) * (boxes[:, 3] - boxes[:, 1])
    for left, top, right, bottom in boxes[np.argsort(-areas, kind="stable")].tolist():
        blurred[top:bottom, left:right] = _blocks(blurred[top:bottom, left:right])
    return blurred


def _blocks(region: Pixels) -> Pixels:
    height, width = region.shape[:2]
    block = max(SMALLEST_BLOCK, -(-max(height, width) // MOST_BLOCKS))
    few = max(1, width // block), max(1, height // block)
    means = cv2.resize(np.ascontiguousarray(region), few, interpolation=cv2.INTER_AREA)
    return np.asarray(cv2.resize(means, (width, height), interpolation=cv2.INTER_LINEAR), np.uint8)


def origin_without_previews(origin: PictureOrigin) -> PictureOrigin:
    """For a blurred copy: without the camera's private data, which may hold a small picture from before."""
    exif = None if origin.exif is None else clean_exif(origin.exif, maker_note=False)
    return replace(origin, exif=exif)
