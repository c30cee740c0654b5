"""The graph and its session: golden parity, resize rules, one graph for all calls, threads, devices."""

import os
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import seeded
import tensorflow as tf

from ssd_detect.arrays import Floats, Pixels
from ssd_detect.conventions import ResizeRule
from ssd_detect.detections import Detections
from ssd_detect.detector import Detector
from ssd_detect.errors import ClosedError, DeviceError
from ssd_detect.model.checkpoint import Checkpoint, load_checkpoint
from ssd_detect.model.graph import _convolve, _head, _pool
from ssd_detect.model.resize import resized
from ssd_detect.model.session import NetworkSession
from ssd_detect.model.spec import MEAN_RGB, Conv, Head, ModelSpec, Pool, network, variable_shapes
from ssd_detect.settings import CheckpointSettings, DetectionSettings, Device, SessionSettings

from .test_boxes import GOLDEN_THRESHOLDS, golden_detections

MEAN = np.array(MEAN_RGB, np.float32)
GOLDEN_PICTURES = [(300, 0), (300, 1), (300, 2), (300, 3), (512, 0), (512, 1)]


@pytest.fixture(scope="module")
def load_seeded(seeded_checkpoint: Callable[[int], Path]) -> Callable[[int], Checkpoint]:
    return lambda size: load_checkpoint(CheckpointSettings(str(seeded_checkpoint(size))))


@pytest.fixture(scope="module")
def sessions(load_seeded: Callable[[int], Checkpoint]) -> Any:
    made = {size: NetworkSession(load_seeded(size), SessionSettings()) for size in (300, 512)}
    yield made
    for session in made.values():
        session.close()


def golden_picture(index: int) -> Pixels:
    _, height, width = seeded.PICTURES[index]
    picture: Pixels = seeded.seeded_picture(index, height, width)
    return picture


class TestDescription:
    @pytest.mark.parametrize(
        ("size", "classes", "variables", "parameters"),
        [
            (300, 21, 71, 26_285_486),
            (300, 81, 71, 34_305_206),
            (300, 91, 71, 35_641_826),
            (512, 21, 79, 27_188_676),
            (512, 81, 79, 36_038_196),
        ],
    )
    def test_number_of_variables_and_parameters(self, size: int, classes: int, variables: int, parameters: int) -> None:
        shapes = variable_shapes(size, classes)
        assert (len(shapes), sum(int(np.prod(s)) for s in shapes.values())) == (variables, parameters)

    @pytest.mark.parametrize("size", [300, 512])
    def test_shapes_as_in_the_reference(self, size: int) -> None:
        shapes = {f"ssd_{size}_vgg/{name}": shape for name, shape in variable_shapes(size, 21).items()}
        assert shapes == seeded.variable_shapes(size)

    def test_stride_two_is_padded_on_every_side(self) -> None:
        strided = [layer for layer in network(512).layers if isinstance(layer, Conv) and layer.stride == 2]
        assert [(c.name, c.pad) for c in strided] == [(f"block{b}/conv3x3", 1) for b in (8, 9, 10, 11)]


class TestGolden:
    @pytest.mark.slow
    @pytest.mark.parametrize(("size", "picture"), GOLDEN_PICTURES)
    def test_input_scores_offsets(
        self, size: int, picture: int, sessions: Any, golden: Callable[[int], dict[str, Any]]
    ) -> None:
        numbers, step = golden(size), 1 if size == 300 else 5
        pixels = resized(golden_picture(picture), size, ResizeRule.LEGACY)
        scores, offsets = sessions[size].run(pixels[np.newaxis])
        np.testing.assert_allclose((pixels - MEAN)[::7, ::7], numbers[f"p{picture}_input"], atol=1e-3, rtol=0)
        np.testing.assert_allclose(scores[0, ::step], numbers[f"p{picture}_scores"], atol=1e-4, rtol=0)
        np.testing.assert_allclose(offsets[0, ::step], numbers[f"p{picture}_loc"], atol=1e-3, rtol=0)

    @pytest.mark.slow
    @pytest.mark.parametrize("thresholds", GOLDEN_THRESHOLDS)
    @pytest.mark.parametrize("size", [300, 512])
    def test_final_detections(
        self, size: int, thresholds: str, seeded_checkpoint: Any, golden: Callable[[int], dict[str, Any]]
    ) -> None:
        score, nms = GOLDEN_THRESHOLDS[thresholds]
        settings = DetectionSettings(score_threshold=score, nms_threshold=nms, max_detections=400)
        pictures = [p for s, p in GOLDEN_PICTURES if s == size]
        with Detector(seeded_checkpoint(size), settings=settings) as detector:
            for picture in pictures:
                found = detector(golden_picture(picture))
                assert_same_detections(found, golden_detections(golden(size), picture, thresholds))


