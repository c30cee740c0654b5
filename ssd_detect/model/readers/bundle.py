"""TensorFlow's V2 checkpoints, "tensor bundles": an index, which is a table, and files of plain numbers.

Source: `tensor_bundle.proto`, `tensor_bundle.cc` and `trackable_object_graph.proto` of TensorFlow.
"""

import json
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from io import BufferedReader
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ssd_detect.model.metadata import METADATA_NAME
from ssd_detect.model.readers.crc32c import crc32c, unmasked
from ssd_detect.model.readers.faults import DamagedError, explained
from ssd_detect.model.readers.ordered_code import slice_key
from ssd_detect.model.readers.protos import Message, as_bytes, as_number, as_text, fields, parts, varint
from ssd_detect.model.readers.slices import Extents, extents_of, joined, piece_shape
from ssd_detect.model.readers.sstable import Table
from ssd_detect.model.readers.stored import StoredTensors
from ssd_detect.model.readers.tensor_protos import Described, array_of, check_size, dtype_name, shape_of

_OBJECT_GRAPH = "_CHECKPOINTABLE_OBJECT_GRAPH"  # which tf.train.Checkpoint and tf.saved_model.save put beside the rest
_NO_TENSORS = frozenset({_OBJECT_GRAPH.encode(), METADATA_NAME.encode()})
_VARIABLE_VALUE = "/.ATTRIBUTES/VARIABLE_VALUE"
_MOST_SHARDS = 99_999  # five digits stand in the files' names


class _Header(NamedTuple):
    shards: int
    big_endian: bool


@dataclass(frozen=True)
class _Entry:
    """Where a tensor is, or of which pieces it is made."""

    described: Described
    shard: int = 0
    offset: int = 0
    size: int = 0
    checksum: int = 0
    pieces: tuple[Extents, ...] = ()


@dataclass(frozen=True)
class _Bundle:
    """An open checkpoint: its files are opened when they are needed, and closed with `stack`."""

    prefix: Path
    shards: int
    entries: Mapping[bytes, _Entry]
    stack: ExitStack
    opened: dict[int, BufferedReader] = field(default_factory=dict)

    def read(self, key: bytes) -> npt.NDArray[np.generic]:
        entry = self.entries[key]
        return self._joined(key, entry) if entry.pieces else self._values(entry, entry.described)

    def _values(self, entry: _Entry, described: Described) -> npt.NDArray[np.generic]:
        """The numbers of one entry, compared with their checksum."""
        check_size(entry.size, described)
        data = self._stored(entry)
        _check(crc32c(data), entry)
        return array_of(data, described)

    def text(self, entry: _Entry) -> bytes:
        """The one string of a scalar entry; its checksum is that of the length in four bytes and all that follows."""
        stored = self._stored(entry).tobytes()
        size, start = varint(memoryview(stored), 0)
        if size != len(stored) - start - 4:  # a checksum of the length stands between
            raise DamagedError("a text of another length than it says")
        _check(crc32c(size.to_bytes(4, "little") + stored[start:]), entry)
        return stored[start + 4 :]

    def _stored(self, entry: _Entry) -> npt.NDArray[np.uint8]:
        file = self._shard(entry.shard)
        if entry.offset + entry.size > file.seek(0, 2):
            raise DamagedError("the data file ends within a tensor: it was cut off")
        file.seek(entry.offset)
        data = bytearray(entry.size)
        if file.readinto(data) != entry.size:
            raise DamagedError("the data file ends within a tensor")
        return np.frombuffer(data, np.uint8)

    def _shard(self, number: int) -> BufferedReader:
        if number not in self.opened:
            if number >= self.shards:
                raise DamagedError(f"a tensor in file {number} of {self.shards}")
            path = self.prefix.with_name(f"{self.prefix.name}.data-{number:05d}-of-{self.shards:05d}")
            self.opened[number] = self.stack.enter_context(path.open("rb"))
        return self.opened[number]

    def _joined(self, key: bytes, whole: _Entry) -> npt.NDArray[np.generic]:
        """A variable that was partitioned."""
        shapes = [piece_shape(extents, whole.described.shape) for extents in whole.pieces]
        entries = [self._piece(key, extents) for extents in whole.pieces]
        values = (
            self._values(entry, entry.described._replace(shape=shape))
            for entry, shape in zip(entries, shapes, strict=True)
        )
        return joined(whole.described, whole.pieces, shapes, values)

    def _piece(self, key: bytes, extents: Extents) -> _Entry:
        piece = self.entries.get(slice_key(key.decode(), extents))
        if piece is None or piece.pieces:
            raise DamagedError("a piece of a tensor is missing")
        return piece


