"""The part of a picture around an error, with the boxes: detections as whole lines, objects as broken ones.

Unlike `media.drawing`, which colours by class and writes into the picture: here the colour says whose box it is, and
the words stand below the picture, where they can be read aloud, copied and translated.
"""

import io
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from PIL import Image, ImageDraw

from ssd_detect.arrays import Doubles, Pixels
from ssd_detect.media.pictures import open_picture
from ssd_detect.reporting.details import ReportDetails
from ssd_detect.reporting.examples import Example
from ssd_detect.reporting.plotting import BLUE, ORANGE

LONGEST_SIDE = 320  # pixels

_SURROUNDINGS = 3.0  # the part shown is so many times as long as the box
_SMALLEST_PART = 0.4  # of the picture's longer side; less would not tell where in the picture it is
_BROAD, _FINE = 4, 2  # pixels: the line of the box in question, and those of the others
_RIM = 1  # pixels; white, on both sides, so that a line shows on any ground
_DASH, _GAP = 9, 6  # pixels


@dataclass(frozen=True, eq=False)
class _Marks:
    """Boxes that are drawn alike: (n, 4) xyxy, pixels of the picture."""

    boxes: Doubles
    colour: str
    broken: bool
    line: int


def draw_example(example: Example, details: ReportDetails, score_threshold: float) -> tuple[bytes, tuple[int, int]]:
    """A PNG of the error and its (width, height).

    Args:
        example: what to show: its box has a broad line. Of a false alarm the picture's objects are there too, of a
            missed object also the detections.
        details: tables and pictures.
        score_threshold: detections with this score or less are not shown.

    Raises:
        PictureError: the picture cannot be read.
    """
    picture = details.pictures[example.picture]
    pixels = open_picture(picture.path, name=picture.name).pixels
    table = details.truth if example.kind is None else details.predictions
    part = part_around(table.boxes[example.row], picture.size)
    return _draw(pixels, picture.size, part, list(_marks(example, details, score_threshold)))


def _marks(example: Example, details: ReportDetails, score_threshold: float) -> Iterator[_Marks]:
    """The box in question last, so that it is on top."""
    truth, predictions = details.truth, details.predictions
    objects = truth.picture == example.picture
    missed = example.kind is None
    if missed:
        objects[example.row] = False
    yield _Marks(truth.boxes[objects], BLUE, True, _FINE)
    if missed:
        shown = (predictions.picture == example.picture) & (predictions.score > score_threshold)
        yield _Marks(predictions.boxes[shown], ORANGE, False, _FINE)
        yield _Marks(truth.boxes[[example.row]], BLUE, True, _BROAD)
    else:
        yield _Marks(predictions.boxes[[example.row]], ORANGE, False, _BROAD)


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
        ends.append(starts[-1] + length)
    return starts[0], starts[1], ends[0], ends[1]


def _draw(
    pixels: Pixels, size: tuple[int, int], part: tuple[float, float, float, float], marks: list[_Marks]
) -> tuple[bytes, tuple[int, int]]:
    """`size` is what boxes and part count in; the pixels are as many, unless the picture has changed since."""
    left, top, right, bottom = part
    scale = LONGEST_SIDE / max(right - left, bottom - top)
    shown_size = max(1, round((right - left) * scale)), max(1, round((bottom - top) * scale))
    image = Image.fromarray(pixels)
    across, down = image.width / size[0], image.height / size[1]
    source = left * across, top * down, min(right * across, image.width), min(bottom * down, image.height)
    canvas = image.resize(shown_size, Image.Resampling.LANCZOS, box=source)
    draw = ImageDraw.Draw(canvas)
    for mark in marks:
        for box in (mark.boxes - (left, top, left, top)) * scale:
            _draw_box(draw, box, shown_size, mark)
    content = io.BytesIO()
    canvas.save(content, "PNG")
    return content.getvalue(), shown_size


def _draw_box(draw: ImageDraw.ImageDraw, box: Doubles, size: tuple[int, int], mark: _Marks) -> None:
    inset = mark.line // 2 + _RIM
    x0, y0, x1, y1 = _inside(box, size, inset).tolist()
    outline = x0 - inset, y0 - inset, max(x1, x0) + inset, max(y1, y0) + inset
    draw.rectangle(outline, outline="white", width=mark.line + 2 * _RIM)
    corners = [(x0, y0), (x1, y0), (x1, y1), (x0, y1), (x0, y0)]
    for begin, end in pairwise(corners):
        _draw_side(draw, np.array(begin), np.array(end), mark)


def _inside(box: Doubles, size: tuple[int, int], inset: int) -> Doubles:
    """The box with its lines wholly in the canvas where it ends at the border; beyond it they stay unseen."""
    first = np.where(box[:2] > -1, np.maximum(box[:2], inset), box[:2])
    last = np.array(size, np.float64)
    end = np.where(box[2:] < last + 1, np.minimum(box[2:], last - 1 - inset), box[2:])
    return np.concatenate([first, end])


def _draw_side(draw: ImageDraw.ImageDraw, begin: Doubles, end: Doubles, mark: _Marks) -> None:
    length = float(np.abs(end - begin).max())
    step = _DASH + _GAP if mark.broken else max(length, 1.0)
    for start in np.arange(0.0, length, step):
        stop = min(start + _DASH, length) if mark.broken else length
        (x0, y0), (x1, y1) = (begin + np.outer((start, stop), end - begin) / length).tolist()
        draw.line((x0, y0, x1, y1), fill=mark.colour, width=mark.line)
