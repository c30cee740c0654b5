"""Bringing checkpoints here: checked before they have their name, once for all who ask, whatever is interrupted."""

import os
import random
import re
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import save

from ssd_detect.errors import CheckpointError, OutputError, SettingError
from ssd_detect.hashing import git_blob_of
from ssd_detect.model.manifest import DEFAULT_CHECKPOINT, manifest
from ssd_detect.store.listener import Listener
from ssd_detect.store.part import Part
from ssd_detect.store.pull import Pulled, PullSettings, pull, remove
from ssd_detect.store.verify import check_entry, check_path
from tests.checkpoint_server import Plan, Served
from tests.live_servers import http_server
from tests.made_manifests import ENTRY, add_entries, own_home

CONTENT = save({"x": np.frombuffer(random.Random(6).randbytes(300_000), np.uint8)})
OTHER = save({"x": np.frombuffer(random.Random(7).randbytes(310_000), np.uint8)})
HASH = sha256(CONTENT).hexdigest()
CHILD = [sys.executable, "-m", "ssd_detect", "checkpoints"]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    with own_home(tmp_path / "home", monkeypatch) as folder:
        yield folder


@contextmanager
def known(home: Path, served: Served, **changes: Any) -> Iterator[str]:
    """The entry `made`, at a server; the block gets its address."""
    with http_server({"/w": served}, served.stopped) as address:
        add_entries(home, {"made": {**ENTRY, "url": f"{address}/w", "sha256": HASH, **changes}})
        yield f"{address}/w"


def pulled(notes: list[str] | None = None, **settings: Any) -> Pulled:
    listener = Listener(on_note=notes.append if notes is not None else lambda line: None)
    return pull(manifest()["made"], PullSettings(timeout_seconds=5.0, **settings), listener)


def in_cache(home: Path) -> set[str]:
    folder = home / "checkpoints"
    return {path.name for path in folder.iterdir()} if folder.exists() else set()


class TestChecked:
    def test_by_sha256(self, home: Path) -> None:
        with known(home, Served(CONTENT)):
            result = pulled()
        assert (result.outcome, result.path) == ("fetched", home / "checkpoints" / "made.caffemodel")
        assert result.checked is not None
        assert result.checked.verdict == "good"
        assert result.path.read_bytes() == CONTENT
        assert in_cache(home) == {"made.caffemodel", "made.caffemodel.sha256"}
        note = (home / "checkpoints" / "made.caffemodel.sha256").read_text()
        assert note == f"{HASH}  made.caffemodel\n"

    def test_by_git_blob(self, home: Path, tmp_path: Path) -> None:
        (tmp_path / "x").write_bytes(CONTENT)
        blob = git_blob_of(tmp_path / "x")
        with known(home, Served(CONTENT), git_blob=blob) as url:
            add_entries(home, {"made": {**ENTRY, "url": url, "git_blob": blob}})
            assert pulled().checked == check_entry(manifest()["made"], home / "checkpoints" / "made.caffemodel")
            add_entries(home, {"made": {**ENTRY, "file": "b", "url": url, "git_blob": "0" * 40}})
            with pytest.raises(CheckpointError, match=f"git blob id is {blob}, expected {'0' * 40}; nothing was kept"):
                pulled()

    def test_a_wrong_file(self, home: Path) -> None:
        with known(home, Served(OTHER)) as url, pytest.raises(CheckpointError) as caught:
            pulled()
        actual = sha256(OTHER).hexdigest()
        words = f"is not made: its SHA-256 is {actual}, expected {HASH}; nothing was kept"
        assert str(caught.value) == f"{url}: {words}"
        assert in_cache(home) == set()

    def test_here_already(self, home: Path) -> None:
        with known(home, served := Served(CONTENT)):
            pulled()
            assert pulled().outcome == "was here"
        assert len(served.asked) == 1

    def test_damaged_since(self, home: Path) -> None:
        notes: list[str] = []
        with known(home, served := Served(CONTENT)):
            path = pulled().path
            path.write_bytes(OTHER)
            assert pulled(notes).outcome == "fetched"
        assert path.read_bytes() == CONTENT
        assert len(served.asked) == 2
        assert "damaged: its SHA-256 is" in notes[0]

    def test_what_ships_and_the_users_files_stay(self, home: Path) -> None:
        shipped = pull(manifest()[DEFAULT_CHECKPOINT], PullSettings(), Listener())
        assert (shipped.outcome, shipped.path) == ("was here", manifest()[DEFAULT_CHECKPOINT].file)
        with known(home, served := Served(CONTENT)):
            (home / "made.caffemodel").write_bytes(b"mine")
            assert pulled().path == home / "made.caffemodel"
        assert served.asked == []

    @pytest.mark.parametrize("timeout", [0.0, -1.0, float("nan"), 1e9])
    def test_settings(self, timeout: float) -> None:
        with pytest.raises(SettingError, match="expected a number above 0, at most 86400"):
            PullSettings(timeout_seconds=timeout)


