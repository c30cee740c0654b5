"""PyTorch's files: every container and type bit for bit, and everything that only looks like one refused."""

import os
import pickle
import pickletools
import random
import struct
import time
import tracemalloc
import zipfile
from collections import OrderedDict
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ssd_detect.conventions import Source
from ssd_detect.errors import CheckpointError
from ssd_detect.model.naming import native_names, source_of, to_ours
from ssd_detect.model.readers.faults import DamagedError, RefusedError
from ssd_detect.model.readers.pytorch import MAX_PICKLE_BYTES, open_pytorch
from ssd_detect.model.readers.torch_pickle import MAX_OPERATIONS, unpickle
from ssd_detect.model.readers.torch_rebuild import TensorPlace
from tests.mutations import mutated
from tests.ssd_names import few, numbered_weights, seeded_weights, ssd_pytorch_tensors, torchvision_tensors
from tests.torch_files import (
    Calls,
    Parameter,
    Stored,
    Tensor,
    ZipParts,
    legacy_bytes,
    pickled,
    state_dict,
    write_legacy,
    write_zip,
    write_zip_parts,
)

Write = Callable[..., Path]
both = pytest.mark.parametrize("write", [write_zip, write_legacy])


def read_all(path: Path) -> dict[str, Any]:
    with open_pytorch(path) as tensors:
        return {name: tensors.read(name) for name in tensors.shapes}


class TestWhole:
    @both
    def test_a_network(self, write: Write, tmp_path: Path) -> None:
        weights = seeded_weights(300, 21) if write is write_legacy else seeded_weights(300, 91)
        port = ssd_pytorch_tensors if write is write_legacy else torchvision_tensors
        path = write(tmp_path / "net.pth", state_dict(port(weights)))
        with open_pytorch(path) as tensors:
            source = source_of(tensors.shapes)
            assert source is (Source.SSD_PYTORCH if write is write_legacy else Source.TORCHVISION)
            names = native_names(source, 300, tensors.shapes)
            for ours, values in weights.items():
                np.testing.assert_array_equal(to_ours(tensors.read(names[ours]), ours, source), values)

    @both
    @pytest.mark.parametrize("wrap", ["", "state_dict.", "state_dict.module."])
    def test_wrapped(self, write: Write, wrap: str, tmp_path: Path) -> None:
        weights = few(numbered_weights(300, 2))
        module = "module." if "module" in wrap else ""
        inner = state_dict({module + name: values for name, values in ssd_pytorch_tensors(weights).items()})
        value = {"epoch": 3, "state_dict": inner, "best": 0.5, "note": "x", "none": None} if wrap else inner
        with open_pytorch(write(tmp_path / "net.pth", value)) as tensors:
            names = native_names(Source.SSD_PYTORCH, 300, tensors.shapes)
            for ours, values in weights.items():
                assert names[ours].startswith(wrap)
                np.testing.assert_array_equal(to_ours(tensors.read(names[ours]), ours, Source.SSD_PYTORCH), values)

    def test_nothing_is_read_before_it_is_asked_for(self, tmp_path: Path) -> None:
        values = np.zeros(10_000_000, np.float32)
        path = write_zip(tmp_path / "net.pth", state_dict({"a": values}))
        tracemalloc.start()
        with open_pytorch(path) as tensors:
            assert tensors.shapes == {"a": (10_000_000,)}
            assert tracemalloc.get_traced_memory()[1] < 6_000_000
            tensors.read("a")
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 1.1 * path.stat().st_size


