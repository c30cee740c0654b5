"""One picture at several sizes through the network: the same things, each seen by small and by large anchors."""

import cv2
import numpy as np

from ssd_detect.arrays import Floats
from ssd_detect.inspection.guess import Level
from ssd_detect.model.session import NetworkSession

# Each level is a quarter of an octave smaller, down to about a third: a thing passes through three sizes of anchors.
_LEVELS = 7
_LEVELS_AN_OCTAVE = 4


def pyramid(resized: Floats, mean: Floats) -> tuple[tuple[float, ...], Floats]:
    """A picture at all levels.

    Args:
        resized: (S, S, 3) float32, 0 to 255.
        mean: (3,) float32, the colour that the network subtracts.

    Returns:
        side of each level as a share of S, and (levels, S, S, 3) float32; the mean lies around the smaller ones.
    """
    full = len(resized)
    # Even, so that what is left and right of it is whole and equal: boxes are mapped back by the centre.
    sides = [2 * round(full / 2 * 2 ** (-level / _LEVELS_AN_OCTAVE)) for level in range(_LEVELS)]
    canvases = np.tile(mean, (_LEVELS, full, full, 1))
    for canvas, side in zip(canvases, sides, strict=True):
        start = (full - side) // 2
        shrunk = cv2.resize(resized, (side, side), interpolation=cv2.INTER_AREA) if side < full else resized
        canvas[start : start + side, start : start + side] = shrunk
    return tuple(side / full for side in sides), canvases


def run_pyramid(network: NetworkSession, resized: Floats, mean: Floats) -> list[Level]:
    """The network on each level, one call a level: all at once would take seven times the memory. As `pyramid`.

    Raises:
        DeviceError: not enough memory.
    """
    sides, canvases = pyramid(resized, mean)
    outputs = (network.run(canvas[np.newaxis]) for canvas in canvases)
    return [Level(side, scores[0], offsets[0]) for side, (scores, offsets) in zip(sides, outputs, strict=True)]
