"""The engines' cache: files made once, whole, noticed when damaged; keys that tell networks apart."""

import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from ssd_detect.arrays import Floats
from ssd_detect.conventions import AnchorClip, ResizeRule
from ssd_detect.engines import converted
from ssd_detect.engines.converted import entry_of, key_of
from ssd_detect.engines.entry import Entry
from ssd_detect.engines.superseded import NETWORK_DIGITS
from ssd_detect.errors import OutputError
from ssd_detect.model.checkpoint import Checkpoint, load_checkpoint
from ssd_detect.settings import CheckpointSettings

NAME = "m.bin"


class Writer:
    """Writes the same content each time, and counts."""

    def __init__(self) -> None:
        self.count = 0

    def __call__(self, path: Path) -> None:
        self.count += 1
        path.write_bytes(b"weights" * 100)


@pytest.fixture
def entry(tmp_path: Path) -> Entry:
    return Entry(tmp_path / "cache" / "key")


class TestMade:
    def test_once(self, entry: Entry) -> None:
        write = Writer()
        assert not entry.has(NAME)
        for _ in range(3):
            assert entry.made(NAME, write).read_bytes() == b"weights" * 100
        assert write.count == 1
        assert sorted(path.name for path in entry.folder.iterdir()) == [NAME, "record.json"]
        assert [path.name for path in entry.folder.parent.iterdir()] == ["key"]  # no lock is left

    @pytest.mark.parametrize(
        "damage",
        [
            lambda path: path.unlink(),
            lambda path: path.write_bytes(b""),
            lambda path: path.write_bytes(path.read_bytes()[:-1]),
            lambda path: path.write_bytes(b"W" + path.read_bytes()[1:]),
            lambda path: (path.unlink(), path.mkdir())[0],
        ],
    )
    def test_anew_when_damaged(self, entry: Entry, damage: Callable[[Path], None]) -> None:
        write = Writer()
        path = entry.made(NAME, write)
        os.utime(path, (1, 1))  # a coarse clock could give what follows the same time
        damage(path)
        assert not entry.has(NAME)
        if path.is_dir():
            path.rmdir()
        assert entry.made(NAME, write).read_bytes() == b"weights" * 100
        assert write.count == 2

    def test_not_anew_when_only_its_time_is_another(self, entry: Entry) -> None:
        """As after a copy of the cache."""
        write = Writer()
        os.utime(entry.made(NAME, write), (1, 1))
        entry.made(NAME, write)
        assert write.count == 1

    @pytest.mark.parametrize("content", ["", "{", "[]", '{"files": 3}', "\0"])
    def test_anew_when_the_record_is_damaged(self, entry: Entry, content: str) -> None:
        write = Writer()
        entry.made(NAME, write)
        entry.path("record.json").write_text(content)
        entry.made(NAME, write)
        assert write.count == 2
        assert entry.has(NAME)

    def test_nothing_of_a_failure_is_left(self, entry: Entry) -> None:
        def fail(path: Path) -> None:
            path.write_bytes(b"half")
            raise RuntimeError("full")

        with pytest.raises(RuntimeError):
            entry.made(NAME, fail)
        assert list(entry.folder.iterdir()) == []

    def test_what_a_killed_run_has_left_goes(self, entry: Entry) -> None:
        entry.folder.mkdir(parents=True)
        left = entry.path(".m.0123abcd.bin")
        left.write_bytes(b"half")
        entry.made(NAME, Writer())
        assert not left.exists()

    def test_no_place(self, tmp_path: Path) -> None:
        (tmp_path / "file").write_bytes(b"")
        with pytest.raises(OutputError, match="cannot be written"):
            Entry(tmp_path / "file" / "key").made(NAME, Writer())

    def test_by_one_of_two_processes_at_once(self, entry: Entry, tmp_path: Path) -> None:
        log = tmp_path / "log"
        code = (
            "import sys, time; from pathlib import Path; from ssd_detect.engines.entry import Entry\n"
            "log, folder = map(Path, sys.argv[1:])\n"
            "def write(path):\n"
            "    log.open('a').write('made\\n'); time.sleep(0.5); path.write_bytes(b'x')\n"
            f"Entry(folder, lambda: log.open('a').write('waits\\n')).made({NAME!r}, write)"
        )
        running = [subprocess.Popen([sys.executable, "-c", code, str(log), str(entry.folder)]) for _ in range(3)]
        assert [process.wait(60) for process in running] == [0, 0, 0]
        assert log.read_text().split().count("made") == 1
        assert entry.has(NAME)

    def test_waiting_is_told(self, entry: Entry, tmp_path: Path) -> None:
        told: list[str] = []
        code = (
            "import sys, time; from pathlib import Path; from ssd_detect.locks import held_alone\n"
            "folder = Path(sys.argv[1]); folder.mkdir(parents=True)\n"
            "with held_alone(folder, folder=folder.parent):\n"
            "    print('held', flush=True); time.sleep(0.5)"
        )
        command = [sys.executable, "-c", code, str(entry.folder)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as holder:
            assert holder.stdout is not None
            holder.stdout.readline()
            replace(entry, on_wait=lambda: told.append("waits")).made(NAME, Writer())
        assert told == ["waits"]


class TestRemove:
    def test_nothing(self, entry: Entry) -> None:
        entry.made(NAME, Writer())
        entry.remove(["gone.bin"])
        assert entry.has(NAME)

    def test_files_and_folders(self, entry: Entry) -> None:
        write = Writer()
        for name in (NAME, "other.bin"):
            entry.made(name, write)
        entry.path("folder").mkdir()
        entry.path("folder").joinpath("1.blob").touch()
        entry.remove([NAME, "folder"])
        assert sorted(path.name for path in entry.folder.iterdir()) == ["other.bin", "record.json"]
        assert (entry.has(NAME), entry.has("other.bin"), [*entry.told("files")]) == (False, True, ["other.bin"])


class TestRecord:
    def test_there_and_back(self, entry: Entry) -> None:
        assert entry.told("proofs") == {}
        entry.note("proofs", "a b", {"scores": 1e-6})
        entry.note("choices", "c", {"engine": "opencv"})
        entry.note("proofs", "d", {})
        entry.note("a later version's", "e", 1)
        entry.note("proofs", "d", {})
        assert entry.told("a later version's") == {"e": 1}
        assert entry.told("proofs") == {"a b": {"scores": 1e-6}, "d": {}}
        assert entry.told("choices") == {"c": {"engine": "opencv"}}


@pytest.fixture(scope="module")
def shipped() -> Checkpoint:
    return load_checkpoint(CheckpointSettings("ssd_300_vgg_voc"))


class TestKey:
    def test_is_the_same_each_time(self, shipped: Checkpoint) -> None:
        assert key_of(shipped) == key_of(load_checkpoint(CheckpointSettings("ssd_300_vgg_voc")))
        assert entry_of(shipped).folder.name == key_of(shipped)

    def test_differs_for_every_other_network(self, shipped: Checkpoint) -> None:
        spec = shipped.spec
        others = [
            replace(shipped, sha256="ab" * 32),
            replace(shipped, spec=replace(spec, mean_rgb=(1.0, 2.0, 3.0))),
            replace(shipped, spec=replace(spec, resize=ResizeRule.OPENCV)),
            replace(shipped, spec=replace(spec, anchor_clip=AnchorClip.SIZE)),
            replace(shipped, spec=replace(spec, class_names=("background", *reversed(spec.class_names[1:])))),
            self.changed(shipped, "conv1/conv1_1/weights", lambda kernel: kernel[:, :, ::-1]),  # BGR
            self.changed(shipped, "block11_box/conv_cls/weights", lambda kernel: kernel[..., ::-1]),  # other classes
        ]
        assert len({key_of(one)[:NETWORK_DIGITS] for one in (shipped, *others)}) == 1 + len(others)

    def test_differs_for_other_code(self, shipped: Checkpoint, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        before = key_of(shipped)
        for name in converted._MAKERS:
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_bytes((converted._PACKAGE / name).read_bytes())
        monkeypatch.setattr(converted, "_PACKAGE", tmp_path)
        assert key_of(shipped) == before
        with (tmp_path / "model" / "conversion" / "onnx_nodes.py").open("a") as file:
            file.write("# changed\n")
        assert key_of(shipped) != before
        assert key_of(shipped)[:NETWORK_DIGITS] == before[:NETWORK_DIGITS]  # by which the older one is found

    def changed(self, shipped: Checkpoint, name: str, change: Callable[[Floats], Floats]) -> Checkpoint:
        kernel = np.ascontiguousarray(change(shipped.variables[name]))
        return replace(shipped, variables={**shipped.variables, name: kernel})
