"""What is said of anchors and classes is what becomes of them: places, reasons, and who removed whom."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ssd_detect.arrays import Floats
from ssd_detect.boxes.anchors import ANCHOR_PRESETS, make_anchors
from ssd_detect.boxes.geometry import xyxy_to_cxcywh
from ssd_detect.boxes.postprocess import decode_candidates, keep_best
from ssd_detect.boxes.profiles import resolved
from ssd_detect.conventions import Profile
from ssd_detect.explaining.places import AnchorGrid
from ssd_detect.explaining.trace import Outcome, RawPicture, Reason, Trace
from ssd_detect.settings import DetectionSettings
from tests.test_profiles import picture_of


class TestPlaces:
    @pytest.mark.parametrize(
        ("preset", "anchor_id", "expected"),
        [
            ("voc300", 0, (1, "conv4/conv4_3", 38, 8, 0, 0, 0, 4, 1.0, "small square")),
            ("voc300", 3, (1, "conv4/conv4_3", 38, 8, 0, 0, 3, 4, 0.5, "1:2")),
            ("voc300", 38 * 38 * 4 - 3, (1, "conv4/conv4_3", 38, 8, 37, 37, 1, 4, 1.0, "large square")),
            ("voc300", 38 * 38 * 4 + (2 * 19 + 5) * 6 + 4, (2, "conv7", 19, 16, 2, 5, 4, 6, 3.0, "3:1")),
            ("voc300", 8731, (6, "block11/conv3x3", 1, 300, 0, 0, 3, 4, 0.5, "1:2")),
            ("coco512", 24563, (7, "block12/conv4x4", 1, 512, 0, 0, 3, 4, 0.5, "1:2")),
        ],
    )
    def test_place(self, preset: str, anchor_id: int, expected: tuple[Any, ...]) -> None:
        place = AnchorGrid(preset).place(anchor_id)
        assert (place.map_number, place.map_name, place.grid, place.step, place.row, place.column) == expected[:6]
        assert (place.number, place.per_cell, place.ratio, place.shape) == expected[6:]

    @pytest.mark.parametrize("preset", ANCHOR_PRESETS)
    def test_every_place_is_where_the_anchor_is(self, preset: str) -> None:
        grid, anchors = AnchorGrid(preset), make_anchors(preset)
        for anchor_id in range(0, len(anchors), 97):
            place = grid.place(anchor_id)
            centre = np.array([place.column + 0.5, place.row + 0.5]) * place.step / grid.side
            np.testing.assert_allclose(anchors[anchor_id, :2], centre, rtol=1e-6)
            assert anchors[anchor_id, 2] / anchors[anchor_id, 3] == pytest.approx(place.ratio, rel=1e-5)

    @pytest.mark.parametrize("preset", ANCHOR_PRESETS)
    @given(x=st.floats(0, 1), y=st.floats(0, 1))
    @settings(deadline=None, max_examples=50)
    def test_cells_at_a_point(self, preset: str, x: float, y: float) -> None:
        grid = AnchorGrid(preset)
        for map_number in range(1, grid.num_maps + 1):
            anchor_ids = grid.in_cell_at(map_number, x, y)
            places = [grid.place(int(anchor_id)) for anchor_id in anchor_ids]
            assert {(p.map_number, p.row, p.column) for p in places} == {(map_number, places[0].row, places[0].column)}
            assert [p.number for p in places] == list(range(places[0].per_cell))
            assert abs((places[0].column + 0.5) * places[0].step - x * grid.side) <= places[0].step / 2 + 1e-6
            assert abs((places[0].row + 0.5) * places[0].step - y * grid.side) <= places[0].step / 2 + 1e-6


def raw_picture(scores: Any, boxes: Any, chosen: DetectionSettings, profile: Profile = Profile.TUTORIAL) -> RawPicture:
    """Anchors that stand where the boxes are, xyxy unit, and offsets of zero; all classes are wanted."""
    scores, anchors = np.array(scores, np.float32), xyxy_to_cxcywh(np.array(boxes, np.float32))
    wanted = np.arange(scores.shape[1]) > 0
    return RawPicture(scores, np.zeros((len(anchors), 4), np.float32), anchors, wanted, resolved(chosen, profile))


LEFT, RIGHT = (0.0, 0.0, 0.4, 0.4), (0.5, 0.5, 0.9, 0.9)
NEARLY_LEFT = (0.0, 0.0, 0.4, 0.39)


class TestReasons:
    def outcome(self, raw: RawPicture, anchor_id: int = 0, class_id: int = 1) -> Outcome:
        return Trace(raw).outcome(anchor_id, class_id)

    def test_detected(self) -> None:
        raw = raw_picture([[0.1, 0.875], [0.05, 0.9375]], [LEFT, RIGHT], DetectionSettings(0.5))
        assert self.outcome(raw) == Outcome(Reason.DETECTED, 0.5, 0.375, detection=2, rank=2)

    def test_class_excluded(self) -> None:
        raw = raw_picture([[0.1, 0.875]], [LEFT], DetectionSettings(0.5))
        assert self.outcome(replace(raw, wanted=np.array([False, False]))) == Outcome(Reason.CLASS_EXCLUDED, 0.5, 0.375)

    def test_below_threshold(self) -> None:
        raw = raw_picture([[0.7, 0.25]], [LEFT], DetectionSettings(0.5))
        assert self.outcome(raw) == Outcome(Reason.BELOW_THRESHOLD, 0.5, -0.25)

    def test_thresholds_of_classes(self) -> None:
        raw = raw_picture([[0, 0.625, 0.25]], [LEFT], DetectionSettings(0.5))
        raw = replace(raw, thresholds=np.array([0.5, 0.75, 0.125], np.float32))
        assert self.outcome(raw, class_id=1) == Outcome(Reason.BELOW_THRESHOLD, 0.75, -0.125)
        assert self.outcome(raw, class_id=2) == Outcome(Reason.DETECTED, 0.125, 0.125, detection=1, rank=1)

    def test_a_score_that_is_none(self) -> None:
        found = self.outcome(raw_picture([[0.7, np.nan]], [LEFT], DetectionSettings(0.5)))
        assert found.reason is Reason.BELOW_THRESHOLD
        assert np.isnan(found.margin)

    @pytest.mark.parametrize("profile", Profile)
    def test_score_of_the_threshold(self, profile: Profile) -> None:
        found = self.outcome(raw_picture([[0.5, 0.5]], [LEFT], DetectionSettings(0.5), profile))
        passes = profile is Profile.REFERENCE_EVAL
        assert (found.reason, found.margin) == (Reason.DETECTED if passes else Reason.BELOW_THRESHOLD, 0.0)

    def test_beyond_top_k(self) -> None:
        raw = raw_picture([[0, 0.75], [0, 0.875]], [LEFT, RIGHT], DetectionSettings(0.5, top_k=1))
        assert self.outcome(raw) == Outcome(Reason.BEYOND_TOP_K, 0.5, 0.25, rank=2, limit=1)

    @pytest.mark.parametrize(("profile", "rank"), [(Profile.TUTORIAL, 3), (Profile.CAFFE, 2)])
    def test_rank_in_the_picture_or_in_the_class(self, profile: Profile, rank: int) -> None:
        scores = [[0, 0.75, 0], [0, 0.875, 0], [0, 0, 0.9]]
        raw = raw_picture(scores, [LEFT, RIGHT, RIGHT], DetectionSettings(0.5, top_k=1), profile)
        assert self.outcome(raw).rank == rank

    @pytest.mark.parametrize("profile", Profile)
    @pytest.mark.parametrize(
        ("offset", "reason"),
        [
            ((0, 0, -1000, 0), Reason.DEGENERATE),
            ((400, 0, 0, 0), Reason.OUTSIDE),
            ((0, np.nan, 0, 0), Reason.NON_FINITE),
            ((0, 0, 0, np.inf), Reason.NON_FINITE),
        ],
    )
    def test_boxes_that_are_none(self, offset: Any, reason: Reason, profile: Profile) -> None:
        raw = raw_picture([[0, 0.75]], [LEFT], DetectionSettings(0.5), profile)
        found = self.outcome(replace(raw, offsets=np.array([offset], np.float32)))
        limited = profile is Profile.TORCHVISION and np.isinf(offset).any()  # which makes a box of it
        assert found == Outcome(Reason.DETECTED if limited else reason, 0.5, 0.25, 1 if limited else None, rank=1)

    def test_suppressed_by_a_detection(self) -> None:
        raw = raw_picture([[0, 0.75], [0, 0.875], [0, 0.8]], [NEARLY_LEFT, LEFT, RIGHT], DetectionSettings(0.5))
        found = self.outcome(raw)
        assert found.iou == pytest.approx(0.975)
        assert found == Outcome(Reason.SUPPRESSED, 0.5, 0.25, detection=1, iou=found.iou, remover=(1, 1), rank=3)

    def test_classes_suppress_each_other_where_asked_to(self) -> None:
        scores = [[0, 0.75, 0], [0, 0, 0.875]]
        for agnostic, reason in ((False, Reason.DETECTED), (True, Reason.SUPPRESSED)):
            raw = raw_picture(scores, [LEFT, LEFT], DetectionSettings(0.5, class_agnostic=agnostic))
            assert self.outcome(raw).reason is reason

    def test_suppressed_by_a_box_that_is_not_reported(self) -> None:
        """Of two boxes outside the picture, the second goes for the first, which goes since it is outside."""
        outside = (1.1, 0.0, 1.5, 0.4)
        chosen = DetectionSettings(0.5)
        raw = raw_picture([[0, 0.75], [0, 0.875]], [outside, outside], chosen, Profile.CAFFE)
        assert self.outcome(raw) == Outcome(Reason.SUPPRESSED, 0.5, 0.25, iou=1.0, remover=(1, 1), rank=2)
        assert self.outcome(raw, 1).reason is Reason.OUTSIDE

    def test_beyond_max_detections(self) -> None:
        raw = raw_picture([[0, 0.75], [0, 0.875]], [LEFT, RIGHT], DetectionSettings(0.5, max_detections=1))
        assert self.outcome(raw) == Outcome(Reason.BEYOND_LIMIT, 0.5, 0.25, rank=2, limit=1)

    def test_beyond_what_leaves_a_class(self) -> None:
        """The reference's evaluation lets 200 boxes of a class leave the suppression."""
        sides = np.linspace(0, 0.9, 15)
        apart = [(x, y, x + 0.05, y + 0.05) for y in sides for x in sides]  # 225
        scores = np.stack([np.zeros(225), np.linspace(0.9, 0.6, 225)], axis=1)
        raw = raw_picture(scores, apart, DetectionSettings(0.5), Profile.REFERENCE_EVAL)
        assert self.outcome(raw, 199).detection == 200
        found = self.outcome(raw, 200)
        assert (found.reason, found.limit, found.rank) == (Reason.BEYOND_LIMIT, 200, 201)

    def test_overlapping_what_is_beyond_the_limit(self) -> None:
        scores = [[0, 0.75], [0, 0.8], [0, 0.875]]
        raw = raw_picture(scores, [LEFT, NEARLY_LEFT, RIGHT], DetectionSettings(0.5, max_detections=1))
        assert self.outcome(raw) == Outcome(Reason.BEYOND_LIMIT, 0.5, 0.25, rank=3, limit=1)


