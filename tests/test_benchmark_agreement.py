"""Whether two engines say the same: with outputs that do, and with outputs that do not."""

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ssd_detect.benchmark.agreement import PictureOutputs, agreement, read_outputs, write_outputs
from ssd_detect.benchmark.comparing import contenders
from ssd_detect.benchmark.list_ends import list_ends
from ssd_detect.boxes.profiles import resolved
from ssd_detect.conventions import Arithmetic, EngineName, Profile
from ssd_detect.detections import Detections
from ssd_detect.settings import DetectionSettings, SessionSettings
from tests.test_benchmark_samples import chosen

SCORES = np.array([[0.1, 0.9, 0.0], [0.8, 0.2, 0.0]], np.float32)
NAMES = ("background", "cat", "dog")
OBJECTS = [(0.9, 1, (10, 10, 50, 60)), (0.9, 1, (60, 10, 90, 60)), (0.7, 2, (0, 0, 100, 100))]


def outputs(scores: Any = SCORES, objects: Any = OBJECTS) -> list[PictureOutputs]:
    values, classes, boxes = zip(*objects, strict=True) if objects else ((), (), ())
    found = Detections(
        boxes=np.array(boxes, np.float32).reshape(-1, 4),
        scores=np.array(values, np.float32),
        class_ids=np.array(classes, np.int64),
        size=(100, 100),
        class_names=NAMES,
    )
    return [PictureOutputs(np.array(scores, np.float32), found, np.full(len(NAMES), 0.5, np.float32))]


agree = partial(agreement, settings=DetectionSettings())


class TestAgreement:
    def test_the_same(self) -> None:
        found = agree(outputs(), outputs(), exact=True)
        assert (found.score_difference, found.same_detections, found.agrees) == (0.0, True, True)

    def test_nothing_found_by_either(self) -> None:
        assert agree(outputs(objects=[]), outputs(objects=[]), exact=True).agrees is True

    @pytest.mark.parametrize(
        "objects",
        [
            [],
            OBJECTS[:2],
            [*OBJECTS, (0.6, 2, (5, 5, 9, 9))],
            [OBJECTS[0], OBJECTS[0], OBJECTS[2]],  # the second one twice
            [*OBJECTS[:2], (0.7, 1, (0, 0, 100, 100))],  # another class
            [*OBJECTS[:2], (0.7, 2, (0, 0, 100, 99))],  # another box
            [*OBJECTS[:2], (0.701, 2, (0, 0, 100, 100))],  # another score
        ],
    )
    def test_other_detections(self, objects: Any) -> None:
        for one, two in ((outputs(), outputs(objects=objects)), (outputs(objects=objects), outputs())):
            found = agree(one, two, exact=True)
            assert found.score_difference == 0.0
            assert (found.same_detections, found.agrees) == (False, False)

    def test_equal_scores_in_another_order(self) -> None:
        assert agree(outputs(), outputs(objects=[OBJECTS[i] for i in (1, 0, 2)]), exact=True).agrees is True

    @pytest.mark.parametrize(("difference", "agrees"), [(5e-5, True), (2e-4, False)])
    def test_other_scores(self, difference: float, agrees: bool) -> None:
        found = agree(outputs(), outputs(SCORES + np.float32(difference)), exact=True)
        assert found.score_difference == pytest.approx(difference, rel=0.01)
        assert found.agrees is agrees

    @pytest.mark.parametrize("scores", [SCORES[:1], np.where(SCORES > 0.85, np.nan, SCORES)])
    def test_no_numbers_or_another_shape(self, scores: Any) -> None:
        found = agree(outputs(), outputs(scores), exact=True)
        assert found.score_difference == float("inf")
        assert found.agrees is False

    def test_other_arithmetic_is_told_and_not_judged(self) -> None:
        found = agree(outputs(), outputs(SCORES + np.float32(0.05), OBJECTS[:1]), exact=False)
        assert found.score_difference == pytest.approx(0.05)
        assert (found.same_detections, found.agrees) == (False, None)

    def test_a_toss_up_between_two_anchors(self) -> None:
        """Each engine prefers another of two boxes that overlap, and that have nearly equal scores."""
        scores = [[0.1, 0.9, 0.0], [0.1, 0.8, 0.0]]
        near = [[0.1, 0.9, 0.0], [0.1, 0.89995, 0.0]]
        one, two = [(0.9, 1, (0, 0, 50, 50))], [(0.89995, 1, (10, 0, 60, 50))]
        assert agree(outputs(near, one), outputs(near, two), exact=True).agrees is True
        assert agree(outputs(near, two), outputs(near, one), exact=True).agrees is True
        assert agree(outputs(scores, one), outputs(scores, two), exact=True).same_detections is False  # one anchor
        clearly = [(0.8, 1, (10, 0, 60, 50))]
        assert agree(outputs(scores, one), outputs(scores, clearly), exact=True).same_detections is False
        dog = [(0.8999, 2, (10, 0, 60, 50))]
        both = [[0.1, 0.9, 0.8999], [0.1, 0.8, 0.0]]
        assert agree(outputs(both, one), outputs(both, dog), exact=True).same_detections is False
        across = DetectionSettings(class_agnostic=True)
        assert agreement(outputs(both, one), outputs(both, dog), across, exact=True).same_detections is True

    @pytest.mark.parametrize(("score", "agrees"), [(0.5001, True), (0.5003, False)])
    def test_a_score_beside_the_threshold(self, score: float, agrees: bool) -> None:
        for pair in (
            (OBJECTS, [*OBJECTS, (score, 1, (0, 70, 9, 90))]),
            ([*OBJECTS, (score, 2, (0, 70, 9, 90))], OBJECTS),
        ):
            assert agree(*(outputs(objects=objects) for objects in pair), exact=True).agrees is agrees

    def test_there_and_back(self, tmp_path: Path) -> None:
        path = tmp_path / "outputs.npz"
        many = [*outputs(), *outputs(objects=[])]
        write_outputs(path, many)
        back = read_outputs(path)
        assert agree(many, back, exact=True).agrees is True
        assert [one.found.size for one in back] == [(100, 100)] * 2
        assert [one.ends.tolist() for one in back] == [[0.5] * 3] * 2
        assert back[0].found.class_names == NAMES


