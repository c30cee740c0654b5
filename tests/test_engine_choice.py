"""`auto`: what it takes of what it has measured, and when it measures anew."""

import shutil
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from ssd_detect.conventions import Arithmetic, EngineName
from ssd_detect.engines import choice
from ssd_detect.engines.choice import Timing, choose, measured, quickest
from ssd_detect.engines.converted import MODEL, REFERENCE, entry_of, prepare, weights_file
from ssd_detect.engines.entry import Entry
from ssd_detect.engines.open import open_network
from ssd_detect.engines.processor import usable_cores
from ssd_detect.errors import DeviceError, MissingPackageError, OutputError, SettingError
from ssd_detect.locks import held_alone
from ssd_detect.model.checkpoint import Checkpoint, load_checkpoint
from ssd_detect.settings import CheckpointSettings, Device, SessionSettings

TENSORFLOW, ONNXRUNTIME, OPENVINO, OPENCV, AUTO = EngineName
CPU = SessionSettings(Device("cpu"), engine=AUTO)


@pytest.fixture(scope="module")
def checkpoint(seeded_checkpoint: Callable[[int], Path]) -> Checkpoint:
    return load_checkpoint(CheckpointSettings(str(seeded_checkpoint(300))))


@pytest.mark.parametrize(
    ("timings", "expected"),
    [
        ({TENSORFLOW: (3.0, 0.30)}, TENSORFLOW),
        ({TENSORFLOW: (3.0, 0.30), OPENCV: (0.5, 0.36)}, TENSORFLOW),
        ({TENSORFLOW: (3.0, 0.30), ONNXRUNTIME: (0.5, 0.30)}, ONNXRUNTIME),
        ({TENSORFLOW: (3.0, 0.30), ONNXRUNTIME: (0.5, 0.305)}, ONNXRUNTIME),  # a tie: it starts sooner
        ({ONNXRUNTIME: (0.4, 0.31), OPENVINO: (0.6, 0.29)}, OPENVINO),
        ({ONNXRUNTIME: (0.1, 0.305), OPENVINO: (0.6, 0.30), OPENCV: (0.5, 0.29)}, OPENCV),
        # On a busy machine the calls of both are spread widely, and do not tell which is the faster one.
        ({TENSORFLOW: (9.2, 0.709, 0.60, 0.80), OPENVINO: (1.4, 0.744, 0.62, 0.90)}, OPENVINO),
        ({TENSORFLOW: (9.2, 0.709, 0.70, 0.72), OPENVINO: (1.4, 0.744, 0.74, 0.75)}, TENSORFLOW),
        ({TENSORFLOW: (9.2, 0.709, 0.70, 0.75), OPENVINO: (1.4, 0.744, 0.74, 0.80)}, OPENVINO),
        ({TENSORFLOW: (9.2, 0.709, 0.70, 0.71), OPENVINO: (1.4, 0.744, 0.70, 0.80)}, OPENVINO),
    ],
)
def test_quickest(timings: dict[EngineName, tuple[float, ...]], expected: EngineName) -> None:
    """Start and call, and the quartiles of the calls where they differ from the median."""
    told = {engine: Timing(*numbers, *numbers[1:] * (6 - 2 * len(numbers))) for engine, numbers in timings.items()}
    assert quickest(told) is expected


def of(*engines: EngineName) -> Callable[[EngineName], bool]:
    return lambda engine: engine in engines


