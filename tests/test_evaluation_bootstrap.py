"""Intervals of the mean AP, and comparisons of two runs."""

import json
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ssd_detect.arrays import Flags
from ssd_detect.errors import SettingError
from ssd_detect.evaluation.bootstrap import BootstrapSettings, WeightedRun, draw_weights, mean_ap_interval
from ssd_detect.evaluation.comparison import compare
from ssd_detect.evaluation.evaluate import EvaluationSettings, evaluate
from ssd_detect.evaluation.matching import best_objects, match
from ssd_detect.evaluation.results import Interval, VocMetric
from ssd_detect.evaluation.tables import PredictionTable, TruthTable
from ssd_detect.evaluation.voc_ap import voc_result
from tests.evaluation_tables import NAMES, Box, data_sets, prediction_table, truth_table

WHOLE: Box = (0, 0, 10, 10)
AWAY: Box = (50, 50, 60, 60)
QUICK = BootstrapSettings(100)


def weighted_run(truth: TruthTable, found: PredictionTable) -> WeightedRun:
    return WeightedRun.of(truth, found, match(truth, best_objects(truth, found), 0.5), NAMES)


def mean_ap(truth: TruthTable, found: PredictionTable, metric: VocMetric) -> float | None:
    return voc_result(truth, found, match(truth, best_objects(truth, found), 0.5), NAMES, metric).mean_ap


def repeated(truth: TruthTable, found: PredictionTable, weights: Sequence[int]) -> tuple[TruthTable, PredictionTable]:
    """The data set with each picture as often as `weights` says."""
    drawn = [picture for picture, weight in enumerate(weights) for _ in range(weight)]

    def rows(table: Any) -> list[tuple[int, int]]:
        return [
            (new, row) for new, picture in enumerate(drawn) for row in np.flatnonzero(table.picture == picture).tolist()
        ]

    objects = [(new, int(truth.class_id[i]), tuple(truth.boxes[i])) for new, i in rows(truth)]
    detections = [(new, int(found.class_id[i]), tuple(found.boxes[i]), float(found.score[i])) for new, i in rows(found)]
    flags = [[bool(column[i]) for _, i in rows(truth)] for column in (truth.difficult, truth.crowd)]
    return truth_table(objects, len(drawn), *flags), prediction_table(detections, len(drawn))


class TestWeights:
    @settings(max_examples=100, deadline=None)
    @given(data_sets(difficult=True, crowds=True, distinct_scores=True), st.data())
    def test_a_picture_counted_twice_is_a_picture_there_twice(
        self, data: tuple[TruthTable, PredictionTable], more: st.DataObject
    ) -> None:
        truth, found = data
        weights = more.draw(st.lists(st.integers(0, 3), min_size=truth.num_pictures, max_size=truth.num_pictures))
        copies = repeated(truth, found, weights)
        run = weighted_run(truth, found)
        for metric in ("voc07", "voc10"):
            expected = mean_ap(*copies, metric)
            ours = run.mean_ap(np.array(weights), metric)
            assert ours == pytest.approx(float("nan") if expected is None else expected, abs=1e-9, nan_ok=True)

    def test_each_resample_draws_as_many_pictures_as_there_are(self) -> None:
        weights = np.stack(list(draw_weights(50, BootstrapSettings(300))))
        assert weights.shape == (300, 50)
        assert (weights.sum(axis=1) == 50).all()
        assert abs(weights.mean(axis=0) - 1).max() < 0.3

    def test_the_seed_decides(self) -> None:
        def drawn(seed: int) -> list[list[int]]:
            return [weights.tolist() for weights in draw_weights(20, BootstrapSettings(100, seed=seed))]

        assert drawn(1) == drawn(1)
        assert drawn(1) != drawn(2)

    @pytest.mark.parametrize(
        ("chosen", "message"),
        [
            ({"num_resamples": 99}, "num_resamples is 99, expected a whole number of at least 100"),
            ({"level": 1.0}, "level is 1.0, expected a number above 0 and below 1"),
            ({"level": float("nan")}, "level is nan, expected"),
            ({"seed": -1}, "seed is -1, expected"),
        ],
    )
    def test_senseless_settings(self, chosen: dict[str, Any], message: str) -> None:
        with pytest.raises(SettingError, match=message):
            BootstrapSettings(**chosen)


def one_object_each(found: Flags, scores: Any) -> tuple[TruthTable, PredictionTable]:
    """A picture for each of `found`, with an object of class 1 and one detection, which hits it or not."""
    n = len(found)
    truth = truth_table([(p, 1, WHOLE) for p in range(n)], n)
    rows = [(p, 1, WHOLE if found[p] else AWAY, float(scores[p])) for p in range(n)]
    return truth, prediction_table(rows, n)


def drawn_run(generator: np.random.Generator, n: int, quality: float = 0.7) -> tuple[TruthTable, PredictionTable]:
    hit = generator.random(n) < quality
    return one_object_each(hit, np.clip(generator.normal(0.4 + 0.2 * hit, 0.15), 0.01, 1))


