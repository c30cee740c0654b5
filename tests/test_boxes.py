"""Boxes: geometry, anchors, decoding and suppression, against hand-made numbers, properties and the reference."""

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as examples
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from ssd_detect.arrays import Flags, Floats, Integers
from ssd_detect.boxes.anchors import ANCHOR_PRESETS, make_anchors
from ssd_detect.boxes.decode import decode_offsets
from ssd_detect.boxes.geometry import clip_xyxy, cxcywh_to_xyxy, pairwise_iou, scale_unit_xyxy, xyxy_to_cxcywh
from ssd_detect.boxes.nms import suppress
from ssd_detect.boxes.postprocess import decode_candidates, keep_best, select_scores
from ssd_detect.boxes.profiles import resolved
from ssd_detect.cli.checkpoint_facts import ANCHOR_PRESET_NAMES
from ssd_detect.conventions import AnchorClip, AnchorRounding, Profile
from ssd_detect.errors import SettingError
from ssd_detect.model.spec import network
from ssd_detect.settings import DetectionSettings

WIDE, WIDER = (2,), (2, 3)
RATIOS = {300: (WIDE, WIDER, WIDER, WIDER, WIDE, WIDE), 512: (WIDE, WIDER, WIDER, WIDER, WIDER, WIDE, WIDE)}
GRIDS_512, PER_CELL_512 = (64, 32, 16, 8, 4, 2, 1), (4, 6, 6, 6, 6, 4, 4)
GOLDEN_THRESHOLDS = {"a": (0.15, 0.10), "b": (0.40, 0.10), "c": (0.01, 0.45)}


def floats(*rows: object) -> Floats:
    return np.array(rows, np.float32)


def all_classes(count: int = 21) -> Flags:
    wanted = np.ones(count, np.bool_)
    wanted[0] = False
    return wanted


def tutorial(score: float = 0.5, nms: float = 0.45, **chosen: Any) -> DetectionSettings:
    return resolved(DetectionSettings(score, nms, **chosen), Profile.TUTORIAL)


unit_boxes = hnp.arrays(np.float32, st.tuples(st.integers(0, 30), st.just(4)), elements=st.floats(0, 1, width=32)).map(
    lambda a: np.concatenate(
        [np.minimum(a[:, :2], a[:, 2:]), np.maximum(a[:, :2], a[:, 2:]) + np.float32(0.01)], axis=1
    )
)


class TestGeometry:
    @pytest.mark.parametrize(
        ("centre_form", "corner_form"),
        [
            (np.zeros((0, 4)), np.zeros((0, 4))),
            ([[0.5, 0.5, 1, 1]], [[0, 0, 1, 1]]),
            ([[10, 20, 4, 8]], [[8, 16, 12, 24]]),
        ],
    )
    def test_centre_and_corners(self, centre_form: Any, corner_form: Any) -> None:
        centre_form, corner_form = np.array(centre_form, np.float32), np.array(corner_form, np.float32)
        np.testing.assert_array_equal(cxcywh_to_xyxy(centre_form), corner_form)
        np.testing.assert_array_equal(xyxy_to_cxcywh(corner_form), centre_form)

    @given(unit_boxes)
    def test_there_and_back(self, boxes: Floats) -> None:
        np.testing.assert_allclose(cxcywh_to_xyxy(xyxy_to_cxcywh(boxes)), boxes, atol=1e-6)

    def test_clip_at_every_edge(self) -> None:
        boxes = floats([-5, 2, 5, 8], [5, -2, 8, 8], [5, 5, 25, 8], [5, 5, 8, 18], [-9, -9, 99, 99])
        clipped = floats([0, 2, 5, 8], [5, 0, 8, 8], [5, 5, 20, 8], [5, 5, 8, 10], [0, 0, 20, 10])
        np.testing.assert_array_equal(clip_xyxy(boxes, 20, 10), clipped)

    def test_scale(self) -> None:
        np.testing.assert_array_equal(scale_unit_xyxy(floats([0, 0.5, 0.25, 1]), 200, 10), floats([0, 5, 50, 10]))

    def test_iou_of_known_pairs(self) -> None:
        boxes = floats([0, 0, 2, 2], [1, 0, 3, 2], [5, 5, 6, 6])
        expected = floats([1, 1 / 3, 0], [1 / 3, 1, 0], [0, 0, 1])
        np.testing.assert_allclose(pairwise_iou(boxes, boxes), expected, rtol=1e-6)

    @given(unit_boxes, unit_boxes)
    def test_iou_is_symmetric_and_a_share(self, boxes: Floats, others: Floats) -> None:
        iou = pairwise_iou(boxes, others)
        assert iou.shape == (len(boxes), len(others))
        np.testing.assert_array_equal(iou, pairwise_iou(others, boxes).T)
        assert ((iou >= 0) & (iou <= 1 + 1e-6)).all()