def _check(checksum: int, entry: _Entry) -> None:
    if checksum != unmasked(entry.checksum):
        raise DamagedError("a tensor with a wrong checksum")


@contextmanager
def open_bundle(prefix: Path) -> Iterator[StoredTensors]:
    """The checkpoint whose files begin with `prefix`.

    Raises:
        CheckpointError: no such checkpoint, or a damaged one.
    """
    index = prefix.with_name(prefix.name + ".index")
    with ExitStack() as stack:
        with explained(index), index.open("rb") as file:
            header, entries = _read_index(Table(file, index))
            bundle = _Bundle(prefix, header.shards, entries, stack)
            keys = _names(bundle)
            metadata = _metadata(bundle)

        def read(name: str) -> npt.NDArray[np.generic]:
            with explained(prefix):
                return bundle.read(keys[name])

        described = {name: entries[key].described for name, key in keys.items()}
        yield StoredTensors(
            container="TensorFlow V2 checkpoint",
            shapes={name: d.shape for name, d in described.items()},
            dtypes={name: d.dtype for name, d in described.items()},
            read=read,
            metadata=metadata,
        )


def _read_index(table: Table) -> tuple[_Header, dict[bytes, _Entry]]:
    rows = table.items()
    key, value = next(rows, (b"-", memoryview(b"")))
    if key:
        raise DamagedError("an index without a header")
    header = _header(value)
    if header.big_endian:
        raise DamagedError("written on a big-endian machine, expected little-endian numbers")
    if not 1 <= header.shards <= _MOST_SHARDS:
        raise DamagedError(f"an index of {header.shards} data files")
    return header, {key: _entry(value) for key, value in rows}


def _header(message: memoryview) -> _Header:
    header = _Header(0, False)
    for number, value in fields(message):
        if number == 1:
            header = header._replace(shards=as_number(value))
        elif number == 2:
            header = header._replace(big_endian=as_number(value) == 1)
    return header


def _entry(message: memoryview) -> _Entry:
    shape: tuple[int, ...] = ()
    pieces: list[Extents] = []
    numbers = dict.fromkeys((1, 3, 4, 5, 6), 0)
    for number, value in fields(message):
        if number == 2:
            shape = shape_of(as_bytes(value))
        elif number == 7:
            pieces.append(extents_of(as_bytes(value)))
        elif number in numbers:
            numbers[number] = as_number(value)
    described = Described(shape, dtype_name(numbers[1]))
    return _Entry(described, numbers[3], numbers[4], numbers[5], numbers[6], tuple(pieces))


def _names(bundle: _Bundle) -> dict[str, bytes]:
    """Name of each tensor -> its key; variables of tf.Module go by the names that they had in the graph."""
    full_names = _full_names(bundle)
    names: dict[str, bytes] = {}
    for key in bundle.entries:
        if key.startswith(b"\0") or key in _NO_TENSORS:  # the former is a piece of one
            continue
        text = _decoded(key)
        name = full_names.get(text) or text.removesuffix(_VARIABLE_VALUE)
        names[text if name in names else name] = key
    return names


def _metadata(bundle: _Bundle) -> dict[str, str]:
    """What a checkpoint of our own tells; nothing where that makes no sense."""
    text = _text(bundle, METADATA_NAME)
    try:
        told = json.loads(text or "{}")
    except (ValueError, RecursionError):
        return {}
    pairs = told.items() if isinstance(told, dict) else ()
    return {key: value for key, value in pairs if isinstance(value, str)}


def _text(bundle: _Bundle, name: str) -> bytes:
    """The string called `name`; empty where there is none."""
    entry = bundle.entries.get(name.encode())
    return bundle.text(entry) if entry is not None and entry.described == ((), "string") else b""


def _decoded(key: bytes) -> str:
    try:
        return key.decode()
    except UnicodeDecodeError as error:
        raise DamagedError("a name that is not UTF-8") from error


def _full_names(bundle: _Bundle) -> dict[str, str]:
    """Key -> name that the variable had in its graph, where the checkpoint tells."""
    graph = memoryview(_text(bundle, _OBJECT_GRAPH))
    return dict(_attribute(attribute) for node in parts(graph, 1) for attribute in parts(node, 2))


def _attribute(message: Message) -> tuple[str, str]:
    full_name = key = ""
    for number, value in fields(message):
        if number == 2:
            full_name = as_text(value)
        elif number == 3:
            key = as_text(value)
    return key, full_name
