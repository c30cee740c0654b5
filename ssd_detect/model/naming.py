"""Whose names and layout the tensors of a file have, and how each becomes one of our variables.

The one table of names; sources: balancap/SSD-Tensorflow's `ssd_vgg_300.py` and `ssd_vgg_512.py`, the Caffe release's
`model_libs.py` and `ssd_pascal.py`, ssd_keras's `keras_ssd300.py` and `keras_ssd512.py` (which took Caffe's names),
ssd.pytorch's `ssd.py`, torchvision's `models/detection/ssd.py`. No anchor, coordinate or class of a head is ever moved:
all five order them alike.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ssd_detect.arrays import Floats
from ssd_detect.conventions import ColourOrder, Source
from ssd_detect.errors import CheckpointError
from ssd_detect.model.spec import network, variable_shapes


class _Row(NamedTuple):
    """One layer in the words of each source; None where a source does not have it. `keras` is as `caffe`."""

    tensorflow: str
    caffe: str
    ssd_pytorch: str | None
    torchvision: str | None


_TORCHVISION_HEADS = ("head.regression_head.module_list", "head.classification_head.module_list")


def _heads(number: int, block: int, caffe: str) -> tuple[_Row, _Row]:
    """Offsets and scores of one map. Neither ssd.pytorch nor torchvision has an SSD512, with its seventh map."""
    loc, conf = (f"{n}.{number}" if number < 6 else None for n in ("loc", "conf"))
    regression, classification = (f"{n}.{number}" if number < 6 else None for n in _TORCHVISION_HEADS)
    return (
        _Row(f"block{block}_box/conv_loc", f"{caffe}_mbox_loc", loc, regression),
        _Row(f"block{block}_box/conv_cls", f"{caffe}_mbox_conf", conf, classification),
    )


_CONVOLUTIONS = (
    _Row("conv1/conv1_1", "conv1_1", "vgg.0", "backbone.features.0"),
    _Row("conv1/conv1_2", "conv1_2", "vgg.2", "backbone.features.2"),
    _Row("conv2/conv2_1", "conv2_1", "vgg.5", "backbone.features.5"),
    _Row("conv2/conv2_2", "conv2_2", "vgg.7", "backbone.features.7"),
    _Row("conv3/conv3_1", "conv3_1", "vgg.10", "backbone.features.10"),
    _Row("conv3/conv3_2", "conv3_2", "vgg.12", "backbone.features.12"),
    _Row("conv3/conv3_3", "conv3_3", "vgg.14", "backbone.features.14"),
    _Row("conv4/conv4_1", "conv4_1", "vgg.17", "backbone.features.17"),
    _Row("conv4/conv4_2", "conv4_2", "vgg.19", "backbone.features.19"),
    _Row("conv4/conv4_3", "conv4_3", "vgg.21", "backbone.features.21"),
    _Row("conv5/conv5_1", "conv5_1", "vgg.24", "backbone.extra.0.1"),
    _Row("conv5/conv5_2", "conv5_2", "vgg.26", "backbone.extra.0.3"),
    _Row("conv5/conv5_3", "conv5_3", "vgg.28", "backbone.extra.0.5"),
    _Row("conv6", "fc6", "vgg.31", "backbone.extra.0.7.1"),
    _Row("conv7", "fc7", "vgg.33", "backbone.extra.0.7.3"),
    # Beware: Caffe's conv6_x to conv10_x are TensorFlow's block8 to block12.
    _Row("block8/conv1x1", "conv6_1", "extras.0", "backbone.extra.1.0"),
    _Row("block8/conv3x3", "conv6_2", "extras.1", "backbone.extra.1.2"),
    _Row("block9/conv1x1", "conv7_1", "extras.2", "backbone.extra.2.0"),
    _Row("block9/conv3x3", "conv7_2", "extras.3", "backbone.extra.2.2"),
    _Row("block10/conv1x1", "conv8_1", "extras.4", "backbone.extra.3.0"),
    _Row("block10/conv3x3", "conv8_2", "extras.5", "backbone.extra.3.2"),
    _Row("block11/conv1x1", "conv9_1", "extras.6", "backbone.extra.4.0"),
    _Row("block11/conv3x3", "conv9_2", "extras.7", "backbone.extra.4.2"),
    _Row("block12/conv1x1", "conv10_1", None, None),
    _Row("block12/conv4x4", "conv10_2", None, None),
    *_heads(0, 4, "conv4_3_norm"),
    *_heads(1, 7, "fc7"),
    *_heads(2, 8, "conv6_2"),
    *_heads(3, 9, "conv7_2"),
    *_heads(4, 10, "conv8_2"),
    *_heads(5, 11, "conv9_2"),
    *_heads(6, 12, "conv10_2"),
)

_GAMMA = "block4_box/L2Normalization/gamma"
_FIRST_KERNEL = "conv1/conv1_1/weights"
_SCORE_BIASES = "block4_box/conv_cls/biases"

_WEIGHTS_AND_BIASES: Mapping[Source, tuple[str, str]] = {
    Source.TENSORFLOW: ("/weights", "/biases"),
    Source.CAFFE: ("/0", "/1"),
    Source.KERAS: ("/kernel", "/bias"),
    Source.SSD_PYTORCH: (".weight", ".bias"),
    Source.TORCHVISION: (".weight", ".bias"),
}
_GAMMA_NAMES: Mapping[Source, str] = {
    Source.TENSORFLOW: _GAMMA,
    Source.CAFFE: "conv4_3_norm/0",
    Source.KERAS: "conv4_3_norm/gamma",
    Source.SSD_PYTORCH: "L2Norm.weight",
    Source.TORCHVISION: "backbone.scale_weight",
}
_COLUMNS: Mapping[Source, str] = {
    Source.TENSORFLOW: "tensorflow",
    Source.CAFFE: "caffe",
    Source.KERAS: "caffe",
    Source.SSD_PYTORCH: "ssd_pytorch",
    Source.TORCHVISION: "torchvision",
}

_OIHW = frozenset({Source.CAFFE, Source.SSD_PYTORCH, Source.TORCHVISION})
_BGR = frozenset({Source.CAFFE, Source.KERAS})  # ssd_keras swaps the channels inside its network


def _names_below_root(source: Source) -> dict[str, str]:
    """Our name below the root -> the source's name, of every variable that the source has."""
    ours, theirs = _WEIGHTS_AND_BIASES[Source.TENSORFLOW], _WEIGHTS_AND_BIASES[source]
    names = {_GAMMA: _GAMMA_NAMES[source]}
    for row in _CONVOLUTIONS:
        layer = getattr(row, _COLUMNS[source])
        if layer is not None:
            names |= {row.tensorflow + o: layer + t for o, t in zip(ours, theirs, strict=True)}
    return names


