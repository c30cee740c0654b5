"""What the report shows: thresholds, confusions, kinds of errors, sizes and calibration, each by hand."""

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ssd_detect.errors import SettingError
from ssd_detect.evaluation.by_size import ap_by_size
from ssd_detect.evaluation.calibration import calibration
from ssd_detect.evaluation.confusion import confusion_matrix
from ssd_detect.evaluation.curves import curve_points, thresholds_for_f1, thresholds_for_precision
from ssd_detect.evaluation.error_kinds import error_kinds
from ssd_detect.evaluation.findings import ClassThreshold, ErrorKind
from ssd_detect.evaluation.matching import Outcome, best_objects, match
from ssd_detect.evaluation.results import ClassResult
from ssd_detect.evaluation.tables import PredictionTable, TruthTable
from ssd_detect.evaluation.voc_ap import ap_all_points, precision_envelope, voc_result
from tests.evaluation_tables import NAMES, Box, Found, Object, data_sets, prediction_table, truth_table

WHOLE: Box = (0, 0, 10, 10)
THIRD: Box = (0, 0, 10, 3)  # IoU with WHOLE: 0.3
AWAY: Box = (50, 50, 60, 60)
CAT, DOG, OWL = 1, 2, 3


def results(truth: TruthTable, found: PredictionTable) -> tuple[ClassResult, ...]:
    return voc_result(truth, found, match(truth, best_objects(truth, found), 0.5), NAMES, "voc10").classes


def ranked(hits: str, scores: list[float], num_objects: int) -> ClassResult:
    """A class whose detections hit (`x`) or don't (`.`), best first."""
    counts = np.cumsum([one == "x" for one in hits]) if hits else np.zeros(0)
    shown = np.arange(1, len(hits) + 1)
    return ClassResult(
        1, "cat", num_objects, 0, len(hits), None, np.array(scores), counts / shown, counts / num_objects
    )


def plain(value: Any) -> Any:
    """What a JSON file of it would give."""
    return json.loads(json.dumps(value.to_dict(), allow_nan=False))


