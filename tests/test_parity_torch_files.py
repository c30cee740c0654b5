"""The reader of PyTorch's files against files that PyTorch itself wrote; `scripts/parity/torch` writes them anew."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ssd_detect.errors import CheckpointError
from ssd_detect.model.readers.pytorch import open_pytorch

FOLDER = Path(__file__).parent / "golden" / "torch-files"
# File -> what stands before the names in the dictionary that holds the weights.
READABLE = {"zip.pth": "", "legacy.pth": "", "data_parallel.pth": "", "nested.pth": "state_dict."}
# File -> what the refusal says. A tensor larger than its storage could be of any size in a small file.
REFUSED = {
    "script.pt": "TorchScript",
    "whole_module.pth": "Conv2d",
    "expanded.pth": r"holds a tensor of shape \(2, 3\) whose places share numbers \(strides \(0, 0\)",
}


@pytest.fixture(scope="module")
def expected() -> dict[str, dict[str, Any]]:
    """File -> name -> values as PyTorch had them."""
    files: dict[str, dict[str, Any]] = {}
    with np.load(FOLDER / "expected.npz") as arrays:
        for key, values in arrays.items():
            file, name = key.split("/")
            files.setdefault(file, {})[name] = values
    return files


def test_every_file_is_tested() -> None:
    assert {path.name for path in FOLDER.iterdir()} == {*READABLE, *REFUSED, "expected.npz"}


@pytest.mark.parametrize("file", READABLE)
def test_values_names_shapes_types(file: str, expected: Mapping[str, Mapping[str, Any]]) -> None:
    with open_pytorch(FOLDER / file) as tensors:
        for name, values in expected[file].items():
            given = READABLE[file] + name
            assert tensors.shapes[given] == values.shape
            if name != "bfloat16":  # which NumPy does not have
                assert tensors.dtypes[given] == values.dtype.name
            np.testing.assert_array_equal(tensors.read(given).astype(values.dtype), values, name)


@pytest.mark.parametrize("file", ["zip.pth", "legacy.pth", "data_parallel.pth"])
def test_a_state_dict_holds_nothing_else(file: str, expected: Mapping[str, Mapping[str, Any]]) -> None:
    with open_pytorch(FOLDER / file) as tensors:
        assert list(tensors.shapes) == list(expected[file])


def test_an_optimisers_tensors_stand_below_names_of_their_own() -> None:
    with open_pytorch(FOLDER / "nested.pth") as tensors:
        others = [name for name in tensors.shapes if not name.startswith("state_dict.")]
        assert len(others) == 2  # the momentum of a kernel and of its biases
        assert all(name.startswith("optimizer.") for name in others)


@pytest.mark.parametrize("file", REFUSED)
def test_what_is_more_than_tensors_is_refused(file: str) -> None:
    with pytest.raises(CheckpointError, match=REFUSED[file]) as refusal, open_pytorch(FOLDER / file):
        pass
    assert "damaged" not in str(refusal.value)  # they are sound