class TestTensors:
    @both
    @pytest.mark.parametrize(
        "values",
        [
            np.zeros((0, 3), np.float32),
            np.array(2.5, np.float32),
            np.arange(6, dtype=np.float64).reshape(2, 3),
            np.array([1.5, -0.0, np.inf, np.nan], np.float16),
            np.array([-(2**63), 2**63 - 1], np.int64),
            np.array([-7], np.int32),
            np.array([-7], np.int16),
            np.array([-7], np.int8),
            np.array([200], np.uint8),
            np.array([True, False]),
        ],
    )
    def test_each_type(self, write: Write, values: Any, tmp_path: Path) -> None:
        path = write(tmp_path / "t.pth", state_dict({"a": values, "other": np.ones(3, np.float32)}))
        with open_pytorch(path) as tensors:
            assert tensors.dtypes["a"] == values.dtype.name
            read = tensors.read("a")
        assert read.shape == values.shape == tensors.shapes["a"]
        if values.size:
            assert read.tobytes() == values.tobytes()

    @both
    def test_bfloat16(self, write: Write, tmp_path: Path) -> None:
        halves = np.array([0x3F80, 0xC020, 0x0001, 0x7F80], "<u2")  # 1, -2.5, the smallest above 0, infinity
        tensor = Tensor(Stored(halves.tobytes(), 4, "BFloat16Storage"), (4,), (1,))
        with open_pytorch(write(tmp_path / "t.pth", {"a": tensor})) as tensors:
            assert tensors.dtypes == {"a": "bfloat16"}
            read = tensors.read("a")
        np.testing.assert_array_equal(read, np.array([1, -2.5, 2.0**-133, np.inf], np.float32))

    @both
    def test_parts_of_one_storage(self, write: Write, tmp_path: Path) -> None:
        base = np.arange(24, dtype=np.float32).reshape(4, 6)
        storage = Stored.of(base)
        parts = {
            "whole": Tensor(storage, (4, 6), (6, 1)),
            "turned": Tensor(storage, (6, 4), (1, 6)),
            "column": Tensor(storage, (4,), (6,), 2),
            "last": Tensor(storage, (1,), (1,), 23),
        }
        read = read_all(write(tmp_path / "t.pth", parts))
        for name, expected in {"whole": base, "turned": base.T, "column": base[:, 2], "last": base[3, 5:]}.items():
            np.testing.assert_array_equal(read[name], expected)

    @both
    def test_parameters_and_old_tensors(self, write: Write, tmp_path: Path) -> None:
        values = np.arange(3, dtype=np.float32)
        old = Tensor.of(values, rebuild="_rebuild_tensor")
        read = read_all(write(tmp_path / "t.pth", {"new": Parameter(Tensor.of(values)), "old": old}))
        np.testing.assert_array_equal(read["new"], values)
        np.testing.assert_array_equal(read["old"], values)

    @both
    @pytest.mark.parametrize("protocol", [2, 3, 4, 5])
    def test_each_protocol_of_pickle(self, write: Write, protocol: int, tmp_path: Path) -> None:
        value = {"long text " * 30: 1, "n": [1, -1, 2**40, 1.5, (1, 2, 3, 4)], "w": Tensor.of(np.ones(2))}
        assert list(read_all(write(tmp_path / "t.pth", value, protocol))) == ["w"]

    def test_lists_and_numbers_as_names(self, tmp_path: Path) -> None:
        value = {"a": [Tensor.of([1.0]), (Tensor.of([2.0]),)], 3: Tensor.of([4.0])}
        assert {n: float(v[0]) for n, v in read_all(write_zip(tmp_path / "t.pth", value)).items()} == {
            "a.0": 1.0,
            "a.1.0": 2.0,
            "3": 4.0,
        }

    def test_a_dictionary_as_python_2_wrote_it(self, tmp_path: Path) -> None:
        """Texts of bytes, and an OrderedDict made of a list of pairs."""
        key = b"U\x08vgg.bias"
        tensor, storages = pickled(Tensor.of(np.array([7], np.float32)), legacy=True)
        data = b"\x80\x02ccollections\nOrderedDict\n]]" + key + tensor[2:-1] + b"ea\x85R."
        data = data.replace(b"]]", b"](](")  # a list with one pair in it
        data = data.replace(b"ea\x85R.", b"ee\x85R.")
        path = tmp_path / "t.pth"
        path.write_bytes(legacy_bytes(data, storages))
        np.testing.assert_array_equal(read_all(path)["vgg.bias"], [7])

    def test_a_part_of_a_storage_as_before_0_4(self, tmp_path: Path) -> None:
        tensor, storages = pickled(Tensor.of(np.arange(6, dtype=np.float32)), legacy=True)
        length, part = b"K\x06", b"N"
        assert tensor.count(length + part) == 1
        view = tensor.replace(length + part, length + b"(U\x01vK\x02K\x03t").replace(b"K\x06\x85", b"K\x03\x85")
        path = tmp_path / "t.pth"
        path.write_bytes(legacy_bytes(view, storages))
        np.testing.assert_array_equal(read_all(path)[""], [2, 3, 4])


