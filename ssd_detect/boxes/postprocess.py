"""From the network's two outputs for one picture to its detections: select, decode, clip, suppress.

The profile is that of balancap/SSD-Tensorflow's notebook, with the faults taken out that it has: ties keep their
order, and boxes without an area are dropped.
"""

from typing import NamedTuple

import numpy as np

from ssd_detect.arrays import Flags, Floats, Integers
from ssd_detect.boxes.decode import decode_offsets
from ssd_detect.boxes.geometry import clip_xyxy
from ssd_detect.boxes.nms import suppress
from ssd_detect.detections import DroppedBoxes
from ssd_detect.settings import DetectionSettings

# A box narrower than this share of the picture has no area: its corners could meet when scaled to pixels in float32.
MIN_SIDE_UNIT = np.float32(1e-6)


class Candidates(NamedTuple):
    """Boxes with a class and a score, best score first; ties in the order of anchors, then classes."""

    boxes_unit: Floats  # (n, 4) xyxy, clipped to 0..1
    scores: Floats  # (n,)
    class_ids: Integers  # (n,)


def select_scores(scores: Floats, wanted: Flags, threshold: float, top_k: int) -> tuple[Integers, Integers]:
    """The best `top_k` of the scores above `threshold`, over all wanted classes together.

    Args:
        scores: (N, C) float32, 0 to 1; a NaN is never selected.
        wanted: (C,) bool, which classes count; the background (0) must not.
        threshold: a score must be above it.
        top_k: how many at most.

    Returns:
        anchor numbers (n,) and class ids (n,), best score first; ties by anchor, then class.
    """
    above = scores > np.float32(threshold)  # (N, C)
    above &= wanted
    flat = np.flatnonzero(above)
    values = scores.reshape(-1)[flat]
    if len(flat) > top_k:
        kept = _largest(values, top_k)
        flat, values = flat[kept], values[kept]
    flat = flat[np.argsort(-values, kind="stable")]
    return np.divmod(flat, scores.shape[1])


def _largest(values: Floats, k: int) -> Integers:
    """Places of the k largest values, in their own order; among equals the first ones win."""
    limit = np.partition(values, len(values) - k)[len(values) - k]
    larger = np.flatnonzero(values > limit)
    equal = np.flatnonzero(values == limit)[: k - len(larger)]
    return np.sort(np.concatenate([larger, equal]))


def decode_candidates(
    scores: Floats, offsets: Floats, anchors: Floats, wanted: Flags, settings: DetectionSettings
) -> tuple[Candidates, DroppedBoxes]:
    """Candidates of one picture and what was dropped; only selected anchors are decoded.

    Args:
        scores: (N, C) float32.
        offsets: (N, 4) float32.
        anchors: (N, 4) float32 cxcywh unit.
        wanted: (C,) bool, without the background.
        settings: score_threshold and top_k count here.
    """
    anchor_ids, class_ids = select_scores(scores, wanted, settings.score_threshold, settings.top_k)
    boxes = decode_offsets(offsets[anchor_ids], anchors[anchor_ids])  # (n, 4)
    usable, dropped = _usable(boxes)
    picked = scores[anchor_ids[usable], class_ids[usable]]
    return Candidates(clip_xyxy(boxes[usable]), picked, class_ids[usable]), dropped


def _usable(boxes_unit: Floats) -> tuple[Flags, DroppedBoxes]:
    """Which boxes have an area inside the picture, and why the others have none."""
    finite = np.isfinite(boxes_unit).all(axis=1)
    clipped = clip_xyxy(boxes_unit)
    with np.errstate(invalid="ignore"):  # infinity minus infinity, where not finite
        flat = finite & (clipped[:, 2:] - clipped[:, :2] < MIN_SIDE_UNIT).any(axis=1)
    outside = flat & ((boxes_unit[:, 2:] <= 0) | (boxes_unit[:, :2] >= 1)).any(axis=1)
    counts = DroppedBoxes(int((flat & ~outside).sum()), int(outside.sum()), int((~finite).sum()))
    return finite & ~flat, counts


def keep_best(candidates: Candidates, settings: DetectionSettings) -> Candidates:
    """The candidates that no better one suppresses, at most `max_detections`, best score first."""
    boxes, scores, class_ids = candidates
    stays = suppress(boxes, class_ids, settings.nms_threshold, class_agnostic=settings.class_agnostic)
    kept = np.flatnonzero(stays)[: settings.max_detections]
    return Candidates(boxes[kept], scores[kept], class_ids[kept])


def best_score(scores: Floats, wanted: Flags) -> tuple[int, float]:
    """Class id and value of the highest score of a wanted class; (0, 0.0) when there is none."""
    columns = np.flatnonzero(wanted)
    peaks = np.fmax.reduce(scores[:, columns], axis=0, initial=0.0)  # (wanted classes,); fmax passes over NaN
    if len(columns) == 0:
        return 0, 0.0
    best = int(np.argmax(peaks))
    return int(columns[best]), float(peaks[best])
