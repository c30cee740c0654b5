"""What the session selects in the graph is what the host would select; and the numbers it computes with."""

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st

from ssd_detect.arrays import Floats
from ssd_detect.boxes.selection import Selected, select_scores
from ssd_detect.conventions import Arithmetic, EngineName, ResizeRule
from ssd_detect.errors import ClosedError, SettingError
from ssd_detect.media.pictures import read_picture
from ssd_detect.model.arithmetic import check_on_cpu, check_on_gpu, tf32_products
from ssd_detect.model.checkpoint import Checkpoint, load_checkpoint
from ssd_detect.model.graph import _select, build_graph
from ssd_detect.model.resize import resized
from ssd_detect.model.session import NetworkSession
from ssd_detect.settings import CheckpointSettings, Device, SessionSettings

INFINITE, NAN = np.float32(np.inf), np.float32(np.nan)


@pytest.fixture(scope="module")
def checkpoint() -> Checkpoint:
    return load_checkpoint(CheckpointSettings("ssd_300_vgg_voc"))


@pytest.fixture(scope="module")
def network(checkpoint: Checkpoint) -> Iterator[NetworkSession]:
    made = NetworkSession(checkpoint, SessionSettings(Device("cpu")))
    yield made
    made.close()


@pytest.fixture(scope="module")
def inputs(media: Path) -> Floats:
    """(3, 300, 300, 3): a person, a cat, and nothing."""
    names = ("astronaut.png", "chelsea.png")
    pictures = [resized(read_picture(media / name), 300, ResizeRule.LEGACY) for name in names]
    return np.stack([*pictures, np.full((300, 300, 3), 99, np.float32)])


@pytest.fixture(scope="module")
def outputs(network: NetworkSession, inputs: Floats) -> tuple[Floats, Floats]:
    """Of the three."""
    return network.run(inputs)


@pytest.fixture(scope="module")
def select() -> Iterator[Callable[[Floats, Floats, Floats], Selected]]:
    """`select_scores` as the graph does it, for any number of anchors and three classes."""
    with tf.Graph().as_default() as graph, tf.compat.v1.Session(graph=graph) as session:
        shapes = ([None, None, 3], [None, None, 4], [3])
        feeds = [tf.compat.v1.placeholder(tf.float32, shape) for shape in shapes]
        fetches = _select(*feeds)

        def run(*arrays: Floats) -> Selected:
            places, *rest = session.run(fetches, dict(zip(feeds, arrays, strict=True)))
            return Selected(*np.moveaxis(places, 1, 0), *rest)

        yield run


def assert_same(found: Selected, expected: Selected) -> None:
    one: Any
    other: Any
    for name, one, other in zip(Selected._fields, found, expected, strict=True):
        assert one.dtype == other.dtype, name
        np.testing.assert_array_equal(one, other, name)


