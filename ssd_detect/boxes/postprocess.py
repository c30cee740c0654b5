"""From what was selected of the network's outputs for a batch to its detections: rank, decode, clip, suppress.

All pictures of a batch go through each step together. `boxes.profiles` says in what way, and what of the sources' ways
is left out.
"""

from typing import NamedTuple

import numpy as np

from ssd_detect.arrays import Flags, Floats, Integers
from ssd_detect.boxes.decode import decode_offsets
from ssd_detect.boxes.geometry import clip_xyxy
from ssd_detect.boxes.groups import ranks
from ssd_detect.boxes.nms import suppress
from ssd_detect.boxes.profiles import ProfileRules, rules_of
from ssd_detect.boxes.selection import Selected, score_limits
from ssd_detect.boxes.selection import select_scores as select
from ssd_detect.detections import DroppedBoxes
from ssd_detect.settings import DetectionSettings

# A box narrower than this share of the picture has no area: its corners could meet when scaled to pixels in float32.
MIN_SIDE_UNIT = np.float32(1e-6)
# Sides longer than this, in pictures, are as good as infinite: areas, and sums of two, must be float32 numbers.
_MAX_SIDE_UNIT = np.float32(1e18)
# Steps of scores: the upper bits of a float32, of which four are of the fraction, sixteen steps to an octave.
_STEPS = 16 * 16 + 1
_LOWEST_STEP = (int(np.float32(1).view(np.int32)) >> 19) - 16 * 16


class Candidates(NamedTuple):
    """Boxes with a class and a score: by picture, best score first; ties in the order of anchors, then classes."""

    boxes_unit: Floats  # (n, 4) xyxy; within 0..1 where the profile clips first
    scores: Floats  # (n,)
    class_ids: Integers  # (n,)
    anchor_ids: Integers  # (n,), which anchor made each
    picture_ids: Integers  # (n,), never falling

    def at(self, places: Flags | Integers | slice) -> "Candidates":
        """Some of them."""
        return Candidates(
            self.boxes_unit[places],
            self.scores[places],
            self.class_ids[places],
            self.anchor_ids[places],
            self.picture_ids[places],
        )


def candidates_of(selected: Selected, anchors: Floats, settings: DetectionSettings) -> tuple[Candidates, Integers]:
    """Candidates of a batch, and how many boxes of each picture are dropped.

    Args:
        selected: with the limits of `selection.score_limits`.
        anchors: (N, 4) float32 cxcywh unit.
        settings: resolved, see `boxes.profiles`; the same for `keep_best`.

    Returns:
        candidates, and (B, 3) int64 in the order of `DroppedBoxes`.
    """
    rules = rules_of(settings)
    best = selected.at(_best_first(selected, rules))
    boxes = decode_offsets(best.offsets, anchors[best.anchor_ids], rules.max_log_scale)  # (n, 4)
    finite = _is_finite(boxes)
    clipped = clip_xyxy(boxes)
    has_area = _has_area(clipped)
    compared = clipped if rules.clips_first else boxes
    candidates = Candidates(compared, best.scores, best.class_ids, best.anchor_ids, best.picture_ids)
    dropped = _dropped(boxes, finite, has_area, best.picture_ids, len(best.peaks))
    return candidates.at(finite if rules.flat_take_places else finite & has_area), dropped


def _best_first(selected: Selected, rules: ProfileRules) -> Integers:
    """Places by picture, then falling score; of each picture, or of each class in it, `top_k` at most."""
    places, scores, picture_ids = np.arange(len(selected.scores)), selected.scores, selected.picture_ids
    groups = _groups(picture_ids, selected.class_ids, by_class=rules.per_class)
    top_k = rules.top_k if rules.top_k is not None and np.bincount(groups).max(initial=0) > rules.top_k else None
    if top_k is not None:  # sorting all of them would take long
        places = np.flatnonzero(_may_be_best(scores, groups, top_k))
    order = places[np.lexsort((-scores[places], picture_ids[places]))]  # stable: ties stay by anchor, then class
    return order if top_k is None else order[ranks(groups[order]) < top_k]