class TestAnchors:
    # Sums of the float32 values in double: ssd-reference, section 12.
    @pytest.mark.parametrize(
        ("preset", "count", "centres", "sizes", "areas"),
        [
            ("voc300", 8732, 4443.9467, 1510.4293, 328.0601),
            ("coco300", 8732, 4443.9467, 1172.1980, 228.9024),
            ("voc512", 24564, 12282.0, 3146.1417, 545.1642),
            ("coco512", 24564, 12282.0, 2192.4710, 346.7888),
        ],
    )
    def test_sums(self, preset: str, count: int, centres: float, sizes: float, areas: float) -> None:
        anchors = make_anchors(preset).astype(np.float64)
        assert anchors.shape == (count, 4)
        np.testing.assert_allclose(anchors.sum(axis=0), [centres, centres, sizes, sizes], rtol=1e-7)
        np.testing.assert_allclose((anchors[:, 2] * anchors[:, 3]).sum(), areas, rtol=1e-6)

    @pytest.mark.parametrize(
        ("preset", "index", "expected"),
        [
            ("coco300", 0, (0.01333333, 0.01333333, 0.07, 0.07)),
            ("coco300", 1, (0.01333333, 0.01333333, 0.1024695, 0.1024695)),
            ("coco300", 2, (0.01333333, 0.01333333, 0.09899495, 0.04949747)),
            ("coco300", 4, (0.04, 0.01333333, 0.07, 0.07)),
            ("coco300", 5775, (1.0, 1.0, 0.04949747, 0.09899495)),
            ("coco300", 5781, (0.02666667, 0.02666667, 0.08660254, 0.2598076)),
            ("coco300", 8541, (1.013333, 1.013333, 0.1905256, 0.5715768)),
            ("coco300", 8731, (0.5, 0.5, 0.6151829, 1.230366)),
            ("voc300", 8731, (0.5, 0.5, 0.622254, 1.244508)),
        ],
    )
    def test_known_anchors(self, preset: str, index: int, expected: tuple[float, ...]) -> None:
        np.testing.assert_allclose(make_anchors(preset)[index], expected, rtol=1e-6)

    @pytest.mark.parametrize("size", [300, 512])
    def test_golden(self, size: int, golden: Callable[[int], dict[str, Any]]) -> None:
        yxhw = golden(size)["anchors_yxhw"]
        np.testing.assert_allclose(make_anchors(f"coco{size}")[:, [1, 0, 3, 2]], yxhw, atol=1e-6)

    def test_shared_array_is_read_only(self) -> None:
        assert make_anchors("voc512", AnchorRounding.INT) is make_anchors("voc512", rounding=AnchorRounding.INT)
        assert make_anchors("voc300") is make_anchors("voc300")
        with pytest.raises(ValueError, match="read-only"):
            make_anchors("voc300")[0] = 0

    def test_unknown_preset(self) -> None:
        with pytest.raises(SettingError, match=r"'voc301', expected one of voc300, coco300"):
            make_anchors("voc301")

    def test_the_command_line_offers_all_presets(self) -> None:
        assert tuple(ANCHOR_PRESETS) == ANCHOR_PRESET_NAMES

    @pytest.mark.parametrize("preset", ANCHOR_PRESETS)
    def test_heads_have_as_many_anchors(self, preset: str) -> None:
        heads = network(ANCHOR_PRESETS[preset].side).heads
        assert ANCHOR_PRESETS[preset].anchors_per_cell == tuple(h.anchors_per_cell for h in heads)