def assert_same_detections(found: Detections, expected: list[tuple[float, int, list[float]]]) -> None:
    """The same boxes in the same order, but where the network's rounding (1e-4) may swap two scores."""
    assert len(found) == len(expected)
    np.testing.assert_allclose(found.scores, [score for score, _, _ in expected], atol=1e-4, rtol=0)
    sides = np.array([*found.size, *found.size], np.float32)
    left = list(range(len(expected)))
    for score, class_id, box in zip(found.scores, found.class_ids, found.boxes / sides, strict=True):
        near = [
            i for i in left if expected[i][1] == class_id and np.abs(np.subtract(expected[i][2], box)).max() <= 1e-4
        ]
        near = [i for i in near if abs(expected[i][0] - score) <= 1e-4]
        assert near, f"class {class_id}, score {score}, box {box} is not among the reference's"
        left.remove(near[0])


class TestLayers:
    """Each kind of layer against its definition in plain NumPy, in double."""

    random = np.random.RandomState(7)

    @pytest.mark.parametrize(
        ("side", "conv"),
        [
            (9, Conv("c", kernel=3, channels=2, pad=1)),
            (10, Conv("c", kernel=3, channels=2, stride=2, pad=1)),
            (5, Conv("c", kernel=3, channels=2)),
            (14, Conv("c", kernel=3, channels=2, pad=6, dilation=6)),
            (2, Conv("c", kernel=4, channels=2, pad=1)),
            (6, Conv("c", kernel=1, channels=2)),
        ],
    )
    def test_convolution(self, side: int, conv: Conv) -> None:
        x = self.random.standard_normal((side, side, 3)).astype(np.float32)
        kernel = self.random.standard_normal((conv.kernel, conv.kernel, 3, 2)).astype(np.float32)
        bias = self.random.standard_normal(2).astype(np.float32)
        actual = evaluate(lambda: _convolve(x[np.newaxis], conv, {"c/weights": kernel, "c/biases": bias}))
        np.testing.assert_allclose(actual[0], convolve_by_hand(x, kernel, bias, conv), atol=1e-4)

    @pytest.mark.parametrize(
        ("side", "pool", "out"), [(6, Pool(2, 2), 3), (75, Pool(2, 2), 38), (19, Pool(3, 1), 19), (1, Pool(3, 1), 1)]
    )
    def test_pooling(self, side: int, pool: Pool, out: int) -> None:
        x = np.arange(side * side, dtype=np.float32).reshape(1, side, side, 1)
        actual = evaluate(lambda: _pool(x, pool))[0, :, :, 0]
        before = 1 if pool.kernel == 3 else 0
        starts = [i * pool.stride - before for i in range(out)]
        rows = [slice(max(0, s), s + pool.kernel) for s in starts]
        np.testing.assert_array_equal(actual, [[x[0, r, c, 0].max() for c in rows] for r in rows])

    def test_head_normalises_across_channels_and_keeps_the_order(self) -> None:
        x = self.random.standard_normal((1, 2, 3, 5)).astype(np.float32)
        gamma = self.random.uniform(10, 30, 5).astype(np.float32)
        # Kernels that copy channels: what comes out is the normalised map itself.
        copy = np.zeros((3, 3, 5, 8), np.float32)
        copy[1, 1, np.arange(8) % 5, np.arange(8)] = 1
        variables: dict[str, Floats] = {f"h/conv_{kind}/weights": copy for kind in ("loc", "cls")}
        variables |= {f"h/conv_{kind}/biases": np.zeros(8, np.float32) for kind in ("loc", "cls")}
        variables["h/L2Normalization/gamma"] = gamma
        spec = ModelSpec(300, ("background", "a", "b", "c"), "coco300", ResizeRule.LEGACY)
        logits, offsets = evaluate(lambda: _head(x, Head("h", "", 2, normalised=True), spec, variables))
        cells = x.reshape(-1, 5).astype(np.float64)
        cells *= gamma / np.sqrt((cells**2).sum(axis=1, keepdims=True))
        expected = cells[:, np.arange(8) % 5].reshape(1, -1, 4)  # row, column, anchor
        np.testing.assert_allclose(logits, expected, atol=1e-4)
        np.testing.assert_allclose(offsets, expected, atol=1e-4)


