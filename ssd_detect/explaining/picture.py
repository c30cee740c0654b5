"""An explanation as a picture: what made a detection, what it removed, point and region, with a legend below."""

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import cv2
import numpy as np

from ssd_detect.arrays import Pixels
from ssd_detect.explaining.facts import ClassScore, DetectionExplained, Explanation, Proposal
from ssd_detect.explaining.question import Four
from ssd_detect.explaining.trace import Reason
from ssd_detect.media.drawing.lettering import draw_text
from ssd_detect.media.drawing.palette import BLACK, WHITE, Colour

DETECTION: Colour = (60, 230, 90)
ANCHOR: Colour = (255, 220, 40)
REMOVED: Colour = (255, 90, 60)
MISSED: Colour = (90, 160, 255)
REGION: Colour = (40, 235, 235)
REGION_BOX: Colour = (190, 130, 255)
POINT: Colour = (255, 80, 230)

_LEAST_SIDE = 600  # pixels; a smaller picture is enlarged, so that lines do not hide it
_GROUND: Colour = (32, 32, 32)


@dataclass(frozen=True)
class Mark:
    """Boxes or points of one kind, and their line of the legend.

    Args:
        told: the line.
        colour: of both.
        boxes: x0, y0, x1, y1, pixels of the picture; they may leave it.
        points: x, y.
        dashed: for what the network has not put out itself.
        thick: for what matters most.
    """

    told: str
    colour: Colour
    boxes: tuple[Four, ...] = ()
    points: tuple[tuple[float, float], ...] = ()
    dashed: bool = False
    thick: bool = False


def draw_explanation(picture: Pixels, explanation: Explanation) -> Pixels:
    """A new picture with the explanation drawn into it and a legend below; a small one is enlarged.

    Args:
        picture: (H, W, 3) uint8 RGB, of the size that was explained; never changed.
        explanation: of it.

    Returns:
        (h, w, 3) uint8 RGB.
    """
    factor = max(1, math.ceil(_LEAST_SIDE / max(picture.shape[:2])))
    canvas = np.repeat(np.repeat(picture, factor, axis=0), factor, axis=1)  # (H * factor, W * factor, 3), a copy
    marks = list(marks_of(explanation))
    for mark in reversed(marks):  # the first one on top
        _draw(canvas, mark, factor)
    return _above(canvas, _legend(marks, canvas.shape[1]))


def marks_of(explanation: Explanation) -> Iterator[Mark]:
    """What is drawn, the most important first."""
    spot, region = explanation.spot, explanation.region
    if spot is not None:
        yield Mark(f"the point {spot.point[0]:g},{spot.point[1]:g}", POINT, points=(spot.point,))
    for explained in explanation.explained:
        yield from _marks_of_detection(explained, explanation)
    if spot is not None:
        yield from _not_reported(spot.classes, "best box at the point", MISSED)
    if region is not None:
        yield Mark("the region", REGION, (region.box,), thick=True)
        for proposal in region.anchors[:1]:
            yield Mark(
                f"best anchor for it, IoU {region.ceiling:.2f}", REGION, (proposal.anchor.anchor_box,), dashed=True
            )
        yield from _not_reported(region.boxes, "best box for it", REGION_BOX)


def _marks_of_detection(explained: DetectionExplained, explanation: Explanation) -> Iterator[Mark]:
    found, box = explanation.detections[explained.number - 1]
    anchor, name = explained.made_by.anchor, f"detection {explained.number}"
    yield Mark(f"{name}: {_class(found)}", DETECTION, (box,), thick=True)
    size = f"{anchor.size[0]:.0f}x{anchor.size[1]:.0f} of {explanation.input_side}"
    yield Mark(f"its anchor: {anchor.place.shape}, {size}", ANCHOR, (anchor.anchor_box,), dashed=True)
    if explained.removed:
        boxes = tuple(proposal.anchor.clipped_box for proposal in explained.removed)
        count = f"{len(boxes)} of {explained.num_removed}"
        yield Mark(f"boxes that {name} removed: {count}", REMOVED, boxes)


