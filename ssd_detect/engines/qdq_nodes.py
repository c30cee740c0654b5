"""A float network rewritten with QuantizeLinear and DequantizeLinear, from which engines make int8 convolutions.

ONNX's way to say int8: what is to be an integer passes through a pair of these nodes. onnxruntime and OpenVINO replace
pair, convolution, ReLU and pair by one integer convolution. Kernels are int8, symmetric, one scale an output channel;
activations uint8, one scale and zero point a tensor; biases int32, in steps of kernel's times activation's scale, as
these engines add them.

Float stays what a head puts out, since 255 steps are too few for its softmax, and the first convolution. That one takes
in signed numbers over their whole range, whose products in pairs do not fit the 16 bits that processors without VNNI
add them in: in OpenVINO, held to AVX2, it alone cost 2 to 4 points of mAP (23 pictures), and the others nothing, since
what a ReLU lets through is rarely large. It is 0.5 % of the work: 2 % of OpenVINO's time, 10 % of onnxruntime's.

Source: Krishnamoorthi 2018, "Quantizing deep convolutional networks for efficient inference", 2.1, 2.2 and 3.1.
"""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import onnx
from onnx import NodeProto, helper, numpy_helper

from ssd_detect.arrays import Floats
from ssd_detect.engines.activation_ranges import Range

_LEVELS = 255
"""Steps of a uint8."""
_KERNEL_LEVELS = 127
"""Steps of an int8 on either side of zero."""
_HEADROOM = 1.5
"""Activations of pictures to come may be so much larger than those of the calibration. Measured on SSD300 with few
pictures, what is cut off costs more than the coarser steps: root mean square of what scores above 0.1 changed by, in
thousandths, without and with: 42 views of three pictures 7.0 and 3.0, 32 pictures of Pascal VOC 2.1 and 2.6."""
_LARGEST_BIAS = 2**30
"""Steps; half of what an int32 holds, so that the sum of products has room beside it."""
_LEAST_SCALE = np.float32(1e-12)
"""For what is zero throughout; products of two are float32 numbers still."""


class _Steps(NamedTuple):
    """value = scale * (integer - zero)."""

    scale: np.float32
    zero: np.uint8


def quantised_tensors(graph: onnx.GraphProto) -> tuple[str, ...]:
    """Names of the activations that `quantise` needs the ranges of, in the graph's order: what convolutions take in.

    What a maximum is taken of stands for its result, whose range is the same.
    """
    pooled = _pooled(graph)
    taken = [pooled.get(node.input[0], node.input[0]) for node in _convolutions(graph)]
    return tuple(dict.fromkeys(taken))


def _convolutions(graph: onnx.GraphProto) -> list[NodeProto]:
    """Those that become integer ones: all but the first."""
    return [node for node in graph.node if node.op_type == "Conv"][1:]


def _pooled(graph: onnx.GraphProto) -> dict[str, str]:
    """Output of each maximum -> its input."""
    return {node.output[0]: node.input[0] for node in graph.node if node.op_type == "MaxPool"}


def quantise(graph: onnx.GraphProto, ranges: Mapping[str, Range]) -> None:
    """Rewrite every convolution of the graph but the first, in place; inputs and outputs of the network stay float32.

    Args:
        graph: its nodes in an order in which they can be computed; kernels OIHW and biases float32 constants.
        ranges: of all `quantised_tensors`.
    """
    rewriting = _Rewriting(graph, ranges)
    nodes = [new for node in graph.node for new in rewriting.of(node)]
    constants = [one for one in graph.initializer if one.name not in rewriting.replaced]
    del graph.node[:], graph.initializer[:]
    graph.node.extend(nodes)
    graph.initializer.extend([*constants, *rewriting.constants])


