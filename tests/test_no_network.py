"""Nothing but `checkpoints pull`, and addresses that the user gives, opens a network connection.

The kernel is the witness, so that native code is held to it too; that works on Linux only, and what is run is the same
everywhere.
"""

import signal
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import click
import pytest

from ssd_detect.cli.main import program
from tests.made_dataset import made_voc

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the filter of system calls is Linux's")

ROOT = Path(__file__).parent.parent
PICTURE = str(ROOT / "tests" / "media" / "chelsea.png")

# Verb -> command lines, given a clip and a folder to write to. A new verb belongs here, or it fails the test below.
RUNS: dict[str, Callable[[str, str], list[list[str]]]] = {
    "image": lambda clip, folder: [
        [PICTURE, "-o", folder, "--device", "cpu"],
        *([PICTURE, "-o", folder, "--overwrite", "--engine", one] for one in ("onnxruntime", "openvino", "opencv")),
        [PICTURE, "-o", folder, "--overwrite", "--engine", "openvino", "--precision", "int8"],  # calibrates first
    ],
    "video": lambda clip, folder: [[clip, f"{folder}/out.mp4", "--max-frames", "3", "--device", "cpu"]],
    "doctor": lambda clip, folder: [["--device", "cpu"], ["--quick", "--device", "cpu"]],
    "checkpoints": lambda clip, folder: [
        ["list"],
        ["verify"],
        ["path", "ssd_300_vgg_voc"],
        ["info", "ssd_300_vgg_voc", "--guess", PICTURE],
        ["convert", "ssd_300_vgg_voc", f"{folder}.safetensors", "--precision", "int8"],
        ["convert", "ssd_300_vgg_voc", f"{folder}.onnx"],
    ],
    "benchmark": lambda clip, folder: [
        ["--quick", "--runs", "2", "--compare", "--engine", "onnxruntime", "--device", "cpu"]
    ],
    "explain": lambda clip, folder: [[PICTURE, "--box", "1", "-o", f"{folder}/why.png", "--device", "cpu"]],
    "eval": lambda clip, folder: evaluations(Path(folder)),
    "dataset": lambda clip, folder: data_sets(Path(folder)),
}


def evaluations(folder: Path) -> list[list[str]]:
    """By the network, from what it kept and from what was saved, and a comparison."""
    voc, raw = str(made_voc(folder.with_name("voc"))), str(folder.with_name("raw.npz"))
    return [
        [voc, "-o", str(folder), "--keep-raw", raw, "--device", "cpu"],
        [voc, "--from-raw", raw],
        [voc, "--predictions", f"{folder}/detections.jsonl"],
        ["compare", str(folder), str(folder)],
    ]


def data_sets(folder: Path) -> list[list[str]]:
    """All that is done with one."""
    voc = str(made_voc(folder.with_name("voc")))
    return [["check", voc], ["stats", voc], ["convert", voc, str(folder), "--to", "coco"]]


def run(folder: Path, *arguments: str) -> tuple["subprocess.CompletedProcess[str]", str]:
    """The run, and what Python code in it asked of the network."""
    record = folder / "record"
    command = [sys.executable, "-m", "tests.no_network", str(record), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    return done, record.read_text() if record.exists() else ""


def test_every_verb_is_watched() -> None:
    assert set(RUNS) == set(program.list_commands(click.Context(program)))


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where no network is made ready for any engine, until the first of these tests needs it."""
    return tmp_path_factory.mktemp("home")


@pytest.mark.slow
@pytest.mark.parametrize("verb", RUNS)
def test_verbs(verb: str, clip: Path, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSD_DETECT_HOME", str(home))
    for number, arguments in enumerate(RUNS[verb](str(clip), str(tmp_path / "out"))):
        (tmp_path / str(number)).mkdir()
        done, asked = run(tmp_path / str(number), "ssd-detect", verb, *arguments)
        assert asked == ""
        assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.slow
def test_loading(tmp_path: Path) -> None:
    done, asked = run(tmp_path, "-c", "import ssd_detect\nwith ssd_detect.Detector() as d: print(d.checkpoint_name)")
    assert (done.returncode, asked) == (0, "")
    assert done.stdout == "ssd_300_vgg_voc\n"


@pytest.mark.slow
def test_engines_do_not_report_that_they_are_used(tmp_path: Path) -> None:
    """onnxruntime reports some seconds after its import; they wait for that side by side."""

    def imported(module: str) -> tuple[str, int, str, str]:
        (tmp_path / module).mkdir()
        start = "import time; from ssd_detect.environment import import_untracked\n"
        code = f"{start}import_untracked({module!r}); time.sleep(15); print('well')"
        done, asked = run(tmp_path / module, "-c", code)
        return module, done.returncode, done.stdout, asked

    modules = ("onnxruntime", "openvino")
    with ThreadPoolExecutor() as pool:
        assert [*pool.map(imported, modules)] == [(module, 0, "well\n", "") for module in modules]


PYTHON = "import socket; socket.create_connection(('127.0.0.1', 9))"


class TestTheWitness:
    """It sees a connection, whoever opens it."""

    def test_python(self, tmp_path: Path) -> None:
        done, asked = run(tmp_path, "-c", PYTHON)
        assert done.returncode == -signal.SIGSYS
        assert "socket.getaddrinfo" in asked

    def test_native(self, tmp_path: Path) -> None:
        done, asked = run(tmp_path, "-c", "import ctypes; ctypes.CDLL(None).socket(2, 1, 0)")
        assert (done.returncode, asked) == (-signal.SIGSYS, "")

    def test_ipv6_is_not_to_be_had(self, tmp_path: Path) -> None:
        done, _ = run(tmp_path, "-c", "import ctypes; print(ctypes.CDLL(None).socket(10, 1, 0))")
        assert (done.returncode, done.stdout) == (0, "-1\n")
        done, asked = run(tmp_path, "-c", "import socket; socket.create_connection(('::1', 9))")
        assert "socket.getaddrinfo" in asked
        assert "Address family not supported" in done.stderr

    def test_a_process_that_it_starts(self, tmp_path: Path) -> None:
        start = f"import subprocess, sys; print(subprocess.run([sys.executable, '-c', {PYTHON!r}]).returncode)"
        done, _ = run(tmp_path, "-c", start)
        assert done.stdout == f"{-signal.SIGSYS}\n"

    def test_a_thread(self, tmp_path: Path) -> None:
        code = f"import threading; threading.Thread(target=lambda: exec({PYTHON!r})).start()"
        assert run(tmp_path, "-c", code)[0].returncode == -signal.SIGSYS

    def test_pull(self, tmp_path: Path) -> None:
        done, asked = run(tmp_path, "ssd-detect", "checkpoints", "pull", "ssd300_vgg16_coco")
        assert done.returncode == -signal.SIGSYS
        assert asked

    def test_local_sockets_are_none_of_its_business(self, tmp_path: Path) -> None:
        done, asked = run(tmp_path, "-c", "import socket; socket.socketpair(); print('well')")
        assert (done.returncode, done.stdout, asked) == (0, "well\n", "")
