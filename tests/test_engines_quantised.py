"""int8: what becomes of the network, what it computes, and what it is calibrated with."""

import hashlib
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
import seeded
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from onnx import TensorProto, helper, numpy_helper
from PIL import Image

from ssd_detect.arrays import Floats
from ssd_detect.classes import VOC20
from ssd_detect.conventions import ResizeRule
from ssd_detect.engines.activation_ranges import Range, activation_ranges
from ssd_detect.engines.calibration import MOST_PICTURES
from ssd_detect.engines.qdq_nodes import quantise, quantised_tensors
from ssd_detect.engines.quantised import calibration_inputs, quantised_onnx
from ssd_detect.environment import import_untracked
from ssd_detect.errors import SettingError
from ssd_detect.model.conversion.outgoing import Outgoing
from ssd_detect.model.conversion.to_onnx import write_onnx
from ssd_detect.model.metadata import written_metadata
from ssd_detect.model.spec import ModelSpec
from ssd_detect.settings import SessionSettings

onnxruntime, openvino = map(import_untracked, ("onnxruntime", "openvino"))

OUTPUTS = ("scores", "offsets")
LARGEST = (0.45, 1.5)
"""Of any score and offset of seeded weights, at about one and a half times what was measured: 0.29 and 0.95."""
USUAL = (0.01, 0.16)
"""Root mean square, likewise: 0.0068 and 0.105."""
SPEC = ModelSpec(300, VOC20, "coco300", ResizeRule.ANTIALIAS)


def made_inputs(first: int, count: int) -> Iterator[Floats]:
    return (seeded.seeded_picture(i, 300, 300).astype(np.float32) for i in range(first, first + count))


def run_onnxruntime(path: Path, inputs: Floats) -> list[Floats]:
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    outputs: list[Floats] = session.run(OUTPUTS, {"pictures": inputs})
    return outputs


