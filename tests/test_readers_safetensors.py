"""`.safetensors` files: as their own library reads them, damaged ones, and one that is shortened meanwhile."""

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from ssd_detect.errors import CheckpointError
from ssd_detect.model.readers.safetensors_file import open_safetensors

FLOATS = {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}


def written(path: Path, header: Any, content: bytes = bytes(24)) -> Path:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + content)
    return path


@pytest.mark.parametrize("dtype", ["?", "u1", "i1", "i2", "i4", "i8", "u2", "u4", "u8", "f2", "f4", "f8"])
def test_every_type_as_their_library_reads_it(tmp_path: Path, dtype: str) -> None:
    tensors = {
        "none": np.zeros((0, 3), dtype),
        "scalar": np.ones((), dtype),
        "some": np.random.default_rng(7).integers(0, 2, (2, 3, 4)).astype(dtype),
    }
    save_file(tensors, tmp_path / "m.safetensors", {"size": "300"})
    with open_safetensors(tmp_path / "m.safetensors") as opened:
        assert opened.metadata == {"size": "300"}
        for name, expected in load_file(tmp_path / "m.safetensors").items():
            values = opened.read(name)
            assert values.shape == opened.shapes[name] == expected.shape
            assert values.dtype.name == opened.dtypes[name] == expected.dtype.name
            assert values.tobytes() == expected.tobytes()


def test_bfloat16(tmp_path: Path) -> None:
    header = {"a": {"dtype": "BF16", "shape": [2], "data_offsets": [0, 4]}}
    with open_safetensors(written(tmp_path / "m", header, b"\x80\x3f\x00\xc0")) as opened:
        assert opened.dtypes["a"] == "bfloat16"
        assert opened.read("a").tolist() == [1.0, -2.0]


@pytest.mark.parametrize(
    ("header", "message"),
    [
        (b"", "no header"),
        (b"[" * 100_000, "no header"),
        (b"\xff\xfe{}", "no header"),
        ([], "the header names no tensors"),
        ({}, "24 bytes of numbers, expected 0"),
        ({"__metadata__": {"size": 300}}, "__metadata__ is not made of texts"),
        ({"a": 3}, "does not describe 'a'"),
        ({"a": {**FLOATS, "shape": 6}}, "does not describe 'a'"),
        ({"a": {**FLOATS, "shape": [-2, -3]}}, "does not describe 'a'"),
        ({"a": {**FLOATS, "shape": [True, 6]}}, "does not describe 'a'"),
        ({"a": {**FLOATS, "data_offsets": [0]}}, "does not describe 'a'"),
        ({"a": {**FLOATS, "shape": [2, 4]}}, r"24 bytes, expected those of float32 \(2, 4\)"),
        ({"a": {**FLOATS, "shape": [2**40, 2**40]}}, "24 bytes, expected those of float32"),
        ({"a": {**FLOATS, "data_offsets": [24, 48]}}, "expected it to begin at 0"),
        ({"a": FLOATS, "b": FLOATS}, "expected it to begin at 24"),
        ({"a": {**FLOATS, "shape": [5], "data_offsets": [0, 20]}}, "24 bytes of numbers, expected 20"),
        ({"a": {**FLOATS, "shape": [7], "data_offsets": [0, 28]}}, "24 bytes of numbers, expected 28"),
    ],
)
def test_damage(tmp_path: Path, header: Any, message: str) -> None:
    path = written(tmp_path / "m", header)
    with pytest.raises(CheckpointError, match=message) as caught, open_safetensors(path):
        pass
    assert len(str(caught.value).splitlines()) == 1


@pytest.mark.parametrize("length", [30, 2**20, 2**63])
def test_a_header_longer_than_the_file(tmp_path: Path, length: int) -> None:
    (tmp_path / "m").write_bytes(length.to_bytes(8, "little") + b"{}")
    with pytest.raises(CheckpointError, match="damaged"), open_safetensors(tmp_path / "m"):
        pass


def test_types_that_numpy_lacks_are_refused_when_they_are_read(tmp_path: Path) -> None:
    header = {"a": {"dtype": "F8_E4M3", "shape": [24], "data_offsets": [0, 24]}}
    path = written(tmp_path / "m", header)
    with pytest.raises(CheckpointError, match="values of F8_E4M3, expected numbers"), open_safetensors(path) as opened:
        opened.read("a")


def test_a_file_that_is_shortened_while_it_is_read(tmp_path: Path) -> None:
    """Where a file is mapped into memory, this ends the process."""
    save_file({"a": np.ones(100_000, np.float32)}, tmp_path / "m")
    with open_safetensors(tmp_path / "m") as opened:
        os.truncate(tmp_path / "m", 5)
        with pytest.raises(CheckpointError, match="it ends after 0 bytes of 400,000"):
            opened.read("a")
