"""Each profile against plain loops that were written from the sources' descriptions, one function a source."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ssd_detect.arrays import Floats
from ssd_detect.boxes.anchors import make_anchors
from ssd_detect.boxes.postprocess import Candidates, decode_candidates, keep_best
from ssd_detect.boxes.profiles import PROFILES, resolved, rules_of
from ssd_detect.conventions import Profile
from ssd_detect.settings import DetectionSettings

ALL = 10**9
LIMITS = {
    Profile.TUTORIAL: (400, None),
    Profile.REFERENCE_EVAL: (400, None),
    Profile.CAFFE: (400, 200),
    Profile.TORCHVISION: (400, 200),
    Profile.SSD_PYTORCH: (200, None),
    Profile.KERAS: (None, 200),
}


class Chosen(NamedTuple):
    """What a user can choose, without the profile; a limit of None is the source's own."""

    score: float
    nms: float = 0.45
    top_k: int | None = None
    most: int | None = None
    agnostic: bool = False


class Row(NamedTuple):
    """One candidate."""

    score: float
    anchor: int
    class_id: int
    box: Any  # (4,) float32 xyxy

    def rank(self) -> tuple[float, int, int]:
        return -self.score, self.anchor, self.class_id


def decoded(offsets: Floats, anchors: Floats, limit: float | None = None) -> Floats:
    """Corners, in float32, one coordinate after the other."""
    x = offsets[:, 0] * anchors[:, 2] * np.float32(0.1) + anchors[:, 0]
    y = offsets[:, 1] * anchors[:, 3] * np.float32(0.1) + anchors[:, 1]
    scales = [offsets[:, k] * np.float32(0.2) for k in (2, 3)]
    if limit is not None:
        scales = [np.where(scale > limit, np.float32(limit), scale) for scale in scales]
    width, height = anchors[:, 2] * np.exp(scales[0]), anchors[:, 3] * np.exp(scales[1])
    two = np.float32(2)
    return np.stack([x - width / two, y - height / two, x + width / two, y + height / two], axis=1)


def within_picture(boxes: Floats) -> Floats:
    clipped: Floats = np.minimum(np.maximum(boxes, np.float32(0)), np.float32(1))
    return clipped


def candidates_of(scores: Floats, boxes: Floats, class_id: int, passes: Callable[[float], bool]) -> list[Row]:
    """Of one class, best first; the first anchor first among equals."""
    rows = [Row(s, i, class_id, boxes[i]) for i, s in enumerate(scores[:, class_id].tolist()) if passes(s)]
    return sorted(rows, key=Row.rank)


def survivors(rows: list[Row], goes: Callable[[Any], Any], most: int = ALL, *, same_class: bool = True) -> list[Row]:
    """One after the other, against all that stay so far; `goes` is asked with their IoU."""
    stay: list[Row] = []
    boxes = np.empty((len(rows), 4), np.float32)  # of those that stay
    classes = np.empty(len(rows), np.int64)
    for row in rows:
        kept, count = boxes[: len(stay)], len(stay)
        wide = np.maximum(np.minimum(kept[:, 2], row.box[2]) - np.maximum(kept[:, 0], row.box[0]), 0)
        high = np.maximum(np.minimum(kept[:, 3], row.box[3]) - np.maximum(kept[:, 1], row.box[1]), 0)
        shared = wide * high
        areas = (kept[:, 2] - kept[:, 0]) * (kept[:, 3] - kept[:, 1])
        union = areas + (row.box[2] - row.box[0]) * (row.box[3] - row.box[1]) - shared
        iou = np.divide(shared, union, out=np.zeros_like(shared), where=union > 0)
        if (goes(iou) & ((classes[:count] == row.class_id) | (not same_class))).any():
            continue
        boxes[count], classes[count] = row.box, row.class_id
        stay.append(row)
    return stay[:most]


