"""A picture as the network's square input, by each rule of `ResizeRule`, on the host: every engine gets the same."""

from ssd_detect.arrays import Floats, Pixels
from ssd_detect.conventions import ResizeRule


def resized(picture: Pixels, side: int, rule: ResizeRule) -> Floats:
    """(H, W, 3) uint8 to (side, side, 3) float32, 0 to 255."""
    raise NotImplementedError(rule, side, picture.shape)
