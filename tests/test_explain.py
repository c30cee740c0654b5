"""Explanations: what they say about detections, points and regions, as values, text, JSON and picture."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest

from ssd_detect import formats
from ssd_detect.boxes.anchors import make_anchors
from ssd_detect.boxes.profiles import resolved
from ssd_detect.classes import COCO80, VOC20
from ssd_detect.conventions import Profile
from ssd_detect.errors import SettingError
from ssd_detect.explaining.explain import NEARLY_SAME_IOU, explain
from ssd_detect.explaining.facts import Explanation
from ssd_detect.explaining.json_value import to_json
from ssd_detect.explaining.picture import DETECTION, MISSED, POINT, REGION, REMOVED, draw_explanation, marks_of
from ssd_detect.explaining.question import Question
from ssd_detect.explaining.text import lines
from ssd_detect.explaining.trace import RawPicture, Reason
from ssd_detect.formats.provenance import Provenance
from ssd_detect.settings import DetectionSettings

SCHEMA = json.loads((Path(formats.__file__).parent / "schema" / "explanation.schema.json").read_text())
SIZE = (600, 300)
CAT, DOG, PERSON = (VOC20.index(name) for name in ("cat", "dog", "person"))

# Anchors of voc300 by map, and places in a picture of 600x300 pixels, which is twice as wide as the input.
MIDDLE = 8732 - 4  # the small square of the last map: 261x261 of 300, or 522x261 pixels, at 300, 150
LARGE_MIDDLE = MIDDLE + 1
SMALL = 38 * 38 * 4 + 19 * 19 * 6 + 10 * 10 * 6 + (1 * 5 + 1) * 6  # map 4, row 1, column 1: 162x162 at 96, 96


def raw_picture(*found: tuple[int, int, float], chosen: DetectionSettings | None = None, **fields: Any) -> RawPicture:
    """Anchor, class, score; all else is background, and offsets are zero."""
    anchors = make_anchors("voc300")
    scores = np.zeros((len(anchors), len(VOC20)), np.float32)
    for anchor_id, class_id, score in found:
        scores[anchor_id, class_id] = score
    scores[:, 0] = 1 - scores.sum(axis=1)
    wanted, settings = np.arange(len(VOC20)) > 0, resolved(chosen or DetectionSettings(), Profile.TUTORIAL)
    return replace(RawPicture(scores, np.zeros((len(anchors), 4), np.float32), anchors, wanted, settings), **fields)


def explained(raw: RawPicture, size: tuple[int, int] = SIZE, **question: Any) -> Explanation:
    return explain(raw, "voc300", VOC20, size, Question(**question))


def text(explanation: Explanation) -> str:
    return "\n".join(lines(explanation))


def as_json(explanation: Explanation) -> Any:
    """Through text, strictly, and checked against the schema."""
    provenance = Provenance("made", "ab" * 32, explanation.settings)
    value = json.loads(json.dumps(to_json(explanation, "in/a.jpg", provenance), allow_nan=False))
    jsonschema.Draft202012Validator(SCHEMA).validate(value)
    return value


NOTHING = raw_picture()
ONE = raw_picture((MIDDLE, CAT, 0.75), (LARGE_MIDDLE, CAT, 0.625), (SMALL, DOG, 0.25))


class TestQuestions:
    @pytest.mark.parametrize(
        ("given", "words"),
        [
            ({}, "nothing to explain; give --at"),
            ({"box": 1, "at": (1, 1)}, "both a detection and a point are given"),
            ({"region": (5, 5, 5, 9)}, "region is 5,5,5,9, expected left, top, right, bottom with an area"),
            ({"region": (5, 9, 6, 5)}, "region is 5,9,6,5, expected"),
        ],
    )
    def test_that_make_no_sense(self, given: Any, words: str) -> None:
        with pytest.raises(SettingError, match=words):
            Question(**given)

    @pytest.mark.parametrize(
        ("given", "words"),
        [
            ({"at": (601, 20)}, "the point 601,20 is outside the picture of 600x300 pixels"),
            ({"at": (-1, 20)}, "the point -1,20 is outside"),
            ({"at": (float("nan"), 20)}, "the point nan,20 is outside"),
            ({"region": (600, 0, 700, 10)}, "the region 600,0,700,10 is outside the picture of 600x300 pixels"),
            ({"region": (0, -9, 10, 0)}, "the region 0,-9,10,0 is outside"),
            ({"box": 2}, "there is no detection 2, expected a number from 1 to 1"),
            ({"box": 0}, "there is no detection 0, expected"),
        ],
    )
    def test_beyond_the_picture(self, given: Any, words: str) -> None:
        with pytest.raises(SettingError, match=words):
            explained(ONE, **given)

    def test_no_detections(self) -> None:
        with pytest.raises(SettingError, match="no detection 1: nothing was detected; --at X,Y tells why"):
            explained(NOTHING, box=1)

    @pytest.mark.parametrize("point", [(0, 0), (600, 300), (0, 300), (600, 0)])
    def test_corners_belong_to_the_picture(self, point: tuple[float, float]) -> None:
        spot = explained(ONE, at=point).spot
        assert spot is not None
        corner = {(p.anchor.place.row > 0, p.anchor.place.column > 0) for p in spot.cells[:-1]}
        assert corner == {(point[1] > 0, point[0] > 0)}


class TestDetection:
    def test_what_made_it(self) -> None:
        (found,) = explained(ONE, box=1).explained
        anchor = found.made_by.anchor
        assert (anchor.place.anchor_id, anchor.place.map_name, anchor.place.shape) == (
            MIDDLE, "block11/conv3x3", "small square",
        )  # fmt: skip
        assert anchor.size == pytest.approx((264, 264), abs=1e-3)
        assert anchor.anchor_box == pytest.approx((36, 18, 564, 282), abs=1e-3)
        assert anchor.decoded_box == pytest.approx(anchor.anchor_box, abs=1e-3)
        assert [(s.class_name, s.score) for s in anchor.scores][:2] == [("cat", 0.75), ("aeroplane", 0.0)]
        assert (len(anchor.scores), anchor.background) == (5, 0.25)

    def test_what_it_removed(self) -> None:
        (found,) = explained(ONE, box=1).explained
        assert [p.anchor.place.anchor_id for p in found.removed] == [LARGE_MIDDLE]
        assert found.num_removed == 1
        (removed,) = found.removed
        assert (removed.outcome.reason, removed.outcome.detection) == (Reason.SUPPRESSED, 1)
        assert removed.iou == removed.outcome.iou == pytest.approx(264 / 315 * 264 / 264, abs=0.03)

    def test_near_ones_are_those_that_overlap(self) -> None:
        (found,) = explained(ONE, box=1, top=100).explained
        assert found.num_near == len(found.near) > 0
        overlaps = [p.iou for p in found.near]
        assert overlaps == sorted(overlaps, key=lambda iou: -(iou or 0))
        assert all(iou is not None and iou >= NEARLY_SAME_IOU for iou in overlaps)
        assert MIDDLE not in [p.anchor.place.anchor_id for p in found.near]
        assert LARGE_MIDDLE in [p.anchor.place.anchor_id for p in found.near]

    def test_the_closest_better_one(self) -> None:
        raw = raw_picture((MIDDLE, CAT, 0.75), (SMALL, CAT, 0.625))
        first, second = (explained(raw, box=number).explained[0] for number in (1, 2))
        assert first.closest is None
        assert second.closest is not None
        assert (second.closest.number, second.closest.found.score) == (1, 0.75)
        assert 0 < second.closest.iou < 0.45

    def test_top_cuts_lists_but_not_counts(self) -> None:
        found = [(MIDDLE + i, CAT, 0.9 - i / 10) for i in range(4)]
        (few,) = explained(raw_picture(*found, chosen=DetectionSettings(nms_threshold=0.3)), box=1, top=1).explained
        assert (len(few.removed), len(few.near), len(few.made_by.anchor.scores)) == (1, 1, 1)
        assert few.num_removed == 3


class TestSpot:
    def test_nothing_there(self) -> None:
        explanation = explained(NOTHING, at=(300, 150))
        spot = explanation.spot
        assert spot is not None
        assert (explanation.explained, spot.numbers) == ((), ())
        assert len(spot.cells) == 6
        assert {p.outcome.reason for p in (*spot.cells, *spot.classes)} == {Reason.BELOW_THRESHOLD}

    def test_detections_at_a_point_are_explained(self) -> None:
        explanation = explained(ONE, at=(300, 150))
        assert [found.number for found in explanation.explained] == [1]
        assert explained(ONE, at=(1, 1)).explained == ()

    def test_the_best_of_each_class(self) -> None:
        spot = explained(ONE, at=(192, 96)).spot
        assert spot is not None
        first, second = spot.classes[:2]
        assert (first.found.class_name, first.outcome.reason) == ("cat", Reason.DETECTED)
        assert (second.found.class_name, second.anchor.place.anchor_id) == ("dog", SMALL)
        assert (second.outcome.reason, second.outcome.margin) == (Reason.BELOW_THRESHOLD, -0.25)
        assert [p.anchor.place.anchor_id for p in spot.cells if p.found.score > 0] == [SMALL, MIDDLE]

    def test_no_box_contains_the_point(self) -> None:
        offsets = np.zeros((8732, 4), np.float32)
        offsets[:, 0] = 1000  # all to the right
        explanation = explained(raw_picture((MIDDLE, CAT, 0.75), offsets=offsets), at=(300, 150))
        spot = explanation.spot
        assert spot is not None
        assert (spot.num_boxes, spot.classes, len(spot.cells)) == (0, (), 6)
        assert spot.cells[-1].outcome.reason is Reason.OUTSIDE

    def test_scores_and_boxes_that_are_no_numbers(self) -> None:
        raw = raw_picture((MIDDLE, CAT, 0.75))
        raw.scores[LARGE_MIDDLE] = np.nan
        raw.offsets[LARGE_MIDDLE] = np.nan
        raw.offsets[SMALL] = (0, np.inf, 1e5, -1e30)
        explanation = explained(raw, at=(300, 150), region=(0, 0, 300, 300), top=50)
        assert len(explanation.explained) == 1
        as_json(explanation)
        text(explanation)
        draw_explanation(np.zeros((300, 600, 3), np.uint8), explanation)


class TestRegion:
    def test_of_an_anchor(self) -> None:
        region = explained(ONE, region=(36, 18, 564, 282)).region
        assert region is not None
        assert region.ceiling == pytest.approx(1, abs=1e-5)
        assert region.anchors[0].anchor.place.anchor_id == MIDDLE
        assert (region.best_iou, region.boxes[0].outcome.detection) == (region.ceiling, 1)

    def test_small_objects_have_a_low_ceiling(self) -> None:
        """12x6 pixels, 6x6 of the input, inside anchors of 30x30 at best (and of 42x21)."""
        region = explained(ONE, region=(300, 150, 312, 156)).region
        assert region is not None
        assert region.ceiling == pytest.approx(36 / 900, rel=0.01)
        assert "none reaches 0.5, so that it alone learns such objects" in text(explained(ONE, region=region.box))

    def test_reaching_out_of_the_picture(self) -> None:
        region = explained(ONE, region=(-1000, -1000, 1, 1)).region
        assert region is not None
        assert 0 <= region.ceiling < 0.01


REASONS: list[tuple[str, RawPicture, str]] = [
    ("below-threshold", ONE, "below the threshold 0.5 by 0.250"),
    (
        "class-excluded",
        replace(ONE, wanted=ONE.wanted & (np.arange(len(VOC20)) != DOG)),
        "not looked for: the class dog is left out",
    ),
    (
        "beyond-top-k",
        raw_picture((MIDDLE, CAT, 0.75), (SMALL, DOG, 0.625), chosen=DetectionSettings(top_k=1)),
        "number 2 by score, beyond the 1 that are compared (top-k)",
    ),
    (
        "beyond-limit",
        raw_picture((MIDDLE, CAT, 0.75), (SMALL, DOG, 0.625), chosen=DetectionSettings(max_detections=1)),
        "beyond the 1 detections that are reported at most",
    ),
    (
        "suppressed",
        raw_picture((SMALL, DOG, 0.625), (SMALL + 1, DOG, 0.75)),
        "removed by detection 1: IoU ",
    ),
]


class TestWhyNothingCameOfIt:
    @pytest.mark.parametrize(("reason", "raw", "words"), REASONS, ids=[reason for reason, *_ in REASONS])
    def test_reasons(self, reason: str, raw: RawPicture, words: str) -> None:
        """The region is the anchor's own place, so that it comes first."""
        explanation = explained(raw, region=(30, 15, 354, 177))
        region = as_json(explanation)["region"]
        assert (region["anchors"][0]["anchor"]["anchor"], region["anchors"][0]["class"]) == (SMALL, "dog")
        assert region["anchors"][0]["outcome"]["reason"] == reason
        assert words in text(explanation)

    @pytest.mark.parametrize(
        ("offset", "reason", "words"),
        [
            ((0, 0, -1000, 0), "degenerate-box", "its box has no width or no height inside the picture"),
            ((0, 400, 0, 0), "outside-picture", "its box lies outside the picture"),
            ((0, 0, 1e6, 0), "non-finite-box", "its box is infinite or not a number"),
        ],
    )
    def test_boxes_that_are_none(self, offset: tuple[float, ...], reason: str, words: str) -> None:
        raw = raw_picture((SMALL, DOG, 0.75))
        raw.offsets[SMALL] = offset
        explanation = explained(raw, at=(192, 96))
        assert explanation.detections == ()
        outcomes = {p["anchor"]["anchor"]: p["outcome"]["reason"] for p in as_json(explanation)["spot"]["cells"]}
        assert outcomes[SMALL] == reason
        assert words in text(explanation)


