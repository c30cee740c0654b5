"""The SSD graph in tf.compat.v1: resized pictures in, class scores and box offsets out, or only those above a limit.

Built from the description in `spec`, NHWC, in a `tf.Graph` of its own.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import tensorflow as tf

from ssd_detect.arrays import Floats
from ssd_detect.conventions import Arithmetic
from ssd_detect.model.arithmetic import kind_of
from ssd_detect.model.spec import L2_EPSILON, Conv, Head, ModelSpec, Pool, gamma_name, network


@dataclass(frozen=True)
class SsdGraph:
    """A finished graph and the tensors that a session feeds and fetches.

    Args:
        graph: finalised, so that nobody can add to it.
        initialise: operation; to be run once, with `weights`.
        weights: what to feed to `initialise`.
        resized: feed; (B, size, size, 3) float32 RGB, 0 to 255.
        limits: feed, for `selected` alone; (C,) float32.
        scores: fetch; (B, N, C) float32, softmax over the classes, background first.
        offsets: fetch; (B, N, 4) float32, for centre x, centre y, width, height of each anchor.
        selected: fetch; places (n, 3) int64 of picture, anchor, class, then scores, offsets and peaks as in
            `boxes.selection.Selected`.
    """

    graph: Any
    initialise: Any
    weights: Mapping[Any, Any]
    resized: Any
    limits: Any
    scores: Any
    offsets: Any
    selected: tuple[Any, Any, Any, Any]


def build_graph(
    spec: ModelSpec,
    variables: Mapping[str, Floats],
    device: str | None = None,
    precision: Arithmetic = Arithmetic.FLOAT32,
) -> SsdGraph:
    """Build the network of `spec`.

    Args:
        spec: what the network is.
        variables: as in `Checkpoint`.
        device: TensorFlow's name of it, such as `/GPU:1`; None leaves it to TensorFlow.
        precision: of the convolutions; not int8.
    """
    graph = tf.Graph()
    with graph.as_default(), tf.device(device):
        made, weights = add_variables(_narrowed(variables, spec, precision))
        resized = tf.compat.v1.placeholder(tf.float32, [None, spec.size, spec.size, 3], name="resized")
        scores, offsets = network_outputs(resized, spec, {name: v.value() for name, v in made.items()})
        limits = tf.compat.v1.placeholder(tf.float32, [len(spec.class_names)], name="limits")
        selected = _select(scores, offsets, limits)
        initialise = tf.group(*(variable.initializer for variable in made.values()))
    graph.finalize()
    return SsdGraph(graph, initialise, weights, resized, limits, scores, offsets, selected)


def add_variables(values: Mapping[str, Any]) -> tuple[dict[str, Any], dict[Any, Any]]:
    """Add variables to the current graph: those of each name, and what to feed when they are initialised.

    Constants would be copied a dozen times before the first call, see `NetworkSession`.
    """
    made, feeds = {}, {}
    for name, array in values.items():
        placeholder = tf.compat.v1.placeholder(tf.as_dtype(array.dtype), array.shape)
        made[name] = tf.compat.v1.get_variable(name, initializer=placeholder, use_resource=True)
        feeds[placeholder] = array
    return made, feeds


def _narrowed(variables: Mapping[str, Floats], spec: ModelSpec, precision: Arithmetic) -> dict[str, Any]:
    """Kernels and biases in the numbers of the convolutions, cast once, on the host; gammas stay float32."""
    kind = kind_of(precision).as_numpy_dtype
    gammas = {gamma_name(head) for head in network(spec.size).heads}
    return {name: array if name in gammas else array.astype(kind, copy=False) for name, array in variables.items()}


def network_outputs(resized: Any, spec: ModelSpec, variables: Mapping[str, Any]) -> tuple[Any, Any]:
    """Add the network to the current graph; scores and offsets as in `SsdGraph`.

    Args:
        resized: as in `SsdGraph`.
        spec: what the network is.
        variables: the weights, arrays or tensors of the same graph; convolutions are computed in their kernels' kind
            of number, all else in float32.
    """
    described = network(spec.size)
    outputs: dict[str, Any] = {}
    x = resized - tf.constant(spec.mean_rgb)
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
    x = tf.cast(x, kernel.dtype)  # adds nothing where it is so already
    y = tf.nn.conv2d(x, kernel, conv.stride, [[0, 0], pad, pad, [0, 0]], dilations=conv.dilation)
    return tf.nn.bias_add(y, tf.convert_to_tensor(variables[f"{conv.name}/biases"]))


def _pool(x: Any, pool: Pool) -> Any:
    return tf.nn.max_pool2d(x, pool.kernel, pool.stride, "SAME")


def _head(x: Any, head: Head, spec: ModelSpec, variables: Mapping[str, Any]) -> tuple[Any, Any]:
    """Logits (B, anchors of the map, C) and offsets (B, anchors of the map, 4): row, column, anchor of the cell."""
    if head.normalised:
        gamma = tf.convert_to_tensor(variables[gamma_name(head)])  # (channels,)
        x = tf.cast(x, tf.float32)  # the sum of squares has no room in 16 bits
        x = tf.nn.l2_normalize(x, axis=-1, epsilon=L2_EPSILON) * gamma  # over the channels of each cell
    num_classes = len(spec.class_names)
    logits = _convolve(x, _head_conv(f"{head.scope}/conv_cls", head.anchors_per_cell * num_classes), variables)
    offsets = _convolve(x, _head_conv(f"{head.scope}/conv_loc", head.anchors_per_cell * 4), variables)
    return _by_anchor(logits, num_classes), _by_anchor(offsets, 4)


def _by_anchor(x: Any, columns: int) -> Any:
    """(B, rows, columns of the map, anchors * columns) to (B, anchors of the map, columns) float32."""
    return tf.cast(tf.reshape(x, [tf.shape(x)[0], -1, columns]), tf.float32)


def _head_conv(name: str, channels: int) -> Conv:
    return Conv(name, kernel=3, channels=channels, pad=1)


def _select(scores: Any, offsets: Any, limits: Any) -> tuple[Any, Any, Any, Any]:
    """What `boxes.selection.select_scores` makes of the same, as in `SsdGraph`.

    Scores are computed for all anchors and classes, though score > t would follow from logit - background's logit >
    log(t / (1 - t)): the whole softmax takes 0.1 % of a call (`NetworkSession`), and highest scores are wanted of all.
    """
    places = tf.where(scores > limits)  # (n, 3), in the order of the scores
    peaks = tf.maximum(tf.reduce_max(tf.where(tf.math.is_nan(scores), 0.0, scores), axis=1), 0.0)  # (B, C)
    return places, tf.gather_nd(scores, places), tf.gather_nd(offsets, places[:, :2]), peaks
