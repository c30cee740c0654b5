"""Batches of outputs through selection, decoding and suppression, against one picture after the other by hand."""

from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as examples
from hypothesis import strategies as st

from ssd_detect.arrays import Floats
from ssd_detect.boxes.anchors import make_anchors
from ssd_detect.boxes.decode import decode_offsets
from ssd_detect.boxes.geometry import clip_xyxy, pairwise_iou, scale_unit_xyxy
from ssd_detect.boxes.groups import ranks
from ssd_detect.boxes.outputs import OutputDecoder
from ssd_detect.boxes.profiles import PROFILES, resolved
from ssd_detect.boxes.selection import score_limits, select_scores
from ssd_detect.conventions import Profile
from ssd_detect.detections import BestGuess, Detections, DroppedBoxes
from ssd_detect.settings import DetectionSettings
from ssd_detect.stages import StageTimes

NAMES = ("background", "cat", "dog", "tvmonitor")
SCORES = np.array([0, 1e-42, 0.01, 0.125, 0.25, 0.5, 0.5, 0.75, 1, np.nan], np.float32)
THRESHOLDS = [0.0, 1e-50, 1e-42, 0.01, 0.25, 0.5, 1.0]


class Found(NamedTuple):
    """One box on its way, by hand."""

    score: float
    anchor: int
    class_id: int
    box: Floats  # (4,) unit, as it is compared


def by_hand(
    scores: Floats, offsets: Floats, anchors: Floats, size: tuple[int, int], decoder: OutputDecoder
) -> Detections:
    """One picture, box by box: no function of the batch is used but the arithmetic of one box and of one pair."""
    settings, wanted = decoder.settings, np.flatnonzero(decoder.wanted).tolist()
    assert settings.profile is not None
    rules = PROFILES[settings.profile]
    thresholds = decoder.thresholds
    chosen: list[tuple[float, int, int]] = []
    for class_id in wanted:
        limit = np.float32(settings.score_threshold) if thresholds is None else thresholds[class_id]
        of_class = scores[:, class_id]
        passes = of_class >= limit if rules.selects_equal else of_class > limit
        rows = sorted((-float(of_class[i]), int(i), class_id) for i in np.flatnonzero(passes))
        chosen += rows[: settings.top_k] if rules.per_class else rows
    chosen = sorted(chosen) if rules.per_class else sorted(chosen)[: settings.top_k]
    dropped = [0, 0, 0]
    candidates = []
    for negative, i, class_id in chosen:
        (box,) = decode_offsets(offsets[[i]], anchors[[i]], rules.max_log_scale)
        fault = fault_of(box)
        if fault is not None:
            dropped[fault] += 1
        if fault is None or (fault != 2 and rules.flat_take_places):
            compared = clip_xyxy(box) if rules.clips_first else box
            candidates.append(Found(-negative, i, class_id, compared))
    kept = [row._replace(box=clip_xyxy(row.box)) for row in survivors(candidates, settings)[: settings.max_detections]]
    kept = [row for row in kept if fault_of(row.box) is None]
    boxes = np.array([row.box for row in kept], np.float32).reshape(-1, 4)
    guess = None
    if not kept:
        peaks = [max((float(s) for s in scores[:, c] if not np.isnan(s)), default=0.0) for c in wanted]
        guess = BestGuess(NAMES[wanted[int(np.argmax(peaks))]], max(peaks))
    return Detections(
        scale_unit_xyxy(boxes, *size),
        np.array([row.score for row in kept], np.float32),
        np.array([row.class_id for row in kept], np.int64),
        size,
        NAMES,
        guess,
        DroppedBoxes(*dropped),
    )


def fault_of(box: Floats) -> int | None:
    """Place in `DroppedBoxes` of what is wrong with a box, (4,) unit."""
    with np.errstate(all="ignore"):
        if not (box[2:] - box[:2] < np.float32(1e18)).all():
            return 2
    clipped = clip_xyxy(box)
    if (clipped[2:] - clipped[:2] >= np.float32(1e-6)).all():
        return None
    return 1 if (box[2:] <= 0).any() or (box[:2] >= 1).any() else 0