_NAMES: Mapping[Source, Mapping[str, str]] = {source: _names_below_root(source) for source in Source}


def source_of(names: Iterable[str]) -> Source | None:
    """The program whose names these are, told by the first convolution's kernel; None where it is nobody's.

    Args:
        names: of all tensors of a file, as its reader gives them. PyTorch's may stand below a prefix, such as
            `module.` (DataParallel) or `state_dict.` (a dictionary in a dictionary); TensorFlow's stand below a scope.
    """
    names = tuple(names)
    return next((source for source in Source if next(_roots(source, names), None) is not None), None)


def size_of(source: Source, names: Iterable[str]) -> int:
    """300 or 512: what only SSD512 has is an eleventh extra convolution, TensorFlow's `block12`."""
    known = _NAMES[source].get("block12/conv1x1/weights")
    return 512 if known is not None and any(_is_below_root(name, known, source) for name in names) else 300


def native_names(source: Source, size: int, names: Iterable[str]) -> dict[str, str]:
    """Our name below the root -> the file's name, of every variable that a network of this size needs.

    Args:
        source: from `source_of`.
        size: 300 or 512.
        names: of all tensors of the file. They tell the prefix or scope; a variable need not be among them.

    Raises:
        CheckpointError: several networks in one file, or one that the source does not have. The caller adds the path.
    """
    root = _root(source, tuple(names))
    known = _NAMES[source]
    needed = variable_shapes(size, num_classes=2)
    if not needed.keys() <= known.keys():
        raise CheckpointError(f"an SSD{size} with names of {source.value}, expected an SSD300, the only one it has")
    return {ours: root + known[ours] for ours in needed}


