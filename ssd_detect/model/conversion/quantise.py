"""Kernels in fewer bits: float16, or int8 with a scale for each output channel.

The int8 form is that of the shipped checkpoint: weight = int8 x scale, symmetric (zero is zero, -128 stays unused), so
that half a step, scale / 2, is the largest error. Biases and L2 scales stay float32: they are 0.05 % of the numbers.
"""

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from ssd_detect.arrays import Floats
from ssd_detect.errors import CheckpointError
from ssd_detect.model.conversion.settings import Precision
from ssd_detect.model.values import SCALE_SUFFIX

_LARGEST_INT8 = np.float32(127)

Stored = Mapping[str, npt.NDArray[np.generic]]
"""Tensors of a file by name."""


def stored_tensors(variables: Mapping[str, Floats], precision: Precision) -> Stored:
    """What a file holds for `variables`: kernels, which have four axes, in `precision`; all else as it is.

    Raises:
        CheckpointError: a weight is too large for float16.
    """
    stored: dict[str, npt.NDArray[np.generic]] = {}
    for name, values in variables.items():
        if values.ndim < 4 or precision is Precision.FLOAT32:
            stored[name] = values
        elif precision is Precision.FLOAT16:
            stored[name] = _to_float16(name, values)
        else:
            stored[name], stored[name + SCALE_SUFFIX] = quantise_int8(values)
    return stored


def _to_float16(name: str, values: Floats) -> npt.NDArray[np.float16]:
    largest = float(np.abs(values).max(initial=0))
    if largest > float(np.finfo(np.float16).max):
        raise CheckpointError(
            f"variable {name} holds {largest:g}, more than float16 can (65504); use --precision float32 or int8"
        )
    return values.astype(np.float16)


def quantise_int8(kernel: Floats) -> tuple[npt.NDArray[np.int8], Floats]:
    """A kernel (..., O) as int8 of the same shape, and its scales (O,): the largest weight of a channel is 127.

    A channel of zeros, or of weights too small for a scale, has scale 1 and is zero.
    """
    largest = np.abs(kernel).max(axis=tuple(range(kernel.ndim - 1)), initial=0)  # (O,)
    scales: Floats = (largest / _LARGEST_INT8).astype(np.float32)
    scales[scales < np.finfo(np.float32).tiny] = 1.0
    return np.clip(np.rint(kernel / scales), -_LARGEST_INT8, _LARGEST_INT8).astype(np.int8), scales
