"""The engines' cache does not grow with updates: what nothing will read again goes, and nothing else."""

import os
import subprocess
import sys
import time
from collections.abc import Iterable
from pathlib import Path

import pytest

from ssd_detect.conventions import EngineName
from ssd_detect.engines.entry import Entry
from ssd_detect.engines.processor import processor_id
from ssd_detect.engines.superseded import (
    KEPT_ENTRIES,
    NETWORK_DIGITS,
    form_name,
    remove_older_entries,
    remove_older_forms,
    remove_older_models,
)
from ssd_detect.locks import held_alone

ONNXRUNTIME, OPENVINO = EngineName.ONNXRUNTIME, EngineName.OPENVINO
CPU = processor_id()


@pytest.fixture
def entry(tmp_path: Path) -> Entry:
    return Entry(tmp_path / ("ab" * 12))


def lay(folder: Path, names: Iterable[str]) -> None:
    """Files, the first one the newest; folders where the name ends in `/`."""
    folder.mkdir(parents=True, exist_ok=True)
    for age, name in enumerate(names):
        path = folder / name
        if name.endswith("/"):
            path.mkdir()
            (path / "1.blob").touch()
        else:
            path.touch()
        os.utime(path, (time.time() - age, time.time() - age))


def left(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir() if path.name != "record.json"}


class TestForms:
    def test_names(self) -> None:
        assert form_name(OPENVINO, "2026.4.1-22085-abc", "model.onnx") == f"openvino-2026.4.1-{CPU}-model.onnx"

    def test_nothing_older(self, entry: Entry) -> None:
        lay(entry.folder, ["model.onnx"])
        remove_older_forms(entry, ONNXRUNTIME, "model.onnx")
        assert left(entry.folder) == {"model.onnx"}

    @pytest.mark.parametrize(("engine", "end"), [(ONNXRUNTIME, ""), (OPENVINO, "/")])
    def test_the_newest_two_stay(self, entry: Entry, engine: EngineName, end: str) -> None:
        names = [form_name(engine, version, "model.onnx") for version in ("1.4", "1.3", "1.2", "1.1")]
        others = {
            "model.onnx", "reference.npz", "int8-shipped-1.onnx", ".model.0123abcd.onnx",
            form_name(engine, "1.1", "int8-shipped-1.onnx"),
            f"{engine.value}-1.1-{'0' * 12}-model.onnx",  # of another computer that shares the home
            f"opencv-1.1-{CPU}-model.onnx",
            "a-users-own.onnx",
        }  # fmt: skip
        lay(entry.folder, [name + end for name in names])
        lay(entry.folder, others)
        remove_older_forms(entry, engine, "model.onnx")
        assert left(entry.folder) == {*names[:2], *others}

    def test_where_nothing_can_be_written_all_stays(self, entry: Entry) -> None:
        names = [form_name(ONNXRUNTIME, version, "model.onnx") for version in ("1.3", "1.2", "1.1")]
        lay(entry.folder, names)
        with held_alone(entry.folder, folder=entry.folder.parent):
            (lock,) = entry.folder.parent.glob("*.lock")
        lock.mkdir()  # which nobody can write, whoever one is
        remove_older_forms(entry, ONNXRUNTIME, "model.onnx")
        assert left(entry.folder) == {*names}

    def test_of_an_entry_that_is_gone(self, entry: Entry) -> None:
        remove_older_forms(entry, ONNXRUNTIME, "model.onnx")
        remove_older_models(entry, "int8-shipped-1.onnx")
        remove_older_entries(entry)
        assert not entry.folder.exists()


def test_int8_networks_of_what_a_folder_held_before(entry: Entry) -> None:
    old, new, other = "int8-0f-01.onnx", "int8-0f-02.onnx", "int8-ff-01.onnx"
    forms = {name: form_name(ONNXRUNTIME, "1.1", name) for name in (old, new, other)}
    lay(entry.folder, ["model.onnx", *forms, *forms.values(), form_name(OPENVINO, "1", old) + "/"])
    remove_older_models(entry, new)
    assert left(entry.folder) == {"model.onnx", new, other, forms[new], forms[other]}


def keys(count: int, network: str = "") -> list[str]:
    """Names of entries: of one network, or of as many."""
    return [f"{network or f'{i:0{NETWORK_DIGITS}x}'}{i:08x}" for i in range(count)]


class TestEntries:
    def test_only_those_used_last_are_kept(self, tmp_path: Path) -> None:
        names = keys(KEPT_ENTRIES + 3)
        lay(tmp_path, [f"{name}/" for name in names])
        remove_older_entries(Entry(tmp_path / names[-1]))  # which has just been made
        assert left(tmp_path) == {*names[: KEPT_ENTRIES - 1], names[-1]}

    def test_one_of_the_same_network_by_other_code_is_kept(self, tmp_path: Path) -> None:
        same, others = keys(4, "c" * NETWORK_DIGITS), keys(3)
        lay(tmp_path, [f"{name}/" for name in (*same, *others)])
        remove_older_entries(Entry(tmp_path / same[2]))
        assert left(tmp_path) == {same[0], same[2], *others}

    def test_what_is_not_ours_stays(self, tmp_path: Path) -> None:
        names = ["notes/", "models.txt", "ab/", f"{'a' * 24}.zip/", "f" * 24]
        lay(tmp_path, [*(f"{name}/" for name in keys(KEPT_ENTRIES + 3)), *names])
        remove_older_entries(Entry(tmp_path / keys(1)[0]))
        assert {name.strip("/") for name in names} <= left(tmp_path)
        assert len(left(tmp_path)) == len(names) + KEPT_ENTRIES

    def test_one_that_another_process_is_making_stays(self, tmp_path: Path) -> None:
        same = keys(4, "c" * NETWORK_DIGITS)
        lay(tmp_path, [f"{name}/" for name in same])
        with held_alone(tmp_path / same[3], folder=tmp_path):
            remove_older_entries(Entry(tmp_path / same[0]))
        assert left(tmp_path) == {*same[:2], same[3]}

    def test_by_several_processes_at_once(self, tmp_path: Path) -> None:
        same = keys(40, "c" * NETWORK_DIGITS)
        lay(tmp_path, [f"{name}/" for name in same])
        code = (
            "import sys; from pathlib import Path; from ssd_detect.engines.entry import Entry\n"
            "from ssd_detect.engines.superseded import remove_older_entries\n"
            "remove_older_entries(Entry(Path(sys.argv[1])))"
        )
        command = [sys.executable, "-c", code, str(tmp_path / same[0])]
        running = [subprocess.Popen(command) for _ in range(3)]
        assert [process.wait(60) for process in running] == [0, 0, 0]
        assert left(tmp_path) == {*same[:2]}
