"""Pieces of tensors, as the checkpoints of partitioned variables hold them.

Source: `tensor_slice.proto` of TensorFlow.
"""

import math
from collections.abc import Iterable, Sequence
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from ssd_detect.model.readers.faults import DamagedError
from ssd_detect.model.readers.protos import Message, as_number, fields, parts, signed
from ssd_detect.model.readers.tensor_protos import Described

Extents: TypeAlias = tuple[tuple[int, int], ...]
"""Start and length of a piece in each dimension; (0, -1) is all of it."""


def extents_of(message: Message) -> Extents:
    """A `TensorSliceProto`."""
    extents = []
    for extent in parts(message, 1):
        start, length = 0, -1
        for number, value in fields(extent):
            if number == 1:
                start = signed(as_number(value))
            elif number == 2:
                length = signed(as_number(value))
        extents.append((start, length))
    return tuple(extents)


def piece_shape(extents: Extents, whole: tuple[int, ...]) -> tuple[int, ...]:
    """Shape of a piece of a tensor of the shape `whole`.

    Raises:
        DamagedError: the piece does not lie inside.
    """
    if len(extents) != len(whole):
        raise DamagedError("a piece of a tensor with another number of dimensions")
    shape = tuple(side if length == -1 else length for (_, length), side in zip(extents, whole, strict=True))
    if any(start < 0 or n < 0 or start + n > side for (start, _), n, side in zip(extents, shape, whole, strict=True)):
        raise DamagedError("a piece of a tensor that does not fit into it")
    return shape


def joined(
    whole: Described,
    pieces: Sequence[Extents],
    shapes: Sequence[tuple[int, ...]],
    values: Iterable[npt.NDArray[np.generic]],
) -> npt.NDArray[np.generic]:
    """The tensor that the pieces make; the array of a single piece is taken as it is.

    Args:
        whole: what is to come out.
        pieces: where each piece belongs.
        shapes: of each, as `piece_shape` gives them.
        values: of each; taken one by one.

    Raises:
        DamagedError: the pieces are too few or too many.
    """
    if sum(math.prod(shape) for shape in shapes) != math.prod(whole.shape):
        raise DamagedError(f"a tensor whose pieces do not make its shape, {whole.shape}")
    arrays = iter(values)
    if len(pieces) == 1:
        return next(arrays)
    result: npt.NDArray[np.generic] = np.zeros(0)
    for i, array in enumerate(arrays):
        if i == 0:
            result = np.zeros(whole.shape, array.dtype)
        place = tuple(slice(start, start + side) for (start, _), side in zip(pieces[i], shapes[i], strict=True))
        result[place] = array
    return result