def with_an_area(rows: list[Row]) -> list[Row]:
    """Clipped at last, and without those of which nothing is left."""
    clipped = [row._replace(box=within_picture(row.box)) for row in rows]
    return [row for row in clipped if (row.box[2:] - row.box[:2] >= np.float32(1e-6)).all()]


def tutorial(scores: Floats, offsets: Floats, anchors: Floats, chosen: Chosen) -> list[Row]:
    """balancap's notebook: clip, best 400 of all classes together, IoU of the threshold or more goes, no limit."""
    boxes = within_picture(decoded(offsets, anchors))
    rows = [
        row
        for class_id in range(1, scores.shape[1])
        for row in candidates_of(scores, boxes, class_id, lambda score: score > np.float32(chosen.score))
    ]
    best = with_an_area(sorted(rows, key=Row.rank)[: chosen.top_k or 400])
    kept = survivors(best, lambda iou: iou >= np.float32(chosen.nms), same_class=not chosen.agnostic)
    return kept[: chosen.most]


def class_by_class(
    scores: Floats,
    boxes: Floats,
    chosen: Chosen,
    *,
    passes: Callable[[float], bool],
    before: int,
    after: int,
    most: int | None,
) -> list[Row]:
    """What the other five have in common: `before` and `after` suppression so many of a class, `most` of a picture."""

    def goes(iou: Any) -> Any:
        return iou > np.float32(chosen.nms)

    classes = range(1, scores.shape[1])
    selected = [candidates_of(scores, boxes, c, passes)[: chosen.top_k or before] for c in classes]
    if chosen.agnostic:
        together = sorted((row for rows in selected for row in rows), key=Row.rank)
        kept = survivors(together, goes, after, same_class=False)
    else:
        kept = [row for rows in selected for row in survivors(rows, goes, after)]
    return with_an_area(sorted(kept, key=Row.rank)[: chosen.most or most])


def reference_eval(scores: Floats, offsets: Floats, anchors: Floats, chosen: Chosen) -> list[Row]:
    """balancap's evaluation: a score of the threshold counts, 400 and 200 of a class, nothing clipped."""
    boxes, limit = decoded(offsets, anchors), np.float32(chosen.score)
    return class_by_class(scores, boxes, chosen, passes=lambda s: s >= limit, before=400, after=200, most=None)


def caffe(scores: Floats, offsets: Floats, anchors: Floats, chosen: Chosen) -> list[Row]:
    """DetectionOutput: 400 of a class, 200 of a picture, clipped when written."""
    boxes, limit = decoded(offsets, anchors), np.float32(chosen.score)
    return class_by_class(scores, boxes, chosen, passes=lambda s: s > limit, before=400, after=ALL, most=200)


def torchvision(scores: Floats, offsets: Floats, anchors: Floats, chosen: Chosen) -> list[Row]:
    """SSD.postprocess_detections: sizes limited, clipped, 400 of a class, 200 of a picture."""
    boxes = within_picture(decoded(offsets, anchors, limit=4.135166556742356))
    limit = np.float32(chosen.score)
    return class_by_class(scores, boxes, chosen, passes=lambda s: s > limit, before=400, after=ALL, most=200)


def ssd_pytorch(scores: Floats, offsets: Floats, anchors: Floats, chosen: Chosen) -> list[Row]:
    """Detect: 200 of a class before the suppression, no other limit."""
    boxes, limit = decoded(offsets, anchors), np.float32(chosen.score)
    return class_by_class(scores, boxes, chosen, passes=lambda s: s > limit, before=200, after=ALL, most=None)


def keras(scores: Floats, offsets: Floats, anchors: Floats, chosen: Chosen) -> list[Row]:
    """DecodeDetections: all of a class, 400 of it afterwards, 200 of a picture."""
    boxes, limit = decoded(offsets, anchors), np.float32(chosen.score)
    return class_by_class(scores, boxes, chosen, passes=lambda s: s > limit, before=ALL, after=400, most=200)


