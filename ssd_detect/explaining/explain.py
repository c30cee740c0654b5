"""Answers to why something was detected, and why something else was not. NumPy alone, on the network's outputs."""

from collections.abc import Iterable, Sequence

import numpy as np

from ssd_detect.arrays import Flags, Floats, Integers
from ssd_detect.boxes.decode import decode_offsets
from ssd_detect.boxes.geometry import clip_xyxy, cxcywh_to_xyxy, pairwise_iou, scale_unit_xyxy
from ssd_detect.errors import SettingError
from ssd_detect.explaining.facts import (
    AnchorFacts,
    ClassScore,
    Closest,
    DetectionExplained,
    Explanation,
    Proposal,
    RegionExplained,
    SpotExplained,
)
from ssd_detect.explaining.places import AnchorGrid
from ssd_detect.explaining.question import Four, Question
from ssd_detect.explaining.trace import RawPicture, Trace

NEARLY_SAME_IOU = 0.8
"""Boxes that overlap so much are told as nearly the same; our choice: a person sees hardly a difference."""


def explain(
    raw: RawPicture, preset_name: str, class_names: Sequence[str], size: tuple[int, int], question: Question
) -> Explanation:
    """Answer a question about one picture.

    Args:
        raw: the network's answer, and the settings.
        preset_name: the anchors' preset.
        class_names: background first.
        size: width and height of the picture, pixels.
        question: what is asked.

    Raises:
        SettingError: a detection that does not exist; a point or a region outside the picture.
    """
    return _Explainer(Trace(raw), AnchorGrid(preset_name), class_names, size, question.top).answer(question)


