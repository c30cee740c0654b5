"""The tensors of a file in numbers, and what those are good for that the network does not need."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from math import prod

import numpy as np

from ssd_detect.model.readers.stored import StoredTensors

# What optimisers of tf.compat.v1.train append to a variable's name, or keep beside all of them; Keras and PyTorch
# store their optimisers in files of their own.
_KINDS = (
    ("Adam", re.compile(r"/Adam(_1)?$|(^|/)beta[12]_power$")),
    ("Momentum", re.compile(r"/Momentum$")),
    ("RMSProp", re.compile(r"/RMSProp(_\d)?$")),
    ("Adadelta", re.compile(r"/Adadelta(_1)?$")),
    ("Adagrad", re.compile(r"/Adagrad(DA)?$")),
    ("Ftrl", re.compile(r"/Ftrl(_1)?$")),
    ("moving averages", re.compile(r"/ExponentialMovingAverage$")),
    ("step", re.compile(r"(^|/)global_step$")),
)
OTHERS = "others"


@dataclass(frozen=True)
class TensorNumbers:
    """One stored tensor.

    Args:
        name, shape, dtype: as in the file.
        minimum, maximum, mean_magnitude: of the stored values, before scales; None where there are no numbers, or
            some that are infinite or undefined.
    """

    name: str
    shape: tuple[int, ...]
    dtype: str
    minimum: float | None
    maximum: float | None
    mean_magnitude: float | None


def count_kinds(names: Iterable[str]) -> dict[str, int]:
    """Kind -> how many of the tensors `names` are of it; `others` are those that no optimiser explains."""
    counted = Counter(_kind(name) for name in names)
    return {kind: counted[kind] for kind in (*(kind for kind, _ in _KINDS), OTHERS) if counted[kind]}


def _kind(name: str) -> str:
    return next((kind for kind, pattern in _KINDS if pattern.search(name)), OTHERS)


def count_numbers(tensors: StoredTensors) -> int:
    """How many numbers the file's tensors have together."""
    return sum(prod(shape) for shape in tensors.shapes.values())


def measure(tensors: StoredTensors) -> Iterator[TensorNumbers]:
    """Read all tensors, one after the other, in the order of their names.

    Raises:
        CheckpointError: the file is damaged at a tensor.
    """
    for name in sorted(tensors.shapes):
        yield _measured(name, tensors)


def _measured(name: str, tensors: StoredTensors) -> TensorNumbers:
    shape, dtype = tensors.shapes[name], tensors.dtypes[name]
    values = np.asarray(tensors.read(name))
    is_numeric = np.issubdtype(values.dtype, np.number) or values.dtype.name == "bfloat16"
    if is_numeric and values.dtype.itemsize < 4:  # float16 would overflow in the sum; int8 has no magnitude of -128
        values = values.astype(np.float32)
    if not (is_numeric and values.size and np.isfinite(values).all()):
        return TensorNumbers(name, shape, dtype, None, None, None)
    magnitude = float(np.abs(values).mean(dtype=np.float64))
    return TensorNumbers(name, shape, dtype, float(values.min()), float(values.max()), magnitude)
