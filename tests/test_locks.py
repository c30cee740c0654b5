"""The lock that keeps two runs apart."""

import errno
import subprocess
import sys
from pathlib import Path

import pytest

from ssd_detect import locks
from ssd_detect.errors import OutputError
from ssd_detect.locks import held_alone

HOLD = """
import sys
from pathlib import Path
from ssd_detect.locks import held_alone
with held_alone(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""

HOLD_IN_FOLDER = HOLD.replace("(sys.argv[1])", "(sys.argv[1]), folder=Path(sys.argv[2])")


@pytest.fixture(autouse=True)
def _own_temporary_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))


def test_one_place_at_a_time(tmp_path: Path) -> None:
    place = tmp_path / "new" / "out.mp4"
    with held_alone(place), held_alone(tmp_path / "other.mp4"):
        for same in (place, tmp_path / "new" / ".." / "new" / "out.mp4"):
            with pytest.raises(OutputError, match=r"out.mp4: another run is writing it"), held_alone(same):
                pass
    with held_alone(place):
        pass
    assert [*(tmp_path / "temporary").iterdir()] == []


@pytest.mark.skipif(sys.platform == "win32", reason="it cannot be removed there while it is open")
@pytest.mark.parametrize("end", ["killed", "ended"])
def test_a_process_that_is_gone_holds_nothing(end: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path / "temporary"))
    place = tmp_path / "out.mp4"
    command = [sys.executable, "-c", HOLD, str(place)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == "held\n"
        with pytest.raises(OutputError, match="another run"), held_alone(place):
            pass
        if end == "killed":
            child.kill()
        child.communicate(timeout=60)
    with held_alone(place):
        pass


def test_no_place_for_temporary_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "gone"))
    with pytest.raises(OutputError, match="cannot be written: No such file or directory"), held_alone(tmp_path):
        pass


def test_a_file_system_without_locks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(file: int) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(locks, "_lock", refuse)
    for on_wait in (None, lambda: pytest.fail("nobody is to be waited for")):
        with (
            pytest.raises(OutputError, match="cannot be locked, as its file system may not know locks: No locks"),
            held_alone(tmp_path, folder=tmp_path, on_wait=on_wait),
        ):
            pass


@pytest.mark.skipif(sys.platform == "win32", reason="it cannot be removed there while it is open")
def test_waiting_for_another_process(tmp_path: Path) -> None:
    place, told = tmp_path / "out.mp4", []
    command = [sys.executable, "-c", HOLD_IN_FOLDER, str(place), str(tmp_path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdin is not None
        assert child.stdout is not None
        assert child.stdout.readline() == "held\n"
        with pytest.raises(OutputError, match="another run"), held_alone(place, folder=tmp_path):
            pass

        def let_go() -> None:
            told.append("waiting")
            child.communicate(timeout=60)

        with held_alone(place, folder=tmp_path, on_wait=let_go):
            assert [path.suffix for path in tmp_path.iterdir() if path.is_file()] == [".lock"]
    assert told == ["waiting"]
    with held_alone(place, folder=tmp_path, on_wait=lambda: told.append("for nobody")):
        pass
    assert told == ["waiting"]
    assert [path for path in tmp_path.iterdir() if path.is_file()] == []