class TestSelection:
    @pytest.mark.parametrize(
        ("scores", "limits", "places"),
        [
            (np.zeros((1, 0, 3)), [0, 0, 0], []),
            (np.zeros((2, 2, 3)), [0, 0, 0], []),
            (np.ones((2, 1, 3)), [INFINITE, 1, -1], [(0, 0, 2), (1, 0, 2)]),
            (np.full((1, 2, 3), NAN), [-1, -1, -1], []),
            ([[[0.1, NAN, 0.9], [0.2, 0.7, 0.1]]], [INFINITE, 0.5, 0.5], [(0, 0, 2), (0, 1, 1)]),
            ([[[0, 0.5, 0.5]], [[0, 0.6, 0.4]]], [INFINITE, 0.5, 0.3], [(0, 0, 2), (1, 0, 1), (1, 0, 2)]),
        ],
    )
    def test_table(self, scores: Any, limits: Any, places: list[tuple[int, ...]], select: Any) -> None:
        scores, limits = np.array(scores, np.float32), np.array(limits, np.float32)
        offsets = np.arange(scores.shape[0] * scores.shape[1] * 4, dtype=np.float32).reshape(*scores.shape[:2], 4)
        found = select(scores, offsets, limits)
        assert list(zip(*found[:3], strict=True)) == places
        assert_same(found, select_scores(scores, offsets, limits))

    @given(st.integers(1, 3), st.integers(0, 400), st.integers(0, 2**32 - 1), st.sampled_from([0.0, 0.3, 0.9, 1.0]))
    @settings(deadline=None, max_examples=60)
    def test_any(self, select: Any, batch: int, anchors: int, seed: int, limit: float) -> None:
        random = np.random.default_rng(seed)
        scores = random.choice(np.array([0, 0.25, 0.5, 1, NAN], np.float32), (batch, anchors, 3))
        offsets = random.standard_normal((batch, anchors, 4), np.float32)
        limits = random.permutation(np.array([limit, INFINITE, 0.25], np.float32))
        assert_same(select(scores, offsets, limits), select_scores(scores, offsets, limits))

    @pytest.mark.parametrize("limit", [-1.0, 0.5, INFINITE])
    def test_of_the_network(
        self, limit: float, network: NetworkSession, inputs: Floats, outputs: tuple[Floats, Floats]
    ) -> None:
        limits = np.full(21, limit, np.float32)
        limits[0] = INFINITE
        found = network.run_selected(inputs, limits)
        assert_same(found, select_scores(*outputs, limits))
        assert (len(found.scores) > 0) == (limit < 0.9)

    def test_closed(self, checkpoint: Checkpoint, inputs: Floats) -> None:
        session = NetworkSession(checkpoint, SessionSettings(Device("cpu")))
        session.close()
        with pytest.raises(ClosedError, match="closed"):
            session.run_selected(inputs, np.zeros(21, np.float32))


