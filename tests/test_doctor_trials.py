"""What the doctor's child process proves: operations on devices, encoders, fonts. All of it really runs, on the CPU."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest
import tensorflow as tf

from ssd_detect.doctor.child import Child
from ssd_detect.doctor.device_trial import KnownOperation, known_operations, try_devices, try_operation
from ssd_detect.doctor.facts import DeviceTrial, Failure, Tried
from ssd_detect.doctor.failures import failure_of
from ssd_detect.doctor.video_trial import attempted, try_encoder, try_encoders, try_font, try_fonts
from ssd_detect.errors import DeviceError, OutputError, SettingError, VideoError
from ssd_detect.media.video.encoding import CODECS, CONTAINERS

# ---------------------------------------------------------------- devices


def test_every_operation_works_on_the_cpu() -> None:
    trial = try_devices()[0]
    assert trial.name == "CPU:0"
    assert [operation.name for operation in trial.operations] == ["multiply", "matmul", "convolution", "nms"]
    assert trial.works
    for operation in trial.operations:
        assert operation.first_seconds is not None
        assert operation.second_seconds is not None
        assert 0 < operation.second_seconds < 5


def test_expected_results_are_those_of_numpy_alone() -> None:
    """A convolution by loops, and integers small enough for TF32, whose mantissa has 10 bits."""
    by_name = {operation.name: operation for operation in known_operations()}
    rows = np.arange(32 * 32).reshape(32, 32) % 7
    convolution = by_name["convolution"].expected
    assert convolution.shape == (1, 30, 30, 8)
    assert all(convolution[0, y, x, 3] == rows[y : y + 3, x : x + 3].sum() * 8 for y in range(30) for x in range(30))
    for operation in by_name.values():
        assert np.array_equal(operation.expected, operation.expected.astype(int))
        assert operation.expected.max() < 2**10


MULTIPLY = known_operations()[0]


def raised(error: Exception) -> Any:
    def run() -> Any:
        raise error

    return run


def on_cpu() -> Any:
    with tf.device("/CPU:0"):
        return tf.constant([1.0])


INVALID_PTX = tf.errors.InternalError(None, None, "'cuLaunchKernel' failed with 'CUDA_ERROR_INVALID_PTX'")
BAD_OPERATIONS = {
    "raises": (
        KnownOperation("x", raised(INVALID_PTX), None),
        "InternalError: 'cuLaunchKernel' failed with 'CUDA_ERROR_INVALID_PTX'",
    ),
    "one number": (
        replace(MULTIPLY, expected=MULTIPLY.expected + np.eye(32)),
        "wrong result: 32 of 1024 numbers differ",
    ),
    "not a number": (
        KnownOperation("x", lambda: tf.constant([1.0, np.nan]), np.array([1.0, 2.0])),
        "wrong result: 1 of 2 numbers differ",
    ),
    "another shape": (
        KnownOperation("x", lambda: tf.constant([1.0]), np.array([1.0, 1.0])),
        "wrong result: shape (1,), expected (2,)",
    ),
}


@pytest.mark.parametrize(("operation", "detail"), BAD_OPERATIONS.values(), ids=BAD_OPERATIONS.keys())
def test_what_goes_wrong_is_a_failure(
    operation: KnownOperation, detail: str, capsys: pytest.CaptureFixture[str]
) -> None:
    tried = try_operation(operation, "CPU:0")
    assert tried.name == operation.name
    assert tried.failure == Failure("error", detail)
    assert ("Traceback" in capsys.readouterr().err) == (tried.first_seconds is None)


def test_an_operation_that_runs_elsewhere_proves_nothing() -> None:
    elsewhere = KnownOperation("x", on_cpu, np.array([1.0]))
    tried = try_operation(elsewhere, "GPU:0")
    assert tried.failure == Failure("error", "TensorFlow ran it on CPU:0 instead")
    assert try_operation(replace(elsewhere, stays=False), "GPU:0").failure is None


@pytest.mark.parametrize(
    ("error", "failure"),
    [
        (ModuleNotFoundError("No module named 'x'", name="x"), Failure("missing", "x")),
        (ImportError("DLL load failed"), Failure("error", "ImportError: DLL load failed")),
        (SystemExit(3), Failure("exited", "3")),
        (DeviceError("no GPU"), Failure("error", "no GPU")),
    ],
)
def test_exceptions_as_failures(error: BaseException, failure: Failure) -> None:
    assert failure_of(error) == failure


# ---------------------------------------------------------------- encoders and fonts


def test_every_encoder_that_video_offers_encodes() -> None:
    tried = {each.name: each.failure for each in try_encoders()}
    offered = [*dict.fromkeys(CODECS.values()), "gif"]
    assert list(tried)[: len(offered)] == offered
    assert {name: tried[name] for name in offered} == dict.fromkeys(offered)
    assert {container.encoder for container in CONTAINERS.values()} <= {*offered, "png"}


def test_failing_encoders_of_hardware_name_no_folder() -> None:
    failing = [each for each in try_encoders() if each.failure]
    for each in failing:
        assert each.failure is not None
        assert each.failure.detail.startswith(f"{each.name}.mp4: the encoder {each.name} does not work here")


@pytest.mark.parametrize(
    ("encoder", "suffixes"),
    [
        ("libx264", ".avi .m4v .mkv .mov .mp4"),
        ("libvpx-vp9", ".webm"),
        ("gif", ".gif"),
        ("mjpeg", ".avi"),
        ("libx265", ".mp4"),
    ],
)
def test_files_are_of_every_kind_that_the_encoder_is_for(encoder: str, suffixes: str, tmp_path: Path) -> None:
    try_encoder(encoder, tmp_path)
    assert sorted(path.suffix for path in tmp_path.iterdir()) == suffixes.split()
    for path in tmp_path.iterdir():
        with av.open(str(path)) as container:
            assert container.streams.video[0].codec_context.width == 256


def test_bad_encoders(tmp_path: Path) -> None:
    with pytest.raises(SettingError, match="no such encoder"):
        try_encoder("nonsense", tmp_path)
    (tmp_path / "file").touch()
    with pytest.raises(OutputError):
        try_encoder("gif", tmp_path / "file")


def test_a_wrong_colour_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from ssd_detect.doctor import video_trial

    write = video_trial._write
    monkeypatch.setattr(video_trial, "_write", lambda path, pixels, encoder: write(path, pixels[..., ::-1], encoder))
    with pytest.raises(VideoError, match=r"ffv1\.mkv: a colour that was read back is 160 of 255 off"):
        try_encoder("ffv1", tmp_path)


def test_fonts_that_ship_draw() -> None:
    fonts = try_fonts()
    assert Tried("DejaVuSans.ttf") in fonts
    assert not [font for font in fonts if font.failure]


def test_bad_fonts(tmp_path: Path) -> None:
    (tmp_path / "damaged.ttf").write_bytes(b"\0\1\0\0" + bytes(100))
    for name in ("damaged.ttf", "missing.ttf"):
        with pytest.raises(OSError):  # noqa: PT011  # Pillow and FreeType word it
            try_font(tmp_path / name)


# ---------------------------------------------------------------- through the child process


def test_the_child_answers() -> None:
    with Child("cpu") as child:
        devices, encoders, fonts = (child.ask(question, 120) for question in ("devices", "encoders", "fonts"))
    assert [DeviceTrial.from_json(trial).works for trial in devices] == [True]
    assert Tried.from_json(encoders[0]) == Tried("libx264")
    assert "Traceback" not in child.log
    assert "Svt[" not in child.log
    assert Tried.from_json(fonts[0]) == Tried("DejaVuSans.ttf")


def test_hardware_that_is_not_there_is_no_news(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    def fail() -> None:
        raise VideoError("no such device")

    for name, is_told in (("h264_nvenc", False), ("av1_qsv", False), ("libx264", True)):
        assert attempted(name, fail, tmp_path).failure == Failure("error", "no such device")
        assert ("Traceback" in capfd.readouterr().err) == is_told