def _may_be_best(scores: Floats, groups: Integers, k: int) -> Flags:
    """(n,): false for most of those that are not among the k best of their group, true for the others.

    Scores are counted in steps of about 6 % from 2^-16 to 1; out go those below whose step are k others.
    """
    steps = np.clip((np.ascontiguousarray(scores).view(np.int32) >> 19) - _LOWEST_STEP, 0, _STEPS - 1)
    of_groups = groups * _STEPS + steps
    counts = np.bincount(of_groups, minlength=(groups.max() + 1) * _STEPS).reshape(-1, _STEPS)
    higher = counts[:, ::-1].cumsum(axis=1)[:, ::-1] - counts  # how many of a group are in the steps above each
    flags: Flags = (higher < k).take(of_groups)
    return flags


def _groups(picture_ids: Integers, class_ids: Integers, *, by_class: bool) -> Integers:
    """(n,): a number for each picture, or for each class in each picture."""
    return picture_ids * (class_ids.max(initial=0) + 1) + class_ids if by_class else picture_ids


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
        thresholds: (C,) float32, a score threshold for each class in the place of the settings'.
    """
    limits = score_limits(wanted, settings, thresholds)
    selected = select(scores[np.newaxis], offsets[np.newaxis], limits)
    candidates, dropped = candidates_of(selected, anchors, settings)
    return candidates, DroppedBoxes(*dropped[0].tolist())


def select_scores(
    scores: Floats, wanted: Flags, settings: DetectionSettings, thresholds: Floats | None = None
) -> tuple[Integers, Integers]:
    """Anchors (n,) and classes (n,) of what `decode_candidates` decodes, in its order."""
    limits = score_limits(wanted, settings, thresholds)
    selected = select(scores[np.newaxis], np.zeros((1, len(scores), 4), np.float32), limits)
    best = _best_first(selected, rules_of(settings))
    return selected.anchor_ids[best], selected.class_ids[best]


def _is_finite(boxes_unit: Floats) -> Flags:
    """Whether corners and area are numbers; corners lie half a side from the centre, so that sides tell of both."""
    with np.errstate(invalid="ignore", over="ignore"):  # infinity minus infinity
        flags: Flags = (boxes_unit[:, 2:] - boxes_unit[:, :2] < _MAX_SIDE_UNIT).all(axis=1)
    return flags


def _has_area(clipped_unit: Floats) -> Flags:
    with np.errstate(invalid="ignore"):  # not a number
        flags: Flags = (clipped_unit[:, 2:] - clipped_unit[:, :2] >= MIN_SIDE_UNIT).all(axis=1)
    return flags


def _dropped(boxes_unit: Floats, finite: Flags, has_area: Flags, picture_ids: Integers, num_pictures: int) -> Integers:
    """(B, 3): the counts of `DroppedBoxes` for each picture."""
    flat = finite & ~has_area
    outside = flat & ((boxes_unit[:, 2:] <= 0) | (boxes_unit[:, :2] >= 1)).any(axis=1)
    kinds = (flat & ~outside, outside, ~finite)
    return np.stack([np.bincount(picture_ids[kind], minlength=num_pictures) for kind in kinds], axis=1)


def keep_best(candidates: Candidates, settings: DetectionSettings) -> Candidates:
    """The candidates that no better one suppresses, within the limits, clipped to 0..1, in the same order."""
    rules = rules_of(settings)
    limits = [limit for limit in (rules.max_per_class, rules.max_detections) if limit is not None]
    stays = suppress(
        candidates.boxes_unit,
        _groups(candidates.picture_ids, candidates.class_ids, by_class=not settings.class_agnostic),
        settings.nms_threshold,
        removes_equal=rules.removes_equal,
        limit=min(limits, default=None),  # no class can have more among the best of a picture
    )
    kept = candidates.at(stays)
    if rules.max_detections is not None and len(kept.scores) > rules.max_detections:
        kept = kept.at(ranks(kept.picture_ids) < rules.max_detections)
    if not rules.clips_first:
        kept = kept._replace(boxes_unit=clip_xyxy(kept.boxes_unit))
    return kept.at(_has_area(kept.boxes_unit)) if rules.flat_take_places else kept
