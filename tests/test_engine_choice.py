"""`auto`: what it takes of what it has measured, and when it measures anew."""

from collections.abc import Callable
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
from ssd_detect.errors import MissingPackageError
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
    ],
)
def test_quickest(timings: dict[EngineName, tuple[float, float]], expected: EngineName) -> None:
    assert quickest({engine: Timing(*numbers) for engine, numbers in timings.items()}) is expected


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


def test_a_new_version_is_another_condition(monkeypatch: pytest.MonkeyPatch) -> None:
    able = [TENSORFLOW, OPENCV]
    before = choice._condition(CPU, able)
    others = [
        choice._condition(replace(CPU, intra_op_threads=usable_cores() + 1), able),
        choice._condition(replace(CPU, device=Device("auto")), able),
        choice._condition(replace(CPU, precision=Arithmetic.BF16), able),
        choice._condition(CPU, [TENSORFLOW, OPENVINO]),
    ]
    monkeypatch.setattr(choice, "version_of", lambda engine: "99")
    others.append(choice._condition(CPU, able))
    monkeypatch.setattr(choice, "processor_id", lambda: "another")
    others.append(choice._condition(CPU, able))
    monkeypatch.setattr(choice, "usable_cores", lambda: 99)
    others.append(choice._condition(CPU, able))
    assert len({before, *others}) == 1 + len(others)


@pytest.mark.slow
def test_measures_once_and_takes_the_fastest(checkpoint: Checkpoint, monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[str] = []
    chosen = choose(checkpoint, CPU, told.append)
    (known,) = entry_of(checkpoint).told("choices").values()
    assert {*known["seconds"]} == {"tensorflow", "onnxruntime", "openvino", "opencv"}
    calls = {EngineName(name): timing["call"] for name, timing in known["seconds"].items()}
    assert calls[chosen] <= 1.03 * min(calls.values())
    assert told[0].startswith("auto: measuring tensorflow, onnxruntime, openvino, opencv (once")
    assert told[-1].startswith(f"auto: takes {chosen.value} from now on; a picture takes tensorflow ")

    told.clear()
    network = open_network(checkpoint, CPU, told.append)
    assert network.runs_on.engine is chosen
    network.close()
    assert told == []

    monkeypatch.setattr(choice, "is_installed", of(ONNXRUNTIME, OPENCV))
    monkeypatch.setattr(choice, "version_of", lambda engine: "99")
    choose(checkpoint, CPU, told.append)
    assert told[0].startswith("auto: measuring onnxruntime, opencv (once")


@pytest.mark.slow
def test_what_fails_is_left_out(checkpoint: Checkpoint, tmp_path: Path) -> None:
    """Here a file that is no network, and weights that are none, each in its own process."""
    entry = prepare(checkpoint, OPENCV, lambda line: None)
    other = Entry(tmp_path / "key")
    other.made(MODEL, Path.touch)
    other.made(REFERENCE, lambda path: path.symlink_to(entry.path(REFERENCE)))
    told: list[str] = []
    with weights_file(checkpoint) as weights:
        asked = {"entry": str(other.folder), "model": MODEL, "weights": str(weights)}
        timings = measured([TENSORFLOW, ONNXRUNTIME], CPU, asked, told.append)
    assert [*timings] == [TENSORFLOW]
    assert (timings[TENSORFLOW].call > 0.01, timings[TENSORFLOW].start > timings[TENSORFLOW].call) == (True, True)
    assert [line.split(" (")[0] for line in told] == ["auto: onnxruntime is left out: it ended with exit status 1"]
