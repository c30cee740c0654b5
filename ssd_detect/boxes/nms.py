"""Greedy non-maximum suppression."""

import numpy as np

from ssd_detect.arrays import Flags, Floats, Integers
from ssd_detect.boxes.geometry import pairwise_iou


def suppress(boxes: Floats, class_ids: Integers, iou_threshold: float, *, class_agnostic: bool = False) -> Flags:
    """Which boxes stay when each one removes the later ones that overlap it.

    Args:
        boxes: (n, 4) float32 xyxy, each with an area, best score first; any unit.
        class_ids: (n,) int64.
        iou_threshold: a later box goes when its IoU with an earlier one that stays is this or more.
        class_agnostic: compare boxes of different classes too.

    Returns:
        (n,) bool. Time and memory grow with n squared: bound n before (`top_k`).
    """
    removes = pairwise_iou(boxes, boxes) >= np.float32(iou_threshold)  # (n, n)
    if not class_agnostic:
        removes &= class_ids[:, np.newaxis] == class_ids
    removes &= np.tri(len(boxes), k=-1, dtype=np.bool_).T  # only later ones
    stays = np.ones(len(boxes), np.bool_)
    for i in np.flatnonzero(removes.any(axis=1)):
        if stays[i]:
            stays &= ~removes[i]
    return stays
