"""SSD300 and SSD512 as Caffe's `deploy.prototxt`, written out layer by layer.

Sources: Liu et al. 2016; `model_libs.py`, `ssd_pascal.py` and `ssd_coco.py` of the Caffe release.
"""

from collections.abc import Iterator, Sequence

_POOLS = {"conv1_2": "pool1", "conv2_2": "pool2", "conv3_3": "pool3", "conv4_3": "pool4", "conv5_3": "pool5"}
_VGG = [(1, 64, 2), (2, 128, 2), (3, 256, 3), (4, 512, 3), (5, 512, 3)]
_STEPS = {300: (8, 16, 32, 64, 100, 300), 512: (8, 16, 32, 64, 128, 256, 512)}
_NUM_CLASSES = 21


def deploy(size: int, min_sizes: Sequence[float]) -> str:
    """The whole network for one picture; its output `detection_out` is the recipe's, `detection_out_all` has no limit.

    Args:
        size: 300 or 512.
        min_sizes: side of each map's small square anchor in pixels, and one more.
    """
    head = f'name: "SSD{size}"\ninput: "data"\ninput_shape {{ dim: 1 dim: 3 dim: {size} dim: {size} }}\n'
    return head + "".join([*_vgg(), *_extra(size), *_heads(size, min_sizes), *_output()])


def _layer(name: str, kind: str, bottoms: Sequence[str], parameters: str = "", top: str | None = None) -> str:
    joined = "".join(f' bottom: "{bottom}"' for bottom in bottoms)
    return f'layer {{ name: "{name}" type: "{kind}"{joined} top: "{top or name}" {parameters} }}\n'


def _conv(
    name: str, bottom: str, channels: int, kernel: int, *, pad: int = 0, stride: int = 1, dilation: int = 1
) -> str:
    shape = f"num_output: {channels} kernel_size: {kernel} pad: {pad} stride: {stride} dilation: {dilation}"
    return _layer(name, "Convolution", [bottom], f"convolution_param {{ {shape} }}")


def _relu_conv(name: str, bottom: str, channels: int, kernel: int, **shape: int) -> str:
    return _conv(name, bottom, channels, kernel, **shape) + _layer(f"{name}_relu", "ReLU", [name], top=name)


def _vgg() -> Iterator[str]:
    bottom = "data"
    for block, channels, repeats in _VGG:
        for i in range(1, repeats + 1):
            name = f"conv{block}_{i}"
            yield _relu_conv(name, bottom, channels, 3, pad=1)
            bottom = name
        pool = _POOLS[bottom]
        shape = "kernel_size: 3 stride: 1 pad: 1" if block == 5 else "kernel_size: 2 stride: 2"
        yield _layer(pool, "Pooling", [bottom], f"pooling_param {{ pool: MAX {shape} }}")
        bottom = pool
    yield _relu_conv("fc6", bottom, 1024, 3, pad=6, dilation=6)
    yield _relu_conv("fc7", "fc6", 1024, 1)


def _extra(size: int) -> Iterator[str]:
    shrinking = (6, 7) if size == 300 else (6, 7, 8, 9)
    bottom = "fc7"
    for block, between, channels in [(6, 256, 512), (7, 128, 256), (8, 128, 256), (9, 128, 256)]:
        yield _relu_conv(f"conv{block}_1", bottom, between, 1)
        bottom = f"conv{block}_2"
        shrinks = block in shrinking
        yield _relu_conv(bottom, f"conv{block}_1", channels, 3, pad=int(shrinks), stride=1 + shrinks)
    if size == 512:
        yield _relu_conv("conv10_1", bottom, 128, 1)
        yield _relu_conv("conv10_2", "conv10_1", 256, 4, pad=1)


def _heads(size: int, min_sizes: Sequence[float]) -> Iterator[str]:
    scale = 'norm_param { across_spatial: false channel_shared: false scale_filler { type: "constant" value: 20 } }'
    yield _layer("conv4_3_norm", "Normalize", ["conv4_3"], scale)
    sources = ["conv4_3_norm", "fc7", "conv6_2", "conv7_2", "conv8_2", "conv9_2", "conv10_2"][: len(_STEPS[size])]
    for k, source in enumerate(sources):
        many = 1 <= k < len(sources) - 2  # these maps have ratios 3 and 1/3 too
        yield from _head(source, 6 if many else 4)
        ratios = "aspect_ratio: 2 aspect_ratio: 3" if many else "aspect_ratio: 2"
        sides = f"min_size: {min_sizes[k]} max_size: {min_sizes[k + 1]}"
        rest = f"flip: true clip: false step: {_STEPS[size][k]} offset: 0.5"
        variances = "variance: 0.1 variance: 0.1 variance: 0.2 variance: 0.2"
        prior = f"prior_box_param {{ {sides} {ratios} {rest} {variances} }}"
        yield _layer(f"{source}_mbox_priorbox", "PriorBox", [source, "data"], prior)
    for kind, axis in [("loc", 1), ("conf", 1), ("priorbox", 2)]:
        suffix = "" if kind == "priorbox" else "_flat"
        parts = [f"{source}_mbox_{kind}{suffix}" for source in sources]
        yield _layer(f"mbox_{kind}", "Concat", parts, f"concat_param {{ axis: {axis} }}")


def _head(source: str, per_cell: int) -> Iterator[str]:
    for kind, numbers in [("loc", 4), ("conf", _NUM_CLASSES)]:
        name = f"{source}_mbox_{kind}"
        yield _conv(name, source, per_cell * numbers, 3, pad=1)
        order = "permute_param { order: 0 order: 2 order: 3 order: 1 }"
        yield _layer(f"{name}_perm", "Permute", [name], order)
        yield _layer(f"{name}_flat", "Flatten", [f"{name}_perm"], "flatten_param { axis: 1 }")


def _output() -> Iterator[str]:
    shape = f"reshape_param {{ shape {{ dim: 0 dim: -1 dim: {_NUM_CLASSES} }} }}"
    yield _layer("mbox_conf_reshape", "Reshape", ["mbox_conf"], shape)
    yield _layer("mbox_conf_softmax", "Softmax", ["mbox_conf_reshape"], "softmax_param { axis: 2 }")
    yield _layer("mbox_conf_flatten", "Flatten", ["mbox_conf_softmax"], "flatten_param { axis: 1 }")
    yield _detection_output("detection_out", 200)
    yield _detection_output("detection_out_all", 20 * 400)  # as many as there can be; OpenCV takes no -1


def _detection_output(name: str, keep_top_k: int) -> str:
    selection = f"num_classes: {_NUM_CLASSES} share_location: true background_label_id: 0 confidence_threshold: 0.01"
    suppression = f"nms_param {{ nms_threshold: 0.45 top_k: 400 }} code_type: CENTER_SIZE keep_top_k: {keep_top_k}"
    bottoms = ["mbox_loc", "mbox_conf_flatten", "mbox_priorbox"]
    return _layer(name, "DetectionOutput", bottoms, f"detection_output_param {{ {selection} {suppression} }}")
