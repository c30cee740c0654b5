"""The part of a picture around an error, with the boxes: detections as whole lines, objects as broken ones."""

import io
from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt
from PIL import Image, ImageDraw

from ssd_detect.evaluation.tables import Doubles
from ssd_detect.media.pictures import open_picture
from ssd_detect.reporting.details import ReportDetails
from ssd_detect.reporting.examples import Example
from ssd_detect.reporting.plotting import BLUE, ORANGE

LONGEST_SIDE = 320  # pixels
DETECTION_COLOUR, OBJECT_COLOUR = ORANGE, BLUE

_SURROUNDINGS = 3.0  # the part shown is so many times as long as the box
_SMALLEST_PART = 0.4  # of the picture's longer side; less would not tell where in the picture it is
_LINE, _RIM = 3, 1  # pixels; the rim is white and on both sides, so that a line shows on any ground
_DASH, _GAP = 9, 6  # pixels

Line = tuple[tuple[float, float], tuple[float, float]]


def draw_example(example: Example, details: ReportDetails, score_threshold: float) -> tuple[bytes, tuple[int, int]]:
    """A PNG of the error and its (width, height): the box, the objects and, where one is missed, the detections.

    Args:
        example: what to show.
        details: tables and pictures.
        score_threshold: detections with this score or less are not shown.

    Raises:
        PictureError: the picture cannot be read.
    """
    picture = details.pictures[example.picture]
    pixels = open_picture(picture.path, name=picture.name).pixels
    truth, predictions = details.truth, details.predictions
    objects = truth.boxes[truth.picture == example.picture]
    if example.kind is None:
        target = truth.boxes[example.row]
        shown = predictions.boxes[(predictions.picture == example.picture) & (predictions.score > score_threshold)]
    else:
        target = predictions.boxes[example.row]
        shown = predictions.boxes[[example.row]]
    per_side = np.array([pixels.shape[1], pixels.shape[0]]) / picture.size  # 1 unless the data set counts otherwise
    per_box = np.tile(per_side, 2)
    return _draw(pixels, target * per_box, objects * per_box, shown * per_box)


def _draw(
    pixels: npt.NDArray[np.uint8], target: Doubles, objects: Doubles, detections: Doubles
) -> tuple[bytes, tuple[int, int]]:
    part = part_around(target, (pixels.shape[1], pixels.shape[0]))
    left, top, right, bottom = part
    scale = LONGEST_SIDE / max(right - left, bottom - top)
    size = max(1, round((right - left) * scale)), max(1, round((bottom - top) * scale))
    canvas = Image.fromarray(pixels).resize(size, Image.Resampling.LANCZOS, box=part)
    draw = ImageDraw.Draw(canvas)
    moved = np.array([left, top, left, top])
    for boxes, colour, broken in ((objects, OBJECT_COLOUR, True), (detections, DETECTION_COLOUR, False)):
        for box in (boxes - moved) * scale:
            _draw_box(draw, box, size, colour, broken=broken)
    content = io.BytesIO()
    canvas.save(content, "PNG", optimize=True)
    return content.getvalue(), size


def part_around(box: Doubles, size: tuple[int, int]) -> tuple[float, float, float, float]:
    """The part of a picture to show: x0, y0, x1, y1 in pixels, inside the picture, with the box in it.

    Args:
        box: (4,) xyxy, pixels, inside the picture.
        size: (width, height) of the picture, pixels.
    """
    longest = max(_SURROUNDINGS * float(max(box[2] - box[0], box[3] - box[1])), _SMALLEST_PART * max(size))
    starts, ends = [], []
    for axis in (0, 1):
        length = min(longest, float(size[axis]))
        middle = float(box[axis] + box[axis + 2]) / 2
        starts.append(min(max(0.0, middle - length / 2), size[axis] - length))
        ends.append(min(starts[-1] + length, float(size[axis])))
    return starts[0], starts[1], ends[0], ends[1]


def _draw_box(draw: ImageDraw.ImageDraw, box: Doubles, size: tuple[int, int], colour: str, *, broken: bool) -> None:
    inset = (_LINE + 2 * _RIM) // 2  # the line is wholly visible at the border too
    limit = np.tile(size, 2) - 1 - inset
    outside = (box[2] < 0) or (box[3] < 0) or (box[0] > size[0]) or (box[1] > size[1])
    if outside:
        return
    x0, y0, x1, y1 = np.clip(box, inset, np.maximum(limit, inset)).tolist()
    sides: Sequence[Line] = [
        ((x0, y0), (x1, y0)), ((x1, y0), (x1, y1)), ((x1, y1), (x0, y1)), ((x0, y1), (x0, y0)),
    ]  # fmt: skip
    draw.rectangle((x0 - inset, y0 - inset, x1 + inset, y1 + inset), outline="white", width=_LINE + 2 * _RIM)
    for side in sides:
        for begin, end in _dashes(side) if broken else [side]:
            draw.line((begin, end), fill=colour, width=_LINE)


def _dashes(side: Line) -> Iterable[Line]:
    begin, end = np.array(side[0]), np.array(side[1])
    length = float(np.abs(end - begin).max())
    for start in np.arange(0.0, length, _DASH + _GAP):
        share = np.array([start, min(start + _DASH, length)])[:, np.newaxis] / max(length, 1.0)
        (x0, y0), (x1, y1) = (begin + share * (end - begin)).tolist()
        yield (x0, y0), (x1, y1)
