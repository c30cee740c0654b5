"""What is to be explained. No NumPy here, so that what makes no sense is said at once."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from ssd_detect.errors import SettingError

Four: TypeAlias = tuple[float, float, float, float]
"""Four numbers of a box, or four offsets."""

DEFAULT_TOP = 5


@dataclass(frozen=True)
class Question:
    """A detection, or a point, or a region, or one of the first two with a region; pixels of the upright picture.

    Args:
        box: number of a detection, from 1.
        at: x, y of a point.
        region: x0, y0, x1, y1, where an object should be found.
        top: how many entries of each list, and classes of each anchor, are told; at least 1.

    Raises:
        SettingError: nothing, or both a detection and a point, or a region without an area.
    """

    box: int | None = None
    at: tuple[float, float] | None = None
    region: Four | None = None
    top: int = DEFAULT_TOP

    def __post_init__(self) -> None:
        if self.box is not None and self.at is not None:
            raise SettingError("both a detection and a point are given, expected one of them; leave --box or --at out")
        if self.box is None and self.at is None and self.region is None:
            raise SettingError("nothing to explain; give --at X,Y or --box N or --region X0,Y0,X1,Y1")
        if self.region is not None and not (self.region[0] < self.region[2] and self.region[1] < self.region[3]):
            raise SettingError(f"region is {_words(self.region)}, expected left, top, right, bottom with an area")

    def check_inside(self, size: tuple[int, int]) -> None:
        """Be sure that the question is about a picture of this width and height.

        Raises:
            SettingError: the point, or all of the region, is outside it.
        """
        width, height = size
        if self.at is not None and not (0 <= self.at[0] <= width and 0 <= self.at[1] <= height):
            raise SettingError(f"the point {_words(self.at)} is outside the picture of {width}x{height} pixels")
        if self.region is not None:
            x0, y0, x1, y1 = self.region
            if not (x0 < width and y0 < height and x1 > 0 and y1 > 0):
                raise SettingError(
                    f"the region {_words(self.region)} is outside the picture of {width}x{height} pixels"
                )


def _words(values: Sequence[float]) -> str:
    return ",".join(f"{v:g}" for v in values)
