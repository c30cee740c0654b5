"""What becomes of every anchor and class of a picture, by the functions that make its detections.

Nothing is decided here that `boxes.postprocess` decides: a pair of anchor and class is detected, a candidate, or passes
if those functions say so. What is worked out besides is why, and by which other box.
"""

from dataclasses import dataclass, replace
from enum import Enum

import numpy as np

from ssd_detect.arrays import Flags, Floats, Integers
from ssd_detect.boxes.geometry import pairwise_iou
from ssd_detect.boxes.nms import suppress
from ssd_detect.boxes.postprocess import decode_candidates, keep_best, select_scores
from ssd_detect.boxes.profiles import rules_of
from ssd_detect.settings import DetectionSettings


class Reason(str, Enum):
    """What became of an anchor and a class."""

    DETECTED = "detected"
    CLASS_EXCLUDED = "class-excluded"  # nobody asked for this class
    BELOW_THRESHOLD = "below-threshold"
    BEYOND_TOP_K = "beyond-top-k"  # too many better ones before the suppression
    DEGENERATE = "degenerate-box"  # no width or no height inside the picture
    OUTSIDE = "outside-picture"
    NON_FINITE = "non-finite-box"
    SUPPRESSED = "suppressed"  # a better box overlaps it
    BEYOND_LIMIT = "beyond-limit"  # too many better ones after the suppression


@dataclass(frozen=True)
class Outcome:
    """What became of one anchor and class, and why.

    Args:
        reason: one word for it.
        threshold: the score threshold of the class.
        margin: score minus threshold; NaN for a score that is none.
        detection: number of the detection, from 1: of itself, or of the one that suppressed it where that is reported.
        iou: overlap with what suppressed it, 0 to 1.
        remover: anchor and class of what suppressed it.
        rank: place by score, from 1, among those that pass the threshold: of its class, or of all classes where the
            profile counts so; None for those that do not pass.
        limit: for the two reasons of BEYOND: how many may enter the suppression, or leave it.
    """

    reason: Reason
    threshold: float
    margin: float
    detection: int | None = None
    iou: float | None = None
    remover: tuple[int, int] | None = None
    rank: int | None = None
    limit: int | None = None


@dataclass(frozen=True, eq=False)
class RawPicture:
    """The network's answer for one picture, and all that decides what is made of it.

    Args:
        scores: (N, C) float32, 0 to 1.
        offsets: (N, 4) float32.
        anchors: (N, 4) float32 cxcywh unit.
        wanted: (C,) bool, without the background.
        settings: resolved, see `boxes.profiles`.
        thresholds: (C,) float32, a score threshold for each class in the place of the settings' one; None where all
            have the same.
    """

    scores: Floats
    offsets: Floats
    anchors: Floats
    wanted: Flags
    settings: DetectionSettings
    thresholds: Floats | None = None


