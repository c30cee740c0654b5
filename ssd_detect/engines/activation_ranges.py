"""What values a network's activations take for pictures that are like those to come."""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
import onnx
from onnx import TensorProto, helper

from ssd_detect.arrays import Floats
from ssd_detect.conventions import EngineName
from ssd_detect.engines.packages import imported
from ssd_detect.errors import SettingError

_KINDS = ("ReduceMin", "ReduceMax")


class Range(NamedTuple):
    """The least and the greatest value of a tensor; at most and at least zero."""

    low: float
    high: float


def activation_ranges(model: onnx.ModelProto, names: Sequence[str], inputs: Iterable[Floats]) -> dict[str, Range]:
    """The range of each tensor over all inputs, found by onnxruntime on the CPU.

    The network itself looks for the least and the greatest value, and an input is let go before the next one is taken:
    memory does not grow with their number.

    Args:
        model: with one input, `pictures` (B, size, size, 3).
        names: of tensors in it.
        inputs: (size, size, 3) float32, 0 to 255.

    Raises:
        SettingError: no input; a value that is no number.
        MissingPackageError, DeviceError: onnxruntime is not installed, or does not start.
    """
    session = _session(_with_reductions(model, names))
    found = [_ends(session, names, one) for one in inputs]
    if not found:
        raise SettingError("no picture to calibrate int8 with, expected at least one; --calibrate names their folder")
    # Zero is in every range: padding must stay what it is.
    lows, highs = np.minimum(np.min(found, 0)[:, 0], 0), np.maximum(np.max(found, 0)[:, 1], 0)
    return {name: Range(float(low), float(high)) for name, low, high in zip(names, lows, highs, strict=True)}


def _ends(session: Any, names: Sequence[str], one: Floats) -> Floats:
    """(names, 2): the least and the greatest value of each tensor for one input."""
    wanted = [_reduced(name, kind) for name in names for kind in _KINDS]
    ends = np.array(session.run(wanted, {"pictures": one[np.newaxis]}), np.float32).reshape(-1, len(_KINDS))
    if not np.isfinite(ends).all():
        raise SettingError(
            "precision is int8, and this network computes values that are no numbers and have no range; use float32"
        )
    return ends


def _reduced(name: str, kind: str) -> str:
    return f"{name}/{kind}"


def _with_reductions(model: onnx.ModelProto, names: Sequence[str]) -> onnx.ModelProto:
    """The same network; it also puts out both ends of each tensor's range."""
    extended = onnx.ModelProto()
    extended.CopyFrom(model)
    for name in names:
        for kind in _KINDS:
            output = _reduced(name, kind)
            extended.graph.node.append(helper.make_node(kind, [name], [output], name=output, keepdims=0))
            extended.graph.output.append(helper.make_tensor_value_info(output, TensorProto.FLOAT, []))
    return extended


def _session(model: onnx.ModelProto) -> Any:
    onnxruntime = imported(EngineName.ONNXRUNTIME, "int8 needs the package onnxruntime, which calibrates it")
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3  # errors only: it warns of GPUs that it cannot look for
    return onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
