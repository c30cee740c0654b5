"""From the network's two outputs for one picture to its detections: select, decode, clip, suppress.

`boxes.profiles` says in what way, and what of the sources' ways is left out.
"""

from typing import NamedTuple

import numpy as np

from ssd_detect.arrays import Flags, Floats, Integers
from ssd_detect.boxes.decode import decode_offsets
from ssd_detect.boxes.geometry import clip_xyxy
from ssd_detect.boxes.nms import suppress
from ssd_detect.boxes.profiles import rules_of
from ssd_detect.detections import DroppedBoxes
from ssd_detect.settings import DetectionSettings

# A box narrower than this share of the picture has no area: its corners could meet when scaled to pixels in float32.
MIN_SIDE_UNIT = np.float32(1e-6)
# Sides longer than this, in pictures, are as good as infinite: areas, and sums of two, must be float32 numbers.
_MAX_SIDE_UNIT = np.float32(1e18)


class Candidates(NamedTuple):
    """Boxes with a class and a score, best score first; ties in the order of anchors, then classes."""

    boxes_unit: Floats  # (n, 4) xyxy; within 0..1 where the profile clips first
    scores: Floats  # (n,)
    class_ids: Integers  # (n,)
    anchor_ids: Integers  # (n,), which anchor made each

    def at(self, places: Flags | Integers | slice) -> "Candidates":
        """Some of them."""
        return Candidates(self.boxes_unit[places], self.scores[places], self.class_ids[places], self.anchor_ids[places])


def select_scores(
    scores: Floats, wanted: Flags, settings: DetectionSettings, thresholds: Floats | None = None
) -> tuple[Integers, Integers]:
    """The best `top_k` of the scores that pass the threshold, of each class or of all wanted classes together.

    Args:
        scores: (N, C) float32, 0 to 1; a NaN is never selected.
        wanted: (C,) bool, which classes count; the background (0) must not.
        settings: resolved; score_threshold, profile and top_k count here.
        thresholds: (C,) float32, one for each class in the place of score_threshold.

    Returns:
        anchor numbers (n,) and class ids (n,), best score first; ties by anchor, then class.
    """
    rules = rules_of(settings)
    passing = np.greater_equal if rules.selects_equal else np.greater
    # One comparison with the lowest of all is quicker than a row of them for each anchor.
    lowest = np.float32(settings.score_threshold) if thresholds is None else thresholds[wanted].min(initial=1)
    passes = passing(scores, lowest)  # (N, C)
    passes &= wanted
    flat = np.flatnonzero(passes)
    values = scores.reshape(-1)[flat]
    if thresholds is not None:
        kept = passing(values, thresholds[flat % scores.shape[1]])
        flat, values = flat[kept], values[kept]
    if rules.top_k is not None and len(flat) > rules.top_k:
        classes = flat % scores.shape[1] if rules.per_class else None
        kept = _largest(values, rules.top_k) if classes is None else _largest_of_each(values, classes, rules.top_k)
        flat, values = flat[kept], values[kept]
    flat = flat[np.argsort(-values, kind="stable")]
    return np.divmod(flat, scores.shape[1])


def _largest_of_each(values: Floats, classes: Integers, k: int) -> Integers:
    """Places of the k largest values of each class, in their own order."""
    is_kept = np.ones(len(values), np.bool_)
    for class_id in np.flatnonzero(np.bincount(classes) > k):
        places = np.flatnonzero(classes == class_id)
        is_kept[places] = False
        is_kept[places[_largest(values[places], k)]] = True
    return np.flatnonzero(is_kept)


def _largest(values: Floats, k: int) -> Integers:
    """Places of the k largest values, in their own order; among equals the first ones win."""
    limit = np.partition(values, len(values) - k)[len(values) - k]
    larger = np.flatnonzero(values > limit)
    equal = np.flatnonzero(values == limit)[: k - len(larger)]
    return np.sort(np.concatenate([larger, equal]))


def decode_candidates(
    scores: Floats,
    offsets: Floats,
    anchors: Floats,
    wanted: Flags,
    settings: DetectionSettings,
    thresholds: Floats | None = None,
) -> tuple[Candidates, DroppedBoxes]:
    """Candidates of one picture and what is dropped; only selected anchors are decoded.

    Args:
        scores: (N, C) float32.
        offsets: (N, 4) float32.
        anchors: (N, 4) float32 cxcywh unit.
        wanted: (C,) bool, without the background.
        settings: resolved, see `boxes.profiles`; the same for `keep_best`.
        thresholds: as for `select_scores`.
    """
    rules = rules_of(settings)
    anchor_ids, class_ids = select_scores(scores, wanted, settings, thresholds)
    boxes = decode_offsets(offsets[anchor_ids], anchors[anchor_ids], rules.max_log_scale)  # (n, 4)
    finite = _is_finite(boxes)
    clipped = clip_xyxy(boxes)
    has_area = _has_area(clipped)
    taken = finite if rules.flat_take_places else finite & has_area
    picked = scores[anchor_ids[taken], class_ids[taken]]
    compared = (clipped if rules.clips_first else boxes)[taken]
    candidates = Candidates(compared, picked, class_ids[taken], anchor_ids[taken])
    return candidates, _dropped(boxes, finite, has_area)


def _is_finite(boxes_unit: Floats) -> Flags:
    """Whether corners and area are numbers; corners lie half a side from the centre, so that sides tell of both."""
    with np.errstate(invalid="ignore", over="ignore"):  # infinity minus infinity
        flags: Flags = (boxes_unit[:, 2:] - boxes_unit[:, :2] < _MAX_SIDE_UNIT).all(axis=1)
    return flags


def _has_area(clipped_unit: Floats) -> Flags:
    with np.errstate(invalid="ignore"):  # not a number
        flags: Flags = (clipped_unit[:, 2:] - clipped_unit[:, :2] >= MIN_SIDE_UNIT).all(axis=1)
    return flags


def _dropped(boxes_unit: Floats, finite: Flags, has_area: Flags) -> DroppedBoxes:
    flat = finite & ~has_area
    outside = flat & ((boxes_unit[:, 2:] <= 0) | (boxes_unit[:, :2] >= 1)).any(axis=1)
    return DroppedBoxes(int((flat & ~outside).sum()), int(outside.sum()), int((~finite).sum()))


def keep_best(candidates: Candidates, settings: DetectionSettings) -> Candidates:
    """The candidates that no better one suppresses, within the limits, clipped to 0..1, best score first."""
    rules = rules_of(settings)
    limits = [limit for limit in (rules.max_per_class, rules.max_detections) if limit is not None]
    stays = suppress(
        candidates.boxes_unit,
        candidates.class_ids,
        settings.nms_threshold,
        class_agnostic=settings.class_agnostic,
        removes_equal=rules.removes_equal,
        limit=min(limits, default=None),  # no class can have more among the best of a picture
    )
    kept = candidates.at(np.flatnonzero(stays)[: rules.max_detections])
    if not rules.clips_first:
        kept = kept._replace(boxes_unit=clip_xyxy(kept.boxes_unit))
    return kept.at(_has_area(kept.boxes_unit)) if rules.flat_take_places else kept


def best_score(scores: Floats, wanted: Flags) -> tuple[int, float]:
    """Class id and value of the highest score of a wanted class; (0, 0.0) when there is none."""
    columns = np.flatnonzero(wanted)
    peaks = np.fmax.reduce(scores[:, columns], axis=0, initial=0.0)  # (wanted classes,); fmax passes over NaN
    if len(columns) == 0:
        return 0, 0.0
    best = int(np.argmax(peaks))
    return int(columns[best]), float(peaks[best])
