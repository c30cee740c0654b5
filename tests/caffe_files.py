"""Caffe's files, written byte by byte after the protobuf encoding's description."""

import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np


def varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def number(field: int, value: int) -> bytes:
    return varint(field << 3) + varint(value)


def part(field: int, content: bytes) -> bytes:
    """A text, a message, or packed numbers."""
    return varint(field << 3 | 2) + varint(len(content)) + content


@dataclass(frozen=True)
class Style:
    """What Caffe's versions did in their own ways.

    old_layers: V1LayerParameter, which was written until 2015; old_shape: num, channels, height, width;
    packed: numbers in one field; double: of 64 bits; diff: the gradients are there too.
    """

    old_layers: bool = False
    old_shape: bool = False
    packed: bool = True
    double: bool = False
    diff: bool = False


NOW = Style()


def blob(values: Any, style: Style = NOW) -> bytes:
    values = np.asarray(values, "<f8" if style.double else "<f4")
    if style.old_shape:
        axes = (1,) * (4 - values.ndim) + values.shape
        shape = b"".join(number(i, size) for i, size in enumerate(axes, 1))
    else:
        shape = part(7, part(1, b"".join(varint(size) for size in values.shape)))
    field = 8 if style.double else 5
    if style.packed:
        data = part(field, values.tobytes())
    else:
        tag = varint(field << 3 | (1 if style.double else 5))
        data = b"".join(tag + struct.pack("<d" if style.double else "<f", v) for v in values.ravel().tolist())
    return shape + data + (part(6, values.tobytes()) if style.diff else b"")


def layer(name: str, blobs: list[bytes], style: Style = NOW, kind: str = "Convolution") -> bytes:
    """One entry of a NetParameter, with names of inputs and outputs and a ParamSpec as Caffe writes them."""
    if style.old_layers:
        content = part(2, b"data") + part(3, name.encode()) + part(4, name.encode()) + number(5, 4)
        return part(2, content + b"".join(part(6, b) for b in blobs))
    spec = part(6, varint(3 << 3 | 5) + struct.pack("<f", 1.0))
    content = part(1, name.encode()) + part(2, kind.encode()) + part(3, b"data") + part(4, name.encode()) + spec
    return part(100, content + b"".join(part(7, b) for b in blobs) + number(10, 0))


def network(tensors: dict[str, Any], style: Style = NOW) -> bytes:
    """`layer/0`, `layer/1` -> a NetParameter; with layers that have no weights among them."""
    layers: dict[str, list[bytes]] = {}
    for name, values in tensors.items():
        layers.setdefault(name.rpartition("/")[0], []).append(blob(values, style))
    parts = [part(1, b"VGG_VOC0712_SSD_300x300_train"), layer("data", [], style, "AnnotatedData")]
    for name, blobs in layers.items():
        parts += [layer(name, blobs, style), layer(f"{name}_relu", [], style, "ReLU")]
    return b"".join(parts)


def write_caffe(path: Path, tensors: dict[str, Any], style: Style = NOW) -> Path:
    path.write_bytes(network(tensors, style))
    return path
