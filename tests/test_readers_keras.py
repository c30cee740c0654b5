"""Keras's files: every layout bit for bit; links, bombs and damage in one line, whatever the HDF5 library does."""

import random
import struct
import subprocess
import sys
import time
import zipfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

from ssd_detect.conventions import Source
from ssd_detect.errors import CheckpointError
from ssd_detect.model.naming import native_names, num_classes, size_of, source_of, to_ours
from ssd_detect.model.readers import keras
from ssd_detect.model.readers.keras import open_keras
from tests.keras_files import Style, write_keras, write_keras_3
from tests.mutations import mutated
from tests.ssd_names import few, keras_tensors, numbered_weights, seeded_weights


@pytest.fixture(scope="module")
def tensors() -> dict[str, Any]:
    return keras_tensors(few(numbered_weights(300, 2)), 300)


def read_all(path: Path) -> dict[str, Any]:
    with open_keras(path) as stored:
        return {name: stored.read(name) for name in stored.shapes}


def refused(path: Path, message: str) -> None:
    with pytest.raises(CheckpointError, match=message) as caught:
        read_all(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert "\n" not in str(caught.value)


def same(read: dict[str, Any], expected: dict[str, Any]) -> None:
    assert sorted(read) == sorted(expected)
    for name, values in expected.items():
        assert read[name].dtype == values.dtype
        np.testing.assert_array_equal(read[name], values)


@pytest.mark.parametrize(("size", "classes"), [(300, 81), pytest.param(512, 21, marks=pytest.mark.slow)])
def test_whole_network(size: int, classes: int, tmp_path: Path) -> None:
    weights = seeded_weights(size, classes)
    path = write_keras(tmp_path / "net.h5", keras_tensors(weights, size))
    with open_keras(path) as stored:
        shapes = stored.shapes
        assert (stored.container, stored.metadata) == (
            "Keras HDF5 file",
            {"keras_version": "2.0.8", "backend": "tensorflow"},
        )
        assert source_of(shapes) is Source.KERAS
        assert (size_of(Source.KERAS, shapes), num_classes(Source.KERAS, size, shapes)) == (size, classes)
        names = native_names(Source.KERAS, size, shapes)
        assert set(names.values()) == set(shapes)
        for ours, values in weights.items():
            np.testing.assert_array_equal(to_ours(stored.read(names[ours]), ours, Source.KERAS), values)


class TestLayouts:
    @pytest.mark.parametrize(
        "style",
        [
            Style(suffix="_1"),
            Style(model=True),
            Style(keras_1=True),
            Style(split=True),
            Style(model=True, suffix="_2", compressed=True),
        ],
    )
    def test_of_keras_1_and_2(self, style: Style, tensors: dict[str, Any], tmp_path: Path) -> None:
        path = write_keras(tmp_path / "net.h5", tensors, style)
        same(read_all(path), tensors)
        with open_keras(path) as stored:
            assert stored.metadata.get("optimizer_weights") == ("1" if style.model else None)

    def test_of_keras_3(self, tensors: dict[str, Any], tmp_path: Path) -> None:
        same(read_all(write_keras_3(tmp_path / "net.weights.h5", tensors)), tensors)

    def test_of_a_keras_zip(self, tensors: dict[str, Any], tmp_path: Path) -> None:
        inner = write_keras_3(tmp_path / "inner", tensors)
        with zipfile.ZipFile(tmp_path / "net.keras", "w") as archive:
            archive.writestr("config.json", "{}")
            archive.write(inner, "model.weights.h5")
        same(read_all(tmp_path / "net.keras"), tensors)

    @pytest.mark.slow
    def test_what_keras_itself_writes(self, tmp_path: Path) -> None:
        """A process of its own, as it imports TensorFlow."""
        script = (
            "import sys, numpy, keras\n"
            "inputs = keras.Input((8, 8, 3))\n"
            "first = keras.layers.Conv2D(4, 3, name='conv1_1')\n"
            "second = keras.layers.Conv2D(2, 3, name='conv1_2')\n"
            "model = keras.Model(inputs, second(first(inputs)))\n"
            "model.compile('adam', 'mse')\n"
            "model.save('net.h5'); model.save('net.keras'); model.save_weights('net.weights.h5')\n"
            "numpy.savez('net.npz', **{f'{l.name}/{n}': v for l in (first, second)\n"
            "    for n, v in zip(('kernel', 'bias'), l.get_weights())})\n"
        )
        subprocess.run([sys.executable, "-c", script], cwd=tmp_path, check=True, capture_output=True)
        with np.load(tmp_path / "net.npz") as expected:
            for name in ("net.h5", "net.keras", "net.weights.h5"):
                same(read_all(tmp_path / name), dict(expected))

    def test_a_model_as_a_layer(self, tmp_path: Path) -> None:
        with h5py.File(tmp_path / "net.h5", "w") as file:
            file.attrs["layer_names"] = [b"model_1"]
            group = file.create_group("model_1")
            names = ["conv1_1/kernel:0", "conv1_1/bias:0", "model_1/conv1_2/kernel:0", "model_1/conv1_2/bias:0"]
            group.attrs["weight_names"] = [name.encode() for name in names]
            for i, name in enumerate(names):
                group[name] = np.full(1, i, np.float32)
        read = read_all(tmp_path / "net.h5")
        assert {name: int(values[0]) for name, values in read.items()} == {
            "conv1_1/kernel": 0,
            "conv1_1/bias": 1,
            "conv1_2/kernel": 2,
            "conv1_2/bias": 3,
        }

    @pytest.mark.parametrize("dtype", ["<f2", ">f4", "<f8", "<i8", "|u1"])
    def test_types(self, dtype: str, tmp_path: Path) -> None:
        values = np.array([[1, 2], [3, 4]], dtype)
        read = read_all(write_keras(tmp_path / "net.h5", {"a/kernel": values}))["a/kernel"]
        assert read.dtype == values.dtype.newbyteorder("=")
        np.testing.assert_array_equal(read, values)

    @pytest.mark.parametrize("values", [np.float32(3), np.zeros((0, 3), np.float32)])
    def test_scalar_and_none(self, values: Any, tmp_path: Path) -> None:
        read = read_all(write_keras(tmp_path / "net.h5", {"a/scale": values}))["a/scale"]
        assert read.shape == values.shape
        np.testing.assert_array_equal(read, values)

    @pytest.mark.parametrize("name", ["a b", "фото ñ 测试", "caf\udce9"])
    def test_odd_paths(self, name: str, tmp_path: Path) -> None:
        path = write_keras(tmp_path / "net.h5", {"a/bias": np.ones(2, np.float32)})
        same(read_all(path.rename(tmp_path / name)), {"a/bias": np.ones(2, np.float32)})

    def test_relative_path(self, tmp_path: Path, in_an_empty_folder: None) -> None:
        write_keras(tmp_path / "net.h5", {"a/bias": np.ones(2, np.float32)})
        assert list(read_all(Path("net.h5"))) == ["a/bias"]


def one_layer(file: Any) -> Any:
    """The group of the layer `a`, which says that it has `a/kernel`."""
    file.attrs["layer_names"] = [b"a"]
    group = file.create_group("a")
    group.attrs["weight_names"] = [b"a/kernel:0"]
    return group


def soft_link(file: Any, folder: Path) -> None:
    file["elsewhere"] = np.ones(2)
    one_layer(file)["a/kernel:0"] = h5py.SoftLink("/elsewhere")


def external_link(file: Any, folder: Path) -> None:
    one_layer(file)["a/kernel:0"] = h5py.ExternalLink(str(folder / "secret.h5"), "/secret")


def external_group(file: Any, folder: Path) -> None:
    file["model_weights"] = h5py.ExternalLink(str(folder / "secret.h5"), "/")


def external_storage(file: Any, folder: Path) -> None:
    external = [(str(folder / "secret.h5"), 0, 64)]
    one_layer(file).create_dataset("a/kernel:0", (16,), "<f4", external=external)


def virtual(file: Any, folder: Path) -> None:
    layout = h5py.VirtualLayout((2,), "<f8")
    layout[:] = h5py.VirtualSource(str(folder / "secret.h5"), "secret", (2,))
    one_layer(file).create_virtual_dataset("a/kernel:0", layout)


def strings(file: Any, folder: Path) -> None:
    one_layer(file)["a/kernel:0"] = np.array([b"x", b"y"])


def objects(file: Any, folder: Path) -> None:
    one_layer(file).create_dataset("a/kernel:0", data=np.array(["x"], object), dtype=h5py.string_dtype())


def group_for_dataset(file: Any, folder: Path) -> None:
    one_layer(file).create_group("a/kernel:0")


def missing(file: Any, folder: Path) -> None:
    one_layer(file)


def unfilled(file: Any, folder: Path) -> None:
    one_layer(file).create_dataset("a/kernel:0", (10**6, 10**6), "<f4", chunks=(1, 1000))


def bomb(file: Any, folder: Path) -> None:
    one_layer(file).create_dataset("a/kernel:0", data=np.zeros(25_000_000, "<f4"), compression="gzip", chunks=True)


def twice(file: Any, folder: Path) -> None:
    group = one_layer(file)
    group["a/kernel:0"] = np.ones(2)
    file.attrs["layer_names"] = [b"a", b"a"]


def many_names(file: Any, folder: Path) -> None:
    file.attrs.create("layer_names", np.zeros(20_000, "S1"), dtype="S1")


def circle(file: Any, folder: Path) -> None:
    group = file.create_group("layers")
    group["again"] = group


def nothing(file: Any, folder: Path) -> None:
    file["x"] = np.ones(2)


class TestFaults:
    @pytest.mark.parametrize(
        ("make", "message"),
        [
            (nothing, "an HDF5 file, but not of Keras's weights"),
            (soft_link, "is a link to elsewhere"),
            (external_link, "is a link to elsewhere"),
            (external_group, "its model_weights is a link to elsewhere"),
            (external_storage, "are in another file, expected them in this one"),
            (virtual, "are in another file, expected them in this one"),
            (strings, "a/kernel is no array of numbers"),
            (objects, "a/kernel is no array of numbers"),
            (group_for_dataset, "a/kernel:0 is no array of numbers"),
            (missing, "a/kernel:0 is missing"),
            (unfilled, "tensors of more than 1,"),
            (bomb, "4 times the file's own"),
            (twice, "two tensors called a/kernel"),
            (many_names, "more than 10,000 names|too large"),
            (circle, "groups in groups without an end"),
        ],
    )
    def test_other_files(self, make: Callable[[Any, Path], None], message: str, tmp_path: Path) -> None:
        with h5py.File(tmp_path / "secret.h5", "w") as file:
            file["secret"] = np.array([4.0, 2.0])
        with h5py.File(tmp_path / "net.h5", "w", libver="latest") as file:
            make(file, tmp_path)
        refused(tmp_path / "net.h5", message)

    def test_of_early_keras_3(self, tensors: dict[str, Any], tmp_path: Path) -> None:
        refused(write_keras_3(tmp_path / "net.weights.h5", tensors, named=False), "which do not name their layers")

    @pytest.mark.parametrize(
        ("content", "message"),
        [
            (b"", "no HDF5 file"),
            (b"hello\n", "no HDF5 file"),
            (b"\x89HDF\r\n\x1a\n", "damaged or no checkpoint at all"),
            (b"\x89HDF\r\n\x1a\n" + bytes(1000), "damaged or no checkpoint at all"),
            (b"PK\x03\x04", "damaged or no checkpoint at all"),
        ],
    )
    def test_no_hdf5(self, content: bytes, message: str, tmp_path: Path) -> None:
        (tmp_path / "net.h5").write_bytes(content)
        refused(tmp_path / "net.h5", message)

    def test_nothing_there(self, tmp_path: Path) -> None:
        refused(tmp_path / "gone.h5", "cannot read the checkpoint: No such file")

    def test_zip_without_weights(self, tmp_path: Path) -> None:
        with zipfile.ZipFile(tmp_path / "net.keras", "w") as archive:
            archive.writestr("../model.weights.h5", b"x")
        refused(tmp_path / "net.keras", "no item named 'model.weights.h5'")
        assert [p.name for p in tmp_path.parent.glob("model*")] == []

    def test_zip_bomb(self, tmp_path: Path) -> None:
        with zipfile.ZipFile(tmp_path / "net.keras", "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("model.weights.h5", bytes(100_000_000))
        refused(tmp_path / "net.keras", "is compressed, expected none to be")


class TestChild:
    """What libhdf5 does to its process, done on purpose: the child finds another h5py first."""

    @pytest.mark.parametrize(
        ("what", "message"),
        [
            ("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)", "the HDF5 library died of it, SIGSEGV"),
            ("import os; os._exit(7)", "the HDF5 library died of it, exit status 7"),
            ("import time; time.sleep(60)", "the HDF5 library is still busy with it after 3 s"),
            ("raise RuntimeError('odd')", "the HDF5 library died of it, exit status 1"),
        ],
    )
    def test_death(self, what: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        path = write_keras(tmp_path / "net.h5", {"a/bias": np.ones(2, np.float32)})
        (tmp_path / "stub").mkdir()
        (tmp_path / "stub" / "h5py.py").write_text(what)
        monkeypatch.syspath_prepend(tmp_path / "stub")
        monkeypatch.setattr(keras, "_SECONDS", 1)
        refused(path, message)

    @pytest.mark.parametrize(
        ("what", "message"),
        [
            ("while True: pass", "the HDF5 library died of it, SIGXCPU"),
            ("taken = [bytearray(2**20) for _ in range(4096)]", "damaged or no checkpoint at all .MemoryError"),
        ],
    )
    @pytest.mark.skipif(sys.platform != "linux", reason="only Linux keeps both limits")
    def test_limits(self, what: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        path = write_keras(tmp_path / "net.h5", {"a/bias": np.ones(2, np.float32)})
        (tmp_path / "stub").mkdir()
        stub = f"class File:\n    def __init__(self, *a): pass\n    def __enter__(self):\n        {what}\n"
        stub += "    def __exit__(self, *a): pass\nclass Group: pass\nclass Dataset: pass\n"
        (tmp_path / "stub" / "h5py.py").write_text(stub)
        monkeypatch.syspath_prepend(tmp_path / "stub")
        monkeypatch.setattr(keras, "_SECONDS", 1)
        monkeypatch.setattr(keras, "_PATIENCE", 60)
        refused(path, message)

    def test_environment_is_small(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        path = write_keras(tmp_path / "net.h5", {"a/bias": np.ones(2, np.float32)})
        (tmp_path / "stub").mkdir()
        (tmp_path / "stub" / "h5py.py").write_text(
            f"import os; open({str(tmp_path / 'seen')!r}, 'w').write(str(dict(os.environ)))"
        )
        monkeypatch.syspath_prepend(tmp_path / "stub")
        monkeypatch.setenv("SECRET_TOKEN", "x")
        monkeypatch.setenv("HDF5_PLUGIN_PRELOAD", "x")
        refused(path, "died of it")
        seen = (tmp_path / "seen").read_text()
        assert "SECRET" not in seen
        assert "'HDF5_PLUGIN_PRELOAD': '::'" in seen

    def test_nothing_stays(self, tensors: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        path = write_keras(tmp_path / "net.h5", tensors)
        place = tmp_path / "place"
        place.mkdir()
        monkeypatch.setattr("tempfile.tempdir", str(place))
        with open_keras(path) as stored:
            assert list(place.iterdir())
            read = {name: stored.read(name) for name in stored.shapes}
        assert list(place.iterdir()) == []
        same(read, tensors)  # what was read has memory of its own


def test_what_the_child_costs(tmp_path: Path) -> None:
    """Start, h5py's import and a small file; 0.4 s on an idle machine."""
    path = write_keras(tmp_path / "net.h5", {"a/bias": np.ones(2, np.float32)})
    started = time.monotonic()
    read_all(path)
    assert time.monotonic() - started < 10


def test_mutations(tensors: dict[str, Any], tmp_path: Path) -> None:
    whole = write_keras(tmp_path / "net.h5", tensors).read_bytes()
    draw = random.Random(6)
    for _ in range(12):
        (tmp_path / "net.h5").write_bytes(mutated(whole, draw))
        with suppress(CheckpointError):
            read_all(tmp_path / "net.h5")


def test_superblock_that_lies_about_the_end(tensors: dict[str, Any], tmp_path: Path) -> None:
    path = write_keras(tmp_path / "net.h5", tensors)
    content = bytearray(path.read_bytes())
    content[40:48] = struct.pack("<Q", 2**60)  # the address of the file's end
    path.write_bytes(content)
    refused(path, "damaged or no checkpoint at all")
