"""The Detections type: checks, indexing, filtering, conversion."""

import json
import sys
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ssd_detect.classes import VOC20
from ssd_detect.detections import BestGuess, Detections
from ssd_detect.errors import MissingPackageError, UnknownClassError

SIZE = (640, 424)


def detections(*rows: tuple[int, float, tuple[float, float, float, float]], **extra: Any) -> Detections:
    """From (class id, score, box) rows."""
    return Detections(
        boxes=np.array([box for _, _, box in rows], np.float32).reshape(-1, 4),
        scores=np.array([score for _, score, _ in rows], np.float32),
        class_ids=np.array([class_id for class_id, _, _ in rows], np.int64),
        size=SIZE,
        class_names=VOC20,
        **extra,
    )


PERSON = (15, 0.98, (10.5, 20.0, 110.0, 220.25))
DOG = (12, 0.6, (0.0, 0.0, 640.0, 424.0))
CAR = (7, 0.55, (1.0, 1.0, 2.0, 2.0))
boxes = st.tuples(*[st.floats(0, 200, width=32)] * 2, *[st.floats(201, 400, width=32)] * 2)
rows = st.lists(st.tuples(st.integers(1, 20), st.floats(0, 1, width=32), boxes), max_size=12)


class TestChecks:
    def test_empty(self) -> None:
        none = Detections.empty(SIZE, VOC20)
        assert (len(none), list(none)) == (0, [])
        assert none.boxes.shape == (0, 4)
        assert none.to_dict() == {"width": 640, "height": 424, "detections": []}

    @pytest.mark.parametrize(
        ("row", "message"),
        [
            ((15, 0.5, (5, 5, 5, 9)), "have an area"),
            ((15, 0.5, (9, 5, 5, 9)), "have an area"),
            ((15, 0.5, (-1, 5, 5, 9)), "inside the picture of 640x424"),
            ((15, 0.5, (5, 5, 9, 424.5)), "inside the picture"),
            ((15, 0.5, (5, 5, 9, np.nan)), "finite"),
            ((15, np.inf, (5, 5, 9, 9)), "finite"),
            ((0, 0.5, (5, 5, 9, 9)), "class_ids must be from 1 to 20"),
            ((21, 0.5, (5, 5, 9, 9)), "class_ids must be from 1 to 20"),
        ],
    )
    def test_contradictions(self, row: Any, message: str) -> None:
        with pytest.raises(ValueError, match=message):
            detections(row)

    def test_shapes_must_fit(self) -> None:
        with pytest.raises(ValueError, match=r"boxes \(1, 4\), scores \(2,\)"):
            Detections(np.zeros((1, 4), np.float32), np.zeros(2, np.float32), np.zeros(2, np.int64), SIZE, VOC20)

    def test_frozen_and_apart_from_the_callers_arrays(self) -> None:
        scores = np.array([0.9], np.float32)
        found = Detections(np.array([[0, 0, 1, 1]], np.float32), scores, np.array([1]), SIZE, VOC20)
        scores[0] = 0.1
        assert found.scores[0] == np.float32(0.9)
        with pytest.raises(ValueError, match="read-only"):
            found.scores[0] = 0.2


class TestUse:
    found = detections(PERSON, DOG, CAR)

    def test_iteration(self) -> None:
        first = next(iter(self.found))
        assert (first.class_name, first.box) == ("person", PERSON[2])
        assert first.score == pytest.approx(0.98)

    @pytest.mark.parametrize(
        ("index", "ids"),
        [
            (0, [15]),
            (-1, [7]),
            (slice(1, None), [12, 7]),
            ([2, 0], [7, 15]),
            ([], []),
            (np.array([True, False, True]), [15, 7]),
            (np.int64(1), [12]),
        ],
    )
    def test_indexing(self, index: Any, ids: list[int]) -> None:
        assert self.found[index].class_ids.tolist() == ids

    def test_index_beyond_the_end(self) -> None:
        with pytest.raises(IndexError):
            self.found[3]

    @pytest.mark.parametrize(
        ("wanted", "ids"),
        [
            ({}, [15, 12, 7]),
            ({"min_score": 0.6}, [15, 12]),
            ({"classes": ["Person", "car"]}, [15, 7]),
            ({"exclude_classes": ["dog"]}, [15, 7]),
            ({"classes": ["dog"], "exclude_classes": ["dog"]}, []),
            ({"classes": ["aeroplane"]}, []),
        ],
    )
    def test_filter(self, wanted: Any, ids: list[int]) -> None:
        assert self.found.filter(**wanted).class_ids.tolist() == ids

    def test_filter_by_an_unknown_class(self) -> None:
        with pytest.raises(UnknownClassError, match="did you mean person"):
            self.found.filter(classes=["prson"])

    def test_equality(self) -> None:
        assert self.found == detections(PERSON, DOG, CAR)
        assert self.found != detections(PERSON, CAR, DOG)
        assert self.found != "three detections"

    def test_to_dict_is_plain_and_precise(self) -> None:
        (entry,) = json.loads(json.dumps(detections(PERSON).to_dict(), allow_nan=False))["detections"]
        assert entry == {"class": "person", "class_id": 15, "score": 0.98, "box": [10.5, 20.0, 110.0, 220.25]}

    @given(rows, rows)
    def test_merge_is_a_stable_sort_of_all(self, first: Any, second: Any) -> None:
        parts = [detections(*sorted(part, key=lambda r: -r[1])) for part in (first, second)]
        merged = Detections.merge(parts)
        assert merged.scores.tolist() == sorted([s for p in parts for s in p.scores.tolist()], reverse=True)
        assert sorted(map(tuple, merged)) == sorted(tuple(d) for part in parts for d in part)
        assert Detections.merge([merged]) == merged

    def test_merge_refuses_other_pictures(self) -> None:
        with pytest.raises(ValueError, match="same picture size"):
            Detections.merge([self.found, Detections.empty((1, 1), VOC20)])
        with pytest.raises(ValueError, match="nothing to merge"):
            Detections.merge([])

    def test_merge_of_nothing_keeps_the_guess(self) -> None:
        guess = BestGuess("person", 0.3)
        assert Detections.merge([detections(best_guess=guess)]).best_guess == guess
        assert Detections.merge([detections(best_guess=guess), self.found]).best_guess is None

    def test_notebook_picture(self) -> None:
        assert self.found._repr_png_() is None
        shown = detections(PERSON, DOG, render=lambda d: str(len(d)).encode())
        assert shown._repr_png_() == b"2"
        assert shown[0]._repr_png_() == b"1"

    def test_to_supervision(self) -> None:
        import supervision

        converted = self.found.to_supervision()
        assert isinstance(converted, supervision.Detections)
        np.testing.assert_array_equal(converted.xyxy, self.found.boxes)
        np.testing.assert_array_equal(converted.class_id, self.found.class_ids)
        np.testing.assert_array_equal(converted.confidence, self.found.scores)
        assert list(converted.data["class_name"]) == ["person", "dog", "car"]
        assert len(Detections.empty(SIZE, VOC20).to_supervision()) == 0

    def test_to_supervision_without_it(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(sys.modules, "supervision", None)
        with pytest.raises(MissingPackageError, match=r"pip install 'ssd-detect\[supervision\]'"):
            self.found.to_supervision()