class TestText:
    def test_all_of_it(self) -> None:
        told = text(explained(ONE, box=1, top=1))
        assert told.startswith(
            "600x300 pixels, 1 detection\n"
            "  1  cat 0.750  36.0 18.0 564.0 282.0\n"
            "\n"
            "Detection 1: cat 0.750, box 36.0 18.0 564.0 282.0\n"
            "  map       6 (block11/conv3x3), grid 1x1, step 300\n"
            "  cell      row 0, column 0, both from 0\n"
            f"  anchor    {MIDDLE}, number 0 of 4 in its cell from 0: small square, 264.0x264.0 of 300 pixels\n"
            "  its box   36.0 18.0 564.0 282.0\n"
            "  offsets   x +0.000 y +0.000 width +0.000 height +0.000\n"
            "  decoded   36.0 18.0 564.0 282.0\n"
            "  scores    cat 0.750, background 0.250\n"
            "  threshold 0.750 passes 0.5 by 0.250\n"
            "  candidate number 1 by score (top-k 400)\n"
            "  overlap   no better box to be compared with\n"
            "  removed   1 box\n"
        )

    @pytest.mark.parametrize("profile", Profile)
    def test_fits_100_columns(self, profile: Profile, golden: Callable[[int], dict[str, Any]]) -> None:
        explanation = golden_explanation(golden, profile, at=(250, 190), region=(10, 10, 60, 60), top=30)
        assert max(map(len, lines(explanation))) <= 100
        assert not any(line != line.rstrip() for line in lines(explanation))

    def test_many_long_class_names(self) -> None:
        raw = raw_picture((MIDDLE, CAT, 0.75))
        told = lines(explain(raw, "voc300", COCO80[:1] + COCO80[-20:], SIZE, Question(box=1, top=20)))
        assert max(map(len, told)) <= 100

    def test_coordinates_without_end_stay_readable(self) -> None:
        raw = raw_picture((SMALL, DOG, 0.75))
        raw.offsets[SMALL] = (0, 0, 150, 0)
        told = text(explained(raw, box=1))
        assert max(map(len, told.splitlines())) <= 100
        assert "e+" in told