class TestSources:
    def test_no_address(self, home: Path) -> None:
        add_entries(home, {"made": {**ENTRY, "by_hand": "Ann's desk"}})
        with pytest.raises(CheckpointError, match=r"made: has no address .*: get made.caffemodel by hand from Ann's"):
            pulled()
        add_entries(home, {"made": ENTRY})
        with pytest.raises(CheckpointError, match=r"made: cannot be fetched: put it to .*made.caffemodel, or correct"):
            pulled()

    def test_a_file(self, home: Path, tmp_path: Path) -> None:
        """Of a checkpoint that must be got by hand; no hash of it is known."""
        add_entries(home, {"made": {**ENTRY, "by_hand": "Ann's desk"}})
        (tmp_path / "brought").write_bytes(CONTENT)
        result = pulled(given=str(tmp_path / "brought"))
        assert result.path.read_bytes() == CONTENT
        assert result.checked is not None
        assert result.checked.verdict == "unknown"
        assert (tmp_path / "brought").read_bytes() == CONTENT

    def test_a_wrong_file(self, home: Path, tmp_path: Path) -> None:
        (tmp_path / "brought").write_bytes(OTHER)
        with known(home, served := Served(CONTENT)), pytest.raises(CheckpointError, match="brought: is not made"):
            pulled(given=str(tmp_path / "brought"))
        assert served.asked == []
        assert in_cache(home) == set()

    @pytest.mark.parametrize(
        ("given", "words"),
        [
            ("gone", "no such file, expected the checkpoint or its address"),
            (".", "is a folder, expected the checkpoint's file or its address"),
            ("pipe", "is a pipe, expected"),
            ("ftp://example.org/w", "expected a file, or an address with http:// or https://"),
        ],
    )
    def test_no_file(self, given: str, words: str, home: Path, in_an_empty_folder: None) -> None:
        if given == "pipe":
            os.mkfifo(given)
        add_entries(home, {"made": {**ENTRY, "by_hand": "Ann's desk"}})
        with pytest.raises(CheckpointError, match=rf"^{re.escape(given)}: {words}"):
            pulled(given=given)

    def test_a_mirror(self, home: Path) -> None:
        with known(home, first := Served(OTHER)), http_server({"/m": Served(CONTENT)}) as mirror:
            assert pulled(given=f"{mirror}/m").path.read_bytes() == CONTENT
        assert first.asked == []

    def test_the_next_address(self, home: Path) -> None:
        notes: list[str] = []
        gone, wrong, good = Served(CONTENT, plans=[Plan(status=404)]), Served(OTHER), Served(CONTENT)
        with http_server({"/gone": gone, "/wrong": wrong, "/good": good}) as address:
            urls = [f"{address}/{name}" for name in ("gone", "wrong", "good")]
            add_entries(home, {"made": {**ENTRY, "url": urls, "sha256": HASH}})
            assert pulled(notes).path.read_bytes() == CONTENT
        assert [note.rpartition("; ")[2] for note in notes] == ["trying the next address"] * 2


