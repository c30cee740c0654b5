"""What PyTorch's files say in place of tensors: which storage, and where in it.

Sources: PyTorch's `_utils.py` (`_rebuild_tensor`, `_rebuild_tensor_v2`, `_rebuild_parameter`) and `serialization.py`
(what stands for a storage).
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from ssd_detect.model.readers.faults import DamagedError, RefusedError

SAVE_ALONE = "save the state_dict() of the network alone, with torch.save"
_MAX_AXES = 8

ELEMENT_TYPES: Mapping[str, str] = {
    "DoubleStorage": "float64",
    "FloatStorage": "float32",
    "HalfStorage": "float16",
    "BFloat16Storage": "bfloat16",
    "LongStorage": "int64",
    "IntStorage": "int32",
    "ShortStorage": "int16",
    "CharStorage": "int8",
    "ByteStorage": "uint8",
    "BoolStorage": "bool",
}
"""PyTorch's name of a storage -> NumPy's (for bfloat16 ml_dtypes') name of its elements."""

_REBUILDERS = {
    "torch._utils._rebuild_tensor": 4,
    "torch._utils._rebuild_tensor_v2": 6,
    "torch._utils._rebuild_parameter": 3,
}
"""Function -> arguments that it has at least."""

_INERT = {"collections.OrderedDict", "torch.Size"}


@dataclass(frozen=True)
class Storage:
    """A run of numbers in the file: `length` elements, beginning with element `first` of the run called `key`."""

    element_type: str
    key: str
    length: int
    first: int = 0


@dataclass(frozen=True)
class TensorPlace:
    """Where a tensor's elements are: `strides` and `offset` count elements of the storage."""

    storage: Storage
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]


@dataclass(frozen=True)
class Name:
    """A name that a pickle mentions; one of the few that are allowed."""

    text: str


_KEYS = (str, int, float, type(None))  # what is hashed in a bounded time


def allowed_name(text: str) -> Name:
    """One of the functions and classes that a state dictionary needs.

    Raises:
        RefusedError: any other; the message names it.
    """
    place, _, last = text.rpartition(".")
    if (place in ("torch", "torch.storage") and last in ELEMENT_TYPES) or text in _REBUILDERS or text in _INERT:
        return Name(text)
    raise refused_name(text)


def refused_name(name: str) -> RefusedError:
    """The error for a function or class that a pickle asks for."""
    shown = "".join(c if c.isprintable() else "?" for c in name[:100])
    return RefusedError(f"holds {shown}, which could run as a program; refused; {SAVE_ALONE}")


def pairs(values: list[Any]) -> dict[Any, Any]:
    """A dictionary of keys and values that alternate."""
    if len(values) % 2:
        raise DamagedError("its pickle holds a key without a value")
    if not all(isinstance(key, _KEYS) for key in values[::2]):
        raise DamagedError("its pickle holds a key that is neither text nor number")
    return dict(zip(values[::2], values[1::2], strict=True))


def called(name: str, arguments: tuple[Any, ...]) -> Any:
    """What an allowed function gives."""
    if name == "torch.Size" and len(arguments) == 1 and isinstance(arguments[0], tuple):
        return arguments[0]
    if name == "collections.OrderedDict":
        return _ordered(arguments)
    if len(arguments) < _REBUILDERS.get(name, len(arguments) + 1):
        raise DamagedError(f"its pickle calls {name} with {len(arguments)} arguments")
    return _parameter(arguments[0]) if name.endswith("_parameter") else _tensor(*arguments[:4])


def _ordered(arguments: tuple[Any, ...]) -> dict[Any, Any]:
    """Empty, or as Python 2 wrote it from a list of pairs."""
    if not arguments:
        return {}
    items = arguments[0]
    if not (isinstance(items, list) and all(isinstance(i, list | tuple) and len(i) == 2 for i in items)):
        raise DamagedError("its pickle makes a dictionary of what are no pairs")
    return pairs([value for pair in items for value in pair])


def _parameter(tensor: Any) -> TensorPlace:
    if not isinstance(tensor, TensorPlace):
        raise DamagedError("its pickle makes a parameter of what is no tensor")
    return tensor


def _tensor(storage: Any, offset: Any, shape: Any, strides: Any) -> TensorPlace:
    """A tensor, all of whose elements are in its storage, and which has no more of them than that.

    Raises:
        DamagedError: they are not there.
        RefusedError: it has more, which is sound, but could be of any size in a small file.
    """
    if not (isinstance(storage, Storage) and _is_count(offset) and _are_counts(shape) and _are_counts(strides)):
        raise DamagedError("its pickle describes a tensor in other words")
    if len(shape) != len(strides):
        raise DamagedError(f"a tensor of shape {shape} with strides {strides}")
    count = last = 1
    for size, stride in zip(shape, strides, strict=True):
        count *= size
        last += (size - 1) * stride
    if count and offset + last > storage.length:
        raise DamagedError(f"a tensor of shape {shape}, strides {strides} in a storage of {storage.length} elements")
    if count > storage.length:
        raise RefusedError(
            f"holds a tensor of shape {shape} whose places share numbers (strides {strides}, as expand() makes them), "
            "expected a number for each; save it again, made contiguous() before"
        )
    return TensorPlace(storage, offset, shape, strides)


def _is_count(value: Any) -> bool:
    return type(value) is int and 0 <= value < 2**63


def _are_counts(values: Any) -> bool:
    return isinstance(values, tuple) and len(values) <= _MAX_AXES and all(_is_count(v) for v in values)


def stored(told: Any) -> Storage:
    """What PyTorch writes in place of a storage: `storage`, its kind, its key, the device, its length."""
    if isinstance(told, tuple) and told[:1] == ("module",):
        raise RefusedError(f"holds a whole module with its program, expected tensors; {SAVE_ALONE}")
    short = told if isinstance(told, tuple) and len(told) < 7 else ()  # the match copies
    match short:
        case ("storage", Name(kind), str(key), str(), int(length), *view) if _is_count(length):
            element_type = ELEMENT_TYPES.get(kind.rpartition(".")[2])
        case _:
            element_type = None
    if element_type is None:
        raise DamagedError("its pickle describes a storage in other words")
    return _viewed(Storage(element_type, key, length), view[0] if view else None)


def _viewed(storage: Storage, view: Any) -> Storage:
    """Before PyTorch 0.4 a storage could be a part of another: its key, first element and length."""
    match view:
        case None:
            return storage
        case (str(), int(first), int(length)) if min(first, length) >= 0 and first + length <= storage.length:
            return replace(storage, first=first, length=length)
    raise DamagedError("a part of a storage that reaches beyond it")
