"""PyTorch's files, written with Python's own pickler and stand-ins that bear the names of PyTorch's classes."""

import io
import pickle
import struct
import sys
import zipfile
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest import mock

import numpy as np

STORAGES = {
    "float64": "DoubleStorage",
    "float32": "FloatStorage",
    "float16": "HalfStorage",
    "int64": "LongStorage",
    "int32": "IntStorage",
    "int16": "ShortStorage",
    "int8": "CharStorage",
    "uint8": "ByteStorage",
    "bool": "BoolStorage",
}
MAGIC = 0x1950A86A20F9469CFC6C


def _stand_in(module: str, name: str) -> Any:
    return type(name, (), {"__module__": module, "__qualname__": name})


MODULES = {name: ModuleType(name) for name in ("torch", "torch._utils")}
for storage_name in (*STORAGES.values(), "BFloat16Storage", "ComplexFloatStorage", "Size"):
    setattr(MODULES["torch"], storage_name, _stand_in("torch", storage_name))
for function_name in ("_rebuild_tensor", "_rebuild_tensor_v2", "_rebuild_parameter"):
    setattr(MODULES["torch._utils"], function_name, _stand_in("torch._utils", function_name))


@contextmanager
def torch_to_pickle() -> Iterator[None]:
    """Inside the block the pickler, which looks every class up, finds the stand-ins."""
    with mock.patch.dict(sys.modules, MODULES):
        yield


@dataclass
class Stored:
    """A storage; `kind` is PyTorch's name of it."""

    raw: bytes
    length: int
    kind: str

    @classmethod
    def of(cls, values: Any) -> "Stored":
        flat = np.ascontiguousarray(values)
        return cls(flat.tobytes(), flat.size, STORAGES[flat.dtype.name])


@dataclass
class Tensor:
    """A part of a storage; strides in elements."""

    storage: Stored
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int = 0
    rebuild: str = "_rebuild_tensor_v2"

    @classmethod
    def of(cls, values: Any, rebuild: str = "_rebuild_tensor_v2") -> "Tensor":
        values = np.asarray(values)
        strides = np.empty(values.shape, values.dtype).strides
        return cls(Stored.of(values), values.shape, tuple(s // values.itemsize for s in strides), 0, rebuild)

    def __reduce_ex__(self, protocol: Any) -> Any:
        function = getattr(MODULES["torch._utils"], self.rebuild)
        arguments = (self.storage, self.offset, self.shape, self.strides)
        return function, arguments if self.rebuild == "_rebuild_tensor" else (*arguments, False, OrderedDict())


@dataclass
class Parameter:
    data: Tensor

    def __reduce_ex__(self, protocol: Any) -> Any:
        return MODULES["torch._utils"]._rebuild_parameter, (self.data, True, OrderedDict())


@dataclass
class Calls:
    """An object whose pickle calls `function` when a real unpickler reads it."""

    function: Any
    arguments: tuple[Any, ...]

    def __reduce_ex__(self, protocol: Any) -> Any:
        return self.function, self.arguments


def state_dict(tensors: dict[str, Any]) -> OrderedDict[str, Any]:
    """As PyTorch makes it: ordered, with versions of the modules in an attribute."""
    made: Any = OrderedDict(
        (name, v if isinstance(v, Tensor | Parameter) else Tensor.of(v)) for name, v in tensors.items()
    )
    made._metadata = OrderedDict({"": {"version": 1}})
    return made  # type: ignore[no-any-return]


class _Pickler(pickle.Pickler):
    def __init__(self, file: Any, protocol: int, *, legacy: bool) -> None:
        super().__init__(file, protocol)
        self.storages: list[Stored] = []
        self._legacy = legacy

    def persistent_id(self, obj: Any) -> Any:
        if not isinstance(obj, Stored):
            return None
        if not any(obj is s for s in self.storages):
            self.storages.append(obj)
        key = str([obj is s for s in self.storages].index(True))
        told = ("storage", getattr(MODULES["torch"], obj.kind), key, "cpu", obj.length)
        return (*told, None) if self._legacy else told


def pickled(value: Any, protocol: int = 2, *, legacy: bool = False) -> tuple[bytes, list[Stored]]:
    buffer = io.BytesIO()
    with torch_to_pickle():
        pickler = _Pickler(buffer, protocol, legacy=legacy)
        pickler.dump(value)
    return buffer.getvalue(), pickler.storages


@dataclass
class ZipParts:
    """What goes into a zip besides the pickle."""

    folder: str = "archive"
    order: bytes | None = b"little"
    compression: int = zipfile.ZIP_STORED
    extra: dict[str, bytes] = field(default_factory=dict)


def write_zip(path: Path, value: Any, protocol: int = 2, parts: ZipParts | None = None) -> Path:
    """As PyTorch has written since 1.6."""
    data, storages = pickled(value, protocol)
    return write_zip_parts(path, data, [s.raw for s in storages], parts or ZipParts())


def write_zip_parts(path: Path, data: bytes, storages: list[bytes], parts: ZipParts) -> Path:
    with zipfile.ZipFile(path, "w", parts.compression) as archive:
        archive.writestr(f"{parts.folder}/data.pkl", data)
        if parts.order is not None:
            archive.writestr(f"{parts.folder}/byteorder", parts.order)
        for i, raw in enumerate(storages):
            archive.writestr(f"{parts.folder}/data/{i}", raw)
        archive.writestr(f"{parts.folder}/version", b"3\n")
        for name, content in parts.extra.items():
            archive.writestr(name, content)
    return path


def legacy_bytes(data: bytes, storages: list[Stored], *, little_endian: bool = True) -> bytes:
    """As PyTorch wrote before 1.6, and writes on request."""
    system = {"protocol_version": 1001, "little_endian": little_endian, "type_sizes": {"short": 2, "int": 4, "long": 4}}
    head = [pickle.dumps(value, 2) for value in (MAGIC, 1001, system)]
    keys = pickle.dumps([str(i) for i in range(len(storages))], 2)
    return b"".join([*head, data, keys, *(struct.pack("<q", s.length) + s.raw for s in storages)])


def write_legacy(path: Path, value: Any, protocol: int = 2, *, little_endian: bool = True) -> Path:
    data, storages = pickled(value, protocol, legacy=True)
    path.write_bytes(legacy_bytes(data, storages, little_endian=little_endian))
    return path
