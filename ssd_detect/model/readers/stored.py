"""What every reader gives: the tensors of a file, under the names that the file has for them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt


@dataclass(frozen=True)
class StoredTensors:
    """The tensors of one open file; nothing of them is read before it is asked for.

    Args:
        container: what kind of file it is, in words for a person, such as `TensorFlow V2 checkpoint`.
        shapes: name -> shape as stored; names and layouts are those of the program that wrote the file.
        dtypes: name -> NumPy's name of the element type as stored, such as `float32`.
        read: a tensor by its name, as stored; raises `CheckpointError` when the file is damaged there.
        metadata: what else the file tells, as plain strings.
    """

    container: str
    shapes: Mapping[str, tuple[int, ...]]
    dtypes: Mapping[str, str]
    read: Callable[[str], npt.NDArray[np.generic]]
    metadata: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if set(self.shapes) != set(self.dtypes):
            raise ValueError("shapes and dtypes name different tensors")
