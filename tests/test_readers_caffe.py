"""Caffe's files: every way in which its versions wrote them bit for bit, and damage in one line."""

import os
import random
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ssd_detect.conventions import Source
from ssd_detect.errors import CheckpointError
from ssd_detect.model.naming import native_names, num_classes, size_of, source_of, to_ours
from ssd_detect.model.readers import caffe
from ssd_detect.model.readers.caffe import open_caffe
from ssd_detect.model.readers.faults import DamagedError
from ssd_detect.model.readers.protos import Field, FilePart, Message, in_memory, located_fields
from tests.caffe_files import Style, blob, layer, network, number, part, varint, write_caffe
from tests.mutations import mutated
from tests.ssd_names import caffe_tensors, few, numbered_weights, seeded_weights

ROOT = Path(__file__).parent.parent


def read_all(path: Path) -> dict[str, Any]:
    with open_caffe(path) as tensors:
        return {name: tensors.read(name) for name in tensors.shapes}


def refused(path: Path, content: bytes, message: str) -> None:
    path.write_bytes(content)
    with pytest.raises(CheckpointError, match=message) as caught:
        read_all(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(("size", "classes"), [(300, 21), (512, 81)])
def test_whole_network(size: int, classes: int, tmp_path: Path) -> None:
    weights = seeded_weights(size, classes)
    path = write_caffe(tmp_path / "net.caffemodel", caffe_tensors(weights, size))
    with open_caffe(path) as tensors:
        shapes = tensors.shapes
        assert (tensors.container, set(tensors.dtypes.values())) == ("Caffe model", {"float32"})
        assert source_of(shapes) is Source.CAFFE
        assert (size_of(Source.CAFFE, shapes), num_classes(Source.CAFFE, size, shapes)) == (size, classes)
        names = native_names(Source.CAFFE, size, shapes)
        assert set(names.values()) == set(shapes)
        for ours, values in weights.items():
            np.testing.assert_array_equal(to_ours(tensors.read(names[ours]), ours, Source.CAFFE), values)


class TestStyles:
    @pytest.mark.parametrize(
        "style",
        [
            Style(old_layers=True),
            Style(old_shape=True),
            Style(old_layers=True, old_shape=True),
            Style(double=True),
            Style(diff=True),
        ],
    )
    def test_each(self, style: Style, tmp_path: Path) -> None:
        expected = caffe_tensors(few(numbered_weights(300, 2)), 300)
        with open_caffe(write_caffe(tmp_path / "net", expected, style)) as tensors:
            assert {n: tensors.shapes[n] for n in expected} == {n: v.shape for n, v in expected.items()}
            assert set(tensors.dtypes.values()) == {"float64" if style.double else "float32"}
            for name, values in expected.items():
                np.testing.assert_array_equal(tensors.read(name), values)

    def test_odd_bits_survive(self, tmp_path: Path) -> None:
        values = np.array([0x7FC00001, 0xFF800000, 1, 0x80000000], "<u4").view("<f4")
        read = read_all(write_caffe(tmp_path / "net", {"a/0": values}))
        assert read["a/0"].tobytes() == values.tobytes()

    def test_empty_blob_and_scalar(self, tmp_path: Path) -> None:
        read = read_all(write_caffe(tmp_path / "net", {"a/0": np.zeros((0, 3)), "b/0": np.float32(2)}))
        assert (read["a/0"].shape, read["b/0"].shape, float(read["b/0"])) == ((0, 3), (), 2.0)

    def test_names_that_are_no_text(self, tmp_path: Path) -> None:
        content = part(100, part(1, b"caf\xe9") + part(7, blob([1.0])))
        (tmp_path / "net").write_bytes(content)
        assert list(read_all(tmp_path / "net")) == ["caf\ufffd/0"]

    def test_fields_that_we_do_not_know(self, tmp_path: Path) -> None:
        extra = number(200, 5) + part(201, b"x") + varint(202 << 3 | 1) + bytes(8) + varint(203 << 3 | 5) + bytes(4)
        content = extra + layer("a", [blob([1.0, 2.0]) + extra]) + extra
        (tmp_path / "net").write_bytes(content)
        np.testing.assert_array_equal(read_all(tmp_path / "net")["a/0"], [1, 2])


class TestFaults:
    @pytest.mark.parametrize(
        ("content", "message"),
        [
            (b"", "an empty file"),
            (b"\0", "a field with the number 0"),
            (part(1, b"name"), "no layer in it"),
            (b"hello, world\n", "damaged or no checkpoint at all"),
            (layer("a", [blob([1.0])]) * 2, "two layers called a"),
            (layer("a", [blob([1.0, 2.0])])[:-9], "a field that goes beyond the end"),
            (layer("a", [part(5, bytes(8))]), r"2 numbers and the shape \(0, 0, 0, 0\)"),
            (layer("a", [part(7, part(1, varint(3))) + part(5, bytes(8))]), r"has 2 numbers and the shape \(3,\)"),
            (layer("a", [part(7, part(1, varint(2))) + part(5, bytes(7))]), "buffer size must be a multiple"),
            (layer("a", [part(7, part(1, varint(2**64 - 1))) + part(5, bytes(4))]), r"a blob of shape \(-1,\)"),
            (layer("a", [part(7, part(1, varint(2**62) * 4)) + part(5, bytes(4))]), "has 1 numbers and the shape"),
            (layer("a", [part(7, part(1, varint(1) * 400)) + part(5, bytes(4))]), "more than 32 axes"),
            (layer("a", [part(7, part(1, varint(2))) + part(12, bytes(4))]), "layer a has numbers of half precision"),
            (layer("a", []) * 4001, "a message of more than 4,000 fields"),
            (part(100, part(1, b"a") + part(7, b"") * 300), "a message of more than 256 fields"),
            (layer("a", [b""] * 200) * 51, "more than 10,000 blobs"),
            (layer("a", [blob([1.0], Style(packed=False))]), "its numbers are in a field each"),
            (layer("a", [blob([1.0], Style(packed=False, double=True))]), "its numbers are in a field each"),
            (layer("a", [number(1, 1) * 17]), "a message of more than 16 fields"),
            (varint(100 << 3 | 2) + b"\xff" * 9 + b"\x01", "a field that goes beyond the end"),
            (varint(100 << 3 | 2) + b"\xff" * 20, "a number without an end"),
            (varint(100 << 3 | 3), "a field of the unknown type 3"),
            (part(100, part(1, b"a") + part(7, b"\xff" * 8)), "damaged or no checkpoint at all"),
        ],
    )
    def test_damage(self, content: bytes, message: str, tmp_path: Path) -> None:
        refused(tmp_path / "net.caffemodel", content, message)

    def test_nothing_there(self, tmp_path: Path) -> None:
        with pytest.raises(CheckpointError, match="cannot read the checkpoint: No such file"):
            read_all(tmp_path / "gone")

    def test_a_change_after_opening(self, tmp_path: Path) -> None:
        path = write_caffe(tmp_path / "net", {"a/0": np.ones(4)})
        with open_caffe(path) as tensors:
            with path.open("r+b") as file:
                file.write(b"\xff" * path.stat().st_size)
            with pytest.raises(CheckpointError, match="damaged"):
                tensors.read("a/0")


def test_a_file_that_is_shortened_while_it_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a file is mapped into memory, this ends the process."""
    path = write_caffe(tmp_path / "net", {"a/0": np.ones(100_000), "b/0": np.ones(100_000)})
    with open_caffe(path) as tensors:
        os.truncate(path, 500_000)
        assert tensors.read("a/0").shape == (100_000,)
        with pytest.raises(CheckpointError, match=r"damaged or .* \(it was cut off while it was read\)"):
            tensors.read("b/0")

    check = caffe._check_blob

    def shortening(data: FilePart, blob: Field) -> None:
        os.truncate(path, 5)
        check(data, blob)

    write_caffe(path, {"a/0": np.ones(100_000)})
    monkeypatch.setattr(caffe, "_check_blob", shortening)
    with pytest.raises(CheckpointError, match="it was cut off while it was read"):
        read_all(path)


def test_mutations(tmp_path: Path) -> None:
    whole = network(caffe_tensors(few(numbered_weights(300, 2)), 300))
    draw = random.Random(6)
    for _ in range(200):
        (tmp_path / "net").write_bytes(mutated(whole, draw))
        with suppress(CheckpointError):
            read_all(tmp_path / "net")


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="the kernel's account of the memory is Linux's")
@pytest.mark.parametrize("count", [1, 10])
def test_memory(count: int, tmp_path: Path) -> None:
    """Reading all tensors, one after the other, takes at most about twice the file, even if all is in one layer."""
    content = network({f"layer{i}/0": np.ones(20_000_000 // count, np.float32) for i in range(count)})
    (tmp_path / "net").write_bytes(content)
    script = (
        "import sys, numpy; from pathlib import Path\n"
        "from ssd_detect.model.readers.caffe import open_caffe, _classes\n"
        "peak = lambda: int(Path('/proc/self/status').read_text().split('VmHWM:')[1].split()[0]) * 1024\n"
        "_classes(); before = peak()\n"
        "with open_caffe(Path(sys.argv[1])) as tensors:\n"
        "    for name in tensors.shapes: tensors.read(name)\n"
        "print(peak() - before)"
    )
    command = [sys.executable, "-c", script, str(tmp_path / "net")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert len(content) / 20 < int(done.stdout) < 2.1 * len(content)


class TestWire:
    @pytest.mark.parametrize("most", [1, 2])
    def test_none(self, most: int) -> None:
        assert list(located_fields(b"", 0, 0, most)) == []

    @given(
        st.lists(
            st.one_of(
                st.tuples(st.just(0), st.integers(0, 2**64 - 1).map(varint)),
                st.tuples(st.just(1), st.binary(min_size=8, max_size=8)),
                st.tuples(st.just(2), st.binary(max_size=300)),
                st.tuples(st.just(5), st.binary(min_size=4, max_size=4)),
            )
        ),
        st.integers(1, 2**29 - 1),
    )
    def test_finds_what_was_written(self, values: list[tuple[int, bytes]], field: int) -> None:
        data = b""
        for kind, value in values:
            data += varint(field << 3 | kind) + (varint(len(value)) if kind == 2 else b"") + value
        found = list(located_fields(data, 0, len(data), len(values) + 1))
        assert [(f.number, f.kind, data[f.start : f.end]) for f in found] == [(field, k, v) for k, v in values]

    @given(st.binary(max_size=60))
    def test_noise_is_damage_or_fields_inside(self, data: bytes) -> None:
        found: list[Field] = []
        with suppress(DamagedError):
            found.extend(located_fields(data, 0, len(data), 100))
        assert all(0 <= f.start <= f.end <= len(data) for f in found)

    @given(st.binary(max_size=90_000), st.data())
    def test_a_part_of_a_file_is_sliced_as_memory_is(
        self, tmp_path_factory: pytest.TempPathFactory, data: bytes, draw: st.DataObject
    ) -> None:
        places = st.integers(0, len(data) + 5)
        path = tmp_path_factory.getbasetemp() / "part"
        path.write_bytes(data)
        with path.open("rb") as file:
            part: Message = FilePart(file, 0, len(data))
            for _ in range(3):
                start, end = draw.draw(places), draw.draw(places)
                part, data = part[start:end], data[start:end]
                assert (len(part), bytes(part), in_memory(part).tobytes()) == (len(data), data, data)
