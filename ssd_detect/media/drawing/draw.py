"""Boxes and labels on a picture."""

import io
import math
import unicodedata
from functools import lru_cache

import cv2
import numpy as np
from PIL import Image

from ssd_detect.arrays import Floats, Pixels
from ssd_detect.detections import Detection, Detections
from ssd_detect.media.drawing.lettering import draw_text
from ssd_detect.media.drawing.palette import Colour, class_colour, text_colour
from ssd_detect.media.regions import PixelBoxes, check_picture

NOTEBOOK_SIDE = 1280  # pixels; a larger picture only makes a notebook heavy
SMALLEST_TEXT = 8  # pixels per em; anything below is no longer readable
LONGEST_NAME = 60  # characters


def draw_detections(picture: Pixels, detections: Detections, *, labels: bool = True) -> Pixels:
    """A new picture with a box, and a label such as "person 0.93", for each detection; the best ones on top.

    Lines and letters grow with the picture. A label that would not fit even in small letters is left out.

    Args:
        picture: (H, W, 3) uint8 RGB; never changed.
        detections: of this picture, so of size (W, H).
        labels: False draws the boxes alone.

    Raises:
        PictureError: the array is no such picture, or the detections are of one of another size.
    """
    canvas = np.array(picture, order="C")  # a copy, whatever the strides of the caller's array
    draw_in_place(canvas, detections, labels=labels)
    return canvas


def draw_in_place(canvas: Pixels, detections: Detections, *, labels: bool = True) -> None:
    """As `draw_detections`, into the picture itself, which saves the memory of a copy.

    Args:
        canvas: (H, W, 3) uint8 RGB, contiguous and writable.
        detections: of this picture.
        labels: False draws the boxes alone.

    Raises:
        PictureError: as `draw_detections`.
    """
    check_picture(canvas, detections)
    _draw(canvas, detections, detections.boxes, labels)


def annotated_png(picture: Pixels, detections: Detections) -> bytes:
    """The picture with its detections as a PNG file for notebooks, reduced to at most 1280 pixels a side.

    Raises:
        PictureError: as `draw_detections`.
    """
    check_picture(picture, detections)
    width, height = detections.size
    scale = min(1.0, NOTEBOOK_SIDE / max(width, height))
    size = max(1, round(width * scale)), max(1, round(height * scale))
    canvas = np.array(picture, order="C") if scale == 1 else _reduce(picture, size)
    per_side = np.array(size, np.float32) / np.array(detections.size, np.float32)
    _draw(canvas, detections, detections.boxes * np.tile(per_side, 2), labels=True)
    png = io.BytesIO()
    Image.fromarray(canvas).save(png, "PNG")
    return png.getvalue()


def _reduce(picture: Pixels, size: tuple[int, int]) -> Pixels:
    return np.asarray(cv2.resize(np.ascontiguousarray(picture), size, interpolation=cv2.INTER_AREA), np.uint8)


def _draw(canvas: Pixels, detections: Detections, boxes_xyxy: Floats, labels: bool) -> None:
    height, width = canvas.shape[:2]
    boxes = _to_pixels(boxes_xyxy, width, height)
    best_first = np.argsort(-detections.scores, kind="stable")
    found = list(detections)
    for i in best_first[::-1]:
        _draw_box(canvas, boxes[i], class_colour(found[i].class_name))
    if labels:
        _draw_labels(canvas, [found[i] for i in best_first], boxes[best_first])


def _to_pixels(boxes_xyxy: Floats, width: int, height: int) -> PixelBoxes:
    """(n, 4) to (n, 4) whole pixels, at least one wide and high, inside the picture."""
    size = np.array([width, height])
    first = np.minimum(np.rint(boxes_xyxy[:, :2]), size - 1)
    end = np.clip(np.rint(boxes_xyxy[:, 2:]), first + 1, size)
    return np.concatenate([first, end], axis=1).astype(np.int32)


