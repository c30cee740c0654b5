"""An explanation as lines for a person, at most 100 columns wide unless a class name is long."""

import math
from collections.abc import Iterator, Sequence

from ssd_detect.explaining.explain import NEARLY_SAME_IOU
from ssd_detect.explaining.facts import (
    AnchorFacts,
    ClassScore,
    DetectionExplained,
    Explanation,
    Four,
    Proposal,
    RegionExplained,
    SpotExplained,
)
from ssd_detect.explaining.trace import Outcome, Reason
from ssd_detect.settings import DetectionSettings

_MATCHING_IOU = 0.5
"""Anchors that overlap an object so much learn it; if none does, the best one alone (Liu et al. 2016, section 2.2)."""

_NO_BOX = {
    Reason.DEGENERATE: "its box has no width or no height inside the picture",
    Reason.OUTSIDE: "its box lies outside the picture",
    Reason.NON_FINITE: "its box is infinite or not a number",
}


def lines(explanation: Explanation) -> Iterator[str]:
    """The whole explanation."""
    yield from _about_detections(explanation)
    for explained in explanation.explained:
        yield ""
        yield from _about_detection(explained, explanation)
    if explanation.spot is not None:
        yield ""
        yield from _about_spot(explanation.spot, len(explanation.explained), explanation.settings)
    if explanation.region is not None:
        yield ""
        yield from _about_region(explanation.region, explanation.settings)


def _about_detections(explanation: Explanation) -> Iterator[str]:
    width, height = explanation.size
    count = len(explanation.detections)
    yield f"{width}x{height} pixels, {count or 'no'} detection{'' if count == 1 else 's'}"
    for number, (found, box) in enumerate(explanation.detections, start=1):
        yield f"{number:3}  {_class(found)}  {_box(box)}"


def _about_detection(explained: DetectionExplained, explanation: Explanation) -> Iterator[str]:
    made_by, settings = explained.made_by, explanation.settings
    found, box = explanation.detections[explained.number - 1]
    yield f"Detection {explained.number}: {_class(found)}, box {_box(box)}"
    yield from _about_anchor(made_by.anchor, explanation.input_side)
    yield _row("threshold", f"{found.score:.3f} passes {settings.score_threshold:g} by {made_by.outcome.margin:.3f}")
    yield _row("candidate", _rank(made_by.outcome, settings))
    yield _row("overlap", _closest(explained, settings))
    yield _row("removed", _counted(explained.num_removed, len(explained.removed), "box", "boxes"))
    yield from _table(explained.removed, "IoU")
    near = _counted(explained.num_near, len(explained.near), "other anchor", "other anchors")
    yield _row("near", f"{near} with nearly the same box (IoU of at least {NEARLY_SAME_IOU:g})")
    yield from _table(explained.near, "IoU", settings)


def _about_anchor(anchor: AnchorFacts, side: int) -> Iterator[str]:
    place = anchor.place
    yield _row("map", f"{place.map_number} ({place.map_name}), grid {place.grid}x{place.grid}, step {place.step}")
    yield _row("cell", f"row {place.row}, column {place.column}, both from 0")
    yield _row(
        "anchor",
        f"{place.anchor_id}, number {place.number} of {place.per_cell} in its cell from 0: {place.shape}, "
        f"{anchor.size[0]:.1f}x{anchor.size[1]:.1f} of {side} pixels",
    )
    yield _row("its box", f"{_box(anchor.anchor_box)}")
    yield _row("offsets", " ".join(f"{name} {v:+.3f}" for name, v in zip(_OFFSETS, anchor.offsets, strict=True)))
    yield _row("decoded", f"{_box(anchor.decoded_box)}")
    yield _row("scores", ", ".join([*map(_class, anchor.scores), f"background {anchor.background:.3f}"]))


_OFFSETS = ("x", "y", "width", "height")


def _rank(outcome: Outcome, settings: DetectionSettings) -> str:
    limit = "no limit" if settings.top_k is None else f"top-k {settings.top_k}"
    return f"number {outcome.rank} by score ({limit})"


def _closest(explained: DetectionExplained, settings: DetectionSettings) -> str:
    closest = explained.closest
    if closest is None:
        return "no better box to be compared with"
    other = "a box that is not reported" if closest.number is None else f"detection {closest.number}"
    below = settings.nms_threshold - closest.iou
    return f"IoU {closest.iou:.3f} with {other}, {_class(closest.found)}; {below:.3f} below {settings.nms_threshold:g}"