class TestListEnds:
    """Three classes and the background; the threshold is 0.5."""

    SCORES = np.array([[0.9, 0.1 * i, 0.8, 0.9 - 0.1 * i] for i in range(10)], np.float32)

    @pytest.mark.parametrize(
        ("changes", "expected"),
        [
            ({"profile": Profile.CAFFE}, [0.5] * 3),
            ({"profile": Profile.CAFFE, "class_thresholds": (("dog", 0.7),)}, [0.5, 0.7, 0.5]),
            ({"profile": Profile.CAFFE, "top_k": 10}, [0.5] * 3),  # all find room
            ({"profile": Profile.CAFFE, "top_k": 2}, [0.8, 0.8, 0.8]),  # of each class
            ({"profile": Profile.TUTORIAL, "top_k": 2}, [0.9] * 3),  # of all: 0.9 twice
            ({"profile": Profile.TUTORIAL, "top_k": 12}, [0.8] * 3),
            ({"profile": Profile.CAFFE, "max_detections": 3}, [0.6] * 3),
            ({"profile": Profile.CAFFE, "max_detections": 4}, [0.5] * 3),
        ],
    )
    def test_table(self, changes: Any, expected: list[float]) -> None:
        names = ("background", "cat", "dog", "cow")
        boxes = np.array([[0, 0, 9, 9], [20, 0, 29, 9], [40, 0, 49, 9]], np.float32)
        found = Detections(boxes, np.array([0.9, 0.8, 0.6], np.float32), np.array([1, 1, 2]), (100, 100), names)
        settings = resolved(DetectionSettings(**changes), Profile.TUTORIAL)
        np.testing.assert_allclose(list_ends(self.SCORES, found, settings)[1:], expected, atol=1e-6)

    def test_nothing_found(self) -> None:
        settings = resolved(DetectionSettings(max_detections=1), Profile.REFERENCE_EVAL)
        found = Detections.empty((9, 9), NAMES)
        np.testing.assert_array_equal(list_ends(SCORES, found, settings), [0.5] * 3)

    def test_a_full_class(self) -> None:
        """Of which 200 leave the suppression in this profile."""
        count = 200
        boxes = np.array([[0, i, 9, i + 1] for i in range(count)], np.float32)
        values = np.linspace(0.99, 0.7, count).astype(np.float32)
        found = Detections(boxes, values, np.full(count, 2), (100, 300), NAMES)
        settings = resolved(DetectionSettings(), Profile.REFERENCE_EVAL)
        np.testing.assert_allclose(list_ends(SCORES, found, settings), [0.5, 0.5, 0.7])


def named(**session: Any) -> list[str]:
    settings = replace(chosen(), session=replace(chosen().session, **session))
    return [one.name for one in contenders(settings)]


class TestContenders:
    def test_all_engines(self) -> None:
        assert named(engine=EngineName.AUTO) == ["tensorflow", "onnxruntime", "openvino", "opencv"]

    def test_one_engine_beside_the_reference(self) -> None:
        assert named() == ["tensorflow"]
        assert named(engine=EngineName.OPENVINO) == ["tensorflow", "openvino"]
        assert named(engine=EngineName.OPENVINO, precision=Arithmetic.BF16) == ["tensorflow", "openvino bf16"]

    def test_other_arithmetic_beside_the_reference_in_float32(self) -> None:
        assert named(engine=EngineName.AUTO, precision=Arithmetic.BF16) == [
            "tensorflow", "tensorflow bf16", "onnxruntime bf16", "openvino bf16", "opencv bf16",
        ]  # fmt: skip

    def test_the_same_choices_for_worker_and_command(self) -> None:
        session = SessionSettings(
            engine=EngineName.OPENVINO, precision=Arithmetic.INT8, calibration=Path("pictures"), intra_op_threads=2
        )
        typed = ("--threads", "2", "--engine", "openvino", "--calibrate", "pictures", "--precision", "int8")
        reference, other = contenders(replace(chosen(), session=session, options=typed))
        assert reference.settings.session == SessionSettings(intra_op_threads=2)
        assert other.settings.session == session
        assert reference.settings.options == (
            *typed[:4],
            *typed[6:],
            "--engine",
            "tensorflow",
            "--precision",
            "float32",
        )
        assert other.settings.options[-6:] == (*typed[2:4], *typed[6:], *typed[4:6])

    def test_all_have_the_same_threads(self) -> None:
        settings = replace(chosen(), session=SessionSettings(engine=EngineName.AUTO))
        counts = {one.settings.session.intra_op_threads for one in contenders(settings)}
        assert counts == {settings.most_threads}

    def test_one_that_is_not_open_says_nothing(self) -> None:
        assert contenders(chosen())[0].ask("peak") is None