def _draw_box(canvas: Pixels, box: PixelBoxes, colour: Colour) -> None:
    """Draw the line inside the box, so that it shows at the picture's border too."""
    left, top, right, bottom = box.tolist()
    # A small object must not vanish under its box.
    width = min(_line_width(canvas), max(1, min(right - left, bottom - top) // 4))
    _fill(canvas, left, top, right, top + width, colour)
    _fill(canvas, left, bottom - width, right, bottom, colour)
    _fill(canvas, left, top, left + width, bottom, colour)
    _fill(canvas, right - width, top, right, bottom, colour)


def _fill(canvas: Pixels, left: int, top: int, right: int, bottom: int, colour: Colour) -> None:
    cv2.rectangle(canvas, (left, top), (right - 1, bottom - 1), colour, cv2.FILLED)  # OpenCV includes the last pixel


def _mean_side(canvas: Pixels) -> float:
    return math.sqrt(canvas.shape[0] * canvas.shape[1])


def _line_width(canvas: Pixels) -> int:
    """1 pixel for a thumbnail, 2 at 640x480, 3 at 1280x720, 18 at 8000x6000."""
    return max(1, round(0.7 + _mean_side(canvas) / 400))


def _text_size(canvas: Pixels) -> int:
    """Pixels per em: 10 for a thumbnail, 14 at 640x480, 20 at 1280x720, 104 at 8000x6000."""
    return max(10, round(6 + 0.0142 * _mean_side(canvas)))


def _draw_labels(canvas: Pixels, best_first: list[Detection], boxes: PixelBoxes) -> None:
    height, width = canvas.shape[:2]
    taken = np.empty((0, 4), np.int32)
    placed: list[tuple[int, int, Pixels]] = []
    for found, box in zip(best_first, boxes, strict=True):
        patch = _fitting_patch(found, _text_size(canvas), width, height)
        if patch is not None:
            left, top = _find_spot(patch, box, width, height, taken)
            taken = np.vstack([taken, _extent(left, top, patch)])
            placed.append((left, top, patch))
    for left, top, patch in reversed(placed):
        canvas[top : top + patch.shape[0], left : left + patch.shape[1]] = patch


def _fitting_patch(found: Detection, text_size: int, width: int, height: int) -> Pixels | None:
    """The label, or a smaller or shorter one, or None if all are larger than the picture."""
    name = _printable(found.class_name)
    with_score = f"{name} {found.score:.2f}".strip()
    for text, size in ((with_score, text_size), (with_score, SMALLEST_TEXT), (name, SMALLEST_TEXT)):
        patch = _label_patch(text, size, class_colour(found.class_name))
        if patch.shape[0] <= height and patch.shape[1] <= width:
            return patch
    return None


def _printable(name: str) -> str:
    shown = "".join(" " if unicodedata.category(c) in ("Cc", "Cs", "Zl", "Zp") else c for c in name)
    shown = " ".join(shown.split())
    return shown if len(shown) <= LONGEST_NAME else shown[: LONGEST_NAME - 1] + "…"


@lru_cache(maxsize=256)  # scores have two decimals, so that the labels of a video come back
def _label_patch(text: str, size: int, colour: Colour) -> Pixels:
    """(h, w, 3): text on a ground of `colour`, ready to be copied into a picture."""
    beside, above, below = math.ceil(size * 0.32), math.ceil(size * 0.2), math.ceil(size * 0.1)  # few letters go below
    ink = np.pad(draw_text(text, size), ((above, below), (beside, beside)))  # (h, w)
    patch: Pixels = _shades(colour)[ink]  # (h, w, 3)
    patch.flags.writeable = False  # the cache hands the same array to all
    return patch


def _shades(ground: Colour) -> Pixels:
    """(256, 3): from the ground's colour to the text's."""
    share = np.linspace(0, 1, 256)[:, np.newaxis]
    return np.rint(np.array(ground) * (1 - share) + np.array(text_colour(ground)) * share).astype(np.uint8)


def _find_spot(patch: Pixels, box: PixelBoxes, width: int, height: int, taken: PixelBoxes) -> tuple[int, int]:
    """Left and top of the label: above the box, else inside or below; where no better one stands, if it can be."""
    left, top, _, bottom = box.tolist()
    above, inside, last_inside = top - patch.shape[0], min(top, height - patch.shape[0]), bottom - patch.shape[0]
    tops = [above, inside, bottom, last_inside]
    if bottom - top < 2 * patch.shape[0]:  # inside would hide the object
        tops = [above, bottom, inside]
    left = min(left, width - patch.shape[1])
    spots = [(left, y) for y in tops if 0 <= y <= height - patch.shape[0]]
    free = (spot for spot in spots if not _overlaps_any(_extent(*spot, patch), taken))
    return next(free, spots[0])


def _extent(left: int, top: int, patch: Pixels) -> PixelBoxes:
    return np.array([left, top, left + patch.shape[1], top + patch.shape[0]], np.int32)


def _overlaps_any(box: PixelBoxes, others: PixelBoxes) -> bool:
    return bool(((box[:2] < others[:, 2:]) & (others[:, :2] < box[2:])).all(axis=1).any())