LOOPS = {
    Profile.TUTORIAL: tutorial,
    Profile.REFERENCE_EVAL: reference_eval,
    Profile.CAFFE: caffe,
    Profile.TORCHVISION: torchvision,
    Profile.SSD_PYTORCH: ssd_pytorch,
    Profile.KERAS: keras,
}


def detected(profile: Profile, scores: Floats, offsets: Floats, anchors: Floats, chosen: Chosen) -> Candidates:
    settings = DetectionSettings(*chosen, profile=profile)
    wanted = np.arange(scores.shape[1]) > 0
    settings = resolved(settings, Profile.TUTORIAL)
    candidates, _ = decode_candidates(scores, offsets, anchors, wanted, settings)
    return keep_best(candidates, settings)


def assert_as_the_loops(profile: Profile, scores: Floats, offsets: Floats, anchors: Floats, chosen: Chosen) -> int:
    expected = LOOPS[profile](scores, offsets, anchors, chosen)
    found = detected(profile, scores, offsets, anchors, chosen)
    assert found.class_ids.tolist() == [row.class_id for row in expected]
    assert found.scores.tolist() == [row.score for row in expected]
    boxes = np.array([row.box for row in expected], np.float32).reshape(-1, 4)
    np.testing.assert_allclose(found.boxes_unit, boxes, atol=1e-6, rtol=0)
    return len(expected)


GRID_OF_SCORES = np.array([0, 0.01, 0.125, 0.25, 0.5, 0.5, 0.75, 1], np.float32)


def picture_of(seed: int, num_anchors: int, num_classes: int, spread: float) -> tuple[Floats, Floats, Floats]:
    """Scores with ties and offsets that pile boxes up, or throw them out of the picture, as `spread` says."""
    random = np.random.default_rng(seed)
    scores = random.choice(GRID_OF_SCORES, (num_anchors, num_classes))
    fine = random.random((num_anchors, num_classes), np.float32)
    scores = np.where(random.random(scores.shape) < 0.5, scores, fine).astype(np.float32)
    centres, sizes = random.random((num_anchors, 2), np.float32), random.choice([0.1, 0.3, 0.9], (num_anchors, 2))
    anchors = np.concatenate([centres, sizes], axis=1).astype(np.float32)
    offsets = (random.standard_normal((num_anchors, 4)) * spread).astype(np.float32)
    return scores, offsets, anchors


class TestAgainstLoops:
    @pytest.mark.parametrize("profile", Profile)
    @given(
        seed=st.integers(0, 2**32 - 1),
        num_anchors=st.integers(0, 60),
        num_classes=st.integers(2, 5),
        spread=st.sampled_from([0.0, 1.0, 5.0, 20.0]),
        chosen=st.builds(
            Chosen,
            score=st.sampled_from([0.0, 0.01, 0.25, 0.5]),
            nms=st.sampled_from([0.0, 0.1, 0.45, 0.5, 1.0]),
            top_k=st.none() | st.integers(1, 30),
            most=st.none() | st.integers(1, 30),
            agnostic=st.booleans(),
        ),
    )
    @settings(deadline=None, max_examples=60)
    def test_random_pictures(
        self, profile: Profile, seed: int, num_anchors: int, num_classes: int, spread: float, chosen: Chosen
    ) -> None:
        assert_as_the_loops(profile, *picture_of(seed, num_anchors, num_classes, spread), chosen)

    @pytest.mark.parametrize("profile", Profile)
    @pytest.mark.parametrize("agnostic", [False, True])
    def test_own_limits(self, profile: Profile, agnostic: bool) -> None:
        """700 boxes that hardly overlap, each good enough for three classes: every limit of the source is reached."""
        scores, offsets, _ = picture_of(1, 700, 4, 0.2)
        places = np.stack(np.divmod(np.arange(700), 28), axis=1) / 28 + 0.02
        anchors = np.concatenate([places, np.full((700, 2), 0.03)], axis=1).astype(np.float32)
        scores = scores * np.float32(0.98) + np.float32(0.02)
        for most in (None, 5000):
            assert assert_as_the_loops(profile, scores, offsets, anchors, Chosen(0.01, most=most, agnostic=agnostic))

    @pytest.mark.parametrize("profile", Profile)
    @pytest.mark.parametrize(("picture", "chosen"), [(0, Chosen(0.01, most=9000)), (1, Chosen(0.01)), (2, Chosen(0.3))])
    def test_golden_outputs(
        self, profile: Profile, picture: int, chosen: Chosen, golden: Callable[[int], dict[str, Any]]
    ) -> None:
        numbers = golden(300)
        scores, offsets = numbers[f"p{picture}_scores"], numbers[f"p{picture}_loc"]
        assert assert_as_the_loops(profile, scores, offsets, make_anchors("coco300"), chosen) > 10


