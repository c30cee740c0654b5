"""Caffe's `.caffemodel` through the protobuf library, without Caffe.

A NetParameter, of which only layers, their names and their blobs matter. Source: Caffe's `caffe.proto` for the numbers
of the fields. Layers are read and parsed one at a time, so that never more than one is in memory. Arrays of numbers are
declared as `bytes`, which look the same in a file, so that NumPy sees them whole and Python never sees each number.
"""

import math
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from google.protobuf import descriptor_pb2, descriptor_pool, message, message_factory

from ssd_detect.model.readers.faults import DamagedError, RefusedError, explained, opened
from ssd_detect.model.readers.protos import Field, FilePart, located_fields, whole
from ssd_detect.model.readers.stored import StoredTensors

_MAX_LAYERS = 4000
_MAX_LAYER_FIELDS = 256
"""The SSD release's own have two dozen; each input and each blob is one."""

_MAX_BLOBS = 10_000
_MAX_BLOB_FIELDS = 16
"""Caffe knows nine."""

_MAX_SHAPE_BYTES = 320
"""Caffe allows 32 axes; each takes at most ten bytes."""

_LAYER_KINDS = {100: ("Layer", 7), 2: ("V1Layer", 6)}
"""Number of NetParameter's field -> our name of its message, and the number of its field of blobs.

V1Layer is what Caffe wrote before March 2015.
"""

_NUMBERS = (5, 8)  # Blob's data and double_data
_LENGTH_TOLD = 2

_Field = descriptor_pb2.FieldDescriptorProto
_ONE, _MANY = _Field.LABEL_OPTIONAL, _Field.LABEL_REPEATED
_MESSAGES: dict[str, list[tuple[str, int, Any, Any]]] = {
    "Blob": [
        *((name, number, _Field.TYPE_INT32, _ONE) for number, name in enumerate("nchw", start=1)),
        ("data", 5, _Field.TYPE_BYTES, _ONE),
        ("shape", 7, _Field.TYPE_BYTES, _ONE),
        ("double_data", 8, _Field.TYPE_BYTES, _ONE),
        ("raw_data", 12, _Field.TYPE_BYTES, _ONE),
    ],
    "Shape": [("dim", 1, _Field.TYPE_INT64, _MANY)],
    "Layer": [("name", 1, _Field.TYPE_BYTES, _ONE), ("blobs", 7, _Field.TYPE_MESSAGE, _MANY)],
    "V1Layer": [("name", 4, _Field.TYPE_BYTES, _ONE), ("blobs", 6, _Field.TYPE_MESSAGE, _MANY)],
}
"""Message -> its fields: name, number, type (a message is a Blob), whether there can be many."""


@cache
def _classes() -> dict[str, Any]:
    """The classes of `_MESSAGES`, in a pool of their own."""
    file = descriptor_pb2.FileDescriptorProto(name="ssd_detect/caffe.proto", package="ssd_detect", syntax="proto2")
    for name, described in _MESSAGES.items():
        made = file.message_type.add(name=name)
        for field, number, kind, label in described:
            type_name = ".ssd_detect.Blob" if kind == _Field.TYPE_MESSAGE else None
            made.field.add(name=field, number=number, type=kind, label=label, type_name=type_name)
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return {n: message_factory.GetMessageClass(pool.FindMessageTypeByName(f"ssd_detect.{n}")) for n in _MESSAGES}


class _Place(NamedTuple):
    """Where a blob is, and what it holds."""

    layer: Field
    number: int
    shape: tuple[int, ...]
    element_type: str


@contextmanager
def open_caffe(path: Path) -> Iterator[StoredTensors]:
    """The blobs of a `.caffemodel`, as `layer/0` (weights, OIHW) and `layer/1` (biases).

    A shape of four axes whose first three are 1, as old files have for vectors, is that of the vector.

    Raises:
        CheckpointError: cannot be read, is damaged, has numbers of half precision, or a field for each number.
    """
    with opened(path) as file:
        with explained(path, ValueError, message.DecodeError):
            data = whole(file)
            tensors = _stored_tensors(path, data, _layers(data))
        yield tensors