def num_classes(source: Source, size: int, shapes: Mapping[str, tuple[int, ...]]) -> int | None:
    """Number of classes, with the background, told by the biases of the first head.

    Args:
        source, size: as for `native_names`.
        shapes: name -> shape of all tensors of the file.

    Returns:
        None where these biases are missing or make no whole number of at least 2.
    """
    shape = shapes.get(native_names(source, size, shapes)[_SCORE_BIASES])
    per_cell = network(size).heads[0].anchors_per_cell
    if shape is None or len(shape) != 1 or shape[0] % per_cell or shape[0] < 2 * per_cell:
        return None
    return shape[0] // per_cell


def native_shape(source: Source, shape: tuple[int, ...]) -> tuple[int, ...]:
    """The shape that one of our variables, kernels HWIO, has in the source's files."""
    if source in _OIHW and len(shape) == 4:
        height, width, inputs, outputs = shape
        return outputs, inputs, height, width
    return shape


def usual_colour_order(source: Source) -> ColourOrder:
    """The order of the channels that the first convolution of this source's own files expects."""
    return ColourOrder.BGR if source in _BGR else ColourOrder.RGB


def to_ours(
    values: npt.NDArray[np.generic], our_name: str, source: Source, colour_order: ColourOrder | None = None
) -> Floats:
    """A tensor as a file has it -> ours: float32, C order, kernels HWIO, the first kernel's inputs RGB.

    Args:
        values: any real type; a kernel in the source's layout, see `native_shape`.
        our_name: name below the root.
        source: from `source_of`.
        colour_order: of this file; None means the source's usual one.

    Returns:
        An array of its own: it shares no memory with a file. Numbers too large for float32 become infinite.
    """
    if source in _OIHW and values.ndim == 4:
        values = values.transpose(2, 3, 1, 0)
    if our_name == _FIRST_KERNEL and (colour_order or usual_colour_order(source)) is ColourOrder.BGR:
        values = values[:, :, ::-1]
    with np.errstate(over="ignore"):
        return np.array(values, np.float32, order="C")


_USUAL_WRAPPINGS = ("", "module.", "state_dict.", "state_dict.module.", "model.", "model.module.")


def _root(source: Source, names: tuple[str, ...]) -> str:
    """What stands before all names of the network: nothing, a scope, or the keys of PyTorch's dictionaries."""
    roots = sorted(set(_roots(source, names)))
    usual = [root for root in _USUAL_WRAPPINGS if root in roots]
    if usual or len(roots) == 1:
        return (usual or roots)[0]
    if roots:
        raise CheckpointError(
            f"holds several networks ({', '.join(r.rstrip('/.') or '.' for r in roots)}), expected one"
        )
    return ""


def _roots(source: Source, names: tuple[str, ...]) -> Iterator[str]:
    first = _NAMES[source][_FIRST_KERNEL]
    return (name[: -len(first)] for name in names if _is_below_root(name, first, source))


def _is_below_root(name: str, known: str, source: Source) -> bool:
    if source in (Source.CAFFE, Source.KERAS):
        return name == known
    separator = "/" if source is Source.TENSORFLOW else "."
    return name == known or name.endswith(separator + known)
