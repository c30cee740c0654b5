"""Statistics and anchor coverage against plain loops and hand-worked cases."""

from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ssd_detect.boxes.anchors import ANCHOR_PRESETS, make_anchors
from ssd_detect.datasets.coverage import Coverage, best_ious, coverage_of
from ssd_detect.datasets.statistics import RATIO_LIMITS, SIDE_LIMITS, ClassCount, statistics_of
from ssd_detect.errors import SettingError
from tests.test_dataset_convert import annotated, dataset_of

A, B = Path("a.jpg"), Path("b.jpg")


class TestStatistics:
    def test_nothing(self) -> None:
        found = statistics_of(dataset_of(A))
        assert (found.pictures, found.objects, found.objects_per_picture, found.picture_sizes) == (0, 0, {}, ())
        assert (found.side_pixels, found.side_shares, found.ratios) == ((), (), ())
        assert found.coco_sizes == {"small": 0, "medium": 0, "large": 0}
        assert [c.objects for c in found.classes] == [0, 0]

    def test_pictures_without_objects(self) -> None:
        found = statistics_of(dataset_of(A, annotated(A), annotated(B)))
        assert (found.pictures, found.empty_pictures, found.objects_per_picture) == (2, 2, {0: 2})

    def test_counts(self) -> None:
        boxes = [(0, 0, 20, 20), (0, 0, 40, 40), (50, 0, 100, 50)]
        flags = {"difficult": np.array([True, False, False]), "crowd": np.array([False, False, True])}
        area = np.array([1023.9, 1024.0, 9216.1])
        found = statistics_of(dataset_of(A, annotated(A, boxes, **flags, area=area), annotated(B, size=(300, 200))))
        assert found.classes == (ClassCount("dog", 2, 1, 1, 1), ClassCount("cat", 1, 1, 0, 0))
        assert (found.objects, found.difficult, found.crowd, found.truncated, found.empty_pictures) == (3, 1, 1, 0, 1)
        assert found.objects_per_picture == {0: 1, 3: 1}
        assert found.coco_sizes == {"small": 1, "medium": 1, "large": 1}
        assert list(found.side_pixels) == [20, 30, 40, 45, 50]
        assert found.side_shares[-1] == pytest.approx(np.sqrt(0.5))
        assert list(found.ratios) == [1] * 5
        assert found.picture_sizes == ((100, 50), (300, 200), (300, 200))


@st.composite
def unit_boxes(draw: st.DrawFn) -> Any:
    sides = st.lists(st.integers(0, 1000), min_size=2, max_size=2, unique=True).map(sorted)
    drawn = draw(st.lists(st.tuples(sides, sides), min_size=1, max_size=3))
    return np.array([(x0, y0, x1, y1) for (x0, x1), (y0, y1) in drawn], np.float64) / 1000


class TestCoverage:
    @settings(max_examples=15, deadline=None)
    @given(unit_boxes(), st.sampled_from([*ANCHOR_PRESETS]))
    def test_equals_a_plain_computation(self, boxes: Any, preset: str) -> None:
        x, y, width, height = make_anchors(preset).astype(np.float64).T
        expected = []
        for x0, y0, x1, y1 in boxes:
            across = np.clip(np.minimum(x1, x + width / 2) - np.maximum(x0, x - width / 2), 0, None)
            down = np.clip(np.minimum(y1, y + height / 2) - np.maximum(y0, y - height / 2), 0, None)
            shared = across * down
            expected.append((shared / (width * height + (x1 - x0) * (y1 - y0) - shared)).max())
        assert np.allclose(best_ious(boxes, preset), expected, atol=1e-5)

    def test_an_object_that_is_an_anchor_is_covered_wholly(self) -> None:
        side = 213 / 300  # of the 3x3 map's small square, in the middle
        low, high = (1 - side) / 2, (1 + side) / 2
        assert best_ious(np.array([[low, low, high, high]]), "voc300") == pytest.approx([1.0], abs=1e-5)

    def test_chunks_make_no_difference(self) -> None:
        boxes = np.sort(np.random.default_rng(0).uniform(size=(300, 2, 2)), axis=1).reshape(-1, 4)
        whole = best_ious(boxes, "coco300")
        assert np.array_equal(whole, np.concatenate([best_ious(boxes[k : k + 1], "coco300") for k in range(300)]))

    def test_nothing(self) -> None:
        found = coverage_of(dataset_of(A, annotated(A)), "coco300")
        assert found.overall == Coverage(0, None, None)
        assert {*found.by_size, *found.by_ratio} == {found.overall}

    def test_buckets(self) -> None:
        # In a picture of 100x50: sides 1 (all), 0.04 and, twice as wide as high in the square, 0.3.
        boxes = [(0, 0, 100, 50), (10, 10, 14, 12), (40, 20, 40 + 30 * np.sqrt(2), 20 + 15 / np.sqrt(2) * 0.999)]
        found = coverage_of(dataset_of(A, annotated(A, boxes)), "coco300")
        assert [one.objects for one in found.by_size] == [1, 0, 0, 1, 0, 1]
        assert [one.objects for one in found.by_ratio] == [0, 0, 0, 2, 0, 1, 0]
        assert (len(found.by_size), len(found.by_ratio)) == (len(SIDE_LIMITS) + 1, len(RATIO_LIMITS) + 1)
        assert [sum(one.objects for one in row) for row in found.by_size_and_ratio] == [
            one.objects for one in found.by_size
        ]
        assert {name: one.objects for name, one in found.by_class.items()} == {"dog": 2, "cat": 1}
        assert found.by_size[0].matched == 0.0
        assert found.by_size[-1].matched == 1.0

    def test_crowds_do_not_count(self) -> None:
        one = annotated(A, [(0, 0, 9, 9), (1, 1, 9, 9)], crowd=np.array([False, True]))
        assert coverage_of(dataset_of(A, one), "coco300").overall.objects == 1

    def test_unknown_anchors(self) -> None:
        with pytest.raises(SettingError, match="anchor preset is 'x'"):
            coverage_of(dataset_of(A), "x")

    def test_fifteen_thousand_objects_take_seconds(self) -> None:
        boxes = np.sort(np.random.default_rng(0).uniform(size=(15000, 2, 2)), axis=1).reshape(-1, 4)
        begin = process_time()
        best_ious(boxes, "voc300")
        assert process_time() - begin < 20  # about 2 on one core of 2024
