"""`--engine`, `--precision` and `--calibrate` on the command line, with the checkpoint that ships."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from ssd_detect.cli.main import program
from ssd_detect.conventions import EngineName
from ssd_detect.environment import import_untracked
from ssd_detect.settings import Device, SessionSettings
from tests.noted_choices import note_choice

PICTURE = Path(__file__).parent / "media" / "astronaut.png"
ENGINES = ("onnxruntime", "openvino", "opencv")

# Runs the program, and then says which part of TensorFlow it has imported.
RUN = """
import sys
from ssd_detect.cli.main import program
from ssd_detect.environment import import_untracked
status = program(sys.argv[1:], prog_name="ssd-detect", standalone_mode=False)
print("imported:", [m for m in ("tensorflow", "keras", "h5py") if m in sys.modules], "status:", int(status or 0))
"""


def run(*arguments: object) -> "subprocess.CompletedProcess[str]":
    """In a process of its own, on the CPU."""
    command = [sys.executable, "-c", RUN, *map(str, arguments), "--device", "cpu"]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def rows(stdout: str) -> list[tuple[str, list[float]]]:
    """Class, and score and box, of each line of a detection."""
    found = [line.split() for line in stdout.splitlines() if re.match(r"\w+ 0\.\d", line)]
    return [(name, [float(number) for number in numbers]) for name, *numbers in found]


@pytest.fixture(scope="module")
def by_tensorflow(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[str, list[float]]]:
    done = run("image", PICTURE, "-o", tmp_path_factory.mktemp("tensorflow"))
    assert "imported: ['tensorflow'" in done.stdout
    return rows(done.stdout)


@pytest.mark.parametrize("engine", [ENGINES[0], *(pytest.param(one, marks=pytest.mark.slow) for one in ENGINES[1:])])
def test_finds_the_same_without_tensorflow(
    engine: str, by_tensorflow: list[tuple[str, list[float]]], tmp_path: Path
) -> None:
    done = run("image", PICTURE, "-o", tmp_path, "--engine", engine, "-v")
    assert "imported: [] status: 0" in done.stdout, done.stdout + done.stderr
    found = rows(done.stdout)
    assert [name for name, _ in found] == [name for name, _ in by_tensorflow]
    for (_, numbers), (_, expected) in zip(found, by_tensorflow, strict=True):
        assert numbers == pytest.approx(expected, abs=0.11)
        assert numbers[0] == pytest.approx(expected[0], abs=0.0011)
    assert re.search(rf"20 classes, on CPU \({engine} [\d.]+\)", done.stderr), done.stderr
    again = run("image", PICTURE, "-o", tmp_path, "--overwrite", "--engine", engine)
    assert again.stderr == ""  # all is ready


def test_results_tell_the_precision(tmp_path: Path) -> None:
    openvino = import_untracked("openvino")
    done = run("image", PICTURE, "-o", tmp_path, "--engine", "openvino", "--precision", "bf16", "-f", "json")
    if "BF16" not in openvino.Core().get_property("CPU", "OPTIMIZATION_CAPABILITIES"):
        assert "DeviceError: precision bf16 needs a processor with" in done.stderr
        return
    (path,) = tmp_path.glob("*.json")
    assert json.loads(path.read_text())["arithmetic"] == "bf16", done.stderr


@pytest.mark.parametrize(
    ("options", "status", "message"),
    [
        (("--precision", "int8"), 2, "engine tensorflow does not compute with int8, expected one of float32, tf32"),
        (
            ("--engine", "opencv", "--precision", "bf16"),
            2,
            "bf16 is computed by tensorflow (on the CPU and on GPUs), openvino (on the CPU only)",
        ),
        (("--engine", "openvino", "--device", "gpu"), 2, "engine openvino runs on the CPU only, not on device gpu:0"),
        (("--calibrate", str(PICTURE.parent)), 2, "calibration pictures are for precision int8"),
        (("--engine", "onnxruntime", "--device", "gpu:9"), 1, "onnxruntime"),
    ],
)
@pytest.mark.parametrize("verb", ["image", "explain"])
def test_errors(verb: str, options: tuple[str, ...], status: int, message: str, tmp_path: Path) -> None:
    arguments = [verb, str(PICTURE), "-o", str(tmp_path / "out.png"), *options]
    if verb == "explain":
        arguments += ["--box", "1"]
    done = CliRunner().invoke(program, arguments)
    assert (done.exit_code, done.stdout) == (status, ""), done.output
    assert message in done.stderr
    assert done.stderr.count("\n") == 1


def test_without_effect_where_no_network_runs(tmp_path: Path) -> None:
    arguments = ["eval", str(tmp_path), "--from-raw", "a", "--engine", "opencv", "--precision", "float32"]
    done = CliRunner().invoke(program, arguments)
    assert done.exit_code == 2
    assert "--engine, --precision: without effect with --from-raw" in done.stderr


@pytest.mark.usefixtures("empty_home")
def test_auto_says_nothing_of_its_own_when_it_takes_tensorflow(tmp_path: Path) -> None:
    """Which greets on the error stream."""
    note_choice(SessionSettings(Device("cpu"), engine=EngineName.AUTO), EngineName.TENSORFLOW)
    done = run("image", PICTURE, "-o", tmp_path, "--engine", "auto")
    assert "imported: ['tensorflow'" in done.stdout
    assert done.stderr == ""
