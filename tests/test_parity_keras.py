"""Against a Keras model of the same layers as ssd_keras's SSD300, and against ssd_keras's way from scores to boxes.

The model is written here from the layers' description alone; its weights go into a file as Keras 2 laid it out, and
that file through our reader and our network.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import cv2
import h5py
import numpy as np
import pytest
import seeded
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st

from ssd_detect.boxes.anchors import make_anchors
from ssd_detect.boxes.postprocess import decode_candidates, keep_best
from ssd_detect.boxes.profiles import resolved
from ssd_detect.conventions import AnchorClip, AnchorRounding, Profile, ResizeRule
from ssd_detect.detector import Detector
from ssd_detect.model.checkpoint import load_checkpoint
from ssd_detect.model.resize import resized
from ssd_detect.model.session import NetworkSession
from ssd_detect.settings import CheckpointSettings, DetectionSettings, SessionSettings
from tests.parity import Rows, assert_same_detections, with_an_area

layers: Any = tf.keras.layers
PICTURE = seeded.seeded_picture(*seeded.PICTURES[1])
NUM_CLASSES = 21


class ChannelNorm(tf.keras.layers.Layer):  # type: ignore[misc]
    """Each cell's channels to length 1, then times a learned factor a channel."""

    def build(self, shape: Any) -> None:
        self.gamma = self.add_weight(shape=(shape[-1],), name="gamma")

    def call(self, maps: Any) -> Any:
        return tf.keras.ops.normalize(maps, axis=-1, order=2, epsilon=1e-12) * self.gamma


class Maps:
    """Builds the model from its input to its maps, and remembers where each layer's weights come from."""

    def __init__(self) -> None:
        self.scopes: dict[str, str] = {}  # layer -> scope of its variables in the TensorFlow port
        self.at: dict[str, Any] = {}

    def convolve(self, x: Any, name: str, scope: str, channels: int, kernel: int, **shape: Any) -> Any:
        self.scopes[name] = scope
        shape = {"padding": "same", "activation": "relu", **shape}
        self.at[name] = layers.Conv2D(channels, kernel, name=name, **shape)(x)
        return self.at[name]

    def vgg(self, x: Any) -> Any:
        for block, (channels, repeats) in enumerate([(64, 2), (128, 2), (256, 3), (512, 3), (512, 3)], start=1):
            for name in [f"conv{block}_{i + 1}" for i in range(repeats)]:
                x = self.convolve(x, name, f"conv{block}/{name}", channels, 3)
            size, stride = (3, 1) if block == 5 else (2, 2)
            x = layers.MaxPooling2D(size, stride, padding="same", name=f"pool{block}")(x)
        x = self.convolve(x, "fc6", "conv6", 1024, 3, dilation_rate=6)
        return self.convolve(x, "fc7", "conv7", 1024, 1)

    def extra(self, x: Any) -> None:
        for block, between, channels in [(6, 256, 512), (7, 128, 256), (8, 128, 256), (9, 128, 256)]:
            scope = f"block{block + 2}"
            x = self.convolve(x, f"conv{block}_1", f"{scope}/conv1x1", between, 1)
            shrinks = block < 8
            if shrinks:
                x = layers.ZeroPadding2D(1, name=f"conv{block}_padding")(x)
            stride = 2 if shrinks else 1
            x = self.convolve(x, f"conv{block}_2", f"{scope}/conv3x3", channels, 3, strides=stride, padding="valid")

    def heads(self) -> Any:
        self.scopes["conv4_3_norm"] = "block4_box/L2Normalization"
        self.at["conv4_3_norm"] = ChannelNorm(name="conv4_3_norm")(self.at["conv4_3"])
        sources = ["conv4_3_norm", "fc7", "conv6_2", "conv7_2", "conv8_2", "conv9_2"]
        found: dict[str, list[Any]] = {"conf": [], "loc": []}
        for source, block, per_cell in zip(sources, [4, 7, 8, 9, 10, 11], [4, 6, 6, 6, 4, 4], strict=True):
            for kind, scope, numbers in [("conf", "conv_cls", NUM_CLASSES), ("loc", "conv_loc", 4)]:
                name = f"{source}_mbox_{kind}"
                x = self.convolve(
                    self.at[source], name, f"block{block}_box/{scope}", per_cell * numbers, 3, activation=None
                )
                found[kind].append(layers.Reshape((-1, numbers), name=f"{name}_reshape")(x))
        scores = layers.Softmax(name="mbox_conf_softmax")(layers.Concatenate(axis=1, name="mbox_conf")(found["conf"]))
        return layers.Concatenate(name="predictions")(
            [scores, layers.Concatenate(axis=1, name="mbox_loc")(found["loc"])]
        )


