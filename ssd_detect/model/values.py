"""The numbers of one variable: read, brought to our type and layout, and looked through."""

from collections.abc import Iterable
from pathlib import Path

import numpy as np

from ssd_detect.arrays import Floats
from ssd_detect.conventions import ColourOrder, Source
from ssd_detect.errors import CheckpointError
from ssd_detect.model import naming
from ssd_detect.model.readers.stored import StoredTensors

SCALE_SUFFIX = "/scale"
"""Added to an int8 kernel's name: the variable that holds its scales."""

_FLOATING = frozenset({"float16", "bfloat16", "float32", "float64"})


def read_variable(
    path: Path, tensors: StoredTensors, native: str, ours: str, source: Source, colour_order: ColourOrder
) -> Floats:
    """One variable, float32, kernels HWIO, the first one's inputs RGB.

    An int8 kernel is multiplied by the float32 factors of its output channels, stored beside it as `native`/scale.

    Args:
        path: of the file, for messages.
        tensors: the open file.
        native, ours: the variable's name in the file, and ours below the root.
        source: whose layout the file has.
        colour_order: of the file's first convolution.

    Raises:
        CheckpointError: damaged; no floating-point numbers; infinite or undefined ones.
    """
    dtype = tensors.dtypes[native]
    if dtype != "int8" and dtype not in _FLOATING:
        raise CheckpointError(f"{path}: variable {native} holds {dtype}, expected floating-point numbers")
    values = naming.to_ours(tensors.read(native), ours, source, colour_order)
    if dtype == "int8":
        values *= _scales(path, tensors, native, values.shape[-1])
    if not np.isfinite(values).all():
        raise CheckpointError(
            f"{path}: variable {native} holds infinite or undefined numbers: damaged, or a training that diverged"
        )
    return values


def _scales(path: Path, tensors: StoredTensors, native: str, outputs: int) -> Floats:
    name, expected = native + SCALE_SUFFIX, (outputs,)
    actual = tensors.shapes.get(name)
    if actual != expected:
        found = "is missing" if actual is None else f"has shape {actual}"
        raise CheckpointError(f"{path}: variable {name} {found}, expected shape {expected}")
    return np.asarray(tensors.read(name), np.float32)


def scale_names(tensors: StoredTensors, names: Iterable[str]) -> set[str]:
    """Of the factors that belong to those of `names` that are int8."""
    return {name + SCALE_SUFFIX for name in names if tensors.dtypes[name] == "int8"}