def run_openvino(path: Path, inputs: Floats) -> list[Floats]:
    compiled = openvino.Core().compile_model(str(path), "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
    found = compiled(inputs)
    return [np.array(found[name]) for name in OUTPUTS]


@pytest.fixture(scope="module")
def float_onnx(seeded_variables: dict[str, Any], tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("float") / "seeded.onnx"
    tensors = {name.removeprefix("ssd_300_vgg/"): values for name, values in seeded_variables.items()}
    write_onnx(target, Outgoing(SPEC, tensors, written_metadata(SPEC, {}, ())))
    return target


@pytest.fixture(scope="module")
def int8_onnx(float_onnx: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("int8") / "seeded.int8.onnx"
    quantised_onnx(float_onnx, target, made_inputs(0, 2))
    return target


@pytest.fixture(scope="module")
def expected(float_onnx: Path) -> list[Floats]:
    """Scores and offsets of pictures that the calibration has not seen."""
    return run_onnxruntime(float_onnx, np.stack([*made_inputs(10, 2)]))


class TestNetwork:
    @pytest.mark.parametrize("run", [run_onnxruntime, run_openvino])
    def test_computes_about_the_same(
        self, int8_onnx: Path, expected: list[Floats], run: Callable[[Path, Floats], list[Floats]]
    ) -> None:
        found = run(int8_onnx, np.stack([*made_inputs(10, 2)]))
        for one, other, largest, usual in zip(found, expected, LARGEST, USUAL, strict=True):
            assert (one.dtype, one.shape) == (np.dtype(np.float32), other.shape)
            difference = np.abs(one - other)
            assert 0 < difference.max() < largest
            assert np.sqrt(np.square(difference).mean()) < usual

    def test_every_convolution_but_the_first_takes_integers(self, int8_onnx: Path) -> None:
        graph = onnx.load(int8_onnx).graph
        made_by = {node.output[0]: node for node in graph.node}
        constants = {one.name: one for one in graph.initializer}
        first, *others = [node for node in graph.node if node.op_type == "Conv"]
        assert len(others) == 34
        assert made_by[first.input[0]].op_type == "Transpose"
        assert constants[first.input[1]].data_type == TensorProto.FLOAT
        for conv in others:
            picture, kernel, biases = (made_by[name] for name in conv.input)
            assert {one.op_type for one in (picture, kernel, biases)} == {"DequantizeLinear"}
            assert constants[picture.input[2]].data_type == TensorProto.UINT8
            assert constants[kernel.input[0]].data_type == TensorProto.INT8
            assert constants[biases.input[0]].data_type == TensorProto.INT32
            assert constants[kernel.input[1]].dims == [constants[kernel.input[0]].dims[0]]  # a scale a channel

    def test_onnxruntime_computes_all_but_first_and_heads_in_integers(self, int8_onnx: Path, tmp_path: Path) -> None:
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 3
        options.optimized_model_filepath = str(tmp_path / "optimised.onnx")
        onnxruntime.InferenceSession(str(int8_onnx), options, providers=["CPUExecutionProvider"])
        kinds = [node.op_type for node in onnx.load(tmp_path / "optimised.onnx").graph.node]
        assert kinds.count("QLinearConv") == 22

    def test_openvino_computes_all_but_the_first_in_integers(self, int8_onnx: Path) -> None:
        compiled = openvino.Core().compile_model(str(int8_onnx), "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
        told = [node.get_rt_info() for node in compiled.get_runtime_model().get_ops()]
        kinds, precisions = ([one[what].astype(str) for one in told] for what in ("layerType", "runtimePrecision"))
        of_convolutions = [one for kind, one in zip(kinds, precisions, strict=True) if kind == "Convolution"]
        assert sorted(of_convolutions) == ["f32", *["u8"] * 34]

    def test_is_a_quarter_of_the_size(self, float_onnx: Path, int8_onnx: Path) -> None:
        assert int8_onnx.stat().st_size < 0.26 * float_onnx.stat().st_size < 30e6

    def test_metadata_stays(self, float_onnx: Path, int8_onnx: Path) -> None:
        before, after = (onnx.load(path).metadata_props for path in (float_onnx, int8_onnx))
        assert list(before) == list(after) != []

    def test_same_inputs_make_the_same_file_in_any_process(
        self, float_onnx: Path, int8_onnx: Path, tmp_path: Path
    ) -> None:
        target = tmp_path / "again.onnx"
        script = (
            "import sys; from pathlib import Path; sys.path[:0] = sys.argv[3:]\n"
            "from tests.test_engines_quantised import made_inputs, quantised_onnx\n"
            "quantised_onnx(Path(sys.argv[1]), Path(sys.argv[2]), made_inputs(0, 2))\n"
        )
        root = Path(__file__).parent.parent
        paths = [str(path) for path in (float_onnx, target, root, root / "tests" / "golden")]
        subprocess.run([sys.executable, "-c", script, *paths], check=True)
        assert hashlib.sha256(target.read_bytes()).digest() == hashlib.sha256(int8_onnx.read_bytes()).digest()

    def test_without_pictures(self, float_onnx: Path, tmp_path: Path) -> None:
        with pytest.raises(SettingError, match="no picture to calibrate int8 with"):
            quantised_onnx(float_onnx, tmp_path / "none.onnx", ())
        assert list(tmp_path.iterdir()) == []

    def test_of_what_is_no_number(self, float_onnx: Path, tmp_path: Path) -> None:
        with pytest.raises(SettingError, match="no numbers"):
            quantised_onnx(float_onnx, tmp_path / "none.onnx", [np.full((300, 300, 3), np.nan, np.float32)])


def two_convolutions(kernel: Floats, biases: Floats) -> onnx.ModelProto:
    """Pictures pass the first one unchanged and unsigned; the second one has these weights, (O, 3, 1, 1) and (O,)."""
    nodes = [
        helper.make_node("Transpose", ["pictures"], ["x"], name="x", perm=[0, 3, 1, 2]),
        helper.make_node("Conv", ["x", "identity", "nothing"], ["y"], name="y"),
        helper.make_node("Conv", ["y", "kernel", "biases"], ["z"], name="z"),
    ]
    constants = {
        "identity": np.eye(3, dtype=np.float32).reshape(3, 3, 1, 1),
        "nothing": np.zeros(3, np.float32),
        "kernel": kernel,
        "biases": biases,
    }
    graph = helper.make_graph(
        nodes,
        "two",
        [helper.make_tensor_value_info("pictures", TensorProto.FLOAT, ["batch", 4, 4, 3])],
        [helper.make_tensor_value_info("z", TensorProto.FLOAT, ["batch", len(biases), 4, 4])],
        [numpy_helper.from_array(values, name) for name, values in constants.items()],
    )
    return helper.make_model(graph, ir_version=7, opset_imports=[helper.make_opsetid("", 13)])


def run_model(model: onnx.ModelProto, inputs: Floats) -> Floats:
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    (output,) = session.run(None, {"pictures": inputs})
    result: Floats = output
    return result


def quantised(model: onnx.ModelProto, inputs: Floats) -> onnx.ModelProto:
    quantise(model.graph, activation_ranges(model, quantised_tensors(model.graph), inputs))
    onnx.checker.check_model(model, full_check=True)
    return model


BLACK = np.zeros((1, 4, 4, 3), np.float32)
WHITE = np.full((1, 4, 4, 3), 255, np.float32)
NUMBERS = st.floats(-1e3, 1e3, width=32)


class TestNodes:
    def test_zeros(self) -> None:
        model = quantised(two_convolutions(np.zeros((2, 3, 1, 1), np.float32), np.zeros(2, np.float32)), BLACK)
        assert not run_model(model, BLACK).any()

    def test_bias_far_above_its_kernel(self) -> None:
        """Whose steps would be too many for 32 bits."""
        kernel, biases = np.full((1, 3, 1, 1), 1e-9, np.float32), np.array([1000], np.float32)
        assert run_model(quantised(two_convolutions(kernel, biases), WHITE), WHITE) == pytest.approx(1000)

    def test_ranges_of_all_inputs_count(self) -> None:
        model = two_convolutions(np.ones((1, 3, 1, 1), np.float32), np.zeros(1, np.float32))
        assert quantised_tensors(model.graph) == ("y",)
        assert activation_ranges(model, ("y",), BLACK) == {"y": Range(0, 0)}
        assert activation_ranges(model, ("y",), [*(BLACK - 3), *WHITE, *BLACK]) == {"y": Range(-3, 255)}
        assert activation_ranges(model, ("y",), WHITE) == {"y": Range(0, 255)}

    @settings(max_examples=30, deadline=None)
    @given(hnp.arrays(np.float32, (2, 3, 1, 1), elements=NUMBERS), hnp.arrays(np.float32, 2, elements=NUMBERS))
    def test_differs_by_half_steps(self, kernel: Floats, biases: Floats) -> None:
        inputs = np.random.default_rng(0).uniform(0, 255, (1, 4, 4, 3)).astype(np.float32)
        expected = run_model(two_convolutions(kernel, biases), inputs)
        found = run_model(quantised(two_convolutions(kernel, biases), inputs), inputs)
        largest = np.abs(kernel).max(axis=(1, 2, 3))  # (2,)
        of_input = 0.5 * 1.5 * 255 / 255 * np.abs(kernel).sum(axis=(1, 2, 3))
        of_kernel = 0.5 * largest / 127 * 3 * 1.5 * 255
        allowed = (of_input + of_kernel + 1e-5 * np.abs(biases) + 1e-3)[:, np.newaxis, np.newaxis]
        assert (np.abs(found - expected) <= allowed).all()


def save_grey(path: Path, grey: int) -> None:
    path.parent.mkdir(exist_ok=True)
    Image.new("RGB", (7, 5), (grey, grey, grey)).save(path)


def inputs_of(folder: Path | None) -> list[Any]:
    return list(calibration_inputs(SessionSettings(calibration=folder), SPEC))


class TestPictures:
    def test_shipped(self) -> None:
        found = inputs_of(None)
        assert len(found) == 24
        assert {(one.dtype, one.shape) for one in found} == {(np.dtype(np.float32), (300, 300, 3))}
        assert min(one.min() for one in found) >= 0
        assert max(one.max() for one in found) <= 255 + 1e-3  # the weights of a filter add up to about 1
        assert len({one.tobytes() for one in found}) == 24

    def test_no_folder(self, tmp_path: Path) -> None:
        with pytest.raises(SettingError, match="gone: is no folder, expected one of pictures"):
            calibration_inputs(SessionSettings(calibration=tmp_path / "gone"), SPEC)

    @pytest.mark.parametrize("names", [(), ("notes.txt",)])
    def test_folder_without_pictures(self, tmp_path: Path, names: tuple[str, ...]) -> None:
        for name in names:
            (tmp_path / name).write_text("no picture")
        with pytest.raises(SettingError, match=r"picture.*int8 is calibrated with"):
            calibration_inputs(SessionSettings(calibration=tmp_path), SPEC)

    def test_damaged_picture(self, tmp_path: Path) -> None:
        (tmp_path / "broken.png").write_bytes(b"no picture")
        with pytest.raises(SettingError, match=r"no picture of the folder .* can be read") as caught:
            inputs_of(tmp_path)
        assert "broken.png" in str(caught.value.__cause__)
        save_grey(tmp_path / "whole.png", 7)
        told: list[str] = []
        inputs = list(calibration_inputs(SessionSettings(calibration=tmp_path), SPEC, told.append))
        assert [one.mean() for one in inputs] == [7]
        (note,) = told
        assert "broken.png" in note
        assert note.endswith("; int8 is calibrated without it")

    def test_folder_in_the_order_of_names(self, tmp_path: Path) -> None:
        for name, grey in (("b.png", 2), ("a/z.png", 1), ("c.png", 3)):
            save_grey(tmp_path / name, grey)
        assert [one.mean() for one in inputs_of(tmp_path)] == [1, 2, 3]

    def test_many_are_thinned_evenly(self, tmp_path: Path) -> None:
        for i in range(2 * MOST_PICTURES):
            save_grey(tmp_path / f"{i:03}.png", i)
        greys = [round(float(one.mean())) for one in inputs_of(tmp_path)]
        assert (len(greys), greys[0], greys[-1]) == (MOST_PICTURES, 0, 2 * MOST_PICTURES - 1)
        assert set(np.diff(greys)) <= {2, 3}
