"""A SavedModel that serves: pictures in; scores, offsets and boxes out.

The weights are variables under the reference's names, so that the folder's `variables/variables` is a checkpoint as
`to_tensorflow` writes it, the metadata included: whoever reads the one without running it can read the other.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf
from tensorflow.core.protobuf import meta_graph_pb2, saved_model_pb2

from ssd_detect.arrays import Floats, Pixels
from ssd_detect.boxes.decode import CENTRE_VARIANCE, SIZE_VARIANCE
from ssd_detect.conventions import ResizeRule
from ssd_detect.model.conversion.outgoing import Outgoing, Outputs, ReadBack
from ssd_detect.model.conversion.to_tensorflow import read_variables
from ssd_detect.model.graph import add_variables, network_outputs
from ssd_detect.model.metadata import METADATA_NAME
from ssd_detect.model.spec import ModelSpec

_OUTPUTS = ("scores", "offsets", "boxes")
_SERVING = tf.compat.v1.saved_model.signature_constants.DEFAULT_SERVING_SIGNATURE_DEF_KEY


def write_saved_model(folder: Path, outgoing: Outgoing) -> None:
    """Write the folder; its signature `serving_default` takes `pictures` and gives `scores`, `offsets`, `boxes`.

    `pictures` is (B, H, W, 3) uint8 RGB of any size, or (B, size, size, 3) where the resize rule is OpenCV's, which
    TensorFlow does not have; `boxes` is (B, N, 4) float32, xyxy unit, not clipped.

    Raises:
        tf.errors.OpError: the system refuses.
    """
    with tf.Graph().as_default(), tf.compat.v1.Session(config=_on_cpu()) as session:
        variables = _variables(outgoing, session)
        pictures = _pictures(outgoing)
        scores, offsets = network_outputs(_resized(pictures, outgoing.spec), outgoing.spec, variables)
        boxes = _decoded(offsets, outgoing.anchors())
        signature = tf.compat.v1.saved_model.build_signature_def(
            {"pictures": _described(pictures)},
            {name: _described(tensor) for name, tensor in zip(_OUTPUTS, (scores, offsets, boxes), strict=True)},
            tf.compat.v1.saved_model.signature_constants.PREDICT_METHOD_NAME,
        )
        builder = tf.compat.v1.saved_model.Builder(str(folder))
        builder.add_meta_graph_and_variables(session, ["serve"], {_SERVING: signature})
        builder.save()


def _described(tensor: Any) -> Any:
    kind = tensor.dtype.as_datatype_enum
    return meta_graph_pb2.TensorInfo(name=tensor.name, dtype=kind, tensor_shape=tensor.shape.as_proto())


def _on_cpu() -> Any:
    return tf.compat.v1.ConfigProto(device_count={"GPU": 0})


def _variables(outgoing: Outgoing, session: Any) -> dict[str, Any]:
    """The weights as read from variables, by names below the root scope; one more, not among them, holds metadata."""
    values: dict[str, Any] = {outgoing.full_name(name): array for name, array in outgoing.tensors.items()}
    values[METADATA_NAME] = np.array(json.dumps(outgoing.metadata), object)
    made, feeds = add_variables(values)
    session.run(tf.compat.v1.global_variables_initializer(), feeds)
    return {name: made[outgoing.full_name(name)].value() for name in outgoing.tensors}


def _pictures(outgoing: Outgoing) -> Any:
    side = outgoing.spec.size if outgoing.spec.resize is ResizeRule.OPENCV else None
    return tf.compat.v1.placeholder(tf.uint8, [None, side, side, 3], name="pictures")


def _resized(pictures: Any, spec: ModelSpec) -> Any:
    """(B, H, W, 3) uint8 to (B, size, size, 3) float32; the kernels take uint8: no float copy of a large picture."""
    size = [spec.size, spec.size]
    if spec.resize is ResizeRule.OPENCV:  # done before: no kernel of TensorFlow rounds like it
        return tf.cast(pictures, tf.float32)
    if spec.resize is ResizeRule.ANTIALIAS:
        return tf.image.resize(pictures, size, method="bilinear", antialias=True)
    half_pixel = spec.resize is ResizeRule.HALF_PIXEL
    return tf.raw_ops.ResizeBilinear(images=pictures, size=size, half_pixel_centers=half_pixel)


def _decoded(offsets: Any, anchors: Floats) -> Any:
    """(B, N, 4) offsets to boxes, xyxy unit; as `boxes.decode`."""
    centres = offsets[..., :2] * anchors[:, 2:] * CENTRE_VARIANCE + anchors[:, :2]
    half = anchors[:, 2:] * tf.exp(offsets[..., 2:] * SIZE_VARIANCE) / 2.0
    return tf.concat([centres - half, centres + half], axis=-1, name="boxes")


def read_saved_model(folder: Path, outgoing: Outgoing) -> ReadBack:
    """The folder as TensorFlow restores it, run through its signature."""
    prefix = folder / "variables" / "variables"
    tensors, metadata = read_variables(prefix, outgoing)
    (meta_graph,) = saved_model_pb2.SavedModel.FromString((folder / "saved_model.pb").read_bytes()).meta_graphs
    graph = tf.Graph()
    session = tf.compat.v1.Session(graph=graph, config=_on_cpu())
    with graph.as_default():
        tf.compat.v1.train.import_meta_graph(meta_graph).restore(session, str(prefix))
    signature = meta_graph.signature_def[_SERVING]
    fetches = [signature.outputs[name].name for name in _OUTPUTS]

    def run(picture: Pixels, resized: Floats) -> Outputs:
        return Outputs(*session.run(fetches, {signature.inputs["pictures"].name: picture}))

    return ReadBack("TensorFlow", tensors, metadata, run)