def test_the_only_one_is_taken_without_measuring(checkpoint: Checkpoint, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(choice, "is_installed", of(TENSORFLOW))
    told: list[str] = []
    assert choose(checkpoint, CPU, told.append) is TENSORFLOW
    assert told == []


def test_none(checkpoint: Checkpoint, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(choice, "is_installed", of(TENSORFLOW, OPENCV))
    asked = replace(CPU, precision=Arithmetic.INT8)
    with pytest.raises(MissingPackageError, match=r"no engine that computes with int8 on device cpu is installed: pip"):
        choose(checkpoint, asked, lambda line: None)


def test_others_need_the_converter(checkpoint: Checkpoint, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(choice, "can_convert", lambda: False)
    assert choose(checkpoint, CPU, lambda line: None) is TENSORFLOW


@pytest.mark.slow
@pytest.mark.usefixtures("empty_home")
def test_measures_once_and_takes_the_fastest(checkpoint: Checkpoint, monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[str] = []
    with monkeypatch.context() as busy:
        busy.setattr(choice, "is_installed", of(ONNXRUNTIME, OPENCV))
        busy.setattr(choice, "load_average", lambda: usable_cores() + 1.1)
        choose(checkpoint, CPU, told.append)
    assert "for this run only, as this machine is busy (load " in told[-1]
    assert entry_of(checkpoint).told("choices") == {}

    told.clear()
    monkeypatch.setattr(choice, "load_average", lambda: None)
    chosen = choose(checkpoint, CPU, told.append)
    (known,) = entry_of(checkpoint).told("choices").values()
    assert {*known["seconds"]} == {"tensorflow", "onnxruntime", "openvino", "opencv"}
    assert chosen is quickest({EngineName(name): Timing(**timing) for name, timing in known["seconds"].items()})
    assert told[0] == "auto: measuring tensorflow, onnxruntime, openvino, opencv (about a minute)"
    assert told[-1].startswith(f"auto: takes {chosen.value} from now on; a picture takes tensorflow ")

    told.clear()
    network = open_network(checkpoint, CPU, told.append)
    assert network.runs_on.engine is chosen
    network.close()
    assert told == []

    monkeypatch.setattr(choice, "is_installed", of(ONNXRUNTIME, OPENCV))
    choose(checkpoint, CPU, told.append)
    assert told[0] == "auto: measuring onnxruntime, opencv (about a minute)"
    assert not list(entry_of(checkpoint).folder.glob(".*"))


def test_a_cache_that_cannot_be_written(
    checkpoint: Checkpoint, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing can be made below a file, whoever one is."""
    (tmp_path / "home").write_text("no folder")
    monkeypatch.setenv("SSD_DETECT_HOME", str(tmp_path / "home"))
    told: list[str] = []
    assert choose(checkpoint, CPU, told.append) is TENSORFLOW
    (line,) = told
    assert line.startswith(f"auto: takes tensorflow unmeasured: {tmp_path / 'home' / 'engines'}: cannot be written: ")
    assert "SSD_DETECT_HOME names another place" in line
    with pytest.raises(OutputError, match="SSD_DETECT_HOME names another place"):
        choose(checkpoint, replace(CPU, precision=Arithmetic.INT8), told.append)
    with pytest.raises(OutputError, match="SSD_DETECT_HOME names another place"):
        open_network(checkpoint, replace(CPU, engine=OPENCV))


def test_what_is_ready_needs_no_writing(
    checkpoint: Checkpoint, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    open_network(checkpoint, replace(CPU, engine=OPENCV)).close()
    made = entry_of(checkpoint).folder
    monkeypatch.setenv("SSD_DETECT_HOME", str(tmp_path))
    shutil.copytree(made, entry_of(checkpoint).folder)
    weights = entry_of(checkpoint).path("auto.safetensors")
    with held_alone(weights, folder=tmp_path / "engines"):
        (lock,) = (tmp_path / "engines").glob("*.lock")
    lock.mkdir()  # which nobody can write, whoever one is
    told: list[str] = []
    with closing(open_network(checkpoint, CPU, told.append)) as network:
        assert network.runs_on.engine is OPENCV
    (line,) = told
    assert line.startswith("auto: takes opencv unmeasured: ")
    entry_of(checkpoint).path(MODEL).unlink()
    assert choose(checkpoint, CPU, told.append) is TENSORFLOW


@pytest.mark.parametrize(
    ("precision", "device", "kind", "message"),
    [
        ("fp16", "auto", SettingError, "no engine computes with fp16 on the CPU; fp16 is computed by tensorflow"),
        ("tf32", "auto", SettingError, "no engine computes with tf32 on the CPU; tf32 is computed by"),
        ("float32", "gpu:0", DeviceError, "device gpu:0 is not there: this computer has no NVIDIA GPU; use --device"),
    ],
)
def test_what_needs_a_gpu_is_refused_without_measuring(
    precision: str, device: str, kind: type[Exception], message: str, checkpoint: Checkpoint, no_gpu: None
) -> None:
    told: list[str] = []
    settings = SessionSettings(Device.parse(device), engine=AUTO, precision=Arithmetic(precision))
    with pytest.raises(kind, match=message):
        choose(checkpoint, settings, told.append)
    assert told == []


@pytest.fixture
def no_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ssd_detect.doctor.hints.has_nvidia_gpu", lambda sources: False)


def test_none_works(checkpoint: Checkpoint, tmp_path: Path) -> None:
    """A device that is not there: in the words of those who looked for it."""
    settings = SessionSettings(Device("gpu", 99), engine=AUTO)
    told: list[str] = []
    with (
        pytest.raises(
            DeviceError, match=r"^no engine that is installed can do it: tensorflow: device gpu:99 is not"
        ) as e,
        weights_file(checkpoint, tmp_path / "w.safetensors") as weights,
    ):
        entry = prepare(checkpoint, OPENCV, lambda line: None)
        asked = {"entry": str(entry.folder), "model": MODEL, "weights": str(weights)}
        measured([TENSORFLOW, ONNXRUNTIME], settings, asked, told.append)
    assert "; onnxruntime: device gpu:99 is not there for onnxruntime" in str(e.value)
    assert "Error" not in str(e.value)
    assert told == []


@pytest.mark.slow
def test_what_fails_is_left_out(checkpoint: Checkpoint, tmp_path: Path) -> None:
    """Here a file that is no network, and weights that are none, each in its own process."""
    entry = prepare(checkpoint, OPENCV, lambda line: None)
    other = Entry(tmp_path / "key")
    other.made(MODEL, Path.touch)
    other.made(REFERENCE, lambda path: path.symlink_to(entry.path(REFERENCE)))
    told: list[str] = []
    with weights_file(checkpoint, other.path("weights.safetensors")) as weights:
        asked = {"entry": str(other.folder), "model": MODEL, "weights": str(weights)}
        timings = measured([TENSORFLOW, ONNXRUNTIME], CPU, asked, told.append)
    assert [*timings] == [TENSORFLOW]
    assert (timings[TENSORFLOW].call > 0.01, timings[TENSORFLOW].start > timings[TENSORFLOW].call) == (True, True)
    (line,) = told
    assert line.startswith("auto: onnxruntime is left out: engine onnxruntime cannot load the network on CPU: ")
