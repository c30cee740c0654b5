"""The numbers that results are written with. Every format starts from them, so all formats say the same, and a record
that was read back from JSON lines, JSON, CSV or COCO writes the same files again."""

from typing import NamedTuple

import numpy as np

from ssd_detect.arrays import Doubles, Flags
from ssd_detect.detections import BOX_DECIMALS, SCORE_DECIMALS, Detections

Box = tuple[float, float, float, float]
SECONDS_DECIMALS = 6
_LEAST_SIDE = 10.0**-BOX_DECIMALS


class Row(NamedTuple):
    """One detection with rounded numbers.

    Args:
        class_name: as in the class list of the checkpoint.
        class_id: the network's class number, from 1.
        score: 0 to 1, 6 decimals.
        box: x0, y0, x1, y1 in pixels of the picture, 3 decimals; x0 < x1, y0 < y1 also after rounding.
    """

    class_name: str
    class_id: int
    score: float
    box: Box


def rounded_rows(detections: Detections) -> list[Row]:
    """The detections in their order. A side that rounding would make empty becomes 0.001 pixels long."""
    columns = detections.class_ids.tolist(), rounded_scores(detections).tolist(), rounded_boxes(detections).tolist()
    names = detections.class_names
    return [
        Row(names[class_id], class_id, score, (x0, y0, x1, y1))
        for class_id, score, (x0, y0, x1, y1) in zip(*columns, strict=True)
    ]


def rounded_scores(detections: Detections) -> Doubles:
    """(n,) float64: the scores of `rounded_rows`."""
    return _rounded(detections.scores.astype(np.float64), SCORE_DECIMALS)


def rounded_boxes(detections: Detections) -> Doubles:
    """(n, 4) float64: the boxes of `rounded_rows`."""
    boxes = _rounded(detections.boxes.astype(np.float64), BOX_DECIMALS)
    low, high = boxes[:, :2], boxes[:, 2:]
    _part(low, high, low >= high, np.broadcast_to(np.array(detections.size, np.float64), low.shape))
    return boxes


def rounded_seconds(seconds: float) -> float:
    """A time or a duration in seconds with 6 decimals."""
    return round(seconds, SECONDS_DECIMALS) + 0.0  # -0.0 becomes 0.0


def _rounded(values: Doubles, decimals: int) -> Doubles:
    """As Python's `round` does it, since nothing is lost before the last step: a float32 has 24 bits, and ten to the
    power of 6 has 14 beside its power of two, so that their product fits into a double.
    """
    return np.round(values, decimals) + 0.0  # -0.0 becomes 0.0


def _part(low: Doubles, high: Doubles, empty: Flags, limits: Doubles) -> None:
    """Make the empty ones among sides (n, 2), in place, one unit of the last decimal long, within 0 to the limits."""
    fits = empty & (low + _LEAST_SIDE <= limits)
    ends_there = empty & ~fits
    high[ends_there] = low[ends_there]
    high[fits] = np.round(low[fits] + _LEAST_SIDE, BOX_DECIMALS)
    low[ends_there] = np.round(low[ends_there] - _LEAST_SIDE, BOX_DECIMALS)
