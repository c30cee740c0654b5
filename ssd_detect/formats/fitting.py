"""From a box as it stands in a file to one that has an area and lies inside its picture."""

from collections.abc import Callable

from ssd_detect.formats.rounding import Box

ROUNDING = 0.5
"""Pixels that a box may reach outside its picture without a word: tools round coordinates and shares."""

Tell = Callable[[str, str], None]
"""Takes a kind of problem and what was found."""


def in_order(box: Box, tell: Tell) -> Box:
    """The box with its corners swapped back where they are swapped: both sides alike."""
    x0, y0, x1, y1 = box
    if x0 <= x1 and y0 <= y1:
        return box
    tell("box-inverted", f"corners {shown(box)} are swapped")
    return min(x0, x1), min(y0, y1), max(x0, x1), max(y0, y1)


def inside(box: Box, size: tuple[int, int], tell: Tell) -> Box | None:
    """The part of a box, with ordered corners, that lies in the picture of `size`; None where it has no area there."""
    x0, y0, x1, y1 = box
    if not (x0 < x1 and y0 < y1):
        tell("box-empty", f"box {shown(box)} has no {'width' if x0 >= x1 else 'height'}")
        return None
    width, height = size
    cut = max(x0, 0.0), max(y0, 0.0), min(x1, float(width)), min(y1, float(height))
    if not (cut[0] < cut[2] and cut[1] < cut[3]):
        tell("box-outside", f"box {shown(box)} lies outside the picture of {width}x{height}")
        return None
    if max(abs(a - b) for a, b in zip(box, cut, strict=True)) > ROUNDING:
        tell("box-cut", f"box {shown(box)} reaches outside the picture of {width}x{height}")
    return cut


def shown(box: Box) -> str:
    """The four numbers for a message."""
    return ", ".join(f"{v:g}" for v in box)