class TestThresholds:
    @pytest.mark.parametrize(
        ("hits", "scores", "wanted", "expected"),
        [
            pytest.param("", [], 0.5, None, id="no detections"),
            pytest.param("..", [0.9, 0.8], 0.5, None, id="no hits"),
            pytest.param("x.", [0.9, 0.8], 0.9, (0.85, 1, 0.25), id="between two scores"),
            pytest.param(".xx.", [0.9, 0.8, 0.7, 0.6], 0.66, (0.65, 2 / 3, 0.5), id="a bad start is made up for"),
            pytest.param("x.x.", [0.9, 0.8, 0.7, 0.6], 0.5, (0.6, 0.5, 0.5), id="all of them"),
            pytest.param("x.", [0.9, 0.9], 0.9, None, id="equal scores go together"),
            pytest.param("x..", [0.9, 0.8, 0.8], 0.9, (0.85, 1, 0.25), id="equal scores below"),
        ],
    )
    def test_for_precision(
        self, hits: str, scores: list[float], wanted: float, expected: tuple[float, float, float] | None
    ) -> None:
        (one,) = thresholds_for_precision([ranked(hits, scores, 4)], wanted)
        if expected is None:
            assert one == ClassThreshold(1, "cat", None, None, None, None)
            return
        assert (one.threshold, one.precision, one.recall) == pytest.approx(expected, abs=1e-6)

    def test_a_threshold_keeps_what_it_promises_though_a_score_must_be_above_it(self) -> None:
        one = ranked("x.x.", [0.9, 0.8, 0.7, 0.6], 4)
        (chosen,) = thresholds_for_precision([one], 0.5)
        assert chosen.threshold is not None
        assert chosen.threshold < np.float32(0.6)

    @pytest.mark.parametrize(
        ("hits", "scores", "expected"),
        [
            pytest.param("", [], None, id="no detections"),
            pytest.param("..", [0.9, 0.8], None, id="no hits"),
            pytest.param("xx..", [0.9, 0.8, 0.7, 0.6], (0.75, 2 / 3), id="best in the middle"),
            pytest.param("x.xx", [0.9, 0.8, 0.7, 0.6], (0.6, 3 / 4), id="best at the end"),
        ],
    )
    def test_for_f1(self, hits: str, scores: list[float], expected: tuple[float, float] | None) -> None:
        (one,) = thresholds_for_f1([ranked(hits, scores, 4)])
        assert (one.threshold, one.f1) == (pytest.approx(expected, abs=1e-6) if expected else (None, None))
        assert plain(one)["name"] == "cat"

    def test_of_equal_f1_the_highest(self) -> None:
        (one,) = thresholds_for_f1([ranked("x.x", [0.9, 0.8, 0.7], 3)])
        assert one.f1 == pytest.approx(2 / 3)
        (one,) = thresholds_for_f1([ranked("x..x", [0.9, 0.8, 0.7, 0.6], 2)])
        assert one.threshold == pytest.approx(0.85)

    def test_not_for_classes_without_objects(self) -> None:
        truth, found = (
            truth_table([(0, CAT, WHOLE)], 1),
            prediction_table([(0, CAT, WHOLE, 0.9), (0, DOG, WHOLE, 0.9)], 1),
        )
        for chosen in (thresholds_for_precision(results(truth, found), 0.1), thresholds_for_f1(results(truth, found))):
            assert [one.threshold is None for one in chosen] == [False, True, True]

    @pytest.mark.parametrize("wanted", [0.0, 1.01, float("nan")])
    def test_senseless_precision(self, wanted: float) -> None:
        with pytest.raises(SettingError, match="expected a number above 0, at most 1"):
            thresholds_for_precision([], wanted)

    @settings(max_examples=50, deadline=None)
    @given(data_sets(), st.sampled_from([0.3, 0.5, 0.9]))
    def test_scoring_again_above_the_threshold_gives_that_precision(
        self, data: tuple[TruthTable, PredictionTable], wanted: float
    ) -> None:
        truth, found = data
        for chosen in thresholds_for_precision(results(truth, found), wanted):
            if chosen.threshold is None:
                continue
            kept = [
                (int(found.picture[i]), int(found.class_id[i]), tuple(found.boxes[i]), float(found.score[i]))
                for i in np.flatnonzero((found.score > chosen.threshold) & (found.class_id == chosen.class_id))
            ]
            again = results(truth, prediction_table(kept, truth.num_pictures))[chosen.class_id - 1]
            assert again.precision[-1] == pytest.approx(chosen.precision)
            assert again.recall[-1] == pytest.approx(chosen.recall)
            assert again.precision[-1] >= wanted


class TestCurvePoints:
    def test_nothing_without_objects_or_detections(self) -> None:
        for one in (ranked("", [], 1), ClassResult(1, "cat", 0, 0, 1, None, *(np.zeros(1) for _ in range(3)))):
            recall, precision = curve_points(one)
            assert len(recall) == len(precision) == 0

    def test_short_curves_are_whole(self) -> None:
        recall, precision = curve_points(ranked(".xx", [0.9, 0.8, 0.7], 4))
        assert recall.tolist() == [0, 0.25, 0.5]
        assert precision.tolist() == [2 / 3, 2 / 3, 2 / 3]

    def test_long_curves_are_thinned_and_keep_their_area(self) -> None:
        generator = np.random.default_rng(0)
        hits = "".join(generator.choice(["x", "."], 5000))
        one = ranked(hits, np.linspace(1, 0, 5000).tolist(), 4000)
        recall, precision = curve_points(one, 100)
        assert len(recall) <= 101
        assert (recall[0], recall[-1]) == (one.recall[0], one.recall[-1])
        assert (np.diff(recall) > 0).all()
        assert set(zip(recall, precision, strict=True)) <= set(
            zip(one.recall, precision_envelope(one.precision), strict=True)
        )
        assert ap_all_points(recall, precision) == pytest.approx(ap_all_points(one.recall, one.precision), abs=0.01)