class Made(NamedTuple):
    """The Keras model with seeded weights, and its predictions (8732, 21 + 4) for the picture."""

    model: Any
    predictions: Any


def make_model(variables: Mapping[str, Any]) -> Any:
    """Takes RGB as it is, (B, 300, 300, 3), and gives (B, 8732, 21 + 4): scores and offsets."""
    maps = Maps()
    rgb = tf.keras.Input((300, 300, 3))
    x = layers.Rescaling(1.0, offset=[-123.0, -117.0, -104.0], name="input_mean_normalization")(rgb)
    x = layers.Lambda(lambda maps: maps[..., ::-1], name="input_channel_swap")(x)  # the kernels came from Caffe
    maps.extra(maps.vgg(x))
    model = tf.keras.Model(rgb, maps.heads())
    for name, scope in maps.scopes.items():
        parts = [variables[f"ssd_300_vgg/{scope}/{part}"] for part in parts_of(scope)]
        if name == "conv1_1":
            parts[0] = parts[0][:, :, ::-1]
        model.get_layer(name).set_weights(parts)
    return model


def parts_of(scope: str) -> tuple[str, ...]:
    return ("gamma",) if scope.endswith("L2Normalization") else ("weights", "biases")


def write_keras_2(model: Any, path: Path) -> None:
    """A group a layer, whose attribute `weight_names` lists its arrays: what Keras 2 wrote and Keras 3 cannot."""
    with h5py.File(path, "w") as file:
        file.attrs["layer_names"] = [layer.name.encode() for layer in model.layers]
        file.attrs["backend"], file.attrs["keras_version"] = b"tensorflow", b"2.0.8"
        for layer in model.layers:
            group = file.create_group(layer.name)
            gamma = f"{layer.name}/{layer.name}_gamma:0"
            names = [gamma if w.name == "gamma" else f"{layer.name}/{w.name}:0" for w in layer.weights]
            group.attrs["weight_names"] = [name.encode() for name in names]
            for name, values in zip(names, layer.get_weights(), strict=True):
                group[name] = values


@pytest.fixture(scope="module")
def made(seeded_variables: dict[str, Any]) -> Made:
    model = make_model(seeded_variables)
    resized = cv2.resize(PICTURE, (300, 300), interpolation=cv2.INTER_LINEAR)  # whole grey levels, as ssd_keras reads
    return Made(model, np.asarray(model(resized[np.newaxis].astype(np.float32), training=False))[0])


@pytest.fixture(scope="module")
def chosen(made: Made, tmp_path_factory: pytest.TempPathFactory) -> CheckpointSettings:
    path = tmp_path_factory.mktemp("keras") / "VGG_VOC0712_SSD_300x300_iter_120000.h5"
    write_keras_2(made.model, path)
    return CheckpointSettings(str(path), anchors="voc300")


@pytest.fixture(scope="module")
def network(chosen: CheckpointSettings) -> Iterator[NetworkSession]:
    session = NetworkSession(load_checkpoint(chosen), SessionSettings())
    yield session
    session.close()


def test_weights_come_back_bit_for_bit(chosen: CheckpointSettings, seeded_variables: dict[str, Any]) -> None:
    checkpoint = load_checkpoint(chosen)
    for name, values in seeded_variables.items():
        np.testing.assert_array_equal(checkpoint.variables[name.removeprefix("ssd_300_vgg/")], values, name)