class Trace:
    """The way of all anchors and classes to the detections.

    `candidates` and `kept` are what `decode_candidates` and `keep_best` return; detection number n is `kept` at n - 1.

    Args:
        raw: of the picture.
    """

    def __init__(self, raw: RawPicture) -> None:
        self.raw = raw
        self.rules = rules_of(raw.settings)
        self.passing = _passing(raw)  # (n,) anchors, (n,) classes, best first
        self.candidates, _ = decode_candidates(
            raw.scores, raw.offsets, raw.anchors, raw.wanted, raw.settings, raw.thresholds
        )
        self.kept = keep_best(self.candidates, raw.settings)
        self.survives = suppress(
            self.candidates.boxes_unit,
            self.candidates.class_ids,
            raw.settings.nms_threshold,
            class_agnostic=raw.settings.class_agnostic,
            removes_equal=self.rules.removes_equal,
        )  # without the limits, which tell nothing about overlaps
        self._candidate_places = _places(self.candidates.anchor_ids, self.candidates.class_ids)
        self._numbers = {pair: i + 1 for pair, i in _places(self.kept.anchor_ids, self.kept.class_ids).items()}

    def outcome(self, anchor_id: int, class_id: int) -> Outcome:
        """What became of one anchor (0 to N - 1) and class (1 to C - 1)."""
        pair, settings = (anchor_id, class_id), self.raw.settings
        found = self._not_selected(*pair)
        if not self.raw.wanted[class_id]:
            return replace(found, reason=Reason.CLASS_EXCLUDED)
        rank = self.rank(*pair)
        if rank is None:
            return found
        found = replace(found, rank=rank)
        if pair in self._numbers:
            return replace(found, reason=Reason.DETECTED, detection=self._numbers[pair])
        if settings.top_k is not None and rank > settings.top_k:
            return replace(found, reason=Reason.BEYOND_TOP_K, limit=settings.top_k)
        place = self._candidate_places.get(pair)
        if place is not None and (remover := self.remover(place)) is not None:
            return self._suppressed(found, place, remover)
        fault = self._fault_of_box(*pair)
        return replace(found, reason=fault) if fault else self._beyond_limit(found, self._candidate_places[pair])

    def rank(self, anchor_id: int, class_id: int) -> int | None:
        """Place by score, from 1, among what is counted together for top_k; None if the score does not pass."""
        anchor_ids, class_ids = self.passing
        counted = np.flatnonzero(class_ids == class_id) if self.rules.per_class else np.arange(len(class_ids))
        place = np.flatnonzero((anchor_ids[counted] == anchor_id) & (class_ids[counted] == class_id))
        return int(place[0]) + 1 if len(place) else None

    def place_of(self, number: int) -> int:
        """Place among the candidates of a detection, whose number counts from 1."""
        kept = self.kept
        return self._candidate_places[int(kept.anchor_ids[number - 1]), int(kept.class_ids[number - 1])]

    def removed_by(self, place: int) -> Integers:
        """Places of the candidates that the one at `place` has removed, (n,), best score first."""
        later = np.flatnonzero(~self.survives[place + 1 :]) + place + 1
        overlapped = later[self._removes(place, later)]
        return np.array([i for i in overlapped if self.remover(int(i)) == place], np.int64)

    def remover(self, place: int) -> int | None:
        """Place of the candidate that removed the one at `place`: the best that survives and overlaps it too much."""
        earlier = np.flatnonzero(self.survives[:place])
        removers = earlier[self._removes(place, earlier)]
        return int(removers[0]) if len(removers) else None

    def closest_better(self, place: int) -> tuple[int, float] | None:
        """Of better surviving candidates with which the one at `place` is compared: place and IoU of the closest."""
        earlier = np.flatnonzero(self.survives[:place] & self._compared(place)[:place])
        if len(earlier) == 0:
            return None
        iou = self.iou(place, earlier)
        return int(earlier[np.argmax(iou)]), float(iou.max())

    def iou(self, place: int, others: Integers) -> Floats:
        """IoU of a candidate with others as the suppression computes it, (n,); 0 where it is no number."""
        boxes = self.candidates.boxes_unit
        with np.errstate(invalid="ignore"):  # two boxes without an area
            iou: Floats = np.nan_to_num(pairwise_iou(boxes[[place]], boxes[others])[0])
        return iou

    def _not_selected(self, anchor_id: int, class_id: int) -> Outcome:
        raw = self.raw
        chosen = np.float32(raw.settings.score_threshold) if raw.thresholds is None else raw.thresholds[class_id]
        margin = float(raw.scores[anchor_id, class_id]) - float(chosen)  # in the precision of the comparison
        return Outcome(Reason.BELOW_THRESHOLD, float(chosen), margin)

    def _suppressed(self, found: Outcome, place: int, remover: int) -> Outcome:
        by = self._pair(remover)
        if by not in self._numbers and self.outcome(*by).reason is Reason.BEYOND_LIMIT:
            return self._beyond_limit(found, place)  # what is worse than the remover never had a chance
        iou = float(self.iou(place, np.array([remover]))[0])
        return replace(found, reason=Reason.SUPPRESSED, detection=self._numbers.get(by), iou=iou, remover=by)

    def _beyond_limit(self, found: Outcome, place: int) -> Outcome:
        of_class = self.rules.max_per_class
        better = int((self.survives & self._compared(place))[:place].sum())
        of_class_is_reached = of_class is not None and better >= of_class
        limit = of_class if of_class_is_reached else self.rules.max_detections
        return replace(found, reason=Reason.BEYOND_LIMIT, limit=limit)

    def _fault_of_box(self, anchor_id: int, class_id: int) -> Reason | None:
        """Why a box of a score that passes is none; None if nothing is wrong with it."""
        raw, row = self.raw, slice(anchor_id, anchor_id + 1)
        this_class = np.arange(len(raw.wanted)) == class_id
        _, dropped = decode_candidates(
            raw.scores[row], raw.offsets[row], raw.anchors[row], this_class, raw.settings, raw.thresholds
        )
        return next((reason for reason, count in zip(_FAULTS, dropped, strict=True) if count), None)

    def _removes(self, place: int, others: Integers) -> Flags:
        """Which of these overlap the one at `place` too much, (n,)."""
        iou, threshold = self.iou(place, others), np.float32(self.raw.settings.nms_threshold)
        overlaps: Flags = iou >= threshold if self.rules.removes_equal else iou > threshold
        return overlaps & self._compared(place)[others]

    def _compared(self, place: int) -> Flags:
        """Which candidates the suppression compares with the one at `place`, (n,)."""
        class_ids = self.candidates.class_ids
        same: Flags = class_ids == class_ids[place]
        return np.ones_like(same) if self.raw.settings.class_agnostic else same

    def _pair(self, place: int) -> tuple[int, int]:
        return int(self.candidates.anchor_ids[place]), int(self.candidates.class_ids[place])


_FAULTS = (Reason.DEGENERATE, Reason.OUTSIDE, Reason.NON_FINITE)  # in the order of `DroppedBoxes`


def _passing(raw: RawPicture) -> tuple[Integers, Integers]:
    """Anchors and classes of all scores that pass the threshold, best first."""
    return select_scores(raw.scores, raw.wanted, replace(raw.settings, top_k=None), raw.thresholds)


def _places(anchor_ids: Integers, class_ids: Integers) -> dict[tuple[int, int], int]:
    """Place of each pair of anchor and class."""
    return {pair: i for i, pair in enumerate(zip(anchor_ids.tolist(), class_ids.tolist(), strict=True))}