def write_pickle(path: Path, data: bytes, *, legacy: bool) -> Path:
    """A file whose pickle is `data` and which has no storages."""
    if legacy:
        path.write_bytes(legacy_bytes(data, []))
        return path
    return write_zip_parts(path, data, [], ZipParts())


class TestEvil:
    """Every way in which a pickle can call something. The proof that they work is that Python's own unpickler does."""

    @pytest.mark.parametrize("legacy", [False, True])
    @pytest.mark.parametrize(
        ("data", "message"),
        [
            (b"cos\nsystem\n(S'touch MARK'\ntR.", "holds os.system, which could run as a program; refused"),
            (b"\x80\x04\x8c\x05posix\x8c\x06system\x93\x8c\x0atouch MARK\x85R.", r"holds posix\.system"),
            (b"(ios\nsystem\n.", r"holds os\.system"),
            (b"(S'touch MARK'\nios\nsystem\n.", "damaged"),
            (b"(cos\nsystem\nX\x0a\0\0\0touch MARKo.", r"holds os\.system"),
            (b"\x80\x02cbuiltins\neval\nX\x04\0\0\0MARK\x85R.", r"holds builtins\.eval"),
            (b"\x80\x02c__builtin__\nexec\n.", r"holds __builtin__\.exec"),
            (b"\x80\x02}cos\nsystem\ns.", r"holds os\.system"),
            (b"\x80\x02cbuiltins\ngetattr\ncos\nsystem\n\x86R.", r"holds builtins\.getattr"),
            (b"\x80\x02ctorch\nload\n.", r"holds torch\.load"),
            (b"\x80\x02ctorch._utils\n_rebuild_qtensor\n.", r"holds torch\._utils\._rebuild_qtensor"),
            (b"\x80\x02ctorch\nComplexFloatStorage\n.", r"holds torch\.ComplexFloatStorage"),
            (b"\x80\x02ccollections\nOrderedDict.__init__\n.", r"holds collections\.OrderedDict\.__init__"),
            (b"\x80\x04\x8c\x0bcollections\x8c\x18OrderedDict.__class__.xx\x93.", r"holds collections\.OrderedDict\."),
            (b"\x80\x02)\x81.", "operation NEWOBJ, which could run a program"),
            (b"\x80\x04)}\x92.", "operation NEWOBJ_EX"),
            (b"(o.", "operation OBJ"),
            (b"\x82\x01.", "operation EXT1"),
            (b"\x83\x01\x00.", "operation EXT2"),
            (b"\x84\x01\x00\x00\x00.", "operation EXT4"),
            (b"\x80\x02ccollections\nOrderedDict\n)RX\x01\0\0\0xb.", "an object with a state of its own"),
            (b"\x80\x02]}b.", "takes a list for a dict"),
            (b"\x80\x02ccollections\nOrderedDict\n}b.", "takes a Name for a dict"),
            (b"\x80\x02ccollections\nOrderedDict\nNR.", "calls what is no function"),
            (b"\x80\x02X\x02\0\0\0os)R.", "calls what is no function"),
            (b"\x80\x02K\x01X\x01\0\0\0x\x93.", "is no text"),
            (b"\x80\x02c" + b"x" * 5000 + b"\nsystem\n.", "does not end"),
            (b"\x80\x02ca\x1b[31mb\nevil\n.", r"holds a\?\[31mb\.evil"),
            (b"\x80\x02ccollections\nOrderedDict\n]]K\x01aa\x85R.", "of what are no pairs"),
            (b"\x80\x02ctorch._utils\n_rebuild_parameter\n(K\x01K\x01NtR.", "of what is no tensor"),
            (b"\x80\x02ctorch._utils\n_rebuild_tensor_v2\n)R.", "with 0 arguments"),
            (b"Psomething\n.", "operation 0x50"),
        ],
    )
    def test_calls(self, data: bytes, message: str, legacy: bool, tmp_path: Path, in_an_empty_folder: None) -> None:
        path = write_pickle(tmp_path / "evil.pth", data, legacy=legacy)
        with pytest.raises(CheckpointError, match=message) as caught, open_pytorch(path):
            pass
        assert str(caught.value).startswith(str(path))
        assert "\n" not in str(caught.value)
        assert [p.name for p in tmp_path.iterdir()] == ["evil.pth"]

    @both
    def test_a_pickle_that_really_runs(self, write: Write, tmp_path: Path) -> None:
        """What `pickle.load` would have run, hidden in a state dictionary."""
        mark = tmp_path / "mark"
        evil = Calls(os.system, (f"touch {mark}",))
        assert pickle.loads(pickle.dumps(evil, 2)) == 0
        assert mark.exists()
        mark.unlink()
        path = write(tmp_path / "evil.pth", state_dict({"vgg.0.weight": np.ones(2)}) | {"x": [{"y": evil}]})
        with pytest.raises(CheckpointError, match=rf"holds {os.name}\.system"), open_pytorch(path):
            pass
        assert not mark.exists()

    def test_a_state_that_runs(self, tmp_path: Path) -> None:
        evil = Calls(OrderedDict, ())
        data = pickle.dumps(evil, 2)[:-1] + b"X\x01\0\0\0a" + b"K\x01\x86b."
        with (
            pytest.raises(CheckpointError, match="an object with a state of its own"),
            open_pytorch(write_pickle(tmp_path / "t.pth", data, legacy=True)),
        ):
            pass

    @pytest.mark.parametrize(
        ("told", "message"),
        [
            (b"N", "a storage in other words"),
            (b")", "a storage in other words"),
            (b"X\x07\0\0\0storage", "a storage in other words"),
            (b"X\x07\0\0\0storage\x85", "a storage in other words"),
            (b"(X\x06\0\0\0modulecos\nsystem\nt", r"holds os\.system"),
            (b"(X\x06\0\0\0moduleNNt", "holds a whole module with its program"),
            (b"(X\x07\0\0\0storageX\x01\0\0\0FX\x01\0\0\x000X\x03\0\0\0cpuK\x01t", "a storage in other words"),
            (b"(X\x07\0\0\0storagectorch\nSize\nX\x01\0\0\x000X\x03\0\0\0cpuK\x01t", "a storage in other words"),
            (b"(X\x07\0\0\0storagectorch\nFloatStorage\nX\x01\0\0\x000X\x03\0\0\0cpu\x88t", "in other words"),
            (
                b"(X\x07\0\0\0storagectorch\nFloatStorage\nX\x01\0\0\x000X\x03\0\0\0cpuJ\xff\xff\xff\xfft",
                "in other words",
            ),
            (
                b"(X\x07\0\0\0storagectorch\nFloatStorage\nX\x01\0\0\x000X\x03\0\0\0cpuK\x04(X\x01\0\0\0vK\x03K\x02tt",
                "a part of a storage that reaches beyond it",
            ),
            (b"(" + b"N" * 100_000 + b"t", "in other words"),
        ],
    )
    @pytest.mark.parametrize("legacy", [False, True])
    def test_odd_persistent_ids(self, told: bytes, message: str, legacy: bool, tmp_path: Path) -> None:
        path = write_pickle(tmp_path / "t.pth", b"\x80\x02" + told + b"Q.", legacy=legacy)
        with pytest.raises(CheckpointError, match=message), open_pytorch(path):
            pass


