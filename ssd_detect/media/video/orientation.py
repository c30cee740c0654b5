"""Turning a video's frames as its display matrix says: phones store them as the sensor lies and note the turn."""

from typing import NamedTuple

import av
import numpy as np

from ssd_detect.arrays import Pixels


class Orientation(NamedTuple):
    """Where a stored pixel (x, y) is shown: x' = a x + c y, y' = b x + d y, but for a shift."""

    a: int
    b: int
    c: int
    d: int

    @property
    def swaps_sides(self) -> bool:
        """Whether width becomes height."""
        return abs(self.b) > abs(self.a)

    def upright(self, pixels: Pixels) -> Pixels:
        """The (H, W, 3) picture as it is meant to be seen; a turn by an odd angle counts as the next right one."""
        to_right, down = (self.c, self.b) if self.swaps_sides else (self.a, self.d)
        if self.swaps_sides:
            pixels = pixels.transpose(1, 0, 2)  # (H, W, 3) -> (W, H, 3)
        if to_right < 0:
            pixels = pixels[:, ::-1]
        if down < 0:
            pixels = pixels[::-1]
        return np.ascontiguousarray(pixels)


AS_STORED = Orientation(1, 0, 0, 1)


def orientation_of(frame: av.VideoFrame) -> Orientation:
    """What the display matrix of a decoded frame says: nine numbers a, b, u, c, d, v, x, y, w (ISO 14496-12, 8.3.2)."""
    matrix = frame.side_data.get("DISPLAYMATRIX")
    if not isinstance(matrix, av.buffer.Buffer):
        return AS_STORED
    a, b, _, c, d, *_ = np.frombuffer(bytes(matrix), np.int32).tolist()
    return Orientation(a, b, c, d)