class _Rewriting:
    def __init__(self, graph: onnx.GraphProto, ranges: Mapping[str, Range]) -> None:
        self._taken = {node.name for node in _convolutions(graph)}
        self._weights = {one.name: one for one in graph.initializer}
        self._pooled = _pooled(graph)
        self._steps = {name: _steps(found) for name, found in ranges.items()}
        self._integers: set[str] = set()  # activations that have their pair of nodes already
        self.constants: list[onnx.TensorProto] = []
        self.replaced: set[str] = set()

    def of(self, node: NodeProto) -> Iterator[NodeProto]:
        """The nodes in the place of one."""
        if node.name in self._taken or node.op_type == "MaxPool":
            yield from self._pair(node.input[0])
        new = NodeProto()
        new.CopyFrom(node)
        # Others too take the integers' values where there are any: the float32 ones would have to be kept beside them.
        new.input[:] = [_floats(name) if name in self._integers else name for name in node.input]
        if node.name in self._taken:
            scale = self._steps_of(node.input[0]).scale
            for place, weights in enumerate(self._weights_of(node, scale), start=1):
                new.input[place] = weights.output[0]
                yield weights
        yield new

    def _steps_of(self, name: str) -> _Steps:
        return self._steps[self._pooled.get(name, name)]

    def _pair(self, name: str) -> Iterator[NodeProto]:
        """To integers and back; nothing where that is done already."""
        if name in self._integers:
            return
        self._integers.add(name)
        steps = self._steps_of(name)
        scale = self._constant(f"{name}/scale", np.array(steps.scale))
        zero = self._constant(f"{name}/zero", np.array(steps.zero))
        integers = f"{name}/integers"
        yield helper.make_node("QuantizeLinear", [name, scale, zero], [integers], name=f"{name}/quantize")
        yield helper.make_node("DequantizeLinear", [integers, scale, zero], [_floats(name)], name=f"{name}/dequantize")

    def _weights_of(self, node: NodeProto, input_scale: np.float32) -> Iterator[NodeProto]:
        """Nodes that make kernel and biases of integers."""
        kernel, biases = (numpy_helper.to_array(self._weights[name]) for name in node.input[1:3])
        self.replaced.update(node.input[1:3])
        scales = _kernel_scales(kernel, biases, input_scale)
        integers = np.rint(kernel / scales[:, np.newaxis, np.newaxis, np.newaxis]).astype(np.int8)
        yield self._dequantised(node.input[1], integers, scales)
        bias_scales = scales * input_scale
        yield self._dequantised(node.input[2], np.rint(biases / bias_scales).astype(np.int32), bias_scales)

    def _dequantised(self, name: str, integers: npt.NDArray[np.integer], scales: Floats) -> NodeProto:
        inputs = [
            self._constant(f"{name}/integers", integers),
            self._constant(f"{name}/scales", scales),
            self._constant(f"{name}/zeros", np.zeros(len(scales), integers.dtype)),
        ]
        return helper.make_node("DequantizeLinear", inputs, [_floats(name)], name=f"{name}/dequantize", axis=0)

    def _constant(self, name: str, values: npt.NDArray[np.generic]) -> str:
        self.constants.append(numpy_helper.from_array(values, name))
        return name


def _floats(name: str) -> str:
    return f"{name}/floats"


def _steps(found: Range) -> _Steps:
    """255 steps for the range and its headroom; zero is a whole step, since padding is made of it."""
    scale = max(np.float32(_HEADROOM * (found.high - found.low) / _LEVELS), _LEAST_SCALE)
    return _Steps(scale, np.uint8(np.rint(-_HEADROOM * found.low / scale)))


def _kernel_scales(kernel: Floats, biases: Floats, input_scale: np.float32) -> Floats:
    """(output channels,) float32: steps of the kernels, coarse enough for each channel's bias to fit its integer."""
    largest = np.abs(kernel).max(axis=(1, 2, 3)) / _KERNEL_LEVELS
    least = np.abs(biases) / (input_scale * np.float32(_LARGEST_BIAS))
    scales: Floats = np.maximum(np.maximum(largest, least), _LEAST_SCALE)
    return scales
