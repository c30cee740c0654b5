"""From the network's offsets to boxes."""

import numpy as np

from ssd_detect.arrays import Floats
from ssd_detect.boxes.geometry import cxcywh_to_xyxy

# Offsets are trained divided by these, for x, y, width, height ("variances" in the Caffe release).
CENTRE_VARIANCE = np.float32(0.1)
SIZE_VARIANCE = np.float32(0.2)


def decode_offsets(offsets: Floats, anchors: Floats, max_log_scale: float | None = None) -> Floats:
    """Boxes that `offsets` make of `anchors` (Liu et al. 2016, equation 2, solved for the box).

    Args:
        offsets: (n, 4) float32, the network's raw output: shift of the centre, log of the size.
        anchors: (n, 4) float32, cxcywh unit.
        max_log_scale: the logarithm of a box's side over its anchor's is cut to this; None lets it be.

    Returns:
        (n, 4) float32, xyxy unit, not clipped; infinite or NaN where the offsets are too large.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        centres = offsets[:, :2] * anchors[:, 2:] * CENTRE_VARIANCE + anchors[:, :2]
        log_scales = offsets[:, 2:] * SIZE_VARIANCE
        if max_log_scale is not None:
            np.minimum(log_scales, np.float32(max_log_scale), out=log_scales)
        sizes = anchors[:, 2:] * np.exp(log_scales)
        return cxcywh_to_xyxy(np.concatenate([centres, sizes], axis=1))
