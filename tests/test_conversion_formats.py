"""Every format there and back: what we write, other programs read and run, and it gives the golden numbers."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
import seeded
import tensorflow as tf
from onnx import numpy_helper
from safetensors import safe_open

from ssd_detect.boxes.anchors import make_anchors
from ssd_detect.boxes.decode import decode_offsets
from ssd_detect.conventions import AnchorClip, ResizeRule
from ssd_detect.environment import import_untracked
from ssd_detect.errors import OutputError
from ssd_detect.model.checkpoint import load_checkpoint
from ssd_detect.model.conversion.convert import ConversionReport, convert
from ssd_detect.model.conversion.outgoing import Outgoing, ReadBack
from ssd_detect.model.conversion.proof import prove
from ssd_detect.model.conversion.settings import ConvertSettings, FileFormat, Precision
from ssd_detect.model.conversion.to_onnx import read_onnx, write_onnx
from ssd_detect.model.conversion.to_safetensors import read_safetensors, write_safetensors
from ssd_detect.model.conversion.to_saved_model import read_saved_model, write_saved_model
from ssd_detect.model.manifest import manifest
from ssd_detect.model.metadata import assumed_by_metadata, told_by_metadata, written_metadata
from ssd_detect.settings import CheckpointSettings

pytestmark = pytest.mark.usefixtures("source_kept_open")

onnxruntime = import_untracked("onnxruntime")
CLASSES = ("background", *(f"thing {i}" for i in range(20)))
NAMES = {
    FileFormat.TENSORFLOW: "out.ckpt",
    FileFormat.SAFETENSORS: "out.safetensors",
    FileFormat.ONNX: "out.onnx",
    FileFormat.SAVED_MODEL: "out",
}
SIZES = [300, pytest.param(512, marks=pytest.mark.slow)]


@pytest.fixture(scope="module")
def reports() -> dict[tuple[int, FileFormat], ConversionReport]:
    return {}


@pytest.fixture(scope="module")
def converted(
    seeded_checkpoint: Callable[[int], Path], tmp_path_factory: pytest.TempPathFactory, reports: Any
) -> Callable[[int, FileFormat], Path]:
    """Size and format -> the seeded checkpoint in that format, written once, in a folder that is odd for TensorFlow."""
    folder = tmp_path_factory.mktemp("converted") / "models [v2] é"

    def path(size: int, file_format: FileFormat) -> Path:
        target = folder / str(size) / NAMES[file_format]
        if (size, file_format) not in reports:
            given = CheckpointSettings(str(seeded_checkpoint(size)), class_names=CLASSES)
            reports[size, file_format] = convert(ConvertSettings(given, target, file_format))
        return target

    return path


@pytest.fixture(scope="module")
def plain(
    converted: Callable[[int, FileFormat], Path], tmp_path_factory: pytest.TempPathFactory
) -> Callable[[int, FileFormat], Path]:
    """The same under a path that TensorFlow can read."""

    def path(size: int, file_format: FileFormat) -> Path:
        target = converted(size, file_format)
        link = tmp_path_factory.mktemp("plain") / "link"
        link.symlink_to(target.parent)
        return link / target.name

    return path


def assert_golden(outputs: dict[str, Any], size: int, golden: Callable[[int], dict[str, Any]]) -> None:
    """Scores and offsets of the seeded picture 0 as the reference computed them, and boxes that belong to them."""
    numbers, step = golden(size), 1 if size == 300 else 5
    np.testing.assert_allclose(outputs["scores"][0][::step], numbers["p0_scores"], atol=1e-4)
    np.testing.assert_allclose(outputs["offsets"][0][::step], numbers["p0_loc"], atol=1e-3)
    expected = decode_offsets(outputs["offsets"][0], make_anchors(f"coco{size}"))
    np.testing.assert_allclose(outputs["boxes"][0], expected, rtol=1e-5, atol=1e-5)


def picture() -> Any:
    return seeded.seeded_picture(*seeded.PICTURES[0])[np.newaxis]


def legacy_resize(pictures: Any, size: int) -> Any:
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        return session.run(tf.compat.v1.image.resize_bilinear(pictures, [size, size]))


@pytest.mark.parametrize("size", SIZES)
class TestWeights:
    """Read by independent means, bit for bit."""

    def test_safetensors(self, size: int, converted: Any) -> None:
        with safe_open(converted(size, FileFormat.SAFETENSORS), framework="numpy") as file:
            stored = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        assert_same(stored, seeded.seeded_variables(size))

    def test_a_tensorflow_saver_restores_all(self, size: int, plain: Any) -> None:
        expected = seeded.seeded_variables(size)
        with tf.Graph().as_default(), tf.compat.v1.Session() as session:
            variables = {n: tf.compat.v1.get_variable(n, v.shape, use_resource=False) for n, v in expected.items()}
            step = tf.compat.v1.train.create_global_step()
            saver = tf.compat.v1.train.Saver([*variables.values(), step])
            saver.restore(session, str(plain(size, FileFormat.TENSORFLOW)))
            assert_same(session.run(variables), expected)
            assert session.run(step) == 120000  # as the source says

    def test_saved_model(self, size: int, plain: Any) -> None:
        reader = tf.train.load_checkpoint(str(plain(size, FileFormat.SAVED_MODEL) / "variables" / "variables"))
        expected = seeded.seeded_variables(size)
        assert_same({name: reader.get_tensor(name) for name in expected}, expected)

    def test_onnx(self, size: int, converted: Any) -> None:
        model = onnx.load(converted(size, FileFormat.ONNX))
        stored = {tensor.name: numpy_helper.to_array(tensor) for tensor in model.graph.initializer}
        for name, values in seeded.seeded_variables(size).items():
            ours = values.transpose(3, 2, 0, 1) if values.ndim == 4 else values
            assert np.array_equal(stored[name].reshape(ours.shape), ours), name

    @pytest.mark.parametrize("file_format", [FileFormat.TENSORFLOW, FileFormat.SAFETENSORS])
    def test_our_own_reader(self, size: int, file_format: FileFormat, converted: Any) -> None:
        checkpoint = load_checkpoint(CheckpointSettings(str(converted(size, file_format))))
        stored = {f"ssd_{size}_vgg/{name}": values for name, values in checkpoint.variables.items()}
        assert_same(stored, seeded.seeded_variables(size))


def assert_same(stored: dict[str, Any], expected: dict[str, Any]) -> None:
    assert set(stored) == set(expected)
    for name, values in expected.items():
        assert stored[name].dtype == values.dtype, name
        assert np.array_equal(stored[name], values), name


@pytest.mark.parametrize("size", SIZES)
class TestRuns:
    def test_onnxruntime(self, size: int, converted: Any, golden: Any) -> None:
        session = onnxruntime.InferenceSession(converted(size, FileFormat.ONNX), providers=["CPUExecutionProvider"])
        pictures = np.concatenate([legacy_resize(picture(), size)] * 2)  # a batch of two
        names = [output.name for output in session.get_outputs()]
        outputs = dict(zip(names, session.run(None, {"pictures": pictures}), strict=True))
        assert_golden(outputs, size, golden)
        for values in outputs.values():
            np.testing.assert_allclose(values[1], values[0], atol=1e-5)

    def test_saved_model_in_tensorflow_2(self, size: int, plain: Any, golden: Any) -> None:
        loaded = tf.saved_model.load(str(plain(size, FileFormat.SAVED_MODEL)))
        outputs = loaded.signatures["serving_default"](pictures=tf.constant(picture()))
        assert_golden({name: values.numpy() for name, values in outputs.items()}, size, golden)


class TestMetadata:
    def of(self, file_format: FileFormat, converted: Any, plain: Any) -> Any:
        path = converted(300, file_format)
        if file_format is FileFormat.SAFETENSORS:
            with safe_open(path, framework="numpy") as file:
                return file.metadata()
        if file_format is FileFormat.ONNX:
            return {prop.key: prop.value for prop in onnx.load(path).metadata_props}
        inside = "variables/variables" if file_format is FileFormat.SAVED_MODEL else ""
        reader = tf.train.load_checkpoint(str(plain(300, file_format) / inside))
        return json.loads(reader.get_tensor("ssd_detect/metadata"))

    @pytest.mark.parametrize("file_format", FileFormat)
    def test_what_the_network_is_travels(self, file_format: FileFormat, converted: Any, plain: Any) -> None:
        metadata = self.of(file_format, converted, plain)
        told = told_by_metadata(metadata, 300, 21)
        assert (told["class_names"], told["anchors"]) == (CLASSES, "coco300")
        assert told["mean_rgb"] == (123.0, 117.0, 104.0)
        assert metadata["model"] == "ssd_300_vgg"
        assert metadata["source_name"] == "ssd_300_vgg.ckpt"
        assert len(metadata["source_sha256"]) == 64

    @pytest.mark.parametrize("file_format", FileFormat)
    def test_what_was_assumed_stays_assumed(
        self, file_format: FileFormat, converted: Any, plain: Any, reports: Any
    ) -> None:
        assert assumed_by_metadata(self.of(file_format, converted, plain)) == {"anchors"}
        assert reports[300, file_format].assumed == ("anchors coco300 (--anchors)",)


OTHER_SPEC = replace(
    manifest()["ssd_300_vgg_voc"].spec, resize=ResizeRule.OPENCV, anchors="voc300", anchor_clip=AnchorClip.SIZE
)


@pytest.fixture(scope="module")
def outgoing() -> Outgoing:
    variables = load_checkpoint(CheckpointSettings("ssd_300_vgg_voc")).variables
    return Outgoing(OTHER_SPEC, variables, written_metadata(OTHER_SPEC, {}, ()))


class TestConventions:
    """Of another port: OpenCV's resize, which TensorFlow does not have, and clipped anchors."""

    def proved(self, outgoing: Outgoing, read: Callable[[], ReadBack]) -> None:
        shipped = load_checkpoint(CheckpointSettings("ssd_300_vgg_voc"))
        proof = prove(replace(shipped, spec=OTHER_SPEC), outgoing, Precision.FLOAT32, read)
        assert proof.boxes is not None

    def test_onnx(self, outgoing: Outgoing, tmp_path: Path) -> None:
        write_onnx(tmp_path / "m.onnx", outgoing)
        self.proved(outgoing, lambda: read_onnx(tmp_path / "m.onnx", outgoing))
        constants = {c.name: numpy_helper.to_array(c) for c in onnx.load(tmp_path / "m.onnx").graph.initializer}
        assert constants["anchor_half_sizes"].max() == 0.5  # 0.622 when they are not clipped

    def test_saved_model(self, outgoing: Outgoing, tmp_path: Path) -> None:
        write_saved_model(tmp_path / "m", outgoing)
        self.proved(outgoing, lambda: read_saved_model(tmp_path / "m", outgoing))
        signature = tf.saved_model.load(str(tmp_path / "m")).signatures["serving_default"]
        assert signature.structured_input_signature[1]["pictures"].shape == (None, 300, 300, 3)

    def test_metadata_of_another_network(self, outgoing: Outgoing, tmp_path: Path) -> None:
        """Whose outputs are the same, so that they alone would prove nothing."""
        other = replace(OTHER_SPEC, anchor_clip=AnchorClip.NONE)
        spoilt = replace(outgoing, metadata=written_metadata(other, {}, ()))
        write_safetensors(tmp_path / "m.safetensors", spoilt)
        with pytest.raises(OutputError, match="would be taken for another network than was meant; nothing was kept"):
            read_safetensors(tmp_path / "m.safetensors", spoilt)


