"""Objects between two frames: the ends, what is in one only, classes, and that nothing ever leaves its range."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ssd_detect.detections import BestGuess, Detections
from ssd_detect.media.video.between import interpolate

NAMES = ("background", "car", "person")
SIZE = (101, 67)
Objects = list[tuple[int, float, tuple[float, float, float, float]]]  # class id, score, box


def detections(objects: Objects) -> Detections:
    boxes = np.array([box for _, _, box in objects], np.float32).reshape(-1, 4)
    scores = np.array([score for _, score, _ in objects], np.float32)
    ids = np.array([class_id for class_id, _, _ in objects], np.int64)
    return Detections.merge([Detections(boxes, scores, ids, SIZE, NAMES)])


@st.composite
def some_box(draw: st.DrawFn) -> tuple[float, float, float, float]:
    coordinates = [st.floats(0, side, width=32) for side in SIZE]
    x = sorted(draw(st.tuples(coordinates[0], coordinates[0])))
    y = sorted(draw(st.tuples(coordinates[1], coordinates[1])))
    return x[0], y[0], x[1], y[1]


BOXES = some_box().filter(lambda box: box[2] - box[0] > 0.01 and box[3] - box[1] > 0.01)
OBJECTS = st.lists(st.tuples(st.integers(1, 2), st.floats(0, 1, width=32), BOXES), max_size=5).map(detections)
SHARES = st.floats(0, 1)
CAR = (1, 0.5, (10.0, 10.0, 30.0, 20.0))
CAR_LATER = (1, 0.75, (14.0, 12.0, 34.0, 22.0))
PERSON = (2, 0.9, (10.0, 10.0, 30.0, 20.0))


class TestTables:
    @pytest.mark.parametrize(
        ("before", "after", "share", "expected"),
        [
            ([], [], 0.5, []),
            ([CAR], [CAR_LATER], 0.0, [CAR]),
            ([CAR], [CAR_LATER], 1.0, [CAR_LATER]),
            ([CAR], [CAR_LATER], 0.5, [(1, 0.625, (12.0, 11.0, 32.0, 21.0))]),
            ([CAR], [CAR_LATER], 0.25, [(1, 0.5625, (11.0, 10.5, 31.0, 20.5))]),
            ([CAR], [], 0.4, [CAR]),
            ([CAR], [], 0.5, []),
            ([], [CAR], 0.4, []),
            ([], [CAR], 0.5, [CAR]),
            ([CAR], [PERSON], 0.4, [CAR]),
            ([CAR], [PERSON], 0.6, [PERSON]),
            ([CAR], [(1, 0.5, (60.0, 40.0, 80.0, 60.0))], 0.4, [CAR]),
            ([CAR, PERSON], [PERSON, CAR], 0.5, [PERSON, CAR]),
        ],
    )
    def test_between(self, before: Objects, after: Objects, share: float, expected: Objects) -> None:
        assert interpolate(detections(before), detections(after), share) == detections(expected)

    def test_the_best_overlap_wins(self) -> None:
        """A box that overlaps two goes to the nearer one; the other stands alone."""
        near, far = (1, 0.5, (11.0, 10.0, 31.0, 20.0)), (1, 0.6, (18.0, 10.0, 38.0, 20.0))
        found = interpolate(detections([CAR]), detections([far, near]), 0.5)
        assert found == detections([far, (1, 0.5, (10.5, 10.0, 30.5, 20.0))])

    def test_the_best_guess_stays_where_nothing_is(self) -> None:
        empty = Detections(
            np.zeros((0, 4), np.float32),
            np.zeros(0, np.float32),
            np.zeros(0, np.int64),
            SIZE,
            NAMES,
            best_guess=BestGuess("car", 0.2),
        )
        assert interpolate(empty, empty, 0.5).best_guess == BestGuess("car", 0.2)
        assert interpolate(empty, detections([CAR]), 0.9).best_guess is None


class TestProperties:
    @given(OBJECTS, OBJECTS)
    def test_the_ends_are_the_frames_themselves(self, before: Detections, after: Detections) -> None:
        for share, same in ((0.0, before), (1.0, after)):
            found = interpolate(before, after, share)
            assert sorted(found) == sorted(same)

    @given(OBJECTS, OBJECTS, SHARES)
    def test_no_object_changes_its_class_or_comes_twice(
        self, before: Detections, after: Detections, share: float
    ) -> None:
        found = interpolate(before, after, share)
        for class_id in (1, 2):
            counts = [int((d.class_ids == class_id).sum()) for d in (before, found, after)]
            assert counts[1] == counts[0 if share < 0.5 else 2]

    @given(OBJECTS, SHARES)
    def test_what_stands_still_stays(self, objects: Detections, share: float) -> None:
        """Exactly so: a score of 1 stays 1, a box at the border is inside the picture."""
        assert sorted(interpolate(objects, objects, share)) == sorted(objects)

    @given(OBJECTS, OBJECTS, SHARES)
    def test_scores_stay_between(self, before: Detections, after: Detections, share: float) -> None:
        scores = [float(score) for d in (before, after) for score in d.scores]
        for score in interpolate(before, after, share).scores:
            assert min(scores) <= float(score) <= max(scores)

    @given(st.tuples(BOXES, BOXES), st.integers(0, 64))
    def test_there_and_back(self, boxes: tuple[tuple[float, ...], tuple[float, ...]], step: int) -> None:
        """The way from one to the other is the way back, at the other share."""
        one, other = (detections([(1, 0.5, box)]) for box in boxes)  # type: ignore[list-item]
        share = step / 64
        if share != 0.5:
            assert interpolate(one, other, share) == interpolate(other, one, 1 - share)