class TestConfusionMatrix:
    @pytest.mark.parametrize(
        ("objects", "difficult", "found", "cells"),
        [
            pytest.param([], [], [], {}, id="nothing"),
            pytest.param([(0, CAT, WHOLE)], [], [], {(CAT, 0): 1}, id="missed"),
            pytest.param([], [], [(0, CAT, WHOLE, 0.9)], {(0, CAT): 1}, id="nothing there"),
            pytest.param([(0, CAT, WHOLE)], [], [(0, CAT, WHOLE, 0.9)], {(CAT, CAT): 1}, id="right"),
            pytest.param([(0, CAT, WHOLE)], [], [(0, DOG, WHOLE, 0.9)], {(CAT, DOG): 1}, id="taken for a dog"),
            pytest.param([(0, CAT, WHOLE)], [], [(0, CAT, WHOLE, 0.5)], {(CAT, 0): 1}, id="score not above"),
            pytest.param(
                [(0, CAT, WHOLE)], [], [(1, CAT, WHOLE, 0.9)], {(CAT, 0): 1, (0, CAT): 1}, id="another picture"
            ),
            pytest.param([(0, CAT, WHOLE)], [True], [(0, CAT, WHOLE, 0.9)], {}, id="difficult"),
            pytest.param([(0, CAT, WHOLE)], [True], [(0, DOG, WHOLE, 0.9)], {(0, DOG): 1}, id="difficult, wrong class"),
            pytest.param(
                [(0, CAT, WHOLE)],
                [],
                [(0, CAT, (0, 0, 10, 8), 0.6), (0, DOG, WHOLE, 0.9)],
                {(CAT, CAT): 1, (0, DOG): 1},
                id="a hit comes before a larger overlap",
            ),
            pytest.param(
                [(0, CAT, WHOLE), (0, OWL, (0, 0, 10, 8))],
                [],
                [(0, DOG, (0, 0, 10, 9), 0.9), (0, DOG, WHOLE, 0.6)],
                {(CAT, DOG): 1, (OWL, DOG): 1},
                id="the largest overlap first",
            ),
        ],
    )
    def test_cells(
        self, objects: list[Object], difficult: list[bool], found: list[Found], cells: dict[tuple[int, int], int]
    ) -> None:
        matrix = confusion_matrix(truth_table(objects, 2, difficult), prediction_table(found, 2), NAMES)
        expected = np.zeros((4, 4), np.int64)
        for cell, count in cells.items():
            expected[cell] = count
        np.testing.assert_array_equal(matrix.counts, expected)
        assert plain(matrix)["counts"] == expected.tolist()

    @settings(max_examples=50, deadline=None)
    @given(data_sets(difficult=True, crowds=True))
    def test_every_object_and_every_counted_detection_is_in_it_once(
        self, data: tuple[TruthTable, PredictionTable]
    ) -> None:
        truth, found = data
        counts = confusion_matrix(truth, found, NAMES, score_threshold=0).counts
        counted = match(truth, best_objects(truth, found), 0.5).outcome != Outcome.IGNORED
        objects = np.bincount(truth.class_id[~truth.difficult & ~truth.crowd], minlength=4)
        np.testing.assert_array_equal(counts[1:].sum(axis=1), objects[1:])
        np.testing.assert_array_equal(counts[:, 1:].sum(axis=0), np.bincount(found.class_id[counted], minlength=4)[1:])
        assert counts[0, 0] == 0