def refused_cheaply(path: Path, message: str, megabytes: float = 60) -> None:
    """Opening and reading all fails, with little computing and little memory."""
    started = time.process_time()
    tracemalloc.start()
    try:
        with pytest.raises(CheckpointError, match=message):
            read_all(path)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < megabytes * 1e6
    assert time.process_time() - started < 20


class TestBounds:
    @pytest.mark.parametrize(
        ("data", "message"),
        [
            (b"", "ends too early"),
            (b"\x80", "ends too early"),
            (b".", "takes what is not there"),
            (b"(.", "takes what is not there"),
            (b"\x80\x02K\x01r\xff\xff\xff\xff0.", "takes what is not there"),
            (b"\x80\x02j\xff\xff\xff\xff.", "calls for a value that it did not make"),
            (b"\x80\x02h\x00.", "calls for a value that it did not make"),
            (b"\x80\x04\x95\xff\xff\xff\xff\xff\xff\xff\x7f.", "ends too early"),
            (b"\x80\x04\x8d\xff\xff\xff\xff\xff\xff\xff\x7f.", "ends too early"),
            (b"\x80\x02X\xff\xff\xff\xffabc.", "ends too early"),
            (b"\x80\x02\x8b\xff\xff\xff\x7f.", "more than 128 bits"),
            (b"\x80\x02\x8a\xff" + b"\xff" * 255 + b".", "more than 128 bits"),
            (b"(" * 1_000_000 + b".", "more than 200,000 operations"),
            (b"(" * 1_000_000, "more than 200,000 operations"),
            (b"}" * 1_000_000, "more than 200,000 operations"),
            (b"}\x94" * 150_000 + b".", "more than 200,000 operations"),
            (b"})" + b"\x85" * 150_000 + b"Ns.", "a key that is neither text nor number"),
            (b"}(NNN" + b"u.", "a key without a value"),
            (b"t.", "a mark that is not there"),
            (b"\x80\x02" + b"N" * 100 + b"\x00.", "operation 0x00"),
        ],
    )
    def test_lies_about_size(self, data: bytes, message: str, tmp_path: Path) -> None:
        refused_cheaply(write_pickle(tmp_path / "t.pth", data, legacy=False), message)

    def test_deeply_nested(self, tmp_path: Path) -> None:
        """What is nested deeper than any state dictionary is not looked into, and kills nobody."""
        data = b"]" * 100_000 + b"a" * 99_999 + b"."
        assert read_all(write_pickle(tmp_path / "t.pth", data, legacy=False)) == {}

    def test_one_list_many_dictionaries(self, tmp_path: Path) -> None:
        pair = b"(X\x01\0\0\0ANl"
        data = b"ccollections\nOrderedDict\nq\x000(" + pair * 20_000 + b"l\x85q\x010(" + b"h\x00h\x01R" * 20_000 + b"l."
        refused_cheaply(write_pickle(tmp_path / "t.pth", data, legacy=False), "copies more than")

    def test_lists_of_the_same_lists(self, tmp_path: Path) -> None:
        """Ten lists, each ten thousand times in the next: 10^40 values to walk through."""
        data = b"]q\x000" + b"".join(b"(" + b"h\x00" * 10_000 + b"lq\x000" for _ in range(10)) + b"h\x00."
        refused_cheaply(write_pickle(tmp_path / "t.pth", data, legacy=False), "holds more than 100,000 values")

    def test_long_names_of_very_many(self, tmp_path: Path) -> None:
        """More values than may be, whose names would have four thousand letters each."""
        value: Any = [()] * 150_000
        for _ in range(7):
            value = {"k" * 500: value}
        refused_cheaply(write_zip(tmp_path / "t.pth", value), "holds more than 100,000 values")

    def test_itself_in_itself(self, tmp_path: Path) -> None:
        data = b"]q\x00(" + b"h\x00" * 100 + b"e."
        refused_cheaply(write_pickle(tmp_path / "t.pth", data, legacy=False), "holds more than 100,000 values")

    def test_long_names(self, tmp_path: Path) -> None:
        value = {"k" * 3_000_000: {str(i): Tensor.of([1.0]) for i in range(1000)}}
        refused_cheaply(write_zip(tmp_path / "t.pth", value), "there twice, or too long")

    @pytest.mark.parametrize(
        ("shape", "strides", "offset"),
        [
            ((5,), (1,), 0),
            ((4,), (1,), 1),
            ((2, 2), (3, 2), 0),
            ((1_000_000, 1_000_000), (0, 0), 0),
            ((4, 4), (1, 0), 0),
            ((2**62, 4), (0, 1), 0),
            ((3,), (-1,), 3),
            ((-1,), (1,), 0),
            ((4,), (1, 1), 0),
            ((1,) * 9, (1,) * 9, 0),
            ((4,), (1,), -1),
            ((True,), (1,), 0),
            ((4.0,), (1,), 0),
            ((2**200,), (1,), 0),
        ],
    )
    @both
    def test_tensors_larger_than_their_storage(
        self, write: Write, shape: Any, strides: Any, offset: int, tmp_path: Path
    ) -> None:
        tensor = Tensor(Stored.of(np.zeros(4, np.float32)), shape, strides, offset)
        refused_cheaply(write(tmp_path / "t.pth", {"a": tensor}), "a tensor|128 bits")

    @both
    def test_many_tensors_of_one_storage(self, write: Write, tmp_path: Path) -> None:
        storage = Stored.of(np.zeros(250_000, np.float32))
        value = {str(i): Tensor(storage, (250_000,), (1,)) for i in range(1000)}
        path = write(tmp_path / "t.pth", value)
        refused_cheaply(path, r"tensors of 1,000,000,000 bytes in a file of 1,0[0-9,]+: they share their numbers")

    @both
    def test_a_storage_that_says_it_is_larger(self, write: Write, tmp_path: Path) -> None:
        honest = Stored.of(np.zeros(100, np.float32))
        liar = Stored(honest.raw, 10_000_000, "FloatStorage")
        path = write(tmp_path / "t.pth", {"a": Tensor(liar, (100,), (1,))})
        refused_cheaply(path, "damaged")


