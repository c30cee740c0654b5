"""VOC's average precision: by hand, against the devkit's rule written as plain loops, and what must not matter."""

import json
import subprocess
import sys
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ssd_detect.classes import VOC20
from ssd_detect.errors import SettingError
from ssd_detect.evaluation.evaluate import EvaluationSettings, evaluate
from ssd_detect.evaluation.matching import Matches, Outcome, best_objects, match
from ssd_detect.evaluation.overlap import overlapping_pairs
from ssd_detect.evaluation.results import VocMetric
from ssd_detect.evaluation.tables import PredictionTable, TruthTable
from ssd_detect.evaluation.voc_ap import ap_11_points, ap_all_points, voc_result
from tests.evaluation_tables import NAMES, Box, data_sets, prediction_table, truth_table

METRICS: tuple[VocMetric, VocMetric] = ("voc07", "voc10")
WHOLE: Box = (0, 0, 10, 10)
HALF: Box = (0, 0, 10, 5)  # IoU with WHOLE is exactly 0.5
AWAY: Box = (50, 50, 60, 60)

HIT, FALSE, IGNORED = Outcome.HIT, Outcome.FALSE_ALARM, Outcome.IGNORED


def matched(truth: TruthTable, found: PredictionTable, iou_threshold: float = 0.5, strict: bool = False) -> Matches:
    return match(truth, best_objects(truth, found), iou_threshold, strict=strict)


def class_aps(truth: TruthTable, found: PredictionTable, metric: VocMetric) -> list[float | None]:
    return [one.ap for one in voc_result(truth, found, matched(truth, found), NAMES, metric).classes]