class TestErrorKinds:
    @pytest.mark.parametrize(
        ("found", "expected", "nearest", "missed"),
        [
            pytest.param([], [], [], True, id="no detections"),
            pytest.param([(CAT, WHOLE, 0.9)], [ErrorKind.HIT], [0], False, id="hit"),
            pytest.param([(DOG, WHOLE, 0.9)], [ErrorKind.CLASS], [0], False, id="class"),
            pytest.param([(CAT, THIRD, 0.9)], [ErrorKind.LOCATION], [0], False, id="location"),
            pytest.param([(CAT, (0, 0, 10, 1), 0.9)], [ErrorKind.LOCATION], [0], False, id="location, exactly 0.1"),
            pytest.param([(DOG, THIRD, 0.9)], [ErrorKind.BOTH], [0], True, id="both"),
            pytest.param([(DOG, (0, 0, 10, 1), 0.9)], [ErrorKind.BACKGROUND], [-1], True, id="background, exactly 0.1"),
            pytest.param([(CAT, AWAY, 0.9)], [ErrorKind.BACKGROUND], [-1], True, id="background"),
            pytest.param(
                [(CAT, WHOLE, 0.8), (CAT, WHOLE, 0.9)],
                [ErrorKind.DUPLICATE, ErrorKind.HIT],
                [0, 0],
                False,
                id="duplicate",
            ),
            pytest.param([(CAT, WHOLE, 0.5)], [-1], [-1], True, id="score not above the threshold"),
        ],
    )
    def test_of_one_object(
        self, found: list[tuple[int, Box, float]], expected: list[int], nearest: list[int], missed: bool
    ) -> None:
        kinds = error_kinds(truth_table([(0, CAT, WHOLE)], 1), prediction_table([(0, *one) for one in found], 1), NAMES)
        assert kinds.kind.tolist() == expected
        assert kinds.nearest.tolist() == nearest
        assert kinds.missed.tolist() == [missed]
        assert kinds.missed_counts.tolist() == [0, int(missed), 0, 0]

    def test_difficult_objects_and_crowds_explain_nothing_and_are_not_missed(self) -> None:
        truth = truth_table([(0, CAT, WHOLE), (0, CAT, AWAY)], 1, [True, False], [False, True])
        rows: list[Found] = [
            (0, CAT, WHOLE, 0.9),
            (0, CAT, (50, 50, 55, 55), 0.9),
            (0, DOG, WHOLE, 0.9),
            (0, CAT, THIRD, 0.9),
        ]
        kinds = error_kinds(truth, prediction_table(rows, 1), NAMES)
        assert kinds.kind.tolist() == [ErrorKind.IGNORED] * 2 + [ErrorKind.BACKGROUND] * 2
        assert not kinds.missed.any()

    def test_the_programs_order_of_kinds(self) -> None:
        """Location before class; class before duplicate."""
        truth = truth_table([(0, CAT, WHOLE), (0, DOG, (0, 0, 10, 4))], 1)
        rows: list[Found] = [(0, CAT, (0, 0, 10, 4), 0.9)]
        assert error_kinds(truth, prediction_table(rows, 1), NAMES).kind.tolist() == [ErrorKind.LOCATION]
        truth = truth_table([(0, CAT, WHOLE), (0, DOG, (0, 0, 10, 9))], 1)
        rows = [(0, CAT, WHOLE, 0.9), (0, CAT, WHOLE, 0.8)]
        assert error_kinds(truth, prediction_table(rows, 1), NAMES).kind.tolist() == [ErrorKind.HIT, ErrorKind.CLASS]

    def test_counts_by_class(self) -> None:
        truth = truth_table([(0, CAT, WHOLE), (0, OWL, AWAY)], 1)
        rows: list[Found] = [(0, CAT, WHOLE, 0.9), (0, CAT, WHOLE, 0.8), (0, DOG, THIRD, 0.9)]
        told = plain(error_kinds(truth, prediction_table(rows, 1), NAMES))
        zero = {
            "hit": 0,
            "class": 0,
            "location": 0,
            "both": 0,
            "duplicate": 0,
            "background": 0,
            "ignored": 0,
            "missed": 0,
        }
        assert told["total"] == {**zero, "hit": 1, "duplicate": 1, "both": 1, "missed": 1}
        assert told["classes"] == [
            {"name": "cat", **zero, "hit": 1, "duplicate": 1},
            {"name": "dog", **zero, "both": 1},
            {"name": "owl", **zero, "missed": 1},
        ]

    @settings(max_examples=50, deadline=None)
    @given(data_sets(difficult=True, crowds=True))
    def test_hits_are_vocs_and_nothing_is_lost(self, data: tuple[TruthTable, PredictionTable]) -> None:
        truth, found = data
        kinds = error_kinds(truth, found, NAMES, score_threshold=0)
        outcome = match(truth, best_objects(truth, found), 0.5).outcome
        np.testing.assert_array_equal(kinds.kind == ErrorKind.HIT, outcome == Outcome.HIT)
        np.testing.assert_array_equal(kinds.kind == ErrorKind.IGNORED, outcome == Outcome.IGNORED)
        assert kinds.counts.sum() == len(found)
        assert not (kinds.missed & (truth.difficult | truth.crowd)).any()
        assert not kinds.missed[kinds.nearest[kinds.kind == ErrorKind.HIT]].any()