def assert_tells_the_truth(raw: RawPicture) -> Trace:
    """Every pair of anchor and class against the functions that the Detector calls."""
    trace = Trace(raw)
    candidates, _ = decode_candidates(raw.scores, raw.offsets, raw.anchors, raw.wanted, raw.settings, raw.thresholds)
    kept = keep_best(candidates, raw.settings)
    numbers = {
        pair: i + 1 for i, pair in enumerate(zip(kept.anchor_ids.tolist(), kept.class_ids.tolist(), strict=True))
    }
    entered = set(zip(candidates.anchor_ids.tolist(), candidates.class_ids.tolist(), strict=True))
    for anchor_id, class_id in _interesting_pairs(raw, trace):
        found = trace.outcome(anchor_id, class_id)
        assert (found.reason is Reason.DETECTED) == ((anchor_id, class_id) in numbers)
        if found.reason is Reason.DETECTED:
            assert found.detection == numbers[anchor_id, class_id]
        if found.reason in (Reason.SUPPRESSED, Reason.BEYOND_LIMIT):
            assert (anchor_id, class_id) in entered
        if found.reason in (Reason.CLASS_EXCLUDED, Reason.BELOW_THRESHOLD, Reason.BEYOND_TOP_K, Reason.NON_FINITE):
            assert (anchor_id, class_id) not in entered
        if found.reason is Reason.SUPPRESSED:
            assert found.remover is not None
            assert numbers.get(found.remover) == found.detection
            assert goes_for(raw, trace, (anchor_id, class_id), found.remover)
    return trace