class _Explainer:
    def __init__(
        self, trace: Trace, grid: AnchorGrid, class_names: Sequence[str], size: tuple[int, int], top: int
    ) -> None:
        raw = trace.raw
        self._trace, self._raw, self._grid, self._names, self._size, self._top = (
            trace, raw, grid, class_names, size, top,
        )  # fmt: skip
        self._decoded = decode_offsets(raw.offsets, raw.anchors, trace.rules.max_log_scale)  # (N, 4)
        self._clipped = clip_xyxy(self._decoded)

    def answer(self, question: Question) -> Explanation:
        count = len(self._trace.kept.scores)
        if question.box is not None:
            _check_number(question.box, count)
        question.check_inside(self._size)
        spot = None if question.at is None else self._spot(question.at)
        numbers = (question.box,) if question.box is not None else spot.numbers[: self._top] if spot else ()
        return Explanation(
            size=self._size,
            input_side=self._grid.side,
            settings=self._raw.settings,
            detections=tuple(self._reported(number) for number in range(1, count + 1)),
            explained=tuple(self._detection(number) for number in numbers),
            spot=spot,
            region=None if question.region is None else self._region(question.region),
        )

    def _reported(self, number: int) -> tuple[ClassScore, Four]:
        kept = self._trace.kept.at(slice(number - 1, number))
        found = self._class_score(int(kept.anchor_ids[0]), int(kept.class_ids[0]))
        return found, self._pixels(kept.boxes_unit[0])

    def _detection(self, number: int) -> DetectionExplained:
        trace = self._trace
        place = trace.place_of(number)
        anchor_id, class_id = int(trace.candidates.anchor_ids[place]), int(trace.candidates.class_ids[place])
        removed = trace.removed_by(place)
        iou = self._overlaps(self._clipped, self._clipped[anchor_id])
        iou[anchor_id] = 0
        near = _largest(iou, np.flatnonzero(iou >= NEARLY_SAME_IOU))
        return DetectionExplained(
            number=number,
            made_by=self._proposal(anchor_id, class_id),
            closest=self._closest(place),
            removed=tuple(self._removed(removed[: self._top], trace.iou(place, removed))),
            num_removed=len(removed),
            near=tuple(self._proposal(int(i), class_id, float(iou[i])) for i in near[: self._top]),
            num_near=len(near),
        )

    def _removed(self, places: Integers, iou: Floats) -> Iterable[Proposal]:
        candidates = self._trace.candidates.at(places)
        for anchor_id, class_id, value in zip(candidates.anchor_ids, candidates.class_ids, iou, strict=False):
            yield self._proposal(int(anchor_id), int(class_id), float(value))

    def _closest(self, place: int) -> Closest | None:
        closest = self._trace.closest_better(place)
        if closest is None:
            return None
        other, iou = closest
        candidates = self._trace.candidates
        pair = int(candidates.anchor_ids[other]), int(candidates.class_ids[other])
        return Closest(self._trace.outcome(*pair).detection, self._class_score(*pair), iou)

    def _spot(self, point: tuple[float, float]) -> SpotExplained:
        x, y = point[0] / self._size[0], point[1] / self._size[1]
        there = np.flatnonzero(_contain(self._clipped, x, y))
        scores = _comparable(self._raw.scores[:, 1:])  # (N, C - 1)
        best_of_class = there[np.argmax(scores[there], axis=0)] if len(there) else there  # (C - 1,)
        peaks = scores[best_of_class, np.arange(len(best_of_class))]
        cells = [self._grid.in_cell_at(k, x, y) for k in range(1, self._grid.num_maps + 1)]
        best_of_cell = [int(cell[np.argmax(scores[cell].max(axis=1))]) for cell in cells]
        return SpotExplained(
            point=point,
            numbers=tuple((np.flatnonzero(_contain(self._trace.kept.boxes_unit, x, y)) + 1).tolist()),
            classes=tuple(self._proposal(int(best_of_class[c]), int(c) + 1) for c in _largest(peaks)[: self._top]),
            num_boxes=len(there),
            cells=tuple(self._best_proposal(anchor_id) for anchor_id in best_of_cell),
        )

    def _region(self, box: Four) -> RegionExplained:
        unit = np.array([v / side for v, side in zip(box, self._size * 2, strict=True)], np.float32)
        of_anchors = self._overlaps(cxcywh_to_xyxy(self._raw.anchors), unit)
        of_boxes = self._overlaps(self._clipped, unit)
        return RegionExplained(
            box=box,
            ceiling=float(of_anchors.max()),
            anchors=self._overlapping(of_anchors),
            best_iou=float(of_boxes.max()),
            boxes=self._overlapping(of_boxes),
        )

    def _overlapping(self, iou: Floats) -> tuple[Proposal, ...]:
        best = _largest(iou, np.flatnonzero(iou > 0))[: self._top]
        return tuple(self._best_proposal(int(i), float(iou[i])) for i in best)

    def _overlaps(self, boxes: Floats, box: Floats) -> Floats:
        """(n, 4) and (4,) to (n,); 0 where it is no number, as for boxes that are none."""
        with np.errstate(invalid="ignore", over="ignore"):
            iou: Floats = np.nan_to_num(pairwise_iou(boxes, box[np.newaxis])[:, 0])
        return iou

    def _best_proposal(self, anchor_id: int, iou: float | None = None) -> Proposal:
        return self._proposal(anchor_id, int(np.argmax(_comparable(self._raw.scores[anchor_id, 1:]))) + 1, iou)

    def _proposal(self, anchor_id: int, class_id: int, iou: float | None = None) -> Proposal:
        outcome = self._trace.outcome(anchor_id, class_id)
        return Proposal(self._anchor(anchor_id), self._class_score(anchor_id, class_id), outcome, iou)

    def _anchor(self, anchor_id: int) -> AnchorFacts:
        raw = self._raw
        anchor = raw.anchors[anchor_id]
        best = _largest(_comparable(raw.scores[anchor_id, 1:]))[: self._top] + 1
        width, height = (float(v) * self._grid.side for v in anchor[2:])
        return AnchorFacts(
            place=self._grid.place(anchor_id),
            size=(width, height),
            anchor_box=self._pixels(cxcywh_to_xyxy(anchor)),
            offsets=_four(raw.offsets[anchor_id]),
            decoded_box=self._pixels(self._decoded[anchor_id]),
            clipped_box=self._pixels(self._clipped[anchor_id]),
            scores=tuple(self._class_score(anchor_id, int(c)) for c in best),
            background=float(raw.scores[anchor_id, 0]),
        )

    def _class_score(self, anchor_id: int, class_id: int) -> ClassScore:
        return ClassScore(class_id, self._names[class_id], float(self._raw.scores[anchor_id, class_id]))

    def _pixels(self, box_unit: Floats) -> Four:
        with np.errstate(over="ignore"):  # of a box that is nearly infinite already
            return _four(scale_unit_xyxy(box_unit, *self._size))


def _check_number(number: int, count: int) -> None:
    if count == 0:
        raise SettingError(f"there is no detection {number}: nothing was detected; --at X,Y tells why")
    if not 1 <= number <= count:
        raise SettingError(f"there is no detection {number}, expected a number from 1 to {count}")


def _contain(boxes_unit: Floats, x: float, y: float) -> Flags:
    """Which boxes contain a point, (n,); those that are none do not."""
    x0, y0, x1, y1 = boxes_unit.T
    flags: Flags = (x0 <= x) & (x <= x1) & (y0 <= y) & (y <= y1)
    return flags


def _comparable(scores: Floats) -> Floats:
    """Scores in which one that is no number is the least."""
    return np.nan_to_num(scores, nan=-1.0)


def _largest(values: Floats, places: Integers | None = None) -> Integers:
    """Places of the values, or these places of them, largest value first; the first of equals first."""
    chosen = np.arange(len(values)) if places is None else places
    return chosen[np.argsort(-values[chosen], kind="stable")]


def _four(values: Floats) -> Four:
    a, b, c, d = (float(v) for v in values)
    return a, b, c, d
