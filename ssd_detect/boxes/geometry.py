"""Box arithmetic. Boxes are float32 with their four numbers in the last axis; names say their order.

`xyxy` = left, top, right, bottom; `cxcywh` = centre and size; `unit` = as shares of the picture's sides.
"""

import numpy as np

from ssd_detect.arrays import Floats


def cxcywh_to_xyxy(boxes: Floats) -> Floats:
    """Corners of boxes given by centre and size; (..., 4) to (..., 4)."""
    half = boxes[..., 2:] / np.float32(2)
    return np.concatenate([boxes[..., :2] - half, boxes[..., :2] + half], axis=-1)


def xyxy_to_cxcywh(boxes: Floats) -> Floats:
    """Centre and size of boxes given by corners; (..., 4) to (..., 4)."""
    size = boxes[..., 2:] - boxes[..., :2]
    return np.concatenate([boxes[..., :2] + size / np.float32(2), size], axis=-1)


def clip_xyxy(boxes: Floats, width: float = 1.0, height: float = 1.0) -> Floats:
    """Boxes cut off at the borders of a picture of `width` by `height`; one outside it loses its area."""
    return np.clip(boxes, 0, np.array([width, height, width, height], np.float32))


def scale_unit_xyxy(boxes: Floats, width: int, height: int) -> Floats:
    """Boxes in pixels from boxes as shares of the picture's sides; (n, 4) to (n, 4)."""
    scaled: Floats = boxes * np.array([width, height, width, height], np.float32)
    return scaled


def areas_xyxy(boxes: Floats) -> Floats:
    """Width times height; (..., 4) to (...)."""
    areas: Floats = (boxes[..., 2] - boxes[..., 0]) * (boxes[..., 3] - boxes[..., 1])
    return areas


def pairwise_iou(boxes: Floats, others: Floats) -> Floats:
    """Intersection over union of each pair; (n, 4) and (m, 4) xyxy with an area, to (n, m), 0 to 1."""
    x0, y0, x1, y1 = (column[:, np.newaxis] for column in boxes.T)  # each (n, 1)
    u0, v0, u1, v1 = others.T  # each (m,)
    intersection = np.minimum(x1, u1)
    intersection -= np.maximum(x0, u0)
    np.maximum(intersection, 0, out=intersection)
    heights = np.minimum(y1, v1)
    heights -= np.maximum(y0, v0)
    np.maximum(heights, 0, out=heights)
    intersection *= heights
    union = areas_xyxy(boxes)[:, np.newaxis] + areas_xyxy(others)
    union -= intersection
    iou: Floats = intersection / union
    return iou
