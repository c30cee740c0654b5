"""Every engine with the seeded weights: the golden numbers, batches, threads, and what each one refuses."""

import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import seeded

from ssd_detect.arrays import Floats
from ssd_detect.boxes.selection import select_scores
from ssd_detect.conventions import Arithmetic, EngineName
from ssd_detect.engines import packages
from ssd_detect.engines.converted import MODEL, REFERENCE, entry_of, prepare
from ssd_detect.engines.entry import Entry
from ssd_detect.engines.network import Network
from ssd_detect.engines.onnxruntime_network import OnnxRuntimeNetwork
from ssd_detect.engines.open import open_converted, open_network
from ssd_detect.engines.opencv_network import OpenCvNetwork
from ssd_detect.engines.openvino_network import OpenVinoNetwork
from ssd_detect.engines.processor import usable_cores
from ssd_detect.engines.reference import compute_reference, read_reference
from ssd_detect.environment import import_untracked
from ssd_detect.errors import ClosedError, DeviceError, MissingPackageError
from ssd_detect.model.checkpoint import Checkpoint, load_checkpoint
from ssd_detect.model.resize import resized
from ssd_detect.settings import CheckpointSettings, Device, SessionSettings

ENGINES = (EngineName.ONNXRUNTIME, EngineName.OPENVINO, EngineName.OPENCV)
CLASSES = {EngineName.ONNXRUNTIME: OnnxRuntimeNetwork, EngineName.OPENVINO: OpenVinoNetwork}
CPU = SessionSettings(Device("cpu"))


@pytest.fixture(scope="module")
def checkpoint(seeded_checkpoint: Callable[[int], Path]) -> Checkpoint:
    return load_checkpoint(CheckpointSettings(str(seeded_checkpoint(300))))


@pytest.fixture(scope="module", params=ENGINES)
def network(request: pytest.FixtureRequest, checkpoint: Checkpoint) -> Iterator[Network]:
    opened = open_network(checkpoint, replace(CPU, engine=request.param))
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def entry(checkpoint: Checkpoint) -> Entry:
    """The seeded weights' place in the cache, filled."""
    return prepare(checkpoint, EngineName.OPENCV, lambda line: None)


def inputs(checkpoint: Checkpoint, *numbers: int) -> Floats:
    pictures = [seeded.seeded_picture(*seeded.PICTURES[i]) for i in numbers]
    return np.stack([resized(one, checkpoint.spec.size, checkpoint.spec.resize) for one in pictures])


