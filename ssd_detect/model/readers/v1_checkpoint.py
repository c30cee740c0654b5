"""TensorFlow's V1 checkpoints: one table, whose values are messages that hold the tensors.

Source: `saved_tensor_slice.proto` and `tensor_slice_reader.cc` of TensorFlow.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from ssd_detect.model.readers.faults import DamagedError, RefusedError, explained, opened
from ssd_detect.model.readers.ordered_code import slice_key
from ssd_detect.model.readers.protos import Message, as_bytes, as_number, as_text, fields, parts
from ssd_detect.model.readers.slices import Extents, extents_of, joined, piece_shape
from ssd_detect.model.readers.sstable import Table
from ssd_detect.model.readers.stored import StoredTensors
from ssd_detect.model.readers.tensor_protos import Described, dtype_name, shape_of, tensor_values


@dataclass(frozen=True)
class _Saved:
    """What the table of contents says of a tensor."""

    described: Described
    pieces: tuple[Extents, ...]


@contextmanager
def open_v1_checkpoint(path: Path) -> Iterator[StoredTensors]:
    """The checkpoint in the file `path`.

    Raises:
        CheckpointError: no such checkpoint, or a damaged one.
    """
    with opened(path) as file:
        with explained(path):
            table = Table(file, path)
            saved = _contents(table.get(b""))

        def read(name: str) -> npt.NDArray[np.generic]:
            with explained(path):
                return _read(table, name, saved[name])

        yield StoredTensors(
            container="TensorFlow V1 checkpoint",
            shapes={name: tensor.described.shape for name, tensor in saved.items()},
            dtypes={name: tensor.described.dtype for name, tensor in saved.items()},
            read=read,
        )


def _contents(message: memoryview) -> dict[str, _Saved]:
    if isinstance(next(fields(message), (0, b""))[1], int):
        raise RefusedError(
            "the index of a TensorFlow V2 checkpoint, expected its name to end in .index and its data files beside it"
        )
    tensors = [_saved(tensor) for meta in parts(message, 1) for tensor in parts(meta, 1)]
    if not tensors:
        raise DamagedError("a table without a list of tensors")
    return dict(tensors)


def _saved(message: Message) -> tuple[str, _Saved]:
    name, dtype = "", 0
    shape: tuple[int, ...] = ()
    pieces: list[Extents] = []
    for number, value in fields(message):
        if number == 1:
            name = as_text(value)
        elif number == 2:
            shape = shape_of(as_bytes(value))
        elif number == 3:
            dtype = as_number(value)
        elif number == 4:
            pieces.append(extents_of(as_bytes(value)))
    return name, _Saved(Described(shape, dtype_name(dtype)), tuple(pieces))


def _read(table: Table, name: str, saved: _Saved) -> npt.NDArray[np.generic]:
    whole = saved.described
    shapes = [piece_shape(extents, whole.shape) for extents in saved.pieces]
    values = (
        _piece(table.get(slice_key(name, extents)), Described(shape, whole.dtype))
        for extents, shape in zip(saved.pieces, shapes, strict=True)
    )
    return joined(whole, saved.pieces, shapes, values)


def _piece(message: memoryview, described: Described) -> npt.NDArray[np.generic]:
    """The values in a `SavedTensorSlices`, whose tensor tells neither type nor shape."""
    for data in parts(message, 2):
        for tensor in parts(data, 3):
            return tensor_values(tensor, described)
    raise DamagedError("an entry without its tensor")