def test_a_keras_file_is_taken_as_keras_takes_it(chosen: CheckpointSettings) -> None:
    spec = load_checkpoint(CheckpointSettings(chosen.given)).spec
    facts = (spec.anchors, spec.anchor_rounding, spec.anchor_clip, spec.resize, spec.profile)
    assert facts == ("voc300", AnchorRounding.FLOAT, AnchorClip.NONE, ResizeRule.OPENCV, Profile.KERAS)


def test_predictions(made: Made, network: NetworkSession) -> None:
    scores, offsets = (outputs[0] for outputs in network.run(resized(PICTURE, 300, ResizeRule.OPENCV)[np.newaxis]))
    np.testing.assert_allclose(scores, made.predictions[:, :NUM_CLASSES], rtol=0, atol=1e-4)
    np.testing.assert_allclose(offsets, made.predictions[:, NUM_CLASSES:], rtol=0, atol=1e-3)


def keras_boxes(offsets: Any, anchors: Any) -> Any:
    """(n, 4) xyxy: the offsets are in tenths of the anchor's sides, and in fifths of the logarithm."""
    centres = offsets[:, :2] * np.float32(0.1) * anchors[:, 2:] + anchors[:, :2]
    halves = np.exp(offsets[:, 2:] * np.float32(0.2)) * anchors[:, 2:] / 2
    return np.hstack([centres - halves, centres + halves])


def keras_detections(scores: Any, offsets: Any, anchors: Any, limit: int) -> Rows:
    """As ssd_keras's own last layer: of each class all scores above 0.01 into TensorFlow's suppression at 0.45, which
    lets 400 through; of all classes together the best `limit`. Boxes are clipped only when they are drawn.
    """
    boxes = keras_boxes(offsets, anchors)
    found: list[tuple[int, int]] = []  # anchor, class
    for class_id in range(1, scores.shape[1]):
        above = np.flatnonzero(scores[:, class_id] > 0.01)
        kept = tf.image.non_max_suppression(boxes[above], scores[above, class_id], 400, 0.45).numpy()
        found += [(anchor_id, class_id) for anchor_id in above[kept]]
    anchor_ids, class_ids = np.array(found, np.int64).reshape(-1, 2).T
    best = np.argsort(-scores[anchor_ids, class_ids], kind="stable")[:limit]
    return with_an_area(class_ids[best], scores[anchor_ids, class_ids][best], boxes[anchor_ids][best])


@given(st.integers(0, 300), st.integers(0, 2**32 - 1))
@settings(deadline=None, max_examples=50)
def test_profile(count: int, seed: int) -> None:
    """Heaps of boxes of three classes, from none to 300 anchors, some outside the picture."""
    random = np.random.default_rng(seed)
    anchors = make_anchors("voc300")[random.choice(8732, count, replace=False)]
    offsets = random.normal(0, 4, (count, 4)).astype(np.float32)
    scores = random.dirichlet([3, 0.2, 0.2, 0.2], count).astype(np.float32)
    by_keras = resolved(DetectionSettings(score_threshold=0.01, max_detections=50), Profile.KERAS)
    candidates, _ = decode_candidates(scores, offsets, anchors, np.arange(4) > 0, by_keras)
    kept = keep_best(candidates, by_keras)
    rows = Rows(kept.class_ids, kept.scores, kept.boxes_unit)
    expected = keras_detections(scores, offsets, anchors, 50)
    assert_same_detections(rows, expected, scores_within=0, boxes_within=1e-5)


@pytest.mark.parametrize("limit", [200, 20 * 400])  # the usual one, and as many as there can be
def test_detections(made: Made, chosen: CheckpointSettings, limit: int) -> None:
    with Detector(chosen, settings=DetectionSettings(score_threshold=0.01, max_detections=limit)) as detector:
        found = detector(PICTURE)
    rows = Rows(found.class_ids, found.scores, found.boxes / np.array([*found.size, *found.size]))
    scores, offsets = np.split(made.predictions, [NUM_CLASSES], axis=1)
    expected = keras_detections(scores, offsets, make_anchors("voc300"), limit)
    assert_same_detections(rows, expected, scores_within=1e-4, boxes_within=1e-4)