class TestMatching:
    @pytest.mark.parametrize(
        ("objects", "difficult", "found", "expected"),
        [
            pytest.param([], [], [], [], id="nothing"),
            pytest.param([], [], [(1, WHOLE, 0.9)], [FALSE], id="no objects"),
            pytest.param([(1, WHOLE)], [False], [], [], id="no detections"),
            pytest.param([(1, WHOLE)], [False], [(1, HALF, 0.9)], [HIT], id="IoU exactly at the threshold"),
            pytest.param([(1, WHOLE)], [False], [(1, (0, 0, 10, 4.999), 0.9)], [FALSE], id="IoU below"),
            pytest.param([(2, WHOLE)], [False], [(1, WHOLE, 0.9)], [FALSE], id="another class"),
            pytest.param(
                [(1, WHOLE)], [False], [(1, WHOLE, 0.4), (1, HALF, 0.9)], [FALSE, HIT], id="better score first"
            ),
            pytest.param([(1, WHOLE)], [False], [(1, HALF, 0.4), (1, WHOLE, 0.4)], [HIT, FALSE], id="tie: first row"),
            pytest.param([(1, WHOLE)], [True], [(1, WHOLE, 0.9), (1, HALF, 0.8)], [IGNORED] * 2, id="difficult"),
            pytest.param([(1, WHOLE)], [True], [(1, AWAY, 0.9)], [FALSE], id="difficult but far: the port's fault"),
            pytest.param([(1, WHOLE)], [True], [(1, (0, 0, 10, 4), 0.9)], [FALSE], id="difficult, IoU below"),
            # The second detection looks only at the object that it overlaps most, which is taken.
            pytest.param(
                [(1, WHOLE), (1, (0, 0, 10, 8))],
                [False, False],
                [(1, WHOLE, 0.9), (1, (0, 0, 10, 9.5), 0.8)],
                [HIT, FALSE],
                id="no second choice",
            ),
            pytest.param(
                [(1, (0, 0, 10, 8)), (1, (0, 2, 10, 10))],
                [False, True],
                [(1, (0, 1, 10, 9), 0.9)],
                [HIT],
                id="equal overlaps: the first object",
            ),
        ],
    )
    def test_outcomes(
        self,
        objects: list[tuple[int, Box]],
        difficult: list[bool],
        found: list[tuple[int, Box, float]],
        expected: list[Outcome],
    ) -> None:
        truth = truth_table([(0, *one) for one in objects], 1, difficult)
        assert matched(truth, prediction_table([(0, *one) for one in found], 1)).outcome.tolist() == expected

    def test_strict_leaves_out_the_threshold_itself(self) -> None:
        truth, found = truth_table([(0, 1, WHOLE)], 1), prediction_table([(0, 1, HALF, 0.9)], 1)
        assert matched(truth, found, strict=True).outcome.tolist() == [FALSE]
        assert matched(truth, found, 0.49, strict=True).outcome.tolist() == [HIT]

    def test_the_same_place_in_another_picture_is_no_hit(self) -> None:
        truth, found = truth_table([(0, 1, WHOLE)], 2), prediction_table([(1, 1, WHOLE, 0.9)], 2)
        assert matched(truth, found).outcome.tolist() == [FALSE]

    def test_what_hits_nothing_but_lies_in_a_crowd_is_ignored(self) -> None:
        truth = truth_table([(0, 1, (0, 0, 100, 100)), (0, 1, WHOLE)], 1, crowd=[True, False])
        rows = [(0, 1, WHOLE, 0.9), (0, 1, HALF, 0.8), (0, 1, AWAY, 0.7), (0, 2, AWAY, 0.6)]
        assert matched(truth, prediction_table(rows, 1)).outcome.tolist() == [HIT, IGNORED, IGNORED, FALSE]

    def test_thresholds_share_the_best_objects(self) -> None:
        truth = truth_table([(0, 1, WHOLE)], 1)
        best = best_objects(truth, prediction_table([(0, 1, (0, 0, 10, 7), 0.9)], 1))
        assert [match(truth, best, t).outcome.tolist() for t in (0.5, 0.7, 0.75)] == [[HIT], [HIT], [FALSE]]
        assert [match(truth, best, t).truth.tolist() for t in (0.5, 0.75)] == [[0], [-1]]

    def test_tables_of_different_pictures_are_refused(self) -> None:
        with pytest.raises(ValueError, match="2 pictures have objects, 1 have detections"):
            overlapping_pairs(truth_table([], 2), prediction_table([], 1))

    def test_many_pairs_are_computed_in_blocks(self, monkeypatch: pytest.MonkeyPatch) -> None:
        generator = np.random.default_rng(1)
        corners = generator.integers(0, 20, (60, 2)).tolist()
        objects = [(i % 3, 1, (x, y, x + 9, y + 9)) for i, (x, y) in enumerate(corners)]
        truth = truth_table(objects, 3)
        found = prediction_table([(*row, 0.5) for row in objects], 3)
        whole = overlapping_pairs(truth, found)
        monkeypatch.setattr("ssd_detect.evaluation.overlap._BLOCK", 7)
        parts = overlapping_pairs(truth, found)
        assert len(whole.overlap) > 500
        for name in ("detection", "truth", "overlap"):
            np.testing.assert_array_equal(getattr(parts, name), getattr(whole, name))