class TestPrecision:
    def test_runs_on(self, network: NetworkSession) -> None:
        assert network.runs_on == (EngineName.TENSORFLOW, tf.__version__, "CPU", Arithmetic.FLOAT32)

    @pytest.mark.parametrize(
        ("precision", "kind"),
        [
            (Arithmetic.FLOAT32, tf.float32),
            (Arithmetic.TF32, tf.float32),
            (Arithmetic.BF16, tf.bfloat16),
            (Arithmetic.FP16, tf.float16),
        ],
    )
    def test_kinds_of_number_in_the_graph(self, precision: Arithmetic, kind: Any, checkpoint: Checkpoint) -> None:
        """Convolutions, and all between them, have the kind; what normalises and what comes out is float32."""
        made = build_graph(checkpoint.spec, checkpoint.variables, precision=precision)
        kinds: dict[str, set[Any]] = {}
        for operation in made.graph.get_operations():
            kinds.setdefault(operation.type, set()).update(tensor.dtype.base_dtype for tensor in operation.outputs)
        assert [kinds[name] for name in ("Conv2D", "BiasAdd", "Relu", "MaxPool")] == [{kind}] * 4
        assert [kinds[name] for name in ("Rsqrt", "Softmax", "Sub")] == [{tf.float32}] * 3
        assert {tensor.dtype for tensor in (made.scores, made.offsets, *made.selected[1:])} == {tf.float32}
        casts = sum(operation.type == "Cast" for operation in made.graph.get_operations())
        # Of the input, of the normalised map on its way in and to each of two heads, and of the twelve heads' outputs.
        assert casts == (0 if kind == tf.float32 else 1 + 3 + 12)
        assert {kind, tf.float32} == {tf.as_dtype(array.dtype) for array in made.weights.values()}

    def test_bf16_is_near(
        self, checkpoint: Checkpoint, inputs: Floats, outputs: tuple[Floats, Floats], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """TensorFlow computes it anywhere, if slowly where we refuse it."""
        monkeypatch.setattr("ssd_detect.model.session.check_on_cpu", lambda precision: None)
        session = NetworkSession(checkpoint, SessionSettings(Device("cpu"), precision=Arithmetic.BF16))
        assert session.runs_on.precision is Arithmetic.BF16
        scores, offsets = session.run(inputs)
        session.close()
        assert {scores.dtype, offsets.dtype} == {np.dtype(np.float32)}
        assert 1e-4 < np.abs(scores - outputs[0]).max() < 0.05
        assert 1e-4 < np.abs(offsets - outputs[1]).max() < 0.2

    @pytest.mark.parametrize(
        ("precision", "words"),
        [
            (Arithmetic.TF32, "computes with tf32 on GPUs only, and runs on the CPU; use --precision float32 or bf16"),
            (Arithmetic.FP16, "computes with fp16 on GPUs only, and runs on the CPU"),
            (Arithmetic.INT8, "does not compute with int8; use --engine onnxruntime or openvino"),
        ],
    )
    def test_refused_on_the_cpu(self, precision: Arithmetic, words: str, checkpoint: Checkpoint) -> None:
        with pytest.raises(SettingError, match=f"^engine tensorflow {words}"):
            NetworkSession(checkpoint, SessionSettings(Device("cpu"), precision=precision))

    @pytest.mark.parametrize(
        ("listed", "refused"),
        [
            ("", False),
            ("flags\t\t: fpu avx avx512f\nflags\t\t: fpu", True),
            ("processor : 0\nflags\t\t: fpu avx512_bf16 sse", False),
            ("flags\t\t: amx_bf16", False),
            ("Features\t: fp asimd", True),
            ("Features\t: fp asimd bf16 i8mm", False),
        ],
    )
    def test_bf16_without_its_instructions(self, listed: str, refused: bool, tmp_path: Path) -> None:
        file = tmp_path / "cpuinfo"
        check_on_cpu(Arithmetic.BF16, file)  # no such file: nothing is known
        file.write_text(listed)
        if not refused:
            check_on_cpu(Arithmetic.BF16, file)
            return
        with pytest.raises(SettingError, match=r"no instructions for bf16.*--precision float32, or try --engine"):
            check_on_cpu(Arithmetic.BF16, file)
        check_on_cpu(Arithmetic.FLOAT32, file)

    @pytest.mark.parametrize("capability", [None, (5, 3), (7, 5), (8, 0), (12, 0)])
    @pytest.mark.parametrize("precision", [p for p in Arithmetic if p is not Arithmetic.INT8])
    def test_gpus(self, precision: Arithmetic, capability: tuple[int, int] | None) -> None:
        too_old = capability is not None and capability < (8, 0)
        if precision not in (Arithmetic.TF32, Arithmetic.BF16) or not too_old:
            check_on_gpu(precision, "GPU:1", capability)
            return
        with pytest.raises(
            SettingError, match=r"GPU:1 does not compute.*capability [57]\.[35], expected at least 8\.0"
        ):
            check_on_gpu(precision, "GPU:1", capability)

    @pytest.mark.parametrize("precision", [Arithmetic.FLOAT32, Arithmetic.TF32, Arithmetic.FP16])
    def test_tf32_is_switched_for_the_call_alone(
        self, precision: Arithmetic, network: NetworkSession, inputs: Floats, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A GPU in name: the session notes how the switch of the process is while it runs, and fails or not."""
        is_on, seen = tf.config.experimental.tensor_float_32_execution_enabled, []
        session, feeds = network._session, inputs[:1]

        class Noting:
            def run(self, *arguments: Any) -> Any:
                seen.append(is_on())
                return session.run(*arguments)

        monkeypatch.setattr(network, "_session", Noting())
        monkeypatch.setattr(network, "_runs_on", network.runs_on._replace(device="GPU:0", precision=precision))
        for before in (False, True):
            tf.config.experimental.enable_tensor_float_32_execution(before)
            network.run(feeds)
            assert is_on() is before
        assert seen == [precision is Arithmetic.TF32] * 2

    def test_calls_in_one_arithmetic_overlap(self) -> None:
        """As two Detectors on two GPUs make them."""
        both_inside = threading.Barrier(2)

        def call() -> bool:
            with tf32_products(False):
                both_inside.wait(20)
                return bool(tf.config.experimental.tensor_float_32_execution_enabled())

        with ThreadPoolExecutor(2) as pool:
            assert [one.result() for one in [pool.submit(call) for _ in range(2)]] == [False, False]
        assert tf.config.experimental.tensor_float_32_execution_enabled()


def test_weights_are_let_go(network: NetworkSession) -> None:
    """The session has its own copy; nothing holds the checkpoint's arrays for as long as the network lives."""
    assert network._graph.weights == {}
