"""What the SSD-VGG networks are: layers, heads, variables, and what a checkpoint needs besides its weights.

One description serves SSD300 and SSD512. Sources: Liu et al. 2016; the Caffe release's `model_libs.py` and
`ssd_pascal.py`; balancap/SSD-Tensorflow for the variable names. No TensorFlow and no NumPy here.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

from ssd_detect.conventions import AnchorClip, AnchorRounding, Profile, ResizeRule

SIZES = (300, 512)
MEAN_RGB = (123.0, 117.0, 104.0)
L2_EPSILON = 1e-12
"""The least sum of squares by whose root a feature vector is divided; as in the reference port."""


@dataclass(frozen=True)
class ModelSpec:
    """All that a network needs to be told besides its weights; nothing of it shows in tensor shapes.

    Args:
        size: side of the square input in pixels, 300 or 512.
        class_names: name of each output, background first.
        anchors: a key of `boxes.anchors.ANCHOR_PRESETS`.
        resize: how pictures are brought to `size`.
        mean_rgb: subtracted from each pixel, grey levels.
        anchor_rounding: what becomes of anchor sizes that are no whole pixels.
        anchor_clip: how anchors that leave the picture are cut.
        profile: how the outputs become detections.
    """

    size: int
    class_names: tuple[str, ...]
    anchors: str
    resize: ResizeRule
    mean_rgb: tuple[float, float, float] = MEAN_RGB
    anchor_rounding: AnchorRounding = AnchorRounding.FLOAT
    anchor_clip: AnchorClip = AnchorClip.NONE
    profile: Profile = Profile.TUTORIAL


@dataclass(frozen=True)
class Conv:
    """A convolution with bias and ReLU. `pad` zeros go round the map on each side; `name` is the variables' scope."""

    name: str
    kernel: int
    channels: int
    stride: int = 1
    pad: int = 0
    dilation: int = 1


@dataclass(frozen=True)
class Pool:
    """A maximum over kernel x kernel cells, TensorFlow's SAME padding (equal to Caffe's rounding up)."""

    kernel: int
    stride: int


@dataclass(frozen=True)
class Head:
    """Two convolutions, offsets and class scores, on the map that the layer `source` puts out."""

    scope: str
    source: str
    anchors_per_cell: int
    normalised: bool = False


Layer: TypeAlias = Conv | Pool


@dataclass(frozen=True)
class Network:
    """Layers in order, and the heads on some of their outputs."""

    scope: str
    layers: tuple[Layer, ...]
    heads: tuple[Head, ...]


def network(size: int) -> Network:
    """The description of SSD300-VGG or SSD512-VGG."""
    layers = (*_vgg_layers(), *_extra_layers(size))
    per_cell = (4, 6, 6, 6, 4, 4) if size == 300 else (4, 6, 6, 6, 6, 4, 4)
    last = "block12/conv4x4" if size == 512 else "block11/conv3x3"
    sources = (
        "conv4/conv4_3",
        "conv7",
        "block8/conv3x3",
        "block9/conv3x3",
        "block10/conv3x3",
        "block11/conv3x3",
        last,
    )
    blocks = (4, 7, 8, 9, 10, 11, 12)
    heads = tuple(
        Head(f"block{block}_box", source, anchors, normalised=block == 4)
        for block, source, anchors in zip(blocks, sources, per_cell, strict=False)
    )
    return Network(f"ssd_{size}_vgg", layers, heads)


def _vgg_layers() -> Iterator[Layer]:
    for block, (channels, repeats) in enumerate([(64, 2), (128, 2), (256, 3), (512, 3), (512, 3)], start=1):
        for i in range(1, repeats + 1):
            yield Conv(f"conv{block}/conv{block}_{i}", kernel=3, channels=channels, pad=1)
        yield Pool(2, 2) if block < 5 else Pool(3, 1)
    yield Conv("conv6", kernel=3, channels=1024, pad=6, dilation=6)
    yield Conv("conv7", kernel=1, channels=1024)


def _extra_layers(size: int) -> Iterator[Layer]:
    shrinking = {8, 9} if size == 300 else {8, 9, 10, 11}  # stride 2, padded by one on every side as Caffe does
    for block, between, channels in [(8, 256, 512), (9, 128, 256), (10, 128, 256), (11, 128, 256)]:
        yield Conv(f"block{block}/conv1x1", kernel=1, channels=between)
        shrinks = block in shrinking
        yield Conv(f"block{block}/conv3x3", 3, channels, stride=2 if shrinks else 1, pad=1 if shrinks else 0)
    if size == 512:
        yield Conv("block12/conv1x1", kernel=1, channels=128)
        yield Conv("block12/conv4x4", kernel=4, channels=256, pad=1)


def variable_shapes(size: int, num_classes: int) -> dict[str, tuple[int, ...]]:
    """Name below the root scope -> shape, of every variable; kernels are HWIO."""
    described = network(size)
    shapes: dict[str, tuple[int, ...]] = {}
    channels_of: dict[str, int] = {}
    channels = 3
    for layer in described.layers:
        if isinstance(layer, Conv):
            shapes |= _conv_shapes(layer.name, layer.kernel, channels, layer.channels)
            channels = channels_of[layer.name] = layer.channels
    for head in described.heads:
        channels = channels_of[head.source]
        if head.normalised:
            shapes[gamma_name(head)] = (channels,)
        shapes |= _conv_shapes(f"{head.scope}/conv_loc", 3, channels, head.anchors_per_cell * 4)
        shapes |= _conv_shapes(f"{head.scope}/conv_cls", 3, channels, head.anchors_per_cell * num_classes)
    return shapes


def _conv_shapes(name: str, kernel: int, channels_in: int, channels_out: int) -> dict[str, tuple[int, ...]]:
    return {f"{name}/weights": (kernel, kernel, channels_in, channels_out), f"{name}/biases": (channels_out,)}


def gamma_name(head: Head) -> str:
    """The variable that scales the normalised map, one value a channel."""
    return f"{head.scope}/L2Normalization/gamma"
