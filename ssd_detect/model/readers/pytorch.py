"""PyTorch's files, `.pth` and `.pt`, without PyTorch and without running what their pickles say.

Two containers: since PyTorch 1.6 a zip, with one pickle and a member for each storage; before, pickles one after the
other and then the storages. Source: PyTorch's `serialization.py`.
"""

import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from ssd_detect.model.readers.faults import DamagedError, RefusedError, explained, opened
from ssd_detect.model.readers.stored import StoredTensors
from ssd_detect.model.readers.torch_pickle import unpickle
from ssd_detect.model.readers.torch_rebuild import SAVE_ALONE, Storage, TensorPlace
from ssd_detect.model.readers.zips import ZIP_ERRORS, open_zip, read_member

MAX_PICKLE_BYTES = 8 * 2**20
"""The pickle of a state dictionary has about a hundred bytes a tensor."""

_MAX_VALUES = 100_000
_MAX_DEPTH = 8
_MAX_NAME = 500
_ALLOWANCE = 2**16
_MAGIC = 0x1950A86A20F9469CFC6C
_PROTOCOL = 1001
_BIG_ENDIAN = "its numbers have their bytes in big-endian order, expected little-endian; save it again"
_ReadStorage = Callable[[Storage], bytes]


@contextmanager
def open_pytorch(path: Path) -> Iterator[StoredTensors]:
    """The tensors of a `.pth` or `.pt` file, by their names in the state dictionary.

    Tensors in a dictionary in a dictionary, in a list, in a tuple have the keys of all of them with dots between:
    `state_dict.vgg.0.weight`. bfloat16 is read as float32, which holds all its numbers.

    Raises:
        CheckpointError: cannot be read, is damaged, or asks for more than tensors and plain values.
    """
    with opened(path) as file:
        with explained(path, *ZIP_ERRORS):
            is_zip = file.read(4) == b"PK\x03\x04"
            tensors = _open_zip(path, file) if is_zip else _open_legacy(path, file)
        yield tensors


def _open_zip(path: Path, file: BinaryIO) -> StoredTensors:
    archive = open_zip(file)
    names = archive.namelist()
    folders = [name.removesuffix("data.pkl") for name in names if name.count("/") == 1 and name.endswith("/data.pkl")]
    if len(folders) != 1:
        raise RefusedError(f"a zip with {len(folders)} PyTorch pickles (data.pkl), expected one")
    folder = folders[0]
    if any(name.startswith(f"{folder}code/") for name in names) or f"{folder}constants.pkl" in names:
        raise RefusedError(f"a TorchScript program, expected tensors; {SAVE_ALONE}")
    order = f"{folder}byteorder"
    if order in names and read_member(archive, order, 16) != b"little":
        raise RefusedError(_BIG_ENDIAN)
    value, _ = unpickle(read_member(archive, f"{folder}data.pkl", MAX_PICKLE_BYTES))

    def read(storage: Storage) -> bytes:
        return read_member(archive, f"{folder}data/{storage.key}", _num_bytes(storage))

    return _stored_tensors(path, "PyTorch file", value, read)


def _open_legacy(path: Path, file: BinaryIO) -> StoredTensors:
    file.seek(0)
    head = file.read(MAX_PICKLE_BYTES)
    if head[257:262] == b"ustar":
        raise RefusedError("a tar archive of PyTorch before 0.2, expected a later file; save it again with a newer one")
    magic, at = unpickle(head)
    protocol, at = unpickle(head, at)
    system, at = unpickle(head, at)
    if magic != _MAGIC or protocol != _PROTOCOL or not isinstance(system, dict):
        raise RefusedError(f"a pickle, but not PyTorch's; {SAVE_ALONE}")
    if system.get("little_endian") is not True:
        raise RefusedError(_BIG_ENDIAN)
    value, at = unpickle(head, at)
    keys, at = unpickle(head, at)
    element_types = {place.storage.key: place.storage.element_type for place in _named_tensors(value).values()}
    starts = _storage_starts(file, at, keys, element_types)

    def read(storage: Storage) -> bytes:
        start, length = starts.get(storage.key, (0, -1))
        if storage.first + storage.length > length:
            raise DamagedError(f"storage {storage.key} is missing or too short")
        file.seek(start + storage.first * _item_size(storage.element_type))
        return file.read(_num_bytes(storage))

    return _stored_tensors(path, "PyTorch file of before 1.6", value, read)