def survivors(candidates: list[Found], settings: DetectionSettings) -> list[Found]:
    assert settings.profile is not None
    rules, threshold = PROFILES[settings.profile], np.float32(settings.nms_threshold)
    stay: list[Found] = []
    for row in candidates:
        rivals = [other for other in stay if settings.class_agnostic or other.class_id == row.class_id]
        if rules.max_per_class is not None and len(rivals) >= rules.max_per_class:
            continue
        with np.errstate(invalid="ignore"):
            iou = pairwise_iou(np.array([other.box for other in rivals]).reshape(-1, 4), row.box[np.newaxis])
        if not (iou >= threshold if rules.removes_equal else iou > threshold).any():
            stay.append(row)
    return stay


def assert_same(found: Detections, expected: Detections) -> None:
    """To the bit."""
    for name in ("boxes", "scores", "class_ids"):
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))
    assert (found.size, found.best_guess, found.dropped) == (expected.size, expected.best_guess, expected.dropped)


def outputs(seed: int, batch: int, num_anchors: int, odd: float) -> tuple[Floats, Floats, Floats]:
    """Scores with ties, denormals and NaN, offsets that pile boxes up or, some of them, make none; anchors."""
    random = np.random.default_rng(seed)
    scores = random.choice(SCORES, (batch, num_anchors, len(NAMES)))
    scores = np.where(random.random(scores.shape) < 0.5, scores, random.random(scores.shape)).astype(np.float32)
    scores[random.random(batch) < 0.2] *= np.float32(0.1)  # pictures in which nothing is
    places, sizes = random.random((num_anchors, 2)), random.choice([0.05, 0.3, 0.9], (num_anchors, 2))
    offsets = random.standard_normal((batch, num_anchors, 4)).astype(np.float32)
    is_odd = random.random(offsets.shape) < odd
    offsets[is_odd] = random.choice([np.inf, -np.inf, np.nan, 400, -400, -1000, 1e6], is_odd.sum())
    return scores, offsets, np.concatenate([places, sizes], axis=1).astype(np.float32)


def sizes_of(batch: int) -> list[tuple[int, int]]:
    return [(100 + 7 * i, 300 - 3 * i) for i in range(batch)]


def decoder_of(chosen: dict[str, Any]) -> OutputDecoder:
    return OutputDecoder(NAMES, resolved(DetectionSettings(**chosen), Profile.TUTORIAL), StageTimes())


choices = st.fixed_dictionaries(
    {
        "score_threshold": st.sampled_from(THRESHOLDS),
        "nms_threshold": st.sampled_from([0.0, 0.1, 0.45, 0.5, 1.0]),
        "top_k": st.none() | st.integers(1, 60),
        "max_detections": st.none() | st.integers(1, 30),
        "class_agnostic": st.booleans(),
        "classes": st.sampled_from([(), ("dog",), ("cat", "tv")]),
        "class_thresholds": st.dictionaries(st.sampled_from(NAMES[1:]), st.sampled_from(THRESHOLDS)).map(
            lambda thresholds: tuple(thresholds.items())
        ),
    }
)


