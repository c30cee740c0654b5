"""Comparing detections with those of another program, where rounding may swap two of almost the same score."""

from typing import NamedTuple

import numpy as np

from ssd_detect.arrays import Floats, Integers


class Rows(NamedTuple):
    """Detections in one order: (n,) class ids, (n,) scores, (n, 4) xyxy as shares of the picture, clipped to it."""

    class_ids: Integers
    scores: Floats
    boxes_unit: Floats


def with_an_area(class_ids: Integers, scores: Floats, boxes_unit: Floats) -> Rows:
    """Another program's detections as ours are: clipped, and without boxes that have no area inside the picture."""
    clipped = np.clip(boxes_unit, 0, 1)
    usable = (clipped[:, 2:] - clipped[:, :2] >= 1e-6).all(axis=1)
    return Rows(class_ids[usable].astype(np.int64), scores[usable], clipped[usable])


def assert_same_detections(found: Rows, expected: Rows, *, scores_within: float, boxes_within: float) -> None:
    """The same detections one to one, whatever the order of those of one class with almost the same score."""
    assert len(found.scores) == len(expected.scores)
    np.testing.assert_allclose(found.scores, expected.scores, rtol=0, atol=scores_within)  # both best first
    for class_id in np.union1d(found.class_ids, expected.class_ids):
        ours, theirs = (np.flatnonzero(rows.class_ids == class_id) for rows in (found, expected))
        apart = np.abs(found.boxes_unit[ours, np.newaxis] - expected.boxes_unit[theirs]).max(axis=2)  # (n, m)
        scores_apart = np.abs(found.scores[ours, np.newaxis] - expected.scores[theirs])
        fits = (apart <= boxes_within) & (scores_apart <= scores_within)
        partners = np.where(fits, apart, np.inf).argmin(axis=0)
        assert len(ours) == len(theirs), f"class {class_id}"
        assert fits.any(axis=0).all(), f"class {class_id}: rows {theirs[~fits.any(axis=0)]} are missing"
        assert len(set(partners.tolist())) == len(ours), f"class {class_id}: two rows fit one of ours"
