"""What goes together: engine, precision, device."""

import re
from pathlib import Path

import pytest

from ssd_detect.batch.settings import JobSettings
from ssd_detect.conventions import Arithmetic, EngineName
from ssd_detect.engines.calibration import calibration_id
from ssd_detect.engines.support import PRECISIONS, candidates, check_supported
from ssd_detect.errors import SettingError
from ssd_detect.media.video.sources.settings import SourceSettings
from ssd_detect.settings import (
    CheckpointSettings,
    DetectionSettings,
    Device,
    EncodingSettings,
    Selection,
    SessionSettings,
)
from ssd_detect.videos.settings import Products, VideoJobSettings

TENSORFLOW, ONNXRUNTIME, OPENVINO, OPENCV, AUTO = EngineName


def settings(engine: EngineName, precision: str = "float32", device: str = "auto") -> SessionSettings:
    return SessionSettings(Device.parse(device), engine=engine, precision=Arithmetic(precision))


@pytest.mark.parametrize("engine", EngineName)
@pytest.mark.parametrize("device", ["auto", "cpu"])
def test_float32_is_for_all(engine: EngineName, device: str) -> None:
    check_supported(settings(engine, device=device))


@pytest.mark.parametrize(
    ("engine", "precision", "device", "message"),
    [
        (TENSORFLOW, "int8", "auto", "tensorflow does not compute with int8, .*; int8 is computed by onnxruntime"),
        (ONNXRUNTIME, "fp16", "auto", "onnxruntime does not compute with fp16, .*; fp16 is computed by tensorflow"),
        (OPENVINO, "tf32", "auto", "openvino does not compute with tf32, expected one of float32, bf16, int8"),
        (OPENCV, "bf16", "cpu", "opencv does not compute with bf16, expected one of float32; bf16 is computed by"),
        (OPENVINO, "float32", "gpu:1", "openvino runs on the CPU only, not on device gpu:1"),
        (OPENCV, "float32", "gpu", "opencv runs on the CPU only, not on device gpu:0"),
        (ONNXRUNTIME, "int8", "gpu", "onnxruntime computes with int8 on the CPU only"),
        (TENSORFLOW, "tf32", "cpu", "tensorflow computes with tf32 on GPUs only, not on the CPU; tf32 is computed by"),
        (TENSORFLOW, "fp16", "cpu", r"on GPUs only, not on the CPU; fp16 is computed by tensorflow \(on GPUs only\)$"),
        (ONNXRUNTIME, "tf32", "cpu", "onnxruntime computes with tf32 on GPUs only, not on the CPU"),
        (AUTO, "int8", "gpu", "no engine computes with int8 on device gpu:0; int8 is computed by"),
        (AUTO, "tf32", "cpu", "no engine computes with tf32 on the CPU; tf32 is computed by tensorflow"),
        (AUTO, "fp16", "cpu", "no engine computes with fp16 on the CPU"),
    ],
)
def test_refused(engine: EngineName, precision: str, device: str, message: str) -> None:
    with pytest.raises(SettingError, match=message) as caught:
        check_supported(settings(engine, precision, device))
    assert "\n" not in str(caught.value)


def test_calibration_is_for_int8(tmp_path: Path) -> None:
    with pytest.raises(SettingError, match="calibration pictures are for precision int8, and float32 needs none"):
        check_supported(SessionSettings(engine=OPENVINO, calibration=tmp_path))
    check_supported(SessionSettings(engine=OPENVINO, precision=Arithmetic.INT8, calibration=tmp_path))


@pytest.mark.parametrize(
    ("precision", "device", "engines"),
    [
        ("float32", "auto", {TENSORFLOW, ONNXRUNTIME, OPENVINO, OPENCV}),
        ("float32", "gpu", {TENSORFLOW, ONNXRUNTIME}),
        ("bf16", "cpu", {TENSORFLOW, OPENVINO}),
        ("int8", "auto", {ONNXRUNTIME, OPENVINO}),
        ("int8", "gpu", set()),
        ("fp16", "gpu", {TENSORFLOW}),
        ("fp16", "cpu", set()),
        ("tf32", "auto", {TENSORFLOW, ONNXRUNTIME}),
    ],
)
def test_candidates(precision: str, device: str, engines: set[EngineName]) -> None:
    assert {*candidates(settings(AUTO, precision, device))} == engines


@pytest.mark.parametrize("precision", Arithmetic)
def test_every_precision_is_somebodys(precision: Arithmetic) -> None:
    able = [engine for engine, known in PRECISIONS.items() if precision in known]
    assert able
    unable = next((engine for engine in PRECISIONS if engine not in able), None)
    if unable is not None:
        with pytest.raises(SettingError, match=re.escape(able[0].value)):
            check_supported(SessionSettings(engine=unable, precision=precision))


class TestThatShapeResults:
    """What two runs must share if the one is to go on with the other."""

    def test_no_engine_does_in_float32(self) -> None:
        assert {str(SessionSettings(engine=engine).that_shape_results()) for engine in EngineName} == {"{}"}

    def test_fewer_bits_do(self, tmp_path: Path) -> None:
        int8 = Arithmetic.INT8
        chosen = [
            SessionSettings(),
            SessionSettings(precision=Arithmetic.BF16, engine=OPENVINO),
            SessionSettings(precision=int8, engine=OPENVINO),
            SessionSettings(precision=int8, engine=ONNXRUNTIME),
            SessionSettings(precision=int8, engine=ONNXRUNTIME, calibration=tmp_path),
        ]
        assert len({str(one.that_shape_results()) for one in chosen}) == len(chosen)

    @pytest.mark.parametrize("kind", ["pictures", "videos"])
    def test_runs_with_other_numbers_are_not_joined(self, kind: str) -> None:
        bf16 = SessionSettings(engine=OPENVINO, precision=Arithmetic.BF16)
        chosen = [str(job(kind, one).that_shape_results()) for one in (SessionSettings(), bf16)]
        others = [SessionSettings(Device("cpu")), SessionSettings(engine=OPENCV), SessionSettings(intra_op_threads=1)]
        assert chosen[0] != chosen[1]
        assert {str(job(kind, one).that_shape_results()) for one in others} == {chosen[0]}


def job(kind: str, session: SessionSettings) -> JobSettings | VideoJobSettings:
    shared = (CheckpointSettings("any"), DetectionSettings(), 4)
    if kind == "pictures":
        return JobSettings(*shared, session=session)
    return VideoJobSettings(*shared, Products(), SourceSettings(), Selection(), EncodingSettings(), session=session)


def test_calibration_pictures_are_told_apart(tmp_path: Path) -> None:
    known = {calibration_id(None), calibration_id(tmp_path)}
    for path in (tmp_path / "a.jpg", tmp_path / "below" / "b.jpg"):
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(b"x")
        known.add(calibration_id(tmp_path))
    (tmp_path / "a.jpg").write_bytes(b"longer")
    known.add(calibration_id(tmp_path))
    assert len(known) == 5
    assert calibration_id(tmp_path) in known