def _layers(data: FilePart) -> list[Field]:
    """The layers, so framed that parsing one takes no more memory than it has bytes."""
    layers = [
        f
        for f in located_fields(data, 0, len(data), _MAX_LAYERS)
        if f.number in _LAYER_KINDS and f.kind == _LENGTH_TOLD
    ]
    if not layers:
        raise DamagedError("no layer in it")
    blobs = [
        field
        for layer in layers
        for field in located_fields(data, layer.start, layer.end, _MAX_LAYER_FIELDS)
        if field.number == _LAYER_KINDS[layer.number][1] and field.kind == _LENGTH_TOLD
    ]
    if len(blobs) > _MAX_BLOBS:
        raise DamagedError(f"more than {_MAX_BLOBS:,} blobs")
    for blob in blobs:
        _check_blob(data, blob)
    return layers


def _check_blob(data: FilePart, blob: Field) -> None:
    for field in located_fields(data, blob.start, blob.end, _MAX_BLOB_FIELDS):
        if field.number in _NUMBERS and field.kind != _LENGTH_TOLD:
            raise RefusedError("its numbers are in a field each, expected all of a blob in one, as Caffe writes them")


def _stored_tensors(path: Path, data: FilePart, layers: list[Field]) -> StoredTensors:
    @lru_cache(maxsize=1)
    def parsed(layer: Field) -> Any:
        return _classes()[_LAYER_KINDS[layer.number][0]].FromString(bytes(data[layer.start : layer.end]))

    places: dict[str, _Place] = {}
    for layer in layers:
        name = parsed(layer).name.decode("utf-8", "replace")
        for place in _places(name, layer, parsed(layer).blobs):
            if f"{name}/{place.number}" in places:
                raise DamagedError(f"two layers called {name[:40]}")
            places[f"{name}/{place.number}"] = place
    parsed.cache_clear()

    def read(name: str) -> npt.NDArray[np.generic]:
        with explained(path, ValueError, IndexError, message.DecodeError):
            place = places[name]
            return _numbers(parsed(place.layer).blobs[place.number]).reshape(place.shape)

    shapes = {name: place.shape for name, place in places.items()}
    return StoredTensors("Caffe model", shapes, {n: p.element_type for n, p in places.items()}, read)


def _places(name: str, layer: Field, blobs: Iterable[Any]) -> Iterator[_Place]:
    for index, blob in enumerate(blobs):
        if blob.raw_data:
            raise RefusedError(f"layer {name[:40]} has numbers of half precision, expected Caffe's own of 32 bits")
        shape, values = _shape(blob), _numbers(blob)
        if values.size != math.prod(shape):
            raise DamagedError(f"blob {index} of layer {name[:40]} has {values.size:,} numbers and the shape {shape}")
        yield _Place(layer, index, shape, values.dtype.name)


def _shape(blob: Any) -> tuple[int, ...]:
    shape = (blob.n, blob.c, blob.h, blob.w)  # as before Caffe knew other than four axes
    if blob.HasField("shape"):
        if len(blob.shape) > _MAX_SHAPE_BYTES:
            raise DamagedError("a blob of more than 32 axes")
        shape = tuple(_classes()["Shape"].FromString(blob.shape).dim)
    if any(size < 0 for size in shape):
        raise DamagedError(f"a blob of shape {shape}")
    return shape[3:] if len(shape) == 4 and shape[:3] == (1, 1, 1) else shape


def _numbers(blob: Any) -> npt.NDArray[np.generic]:
    """All numbers of a blob, in one row."""
    return np.frombuffer(blob.double_data, "<f8") if blob.double_data else np.frombuffer(blob.data, "<f4")