class TestRounding:
    def by_definition(self, sizes: tuple[int, ...], preset: str) -> Any:
        """Width and height of each anchor of a cell of each map, in the order of the paper, in double."""
        side = ANCHOR_PRESETS[preset].side
        rows = []
        for (small, large), ratios in zip(pairwise(sizes), RATIOS[side], strict=True):
            square = (small * large) ** 0.5
            rows += [(small, small), (square, square)]
            for ratio in ratios:
                rows += [(small * ratio**0.5, small / ratio**0.5), (small / ratio**0.5, small * ratio**0.5)]
        return np.array(rows) / side

    # ssd-reference, section 3.4: what PriorBox makes of the sizes of SSD512; those of SSD300 are whole already.
    @pytest.mark.parametrize(
        ("preset", "sizes", "furthest"),
        [
            ("voc512", (35, 76, 153, 230, 307, 384, 460, 537), 0.0027),
            ("coco512", (20, 51, 133, 215, 296, 378, 460, 542), 0.0032),
        ],
    )
    def test_sizes_are_cut_before_anything_is_made_of_them(
        self, preset: str, sizes: tuple[int, ...], furthest: float
    ) -> None:
        cut, whole = make_anchors(preset, AnchorRounding.INT), make_anchors(preset)
        np.testing.assert_array_equal(cut[:, :2], whole[:, :2])
        firsts = [*np.cumsum([0, *[g * g * a for g, a in zip(GRIDS_512, PER_CELL_512, strict=True)]])[:-1]]
        cells = [cut[first : first + a, 2:] for first, a in zip(firsts, PER_CELL_512, strict=True)]
        np.testing.assert_allclose(np.concatenate(cells), self.by_definition(sizes, preset), rtol=1e-6)
        assert np.abs(cut - whole).max() == pytest.approx(furthest, abs=5e-5)
        first_width = (whole[0, 2] - cut[0, 2]) / cut[0, 2]
        assert first_width == pytest.approx(0.024, abs=5e-4)

    @pytest.mark.parametrize("preset", ["voc300", "coco300"])
    @pytest.mark.parametrize("clip", AnchorClip)
    def test_whole_sizes_stay(self, preset: str, clip: AnchorClip) -> None:
        cut, kept = (make_anchors(preset, rounding, clip) for rounding in AnchorRounding)
        np.testing.assert_array_equal(cut, kept)


class TestAnchorClip:
    # ssd-reference, section 3.5.
    @pytest.mark.parametrize(
        ("preset", "clip", "changed"),
        [
            ("voc300", AnchorClip.NONE, 0),
            ("voc300", AnchorClip.CENTRE_AND_SIZE, 134),
            ("coco300", AnchorClip.CENTRE_AND_SIZE, 116),
            ("coco300", AnchorClip.SIZE, 2),
        ],
    )
    def test_changed_anchors(self, preset: str, clip: AnchorClip, changed: int) -> None:
        whole, clipped = make_anchors(preset), make_anchors(preset, clip=clip)
        assert int((whole != clipped).any(axis=1).sum()) == changed

    @pytest.mark.parametrize("preset", ANCHOR_PRESETS)
    @pytest.mark.parametrize("rounding", AnchorRounding)
    def test_what_is_cut(self, preset: str, rounding: AnchorRounding) -> None:
        whole = make_anchors(preset, rounding)
        sizes = make_anchors(preset, rounding, AnchorClip.SIZE)
        all_four = make_anchors(preset, rounding, AnchorClip.CENTRE_AND_SIZE)
        np.testing.assert_array_equal(sizes, np.concatenate([whole[:, :2], np.minimum(whole[:, 2:], 1)], axis=1))
        np.testing.assert_array_equal(all_four, np.minimum(whole, 1))  # nothing is below 0
        assert whole.min() > 0

    def test_known_ones(self) -> None:
        assert make_anchors("voc300", clip=AnchorClip.CENTRE_AND_SIZE)[8541, 0] == 1.0  # 1.01333 before
        np.testing.assert_allclose(
            make_anchors("voc300", clip=AnchorClip.CENTRE_AND_SIZE)[8730:, 2:],
            [[1, 0.622254], [0.622254, 1]],
            rtol=1e-6,
        )
        np.testing.assert_allclose(
            make_anchors("coco300", clip=AnchorClip.SIZE)[8730:], [[0.5, 0.5, 1, 0.6151829], [0.5, 0.5, 0.6151829, 1]]
        )

    def test_torchvisions_arithmetic_gives_the_same_bits(self) -> None:
        """Scales instead of pixels, and centres divided by the grid that the step makes, as its source has it."""
        scales = (0.07, 0.15, 0.33, 0.51, 0.69, 0.87, 1.05)
        rows = []
        for k, (grid, step) in enumerate(zip((38, 19, 10, 5, 3, 1), (8, 16, 32, 64, 100, 300), strict=True)):
            square = (scales[k] * scales[k + 1]) ** 0.5
            sizes = [(scales[k], scales[k]), (square, square)]
            for ratio in RATIOS[300][k]:
                root = ratio**0.5
                sizes += [(scales[k] * root, scales[k] / root), (scales[k] / root, scales[k] * root)]
            centres = (np.arange(grid, dtype=np.float32) + np.float32(0.5)) / np.float32(300 / step)
            rows += [(x, y, min(w, 1.0), min(h, 1.0)) for y in centres for x in centres for w, h in sizes]
        np.testing.assert_array_equal(make_anchors("coco300", clip=AnchorClip.SIZE), np.array(rows, np.float32))


