"""Whether two engines say the same about the same pictures."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ssd_detect.arrays import Flags, Floats, Integers
from ssd_detect.benchmark.results import Agreement
from ssd_detect.boxes.toss_ups import Allowed, Kept, are_toss_ups
from ssd_detect.detections import Detections
from ssd_detect.differences import largest_difference
from ssd_detect.settings import DetectionSettings

SCORE_TOLERANCE = 1e-4
"""Scores, 0 to 1: float32 sums in another order differ by 1e-6 or so, another resize or mean by far more."""

SIDE_TOLERANCE = 0.5
"""Pixels that the side of a box may be off."""


class PictureOutputs(NamedTuple):
    """What came out for one picture: scores (N, C) float32, what was made of them, and `list_ends`."""

    scores: Floats
    found: Detections
    ends: Floats


def write_outputs(path: Path, outputs: Sequence[PictureOutputs]) -> None:
    """Into one `.npz` file, for `read_outputs`."""
    arrays: dict[str, Any] = {}
    for i, (scores, found, ends) in enumerate(outputs):
        arrays |= {f"scores{i}": scores, f"ends{i}": ends, f"boxes{i}": found.boxes, f"found{i}": found.scores}
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
                arrays[f"ends{i}"],
            )
            for i in range(int(arrays["num"]))
        ]


def agreement(
    reference: Sequence[PictureOutputs],
    other: Sequence[PictureOutputs],
    settings: DetectionSettings,
    *,
    exact: bool,
) -> Agreement:
    """Compare what came out for the same pictures.

    Args:
        reference, other: picture by picture.
        settings: with which detections were made; what suppression does counts here.
        exact: both compute in float32, and so must agree; else it is told how far they are from each other, and not
            judged.
    """
    pairs = list(zip(reference, other, strict=True))
    difference = max(_difference(one.scores, two.scores) for one, two in pairs)
    tolerance = SCORE_TOLERANCE if exact else 1.0
    same = all(_same(one, two, tolerance, settings) for one, two in pairs)
    return Agreement(difference, same, (difference <= SCORE_TOLERANCE and same) if exact else None)


def _difference(one: Floats, other: Floats) -> float:
    """Infinite where shapes differ."""
    return largest_difference(one, other) if one.shape == other.shape else float("inf")


def _same(one: PictureOutputs, other: PictureOutputs, score_tolerance: float, settings: DetectionSettings) -> bool:
    """Whether each detection has a partner of its own, or rounding alone may have left it without."""
    shared = _shared(one.found, other.found, score_tolerance)
    if all(flags.all() for flags in shared):
        return True
    first, second = (_kept(*pair, settings) for pair in zip((one, other), shared, strict=True))
    return all(
        are_toss_ups(kept, against, Allowed(ends[classes], settings.nms_threshold, SIDE_TOLERANCE))
        for kept, against, ends, classes in (
            (first, second, other.ends, one.found.class_ids),
            (second, first, one.ends, other.found.class_ids),
        )
    )


def _shared(one: Detections, other: Detections, score_tolerance: float) -> tuple[Flags, Flags]:
    """Which detections of each have a partner: equal scores may come in either order."""
    flags, other_flags = np.zeros(len(one), np.bool_), np.zeros(len(other), np.bool_)
    for i in range(len(one)):
        left = map(int, np.flatnonzero(~other_flags))
        partner = next((j for j in left if _are_partners(one, i, other, j, score_tolerance)), None)
        if partner is not None:
            flags[i] = other_flags[partner] = True
    return flags, other_flags


def _kept(outputs: PictureOutputs, is_shared: Flags, settings: DetectionSettings) -> Kept:
    found = outputs.found
    groups = np.zeros_like(found.class_ids) if settings.class_agnostic else found.class_ids
    return Kept(found.boxes, found.scores, groups, _ids(outputs), is_shared)


def _ids(outputs: PictureOutputs) -> Integers:
    """(n,): a number for the anchor and class of each detection; the anchor is the one with its score, or nearly."""
    columns, values = outputs.scores.T, outputs.found.scores
    pairs = zip(outputs.found.class_ids, values, strict=True)
    anchor_ids = np.array([np.abs(columns[i] - score).argmin() for i, score in pairs], np.int64)
    return anchor_ids * len(columns) + outputs.found.class_ids


def _are_partners(one: Detections, i: int, other: Detections, j: int, score_tolerance: float) -> bool:
    return bool(
        one.class_ids[i] == other.class_ids[j]
        and abs(one.scores[i] - other.scores[j]) <= score_tolerance
        and np.abs(one.boxes[i] - other.boxes[j]).max() <= SIDE_TOLERANCE
    )