def evaluate(build: Callable[[], Any]) -> Any:
    with tf.Graph().as_default() as graph:
        result = build()
        with tf.compat.v1.Session(graph=graph) as session:
            return session.run(result)


def convolve_by_hand(x: Floats, kernel: Floats, bias: Floats, conv: Conv) -> Any:
    padded = np.pad(x.astype(np.float64), [(conv.pad, conv.pad)] * 2 + [(0, 0)])
    reach = conv.dilation * (conv.kernel - 1) + 1
    side = (len(padded) - reach) // conv.stride + 1
    out = np.empty((side, side, len(bias)))
    for i in range(side):
        for j in range(side):
            top, left = i * conv.stride, j * conv.stride
            window = padded[top : top + reach : conv.dilation, left : left + reach : conv.dilation]
            out[i, j] = np.tensordot(window, kernel, axes=3) + bias
    return out


class TestSession:
    def test_no_node_is_added_by_calls(self, detector: Detector) -> None:
        assert isinstance(detector._network, NetworkSession)
        pictures = [golden_picture(1), golden_picture(2)]
        nodes = detector._network.num_nodes
        detector(pictures[0])
        detector(pictures)
        detector([pictures[0]] * 2)
        assert detector._network.num_nodes == nodes
        with pytest.raises(RuntimeError, match="finalized"), detector._network._graph.graph.as_default():
            tf.constant(1)

    def test_a_batch_gives_what_its_pictures_give(self, detector: Detector) -> None:
        pictures = [golden_picture(i) for i in (1, 2, 1, 3)]
        inputs = np.stack([resized(picture, 300, ResizeRule.LEGACY) for picture in pictures])
        together = detector._network.run(inputs)
        for i, one in enumerate(inputs):
            scores, offsets = detector._network.run(one[np.newaxis])
            np.testing.assert_allclose(together[0][i], scores[0], atol=1e-5, rtol=0)
            np.testing.assert_allclose(together[1][i], offsets[0], atol=1e-4, rtol=0)

    def test_threads_share_it(self, detector: Detector) -> None:
        pictures = [golden_picture(i) for i in (0, 1, 2)]
        expected = [detector(p) for p in pictures]
        found: list[Detections | None] = [None] * 3

        def detect(i: int) -> None:
            found[i] = detector(pictures[i])

        threads = [threading.Thread(target=detect, args=(i,)) for i in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert found == expected

    def test_several_detectors_and_closing(self, media: Path) -> None:
        picture = golden_picture(0)
        with Detector() as first, Detector(session=SessionSettings(intra_op_threads=1, inter_op_threads=1)) as second:
            expected = first(picture)
            second(picture)
            first(picture)
            first.close()
            first.close()
            with pytest.raises(ClosedError, match="closed"):
                first(picture)
            assert len(second(picture)) == len(expected)
        with Detector() as third:
            assert third(picture) == expected

    def test_thread_counts_reach_tensorflow(self, detector: Detector) -> None:
        session = NetworkSession(
            load_checkpoint(CheckpointSettings("ssd_300_vgg_voc")), SessionSettings(Device("cpu"), 1, 2)
        )
        config = session._session._config
        session.close()
        assert (config.intra_op_parallelism_threads, config.inter_op_parallelism_threads) == (1, 2)
        assert dict(config.device_count) == {"GPU": 0}
        assert config.gpu_options.allow_growth

    def test_missing_gpu(self) -> None:
        count = len(tf.config.list_physical_devices("GPU"))
        with pytest.raises(DeviceError, match=rf"device gpu:{count} is not there.*--device cpu.*doctor"):
            Detector(session=SessionSettings(Device("gpu", count)))

    @pytest.mark.slow
    def test_tensorflow_stays_as_its_user_left_it(self) -> None:
        """No process-wide switch: eager mode and the default graph are untouched, no variable is left behind."""
        code = (
            "import tensorflow as tf, numpy as np\n"
            "from ssd_detect import Detector\n"
            "Detector()(np.zeros((30, 40, 3), np.uint8))\n"
            "assert tf.executing_eagerly() and float(tf.constant(2.0) * 3) == 6.0\n"
            "assert not tf.compat.v1.get_default_graph().get_operations()\n"
        )
        environment = os.environ | {"TF_CPP_MIN_LOG_LEVEL": "3"}
        done = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=False
        )
        assert done.returncode == 0, done.stderr