class TestDecode:
    def test_sizes_are_limited_where_asked_for(self) -> None:
        anchor = floats([0.5, 0.5, 0.1, 0.1])
        limited = decode_offsets(floats([0, 0, 1e6, 1]), anchor, np.log(1000 / 16))
        width, height = (limited[0, 2:] - limited[0, :2]).tolist()
        assert width == pytest.approx(0.1 * 1000 / 16)
        assert height == pytest.approx(0.1 * np.exp(0.2))
        np.testing.assert_array_equal(
            decode_offsets(floats([0, 0, 20, 1]), anchor, np.log(1000 / 16)),
            decode_offsets(floats([0, 0, 20, 1]), anchor),
        )

    def test_golden_box(self) -> None:
        box = decode_offsets(floats([1, -2, 0.5, -0.5]), floats([0.29333332, 0.29333332, 0.10606602, 0.21213204]))
        np.testing.assert_allclose(box, [[0.2453294, 0.1549344, 0.3625505, 0.3468794]], rtol=1e-6)

    def test_zero_offsets_give_the_anchors(self) -> None:
        anchors = make_anchors("coco300")
        np.testing.assert_allclose(
            decode_offsets(np.zeros_like(anchors), anchors), cxcywh_to_xyxy(anchors), rtol=1e-6, atol=1e-7
        )

    def test_empty(self) -> None:
        assert decode_offsets(np.zeros((0, 4), np.float32), np.zeros((0, 4), np.float32)).shape == (0, 4)

    def test_overflow_is_infinite_and_silent(self) -> None:
        assert not np.isfinite(decode_offsets(floats([0, 0, 1e6, 0]), floats([0.5, 0.5, 0.1, 0.1]))).all()


def greedy_by_hand(boxes: Floats, class_ids: Integers, threshold: float, *, class_agnostic: bool) -> list[bool]:
    """The definition, pair by pair in plain Python."""
    stays: list[int] = []
    for i, (x0, y0, x1, y1) in enumerate(boxes.tolist()):
        for j in stays:
            u0, v0, u1, v1 = boxes[j].tolist()
            inner = max(0.0, min(x1, u1) - max(x0, u0)) * max(0.0, min(y1, v1) - max(y0, v0))
            iou = inner / ((x1 - x0) * (y1 - y0) + (u1 - u0) * (v1 - v0) - inner)
            if iou >= threshold and (class_agnostic or class_ids[i] == class_ids[j]):
                break
        else:
            stays.append(i)
    return [i in stays for i in range(len(boxes))]