def _not_reported(proposals: Sequence[Proposal], told: str, colour: Colour) -> Iterator[Mark]:
    """The first of these that is not detected, and its anchor."""
    for proposal in proposals:
        if proposal.outcome.reason is not Reason.DETECTED:
            why = proposal.outcome.reason.value.replace("-", " ")
            words = f"{told} that is not reported: {_class(proposal.found)}, {why}"
            yield Mark(words, colour, (proposal.anchor.clipped_box,))
            yield Mark(f"its anchor: {proposal.anchor.place.shape}", colour, (proposal.anchor.anchor_box,), dashed=True)
            return


def _class(found: ClassScore) -> str:
    return f"{found.class_name} {found.score:.2f}"


def _draw(canvas: Pixels, mark: Mark, factor: int) -> None:
    width = max(2, round(max(canvas.shape) / 400)) + int(mark.thick)
    for box in mark.boxes:
        if all(map(math.isfinite, box)):
            _outline(canvas, _whole(box, canvas, factor), mark, width)
    for x, y in mark.points:
        centre = int(x * factor), int(y * factor)
        size = max(canvas.shape) // 30
        cv2.drawMarker(canvas, centre, BLACK, cv2.MARKER_CROSS, size + 2, width + 4)
        cv2.drawMarker(canvas, centre, mark.colour, cv2.MARKER_CROSS, size, width + 1)


def _whole(box: Four, canvas: Pixels, factor: int) -> tuple[int, int, int, int]:
    """Whole pixels of the canvas; what is far beyond it stays beyond it, in reach of OpenCV."""
    reach = max(canvas.shape)
    left, top, right, bottom = (round(min(max(v * factor, -reach), 2 * reach)) for v in box)
    return left, top, max(left, right - 1), max(top, bottom - 1)


def _outline(canvas: Pixels, box: tuple[int, int, int, int], mark: Mark, width: int) -> None:
    left, top, right, bottom = box
    corners = ((left, top), (right, top), (right, bottom), (left, bottom), (left, top))
    for colour, thickness in ((BLACK, width + 2), (mark.colour, width)):  # a dark edge, for any picture below
        for start, end in itertools.pairwise(corners):
            for dash in _dashes(start, end, 6 * width if mark.dashed else 0):
                cv2.line(canvas, *dash, colour, thickness)


def _dashes(
    start: tuple[int, int], end: tuple[int, int], length: int
) -> Iterator[tuple[tuple[int, int], tuple[int, int]]]:
    """The line, or where `length` is not 0, dashes of that length with gaps of the same."""
    total = max(abs(end[0] - start[0]), abs(end[1] - start[1]))
    if not length or not total:
        yield start, end
        return
    x, y = (end[0] - start[0]) / total, (end[1] - start[1]) / total
    for at in range(0, total, 2 * length):
        stop = min(at + length, total)
        yield (
            (round(start[0] + x * at), round(start[1] + y * at)),
            (round(start[0] + x * stop), round(start[1] + y * stop)),
        )


def _legend(marks: Sequence[Mark], width: int) -> Pixels:
    """(h, w, 3), w at least `width`: a line a mark, a piece of its colour before it."""
    size = max(14, round(width / 50))
    rows = [_legend_row(mark, size) for mark in marks]
    across = max(width, *(row.shape[1] for row in rows))
    return np.concatenate([_widened(row, across) for row in rows])


def _legend_row(mark: Mark, size: int) -> Pixels:
    ink = np.pad(draw_text(mark.told, size), ((size // 4, size // 4), (3 * size, size)))  # (h, w)
    share = ink[..., np.newaxis] / 255
    row: Pixels = np.rint(np.array(_GROUND) * (1 - share) + np.array(WHITE) * share).astype(np.uint8)
    middle, stroke = row.shape[0] // 2, max(2, size // 5)
    for (left, _), (right, _) in _dashes((size // 2, 0), (5 * size // 2, 0), size // 3 if mark.dashed else 0):
        row[middle - stroke : middle + stroke, left:right] = mark.colour
    return row


def _widened(rows: Pixels, width: int) -> Pixels:
    """Filled up on the right to a width."""
    wide = np.full((rows.shape[0], width, 3), _GROUND, np.uint8)
    wide[:, : rows.shape[1]] = rows
    return wide


def _above(canvas: Pixels, legend: Pixels) -> Pixels:
    return np.concatenate([_widened(canvas, legend.shape[1]), legend])
