"""The proof that an engine computes the network that was meant: its outputs beside TensorFlow's, before first use."""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from ssd_detect.arrays import Flags, Floats, Integers
from ssd_detect.boxes.decode import decode_offsets
from ssd_detect.boxes.geometry import clip_xyxy
from ssd_detect.boxes.nms import suppress
from ssd_detect.boxes.selection import select_scores
from ssd_detect.conventions import Arithmetic
from ssd_detect.differences import largest_difference
from ssd_detect.engines.network import Network
from ssd_detect.engines.reference import Reference
from ssd_detect.errors import DeviceError

_SCORE_THRESHOLD = 0.3
_NMS_THRESHOLD = 0.45


class Limits(NamedTuple):
    """Largest differences from TensorFlow's float32 outputs on the golden pictures.

    Args:
        scores: of any score, 0 to 1.
        offsets: of any offset.
        boxes: of any side of a box of which detections are made, in pixels of the network's input.
        same_detections: whether suppression must leave the same anchors and classes.
    """

    scores: float
    offsets: float
    boxes: float
    same_detections: bool


# float32: what the issue of engines asks for; the three engines differ by at most 8e-6, 4e-5 and 0.003 px. What fewer
# bits cost is limited at about twice what they cost random weights, which they hurt most. Measured, SSD512: bf16
# 0.075, 0.30 and 14 px (trained weights, SSD300: 0.005, 0.10 and 0.4 px). TF32 has three more bits of fraction than
# bf16: an eighth of its numbers is expected, a quarter allowed. int8, calibrated with the pictures that ship:
# 0.31, 1.3 and 43 px (random weights, SSD300; trained ones 0.05, 1.3 and 2.4 px).
LIMITS: Mapping[Arithmetic, Limits] = {
    Arithmetic.FLOAT32: Limits(1e-4, 1e-3, 0.1, same_detections=True),
    Arithmetic.TF32: Limits(0.04, 0.15, 8.0, same_detections=False),
    Arithmetic.BF16: Limits(0.15, 0.6, 30.0, same_detections=False),
    Arithmetic.INT8: Limits(0.6, 2.6, 90.0, same_detections=False),
}


class Measured(NamedTuple):
    """What a proof found; as in `Limits`."""

    scores: float
    offsets: float
    boxes: float
    same_detections: bool


def prove(network: Network, reference: Reference) -> Measured:
    """Run the golden pictures, one alone and the others at once.

    Raises:
        DeviceError: the engine fails, or computes other numbers than TensorFlow; says which.
    """
    runs = [network.run(np.ascontiguousarray(batch)) for batch in (reference.inputs[:1], reference.inputs[1:])]
    scores, offsets = (np.concatenate(parts) for parts in zip(*runs, strict=True))
    if scores.shape != reference.scores.shape or offsets.shape != reference.offsets.shape:
        raise _failed(network, f"scores {scores.shape}", f"{reference.scores.shape}")
    found = _measured(reference, scores, offsets)
    _check(network, found, LIMITS[network.runs_on.precision])
    return found


def _measured(reference: Reference, scores: Floats, offsets: Floats) -> Measured:
    boxes, same_detections = _compared_boxes(reference, offsets)
    return Measured(
        largest_difference(reference.scores, scores),
        largest_difference(reference.offsets, offsets),
        boxes,
        same_detections,
    )


def _compared_boxes(reference: Reference, offsets: Floats) -> tuple[float, bool]:
    """The largest difference of a box that TensorFlow's scores select, in pixels; whether suppression leaves the same.

    Both are suppressed in the order of TensorFlow's scores: the engine's may order equal ones differently.
    """
    limits = np.full(reference.scores.shape[2], _SCORE_THRESHOLD, np.float32)
    limits[0] = np.inf  # the background
    chosen = select_scores(reference.scores, reference.offsets, limits)
    order = np.argsort(-chosen.scores, kind="stable")
    groups = (chosen.picture_ids * len(limits) + chosen.class_ids)[order]
    anchors = reference.anchors[chosen.anchor_ids]
    theirs = offsets[chosen.picture_ids, chosen.anchor_ids]
    expected, found = (clip_xyxy(decode_offsets(each, anchors))[order] for each in (chosen.offsets, theirs))
    difference = reference.inputs.shape[1] * largest_difference(expected, found)
    return difference, bool(np.array_equal(_kept(expected, groups), _kept(found, groups)))


def _kept(boxes: Floats, groups: Integers) -> Flags:
    return suppress(boxes, groups, _NMS_THRESHOLD)


def _check(network: Network, found: Measured, limits: Limits) -> None:
    for name in ("scores", "offsets", "boxes"):
        value, limit = getattr(found, name), getattr(limits, name)
        if value > limit:
            raise _failed(network, f"{name} (largest difference {value:.3g})", f"at most {limit:g}")
    if limits.same_detections and not found.same_detections:
        raise _failed(network, "detections", "the same")


def _failed(network: Network, what: str, expected: str) -> DeviceError:
    runs_on = network.runs_on
    return DeviceError(
        f"engine {runs_on.engine.value} {runs_on.version} on {runs_on.device} ({runs_on.precision.value}) computes "
        f"other {what} than TensorFlow for the golden pictures, expected {expected}; use --engine tensorflow"
    )
