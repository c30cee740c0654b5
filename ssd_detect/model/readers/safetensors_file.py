"""`.safetensors` files: a header in JSON that tells where the numbers of each tensor are.

Read, and not mapped into memory as their own library does: a mapped file that somebody shortens ends the process.

Source: the description of the format in the README of huggingface/safetensors.
"""

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from io import BufferedReader
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ssd_detect.model.readers.faults import DamagedError, explained, opened
from ssd_detect.model.readers.stored import StoredTensors
from ssd_detect.model.readers.tensor_protos import Described, array_of, check_size

_DTYPES = {
    "F64": "float64", "F32": "float32", "F16": "float16", "BF16": "bfloat16", "I64": "int64", "I32": "int32",
    "I16": "int16", "I8": "int8", "U64": "uint64", "U32": "uint32", "U16": "uint16", "U8": "uint8", "BOOL": "bool",
}  # fmt: skip
_MOST_HEADER_BYTES = 100_000_000  # as in their own library
_LENGTH_BYTES = 8
_METADATA = "__metadata__"


class _Place(NamedTuple):
    """Of a tensor: what it is, and the bytes from `start` to before `end` of the numbers."""

    described: Described
    start: int
    end: int


@contextmanager
def open_safetensors(path: Path) -> Iterator[StoredTensors]:
    """The tensors of the file `path`.

    Raises:
        CheckpointError: no such file, or a damaged one.
    """
    with opened(path) as file:
        with explained(path):
            header, begin = _header(file)
            metadata = _metadata(header)
            places = {name: _place(name, told) for name, told in header.items() if name != _METADATA}
            _check_whole(places, os.fstat(file.fileno()).st_size - begin)

        def read(name: str) -> npt.NDArray[np.generic]:
            with explained(path):
                return _numbers(file, places[name], begin)

        shapes = {name: place.described.shape for name, place in places.items()}
        dtypes = {name: place.described.dtype for name, place in places.items()}
        yield StoredTensors("safetensors", shapes, dtypes, read, metadata)


def _header(file: BufferedReader) -> tuple[dict[str, Any], int]:
    """The header, and where the numbers begin."""
    length = int.from_bytes(_bytes(file, _LENGTH_BYTES), "little")
    if length > _MOST_HEADER_BYTES:
        raise DamagedError(f"a header of {length:,} bytes")
    try:
        header = json.loads(_bytes(file, length).tobytes())
    except (ValueError, RecursionError) as error:
        raise DamagedError(f"no header: {error}") from error
    if not isinstance(header, dict):
        raise DamagedError("the header names no tensors")
    return header, _LENGTH_BYTES + length


def _metadata(header: Mapping[str, Any]) -> dict[str, str]:
    told = header.get(_METADATA) or {}
    if not (isinstance(told, dict) and all(isinstance(value, str) for value in told.values())):
        raise DamagedError(f"{_METADATA} is not made of texts")
    return told


def _place(name: str, told: Any) -> _Place:
    """What the header tells of a tensor, looked through."""
    try:
        dtype, shape, (start, end) = told["dtype"], told["shape"], told["data_offsets"]
        is_sound = isinstance(dtype, str) and isinstance(shape, list) and _are_counts([*shape, start, end])
    except (TypeError, KeyError, ValueError):
        is_sound = False
    if not is_sound:
        raise DamagedError(f"the header does not describe {name!r}")
    described = Described(tuple(shape), _DTYPES.get(dtype, dtype))
    if dtype in _DTYPES:  # of others, such as floats of 8 bits, nothing can be read
        check_size(end - start, described)
    return _Place(described, start, end)


def _are_counts(values: list[Any]) -> bool:
    return all(type(value) is int and value >= 0 for value in values)  # bool is an int too


def _check_whole(places: Mapping[str, _Place], size: int) -> None:
    """The tensors lie one behind the other, and the last one ends with the file."""
    reached = 0
    for name, place in sorted(places.items(), key=lambda item: (item[1].start, item[1].end)):
        if place.start != reached or place.end < place.start:
            raise DamagedError(f"{name!r} is at {place.start:,} to {place.end:,}, expected it to begin at {reached:,}")
        reached = place.end
    if reached != size:
        raise DamagedError(f"{size:,} bytes of numbers, expected {reached:,}")


def _numbers(file: BufferedReader, place: _Place, begin: int) -> npt.NDArray[np.generic]:
    file.seek(begin + place.start)
    return array_of(_bytes(file, place.end - place.start), place.described)


def _bytes(file: BufferedReader, size: int) -> npt.NDArray[np.uint8]:
    """The next bytes; room is made for no more than the file has."""
    left = os.fstat(file.fileno()).st_size - file.tell()
    values = np.empty(min(size, max(left, 0)), np.uint8)
    num_read = file.readinto(values.data)
    if num_read != size:
        raise DamagedError(f"it ends after {num_read:,} bytes of {size:,}")
    return values