class TestUnverified:
    def test_refused(self, home: Path) -> None:
        with known(home, served := Served(CONTENT)) as url:
            add_entries(home, {"made": {**ENTRY, "url": url}})
            with pytest.raises(CheckpointError, match=r"nobody has published a hash .* use --accept-unverified"):
                pulled()
        assert served.asked == []

    def test_accepted_once_and_checked_ever_after(self, home: Path) -> None:
        with known(home, served := Served(CONTENT)) as url:
            add_entries(home, {"made": {**ENTRY, "url": url}})
            result = pulled(accept_unverified=True)
            assert result.checked is not None
            assert (result.checked.verdict, result.checked.sha256) == ("unknown", HASH)
            assert check_entry(manifest()["made"], result.path).verdict == "good"
            result.path.write_bytes(OTHER[:-1])
            assert check_entry(manifest()["made"], result.path).verdict == "bad"
            served.content, served.version = OTHER, '"two"'
            with pytest.raises(CheckpointError, match=rf"as noted when it was first fetched, is .*, expected {HASH}"):
                pulled(accept_unverified=True)
            remove(manifest()["made"])
            assert pulled(accept_unverified=True).path.read_bytes() == OTHER

    @pytest.mark.parametrize("note", ["", "\n", "\xff"])
    def test_a_note_that_makes_no_sense(self, note: str, home: Path) -> None:
        with known(home, Served(CONTENT)) as url:
            add_entries(home, {"made": {**ENTRY, "url": url}})
            path = pulled(accept_unverified=True).path
            path.with_name(path.name + ".sha256").write_bytes(note.encode("latin-1"))
            assert check_entry(manifest()["made"], path).verdict == "unknown"

    def test_a_web_page_is_no_checkpoint_even_so(self, home: Path, tmp_path: Path) -> None:
        page = tmp_path / "page"
        page.write_text("<!DOCTYPE html><html><body>Google Drive: quota exceeded</body></html>")
        add_entries(home, {"made": {**ENTRY, "url": "http://127.0.0.1:9/w"}})
        with pytest.raises(CheckpointError, match=r"page: is no checkpoint \(.*page.*\); nothing was kept"):
            pulled(given=str(page))
        assert in_cache(home) <= {"made.caffemodel.lock"}


class TestCheckPath:
    def test_any_file(self, home: Path, tmp_path: Path) -> None:
        (tmp_path / "x").write_bytes(CONTENT)
        assert check_path(tmp_path / "x").verdict == "unknown"
        add_entries(home, {"made": {**ENTRY, "sha256": HASH}})
        checked = check_path(tmp_path / "x")
        assert (checked.name, checked.verdict, checked.words) == (str(tmp_path / "x"), "good", "is made")

    def test_none(self, tmp_path: Path) -> None:
        with pytest.raises(CheckpointError, match="no such checkpoint"):
            check_path(tmp_path / "gone")


class TestRemove:
    def test_fetched(self, home: Path) -> None:
        with known(home, Served(CONTENT)):
            pulled()
            assert remove(manifest()["made"]) == len(CONTENT)
        assert in_cache(home) == set()
        with pytest.raises(CheckpointError, match="made: is not in the cache"):
            remove(manifest()["made"])

    def test_half_fetched(self, home: Path) -> None:
        with known(home, Served(CONTENT)):
            part = Part(home / "checkpoints" / "made.caffemodel")
            part.target.parent.mkdir()
            part.begin("x", "y")
            part.path.write_bytes(b"abc")
            assert remove(manifest()["made"]) == 3
        assert in_cache(home) == set()

    def test_never_what_was_not_fetched(self, home: Path) -> None:
        with pytest.raises(CheckpointError, match="is shipped, and only fetched checkpoints are removed"):
            remove(manifest()[DEFAULT_CHECKPOINT])
        with known(home, Served(CONTENT)):
            (home / "made.caffemodel").write_bytes(b"mine")
            with pytest.raises(CheckpointError, match="is yours, and only"):
                remove(manifest()["made"])
        assert (home / "made.caffemodel").read_bytes() == b"mine"


@contextmanager
def unprivileged(*open_folders: Path) -> Iterator[None]:
    """Inside the block permissions count, also for a superuser, who loses them; these folders can be looked into."""
    user, modes = os.geteuid(), {folder: stat.S_IMODE(folder.stat().st_mode) for folder in open_folders}
    for folder, mode in modes.items():
        folder.chmod(mode | 0o055)
    if user == 0:
        os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(user)
        for folder, mode in modes.items():
            folder.chmod(mode)