class TestByHand:
    @pytest.mark.parametrize(
        ("recall", "precision", "voc07", "voc10"),
        [
            ([], [], 0, 0),
            ([0.0], [0.0], 0, 0),
            ([1.0], [1.0], 1, 1),
            ([0.0, 1.0], [0.0, 0.5], 0.5, 0.5),
            ([0.5, 0.5, 1.0], [1, 1 / 2, 2 / 3], (6 * 1 + 5 * 2 / 3) / 11, 0.5 + 0.5 * 2 / 3),
            # Recall 0.3, 0.6 and 0.7 count, which they don't when thresholds are sums of 0.1.
            ([0.3], [1.0], 4 / 11, 0.3),
            ([0.6], [1.0], 7 / 11, 0.6),
            ([0.7], [1.0], 8 / 11, 0.7),
        ],
    )
    def test_areas(self, recall: list[float], precision: list[float], voc07: float, voc10: float) -> None:
        curve = np.array(recall), np.array(precision)
        assert ap_11_points(*curve) == pytest.approx(voc07, abs=1e-12)
        assert ap_all_points(*curve) == pytest.approx(voc10, abs=1e-12)

    def test_three_of_ten_objects(self) -> None:
        truth = truth_table([(p, 1, WHOLE) for p in range(10)], 10)
        found = prediction_table([(p, 1, WHOLE, 0.9) for p in range(3)], 10)
        assert class_aps(truth, found, "voc07")[0] == pytest.approx(4 / 11)
        assert class_aps(truth, found, "voc10")[0] == pytest.approx(0.3)

    def test_a_class_without_objects_has_no_ap_and_is_left_out_of_the_mean(self) -> None:
        truth = truth_table([(0, 1, WHOLE), (0, 2, WHOLE), (0, 3, WHOLE)], 1, [False, False, True])
        found = prediction_table([(0, 1, WHOLE, 0.9), (0, 3, AWAY, 0.9)], 1)
        result = voc_result(truth, found, matched(truth, found), NAMES, "voc07")
        assert [one.ap for one in result.classes] == [1.0, 0.0, None]
        assert result.mean_ap == 0.5
        assert [(one.num_objects, one.num_difficult, one.num_detections) for one in result.classes] == [
            (1, 0, 1),
            (1, 0, 0),
            (0, 1, 1),
        ]

    def test_nothing_at_all_has_no_mean(self) -> None:
        result = evaluate(truth_table([], 0), prediction_table([], 0), NAMES)
        assert [one.mean_ap for one in result.voc] == [None, None]
        assert result.coco is not None
        assert set(result.coco.numbers.values()) == {None}

    def test_the_curve_counts_each_detection_but_the_ignored(self) -> None:
        truth = truth_table([(0, 1, WHOLE), (1, 1, WHOLE), (2, 1, WHOLE)], 3, [False, True, False])
        rows = [(0, 1, WHOLE, 0.7), (1, 1, WHOLE, 0.9), (1, 1, AWAY, 0.8), (2, 1, WHOLE, 0.6)]
        found = prediction_table(rows, 3)
        one = voc_result(truth, found, matched(truth, found), NAMES, "voc10").classes[0]
        assert one.score.tolist() == [0.8, 0.7, 0.6]
        assert one.precision.tolist() == [0, 1 / 2, 2 / 3]
        assert one.recall.tolist() == [0, 0.5, 1]
        assert one.ap == pytest.approx(2 / 3)


def devkit_aps(truth: TruthTable, found: PredictionTable, class_id: int) -> tuple[float, float] | None:
    """VOC07 and VOC10 AP by the devkit's rule, a detection at a time, in its pixels: from 1, both borders inside."""
    objects: dict[int, list[list[Any]]] = {}  # picture -> [box, difficult, taken]
    for i in range(len(truth)):
        if truth.class_id[i] == class_id:
            x0, y0, x1, y1 = truth.boxes[i]
            objects.setdefault(int(truth.picture[i]), []).append([(x0 + 1, y0 + 1, x1, y1), truth.difficult[i], False])
    num_objects = sum(not difficult for group in objects.values() for _, difficult, _ in group)
    if num_objects == 0:
        return None
    rows = sorted((i for i in range(len(found)) if found.class_id[i] == class_id), key=lambda i: -found.score[i])
    hits = shown = 0
    points: list[tuple[float, float]] = []
    for i in rows:
        x0, y0, x1, y1 = found.boxes[i]
        most, chosen = -1.0, None
        for one in objects.get(int(found.picture[i]), []):
            overlap = devkit_overlap((x0 + 1, y0 + 1, x1, y1), one[0])
            if overlap > most:
                most, chosen = overlap, one
        if chosen is not None and most >= 0.5 and chosen[1]:
            continue
        shown += 1
        if chosen is not None and most >= 0.5 and not chosen[2]:
            chosen[2] = True
            hits += 1
        points.append((hits / num_objects, hits / shown))
    eleven = [max([p for r, p in points if r >= j / 10], default=0.0) for j in range(11)]
    area = previous = 0.0
    for i, (recall, _) in enumerate(points):
        area += (recall - previous) * max(p for _, p in points[i:])
        previous = recall
    return sum(eleven) / 11, area