class TestBySize:
    def test_nothing(self) -> None:
        sizes = ap_by_size(truth_table([], 1), prediction_table([], 1), NAMES)
        assert [(one.name, one.mean_ap, one.num_objects) for one in sizes] == [
            ("small", None, 0),
            ("medium", None, 0),
            ("large", None, 0),
        ]
        assert [plain(one)["high"] for one in sizes] == [1024, 9216, None]

    def test_each_size_for_itself(self) -> None:
        small, medium, large = ((0.0, 0.0, float(side), float(side)) for side in (20, 50, 200))
        truth = truth_table([(0, CAT, small), (1, CAT, medium), (2, CAT, large)], 4)
        rows: list[Found] = [
            (0, CAT, small, 0.5),
            (1, CAT, medium, 0.6),
            (3, CAT, small, 0.9),  # a false alarm of a small size
            (3, DOG, large, 0.9),
        ]
        sizes = ap_by_size(truth, prediction_table(rows, 4), NAMES)
        assert [one.mean_ap for one in sizes] == [0.5, 1, 0]
        assert [one.classes for one in sizes] == [(0.5, None, None), (1, None, None), (0, None, None)]

    def test_the_area_of_the_object_decides_not_its_box(self) -> None:
        truth = truth_table([(0, CAT, (0, 0, 200, 200))], 1, area=[500.0])
        sizes = ap_by_size(truth, prediction_table([(0, CAT, (0, 0, 200, 200), 0.9)], 1), NAMES)
        assert [one.num_objects for one in sizes] == [1, 0, 0]
        assert sizes[0].mean_ap == 1

    def test_an_object_on_a_border_is_in_both(self) -> None:
        truth = truth_table([(0, CAT, (0, 0, 32, 32))], 1)
        assert [one.num_objects for one in ap_by_size(truth, prediction_table([], 1), NAMES)] == [1, 1, 0]


class TestCalibration:
    def counted(self, hits: str, scores: list[float]) -> tuple[PredictionTable, TruthTable]:
        n = len(hits)
        rows: list[Found] = [(p, CAT, WHOLE if one == "x" else AWAY, scores[p]) for p, one in enumerate(hits)]
        return prediction_table(rows, n), truth_table([(p, CAT, WHOLE) for p in range(n)], n)

    def test_nothing(self) -> None:
        found, truth = self.counted("", [])
        told = calibration(found, match(truth, best_objects(truth, found), 0.5), 4)
        assert told.expected_error is None
        assert plain(told)["precision"] == [None] * 4
        assert told.edges.tolist() == [0, 0.25, 0.5, 0.75, 1]

    def test_bins_and_error(self) -> None:
        found, truth = self.counted("xx..x", [1.0, 0.8, 0.9, 0.1, 0.25])
        told = calibration(found, match(truth, best_objects(truth, found), 0.5), 4)
        assert told.count.tolist() == [1, 1, 0, 3]
        assert plain(told)["mean_score"] == [0.1, 0.25, None, pytest.approx(0.9)]
        assert plain(told)["precision"] == [0, 1, None, pytest.approx(2 / 3)]
        assert told.expected_error == pytest.approx((0.1 + 0.75 + 3 * (0.9 - 2 / 3)) / 5)

    def test_honest_scores_have_next_to_no_error(self) -> None:
        generator = np.random.default_rng(0)
        scores = generator.random(4000)
        hits = "".join("x" if one else "." for one in generator.random(4000) < scores)
        found, truth = self.counted(hits, scores.tolist())
        error = calibration(found, match(truth, best_objects(truth, found), 0.5)).expected_error
        assert error is not None
        assert error < 0.03

    def test_ignored_detections_do_not_count(self) -> None:
        truth = truth_table([(0, CAT, WHOLE)], 1, [True])
        found = prediction_table([(0, CAT, WHOLE, 0.9)], 1)
        assert calibration(found, match(truth, best_objects(truth, found), 0.5)).count.sum() == 0
