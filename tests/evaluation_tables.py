"""Small data sets for the tests of the evaluation: written by hand, or made by hypothesis."""

from collections.abc import Sequence

import numpy as np
from hypothesis import strategies as st

from ssd_detect.evaluation.overlap import box_areas
from ssd_detect.evaluation.tables import PredictionTable, TruthTable

NAMES = ("background", "cat", "dog", "owl")

Box = tuple[float, float, float, float]
Object = tuple[int, int, Box]  # picture, class id, box
Found = tuple[int, int, Box, float]


def truth_table(
    rows: Sequence[Object],
    num_pictures: int,
    difficult: Sequence[bool] = (),
    crowd: Sequence[bool] = (),
    area: Sequence[float] = (),
) -> TruthTable:
    """Rows in any order of pictures; `difficult`, `crowd` and `area` go with the rows."""
    n = len(rows)
    order = np.argsort([row[0] for row in rows], kind="stable").astype(np.int64)
    boxes = np.array([row[2] for row in rows], np.float64).reshape(-1, 4)
    return TruthTable(
        picture=np.array([row[0] for row in rows], np.int64)[order],
        class_id=np.array([row[1] for row in rows], np.int64)[order],
        boxes=boxes[order],
        difficult=np.array(difficult or [False] * n, np.bool_)[order],
        crowd=np.array(crowd or [False] * n, np.bool_)[order],
        area=np.array(area, np.float64)[order] if area else box_areas(boxes)[order],
        num_pictures=num_pictures,
    )


def prediction_table(rows: Sequence[Found], num_pictures: int) -> PredictionTable:
    """Rows in any order of pictures."""
    order = np.argsort([row[0] for row in rows], kind="stable").astype(np.int64)
    return PredictionTable(
        picture=np.array([row[0] for row in rows], np.int64)[order],
        class_id=np.array([row[1] for row in rows], np.int64)[order],
        boxes=np.array([row[2] for row in rows], np.float64).reshape(-1, 4)[order],
        score=np.array([row[3] for row in rows], np.float64)[order],
        num_pictures=num_pictures,
    )


SIDES = st.sampled_from([1, 2, 3, 4, 6, 8, 12])
SCORES = st.sampled_from([0.1, 0.25, 0.5, 0.5, 0.75, 0.9])


@st.composite
def boxes(draw: st.DrawFn, unit: int = 1) -> Box:
    """On a coarse grid, so that overlaps of exactly 0.5 and equal overlaps are common."""
    x, y, width, height = draw(st.integers(0, 6)), draw(st.integers(0, 6)), draw(SIDES), draw(SIDES)
    return (float(unit * x), float(unit * y), float(unit * (x + width)), float(unit * (y + height)))


@st.composite
def data_sets(
    draw: st.DrawFn, unit: int = 1, difficult: bool = False, crowds: bool = False, distinct_scores: bool = False
) -> tuple[TruthTable, PredictionTable]:
    """Up to four pictures; no objects, no detections, duplicates, ties, and classes without objects all occur."""
    num_pictures = draw(st.integers(1, 4))
    pictures, class_ids = st.integers(0, num_pictures - 1), st.integers(1, len(NAMES) - 1)
    objects = draw(st.lists(st.tuples(pictures, class_ids, boxes(unit)), max_size=10))
    found = draw(st.lists(st.tuples(pictures, class_ids, boxes(unit), SCORES), max_size=8))
    if objects:
        near = draw(st.lists(st.tuples(st.sampled_from(objects), SCORES, st.integers(0, 2)), max_size=12))
        found += [
            (p, k, (x0 + unit * shift, y0, x1 + unit * shift, y1), s) for (p, k, (x0, y0, x1, y1)), s, shift in near
        ]
    if distinct_scores:
        scores = draw(st.permutations(range(1, len(found) + 1)))
        found = [(p, k, box, scores[i] / 100) for i, (p, k, box, _) in enumerate(found)]
    flags = st.lists(st.booleans(), min_size=len(objects), max_size=len(objects))
    areas = st.sampled_from([50.0, 1023.5, 1024.0, 1024.5, 5000.0, 9216.0, 9216.5, 90000.0])
    truth = truth_table(
        objects,
        num_pictures,
        difficult=draw(flags) if difficult else (),
        crowd=draw(flags) if crowds else (),
        area=draw(st.lists(areas, min_size=len(objects), max_size=len(objects))) if crowds else (),
    )
    return truth, prediction_table(found, num_pictures)
