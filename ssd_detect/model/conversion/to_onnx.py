"""ONNX: the network with pictures in, and scores, offsets and boxes out, for onnxruntime and its like."""

from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from ssd_detect import __version__
from ssd_detect.arrays import Floats, Pixels
from ssd_detect.environment import import_untracked
from ssd_detect.model.conversion.onnx_nodes import OnnxNodes
from ssd_detect.model.conversion.outgoing import Outgoing, Outputs, ReadBack
from ssd_detect.model.conversion.quantise import Stored

OPSET = 13
_IR_VERSION = 7  # the one of opset 13: later ones are refused by runtimes that could run the rest
_OUTPUTS = ("scores", "offsets", "boxes")


def write_onnx(path: Path, outgoing: Outgoing) -> None:
    """Write one file: `pictures` (B, size, size, 3) float32 RGB, 0 to 255, resized by the spec's rule beforehand.

    Outputs are `scores` (B, N, C), `offsets` (B, N, 4) and `boxes` (B, N, 4) xyxy unit, not clipped; all float32.

    Raises:
        OSError: the system refuses.
    """
    nodes = OnnxNodes(outgoing)
    nodes.add_network("pictures")
    num_anchors, num_classes, side = len(outgoing.anchors()), len(outgoing.spec.class_names), outgoing.spec.size
    graph = helper.make_graph(
        nodes.nodes,
        outgoing.metadata["model"],
        [_value("pictures", side, side, 3)],
        [_value(name, num_anchors, num_classes if name == "scores" else 4) for name in _OUTPUTS],
        nodes.constants,
    )
    model = helper.make_model(
        graph,
        ir_version=_IR_VERSION,
        opset_imports=[helper.make_opsetid("", OPSET)],
        producer_name="ssd-detect",
        producer_version=__version__,
    )
    helper.set_model_props(model, dict(outgoing.metadata))
    onnx.checker.check_model(model, full_check=True)
    path.write_bytes(model.SerializeToString())


def _value(name: str, *shape: int) -> Any:
    return helper.make_tensor_value_info(name, TensorProto.FLOAT, ["batch", *shape])


def read_onnx(path: Path, outgoing: Outgoing) -> ReadBack:
    """The file as onnxruntime runs it on the CPU; its weights as the onnx library reads them."""
    onnxruntime = import_untracked("onnxruntime")  # not needed for writing
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3  # errors only: it warns of GPUs that it cannot look for
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])

    def run(picture: Pixels, resized: Floats) -> Outputs:
        return Outputs(*session.run(_OUTPUTS, {"pictures": resized}))

    metadata = session.get_modelmeta().custom_metadata_map
    return ReadBack("onnxruntime", _tensors(path, outgoing), metadata, run)


def _tensors(path: Path, outgoing: Outgoing) -> Stored:
    stored = {tensor.name: numpy_helper.to_array(tensor) for tensor in onnx.load(path).graph.initializer}
    return {name: _as_ours(stored[outgoing.full_name(name)]) for name in outgoing.tensors}


def _as_ours(values: Any) -> Any:
    """Kernels from OIHW to HWIO; the L2 scales, which have axes of length 1 around, flat."""
    if values.ndim == 4 and values.shape[0] == 1 and values.shape[2:] == (1, 1):
        return values.reshape(-1)
    return np.transpose(values, (2, 3, 1, 0)) if values.ndim == 4 else values