def boxes_at(*boxes: tuple[float, float, float, float]) -> Floats:
    """Anchors whose offsets of zero make these boxes, xyxy."""
    corners = np.array(boxes, np.float32)
    return np.concatenate([(corners[:, :2] + corners[:, 2:]) / 2, corners[:, 2:] - corners[:, :2]], axis=1)


class TestWhatTheyDifferIn:
    def found(self, profile: Profile, anchors: Floats, values: list[float], chosen: Chosen) -> list[float]:
        scores = np.stack([1 - np.array(values, np.float32), np.array(values, np.float32)], axis=1)
        offsets = np.zeros((len(values), 4), np.float32)
        return [round(float(s), 4) for s in detected(profile, scores, offsets, anchors, chosen).scores]

    def profiles_with(self, anchors: Floats, values: list[float], chosen: Chosen, expected: list[float]) -> set[str]:
        return {p.value for p in Profile if self.found(p, anchors, values, chosen) == expected}

    def test_score_of_the_threshold(self) -> None:
        apart = boxes_at((0, 0, 0.25, 0.25), (0.5, 0.5, 0.75, 0.75))
        assert self.profiles_with(apart, [0.75, 0.5], Chosen(0.5), [0.75, 0.5]) == {"reference-eval"}

    def test_iou_of_the_threshold(self) -> None:
        half = boxes_at((0, 0, 1, 1), (0, 0, 0.5, 1))
        assert self.profiles_with(half, [0.75, 0.625], Chosen(0.5, nms=0.5), [0.75]) == {"tutorial"}

    def test_clipped_before_or_after_the_comparison(self) -> None:
        """Two boxes that are apart, but nearly one inside the picture."""
        beyond = boxes_at((0.9, 0, 1.0, 0.5), (0.9, 0, 1.9, 0.5))
        assert self.profiles_with(beyond, [0.75, 0.625], Chosen(0.5), [0.75]) == {"tutorial", "torchvision"}

    def test_places_that_boxes_outside_the_picture_take(self) -> None:
        one_outside = boxes_at((1.5, 0, 2, 0.5), (0, 0, 0.5, 0.5))
        assert self.profiles_with(one_outside, [0.75, 0.625], Chosen(0.5, most=1), [0.625]) == {"tutorial"}
        assert self.profiles_with(one_outside, [0.75, 0.625], Chosen(0.5), [0.625]) == {p.value for p in Profile}

    def test_candidates_of_each_class_or_of_all(self) -> None:
        """The best two of each class, or of a picture, before the suppression."""
        anchors = boxes_at((0, 0, 0.2, 0.2), (0.3, 0, 0.5, 0.2), (0.6, 0, 0.8, 0.2))
        scores = np.array([[0, 0.9, 0.6], [0, 0.8, 0.7], [0, 0.75, 0.65]], np.float32)
        counts = {
            p.value: len(detected(p, scores, np.zeros((3, 4), np.float32), anchors, Chosen(0.5, top_k=2)).scores)
            for p in Profile
        }
        assert counts == {p.value: 2 if p is Profile.TUTORIAL else 4 for p in Profile}

    def test_limited_sizes(self) -> None:
        scores, anchors = np.array([[0, 0.9]], np.float32), boxes_at((0.499, 0.499, 0.501, 0.501))
        offsets = np.array([[0, 0, 50, 0]], np.float32)  # e^10 times as wide
        for profile in Profile:
            width = np.ptp(detected(profile, scores, offsets, anchors, Chosen(0.5)).boxes_unit[:, [0, 2]])
            limited = profile is Profile.TORCHVISION
            assert width == pytest.approx(0.002 * 1000 / 16 if limited else 1.0, rel=1e-3)

    @pytest.mark.parametrize("profile", Profile)
    @pytest.mark.parametrize(
        ("offset", "counts"),
        [
            ((0, 0, -1000, 0), (1, 0, 0)),  # no width
            ((400, 0, 0, 0), (0, 1, 0)),  # to the right of the picture
            ((np.inf, 0, 0, 0), (0, 0, 1)),
            ((0, np.nan, 0, 0), (0, 0, 1)),
            ((0, -1e30, 0, 0), (0, 1, 0)),
        ],
    )
    def test_boxes_of_no_area_are_never_reported(self, profile: Profile, offset: Any, counts: tuple[int, ...]) -> None:
        """Nor do they change what becomes of the box beside them, or raise a warning."""
        settings = resolved(DetectionSettings(0.5), profile)
        scores, anchors = np.array([[0, 0.9]] * 3, np.float32), np.array([[0.5, 0.5, 0.2, 0.2]] * 3, np.float32)
        offsets = np.array([offset, offset, (0, 0, 0, 0)], np.float32)
        candidates, dropped = decode_candidates(scores, offsets, anchors, np.array([False, True]), settings)
        assert tuple(dropped) == tuple(2 * count for count in counts)
        np.testing.assert_allclose(keep_best(candidates, settings).boxes_unit, [[0.4, 0.4, 0.6, 0.6]], rtol=1e-6)

    def test_sides_without_end_are_dropped(self) -> None:
        """Finite corners, whose areas would not be."""
        settings = resolved(DetectionSettings(0.5), Profile.CAFFE)
        scores, anchors = np.array([[0, 0.9]] * 2, np.float32), np.array([[0.5, 0.5, 0.2, 0.2]] * 2, np.float32)
        offsets = np.array([(0, 0, 400, 400)] * 2, np.float32)
        candidates, dropped = decode_candidates(scores, offsets, anchors, np.array([False, True]), settings)
        assert (len(keep_best(candidates, settings).scores), tuple(dropped)) == (0, (0, 0, 2))


