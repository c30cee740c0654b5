"""What several tests need: the golden numbers, seeded checkpoints, and detectors that are made once."""

import atexit
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from ssd_detect.locks import held_alone
from tests.clips import H264, SOUND, ffmpeg, pictures

if TYPE_CHECKING:
    from ssd_detect.detector import Detector
    from tests.kept_networks import KeptNetworks
    from tests.video_runs import Looker

TESTS = Path(__file__).parent
MEDIA = TESTS / "media"

# Neither a developer's own lists of checkpoints nor what they have fetched reach the tests. Set before any module of
# tests is imported, since some ask the manifest then.
_HOME_OF_NOBODY = tempfile.mkdtemp(prefix="ssd-detect-home-")
atexit.register(shutil.rmtree, _HOME_OF_NOBODY, ignore_errors=True)
os.environ["SSD_DETECT_HOME"] = _HOME_OF_NOBODY

# A script starts its background processes with SIGINT ignored, which Python keeps and every child inherits: those that
# tests interrupt would go on.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def media() -> Path:
    return MEDIA


@pytest.fixture(scope="session")
def clip(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two seconds of 64x48 at 30 frames/s with AAC sound."""
    return ffmpeg(f"{pictures()} {SOUND} {H264} -c:a aac", tmp_path_factory.mktemp("clips") / "clip.mp4")


@pytest.fixture
def in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Relative paths of a test, and what it leaves, are in `tmp_path`."""
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def empty_home(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """No network is made ready here for any engine, whatever other tests have left in the home that all share."""
    with tempfile.TemporaryDirectory(prefix="ssd-detect-home-", ignore_cleanup_errors=True) as home:
        monkeypatch.setenv("SSD_DETECT_HOME", home)
        yield Path(home)


@pytest.fixture
def looker(monkeypatch: pytest.MonkeyPatch) -> "Looker":
    """Stands in for the network of every `ssd-detect video` in this process."""
    from tests.video_runs import Looker

    stand_in = Looker()
    monkeypatch.setattr("ssd_detect.cli.startup.open_detector", stand_in.open)
    return stand_in


@pytest.fixture(scope="session")
def golden() -> Callable[[int], dict[str, Any]]:
    """Size -> the arrays that the reference implementation computed."""

    def load(size: int) -> dict[str, Any]:
        with np.load(TESTS / "golden" / f"golden-{size}.npz") as arrays:
            return dict(arrays)

    return load


@pytest.fixture(scope="session")
def made_for_all(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that all processes of this run of the tests share."""
    own = tmp_path_factory.getbasetemp()
    folder = (own.parent if "PYTEST_XDIST_WORKER" in os.environ else own) / "made-for-all"
    folder.mkdir(exist_ok=True)
    return folder


@pytest.fixture(scope="session")
def seeded_checkpoint(made_for_all: Path) -> Callable[[int], Path]:
    """Size -> prefix of a TensorFlow checkpoint with seeded weights, written in a process of its own."""

    def prefix(size: int) -> Path:
        path = made_for_all / f"ssd_{size}_vgg.ckpt"
        with held_alone(path, on_wait=lambda: None):
            if not path.with_name(path.name + ".index").exists():
                script = TESTS / "golden" / "seeded.py"
                subprocess.run([sys.executable, script, str(size), path], check=True, capture_output=True)
        return path

    return prefix


@pytest.fixture(scope="session")
def detector() -> Iterator["Detector"]:
    """The shipped checkpoint with the default settings."""
    from ssd_detect.detector import Detector

    with Detector() as shipped:
        yield shipped


@pytest.fixture(scope="session")
def kept_networks() -> Iterator["KeptNetworks"]:
    from tests.kept_networks import KeptNetworks

    kept = KeptNetworks()
    yield kept
    kept.close()


@pytest.fixture
def networks_kept_open(kept_networks: "KeptNetworks", monkeypatch: pytest.MonkeyPatch) -> None:
    """Every `Detector` of this process borrows its network, where the test is of what is done before and after it."""
    monkeypatch.setattr("ssd_detect.detector.open_network", kept_networks.open)


@pytest.fixture(scope="module")
def source_kept_open(kept_networks: "KeptNetworks") -> Iterator[None]:
    """The proofs of a module's conversions run the source once for all; what was written they run each."""
    from ssd_detect.settings import Device, SessionSettings

    on_cpu = SessionSettings(Device("cpu"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            "ssd_detect.model.conversion.proof.open_session", lambda source: kept_networks.open(source, on_cpu)
        )
        yield


@pytest.fixture(scope="session")
def seeded_variables() -> dict[str, Any]:
    """Seeded SSD300 variables by their full names."""
    import seeded

    variables: dict[str, Any] = seeded.seeded_variables(300)
    return variables