def _storage_starts(file: BinaryIO, at: int, keys: Any, element_types: Mapping[str, str]) -> dict[str, tuple[int, int]]:
    """Key of each storage -> where its first element is in the file, and how many elements it has."""
    if not (isinstance(keys, list) and all(isinstance(key, str) for key in keys)):
        raise DamagedError("its list of storages is no list of keys")
    size = file.seek(0, 2)
    starts: dict[str, tuple[int, int]] = {}
    for key in keys:
        if key not in element_types:
            raise DamagedError(f"storage {key[:40]} belongs to no tensor")
        file.seek(at)
        length = int.from_bytes(file.read(8), "little", signed=True)
        starts[key] = (at + 8, length)
        at += 8 + length * _item_size(element_types[key])
        if length < 0 or at > size:
            raise DamagedError(f"storage {key[:40]} of {length:,} elements in a file of {size:,} bytes")
    return starts


def _item_size(element_type: str) -> int:
    """Bytes; NumPy itself does not know bfloat16."""
    return 2 if element_type == "bfloat16" else np.dtype(element_type).itemsize


def _num_bytes(storage: Storage) -> int:
    return storage.length * _item_size(storage.element_type)


def _stored_tensors(path: Path, container: str, value: Any, read: _ReadStorage) -> StoredTensors:
    """The tensors in what a pickle gave; together they are not much larger than the file, whatever they share."""
    places = _named_tensors(value)
    total = sum(math.prod(p.shape) * _item_size(p.storage.element_type) for p in places.values())
    if total > 2 * path.stat().st_size + _ALLOWANCE:
        raise RefusedError(
            f"holds tensors of {total:,} bytes in a file of {path.stat().st_size:,}: they share their numbers, "
            "expected some for each; save them again, each made by clone() before"
        )
    once = lru_cache(maxsize=1)(read)  # small parts of one large storage

    def tensor(name: str) -> npt.NDArray[np.generic]:
        with explained(path, *ZIP_ERRORS):
            return _elements(places[name], once(places[name].storage))

    shapes = {name: place.shape for name, place in places.items()}
    return StoredTensors(container, shapes, {n: p.storage.element_type for n, p in places.items()}, tensor)


def _elements(place: TensorPlace, raw: bytes) -> npt.NDArray[np.generic]:
    if len(raw) != _num_bytes(place.storage):
        raise DamagedError(
            f"storage {place.storage.key[:40]} has {len(raw):,} bytes, not {_num_bytes(place.storage):,}"
        )
    if 0 in place.shape:
        return np.zeros(place.shape, np.float32)
    flat: npt.NDArray[np.generic]
    if place.storage.element_type == "bfloat16":  # the upper half of a float32
        flat = (np.frombuffer(raw, "<u2").astype("<u4") << 16).view("<f4")
    else:
        flat = np.frombuffer(raw, np.dtype(place.storage.element_type).newbyteorder("<"))
    strides = [stride * flat.itemsize for stride in place.strides]
    view = np.lib.stride_tricks.as_strided(flat[place.offset :], place.shape, strides, writeable=False)
    return view if view.flags.c_contiguous else view.copy()


def _named_tensors(value: Any) -> dict[str, TensorPlace]:
    """All tensors in dictionaries, lists and tuples; their names are the keys on the way, with dots between."""
    found: dict[str, TensorPlace] = {}
    for count, (name, inner) in enumerate(_values("", value, _MAX_DEPTH)):
        if count == _MAX_VALUES:
            raise RefusedError(f"holds more than {_MAX_VALUES:,} values, expected a state dictionary; {SAVE_ALONE}")
        if isinstance(inner, TensorPlace):
            if name in found or len(name) > _MAX_NAME:
                raise DamagedError(f"the tensor's name {name[:40]} is there twice, or too long")
            found[name] = inner
    return found


def _values(name: str, value: Any, depth: int) -> Iterator[tuple[str, Any]]:
    """A value and, down to a depth, all that is in it, each when it is asked for: a small pickle can hold very many."""
    yield name, value
    children = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list | tuple) else ()
    dotted = f"{name}." if name else ""
    for key, inner in children if depth else ():
        yield from _values(f"{dotted}{str(key)[:_MAX_NAME]}", inner, depth - 1)