class TestSuppression:
    def test_nothing_in_nothing_out(self) -> None:
        assert suppress(np.zeros((0, 4), np.float32), np.zeros(0, np.int64), 0.5).shape == (0,)

    def test_equal_boxes_of_two_classes_both_stay_unless_agnostic(self) -> None:
        boxes, classes = floats([0, 0, 1, 1], [0, 0, 1, 1]), np.array([3, 15])
        assert suppress(boxes, classes, 0.45).tolist() == [True, True]
        assert suppress(boxes, classes, 0.45, class_agnostic=True).tolist() == [True, False]

    def test_four_hundred_copies_become_one(self) -> None:
        stays = suppress(np.tile(floats([0.1, 0.1, 0.9, 0.9]), (400, 1)), np.full(400, 7), 0.45)
        assert np.flatnonzero(stays).tolist() == [0]

    def test_a_removed_box_removes_none(self) -> None:
        boxes = floats([0, 0, 10, 10], [3, 0, 13, 10], [6, 0, 16, 10])  # each overlaps the next by 7 of 13
        assert suppress(boxes, np.ones(3, np.int64), 0.5).tolist() == [True, False, True]

    def test_iou_equal_to_the_threshold_goes(self) -> None:
        boxes, classes = floats([0, 0, 1, 1], [0, 0, 0.5, 1]), np.ones(2, np.int64)
        assert suppress(boxes, classes, 0.5).tolist() == [True, False]
        assert suppress(boxes, classes, 0.5001).tolist() == [True, True]

    @pytest.mark.parametrize("removes_equal", [True, False])
    def test_an_area_of_none_overlaps_nothing(self, removes_equal: bool) -> None:
        boxes = floats([0, 0, 1, 1], [0.5, 0.2, 0.5, 0.8], [0.5, 0.2, 0.5, 0.8])
        assert suppress(boxes, np.ones(3, np.int64), 0.1, removes_equal=removes_equal).all()

    @given(st.integers(0, 2**32 - 1), st.booleans(), st.booleans(), st.none() | st.integers(1, 200))
    @examples(max_examples=30, deadline=None)
    def test_many_boxes_are_as_one_matrix(self, seed: int, agnostic: bool, removes_equal: bool, limit: Any) -> None:
        """Larger than any block: from heaps of copies to boxes that hardly touch, on a coarse grid that makes ties."""
        random = np.random.default_rng(seed)
        corners = random.integers(0, random.integers(2, 60), (random.integers(1, 900), 2)).astype(np.float32)
        boxes = np.concatenate([corners, corners + random.integers(1, 6, corners.shape).astype(np.float32)], axis=1)
        class_ids = random.integers(1, random.integers(2, 9), len(boxes))
        removes = np.triu((np.greater_equal if removes_equal else np.greater)(pairwise_iou(boxes, boxes), 0.5), k=1)
        removes &= agnostic | (class_ids[:, np.newaxis] == class_ids)
        stays = np.ones(len(boxes), np.bool_)
        for i in range(len(boxes)):
            stays &= ~(removes[i] & stays[i])
        for class_id in {0} if agnostic else {*class_ids.tolist()}:
            stays[np.flatnonzero(stays & (agnostic | (class_ids == class_id)))[limit or len(boxes) :]] = False
        actual = suppress(boxes, class_ids, 0.5, class_agnostic=agnostic, removes_equal=removes_equal, limit=limit)
        np.testing.assert_array_equal(actual, stays)

    @given(unit_boxes, st.floats(0.05, 0.95), st.booleans(), st.randoms())
    def test_equals_the_definition(self, boxes: Floats, threshold: float, agnostic: bool, random: Any) -> None:
        class_ids = np.array([random.randint(1, 3) for _ in boxes], np.int64)
        iou = pairwise_iou(boxes, boxes)
        if (np.abs(iou - threshold) < 1e-5).any():
            return  # float32 and double may differ on the edge
        by_hand = greedy_by_hand(boxes, class_ids, threshold, class_agnostic=agnostic)
        assert suppress(boxes, class_ids, threshold, class_agnostic=agnostic).tolist() == by_hand


class TestSelection:
    def test_threshold_is_strict_and_nan_is_never_selected(self) -> None:
        scores = floats([0.9, 0.5, 0.50001], [0.1, np.nan, 0.2])
        anchors, classes = select_scores(scores, all_classes(3), tutorial(0.5))
        assert (anchors.tolist(), classes.tolist()) == ([0], [2])

    def test_one_anchor_can_give_several_classes_but_no_background(self) -> None:
        anchors, classes = select_scores(floats([0.9, 0.3, 0.4]), all_classes(3), tutorial(0.1))
        assert (anchors.tolist(), classes.tolist()) == ([0, 0], [2, 1])

    def test_ties_keep_the_order_of_anchors_then_classes(self) -> None:
        scores = np.full((5, 3), 0.7, np.float32)
        anchors, classes = select_scores(scores, all_classes(3), tutorial(0.5, top_k=3))
        assert (anchors.tolist(), classes.tolist()) == ([0, 0, 1], [1, 2, 1])

    @given(
        hnp.arrays(
            np.float32, st.tuples(st.integers(0, 20), st.just(4)), elements=st.sampled_from([0.125, 0.25, 0.5, 0.875])
        ),
        st.integers(1, 30),
    )
    def test_equals_a_full_stable_sort(self, scores: Floats, top_k: int) -> None:
        ranked = sorted((-scores[a, c], a, c) for a in range(len(scores)) for c in range(1, 4) if scores[a, c] > 0.2)
        anchors, classes = select_scores(scores, all_classes(4), tutorial(0.2, top_k=top_k))
        assert list(zip(anchors.tolist(), classes.tolist(), strict=True)) == [(a, c) for _, a, c in ranked[:top_k]]


