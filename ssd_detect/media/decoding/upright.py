"""Arrays that are upright, seen as their file stores them, so that turning a picture takes no second copy of it."""

from collections.abc import Iterator

import numpy as np

from ssd_detect.arrays import Pixels

# EXIF orientation -> whether to swap rows and columns, then to mirror left and right, then top and bottom.
_TURNS = {
    1: (False, False, False), 2: (False, True, False), 3: (False, True, True), 4: (False, False, True),
    5: (True, False, False), 6: (True, True, False), 7: (True, True, True), 8: (True, False, True),
}  # fmt: skip
_PART_PIXELS = 1 << 22


def new_upright(width: int, height: int, orientation: int) -> tuple[Pixels, Pixels]:
    """An empty upright picture, and a view of it in which pixels are where the file stores them.

    Args:
        width, height: as stored.
        orientation: 1 to 8 as in EXIF's tag 0x0112.

    Returns:
        (H, W, 3) contiguous; and (height, width, 3) that shares its memory.
    """
    swap, mirror, flip = _TURNS[orientation]
    upright = np.empty((width, height, 3) if swap else (height, width, 3), np.uint8)
    stored = upright[:: -1 if flip else 1, :: -1 if mirror else 1]
    return upright, stored.transpose(1, 0, 2) if swap else stored


def parts(width: int, height: int) -> Iterator[tuple[int, int, int, int]]:
    """Left, top, right, bottom of parts of some million pixels that cover a picture."""
    columns = min(width, _PART_PIXELS)
    rows = max(1, _PART_PIXELS // columns)
    for top in range(0, height, rows):
        for left in range(0, width, columns):
            yield left, top, min(left + columns, width), min(top + rows, height)