def devkit_overlap(box: Box, other: Box) -> float:
    width = min(box[2], other[2]) - max(box[0], other[0]) + 1
    height = min(box[3], other[3]) - max(box[1], other[1]) + 1
    if width <= 0 or height <= 0:
        return -1.0
    areas = [(b[2] - b[0] + 1) * (b[3] - b[1] + 1) for b in (box, other)]
    return width * height / (sum(areas) - width * height)


class TestAgainstTheDevkitsRule:
    @settings(max_examples=50, deadline=None)
    @given(data_sets(difficult=True))
    def test_every_class(self, data: tuple[TruthTable, PredictionTable]) -> None:
        truth, found = data
        results = [devkit_aps(truth, found, class_id) for class_id in range(1, len(NAMES))]
        for number, metric in enumerate(METRICS):
            expected = [None if one is None else pytest.approx(one[number], abs=1e-6) for one in results]
            assert class_aps(truth, found, metric) == expected

    def test_a_larger_set(self) -> None:
        generator = np.random.default_rng(3)

        def row() -> tuple[int, int, Box]:
            x, y, w, h = generator.integers((0, 0, 4, 4), (20, 20, 16, 16)).tolist()
            return int(generator.integers(30)), int(generator.integers(1, 4)), (x, y, x + w, y + h)

        truth = truth_table([row() for _ in range(120)], 30, (generator.random(120) < 0.2).tolist())
        found = prediction_table([(*row(), float(generator.integers(1, 50) / 50)) for _ in range(900)], 30)
        for number, metric in enumerate(METRICS):
            aps = class_aps(truth, found, metric)
            assert all(ap is not None and 0 < ap < 0.9 for ap in aps)
            expected = [devkit_aps(truth, found, class_id) for class_id in range(1, 4)]
            assert aps == [pytest.approx(one[number], abs=1e-9) for one in expected if one is not None]


class TestWhatMustNotMatter:
    @settings(max_examples=50, deadline=None)
    @given(data_sets(difficult=True, crowds=True, distinct_scores=True), st.randoms(use_true_random=False))
    def test_the_order_of_pictures(self, data: tuple[TruthTable, PredictionTable], random: Any) -> None:
        truth, found = data
        new = list(range(truth.num_pictures))
        random.shuffle(new)
        for metric in METRICS:
            assert class_aps(renumbered(truth, new), renumbered(found, new), metric) == class_aps(truth, found, metric)

    @settings(max_examples=50, deadline=None)
    @given(data_sets(difficult=True, crowds=True), st.permutations([1, 2, 3]))
    def test_the_numbers_of_classes(self, data: tuple[TruthTable, PredictionTable], new: list[int]) -> None:
        truth, found = data
        ids = np.array([0, *new])
        other = replace(truth, class_id=ids[truth.class_id]), replace(found, class_id=ids[found.class_id])
        for metric in METRICS:
            aps = class_aps(truth, found, metric)
            renamed = class_aps(*other, metric)
            assert [renamed[k - 1] for k in new] == aps

    @settings(max_examples=50, deadline=None)
    @given(data_sets(difficult=True, crowds=True))
    def test_the_scale_of_boxes(self, data: tuple[TruthTable, PredictionTable]) -> None:
        truth, found = data
        other = replace(truth, boxes=2 * truth.boxes), replace(found, boxes=2 * found.boxes)
        for metric in METRICS:
            assert class_aps(*other, metric) == class_aps(truth, found, metric)


