"""Which of a batch's scores can become detections at all: those above the limit of their class."""

from typing import NamedTuple

import numpy as np

from ssd_detect.arrays import Floats, Integers


class Selected(NamedTuple):
    """Scores of a batch of B pictures that are above the limits of their classes, by picture, anchor, then class.

    Args:
        picture_ids, anchor_ids, class_ids: (n,) int64.
        scores: (n,) float32.
        offsets: (n, 4) float32, of each one's anchor.
        peaks: (B, C) float32, the highest score of each class in each picture; a NaN is passed over; 0 where all are.
    """

    picture_ids: Integers
    anchor_ids: Integers
    class_ids: Integers
    scores: Floats
    offsets: Floats
    peaks: Floats


def select_scores(scores: Floats, offsets: Floats, limits: Floats) -> Selected:
    """Select on the host.

    Args:
        scores: (B, N, C) float32, 0 to 1; a NaN is never selected.
        offsets: (B, N, 4) float32.
        limits: (C,) float32; a score is selected when it is above its class's; infinity selects none.
    """
    num_anchors, num_classes = scores.shape[1:]
    # One comparison with the lowest of all is quicker than a row of them for each anchor.
    flat = np.flatnonzero(scores > limits.min())
    values, class_ids = scores.reshape(-1)[flat], flat % num_classes
    passes = values > limits[class_ids]
    flat, values, class_ids = flat[passes], values[passes], class_ids[passes]
    picture_ids, anchor_ids = np.divmod(flat // num_classes, num_anchors)
    return Selected(
        picture_ids,
        anchor_ids,
        class_ids,
        values,
        offsets[picture_ids, anchor_ids],
        np.fmax.reduce(scores, axis=1, initial=0.0),
    )
