#!/usr/bin/env python3
"""The seeded weights as a `.caffemodel`, by code that shares nothing with the program's reader.

    PYTHONPATH=tests/golden python scripts/parity/caffe_weights.py 300 OUT.caffemodel

Field numbers: `caffe.proto` of the Caffe release. Needs NumPy alone.
"""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import seeded

_BYTES = 2  # wire type of strings, messages and packed numbers
_NET_NAME, _NET_LAYER = 1, 100
_LAYER_NAME, _LAYER_TYPE, _LAYER_BLOBS = 1, 2, 7
_BLOB_DATA, _BLOB_SHAPE, _SHAPE_DIM = 5, 7, 1

# Where each head of ours sits in the Caffe release, by block.
_SOURCES = {
    "block4": "conv4_3_norm",
    "block7": "fc7",
    "block8": "conv6_2",
    "block9": "conv7_2",
    "block10": "conv8_2",
    "block11": "conv9_2",
    "block12": "conv10_2",
}


def caffe_layer(scope: str) -> str:
    """Caffe's name of the layer that the TensorFlow port calls `scope`, such as `block8/conv3x3`."""
    block, _, layer = scope.partition("/")
    if block.endswith("_box"):
        source = _SOURCES[block.removesuffix("_box")]
        return (
            source
            if layer == "L2Normalization"
            else source + {"conv_loc": "_mbox_loc", "conv_cls": "_mbox_conf"}[layer]
        )
    if block.startswith("block"):  # block8 is conv6_1 and conv6_2
        return f"conv{int(block.removeprefix('block')) - 2}_{1 if layer == 'conv1x1' else 2}"
    return {"conv6": "fc6", "conv7": "fc7"}.get(block) or layer


def caffe_blobs(size: int) -> dict[str, list[Any]]:
    """Caffe layer -> its blobs in Caffe's layout: kernels OIHW, those of the first layer for BGR pictures."""
    blobs: dict[str, list[Any]] = {}
    for name, values in seeded.seeded_variables(size).items():
        scope = name.removeprefix(f"ssd_{size}_vgg/").rpartition("/")[0]
        if name.endswith("/weights"):
            values = (values[:, :, ::-1] if scope == "conv1/conv1_1" else values).transpose(3, 2, 0, 1)
        blobs.setdefault(caffe_layer(scope), []).append(values)  # weights come before biases
    return blobs


def _varint(number: int) -> bytes:
    groups = []
    while number > 127:
        groups.append(number % 128 + 128)
        number //= 128
    return bytes([*groups, number])


def _message(field: int, content: bytes) -> bytes:
    return _varint(field << 3 | _BYTES) + _varint(len(content)) + content


def _blob(values: Any) -> bytes:
    dims = _message(_SHAPE_DIM, b"".join(map(_varint, values.shape)))
    return _message(_BLOB_DATA, values.astype("<f4").tobytes()) + _message(_BLOB_SHAPE, dims)


def _layer(name: str, blobs: list[Any]) -> bytes:
    kind = "Normalize" if name == "conv4_3_norm" else "Convolution"
    head = _message(_LAYER_NAME, name.encode()) + _message(_LAYER_TYPE, kind.encode())
    return head + b"".join(_message(_LAYER_BLOBS, _blob(values)) for values in blobs)


def caffemodel(size: int) -> Iterator[bytes]:
    """The file, in pieces."""
    yield _message(_NET_NAME, f"VGG_VOC0712_SSD_{size}x{size}".encode())
    for name, blobs in caffe_blobs(size).items():
        yield _message(_NET_LAYER, _layer(name, blobs))


def main() -> None:
    size, path = int(sys.argv[1]), Path(sys.argv[2])
    with path.open("wb") as file:
        file.writelines(caffemodel(size))


if __name__ == "__main__":
    main()
