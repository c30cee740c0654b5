"""What results say of a video as a whole, once, before its frames."""

import re
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from ssd_detect.formats.json_values import file_name, text, whole

_RATE = re.compile("[1-9][0-9]*/[1-9][0-9]*")


@dataclass(frozen=True)
class VideoHead:
    """A video of which results tell.

    Args:
        file: the video as the user named it.
        size: (width, height) in pixels of every frame, upright.
        rate: frames a second on average.

    Raises:
        ValueError: a size below 1x1 or a rate that is not above 0.
    """

    file: str
    size: tuple[int, int]
    rate: Fraction

    def __post_init__(self) -> None:
        if min(self.size) < 1:
            raise ValueError(f"the video's size is {self.size[0]}x{self.size[1]}, expected at least 1x1")
        if self.rate <= 0:
            raise ValueError(f"the video's rate is {self.rate}, expected more than 0 frames a second")

    def to_dict(self) -> dict[str, Any]:
        """Plain values: file, width, height, rate; the rate as a fraction, such as "30000/1001" or "25/1"."""
        width, height = self.size
        rate = f"{self.rate.numerator}/{self.rate.denominator}"
        return {"file": self.file, "width": width, "height": height, "rate": rate}


def video_from(value: Any) -> VideoHead:
    """The video that `VideoHead.to_dict` told of; other members are passed over.

    Raises:
        ValueError: a member is missing or of the wrong kind.
    """
    rate = text(value, "rate")
    if not _RATE.fullmatch(rate):
        raise ValueError(f"'rate' is {rate!r}, expected a fraction such as '30000/1001'")
    return VideoHead(file_name(value, "file"), (whole(value, "width"), whole(value, "height")), Fraction(rate))
