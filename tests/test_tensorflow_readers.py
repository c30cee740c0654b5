"""TensorFlow's files without TensorFlow: what it writes comes back bit for bit, and damage is one clear error."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
import tensorflow as tf
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ssd_detect.errors import CheckpointError
from ssd_detect.model.locate import locate
from ssd_detect.model.readers.crc32c import crc32c
from ssd_detect.model.readers.frozen_graph import open_frozen_graph
from ssd_detect.model.readers.open import open_tensors
from ssd_detect.model.readers.ordered_code import slice_key
from tests.tensorflow_files import (
    frozen_graph,
    write_by_saver,
    write_frozen,
    write_saved_model_v1,
    write_saved_model_v2,
    write_v2,
)

ROOT = Path(__file__).parent.parent
RANDOM = np.random.default_rng(6)
FLOATS: dict[str, Any] = {
    "net/conv/weights": RANDOM.standard_normal((6, 3, 2, 40)).astype(np.float32),
    "net/conv/biases": RANDOM.standard_normal(70).astype(np.float32),
    "net/large": RANDOM.standard_normal((300, 300)).astype(np.float32),  # more than a block of a table
    "net/zeros": np.zeros(9, np.float32),
    "net/odd_values": np.array([np.nan, np.inf, -0.0, 1e-42], np.float32),
    "net/double": RANDOM.standard_normal(3),
    "net/half": RANDOM.standard_normal((5, 4)).astype(np.float16),
}
INTEGERS: dict[str, Any] = {"global_step": np.int64(-7), "net/bytes": np.arange(-4, 4).astype(np.int8)}
BFLOATS: dict[str, Any] = {"net/brain": RANDOM.standard_normal((5, 4)).astype(ml_dtypes.bfloat16)}
# Constants are weights only where they have a dimension and a fraction, or are int8; a V1 file cannot hold bfloat16.
CONSTANTS = FLOATS | BFLOATS | {"net/bytes": INTEGERS["net/bytes"]}
ALL = FLOATS | INTEGERS | BFLOATS

Write = Callable[[Path, Mapping[str, Any]], Path]
WRITERS: dict[str, tuple[Write, dict[str, Any], str]] = {
    "V2": (lambda p, v: write_v2(p / "m.ckpt", v), ALL, "TensorFlow V2 checkpoint"),
    "V2 in shards": (lambda p, v: write_v2(p / "m.ckpt", v, shards=3), ALL, "TensorFlow V2 checkpoint"),
    "V2 in pieces": (
        lambda p, v: write_by_saver(p / "m.ckpt", v, 2, pieces=3),
        ALL,
        "TensorFlow V2 checkpoint",
    ),
    "V1": (lambda p, v: write_by_saver(p / "m.ckpt", v, 1), FLOATS | INTEGERS, "TensorFlow V1 checkpoint"),
    "V1 in pieces": (
        lambda p, v: write_by_saver(p / "m.ckpt", v, 1, pieces=3),
        FLOATS | INTEGERS,
        "TensorFlow V1 checkpoint",
    ),
    "frozen": (lambda p, v: write_frozen(p / "m.pb", v), CONSTANTS, "TensorFlow frozen graph"),
    "SavedModel": (lambda p, v: write_saved_model_v1(p / "m", v), ALL, "TensorFlow SavedModel"),
    "SavedModel 2": (lambda p, v: write_saved_model_v2(p / "m", v), FLOATS, "TensorFlow SavedModel"),
    "SavedModel of constants": (
        lambda p, v: write_saved_model_v2(p / "m", v, as_constants=True),
        CONSTANTS,
        "TensorFlow SavedModel",
    ),
}


def read_all(given: Path) -> dict[str, Any]:
    with open_tensors(locate(str(given))) as tensors:
        return {name: tensors.read(name) for name in tensors.shapes}


def same_bits(actual: Any, expected: Any) -> bool:
    wanted = np.asarray(expected)
    if wanted.dtype.name == "bfloat16":
        wanted = wanted.astype(np.float32)
    return bool((actual.dtype, actual.shape, actual.tobytes()) == (wanted.dtype, wanted.shape, wanted.tobytes()))


class TestThereAndBack:
    @pytest.mark.parametrize("kind", WRITERS)
    def test_bit_for_bit(self, tmp_path: Path, kind: str) -> None:
        write, variables, container = WRITERS[kind]
        path = write(tmp_path, variables)
        with open_tensors(locate(str(path))) as tensors:
            assert tensors.container == container
            assert variables.keys() <= tensors.shapes.keys()
            for name, values in variables.items():
                assert tensors.shapes[name] == np.shape(values), name
                assert tensors.dtypes[name] == np.asarray(values).dtype.name, name
                assert same_bits(tensors.read(name), values), name

    def test_nothing_else_is_found(self, tmp_path: Path) -> None:
        for kind in ("V2", "V2 in pieces", "V1 in pieces", "SavedModel"):
            write, _, _ = WRITERS[kind]
            (tmp_path / kind).mkdir()
            assert read_all(write(tmp_path / kind, FLOATS)).keys() == FLOATS.keys(), kind

    def test_a_checkpoint_without_variables(self, tmp_path: Path) -> None:
        path = write_v2(tmp_path / "m.ckpt", {"only a word": b"x"})
        with open_tensors(locate(str(path))) as tensors:
            assert dict(tensors.dtypes) == {"only a word": "string"}
            with pytest.raises(CheckpointError, match="values of string, expected numbers"):
                tensors.read("only a word")

    def test_numbers_listed_one_by_one(self, tmp_path: Path) -> None:
        """As graph optimisers leave them: repeated values once, half floats as integers."""
        graph = frozen_graph(
            {"a": np.ones((2, 3), np.float32), "h": np.ones(2, np.float16), "b": np.ones(2, np.float32)}
        )
        tensors = {node.name: node.attr["value"].tensor for node in graph.node if node.op == "Const"}
        for tensor in tensors.values():
            tensor.tensor_content = b""
        tensors["a"].float_val.extend([1.5, 2.5, 3.5])
        tensors["h"].half_val.extend([0x3C00, 0xC100])
        tensors["b"].ClearField("float_val")
        (tmp_path / "m.pb").write_bytes(graph.SerializeToString())
        with open_frozen_graph(tmp_path / "m.pb") as found:
            np.testing.assert_array_equal(found.read("a"), [[1.5, 2.5, 3.5], [3.5, 3.5, 3.5]])
            np.testing.assert_array_equal(found.read("h"), np.array([1, -2.5], np.float16))
            with pytest.raises(CheckpointError, match=r"m\.pb: damaged.*0 values, expected those of shape \(2,\)"):
                found.read("b")

    def test_metadata_of_our_own(self, tmp_path: Path) -> None:
        told = {"anchors": "voc300", "classes": "coco80"}
        path = write_v2(tmp_path / "m.ckpt", {"a": np.ones(2), "ssd_detect/metadata": json.dumps(told).encode()})
        with open_tensors(locate(str(path))) as tensors:
            assert (tensors.metadata, set(tensors.shapes)) == (told, {"a"})

    @pytest.mark.parametrize("text", [b"", b"[1]", b"{", b"[" * 100_000, b'{"a": 1}', b"\xff"])
    def test_metadata_that_make_no_sense(self, tmp_path: Path, text: bytes) -> None:
        path = write_v2(tmp_path / "m.ckpt", {"a": np.ones(2), "ssd_detect/metadata": text})
        with open_tensors(locate(str(path))) as tensors:
            assert tensors.metadata == {}


@pytest.mark.parametrize("kind", ["frozen", "SavedModel of constants"])
def test_a_file_that_is_shortened_while_it_is_read(tmp_path: Path, kind: str) -> None:
    """Where a file is mapped into memory, this ends the process."""
    write, _, _ = WRITERS[kind]
    path = write(tmp_path, {"a": np.ones((1000, 100), np.float32)})
    with open_tensors(locate(str(path))) as tensors:
        os.truncate(path / "saved_model.pb" if path.is_dir() else path, 5)
        with pytest.raises(CheckpointError, match=r"damaged or .* \(it was cut off while it was read\)"):
            tensors.read("a")


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="the kernel's account of the memory is Linux's")
@pytest.mark.parametrize("kind", ["frozen", "SavedModel of constants"])
def test_memory_does_not_grow_with_the_file(tmp_path: Path, kind: str) -> None:
    """Tensors that are read one after the other, and let go, take the room of the largest one."""
    write, _, _ = WRITERS[kind]
    path = write(tmp_path, {f"w{i}": np.full((500, 1000), i, np.float32) for i in range(20)})
    script = (
        "import sys; from pathlib import Path\n"
        "from ssd_detect.model.locate import locate\n"
        "from ssd_detect.model.readers.open import open_tensors\n"
        "peak = lambda: int(Path('/proc/self/status').read_text().split('VmHWM:')[1].split()[0]) * 1024\n"
        "before = peak()\n"
        "with open_tensors(locate(sys.argv[1])) as tensors:\n"
        "    for name in tensors.shapes: tensors.read(name)\n"
        "print(peak() - before)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, str(path)], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert 1_000_000 < int(done.stdout) < 10_000_000  # one of them is 2 MB, all are 40 MB


class TestSliceKeys:
    @settings(deadline=None, max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(
        name=st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=8),
        offset=st.integers(0, 70_000),
        rows=st.integers(1, 3),
    )
    def test_pieces_far_inside_are_found(
        self, tmp_path_factory: pytest.TempPathFactory, name: str, offset: int, rows: int
    ) -> None:
        """TensorFlow writes a piece under a key that is found again, whatever the numbers."""
        prefix = str(tmp_path_factory.mktemp("slices") / "m.ckpt")
        total = offset + rows
        pieces = [(0, offset), (offset, rows)] if offset else [(0, rows)]
        values = np.arange(total, dtype=np.float32)
        with tf.Graph().as_default(), tf.compat.v1.Session() as session:
            save = tf.raw_ops.SaveV2(
                prefix=prefix,
                tensor_names=[name] * len(pieces),
                shape_and_slices=[f"{total} {start},{length}" for start, length in pieces],
                tensors=[values[start : start + length] for start, length in pieces],
            )
            session.run(save)
        with open_tensors(locate(prefix)) as tensors:
            np.testing.assert_array_equal(tensors.read(name), values)

    def test_the_whole_of_it(self) -> None:
        assert slice_key("a", [(0, -1)]) == b"\0a\0\1\1\1\x80\x7f"


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, bytes]]:
    """Kind -> every file of a small checkpoint, to be damaged."""
    files = {}
    for kind in ("V2", "V1", "frozen", "SavedModel", "SavedModel of constants"):
        folder = tmp_path_factory.mktemp("small")
        WRITERS[kind][0](folder, {"net/a": FLOATS["net/conv/biases"], "net/b": FLOATS["net/half"]})
        files[kind] = {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}
        files[kind].pop("m.ckpt-part0.index", None)
    return files


def given_in(folder: Path, files: Mapping[str, bytes]) -> Path:
    for name, content in files.items():
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)
    head = next(n for n in ("m.ckpt.index", "m.ckpt", "m.pb", "m/saved_model.pb") if n in files)
    return folder / head


def is_one_line(error: BaseException) -> bool:
    return len(str(error).splitlines()) == 1


def read_or_fault(path: Path) -> dict[str, Any] | str:
    """What `read_all` gives, or the one line of its error."""
    try:
        return read_all(path)
    except CheckpointError as error:
        line = str(error)
    assert len(line.splitlines()) == 1
    return line


class TestDamage:
    @pytest.mark.parametrize("kind", ["V2", "V1", "frozen", "SavedModel", "SavedModel of constants"])
    def test_cut_off_anywhere(self, tmp_path: Path, small: dict[str, dict[str, bytes]], kind: str) -> None:
        """Each file cut at some forty places: an error of one line that names it, or the weights as they were."""
        whole = read_all(given_in(tmp_path / "whole", small[kind]))
        refused = 0
        for name, content in small[kind].items():
            for length in {*np.linspace(0, len(content) - 1, 40).astype(int).tolist()}:
                folder = tmp_path / f"{name.replace('/', '-')}-{length}"
                path = given_in(folder, small[kind] | {name: content[:length]})
                found = read_or_fault(path)
                if isinstance(found, str):
                    assert str(folder) in found
                    refused += 1
                else:
                    assert all(same_bits(found[n], whole[n]) for n in found), (name, length)
        assert refused > 20

    @pytest.mark.parametrize("kind", ["V2", "V1"])
    def test_every_byte_is_covered_by_a_checksum(
        self, tmp_path: Path, small: dict[str, dict[str, bytes]], kind: str
    ) -> None:
        whole = read_all(given_in(tmp_path / "whole", small[kind]))
        random = np.random.default_rng(1)
        for name, content in small[kind].items():
            if name == "checkpoint":
                continue
            for place in random.choice(len(content), min(len(content), 60), replace=False):
                changed = bytearray(content)
                changed[place] ^= 0x10
                path = given_in(tmp_path / f"{name}-{place}", small[kind] | {name: bytes(changed)})
                found = read_or_fault(path)
                if not isinstance(found, str):  # in the padding of the footer, or the block that holds nothing
                    assert {n: v.tobytes() for n, v in found.items()} == {n: v.tobytes() for n, v in whole.items()}

    def test_wrong_checksum_of_a_tensor(self, tmp_path: Path, small: dict[str, dict[str, bytes]]) -> None:
        name = "m.ckpt.data-00000-of-00001"
        content = bytearray(small["V2"][name])
        content[3] ^= 1
        path = given_in(tmp_path, small["V2"] | {name: bytes(content)})
        with pytest.raises(CheckpointError, match=r"m\.ckpt: damaged.*a tensor with a wrong checksum"):
            read_all(path)

    @settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(data=st.data())
    def test_noise_in_messages(
        self, tmp_path_factory: pytest.TempPathFactory, small: dict[str, dict[str, bytes]], data: st.DataObject
    ) -> None:
        """Frozen graphs have no checksum: whatever stands there, it is read or refused."""
        content = bytearray(small["frozen"]["m.pb"])
        for _ in range(data.draw(st.integers(1, 4))):
            content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
        path = given_in(tmp_path_factory.mktemp("noise"), {"m.pb": bytes(content)})
        read_or_fault(path)


def masked(data: bytes) -> bytes:
    value = crc32c(data)
    return ((((value >> 15) | (value << 17)) + 0xA282EAD8) & 0xFFFFFFFF).to_bytes(4, "little")


def varint(value: int) -> bytes:
    out = b""
    while value >= 0x80:
        out += bytes([value & 0x7F | 0x80])
        value >>= 7
    return out + bytes([value])


def table(entries: bytes, compression: int = 0) -> bytes:
    """A table of one block, written by hand."""
    restarts = (0).to_bytes(4, "little") + (1).to_bytes(4, "little")
    block = entries + restarts
    out = block + bytes([compression]) + masked(block + bytes([compression]))
    handle = varint(0) + varint(len(block))
    index = b"\0" + varint(1) + varint(len(handle)) + b"\xff" + handle + restarts
    place = varint(len(out)) + varint(len(index))
    out += index + b"\0" + masked(index + b"\0")
    return out + (varint(0) + varint(0) + place).ljust(40, b"\0") + bytes.fromhex("57fb808b247547db")


def entry(key: bytes, value: bytes, shared: int = 0) -> bytes:
    return varint(shared) + varint(len(key)) + varint(len(value)) + key + value


HEADER = entry(b"", b"\x08\x01")  # one data file


def bundle_entry(shape: int, size: int, *, offset: int = 0, shard: int = 0, checksum: bytes = bytes(4)) -> bytes:
    dimension = b"\x08" + varint(shape)
    sides = b"\x12" + varint(len(dimension)) + dimension
    place = b"\x18" + varint(shard) + b"\x20" + varint(offset) + b"\x28" + varint(size) + b"\x35" + checksum
    return b"\x08\x01\x12" + varint(len(sides)) + sides + place


class TestMadeByHand:
    def read_index(self, folder: Path, index: bytes, data: bytes = b"") -> dict[str, Any]:
        (folder / "m.ckpt.index").write_bytes(index)
        (folder / "m.ckpt.data-00000-of-00001").write_bytes(data)
        return read_all(folder / "m.ckpt")

    def test_right_one(self, tmp_path: Path) -> None:
        data = np.array([1, 2], np.float32).tobytes()
        index = table(HEADER + entry(b"a", bundle_entry(2, 8, checksum=masked(data))))
        np.testing.assert_array_equal(self.read_index(tmp_path, index, data)["a"], [1, 2])

    @pytest.mark.parametrize(
        ("entries", "message"),
        [
            (b"", "an index without a header"),
            (entry(b"a", b""), "an index without a header"),
            (entry(b"", b"\x08\x00"), "an index of 0 data files"),
            (entry(b"", b"\x08\xff\xff\xff\xff\x0f"), "an index of 4294967295 data files"),
            (entry(b"", b"\x08\x01\x10\x01"), "big-endian"),
            (HEADER + entry(b"a", bundle_entry(1 << 40, 1 << 42)), "the data file ends within a tensor"),
            (HEADER + entry(b"a", bundle_entry(1 << 40, 8)), r"8 bytes, expected those of float32 \(1099511627776,\)"),
            (HEADER + entry(b"a", bundle_entry(2, 8, offset=1 << 62)), "the data file ends within a tensor"),
            (HEADER + entry(b"a", bundle_entry(2, 8, shard=7)), "a tensor in file 7 of 1"),
            (HEADER + entry(b"a", bundle_entry((1 << 64) - 1, 8)), "an impossible shape"),
            (HEADER + entry(b"a", b"\x12" + varint(33 * 4) + b"\x12\x02\x08\x01" * 33), "an impossible shape"),
            (HEADER + entry(b"a", b"\x12\x05"), "a field that goes beyond the end"),
            (HEADER + entry(b"a", b"\x0b"), "a field of the unknown type 3"),
            (HEADER + entry(b"a", b"\x80" * 12), "a number without an end"),
            (HEADER + entry(b"\xff", bundle_entry(2, 8)), "a name that is not UTF-8"),
            (HEADER + entry(b"a", b"", shared=9), "an entry that goes beyond its block"),
            (HEADER + b"\x00\x01\x7fa", "an entry that goes beyond its block"),
        ],
    )
    def test_what_no_table_says(self, tmp_path: Path, entries: bytes, message: str) -> None:
        with pytest.raises(CheckpointError, match=message) as caught:
            self.read_index(tmp_path, table(entries), bytes(8))
        assert is_one_line(caught.value)

    def test_compressed_blocks(self, tmp_path: Path) -> None:
        with pytest.raises(CheckpointError, match="a block compressed by Snappy, expected none"):
            self.read_index(tmp_path, table(HEADER, compression=1))

    def test_keys_that_grow(self, tmp_path: Path) -> None:
        """Each entry repeats the key before and adds a byte: 60 kB of file, 200 MB of names."""
        growing = b"".join(entry(b"a", b"", shared=i) for i in range(20_000))
        with pytest.raises(CheckpointError, match="more than 8 MB of names"):
            self.read_index(tmp_path, table(HEADER + growing))

    def test_pieces_that_do_not_make_the_whole(self, tmp_path: Path) -> None:
        piece = b"\x3a\x06\x0a\x04\x08\x00\x10\x01"  # the first of the rows
        whole = b"\x08\x01\x12\x04\x12\x02\x08\x03" + piece
        index = table(
            HEADER + entry(b"\0a\0\1\1\1\x80\x81", bundle_entry(1, 4, checksum=masked(bytes(4)))) + entry(b"a", whole)
        )
        with pytest.raises(CheckpointError, match=r"pieces do not make its shape, \(3,\)"):
            self.read_index(tmp_path, index, bytes(4))
        with pytest.raises(CheckpointError, match="a piece of a tensor is missing"):
            self.read_index(
                tmp_path, table(HEADER + entry(b"a", b"\x08\x01\x12\x04\x12\x02\x08\x01" + piece)), bytes(4)
            )

    def test_index_under_the_wrong_name(self, tmp_path: Path) -> None:
        (tmp_path / "copy of index").write_bytes(table(HEADER))
        with pytest.raises(CheckpointError, match="the index of a TensorFlow V2 checkpoint"):
            read_all(tmp_path / "copy of index")