class TestResolving:
    @pytest.mark.parametrize("profile", Profile)
    def test_limits_of_the_sources(self, profile: Profile) -> None:
        chosen = resolved(DetectionSettings(), profile)
        assert (chosen.profile, chosen.top_k, chosen.max_detections) == (profile, *LIMITS[profile])

    @pytest.mark.parametrize("profile", Profile)
    def test_the_users_numbers_win(self, profile: Profile) -> None:
        chosen = DetectionSettings(0.1, 0.2, 3, 4, True, ("car",), ("dog",))
        assert resolved(chosen, profile) == replace(chosen, profile=profile)
        assert resolved(replace(chosen, profile=Profile.KERAS), profile) == replace(chosen, profile=Profile.KERAS)

    @given(st.sampled_from(list(Profile)), st.sampled_from(list(Profile)), st.none() | st.integers(1, 9))
    def test_again_changes_nothing(self, first: Profile, second: Profile, top_k: int | None) -> None:
        chosen = resolved(DetectionSettings(top_k=top_k), first)
        assert resolved(chosen, second) == chosen

    def test_every_profile_is_described(self) -> None:
        assert set(PROFILES) == set(Profile) == set(LOOPS)

    def test_unresolved_settings(self) -> None:
        with pytest.raises(ValueError, match=r"settings without a profile; boxes\.profiles\.resolved"):
            rules_of(DetectionSettings())
