"""The numbers that results are written with. Every format starts from them, so all formats say the same, and a record
that was read back from JSON lines, JSON, CSV or COCO writes the same files again."""

from typing import NamedTuple

from ssd_detect.detections import BOX_DECIMALS, Detections

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
    entries = detections.to_dict()["detections"]
    return [Row(e["class"], e["class_id"], e["score"] + 0.0, _with_area(e["box"], detections.size)) for e in entries]


def rounded_seconds(seconds: float) -> float:
    """A time or a duration in seconds with 6 decimals."""
    return round(seconds, SECONDS_DECIMALS) + 0.0  # -0.0 becomes 0.0


def _with_area(box: list[float], size: tuple[int, int]) -> Box:
    x0, y0, x1, y1 = (v + 0.0 for v in box)  # -0.0 becomes 0.0
    (x0, x1), (y0, y1) = _apart(x0, x1, size[0]), _apart(y0, y1, size[1])
    return x0, y0, x1, y1


def _apart(low: float, high: float, limit: int) -> tuple[float, float]:
    """Both ends of a side that is at least one unit of the last decimal long and lies within 0 to `limit`."""
    if low < high:
        return low, high
    if low + _LEAST_SIDE <= limit:
        return low, round(low + _LEAST_SIDE, BOX_DECIMALS)
    return round(low - _LEAST_SIDE, BOX_DECIMALS), low