def golden_explanation(golden: Callable[[int], dict[str, Any]], profile: Profile, **question: Any) -> Explanation:
    numbers = golden(300)
    chosen = resolved(DetectionSettings(0.2, 0.45), profile)
    wanted = np.arange(21) > 0
    raw = RawPicture(numbers["p1_scores"], numbers["p1_loc"], make_anchors("coco300"), wanted, chosen)
    return explain(raw, "coco300", VOC20, (500, 375), Question(**question))


class TestJson:
    def test_is_a_schema(self) -> None:
        jsonschema.Draft202012Validator.check_schema(SCHEMA)

    def test_shares_its_thresholds_with_that_of_detections(self) -> None:
        of_detections = json.loads((Path(formats.__file__).parent / "schema" / "detections.schema.json").read_text())
        assert SCHEMA["properties"]["thresholds"] == of_detections["properties"]["thresholds"]

    def test_reasons_are_those_of_the_schema(self) -> None:
        assert SCHEMA["$defs"]["outcome"]["properties"]["reason"]["enum"] == [reason.value for reason in Reason]

    @pytest.mark.parametrize("profile", Profile)
    def test_golden_outputs(self, profile: Profile, golden: Callable[[int], dict[str, Any]]) -> None:
        value = as_json(golden_explanation(golden, profile, at=(250, 190), region=(10, 10, 60, 60)))
        assert value["schema"] == SCHEMA["$id"]
        assert value["thresholds"]["profile"] == profile.value
        assert 0 < len(value["explained"]) <= 5
        for found in value["explained"]:
            assert found["score"] == value["detections"][found["number"] - 1]["score"]
            box = value["detections"][found["number"] - 1]["box"]
            assert box == pytest.approx(found["anchor"]["clipped_box"], abs=1e-3)

    @pytest.mark.parametrize(
        "path", [("region",), ("spot", "cells"), ("explained", 0, "removed"), ("explained", 0, "anchor", "offsets")]
    )
    def test_schema_refuses_what_lacks_a_part(self, path: tuple[Any, ...]) -> None:
        value = as_json(explained(ONE, at=(300, 150), region=(0, 0, 9, 9)))
        *parents, last = path
        part = value
        for step in parents:
            part = part[step]
        del part[last]
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.Draft202012Validator(SCHEMA).validate(value)