@pytest.mark.skipif(sys.platform == "win32", reason="permissions of folders are other there")
@pytest.mark.parametrize("has_cache", [False, True])
def test_a_cache_that_cannot_be_written(has_cache: bool, home: Path, tmp_path: Path) -> None:
    folder = home / "checkpoints" if has_cache else home
    folder.mkdir(exist_ok=True)
    folder.chmod(0o555)
    with http_server({"/w": (served := Served(CONTENT))}) as address:
        cached = home / "checkpoints" / "x.pth"
        entry = replace(manifest()["ssd300_vgg16_coco"], file=cached, cached=cached, urls=(f"{address}/w",))
        with (
            unprivileged(*tmp_path.parents[:2], tmp_path, home),
            pytest.raises(OutputError, match=r"cannot be written: Permission denied"),
        ):
            pull(entry, PullSettings(), Listener())
    folder.chmod(0o755)
    assert served.asked == []


class TestProcesses:
    def test_four_at_once_fetch_once(self, home: Path) -> None:
        content = random.Random(8).randbytes(1 << 20)
        served = Served(content, plans=[Plan(pause=0.4)])
        with known(home, served, sha256=sha256(content).hexdigest()):
            command = [*CHILD, "pull", "made"]
            children = [
                subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for _ in range(4)
            ]
            outputs = [child.communicate(timeout=100) for child in children]
        assert [child.returncode for child in children] == [0] * 4, outputs
        assert len(served.asked) == 1
        assert sorted("fetched" in out for out, _ in outputs) == [False] * 3 + [True]
        assert any("made: another process is fetching it; waiting for its end" in err for _, err in outputs)
        assert in_cache(home) == {"made.caffemodel", "made.caffemodel.sha256"}

    @pytest.mark.parametrize(
        ("served", "words"),
        [
            (Served(CONTENT, None, plans=[Plan(stall=200_000)]), "The server does not let a transfer go on; the same"),
            (Served(CONTENT, plans=[Plan(stall=200_000, headers={"Accept-Ranges": "none"})]), "The server does not"),
            (Served(CONTENT, has_ranges=False, plans=[Plan(stall=200_000)]), "goes on from there if the server allows"),
            (Served(CONTENT, plans=[Plan(stall=0)]), "Interrupted."),
        ],
    )
    def test_what_is_promised_is_true(self, served: Served, words: str, home: Path) -> None:
        with known(home, served):
            child = subprocess.Popen([*CHILD, "pull", "made"], stderr=subprocess.PIPE, text=True)
            part = Part(home / "checkpoints" / "made.caffemodel")
            wanted = served.plans[0].stall or 0
            end = time.monotonic() + 60
            while (part.size < wanted - 50_000 or not served.asked) and time.monotonic() < end:
                time.sleep(0.05)
            child.send_signal(signal.SIGINT)
            _, err = child.communicate(timeout=60)
        assert child.returncode == 130
        assert words in err.strip().split("\n")[0]

    @pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGKILL, -9)])
    def test_stopped_and_gone_on_with(self, number: signal.Signals, status: int, home: Path) -> None:
        served = Served(CONTENT, plans=[Plan(stall=200_000), Plan()])
        with known(home, served):
            child = subprocess.Popen([*CHILD, "pull", "made"], stderr=subprocess.PIPE, text=True)
            part = Part(home / "checkpoints" / "made.caffemodel")
            end = time.monotonic() + 60
            while part.size < 150_000 and time.monotonic() < end:
                time.sleep(0.05)
            child.send_signal(number)
            _, err = child.communicate(timeout=60)
            assert child.returncode == status
            if number is signal.SIGINT:
                assert err.split("\n")[0] == "What has come is kept; the same command goes on from there."
                assert err.endswith("\nInterrupted.\n")
            assert not part.target.exists()
            assert pulled().path.read_bytes() == CONTENT
        assert served.ranges[1] is not None
        assert in_cache(home) == {"made.caffemodel", "made.caffemodel.sha256"}
