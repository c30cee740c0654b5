"""The wheel: built from the tree, it detects outside it with no other file."""

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    # hatchling itself, without pip's isolated build environment, which would need the network.
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    (built,) = folder.glob("*.whl")
    return built


def test_contents(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    for path in (ROOT / "ssd_detect").rglob("*"):
        if path.is_file() and "__pycache__" not in path.parts:
            assert str(path.relative_to(ROOT)) in names
    assert {f"ssd_detect/checkpoints/{p.name}" for p in (ROOT / "checkpoints").iterdir()} <= names
    assert any(name.endswith("licenses/LICENSE") for name in names)


@pytest.mark.slow
def test_detects_outside_the_tree(wheel: Path, tmp_path: Path, media: Path) -> None:
    """Unpacked (as pip does) into a folder of its own, with the installed dependencies but not this checkout."""
    zipfile.ZipFile(wheel).extractall(tmp_path / "site")
    code = (
        "import sys, ssd_detect.cli.main as main\n"
        "assert main.__file__.startswith(sys.argv.pop(1)), main.__file__\n"
        "main.main()"
    )
    environment = os.environ | {"PYTHONPATH": str(tmp_path / "site")}
    command = [sys.executable, "-c", code, str(tmp_path / "site"), "image", str(media / "astronaut.png")]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("person 0.9")
    assert (tmp_path / "astronaut_detections.png").exists()
