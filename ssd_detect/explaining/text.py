"""An explanation as lines for a person, at most 100 columns wide unless a class name is very long."""

import math
import textwrap
from collections.abc import Iterator, Sequence

from ssd_detect.boxes.anchors import MATCHED_IOU
from ssd_detect.explaining.explain import NEARLY_SAME_IOU
from ssd_detect.explaining.facts import (
    AnchorFacts,
    ClassScore,
    DetectionExplained,
    Explanation,
    Proposal,
    RegionExplained,
    SpotExplained,
)
from ssd_detect.explaining.question import Four
from ssd_detect.explaining.trace import Outcome, Reason
from ssd_detect.settings import DetectionSettings

_WIDTH = 100
_NAMES_WIDTH = 12  # what stands before each row
_UNBROKEN = "\u00a0"  # a blank at which no line is broken; written as a common one

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
    outcome = made_by.outcome
    found, box = explanation.detections[explained.number - 1]
    yield f"Detection {explained.number}: {_class(found)}, box {_box(box)}"
    yield from _about_anchor(made_by.anchor, explanation.input_side)
    yield from _row("threshold", f"{found.score:.3f} passes {outcome.threshold:g} by {outcome.margin:.3f}")
    yield from _row("candidate", _rank(outcome, settings))
    yield from _row("overlap", _closest(explained, settings))
    yield from _row("removed", _counted(explained.num_removed, len(explained.removed), "box", "boxes"))
    yield from _table(explained.removed)
    same = f"with nearly the same box (IoU of at least {NEARLY_SAME_IOU:g})"
    near = _counted(explained.num_near, len(explained.near), f"other anchor {same}", f"other anchors {same}")
    yield from _row("near", near)
    yield from _table(explained.near, settings)


def _about_anchor(anchor: AnchorFacts, side: int) -> Iterator[str]:
    place = anchor.place
    yield from _row("map", f"{place.map_number} ({place.map_name}), grid {place.grid}x{place.grid}, step {place.step}")
    yield from _row("cell", f"row {place.row}, column {place.column}, both from 0")
    yield from _row(
        "anchor",
        f"{place.anchor_id}, number {place.number} of {place.per_cell} in its cell from 0: {place.shape}, "
        f"{anchor.size[0]:.1f}x{anchor.size[1]:.1f} of {side} pixels",
    )
    yield from _row("its box", f"{_box(anchor.anchor_box)}")
    yield from _row("offsets", " ".join(f"{name} {v:+.3f}" for name, v in zip(_OFFSETS, anchor.offsets, strict=True)))
    yield from _row("decoded", f"{_box(anchor.decoded_box)}")
    yield from _row("scores", _scores(anchor))


def _scores(anchor: AnchorFacts) -> str:
    told = [*map(_class, anchor.scores), f"background {anchor.background:.3f}"]
    return ", ".join(score.replace(" ", _UNBROKEN) for score in told)


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
    yield f"Spot {spot.point[0]:g},{spot.point[1]:g}"
    more = f"; told above: the first {num_told}" if len(spot.numbers) > num_told else ""
    yield from _row("inside", f"{_detections(spot.numbers)}{more}")
    yield from _row(
        "boxes", f"{spot.num_boxes} anchors have boxes that contain it; the best one for each of the best classes:"
    )
    yield from _table(spot.classes, settings)
    yield from _row("cells", "the best anchor of the cell that covers it, for each feature map:")
    yield from _table(spot.cells, settings)


def _about_region(region: RegionExplained, settings: DetectionSettings) -> Iterator[str]:
    yield f"Region {_box(region.box)}"
    about = _about_ceiling(region.ceiling)
    yield from _row("ceiling", f"best anchor: IoU {region.ceiling:.3f}; {about}")
    yield from _table(region.anchors, settings)
    yield from _row("boxes", f"best box that the network makes: IoU {region.best_iou:.3f}")
    yield from _table(region.boxes, settings)


def _about_ceiling(iou: float) -> str:
    if iou >= MATCHED_IOU:
        return f"anchors that reach {MATCHED_IOU:g} learn such objects"
    return f"none reaches {MATCHED_IOU:g}, so that it alone learns such objects"


def _table(proposals: Sequence[Proposal], settings: DetectionSettings | None = None) -> Iterator[str]:
    """Of each: what and where; which anchor; with `settings`, what became of it."""
    for proposal in proposals:
        iou = "" if proposal.iou is None else f"IoU {proposal.iou:.3f}  "
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
        return _below(outcome)
    if reason is Reason.BEYOND_TOP_K:
        return f"number {outcome.rank} by score, beyond the {outcome.limit} that are compared (top-k)"
    if reason is Reason.BEYOND_LIMIT:
        return f"beyond the {outcome.limit} detections that are reported at most"
    if reason is Reason.SUPPRESSED:
        other = "a better box that is not reported" if outcome.detection is None else f"detection {outcome.detection}"
        return f"removed by {other}: IoU {outcome.iou:.3f}, limit {settings.nms_threshold:g}"
    return _NO_BOX[reason]


def _below(outcome: Outcome) -> str:
    if math.isnan(outcome.margin):
        return "its score is not a number"
    return f"below the threshold {outcome.threshold:g} by {-outcome.margin:.3f}"


def _row(name: str, told: str) -> Iterator[str]:
    """A line, or more of them where it is long."""
    wrapped = textwrap.wrap(told, _WIDTH - _NAMES_WIDTH, break_long_words=False, break_on_hyphens=False)
    for start, line in zip([f"  {name}", *[""] * len(wrapped)], wrapped, strict=False):
        yield f"{start:{_NAMES_WIDTH}}{line}".replace(_UNBROKEN, " ")


def _counted(count: int, told: int, one: str, many: str) -> str:
    first = f", the first {told}" if told < count else ""
    return f"{count or 'no'} {one if count == 1 else many}{first}"


def _detections(numbers: Sequence[int]) -> str:
    if not numbers:
        return "no detection"
    return f"detection{'' if len(numbers) == 1 else 's'} {', '.join(map(str, numbers))}"


def _class(found: ClassScore) -> str:
    return f"{found.class_name} {found.score:.3f}"


def _box(box: Four) -> str:
    return " ".join(_coordinate(v) for v in box)


def _coordinate(value: float) -> str:
    if abs(value) >= 1e6:  # far outside any picture
        return f"{value:.1e}"
    return f"{round(value, 1) + 0.0:.1f}"  # -0.0 becomes 0.0
