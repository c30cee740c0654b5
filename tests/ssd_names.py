"""The names that each port of SSD gives its layers, made by walking each port's own list of layers.

Written from the reference's text, not from `ssd_detect.model.naming`, which is tested against it.
"""

from typing import Any

import numpy as np
import seeded

VGG = [(2, 64), (2, 128), (3, 256), (3, 512), (3, 512)]
EXTRA_BLOCKS = {300: (8, 9, 10, 11), 512: (8, 9, 10, 11, 12)}


def layers(size: int) -> list[str]:
    """TensorFlow names of the convolutions of the body, in their order."""
    body = [f"conv{b}/conv{b}_{i}" for b, (count, _) in enumerate(VGG, 1) for i in range(1, count + 1)]
    extras = [f"block{b}/conv{k}" for b in EXTRA_BLOCKS[size] for k in ("1x1", "4x4" if b == 12 else "3x3")]
    return [*body, "conv6", "conv7", *extras]


def heads(size: int) -> list[str]:
    return [f"block{b}_box" for b in (4, 7, *EXTRA_BLOCKS[size])]


def caffe_layers(size: int) -> dict[str, str]:
    """TensorFlow's layer -> Caffe's; ssd_keras has the same."""
    named = {}
    for layer in layers(size):
        block, _, rest = layer.partition("/")
        if block in ("conv6", "conv7"):
            named[layer] = "fc" + block[-1]
        elif block.startswith("conv"):
            named[layer] = rest
        else:  # counted on from conv5, two a block
            named[layer] = f"conv{int(block[5:]) - 2}_{1 if rest == 'conv1x1' else 2}"
    maps = ["conv4_3_norm", "fc7", *(f"conv{n}_2" for n in range(6, 6 + len(EXTRA_BLOCKS[size])))]
    for head, of in zip(heads(size), maps, strict=True):
        named |= {f"{head}/conv_loc": f"{of}_mbox_loc", f"{head}/conv_cls": f"{of}_mbox_conf"}
    return named


def ssd_pytorch_layers() -> dict[str, str]:
    """TensorFlow's layer -> ssd.pytorch's. Its body is one list of convolutions, ReLUs and pools."""
    named, place = {}, 0
    for block, (count, _) in enumerate(VGG, 1):
        for i in range(1, count + 1):
            named[f"conv{block}/conv{block}_{i}"] = f"vgg.{place}"
            place += 2  # and its ReLU
        place += 1  # the pool
    named |= {"conv6": f"vgg.{place}", "conv7": f"vgg.{place + 2}"}
    extras = [name for name in layers(300) if name.startswith("block")]
    named |= {layer: f"extras.{i}" for i, layer in enumerate(extras)}
    for i, head in enumerate(heads(300)):
        named |= {f"{head}/conv_loc": f"loc.{i}", f"{head}/conv_cls": f"conf.{i}"}
    return named


def torchvision_layers() -> dict[str, str]:
    """TensorFlow's layer -> torchvision's. Up to conv4_3 as in ssd.pytorch, then blocks of [pool, conv, ReLU, ...]."""
    named = {
        layer: name.replace("vgg", "backbone.features")
        for layer, name in ssd_pytorch_layers().items()
        if layer.startswith(("conv1/", "conv2/", "conv3/", "conv4/"))
    }
    named |= {f"conv5/conv5_{i}": f"backbone.extra.0.{2 * i - 1}" for i in (1, 2, 3)}
    named |= {"conv6": "backbone.extra.0.7.1", "conv7": "backbone.extra.0.7.3"}
    for block in EXTRA_BLOCKS[300]:
        named |= {
            f"block{block}/conv1x1": f"backbone.extra.{block - 7}.0",
            f"block{block}/conv3x3": f"backbone.extra.{block - 7}.2",
        }
    for i, head in enumerate(heads(300)):
        named[f"{head}/conv_loc"] = f"head.regression_head.module_list.{i}"
        named[f"{head}/conv_cls"] = f"head.classification_head.module_list.{i}"
    return named


def seeded_weights(size: int, num_classes: int) -> dict[str, Any]:
    """Seeded variables by their names below the root."""
    return {name.split("/", 1)[1]: values for name, values in seeded.seeded_variables(size, num_classes).items()}


def numbered_weights(size: int, num_classes: int) -> dict[str, Any]:
    """Other numbers in each place of each variable, and quicker to make."""
    shapes = seeded.variable_shapes(size, num_classes)
    return {
        name.split("/", 1)[1]: (np.arange(np.prod(shape), dtype=np.float32) + i).reshape(shape)
        for i, (name, shape) in enumerate(shapes.items())
    }


def few(weights: dict[str, Any]) -> dict[str, Any]:
    """Of whole weights the first kernel, a head, a bias and the scale: all roles, little to read."""
    wanted = ("conv1/conv1_1/", "block11_box/conv_cls/", "block4_box/L2Normalization/gamma")
    return {name: values for name, values in weights.items() if name.startswith(wanted)}


def oihw(kernel: Any, *, bgr: bool = False) -> Any:
    """A HWIO kernel as Caffe and PyTorch keep it; `bgr` reverses its inputs."""
    moved = np.moveaxis(kernel, (3, 2, 0, 1), (0, 1, 2, 3))
    return np.ascontiguousarray(moved[:, ::-1] if bgr else moved)


def native_tensors(
    weights: dict[str, Any], named: dict[str, str], suffixes: tuple[str, str], gamma: str, *, bgr: bool, moved: bool
) -> dict[str, Any]:
    """Our weights under a port's names and in its layout."""
    tensors = {}
    for name, values in weights.items():
        layer, _, role = name.rpartition("/")
        if role == "gamma":
            tensors[gamma] = values
            continue
        flip = bgr and name == "conv1/conv1_1/weights"
        if values.ndim == 4:
            values = oihw(values, bgr=flip) if moved else np.ascontiguousarray(values[:, :, ::-1] if flip else values)
        tensors[named[layer] + suffixes[role == "biases"]] = values
    return tensors


def caffe_tensors(weights: dict[str, Any], size: int) -> dict[str, Any]:
    return native_tensors(weights, caffe_layers(size), ("/0", "/1"), "conv4_3_norm/0", bgr=True, moved=True)


def keras_tensors(weights: dict[str, Any], size: int) -> dict[str, Any]:
    names = caffe_layers(size)
    return native_tensors(weights, names, ("/kernel", "/bias"), "conv4_3_norm/gamma", bgr=True, moved=False)


def ssd_pytorch_tensors(weights: dict[str, Any], *, bgr: bool = False) -> dict[str, Any]:
    names = ssd_pytorch_layers()
    return native_tensors(weights, names, (".weight", ".bias"), "L2Norm.weight", bgr=bgr, moved=True)


def torchvision_tensors(weights: dict[str, Any]) -> dict[str, Any]:
    names = torchvision_layers()
    return native_tensors(weights, names, (".weight", ".bias"), "backbone.scale_weight", bgr=False, moved=True)
