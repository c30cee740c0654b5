"""What an explanation holds: plain values, ready to be told as text, JSON or a picture.

Boxes are x0, y0, x1, y1 in pixels of the upright picture. Those of anchors, and decoded ones, may leave the picture;
what is no finite number stays what it is.
"""

from dataclasses import dataclass

from ssd_detect.explaining.places import AnchorPlace
from ssd_detect.explaining.question import Four
from ssd_detect.explaining.trace import Outcome
from ssd_detect.settings import DetectionSettings


@dataclass(frozen=True)
class ClassScore:
    """What an anchor says about one class; `score` is 0 to 1."""

    class_id: int
    class_name: str
    score: float


@dataclass(frozen=True)
class AnchorFacts:
    """One anchor and the network's answer for it.

    Args:
        place: where it stands.
        size: width and height, pixels of the network's input.
        anchor_box: the anchor itself.
        offsets: the network's: centre x, centre y, width, height.
        decoded_box: what they make of the anchor.
        clipped_box: of that, what lies inside the picture.
        scores: of the best classes, best first.
        background: score of the background.
    """

    place: AnchorPlace
    size: tuple[float, float]
    anchor_box: Four
    offsets: Four
    decoded_box: Four
    clipped_box: Four
    scores: tuple[ClassScore, ...]
    background: float


@dataclass(frozen=True)
class Proposal:
    """An anchor, one class for it, and what became of both.

    Args:
        iou: overlap with what it is listed for, 0 to 1; None where it is listed for a point.
    """

    anchor: AnchorFacts
    found: ClassScore
    outcome: Outcome
    iou: float | None = None


@dataclass(frozen=True)
class Closest:
    """A better box of those with which a detection is compared, and survived: the one that overlaps it most.

    Args:
        number: of the detection that it is; None if it is not reported, for a limit or since it is outside.
        found: its class.
        iou: 0 to 1.
    """

    number: int | None
    found: ClassScore
    iou: float


@dataclass(frozen=True)
class DetectionExplained:
    """One detection.

    Args:
        number: from 1, in the order in which they are printed.
        made_by: its anchor and class.
        closest: None if no better box is compared with it.
        removed: what it has suppressed, best score first, the first few; `num_removed` counts all.
        near: other anchors whose boxes, cut off at the borders, are nearly the same, whatever their scores: the
            closest few, with the class of this detection; `num_near` counts all.
    """

    number: int
    made_by: Proposal
    closest: Closest | None
    removed: tuple[Proposal, ...]
    num_removed: int
    near: tuple[Proposal, ...]
    num_near: int


@dataclass(frozen=True)
class SpotExplained:
    """A point in the picture.

    Args:
        point: x, y in pixels.
        numbers: of the detections whose boxes contain it.
        classes: for each of the best classes there: the anchor with the best score for it among those whose boxes
            contain the point; best score first.
        num_boxes: anchors whose boxes contain the point.
        cells: for each feature map: of the anchors whose cell lies there, the one with the best score of any class.
    """

    point: tuple[float, float]
    numbers: tuple[int, ...]
    classes: tuple[Proposal, ...]
    num_boxes: int
    cells: tuple[Proposal, ...]


@dataclass(frozen=True)
class RegionExplained:
    """A box in the picture, where an object should be found.

    Args:
        box: the region.
        ceiling: the most that any anchor overlaps it as it stands, IoU, 0 to 1.
        anchors: those that overlap it most.
        best_iou: the most that any decoded box, cut off at the borders, overlaps it.
        boxes: the anchors of those that overlap it most.
    """

    box: Four
    ceiling: float
    anchors: tuple[Proposal, ...]
    best_iou: float
    boxes: tuple[Proposal, ...]


@dataclass(frozen=True)
class Explanation:
    """All that was asked about a picture.

    Args:
        size: width and height of the picture, pixels.
        input_side: width and height of the network's input, pixels.
        settings: resolved.
        detections: of the picture, as they are printed: class, score, box.
        explained: those that were asked for, the first few of them at a point.
        spot, region: where those were asked for.
    """

    size: tuple[int, int]
    input_side: int
    settings: DetectionSettings
    detections: tuple[tuple[ClassScore, Four], ...]
    explained: tuple[DetectionExplained, ...]
    spot: SpotExplained | None = None
    region: RegionExplained | None = None