class TestPicture:
    def test_marks(self) -> None:
        marks = list(marks_of(explained(ONE, at=(192, 96), region=(0, 0, 90, 90))))
        assert [mark.told for mark in marks] == [
            "the point 192,96",
            "detection 1: cat 0.75",
            "its anchor: small square, 264x264 of 300",
            "boxes that detection 1 removed: 1 of 1",
            "best box at the point that is not reported: dog 0.25, below threshold",
            "its anchor: small square",
            "the region",
            "best anchor for it, IoU 0.83",
            "best box for it that is not reported: aeroplane 0.00, below threshold",
            "its anchor: 1:2",
        ]

    def test_colours_are_where_the_boxes_are(self) -> None:
        picture = np.full((300, 600, 3), 128, np.uint8)
        picture.flags.writeable = False
        drawn = draw_explanation(picture, explained(ONE, at=(192, 96), region=(400, 100, 450, 150)))
        assert drawn.shape[1] == 600
        assert drawn.shape[0] > 300  # the legend
        for colour, (left, top, right, bottom) in (
            (DETECTION, (36, 18, 564, 282)),
            (REMOVED, (12, 6, 588, 294)),
            (MISSED, (30, 15, 354, 177)),
            (POINT, (182, 86, 202, 106)),
            (REGION, (400, 100, 450, 150)),
        ):
            ys, xs = np.nonzero((drawn[:300] == colour).all(axis=2))
            found = xs.min(), ys.min(), xs.max() + 1, ys.max() + 1
            assert len(xs) > 20
            if colour is not REGION:  # whose best anchor has this colour too
                assert found == pytest.approx((left, top, right, bottom), abs=4)
            assert (drawn[300:] == colour).all(axis=2).any()

    @pytest.mark.parametrize("size", [(1, 1), (40, 30), (3, 900), (2000, 1500)])
    def test_any_size(self, size: tuple[int, int]) -> None:
        width, height = size
        picture = np.full((height, width, 3), 50, np.uint8)
        drawn = draw_explanation(picture, explained(ONE, size, at=(width / 2, height / 2)))
        assert max(drawn.shape) >= 600
        assert (drawn == DETECTION).all(axis=2).any()
