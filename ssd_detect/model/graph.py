"""The SSD graph in tf.compat.v1: uint8 pictures in, class scores and box offsets out.

Built from the description in `spec`, NHWC, in a `tf.Graph` of its own; no process-wide switch of TensorFlow is touched.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import tensorflow as tf

from ssd_detect.arrays import Floats
from ssd_detect.conventions import ResizeRule
from ssd_detect.model.spec import L2_EPSILON, Conv, Head, ModelSpec, Pool, gamma_name, network


@dataclass(frozen=True)
class SsdGraph:
    """A finished graph and the tensors that a session feeds and fetches.

    Args:
        graph: holds the weights as constants; finalised, so that nobody can add to it.
        pictures: feed; (B, H, W, 3) uint8 RGB; with `ResizeRule.OPENCV`, H and W are the network's size already.
        inputs: fetch or feed; (B, size, size, 3) float32, resized, mean subtracted.
        scores: fetch; (B, N, C) float32, softmax over the classes, background first.
        offsets: fetch; (B, N, 4) float32, for centre x, centre y, width, height of each anchor.
    """

    graph: Any
    pictures: Any
    inputs: Any
    scores: Any
    offsets: Any


def build_graph(spec: ModelSpec, variables: Mapping[str, Floats], device: str | None = None) -> SsdGraph:
    """Build the network of `spec` around `variables` (as in `Checkpoint`), on a TensorFlow device such as `/GPU:1`."""
    graph = tf.Graph()
    with graph.as_default(), tf.device(device):
        pictures = tf.compat.v1.placeholder(tf.uint8, [None, None, None, 3], name="pictures")
        inputs = network_inputs(pictures, spec)
        scores, offsets = network_outputs(inputs, spec, variables)
    graph.finalize()
    return SsdGraph(graph, pictures, inputs, scores, offsets)


def network_inputs(pictures: Any, spec: ModelSpec) -> Any:
    """Add to the current graph what makes (B, size, size, 3) float32 of `pictures`, as in `SsdGraph`."""
    inputs = tf.subtract(_resize(pictures, spec), tf.constant(spec.mean_rgb), name="inputs")
    return tf.ensure_shape(inputs, [None, spec.size, spec.size, 3])


def _resize(pictures: Any, spec: ModelSpec) -> Any:
    """(B, H, W, 3) uint8 to (B, size, size, 3) float32; the kernels take uint8: no float copy of a large picture."""
    size = [spec.size, spec.size]
    if spec.resize is ResizeRule.OPENCV:  # done before the session is called: no kernel of TensorFlow rounds like it
        return tf.cast(pictures, tf.float32)
    if spec.resize is ResizeRule.ANTIALIAS:
        return tf.image.resize(pictures, size, method="bilinear", antialias=True)
    half_pixel = spec.resize is ResizeRule.HALF_PIXEL
    return tf.raw_ops.ResizeBilinear(images=pictures, size=size, half_pixel_centers=half_pixel)


def network_outputs(inputs: Any, spec: ModelSpec, variables: Mapping[str, Any]) -> tuple[Any, Any]:
    """Add the network to the current graph; scores and offsets as in `SsdGraph`.

    Args:
        inputs: what `network_inputs` made.
        spec: what the network is.
        variables: the weights, arrays or tensors of the same graph.
    """
    described = network(spec.size)
    outputs: dict[str, Any] = {}
    x = inputs
    for layer in described.layers:
        if isinstance(layer, Conv):
            x = outputs[layer.name] = tf.nn.relu(_convolve(x, layer, variables))
        else:
            x = _pool(x, layer)
    logits, offsets = zip(*(_head(outputs[h.source], h, spec, variables) for h in described.heads), strict=True)
    scores = tf.nn.softmax(tf.concat(logits, axis=1), name="scores")  # (B, N, C)
    return scores, tf.concat(offsets, axis=1, name="offsets")  # (B, N, 4)


def _convolve(x: Any, conv: Conv, variables: Mapping[str, Any]) -> Any:
    # Zeros go round explicitly: SAME would pad a stride-2 map of even size on two sides only, unlike Caffe.
    pad = [conv.pad, conv.pad]
    kernel = tf.convert_to_tensor(variables[f"{conv.name}/weights"])
    y = tf.nn.conv2d(x, kernel, conv.stride, [[0, 0], pad, pad, [0, 0]], dilations=conv.dilation)
    return tf.nn.bias_add(y, tf.convert_to_tensor(variables[f"{conv.name}/biases"]))


def _pool(x: Any, pool: Pool) -> Any:
    return tf.nn.max_pool2d(x, pool.kernel, pool.stride, "SAME")


def _head(x: Any, head: Head, spec: ModelSpec, variables: Mapping[str, Any]) -> tuple[Any, Any]:
    """Logits (B, anchors of the map, C) and offsets (B, anchors of the map, 4): row, column, anchor of the cell."""
    if head.normalised:
        gamma = tf.convert_to_tensor(variables[gamma_name(head)])  # (channels,)
        x = tf.nn.l2_normalize(x, axis=-1, epsilon=L2_EPSILON) * gamma  # over the channels of each cell
    num_classes = len(spec.class_names)
    logits = _convolve(x, _head_conv(f"{head.scope}/conv_cls", head.anchors_per_cell * num_classes), variables)
    offsets = _convolve(x, _head_conv(f"{head.scope}/conv_loc", head.anchors_per_cell * 4), variables)
    batch = tf.shape(logits)[0]
    return tf.reshape(logits, [batch, -1, num_classes]), tf.reshape(offsets, [batch, -1, 4])


def _head_conv(name: str, channels: int) -> Conv:
    return Conv(name, kernel=3, channels=channels, pad=1)
