"""From the network's offsets to boxes."""

import numpy as np

from ssd_detect.arrays import Floats
from ssd_detect.boxes.geometry import cxcywh_to_xyxy

# Offsets are trained divided by these, for x, y, width, height ("variances" in the Caffe release).
CENTRE_VARIANCE = np.float32(0.1)
SIZE_VARIANCE = np.float32(0.2)


def decode_offsets(offsets: Floats, anchors: Floats) -> Floats:
    """Boxes that `offsets` make of `anchors` (Liu et al. 2016, equation 2, solved for the box).

    Args:
        offsets: (n, 4) float32, the network's raw output: shift of the centre, log of the size.
        anchors: (n, 4) float32, cxcywh unit.

    Returns:
        (n, 4) float32, xyxy unit, not clipped; infinite or NaN where the offsets are too large.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        centres = offsets[:, :2] * anchors[:, 2:] * CENTRE_VARIANCE + anchors[:, :2]
        sizes = anchors[:, 2:] * np.exp(offsets[:, 2:] * SIZE_VARIANCE)
        return cxcywh_to_xyxy(np.concatenate([centres, sizes], axis=1))
