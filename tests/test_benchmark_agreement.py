"""Whether two engines say the same: with outputs that do, and with outputs that do not."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ssd_detect.benchmark.agreement import PictureOutputs, agreement, read_outputs, write_outputs
from ssd_detect.benchmark.comparing import contenders
from ssd_detect.conventions import Arithmetic, EngineName
from ssd_detect.detections import Detections
from ssd_detect.settings import SessionSettings
from tests.test_benchmark_samples import chosen

SCORES = np.array([[0.1, 0.9], [0.8, 0.2]], np.float32)
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
    return [PictureOutputs(np.array(scores, np.float32), found)]


class TestAgreement:
    def test_the_same(self) -> None:
        found = agreement(outputs(), outputs(), exact=True)
        assert (found.score_difference, found.same_detections, found.agrees) == (0.0, True, True)

    def test_nothing_found_by_either(self) -> None:
        assert agreement(outputs(objects=[]), outputs(objects=[]), exact=True).agrees is True

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
            found = agreement(one, two, exact=True)
            assert found.score_difference == 0.0
            assert (found.same_detections, found.agrees) == (False, False)

    def test_equal_scores_in_another_order(self) -> None:
        assert agreement(outputs(), outputs(objects=[OBJECTS[i] for i in (1, 0, 2)]), exact=True).agrees is True

    @pytest.mark.parametrize(("difference", "agrees"), [(5e-5, True), (2e-4, False)])
    def test_other_scores(self, difference: float, agrees: bool) -> None:
        found = agreement(outputs(), outputs(SCORES + np.float32(difference)), exact=True)
        assert found.score_difference == pytest.approx(difference, rel=0.01)
        assert found.agrees is agrees

    @pytest.mark.parametrize("scores", [SCORES[:1], np.where(SCORES > 0.85, np.nan, SCORES)])
    def test_no_numbers_or_another_shape(self, scores: Any) -> None:
        found = agreement(outputs(), outputs(scores), exact=True)
        assert found.score_difference == float("inf")
        assert found.agrees is False

    def test_other_arithmetic_is_told_and_not_judged(self) -> None:
        found = agreement(outputs(), outputs(SCORES + np.float32(0.05), OBJECTS[:1]), exact=False)
        assert found.score_difference == pytest.approx(0.05)
        assert (found.same_detections, found.agrees) == (False, None)

    def test_there_and_back(self, tmp_path: Path) -> None:
        path = tmp_path / "outputs.npz"
        many = [*outputs(), *outputs(objects=[])]
        write_outputs(path, many)
        back = read_outputs(path)
        assert agreement(many, back, exact=True).agrees is True
        assert [one.found.size for one in back] == [(100, 100)] * 2
        assert back[0].found.class_names == NAMES


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
