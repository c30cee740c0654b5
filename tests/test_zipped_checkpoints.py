"""Checkpoints in zips: each kind, odd paths, and archives that are made to do harm."""

import warnings
import zipfile
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save

from ssd_detect.errors import CheckpointError
from ssd_detect.model.locate import locate
from ssd_detect.model.readers import archive
from ssd_detect.model.readers.open import open_tensors
from tests.tensorflow_files import write_by_saver, write_frozen, write_saved_model_v1, write_v2

VALUES = np.arange(12, dtype=np.float32).reshape(3, 4)


def zip_of(path: Path, members: Mapping[str, bytes], compression: int = zipfile.ZIP_DEFLATED) -> Path:
    with warnings.catch_warnings(), zipfile.ZipFile(path, "w", compression) as file:
        warnings.simplefilter("ignore")  # two members of one name
        for name, content in members.items():
            file.writestr(name, content)
    return path


def zip_of_folder(path: Path, folder: Path) -> Path:
    return zip_of(path, {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()})


def read(path: Path) -> tuple[str, bytes]:
    with open_tensors(locate(str(path))) as tensors:
        return tensors.container, tensors.read("a").tobytes()


class TestKinds:
    def test_v2(self, tmp_path: Path) -> None:
        write_v2(tmp_path / "f" / "model" / "m.ckpt", {"a": VALUES}, shards=1)
        path = zip_of_folder(tmp_path / "m.zip", tmp_path / "f")
        assert read(path) == ("TensorFlow V2 checkpoint in a zip", VALUES.tobytes())

    def test_v1(self, tmp_path: Path) -> None:
        (tmp_path / "f").mkdir()
        write_by_saver(tmp_path / "f" / "m.ckpt", {"a": VALUES}, 1)
        path = zip_of_folder(tmp_path / "m.zip", tmp_path / "f")
        assert read(path) == ("TensorFlow V1 checkpoint in a zip", VALUES.tobytes())

    @pytest.mark.parametrize("inner", ["", "export/1/"])
    def test_saved_model(self, tmp_path: Path, inner: str) -> None:
        write_saved_model_v1(tmp_path / "f" / inner / "x", {"a": VALUES})
        path = zip_of_folder(tmp_path / "m.zip", tmp_path / "f")
        assert read(path) == ("TensorFlow SavedModel in a zip", VALUES.tobytes())

    def test_frozen(self, tmp_path: Path) -> None:
        graph = write_frozen(tmp_path / "m.pb", {"a": VALUES}).read_bytes()
        path = zip_of(tmp_path / "m.zip", {"README.txt": b"hello", "x/frozen.PB": graph})
        assert read(path) == ("TensorFlow frozen graph in a zip", VALUES.tobytes())

    def test_safetensors_under_a_name_that_is_no_zips(self, tmp_path: Path) -> None:
        path = zip_of(tmp_path / "m.ckpt", {"w.safetensors": save({"a": VALUES}), "__MACOSX/._w.safetensors": b"x"})
        assert read(path) == ("safetensors in a zip", VALUES.tobytes())

    def test_nothing_is_left_behind(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        temporary = tmp_path / "tmp"
        temporary.mkdir()
        monkeypatch.setattr("tempfile.tempdir", str(temporary))
        read(zip_of(tmp_path / "m.zip", {"w.safetensors": save({"a": VALUES})}))
        with pytest.raises(CheckpointError):
            read(zip_of(tmp_path / "n.zip", {"w.safetensors": b"\x10" + bytes(7) + b"{}"}))
        assert list(temporary.iterdir()) == []


class TestRefused:
    @pytest.mark.parametrize(
        ("members", "message"),
        [
            ({}, "holds 0 checkpoints, expected one"),
            ({"README": b"x", "inner.zip": b"x"}, "holds 0 checkpoints"),
            ({"a.pth": b"x", "b.pth": b"x"}, r"holds 2 checkpoints \(a.pth, b.pth\)"),
            ({"a/m.index": b"x", "b/m.index": b"x"}, "holds 2 checkpoints"),
            ({"m.index": b"x"}, r"holds m.index but not its .data file"),
            ({"m.pb": b"<!DOCTYPE html>"}, r"m\.zip/model\.pb: .*an HTML page"),
            ({"m.ckpt": bytes(500)}, r"m\.zip.*damaged"),
        ],
    )
    def test_contents(self, tmp_path: Path, members: dict[str, bytes], message: str) -> None:
        with pytest.raises(CheckpointError, match=message) as caught:
            read(zip_of(tmp_path / "m.zip", members))
        assert len(str(caught.value).splitlines()) == 1
        assert "ssd-detect-" not in str(caught.value)  # no temporary folder, which is gone

    @pytest.mark.parametrize(
        "place", ["../../w.safetensors", "/w.safetensors", "C:\\w.safetensors", "a/../../w.safetensors"]
    )
    def test_paths_lead_nowhere(self, tmp_path: Path, place: str) -> None:
        """Members are unpacked under names of our own."""
        inside = tmp_path / "x" / "y"
        inside.mkdir(parents=True)
        path = zip_of(inside / "m.zip", {place: save({"a": VALUES})})
        before = sorted(tmp_path.rglob("*"))
        assert read(path)[1] == VALUES.tobytes()
        assert sorted(tmp_path.rglob("*")) == before

    def test_links_are_plain_files(self, tmp_path: Path) -> None:
        link = zipfile.ZipInfo("w.safetensors")
        link.external_attr = 0o120777 << 16
        with zipfile.ZipFile(tmp_path / "m.zip", "w") as file:
            file.writestr(link, "/etc/passwd")
        with pytest.raises(CheckpointError, match="a text file"):
            read(tmp_path / "m.zip")

    @pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
    def test_unusual_compression(self, tmp_path: Path, method: int) -> None:
        with pytest.raises(CheckpointError, match="compressed in an unusual way"):
            read(zip_of(tmp_path / "m.zip", {"w.safetensors": save({"a": VALUES})}, method))


@pytest.mark.parametrize("name", ["m.zip", "m.pth", "m.pt", "m.keras"])
def test_cut_off(tmp_path: Path, name: str) -> None:
    """As a copy that broke off: what is in a zip stands at its end."""
    path = zip_of(tmp_path / name, {"m/data.pkl": bytes(2000), "model.weights.h5": bytes(2000)}, zipfile.ZIP_STORED)
    path.write_bytes(path.read_bytes()[:3000])
    words = r"it is cut off or damaged \(its end is missing\); copy or download it again"
    with pytest.raises(CheckpointError, match=words):
        read(path)


class TestBombs:
    def test_expands_too_far(self, tmp_path: Path) -> None:
        """64 MiB of zeros in 64 kB."""
        path = zip_of(tmp_path / "m.zip", {"w.safetensors": bytes(64 << 20)})
        with pytest.raises(CheckpointError, match="expands to more than 200 times its size, or 4 GiB"):
            read(path)

    def test_members_count_together(self, tmp_path: Path) -> None:
        members = {"m.index": bytes(9 << 20), "m.data-00000-of-00001": bytes(9 << 20)}
        with pytest.raises(CheckpointError, match="expands to more than"):
            read(zip_of(tmp_path / "m.zip", members))

    def test_its_word_on_sizes_does_not_count(self, tmp_path: Path) -> None:
        path = zip_of(tmp_path / "m.zip", {"w.safetensors": bytes(64 << 20)})
        content = path.read_bytes().replace((64 << 20).to_bytes(4, "little"), (1000).to_bytes(4, "little"))
        path.write_bytes(content)
        with pytest.raises(CheckpointError, match="cannot unpack this zip"):
            read(path)

    def test_what_is_unpacked_stays_within_the_limit(self, tmp_path: Path) -> None:
        path = zip_of(tmp_path / "m.zip", {"w.safetensors": bytes(64 << 20)})
        folder = tmp_path / "out"
        folder.mkdir()
        with pytest.raises(CheckpointError):
            archive.unpack(path, folder)
        assert sum(p.stat().st_size for p in folder.rglob("*")) <= 16 << 20