class TestContainers:
    @pytest.mark.parametrize("content", [b"", b"PK", b"PK\x03\x04", b"PK\x03\x04" + bytes(1000), bytes(1000)])
    def test_no_file_of_pytorch(self, content: bytes, tmp_path: Path) -> None:
        path = tmp_path / "t.pth"
        path.write_bytes(content)
        refused_cheaply(path, "damaged or no checkpoint at all")

    def test_nothing_there(self, tmp_path: Path) -> None:
        refused_cheaply(tmp_path / "gone.pth", "cannot read the checkpoint: No such file")

    @pytest.mark.parametrize(
        ("extra", "message"),
        [
            ({"archive/code/__torch__.py": b"x"}, "a TorchScript program, expected tensors"),
            ({"archive/constants.pkl": b"x"}, "a TorchScript program"),
            ({"other/data.pkl": b"x"}, "a zip with 2 PyTorch pickles"),
        ],
    )
    def test_other_zips(self, extra: dict[str, bytes], message: str, tmp_path: Path) -> None:
        refused_cheaply(write_zip(tmp_path / "t.pth", {}, parts=ZipParts(extra=extra)), message)

    def test_zip_without_a_pickle(self, tmp_path: Path) -> None:
        with zipfile.ZipFile(tmp_path / "t.pth", "w") as archive:
            archive.writestr("readme", b"x")
        refused_cheaply(tmp_path / "t.pth", "a zip with 0 PyTorch pickles")

    @pytest.mark.parametrize("folder", ["..", "/etc", "C:\\x", "a b"])
    def test_members_anywhere(self, folder: str, tmp_path: Path, in_an_empty_folder: None) -> None:
        """Members are read, never unpacked: their folders mean nothing."""
        path = write_zip(tmp_path / "t.pth", {"a": Tensor.of(np.ones(2))}, parts=ZipParts(folder=folder))
        if folder.startswith("/"):
            refused_cheaply(path, "a zip with 0 PyTorch pickles")
        else:
            np.testing.assert_array_equal(read_all(path)["a"], [1, 1])
        assert list(tmp_path.iterdir()) == [path]

    def test_bomb(self, tmp_path: Path) -> None:
        value = {"a": Tensor.of(np.zeros(50_000_000, np.float32))}
        path = write_zip(tmp_path / "t.pth", value, parts=ZipParts(compression=zipfile.ZIP_DEFLATED))
        assert path.stat().st_size < 1_000_000
        refused_cheaply(path, "is compressed, expected none to be")

    def test_a_directory_of_a_million_members(self, tmp_path: Path) -> None:
        entry = b"PK\x01\x02" + bytes(42)
        directory = entry * 1_000_000
        end = b"PK\x05\x06" + bytes(4) + struct.pack("<HHIIH", 0, 0, len(directory), 4, 0)
        (tmp_path / "t.pth").write_bytes(b"PK\x03\x04" + directory + end)
        refused_cheaply(tmp_path / "t.pth", "a zip whose directory has more than")

    def test_a_member_before_the_beginning(self, tmp_path: Path) -> None:
        path = write_zip(tmp_path / "t.pth", {"a": Tensor.of(np.ones(2))})
        content = path.read_bytes()
        at = content.rindex(b"PK\x05\x06") + 16  # where the directory is; all offsets are corrected by the difference
        path.write_bytes(content[:at] + struct.pack("<I", len(content)) + content[at + 4 :])
        refused_cheaply(path, "begin before it does|Bad offset for central directory")

    def test_storage_missing(self, tmp_path: Path) -> None:
        data, _ = pickled({"a": Tensor.of(np.ones(2))})
        path = write_zip_parts(tmp_path / "t.pth", data, [], ZipParts())
        refused_cheaply(path, "no item named 'archive/data/0'")

    def test_wrong_checksum(self, tmp_path: Path) -> None:
        values = np.full(1000, 1.5, np.float32)
        path = write_zip(tmp_path / "t.pth", {"a": Tensor.of(values)})
        content = bytearray(path.read_bytes())
        content[content.index(values.tobytes()) + 77] ^= 1
        path.write_bytes(content)
        refused_cheaply(path, "damaged or no checkpoint at all .Bad CRC-32")

    @pytest.mark.parametrize("write", [write_zip, write_legacy])
    def test_big_endian(self, write: Write, tmp_path: Path) -> None:
        value = {"a": Tensor.of(np.ones(2))}
        if write is write_zip:
            path = write_zip(tmp_path / "t.pth", value, parts=ZipParts(order=b"big"))
        else:
            path = write_legacy(tmp_path / "t.pth", value, little_endian=False)
        refused_cheaply(path, "big-endian order, expected little-endian")

    def test_zip_from_before_it_told_the_order(self, tmp_path: Path) -> None:
        path = write_zip(tmp_path / "t.pth", {"a": Tensor.of(np.ones(2))}, parts=ZipParts(order=None))
        assert list(read_all(path)) == ["a"]

    @pytest.mark.parametrize(
        ("content", "message"),
        [
            (pickle.dumps({"a": 1}, 2), "ends too early"),
            (pickle.dumps({"a": 1}, 2) + pickle.dumps(1, 2) * 4, "a pickle, but not PyTorch's"),
            (b"x" * 257 + b"ustar" + bytes(300), "a tar archive of PyTorch before 0.2"),
        ],
    )
    def test_other_pickles(self, content: bytes, message: str, tmp_path: Path) -> None:
        (tmp_path / "t.pth").write_bytes(content)
        refused_cheaply(tmp_path / "t.pth", message)

    @pytest.mark.parametrize("length", [-1, 2**40, 2**62])
    def test_legacy_storage_of_another_length(self, length: int, tmp_path: Path) -> None:
        data, (stored,) = pickled({"a": Tensor.of(np.ones(2))}, legacy=True)
        (tmp_path / "t.pth").write_bytes(legacy_bytes(data, [Stored(stored.raw, length, stored.kind)]))
        refused_cheaply(tmp_path / "t.pth", "elements in a file of")


