"""Tensors as TensorFlow's messages hold them: `TensorProto`, `TensorShapeProto`, and the numbers of element types.

Source: `tensor.proto`, `tensor_shape.proto` and `types.proto` of TensorFlow.
"""

import math
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ssd_detect.model.readers.faults import DamagedError
from ssd_detect.model.readers.protos import Message, as_bytes, as_number, fields, in_memory, parts, signed

DTYPES: Mapping[int, str] = {
    1: "float32", 2: "float64", 3: "int32", 4: "uint8", 5: "int16", 6: "int8", 7: "string", 9: "int64", 10: "bool",
    14: "bfloat16", 17: "uint16", 19: "float16", 22: "uint32", 23: "uint64",
}  # fmt: skip
"""Number -> NumPy's name of the element type; others are not read, and called `type N`."""

_MOST_DIMENSIONS = 32  # as many as every NumPy has
_MOST_VALUES = 1 << 40  # sides of 0 apart, beside which NumPy has limits too
# Field of TensorProto that holds the values one by one -> type of each; None: numbers of varying length.
_VALUE_FIELDS = {5: "<f4", 6: "<f8", 7: None, 10: None, 11: None, 13: None}
_FIELD_OF = {
    "float32": 5, "float64": 6, "int32": 7, "uint8": 7, "int16": 7, "int8": 7, "uint16": 7, "int64": 10, "bool": 11,
    "bfloat16": 13, "float16": 13,
}  # fmt: skip


class Described(NamedTuple):
    """A tensor that has been found but not read."""

    shape: tuple[int, ...]
    dtype: str


def dtype_name(number: int) -> str:
    """NumPy's name of an element type, by TensorFlow's number."""
    return DTYPES.get(number, f"type {number}")


def shape_of(message: Message) -> tuple[int, ...]:
    """A `TensorShapeProto`.

    Raises:
        DamagedError: an unknown side, or more sides or values than any tensor has.
    """
    sides = []
    for dimension in parts(message, 2):
        sides.append(signed(next((as_number(v) for n, v in fields(dimension) if n == 1), 0)))
    values = math.prod(max(side, 1) for side in sides)
    if len(sides) > _MOST_DIMENSIONS or values > _MOST_VALUES or any(side < 0 for side in sides):
        raise DamagedError("a tensor of an impossible shape")
    return tuple(sides)


def array_of(data: npt.NDArray[np.uint8], described: Described) -> npt.NDArray[np.generic]:
    """Little-endian bytes as an array; bfloat16, which NumPy lacks, as the float32 of the same value.

    Raises:
        DamagedError: as many bytes do not make this shape, or NumPy has no such type.
    """
    check_size(len(data), described)
    values: npt.NDArray[np.generic] = data.view(_stored_type(described).newbyteorder("<"))
    if described.dtype == "bfloat16":
        values = (values.astype("<u4") << 16).view("<f4")
    return values.reshape(described.shape)


def check_size(size: int, described: Described) -> None:
    """Before so many bytes are read: they must be those of this shape and type.

    Raises:
        DamagedError: they are not, or NumPy has no such type.
    """
    if math.prod(described.shape) * _stored_type(described).itemsize != size:
        raise DamagedError(f"{size:,} bytes, expected those of {described.dtype} {described.shape}")


def _stored_type(described: Described) -> np.dtype[np.generic]:
    if described.dtype not in DTYPES.values() or described.dtype == "string":
        raise DamagedError(f"values of {described.dtype}, expected numbers")
    return np.dtype("uint16" if described.dtype == "bfloat16" else described.dtype)


def described_by(tensor: Message) -> Described:
    """Shape and type of a `TensorProto`."""
    found = Described((), dtype_name(0))
    for number, value in fields(tensor):
        if number == 1:
            found = found._replace(dtype=dtype_name(as_number(value)))
        elif number == 2:
            found = found._replace(shape=shape_of(as_bytes(value)))
    return found


def tensor_values(tensor: Message, described: Described) -> npt.NDArray[np.generic]:
    """The values of a `TensorProto`, which may lie in `tensor` still; `described` is its shape and type.

    Raises:
        DamagedError: as many values do not make this shape.
    """
    for content in parts(tensor, 4):
        if len(content):
            return array_of(np.frombuffer(in_memory(content), np.uint8), described)
    return _spread(_listed_values(in_memory(tensor), described), described)


def _listed_values(tensor: memoryview, described: Described) -> npt.NDArray[np.generic]:
    """The values that are listed one by one, in one packed field or in many."""
    wanted = _FIELD_OF.get(described.dtype)
    if wanted is None:
        raise DamagedError(f"values of {described.dtype}, expected numbers")
    if _VALUE_FIELDS[wanted] is None:
        numbers = [_varints(value) for number, value in fields(tensor) if number == wanted]
        return _from_integers(np.concatenate([np.zeros(0, np.uint64), *numbers]), described.dtype)
    kind = np.dtype(_VALUE_FIELDS[wanted])
    pieces = [_packed(as_bytes(value), kind) for number, value in fields(tensor) if number == wanted]
    return pieces[0] if len(pieces) == 1 else np.concatenate([np.zeros(0, kind), *pieces])


def _packed(content: Message, kind: np.dtype[np.generic]) -> npt.NDArray[np.generic]:
    if len(content) % kind.itemsize:
        raise DamagedError("a part of a number")
    return np.frombuffer(in_memory(content), kind)


def _varints(value: int | Message) -> npt.NDArray[np.uint64]:
    """Numbers of one packed field, all at once: each byte adds its seven bits to the number that it belongs to."""
    if isinstance(value, int):
        return np.array([value], np.uint64)
    data = np.frombuffer(in_memory(value), np.uint8)
    if not len(data):
        return np.zeros(0, np.uint64)
    ends = np.flatnonzero(data < 0x80)
    if not len(ends) or ends[-1] != len(data) - 1:
        raise DamagedError("a number without an end")
    starts = np.concatenate([[0], ends[:-1] + 1])
    longest = int((ends - starts).max()) + 1
    if longest > 10:
        raise DamagedError("a number without an end")
    numbers = np.zeros(len(ends), np.uint64)
    for i in range(longest):
        has = starts + i <= ends
        numbers[has] |= (data[starts[has] + i] & np.uint8(0x7F)).astype(np.uint64) << np.uint64(7 * i)
    return numbers


def _from_integers(numbers: npt.NDArray[np.uint64], dtype: str) -> npt.NDArray[np.generic]:
    """What the integers stand for: themselves, or the bits of a half-size floating-point number."""
    result: npt.NDArray[np.generic]
    if dtype == "float16":
        result = numbers.astype(np.uint16).view(np.float16)
    elif dtype == "bfloat16":
        result = (numbers.astype(np.uint32) << np.uint32(16)).view(np.float32)
    else:
        result = numbers.astype(np.int64).astype(dtype)
    return result


def _spread(listed: npt.NDArray[np.generic], described: Described) -> npt.NDArray[np.generic]:
    """In TensorFlow's messages the last value listed stands for all that would follow."""
    wanted = math.prod(described.shape)
    if len(listed) == wanted:
        return listed.reshape(described.shape)
    if len(listed) > wanted or not len(listed):
        raise DamagedError(f"{len(listed):,} values, expected those of shape {described.shape}")
    filled = np.full(wanted, listed[-1])
    filled[: len(listed)] = listed
    return filled.reshape(described.shape)
