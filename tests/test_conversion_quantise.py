"""Kernels in fewer bits: the arithmetic, and the files."""

from pathlib import Path
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from safetensors import safe_open

from ssd_detect.arrays import Floats
from ssd_detect.errors import CheckpointError, SettingError
from ssd_detect.model.checkpoint import load_checkpoint
from ssd_detect.model.conversion.convert import convert
from ssd_detect.model.conversion.quantise import quantise_int8, stored_tensors
from ssd_detect.model.conversion.settings import ConvertSettings, FileFormat, Precision
from ssd_detect.model.manifest import checkpoints_folder
from ssd_detect.settings import CheckpointSettings

pytestmark = pytest.mark.usefixtures("source_kept_open")

KERNELS = hnp.arrays(
    np.float32,
    hnp.array_shapes(min_dims=4, max_dims=4, max_side=4),
    elements=st.floats(-1e6, 1e6, width=32, allow_subnormal=False),
)


class TestInt8:
    def test_zeros(self) -> None:
        stored, scales = quantise_int8(np.zeros((3, 3, 2, 2), np.float32))
        assert not stored.any()
        assert scales.tolist() == [1.0, 1.0]

    def test_known_numbers(self) -> None:
        kernel = np.array([[-2.0, 0.5], [1.0, 0.25]], np.float32).reshape(1, 1, 2, 2)
        stored, scales = quantise_int8(kernel)
        assert stored.reshape(2, 2).tolist() == [[-127, 127], [64, 64]]  # 63.5 becomes the even one
        np.testing.assert_allclose(scales, [2 / 127, 0.5 / 127], rtol=1e-6)

    @given(KERNELS)
    def test_at_most_half_a_step_off(self, kernel: Floats) -> None:
        stored, scales = quantise_int8(kernel)
        assert (stored.dtype.name, scales.dtype.name, scales.shape) == ("int8", "float32", kernel.shape[-1:])
        assert np.abs(stored.astype(np.int16)).max() <= 127
        error = np.abs(stored * scales.astype(np.float64) - kernel)
        too_small = 127 * np.finfo(np.float32).tiny  # for a scale of its own
        assert (error <= scales * 0.5001 + too_small).all()

    @given(KERNELS)
    def test_a_second_time_changes_nothing(self, kernel: Floats) -> None:
        stored, scales = quantise_int8(kernel)
        again, _ = quantise_int8(stored * scales)
        assert np.array_equal(again, stored)

    @given(KERNELS, st.randoms(use_true_random=False))
    def test_channels_do_not_know_of_each_other(self, kernel: Floats, random: Random) -> None:
        order = list(range(kernel.shape[-1]))
        random.shuffle(order)
        stored, scales = quantise_int8(kernel)
        shuffled, shuffled_scales = quantise_int8(kernel[..., order])
        assert np.array_equal(shuffled, stored[..., order])
        assert np.array_equal(shuffled_scales, scales[order])


VARIABLES = {"conv/weights": np.full((1, 1, 2, 2), 0.1, np.float32), "conv/biases": np.full(2, 0.1, np.float32)}


class TestStored:
    @pytest.mark.parametrize(
        ("precision", "kinds"),
        [
            (Precision.FLOAT32, {"conv/weights": "float32", "conv/biases": "float32"}),
            (Precision.FLOAT16, {"conv/weights": "float16", "conv/biases": "float32"}),
            (
                Precision.INT8,
                {"conv/weights": "int8", "conv/weights/scale": "float32", "conv/biases": "float32"},
            ),
        ],
    )
    def test_kernels_only(self, precision: Precision, kinds: dict[str, str]) -> None:
        stored = stored_tensors(VARIABLES, precision)
        assert {name: values.dtype.name for name, values in stored.items()} == kinds

    def test_nothing(self) -> None:
        assert stored_tensors({}, Precision.INT8) == {}

    def test_too_large_for_float16(self) -> None:
        with pytest.raises(CheckpointError, match=r"conv/weights holds 70000, more than float16 can .*--precision"):
            stored_tensors({"conv/weights": np.full((1, 1, 1, 1), -7e4, np.float32)}, Precision.FLOAT16)

    @pytest.mark.parametrize("file_format", [FileFormat.TENSORFLOW, FileFormat.ONNX, FileFormat.SAVED_MODEL])
    def test_other_formats_have_float32_only(self, file_format: FileFormat) -> None:
        with pytest.raises(SettingError, match=r"precision int8 is for \.safetensors files only"):
            ConvertSettings(CheckpointSettings("a"), Path("b"), file_format, Precision.INT8)


class TestFiles:
    def converted(self, tmp_path: Path, precision: Precision) -> Path:
        target = tmp_path / f"{precision.value}.safetensors"
        settings = ConvertSettings(
            CheckpointSettings("ssd_300_vgg_voc"), target, FileFormat.SAFETENSORS, precision=precision
        )
        report = convert(settings)
        assert report.num_bytes == target.stat().st_size
        return target

    def test_int8_is_small_and_the_shipped_file_again(self, tmp_path: Path) -> None:
        target = self.converted(tmp_path, Precision.INT8)
        assert target.stat().st_size <= 27_000_000
        shipped = checkpoints_folder() / "ssd_300_vgg_voc.int8.safetensors"
        with safe_open(target, framework="numpy") as ours, safe_open(shipped, framework="numpy") as theirs:
            assert set(ours.keys()) == set(theirs.keys())
            for name in theirs.keys():  # noqa: SIM118
                mine, other = ours.get_tensor(name), theirs.get_tensor(name)
                assert mine.dtype == other.dtype
                np.testing.assert_allclose(mine, other, rtol=1e-6, err_msg=name)
            assert ours.metadata()["quantised"] == theirs.metadata()["quantised"]

    def test_float16(self, tmp_path: Path) -> None:
        target = self.converted(tmp_path, Precision.FLOAT16)
        assert 52_000_000 < target.stat().st_size < 53_000_000
        source = load_checkpoint(CheckpointSettings("ssd_300_vgg_voc")).variables
        read = load_checkpoint(CheckpointSettings(str(target))).variables
        for name, values in source.items():
            expected = values.astype(np.float16).astype(np.float32) if values.ndim == 4 else values
            assert np.array_equal(read[name], expected), name
