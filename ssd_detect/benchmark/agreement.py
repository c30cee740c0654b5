"""Whether two engines say the same about the same pictures."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ssd_detect.arrays import Floats
from ssd_detect.benchmark.results import Agreement
from ssd_detect.detections import Detections
from ssd_detect.differences import largest_difference

SCORE_TOLERANCE = 1e-4
"""Scores, 0 to 1: float32 sums in another order differ by 1e-6 or so, another resize or mean by far more."""

SIDE_TOLERANCE = 0.5
"""Pixels that the side of a box may be off."""


class PictureOutputs(NamedTuple):
    """What came out for one picture: scores (N, C) float32, and what was made of them."""

    scores: Floats
    found: Detections


def write_outputs(path: Path, outputs: Sequence[PictureOutputs]) -> None:
    """Into one `.npz` file, for `read_outputs`."""
    arrays: dict[str, Any] = {}
    for i, (scores, found) in enumerate(outputs):
        arrays |= {f"scores{i}": scores, f"boxes{i}": found.boxes, f"found{i}": found.scores}
        arrays |= {f"classes{i}": found.class_ids, f"size{i}": np.array(found.size), "names": found.class_names}
    np.savez(path, num=len(outputs), **arrays)


def read_outputs(path: Path) -> list[PictureOutputs]:
    """What `write_outputs` has written."""
    with np.load(path, allow_pickle=False) as arrays:
        names = tuple(map(str, arrays["names"]))
        return [
            PictureOutputs(
                arrays[f"scores{i}"],
                Detections(
                    boxes=arrays[f"boxes{i}"],
                    scores=arrays[f"found{i}"],
                    class_ids=arrays[f"classes{i}"],
                    size=(int(arrays[f"size{i}"][0]), int(arrays[f"size{i}"][1])),
                    class_names=names,
                ),
            )
            for i in range(int(arrays["num"]))
        ]


def agreement(reference: Sequence[PictureOutputs], other: Sequence[PictureOutputs], *, exact: bool) -> Agreement:
    """Compare what came out for the same pictures.

    Args:
        reference, other: picture by picture.
        exact: both compute in float32, and so must agree; else it is told how far they are from each other, and not
            judged.
    """
    pairs = list(zip(reference, other, strict=True))
    difference = max(_difference(one.scores, two.scores) for one, two in pairs)
    tolerance = SCORE_TOLERANCE if exact else 1.0
    same = all(_same(one.found, two.found, tolerance) for one, two in pairs)
    return Agreement(difference, same, (difference <= SCORE_TOLERANCE and same) if exact else None)


def _difference(one: Floats, other: Floats) -> float:
    """Infinite where shapes differ."""
    return largest_difference(one, other) if one.shape == other.shape else float("inf")


def _same(one: Detections, other: Detections, score_tolerance: float) -> bool:
    """Whether each detection has a partner of its own: equal scores may come in either order."""
    if len(one) != len(other):
        return False
    left = list(range(len(other)))
    for i in range(len(one)):
        partner = next((j for j in left if _are_partners(one, i, other, j, score_tolerance)), None)
        if partner is None:
            return False
        left.remove(partner)
    return True


def _are_partners(one: Detections, i: int, other: Detections, j: int, score_tolerance: float) -> bool:
    return bool(
        one.class_ids[i] == other.class_ids[j]
        and abs(one.scores[i] - other.scores[j]) <= score_tolerance
        and np.abs(one.boxes[i] - other.boxes[j]).max() <= SIDE_TOLERANCE
    )
