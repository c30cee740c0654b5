"""Constants of TensorFlow's graphs: weights that were frozen into them.

Source: `graph.proto`, `node_def.proto`, `attr_value.proto` and `function.proto` of TensorFlow.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ssd_detect.model.readers.faults import explained
from ssd_detect.model.readers.protos import Message, as_bytes, as_text, fields, parts
from ssd_detect.model.readers.stored import StoredTensors
from ssd_detect.model.readers.tensor_protos import Described, described_by, tensor_values

_WEIGHT_TYPES = frozenset({"float32", "float16", "bfloat16", "float64", "int8"})


class Constant(NamedTuple):
    """One constant, where it lies in the file."""

    described: Described
    tensor: Message

    def read(self) -> npt.NDArray[np.generic]:
        """Its values."""
        return tensor_values(self.tensor, self.described)


def constants(graph: Message) -> Mapping[str, Constant]:
    """Name -> constant, of a `GraphDef` and of the functions in it; of two of one name the first.

    Weights are numbers with a fraction, or 8 bits of one, and have at least one dimension; others are left out.

    Raises:
        DamagedError: no such message.
    """
    found: dict[str, Constant] = {}
    for node in _nodes(graph):
        name, tensor = _constant(node)
        described = Described((), "") if tensor is None else described_by(tensor)
        if tensor is not None and described.shape and described.dtype in _WEIGHT_TYPES:
            found.setdefault(name, Constant(described, tensor))
    return found


def stored_constants(path: Path, container: str, found: Mapping[str, Constant]) -> StoredTensors:
    """`found`, constants of the file `path`, which is open, as every reader gives its tensors."""

    def read(name: str) -> npt.NDArray[np.generic]:
        with explained(path):
            return found[name].read()

    return StoredTensors(
        container=container,
        shapes={name: constant.described.shape for name, constant in found.items()},
        dtypes={name: constant.described.dtype for name, constant in found.items()},
        read=read,
    )


def _nodes(graph: Message) -> Iterator[Message]:
    yield from parts(graph, 1)
    for library in parts(graph, 2):
        for function in parts(library, 1):
            yield from parts(function, 3)


def _constant(node: Message) -> tuple[str, Message | None]:
    """A node's name and, if it is a constant, its tensor."""
    name = operation = ""
    attributes = []
    for number, value in fields(node):
        if number == 1:
            name = as_text(value)
        elif number == 2:
            operation = as_text(value)
        elif number == 5:
            attributes.append(as_bytes(value))
    return name, _value(attributes) if operation == "Const" else None


def _value(attributes: list[Message]) -> Message | None:
    """The tensor under the key `value` of a node's attributes."""
    for attribute in attributes:
        if next((as_text(key) for key in parts(attribute, 1)), "") == "value":
            for content in parts(attribute, 2):
                return next(parts(content, 8), None)
    return None