class TestInterval:
    def test_none_without_objects(self) -> None:
        truth, found = truth_table([], 2), prediction_table([(0, 1, WHOLE, 0.5)], 2)
        assert mean_ap_interval(weighted_run(truth, found), 2, "voc10", QUICK) is None

    def test_nothing_found_is_surely_0(self) -> None:
        truth, found = truth_table([(p, 1, WHOLE) for p in range(9)], 9), prediction_table([], 9)
        assert mean_ap_interval(weighted_run(truth, found), 9, "voc10", QUICK) == Interval(0, 0, 0.95)

    def test_all_found_is_surely_1(self) -> None:
        truth, found = one_object_each(np.ones(9, np.bool_), np.ones(9))
        assert mean_ap_interval(weighted_run(truth, found), 9, "voc07", QUICK) == Interval(1, 1, 0.95)

    def test_resamples_without_objects_are_left_out(self) -> None:
        truth, found = truth_table([(0, 1, WHOLE)], 3), prediction_table([(0, 1, WHOLE, 0.5)], 3)
        assert mean_ap_interval(weighted_run(truth, found), 3, "voc10", QUICK) == Interval(1, 1, 0.95)

    def test_it_lies_around_the_mean_and_shrinks_with_more_pictures(self) -> None:
        widths = []
        for n in (50, 800):
            truth, found = drawn_run(np.random.default_rng(0), n)
            interval = mean_ap_interval(weighted_run(truth, found), n, "voc10", QUICK)
            middle = mean_ap(truth, found, "voc10")
            assert interval is not None
            assert middle is not None
            assert interval.low < middle < interval.high
            widths.append(interval.high - interval.low)
        assert widths[0] / widths[1] == pytest.approx(4, rel=0.35)  # the square root of 800 / 50

    def test_it_covers_the_truth_as_often_as_it_says(self) -> None:
        generator = np.random.default_rng(5)
        population = mean_ap(*drawn_run(generator, 20_000), "voc10")
        assert population is not None
        covered = 0
        for _ in range(100):
            interval = mean_ap_interval(weighted_run(*drawn_run(generator, 100)), 100, "voc10", QUICK)
            assert interval is not None
            covered += interval.low <= population <= interval.high
        assert 86 <= covered <= 100

    def test_evaluate_gives_it_when_asked(self) -> None:
        truth, found = drawn_run(np.random.default_rng(0), 40)
        chosen = EvaluationSettings(bootstrap=QUICK, coco=False)
        result = evaluate(truth, found, NAMES, chosen)
        again = evaluate(truth, found, NAMES, chosen)
        assert all(one.interval is not None for one in result.voc)
        assert result.to_dict() == again.to_dict()
        assert "95 % percentile bootstrap over pictures, 100 resamples, seed 0" in result.notes[-1]


class TestComparison:
    def test_a_run_does_not_differ_from_itself(self) -> None:
        truth, found = drawn_run(np.random.default_rng(0), 60)
        result = compare(truth, found, found, NAMES, settings=QUICK)
        assert result.difference == 0
        assert result.interval == Interval(0, 0, 0.95)
        assert result.share_a_better == 0.5
        assert not result.more_than_chance
        assert result.verdict == (
            "A - B is +0.00 mAP points (95 % interval +0.00 to +0.00): no more than chance would give"
        )
        assert json.loads(json.dumps(result.to_dict(), allow_nan=False)) == result.to_dict()

    @pytest.mark.parametrize("metric", ["voc07", "voc10"])
    def test_a_clear_difference_both_ways(self, metric: VocMetric) -> None:
        generator = np.random.default_rng(0)
        truth, good = drawn_run(generator, 200, 0.8)
        _, bad = drawn_run(generator, 200, 0.5)
        forth, back = (
            compare(truth, *runs, NAMES, metric=metric, settings=QUICK) for runs in ((good, bad), (bad, good))
        )
        assert forth.verdict.startswith("A is better than B: A - B is +")
        assert back.verdict.startswith("B is better than A: A - B is -")
        assert forth.more_than_chance
        assert back.more_than_chance
        assert (forth.share_a_better, back.share_a_better) == (1, 0)
        assert forth.difference == -back.difference
        assert forth.mean_ap_a == mean_ap(truth, good, metric)
        assert (forth.interval.low, forth.interval.high) == pytest.approx((-back.interval.high, -back.interval.low))

    def test_pairing_sees_what_separate_intervals_do_not(self) -> None:
        """B fails on a few pictures more than A; both fail together on many."""
        generator = np.random.default_rng(2)
        hit, scores = generator.random(300) < 0.6, generator.random(300)
        worse = hit & (generator.random(300) < 0.93)
        truth, a = one_object_each(hit, scores)
        _, b = one_object_each(worse, scores)
        intervals = [mean_ap_interval(weighted_run(truth, one), 300, "voc10", QUICK) for one in (a, b)]
        assert intervals[0] is not None
        assert intervals[1] is not None
        assert intervals[0].low < intervals[1].high
        assert compare(truth, a, b, NAMES, settings=QUICK).more_than_chance

    def test_equally_good_runs_seldom_differ_by_more_than_chance(self) -> None:
        generator = np.random.default_rng(8)
        wrong = 0
        for _ in range(60):
            truth, a = drawn_run(generator, 100)
            _, b = drawn_run(generator, 100)
            wrong += compare(truth, a, b, NAMES, settings=QUICK).more_than_chance
        assert wrong <= 9  # 3 are expected; more than 9 with a chance of 1 in 500

    def test_nothing_to_compare_by(self) -> None:
        truth = truth_table([(0, 1, WHOLE)], 1, [True])
        nothing = prediction_table([], 1)
        with pytest.raises(SettingError, match="no objects but difficult ones"):
            compare(truth, nothing, nothing, NAMES)
