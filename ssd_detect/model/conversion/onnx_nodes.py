"""The network of `model.spec` as ONNX nodes, NCHW inside; pictures (B, size, size, 3) RGB in, three outputs out.

Operators are those of opset 13, which every onnxruntime since 2021 runs.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from onnx import NodeProto, TensorProto, helper, numpy_helper

from ssd_detect.arrays import Floats
from ssd_detect.boxes.decode import CENTRE_VARIANCE, SIZE_VARIANCE
from ssd_detect.model.conversion.outgoing import Outgoing
from ssd_detect.model.spec import L2_EPSILON, Conv, Head, Pool, gamma_name, network


class OnnxNodes:
    """Nodes and their constants, in order of computation; every method adds some and names the value they put out."""

    def __init__(self, outgoing: Outgoing) -> None:
        self._outgoing = outgoing
        self.nodes: list[NodeProto] = []
        self.constants: list[TensorProto] = []

    def add_network(self, pictures: str) -> None:
        """All of it, from the value `pictures` to the values `scores`, `offsets` and `boxes`."""
        spec = self._outgoing.spec
        described = network(spec.size)
        mean = self._constant("mean_rgb", np.array(spec.mean_rgb, np.float32))
        x = self._node("Transpose", [self._node("Sub", [pictures, mean])], perm=[0, 3, 1, 2])  # (B, 3, size, size)
        outputs: dict[str, str] = {}
        side = spec.size
        for layer in described.layers:
            if isinstance(layer, Pool):
                x, side = self._pool(x, layer, side)
            else:
                x = outputs[layer.name] = self._node("Relu", [self._convolve(x, layer)])
                side = (side + 2 * layer.pad - layer.dilation * (layer.kernel - 1) - 1) // layer.stride + 1
        logits, offsets = zip(*(self._head(outputs[h.source], h) for h in described.heads), strict=True)
        self._node("Softmax", [self._node("Concat", logits, axis=1)], "scores", axis=-1)  # (B, N, C)
        self._node("Concat", offsets, "offsets", axis=1)  # (B, N, 4)
        self._add_boxes(self._outgoing.anchors())

    def _constant(self, name: str, values: npt.NDArray[np.generic]) -> str:
        self.constants.append(numpy_helper.from_array(np.ascontiguousarray(values), name))
        return name

    def _node(self, kind: str, inputs: Sequence[str], output: str = "", **attributes: Any) -> str:
        output = output or f"{kind.lower()}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, list(inputs), [output], name=output, **attributes))
        return output

    def _weights(self, name: str) -> Floats:
        return np.asarray(self._outgoing.tensors[name], np.float32)

    def _convolve(self, x: str, conv: Conv) -> str:
        kernel, biases = f"{conv.name}/weights", f"{conv.name}/biases"
        inputs = [
            x,
            self._constant(self._outgoing.full_name(kernel), self._weights(kernel).transpose(3, 2, 0, 1)),  # OIHW
            self._constant(self._outgoing.full_name(biases), self._weights(biases)),
        ]
        return self._node(
            "Conv",
            inputs,
            kernel_shape=[conv.kernel] * 2,
            strides=[conv.stride] * 2,
            dilations=[conv.dilation] * 2,
            pads=[conv.pad] * 4,
        )

    def _pool(self, x: str, pool: Pool, side: int) -> tuple[str, int]:
        """TensorFlow's SAME padding, by numbers: what is odd goes to the bottom and the right."""
        shrunk = -(-side // pool.stride)
        padding = max((shrunk - 1) * pool.stride + pool.kernel - side, 0)
        before, after = padding // 2, padding - padding // 2
        pads = [before, before, after, after]
        return self._node("MaxPool", [x], kernel_shape=[pool.kernel] * 2, strides=[pool.stride] * 2, pads=pads), shrunk

    def _head(self, x: str, head: Head) -> tuple[str, str]:
        """Logits (B, anchors of the map, C) and offsets (B, anchors of the map, 4): row, column, anchor of the cell."""
        if head.normalised:
            x = self._normalised(x, gamma_name(head))
        outputs = []
        for kind, depth in (("conv_cls", len(self._outgoing.spec.class_names)), ("conv_loc", 4)):
            conv = Conv(f"{head.scope}/{kind}", kernel=3, channels=head.anchors_per_cell * depth, pad=1)
            cells = self._node("Transpose", [self._convolve(x, conv)], perm=[0, 2, 3, 1])  # (B, H, W, A * depth)
            shape = self._constant(f"{head.scope}/{kind}/shape", np.array([0, -1, depth], np.int64))  # 0: as it is
            outputs.append(self._node("Reshape", [cells, shape]))
        logits, offsets = outputs
        return logits, offsets

    def _normalised(self, x: str, gamma: str) -> str:
        """Each cell's vector of channels brought to length one, then scaled by `gamma`."""
        axes = self._constant("channel_axis", np.array([1], np.int64))
        smallest = self._constant("l2_epsilon", np.array(L2_EPSILON, np.float32))
        squares = self._node("ReduceSum", [self._node("Mul", [x, x]), axes], keepdims=1)  # (B, 1, H, W)
        length = self._node("Sqrt", [self._node("Max", [squares, smallest])])
        scale = self._constant(self._outgoing.full_name(gamma), self._weights(gamma).reshape(1, -1, 1, 1))
        return self._node("Mul", [self._node("Div", [x, length]), scale])

    def _add_boxes(self, anchors: Floats) -> None:
        """`offsets` to `boxes`, (B, N, 4) xyxy unit, not clipped; as `boxes.decode`."""
        shift, growth = (self._node("Slice", ["offsets", *self._columns(start)]) for start in (0, 2))
        reach = self._constant("centre_reach", anchors[:, 2:] * CENTRE_VARIANCE)
        middle = self._constant("anchor_centres", anchors[:, :2])
        half = self._constant("anchor_half_sizes", anchors[:, 2:] / np.float32(2))
        variance = self._constant("size_variance", np.array(SIZE_VARIANCE))
        centres = self._node("Add", [self._node("Mul", [shift, reach]), middle])
        halves = self._node("Mul", [self._node("Exp", [self._node("Mul", [growth, variance])]), half])
        corners = [self._node("Sub", [centres, halves]), self._node("Add", [centres, halves])]
        self._node("Concat", corners, "boxes", axis=-1)

    def _columns(self, start: int) -> list[str]:
        """First column, column after the last, and axis, of two columns of the last axis."""
        return [
            self._constant(f"columns_{start}/{what}", np.array([value], np.int64))
            for what, value in (("from", start), ("to", start + 2), ("axis", 2))
        ]