@pytest.mark.parametrize("mean", [(123, 117, 104), (122.99925, 116.9991, 103.9992), (0.0, 1e-7, 255 / 7)])
def test_any_mean_travels(mean: tuple[float, float, float]) -> None:
    metadata = written_metadata(replace(OTHER_SPEC, mean_rgb=mean), {}, ())
    assert told_by_metadata(metadata, 300, 21)["mean_rgb"] == mean


@pytest.mark.parametrize("text", ["", "1,2", "1,2,3,4", "1,2,256", "-1,2,3", "nan,2,3", "inf,2,3", "a,b,c", "," * 1000])
def test_a_mean_that_is_none_is_left_out(text: str) -> None:
    assert told_by_metadata({"mean_rgb": text}, 300, 21) == {}


class TestReport:
    @pytest.mark.parametrize("file_format", FileFormat)
    def test_what_was_written_and_measured(self, file_format: FileFormat, converted: Any, reports: Any) -> None:
        target = converted(300, file_format)
        report = reports[300, file_format]
        assert [p for p in target.parent.iterdir() if p.name.startswith(".")] == []
        assert all(path.exists() and path.name.startswith(target.name) for path in report.files)
        assert 105_100_000 < report.num_bytes < 106_000_000
        assert report.proof.num_pictures == 4
        assert (report.proof.scores < 1e-4, report.proof.offsets < 1e-3) == (True, True)
        has_boxes = file_format in (FileFormat.ONNX, FileFormat.SAVED_MODEL)
        assert (report.proof.boxes is not None) == has_boxes


class TestOnnxFile:
    def test_is_as_described(self, converted: Any) -> None:
        model = onnx.load(converted(300, FileFormat.ONNX))
        onnx.checker.check_model(model, full_check=True)
        assert model.opset_import[0].version == 13
        shapes = {
            value.name: [d.dim_param or d.dim_value for d in value.type.tensor_type.shape.dim]
            for value in (*model.graph.input, *model.graph.output)
        }
        assert shapes == {
            "pictures": ["batch", 300, 300, 3],
            "scores": ["batch", 8732, 21],
            "offsets": ["batch", 8732, 4],
            "boxes": ["batch", 8732, 4],
        }