class TestCandidates:
    settings = tutorial(0.5)

    def candidates(self, *offsets: tuple[float, ...]) -> tuple[Any, Any]:
        n = len(offsets)
        scores = np.tile(floats([0.1, 0.9]), (n, 1))
        anchors = np.tile(floats([0.5, 0.5, 0.2, 0.2]), (n, 1))
        return decode_candidates(scores, floats(*offsets), anchors, all_classes(2), self.settings)

    @pytest.mark.parametrize(
        ("offsets", "counts"),
        [
            ((0, 0, 0, 0), (0, 0, 0)),
            ((0, 0, -1000, 0), (1, 0, 0)),  # no width
            ((400, 0, 0, 0), (0, 1, 0)),  # to the right of the picture
            ((0, -400, 0, 0), (0, 1, 0)),
            ((np.inf, 0, 0, 0), (0, 0, 1)),
            ((0, np.nan, 0, 0), (0, 0, 1)),
            ((0, 0, 0, 1e6), (0, 0, 1)),
        ],
    )
    def test_unusable_boxes_are_dropped_and_counted(self, offsets: Any, counts: tuple[int, ...]) -> None:
        candidates, dropped = self.candidates(offsets)
        assert tuple(dropped) == counts
        assert len(candidates.scores) == 1 - sum(counts)

    @pytest.mark.parametrize(
        "shift", [(30, 0), (-30, 0), (0, 30), (0, -30), (30, 30), (-30, -30), (30, -30), (-30, 30)]
    )
    def test_boxes_over_each_edge_are_clipped(self, shift: tuple[float, float]) -> None:
        candidates, _ = self.candidates((*shift, 3, 3))
        (box,) = candidates.boxes_unit
        assert ((box >= 0) & (box <= 1)).all()
        assert (box[:2] < box[2:]).all()

    def test_at_most_max_detections(self) -> None:
        boxes = [(5.0 * i - 20, 0, -9, -9) for i in range(9)]
        candidates, _ = self.candidates(*boxes)
        kept = keep_best(candidates, tutorial(max_detections=4))
        assert len(kept.scores) == 4

    @pytest.mark.parametrize("picture", range(4))
    @pytest.mark.parametrize("thresholds", GOLDEN_THRESHOLDS)
    def test_golden_detections(self, picture: int, thresholds: str, golden: Callable[[int], dict[str, Any]]) -> None:
        """On the reference's scores and offsets, its own detections; where two scores are equal they may swap."""
        numbers = golden(300)
        score, nms = GOLDEN_THRESHOLDS[thresholds]
        settings = tutorial(score, nms)
        candidates, _ = decode_candidates(
            numbers[f"p{picture}_scores"],
            numbers[f"p{picture}_loc"],
            make_anchors("coco300"),
            all_classes(),
            settings,
        )
        kept = keep_best(candidates, settings)
        expected = golden_detections(numbers, picture, thresholds)
        actual = [*zip(kept.scores.tolist(), kept.class_ids.tolist(), kept.boxes_unit.tolist(), strict=True)]
        assert [row[:2] for row in ranked(actual)] == [row[:2] for row in ranked(expected)]
        np.testing.assert_allclose([r[2] for r in ranked(actual)], [r[2] for r in ranked(expected)], atol=1e-4)


def golden_detections(numbers: dict[str, Any], picture: int, thresholds: str) -> list[tuple[float, int, list[float]]]:
    """The reference's detections as (score, class id, xyxy unit), without its boxes of no area."""
    yxyx = numbers[f"p{picture}_{thresholds}_boxes_yxyx"]
    scores, classes = (numbers[f"p{picture}_{thresholds}_{what}"] for what in ("scores", "classes"))
    with_area = (yxyx[:, 0] < yxyx[:, 2]) & (yxyx[:, 1] < yxyx[:, 3])
    rows = zip(scores[with_area], classes[with_area], yxyx[with_area][:, [1, 0, 3, 2]], strict=True)
    return [(float(s), int(c), box.tolist()) for s, c, box in rows]


def ranked(rows: list[tuple[float, int, list[float]]]) -> list[tuple[float, int, list[float]]]:
    """By falling score as they come; rows of equal score by class and place, since the reference's sort is unstable."""
    assert [r[0] for r in rows] == sorted((r[0] for r in rows), reverse=True)
    return sorted(rows, key=lambda r: (-r[0], r[1], r[2]))