def _interesting_pairs(raw: RawPicture, trace: Trace) -> list[tuple[int, int]]:
    """All of a small picture; of a large one every fifth of those that pass the threshold."""
    num_anchors, num_classes = raw.scores.shape
    if num_anchors <= 100:
        return [(a, c) for a in range(num_anchors) for c in range(1, num_classes)]
    anchor_ids, class_ids = trace.passing
    return list(zip(anchor_ids.tolist(), class_ids.tolist(), strict=True))[::5]


def goes_for(raw: RawPicture, trace: Trace, pair: tuple[int, int], remover: tuple[int, int]) -> bool:
    """Whether a candidate vanishes beside its remover, and stays without it, all others being gone."""
    pairs = list(zip(trace.candidates.anchor_ids.tolist(), trace.candidates.class_ids.tolist(), strict=True))
    i, j = pairs.index(pair), pairs.index(remover)
    chosen = replace(raw.settings, max_detections=None)
    both = keep_best(trace.candidates.at(np.array([j, i])), chosen)
    return j < i and pair not in zip(both.anchor_ids.tolist(), both.class_ids.tolist(), strict=True)


class TestAgainstTheDetectorsFunctions:
    @pytest.mark.parametrize("profile", Profile)
    @given(
        seed=st.integers(0, 2**32 - 1),
        num_anchors=st.integers(0, 40),
        spread=st.sampled_from([0.0, 1.0, 5.0, 20.0]),
        chosen=st.builds(
            DetectionSettings,
            score_threshold=st.sampled_from([0.0, 0.01, 0.25, 0.5]),
            nms_threshold=st.sampled_from([0.0, 0.1, 0.45, 0.5, 1.0]),
            top_k=st.none() | st.integers(1, 30),
            max_detections=st.none() | st.integers(1, 30),
            class_agnostic=st.booleans(),
        ),
        excluded=st.integers(1, 4),
        thresholds=st.none() | st.lists(st.sampled_from([0.0, 0.1, 0.25, 0.5, 0.75]), min_size=4, max_size=4),
    )
    @settings(deadline=None, max_examples=25)
    def test_random_pictures(
        self,
        profile: Profile,
        seed: int,
        num_anchors: int,
        spread: float,
        chosen: DetectionSettings,
        excluded: int,
        thresholds: list[float] | None,
    ) -> None:
        scores, offsets, anchors = picture_of(seed, num_anchors, 4, spread)
        wanted = np.array([c not in (0, excluded) for c in range(4)])
        of_classes = None if thresholds is None else np.array(thresholds, np.float32)
        raw = RawPicture(scores, offsets, anchors, wanted, resolved(chosen, profile), of_classes)
        self.check_removed(assert_tells_the_truth(raw))

    def check_removed(self, trace: Trace) -> None:
        """Every candidate survives or was removed by one that survives, and by one alone."""
        survivors = np.flatnonzero(trace.survives)
        removed = [i for place in survivors for i in trace.removed_by(int(place)).tolist()]
        assert sorted([*removed, *survivors.tolist()]) == list(range(len(trace.survives)))

    @pytest.mark.parametrize("profile", Profile)
    @pytest.mark.parametrize(("picture", "threshold"), [(0, 0.1), (1, 0.2)])
    def test_golden_outputs(
        self, profile: Profile, picture: int, threshold: float, golden: Callable[[int], dict[str, Any]]
    ) -> None:
        numbers = golden(300)
        scores: Floats = numbers[f"p{picture}_scores"]
        chosen = resolved(DetectionSettings(threshold), profile)
        wanted = np.arange(scores.shape[1]) > 0
        raw = RawPicture(scores, numbers[f"p{picture}_loc"], make_anchors("coco300"), wanted, chosen)
        trace = assert_tells_the_truth(raw)
        assert len(trace.kept.scores) > 10
        self.check_removed(trace)