def renumbered(table: Any, new: list[int]) -> Any:
    """The table with picture i as picture `new[i]`, its rows in the new order."""
    picture = np.array(new)[table.picture]
    order = np.argsort(picture, kind="stable")
    columns = (
        "class_id",
        "boxes",
        *(("score",) if isinstance(table, PredictionTable) else ("difficult", "crowd", "area")),
    )
    return replace(table, picture=picture[order], **{name: getattr(table, name)[order] for name in columns})


class TestEvaluate:
    def test_every_metric_at_every_threshold_and_nothing_printed(self, capfd: pytest.CaptureFixture[str]) -> None:
        truth = truth_table([(0, 1, WHOLE)], 1)
        found = prediction_table([(0, 1, (0, 0, 10, 7), 0.9)], 1)
        result = evaluate(truth, found, NAMES, EvaluationSettings(iou_thresholds=(0.5, 0.75)))
        assert [(one.metric, one.iou_threshold, one.mean_ap) for one in result.voc] == [
            ("voc07", 0.5, 1.0),
            ("voc10", 0.5, 1.0),
            ("voc07", 0.75, 0.0),
            ("voc10", 0.75, 0.0),
        ]
        assert capfd.readouterr() == ("", "")

    def test_the_result_is_plain_json(self) -> None:
        truth = truth_table([(0, 1, WHOLE)], 1)
        found = prediction_table([(0, 1, WHOLE, 0.9)], 1)
        plain = evaluate(truth, found, NAMES).to_dict()
        assert json.loads(json.dumps(plain, allow_nan=False)) == plain
        assert plain["voc"][0]["classes"][1] == {
            "class_id": 2,
            "name": "dog",
            "num_objects": 0,
            "num_difficult": 0,
            "num_detections": 0,
            "ap": None,
        }
        assert plain["coco"]["numbers"]["AP"] == 1.0

    def test_strictness_and_what_else_was_done_is_said(self) -> None:
        truth, found = truth_table([(0, 1, WHOLE)], 1), prediction_table([(0, 1, HALF, 0.9)], 1)
        result = evaluate(truth, found, NAMES, EvaluationSettings(strict=True, coco=False))
        assert [one.mean_ap for one in result.voc] == [0.0, 0.0]
        assert result.coco is None
        assert "an IoU above the threshold" in " ".join(result.notes)
        assert "COCO" not in " ".join(result.notes)

    @pytest.mark.parametrize(
        ("chosen", "message"),
        [
            ({"metrics": ("voc12",)}, "metric is 'voc12', expected one of voc07, voc10"),
            ({"iou_thresholds": (0.0,)}, "IoU threshold is 0.0, expected a number above 0, at most 1"),
            ({"iou_thresholds": (0.5, float("nan"))}, "IoU threshold is nan, expected a number above 0, at most 1"),
        ],
    )
    def test_senseless_settings(self, chosen: dict[str, Any], message: str) -> None:
        with pytest.raises(SettingError, match=message):
            EvaluationSettings(**chosen)

    def test_a_class_without_a_name_is_refused(self) -> None:
        with pytest.raises(ValueError, match="class id 4 has no name: 4 names"):
            evaluate(truth_table([], 1), prediction_table([(0, 4, WHOLE, 0.5)], 1), NAMES)

    def test_twenty_classes_of_which_one_occurs(self) -> None:
        truth, found = truth_table([(0, 15, WHOLE)], 1), prediction_table([(0, 15, WHOLE, 0.9)], 1)
        result = evaluate(truth, found, VOC20)
        assert [one.name for one in result.voc[0].classes if one.ap is not None] == ["person"]

    def test_the_room_needs_numpy_alone(self) -> None:
        heavy = {"tensorflow", "cv2", "PIL", "pycocotools", "matplotlib"}
        loads = f"import ssd_detect.evaluation.evaluate, sys; print(sorted({heavy} & {{*sys.modules}}))"
        done = subprocess.run([sys.executable, "-c", loads], capture_output=True, text=True, check=True)
        assert done.stdout == "[]\n"