class TestNumbers:
    @pytest.mark.parametrize("picture", [0, pytest.param(1, marks=pytest.mark.slow), 2, 3])
    def test_golden(self, network: Network, checkpoint: Checkpoint, picture: int, golden: Any) -> None:
        scores, offsets = network.run(inputs(checkpoint, picture))
        expected = golden(300)
        assert {scores.dtype, offsets.dtype} == {np.dtype(np.float32)}
        np.testing.assert_allclose(scores, expected[f"p{picture}_scores"][np.newaxis], rtol=0, atol=1e-4)
        np.testing.assert_allclose(offsets, expected[f"p{picture}_loc"][np.newaxis], rtol=0, atol=1e-3)

    def test_a_batch_equals_its_singles_whatever_was_before(self, network: Network, checkpoint: Checkpoint) -> None:
        pictures = inputs(checkpoint, 0, 1)
        first = network.run(pictures[:1])
        kept = [values.copy() for values in first]
        together = network.run(pictures)
        for values, copied in zip(first, kept, strict=True):
            np.testing.assert_array_equal(values, copied)  # not overwritten by the next call
        singles = [network.run(one[np.newaxis]) for one in pictures]
        for several, alone in zip(together, zip(*singles, strict=True), strict=True):
            np.testing.assert_allclose(several, np.concatenate(alone), rtol=0, atol=2e-5)

    def test_selected_are_those_of_all(self, network: Network, checkpoint: Checkpoint) -> None:
        pictures = inputs(checkpoint, 1, 3)
        limits = np.full(21, 0.3, np.float32)
        limits[[0, 5]] = np.inf, 0.1
        selected, expected = network.run_selected(pictures, limits), select_scores(*network.run(pictures), limits)
        assert len(selected.scores) > 10
        np.testing.assert_array_equal(selected.anchor_ids, expected.anchor_ids)
        np.testing.assert_array_equal(selected.class_ids, expected.class_ids)
        np.testing.assert_allclose(selected.scores, expected.scores, rtol=0, atol=1e-5)
        np.testing.assert_allclose(selected.peaks, expected.peaks, rtol=0, atol=1e-5)

    def test_threads_share_it(self, network: Network, checkpoint: Checkpoint) -> None:
        pictures = inputs(checkpoint, 2, 3)
        expected = [network.run(one[np.newaxis])[0] for one in pictures]
        found: dict[int, Floats] = {}

        def work(number: int) -> None:
            found[number] = network.run(pictures[[number]])[0]

        threads = [threading.Thread(target=work, args=(i,)) for i in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for i, scores in enumerate(expected):
            np.testing.assert_allclose(found[i], scores, rtol=0, atol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("engine", ENGINES)
def test_golden_512(engine: EngineName, seeded_checkpoint: Callable[[int], Path], golden: Any) -> None:
    checkpoint = load_checkpoint(CheckpointSettings(str(seeded_checkpoint(512))))
    network = open_network(checkpoint, replace(CPU, engine=engine))
    for picture in range(2):
        scores, offsets = network.run(inputs(checkpoint, picture))
        np.testing.assert_allclose(scores[0, ::5], golden(512)[f"p{picture}_scores"], rtol=0, atol=1e-4)
        np.testing.assert_allclose(offsets[0, ::5], golden(512)[f"p{picture}_loc"], rtol=0, atol=1e-3)
    network.close()


class TestOpening:
    def test_tells_what_it_runs_on(self, network: Network) -> None:
        assert network.runs_on.engine in ENGINES
        assert network.runs_on[2:] == ("CPU", Arithmetic.FLOAT32)
        assert network.runs_on.version[0].isdigit()

    def test_a_failed_proof_opens_nothing(self, entry: Entry, tmp_path: Path) -> None:
        """Here the reference is that of another network."""
        engine = EngineName.OPENCV
        other = Entry(tmp_path / "key")
        found = read_reference(entry.path(REFERENCE))
        other.made(MODEL, lambda path: path.symlink_to(entry.path(MODEL)))
        other.made(REFERENCE, lambda path: save(path, found._asdict() | {"scores": found.scores[:, ::-1]}))
        for _ in range(2):
            with pytest.raises(DeviceError, match=f"engine {engine.value} .* computes other scores .*than TensorFlow"):
                open_converted(other, MODEL, replace(CPU, engine=engine))
        assert other.told("proofs") == {}

    @pytest.mark.parametrize("engine", ENGINES)
    @pytest.mark.parametrize("content", [b"", b"no model", b"\x08\x07" * 50])
    def test_no_network(self, engine: EngineName, content: bytes, tmp_path: Path) -> None:
        path = tmp_path / "m.onnx"
        path.write_bytes(content)
        opens: Any = CLASSES.get(engine, OpenCvNetwork)
        with pytest.raises(
            DeviceError, match=f"engine {engine.value} cannot (load|read .*) the network on CPU"
        ) as caught:
            opens(path, replace(CPU, engine=engine))
        assert "\n" not in str(caught.value)

    def test_a_damaged_cache_of_the_engine_is_made_anew(
        self, checkpoint: Checkpoint, entry: Entry, tmp_path: Path
    ) -> None:
        own = Entry(tmp_path / "key")
        for name in (MODEL, REFERENCE):
            own.made(name, lambda path, name=name: path.symlink_to(entry.path(name)))  # type: ignore[misc]
        for engine, pattern in ((EngineName.ONNXRUNTIME, "onnxruntime-*"), (EngineName.OPENVINO, "openvino-*/*")):
            open_converted(own, MODEL, replace(CPU, engine=engine)).close()
            (path,) = own.folder.glob(pattern)
            path.chmod(0o600)
            path.write_bytes(path.read_bytes()[:1000])
            network = open_converted(own, MODEL, replace(CPU, engine=engine))
            network.run(inputs(checkpoint, 0))
            network.close()

    @pytest.mark.parametrize("engine", ENGINES)
    def test_a_missing_package(
        self, engine: EngineName, checkpoint: Checkpoint, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setitem(sys.modules, packages.PACKAGES[engine].module, None)
        extra = "openvino" if engine is EngineName.OPENVINO else "onnx"
        with pytest.raises(MissingPackageError, match=rf'needs the package .*: pip install "ssd-detect\[{extra}\]"'):
            open_network(checkpoint, replace(CPU, engine=engine))

    def test_a_missing_converter(self, checkpoint: Checkpoint, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(sys.modules, "onnx", None)
        monkeypatch.delitem(sys.modules, "ssd_detect.model.conversion.to_onnx", raising=False)
        never_made = replace(checkpoint, sha256="00" * 32)
        with pytest.raises(
            MissingPackageError, match=r"needs the package onnx, which converts .*ssd-detect\[openvino\]"
        ):
            open_network(never_made, replace(CPU, engine=EngineName.OPENVINO))
        assert not entry_of(never_made).has(MODEL)

    def test_no_gpu_for_onnxruntime(self, checkpoint: Checkpoint) -> None:
        onnxruntime = import_untracked("onnxruntime")
        if "CUDAExecutionProvider" in onnxruntime.get_available_providers():
            expected = "does not start in onnxruntime"
        else:
            expected = "which was built without CUDA; install onnxruntime-gpu"
        with pytest.raises(DeviceError, match=expected):
            open_network(checkpoint, SessionSettings(Device("gpu", 7), engine=EngineName.ONNXRUNTIME))

    @pytest.mark.parametrize("engine", ENGINES)
    def test_threads(self, engine: EngineName, checkpoint: Checkpoint) -> None:
        import cv2

        before = cv2.getNumThreads()
        network = open_network(checkpoint, replace(CPU, engine=engine, intra_op_threads=1))
        scores, _ = network.run(inputs(checkpoint, 0))
        assert scores.shape == (1, 8732, 21)
        assert cv2.getNumThreads() == before
        network.close()

    def test_bf16(self, checkpoint: Checkpoint, entry: Entry) -> None:
        openvino = import_untracked("openvino")
        asked = replace(CPU, engine=EngineName.OPENVINO, precision=Arithmetic.BF16)
        if "BF16" not in openvino.Core().get_property("CPU", "OPTIMIZATION_CAPABILITIES"):
            with pytest.raises(DeviceError, match="precision bf16 needs a processor with AVX-512 BF16 or AMX"):
                open_network(checkpoint, asked)
            return
        network = open_network(checkpoint, asked)
        assert network.runs_on.precision is Arithmetic.BF16
        (found,) = (found for name, found in entry.told("proofs").items() if "bf16" in name)
        assert 1e-4 < found["scores"] < 0.15
        network.close()

    @pytest.mark.parametrize("engine", ENGINES)
    def test_threads_are_at_most_as_many_as_cores(
        self, engine: EngineName, checkpoint: Checkpoint, entry: Entry
    ) -> None:
        """In onnxruntime waiting threads spin: 60 of them took 13 times the processor time of two, on two cores."""
        seconds, told = {}, list[str]()
        cores = usable_cores()
        for threads in (cores, 1000):
            network = open_network(checkpoint, replace(CPU, engine=engine, intra_op_threads=threads), told.append)
            network.run(inputs(checkpoint, 0))
            before = time.process_time()
            network.run(inputs(checkpoint, 0))
            seconds[threads] = time.process_time() - before
            network.close()
        few, many = seconds.values()
        assert many < 4 * few
        assert told[-1] == f"1000 threads asked for, {cores} taken: one for each core there is to use"


class TestEnd:
    @pytest.mark.parametrize("engine", ENGINES)
    def test_closed(self, engine: EngineName, checkpoint: Checkpoint) -> None:
        network = open_network(checkpoint, replace(CPU, engine=engine))
        network.close()
        network.close()
        with pytest.raises(ClosedError, match="this Detector is closed"):
            network.run(inputs(checkpoint, 0))
        with pytest.raises(ClosedError):
            network.run_selected(inputs(checkpoint, 0), np.full(21, 0.5, np.float32))

    def test_failing_calls_are_one_line(self, network: Network) -> None:
        wrong = np.zeros((1, 300), np.float32)
        with pytest.raises(
            DeviceError, match=f"engine {network.runs_on.engine.value} cannot run the network on CPU"
        ) as caught:
            network.run(wrong)
        assert "\n" not in str(caught.value)


class TestReference:
    def test_of_no_checkpoint(self, tmp_path: Path) -> None:
        (tmp_path / "weights.safetensors").write_bytes(b"none")
        with pytest.raises(DeviceError, match=r"cannot compute the reference .*exit status 1 .*CheckpointError"):
            compute_reference(tmp_path / "weights.safetensors", tmp_path / "reference.npz")
        assert not (tmp_path / "reference.npz").exists()

    def test_is_what_the_golden_pictures_give(self, entry: Entry) -> None:
        found = read_reference(entry.path(REFERENCE))
        assert found.inputs.shape == (5, 300, 300, 3)
        assert (found.inputs.min() >= 0, found.inputs.max() <= 255) == (True, True)
        assert (found.scores.shape, found.offsets.shape) == ((5, 8732, 21), (5, 8732, 4))
        assert found.anchors.shape == (8732, 4)
        np.testing.assert_allclose(found.scores.sum(axis=2), 1, atol=1e-5)


def save(path: Path, arrays: dict[str, Floats]) -> None:
    np.savez(path, **arrays)  # type: ignore[arg-type] # its stubs take the names for options


@pytest.mark.usefixtures("empty_home")
def test_makes_ready_once_and_proves_each_and_never_imports_tensorflow(
    seeded_checkpoint: Any, checkpoint: Checkpoint
) -> None:
    """Neither for the first use of a network, but for a child process, nor later."""
    code = (
        "import sys; from ssd_detect.engines.open import open_network; from ssd_detect.settings import *\n"
        "from ssd_detect.conventions import EngineName\n"
        "from ssd_detect.model.checkpoint import load_checkpoint\n"
        "checkpoint = load_checkpoint(CheckpointSettings(sys.argv[1]))\n"
        "for engine in ('onnxruntime', 'openvino', 'opencv'):\n"
        "    settings = SessionSettings(Device('cpu'), engine=EngineName(engine))\n"
        "    open_network(checkpoint, settings, print).close()\n"
        "print([name for name in sys.modules if name.split('.')[0] in ('tensorflow', 'keras', 'h5py')])"
    )
    command = [sys.executable, "-c", code, str(seeded_checkpoint(300))]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    *notes, imported = done.stdout.splitlines()
    assert imported == "[]", done.stderr
    assert [note for note in notes if "making" in note] == [
        f"onnxruntime: making {checkpoint.name} ready (once; up to a minute)"
    ]
    proofs = {name.split()[0]: found for name, found in entry_of(checkpoint).told("proofs").items()}
    assert {*proofs} == {engine.value for engine in ENGINES}
    for found in proofs.values():
        assert found["scores"] < 1e-4
        assert found["same_detections"] is True