_opcodes = st.sampled_from([bytes([opcode]) for opcode in range(256) if opcode != ord("c")])
_names = st.sampled_from([b"ccollections\nOrderedDict\n", b"ctorch._utils\n_rebuild_tensor_v2\n", b"ctorch\nSize\n"])
_texts = st.sampled_from([b"X\x07\0\0\0storage", b"X\x01\0\0\x000", b"K\x01", b"(K\x01t", b"NNNN", b"))))", b"}}}"])


@given(st.lists(st.one_of(_opcodes, _names, _texts, st.binary(max_size=3)), max_size=60).map(b"".join))
@settings(max_examples=500)
def test_any_operations_give_a_plain_value_or_an_error_of_ours(data: bytes) -> None:
    with suppress(DamagedError, RefusedError):
        value, end = unpickle(data + b".")
        assert 0 < end <= len(data) + 1
        assert isinstance(value, bool | int | float | str | bytes | list | tuple | dict | None | TensorPlace) or (
            type(value).__name__ in ("Name", "Storage")
        )


@both
def test_mutations(write: Write, tmp_path: Path) -> None:
    """Bytes flipped, zeroed, cut, put in: an error of ours, or tensors; nothing else."""
    path = write(tmp_path / "t.pth", state_dict(ssd_pytorch_tensors(few(numbered_weights(300, 2)))))
    whole = path.read_bytes()
    draw = random.Random(6)
    for _ in range(100):
        path.write_bytes(mutated(whole, draw))
        with suppress(CheckpointError):
            read_all(path)


def test_a_large_checkpoint_stays_below_the_limits() -> None:
    """A thousand parameters, and two optimiser slots each."""
    data, _ = pickled({f"layer.{i}": Tensor.of(np.ones((1, 1, 1, 1))) for i in range(3000)})
    assert len(data) < MAX_PICKLE_BYTES / 4
    assert sum(1 for _ in pickletools.genops(data)) < 0.7 * MAX_OPERATIONS