def _about_spot(spot: SpotExplained, num_told: int, settings: DetectionSettings) -> Iterator[str]:
    x, y = spot.point
    count = len(spot.numbers)
    there = (
        f"in detections {_listed(spot.numbers)}" if count > 1 else f"in detection {spot.numbers[0]}" if count else ""
    )
    more = f" ({num_told} told above)" if count > num_told else ""
    yield f"Spot {x:g},{y:g}: {there or 'in no detection'}{more}"
    yield _row(
        "boxes", f"{spot.num_boxes} anchors have boxes that contain it; the best one for each of the best classes:"
    )
    yield from _table(spot.classes, None, settings)
    yield _row("cells", "the best anchor of the cell that covers it, for each feature map:")
    yield from _table(spot.cells, None, settings)


def _about_region(region: RegionExplained, settings: DetectionSettings) -> Iterator[str]:
    yield f"Region {_box(region.box)}"
    best = region.anchors[0].iou if region.anchors else 0.0
    yield _row("ceiling", f"the best anchor overlaps it by IoU {best or 0:.3f}; {_about_ceiling(best or 0)}")
    yield from _table(region.anchors, "IoU", settings)
    best = region.boxes[0].iou if region.boxes else 0.0
    yield _row("boxes", f"the best box that the network makes overlaps it by IoU {best or 0:.3f}:")
    yield from _table(region.boxes, "IoU", settings)


def _about_ceiling(iou: float) -> str:
    if iou >= _MATCHING_IOU:
        return f"from {_MATCHING_IOU:g} on it learns such objects"
    return f"below {_MATCHING_IOU:g}: hardly any anchor learns such objects"


def _table(
    proposals: Sequence[Proposal], overlap: str | None, settings: DetectionSettings | None = None
) -> Iterator[str]:
    """Two lines a proposal: what and where; which anchor, and with `settings` what became of it."""
    for proposal in proposals:
        iou = f"{overlap} {proposal.iou:.3f}  " if overlap and proposal.iou is not None else ""
        yield f"      {iou}{_class(proposal.found)}  {_box(proposal.anchor.clipped_box)}"
        yield f"        {_short_place(proposal.anchor)}"
        if settings is not None:
            yield f"        {_why(proposal, settings)}"


def _short_place(anchor: AnchorFacts) -> str:
    place = anchor.place
    return (
        f"anchor {place.anchor_id}: map {place.map_number}, row {place.row}, column {place.column}, {place.shape}, "
        f"{anchor.size[0]:.0f}x{anchor.size[1]:.0f}; background {anchor.background:.3f}"
    )


def _why(proposal: Proposal, settings: DetectionSettings) -> str:
    """What became of it, in a clause."""
    outcome = proposal.outcome
    reason = outcome.reason
    if reason is Reason.DETECTED:
        return f"is detection {outcome.detection}"
    if reason is Reason.CLASS_EXCLUDED:
        return f"not looked for: the class {proposal.found.class_name} is left out"
    if reason is Reason.BELOW_THRESHOLD:
        return _below(outcome.margin, settings)
    if reason is Reason.BEYOND_TOP_K:
        return f"number {outcome.rank} by score, beyond the {outcome.limit} that are compared (top-k)"
    if reason is Reason.BEYOND_LIMIT:
        return f"beyond the {outcome.limit} detections that are reported at most"
    if reason is Reason.SUPPRESSED:
        other = "a better box that is not reported" if outcome.detection is None else f"detection {outcome.detection}"
        return f"removed by {other}: IoU {outcome.iou:.3f}, limit {settings.nms_threshold:g}"
    return _NO_BOX[reason]


def _below(margin: float, settings: DetectionSettings) -> str:
    if math.isnan(margin):
        return "its score is not a number"
    return f"below the threshold {settings.score_threshold:g} by {-margin:.3f}"


def _row(name: str, told: str) -> str:
    return f"  {name:10}{told}"


def _counted(count: int, told: int, one: str, many: str) -> str:
    first = f", the first {told}" if told < count else ""
    return f"{count or 'no'} {one if count == 1 else many}{first}"


def _listed(numbers: Sequence[int]) -> str:
    return ", ".join(map(str, numbers))


def _class(found: ClassScore) -> str:
    return f"{found.class_name} {found.score:.3f}"


def _box(box: Four) -> str:
    return " ".join(f"{v:.1f}" for v in box)
