"""A frame, and a video, in the way of the tutorial: one session call a frame, then NumPy, everything in a row.

Written from the description of balancap/SSD-Tensorflow's notebook and `nets/np_methods.py`: the picture goes into the
graph as it is, which subtracts the mean and resizes; weights are variables and the session is as it comes. NumPy then
decodes every anchor of every feature map, selects scores map by map, clips, sorts, keeps 400, and suppresses in a
Python loop over the boxes, each against all that follow. moviepy reads, calls and encodes one frame after the other.
"""

from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Any

import cv2
import numpy as np

from bench.network_calls import Calls
from ssd_detect.arrays import Floats, Integers, Pixels
from ssd_detect.boxes.anchors import make_anchors
from ssd_detect.model.spec import L2_EPSILON, Conv, Head, Pool, gamma_name, network

_TOP_K = 400
_MAPS = (0, 5776, 7942, 8542, 8692, 8728, 8732)
"""Where each feature map's anchors begin."""


def found_boxes(
    scores: Floats, offsets: Floats, anchors: Floats, threshold: float, nms: float
) -> tuple[Integers, Floats, Floats]:
    """Class ids, scores and boxes (n, 4) xyxy unit of one picture.

    Args:
        scores: (N, C) float32.
        offsets: (N, 4) float32.
        anchors: (N, 4) float32 cxcywh unit.
        threshold: scores above it are selected.
        nms: of two boxes of a class, the worse goes when their IoU reaches this.
    """
    maps = [_selected(scores[i:j], offsets[i:j], anchors[i:j], threshold) for i, j in pairwise(_MAPS)]
    class_ids, values, boxes = (np.concatenate(parts) for parts in zip(*maps, strict=True))
    boxes = np.clip(boxes, 0, 1)
    order = np.argsort(-values)[:_TOP_K]
    class_ids, values, boxes = class_ids[order], values[order], boxes[order]
    keep = _suppressed(class_ids, boxes, nms)
    return class_ids[keep], values[keep], boxes[keep]


def _selected(scores: Floats, offsets: Floats, anchors: Floats, threshold: float) -> tuple[Integers, Floats, Floats]:
    centres = offsets[:, :2] * anchors[:, 2:] * np.float32(0.1) + anchors[:, :2]
    sizes = anchors[:, 2:] * np.exp(offsets[:, 2:] * np.float32(0.2))
    corners = np.concatenate([centres - sizes / 2, centres + sizes / 2], axis=1)
    anchor_ids, columns = np.nonzero(scores[:, 1:] > threshold)
    return columns + 1, scores[:, 1:][anchor_ids, columns], corners[anchor_ids]


def _suppressed(class_ids: Integers, boxes: Floats, nms: float) -> Integers:
    keep = np.ones(len(class_ids), np.bool_)
    for i in range(len(class_ids) - 1):
        if keep[i]:
            later = boxes[i + 1 :]
            inner = np.maximum(np.minimum(boxes[i, 2:], later[:, 2:]) - np.maximum(boxes[i, :2], later[:, :2]), 0)
            shared = inner[:, 0] * inner[:, 1]
            areas = np.prod(boxes[i, 2:] - boxes[i, :2]) + np.prod(later[:, 2:] - later[:, :2], axis=1)
            with np.errstate(invalid="ignore", divide="ignore"):
                iou = shared / (areas - shared)
            keep[i + 1 :] &= (iou < nms) | (class_ids[i + 1 :] != class_ids[i])
    return np.flatnonzero(keep)


