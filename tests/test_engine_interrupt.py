"""Ctrl-C and SIGTERM while a network is made ready: at an end soon, and nothing is left."""

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from ssd_detect.conventions import EngineName
from ssd_detect.engines.converted import prepare
from ssd_detect.model.checkpoint import load_checkpoint
from ssd_detect.settings import CheckpointSettings

PICTURES = [str(Path(__file__).parent / "media" / f"{name}.png") for name in ("astronaut", "chelsea")]
MOST_SECONDS = 5.0  # a step takes two of them on an idle machine

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="asks /proc for child processes")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with the network of the shipped checkpoint, proved for no engine yet."""
    home = tmp_path_factory.mktemp("home")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SSD_DETECT_HOME", str(home))
        prepare(load_checkpoint(CheckpointSettings("ssd_300_vgg_voc")), EngineName.OPENCV, lambda line: None)
    return home


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize(
    ("engine", "words", "seconds"),
    [
        ("opencv", "making", 0.3),
        ("opencv", "making", 4.0),  # TensorFlow computes the reference
        pytest.param("opencv", "proving", 0.5, marks=pytest.mark.slow),
        pytest.param("auto", "measuring", 5.0, marks=pytest.mark.slow),
    ],
)
def test_is_obeyed_at_once(
    engine: str, words: str, seconds: float, number: int, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    home, output = tmp_path / "home", tmp_path / "out"
    if words != "making":
        shutil.copytree(request.getfixturevalue("made"), home)
    command = [sys.executable, "-m", "ssd_detect", "image", *PICTURES, "-o", str(output), "--engine", engine]
    process = subprocess.Popen(
        [*command, "--device", "cpu"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "SSD_DETECT_HOME": str(home)},
    )
    assert process.stderr is not None
    next(line for line in process.stderr if words in line)
    time.sleep(seconds)
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    process.send_signal(number)
    started = time.monotonic()
    out, err = process.communicate(timeout=60)
    assert time.monotonic() - started < MOST_SECONDS
    assert (process.returncode, out, err.strip()) == (130, "", "Interrupted.")
    assert not [child for child in children if is_running(child)]
    assert not output.exists()
    left = [path for path in (home / "engines").rglob("*") if path.is_file()]
    if (
        words != "measuring"
    ):  # what an engine was writing that is killed there goes when a network is made the next time
        assert {path.name for path in left} <= {"model.onnx", "reference.npz", "record.json"}, left
    assert not [path for path in left if path.name.startswith("auto")]
    if words == "making" and seconds < 1:
        assert not list((home / "engines").glob("*"))  # on a busy machine not even the folder is there yet


def is_running(process: str) -> bool:
    """Not where it is gone, or dead and waits for somebody to take notice, which is the business of the system."""
    try:
        return "State:\tZ" not in Path(f"/proc/{process}/status").read_text()
    except OSError:
        return False