class TestBatches:
    @pytest.mark.parametrize("profile", Profile)
    @given(
        seed=st.integers(0, 2**32 - 1),
        batch=st.integers(0, 5),
        num_anchors=st.sampled_from([0, 1, 7, 60, 128, 150]),
        odd=st.sampled_from([0.0, 0.05]),
        chosen=choices,
    )
    @examples(deadline=None, max_examples=25)
    def test_as_one_after_the_other_by_hand(
        self, profile: Profile, seed: int, batch: int, num_anchors: int, odd: float, chosen: dict[str, Any]
    ) -> None:
        decoder = decoder_of({**chosen, "profile": profile})
        scores, offsets, anchors = outputs(seed, batch, num_anchors, odd)
        selected = select_scores(scores, offsets, decoder.limits)
        found = decoder.decode(selected, anchors, sizes_of(batch))
        for one, *picture in zip(found, scores, offsets, sizes_of(batch), strict=True):
            expected = by_hand(picture[0], picture[1], anchors, picture[2], decoder)
            assert_same(one, expected)
            assert_same(decoder(picture[0], picture[1], anchors, picture[2]), expected)

    @pytest.mark.parametrize("profile", Profile)
    @pytest.mark.parametrize("threshold", [0.0, 0.01])
    def test_more_candidates_than_any_limit(self, profile: Profile, threshold: float) -> None:
        """Most are left out before they are sorted; classes are groups of all sizes, some larger than a block of the
        suppression."""
        scores, offsets, anchors = outputs(1, 3, 600, 0.0)
        scores[:, :, 2] *= np.random.default_rng(2).random(scores.shape[:2], np.float32) < 0.05
        scores[:, :, 3] = scores[:, :, 1]  # ties beyond every limit
        scores[1] = np.nan_to_num(scores[1]) * np.float32(1e-3)
        decoder = decoder_of({"score_threshold": threshold, "profile": profile, "nms_threshold": 0.6})
        found = decoder.decode(select_scores(scores, offsets, decoder.limits), anchors, sizes_of(3))
        for i, one in enumerate(found):
            assert_same(one, by_hand(scores[i], offsets[i], anchors, sizes_of(3)[i], decoder))

    def test_pictures_are_kept_apart(self) -> None:
        """The same output in every place of a batch, beside pictures of nothing: the same detections."""
        scores, offsets, anchors = outputs(3, 1, 300, 0.0)
        decoder = decoder_of({"score_threshold": 0.25})
        (alone,) = decoder.decode(select_scores(scores, offsets, decoder.limits), anchors, [(500, 400)])
        batch = np.repeat(scores, 5, axis=0)
        batch[[1, 3]] = 0
        selected = select_scores(batch, np.repeat(offsets, 5, axis=0), decoder.limits)
        found = decoder.decode(selected, anchors, [(500, 400)] * 5)
        assert [len(one) for one in found] == [len(alone), 0, len(alone), 0, len(alone)]
        for one in found[::2]:
            assert_same(one, alone)
        assert found[1].best_guess == BestGuess("cat", 0.0)

    def test_stages_are_counted(self) -> None:
        times = StageTimes()
        decoder = OutputDecoder(NAMES, resolved(DetectionSettings(), Profile.CAFFE), times)
        decoder(np.zeros((0, 4), np.float32), np.zeros((0, 4), np.float32), make_anchors("coco300"), (1, 1))
        assert list(times.seconds()) == ["decode", "nms"]


class TestSelection:
    @pytest.mark.parametrize("num_anchors", [0, 1, 127, 128, 129, 1000])
    def test_as_by_comparing_all(self, num_anchors: int) -> None:
        scores, offsets, _ = outputs(4, 3, num_anchors, 0.0)
        limits = np.array([np.inf, 0.25, 0.5, 0.0], np.float32)
        selected = select_scores(scores, offsets, limits)
        picture_ids, anchor_ids, class_ids = np.nonzero(scores > limits)
        np.testing.assert_array_equal(selected.picture_ids, picture_ids)
        np.testing.assert_array_equal(selected.anchor_ids, anchor_ids)
        np.testing.assert_array_equal(selected.class_ids, class_ids)
        np.testing.assert_array_equal(selected.scores, scores[picture_ids, anchor_ids, class_ids])
        np.testing.assert_array_equal(selected.offsets, offsets[picture_ids, anchor_ids])
        np.testing.assert_array_equal(selected.peaks, np.nan_to_num(scores).max(axis=1, initial=0))

    def test_nothing_but_nan(self) -> None:
        nothing = np.full((2, 200, 3), np.nan, np.float32)
        selected = select_scores(nothing, np.zeros((2, 200, 4), np.float32), np.zeros(3, np.float32))
        assert len(selected.scores) == 0
        np.testing.assert_array_equal(selected.peaks, np.zeros((2, 3)))

    def test_limits(self) -> None:
        wanted = np.array([False, True, False, True])
        strict = resolved(DetectionSettings(0.5), Profile.CAFFE)
        assert score_limits(wanted, strict).tolist() == [np.inf, 0.5, np.inf, 0.5]
        own = np.array([0.5, 0.25, 0.1, 0.0], np.float32)
        assert score_limits(wanted, strict, own).tolist() == [np.inf, 0.25, np.inf, 0.0]
        equal = resolved(DetectionSettings(0.5), Profile.REFERENCE_EVAL)
        below = np.nextafter(np.float32(0.25), np.float32(0))
        assert score_limits(wanted, equal, own).tolist() == [np.inf, float(below), np.inf, -1.0]
        assert score_limits(wanted, equal).dtype == np.float32


@given(st.lists(st.integers(0, 2**17), max_size=50) | st.lists(st.integers(0, 3), max_size=50))
def test_ranks(groups: list[int]) -> None:
    assert ranks(np.array(groups, np.int64)).tolist() == [groups[:i].count(group) for i, group in enumerate(groups)]