class ReferenceNetwork:
    """SSD300 as a plain graph with variables, one picture a call.

    Args:
        arrays: name below the root scope -> values.
        mean_rgb: subtracted from each pixel before the picture is resized.
    """

    def __init__(self, arrays: Mapping[str, Any], mean_rgb: list[float]) -> None:
        import tensorflow as tf

        self._tf = tf.compat.v1
        graph = tf.Graph()
        with graph.as_default():
            self._variables = {name: self._tf.Variable(values, name=name) for name, values in arrays.items()}
            self._picture = self._tf.placeholder(tf.uint8, (None, None, 3))
            centred = tf.cast(self._picture, tf.float32) - mean_rgb
            resized = self._tf.image.resize_bilinear(centred[None], (300, 300))
            self._outputs = self._network(resized)
            self._session = self._tf.Session(config=self._tf.ConfigProto(allow_soft_placement=True))
            self._session.run(self._tf.global_variables_initializer())

    def __call__(self, picture: Pixels) -> tuple[Floats, Floats]:
        """Scores (N, C) and offsets (N, 4)."""
        scores, offsets = self._session.run(self._outputs, {self._picture: picture})
        return scores[0], offsets[0]

    def _network(self, x: Any) -> list[Any]:
        described, maps = network(300), {}
        for layer in described.layers:
            if isinstance(layer, Pool):
                x = self._tf.nn.max_pool(x, layer.kernel, layer.stride, "SAME")
            else:
                x = maps[layer.name] = self._tf.nn.relu(self._convolve(x, layer))
        logits, offsets = zip(*(self._head(maps[head.source], head) for head in described.heads), strict=True)
        return [self._tf.nn.softmax(self._tf.concat(logits, 1)), self._tf.concat(offsets, 1)]

    def _convolve(self, x: Any, conv: Conv) -> Any:
        kernel, bias = self._variables[f"{conv.name}/weights"], self._variables[f"{conv.name}/biases"]
        around = [[0, 0], [conv.pad, conv.pad], [conv.pad, conv.pad], [0, 0]]
        dilations = [1, conv.dilation, conv.dilation, 1]
        strides = [1, conv.stride, conv.stride, 1]
        y = self._tf.nn.conv2d(x, kernel, strides=strides, padding=around, dilations=dilations)
        return self._tf.nn.bias_add(y, bias)

    def _head(self, x: Any, head: Head) -> Iterator[Any]:
        if head.normalised:
            x = self._tf.nn.l2_normalize(x, -1, epsilon=L2_EPSILON) * self._variables[gamma_name(head)]
        for kind in ("conv_cls", "conv_loc"):
            y = self._convolve(x, Conv(f"{head.scope}/{kind}", kernel=3, channels=0, pad=1))
            yield self._tf.reshape(y, [1, -1, y.shape[-1] // head.anchors_per_cell])


def video_calls(weights: str, mean_rgb: list[float], anchors: str, clip: str, copy: str) -> Calls:
    """In a worker: `job` makes the annotated copy of the clip."""
    from moviepy import VideoFileClip

    with np.load(weights) as arrays:
        run = ReferenceNetwork(dict(arrays), mean_rgb)
    all_anchors = make_anchors(anchors)
    seen = []

    def annotated(frame: Pixels) -> Pixels:
        seen.append(1)
        class_ids, scores, boxes = found_boxes(*run(frame), all_anchors, 0.5, 0.45)
        return _drawn(frame, class_ids, scores, boxes)

    def job() -> int:
        """Frames."""
        seen.clear()
        with VideoFileClip(clip) as read:
            read.image_transform(annotated).write_videofile(copy, logger=None)
        return len(seen)

    def peaks(picture: str) -> list[float]:
        """Of each class, over all anchors."""
        return [float(value) for value in run(np.load(picture))[0].max(axis=0)]

    return {"job": job, "peaks": peaks}


def _drawn(frame: Pixels, class_ids: Integers, scores: Floats, boxes: Floats) -> Pixels:
    canvas: Pixels = frame.copy()
    height, width = frame.shape[:2]
    for class_id, score, box in zip(class_ids, scores, boxes, strict=True):
        left, top, right, bottom = (box * [width, height, width, height]).astype(int).tolist()
        cv2.rectangle(canvas, (left, top), (right, bottom), (255, 0, 0), 2)
        cv2.putText(canvas, f"{class_id}/{score:.3f}", (left, top - 2), cv2.FONT_HERSHEY_DUPLEX, 0.4, (255, 0, 0), 1)
    return canvas
