"""Keras's HDF5 files, written with h5py in the layouts of Keras 1, 2 and 3."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import h5py
import numpy as np


@dataclass(frozen=True)
class Style:
    """What Keras's versions, and people, did in their own ways.

    model: the weights of a whole model; suffix: of the layers' own names, where a model was made twice; keras_1: names
    as `conv1_1_W:0`; split: long lists of names in several attributes; compressed: datasets in chunks, by gzip.
    """

    model: bool = False
    suffix: str = ""
    keras_1: bool = False
    split: bool = False
    compressed: bool = False


NOW = Style()


def weight_name(layer: str, role: str, style: Style) -> str:
    own = layer + style.suffix
    if role == "gamma":
        return f"{own}/{layer}_gamma:0"
    if style.keras_1:
        return f"{layer}/{layer}_{'W' if role == 'kernel' else 'b'}:0"
    return f"{own}/{role}:0"


def _set_names(group: Any, attribute: str, names: list[str], style: Style) -> None:
    encoded = np.array([name.encode() for name in names]) if names else np.zeros(0)
    if not style.split:
        group.attrs[attribute] = encoded
        return
    for i, part in enumerate(np.array_split(encoded, 2)):
        group.attrs[f"{attribute}{i}"] = part


def write_keras(path: Path, tensors: dict[str, Any], style: Style = NOW) -> Path:
    """`layer/kernel`, `layer/bias`, `conv4_3_norm/gamma` -> a file of ssd_keras's."""
    layers: dict[str, dict[str, Any]] = {"input_1": {}}
    for name, values in tensors.items():
        layer, _, role = name.rpartition("/")
        layers.setdefault(layer, {})[role] = values
    with h5py.File(path, "w") as file:
        root = file.create_group("model_weights") if style.model else file
        if style.model:
            file.attrs["model_config"] = b'{"class_name": "Model"}'
            slots = file.create_group("optimizer_weights")
            slots.attrs["weight_names"] = [b"SGD/iterations:0"]
            slots["SGD/iterations:0"] = np.int64(120000)
        root.attrs["keras_version"] = b"2.0.8"
        root.attrs["backend"] = b"tensorflow"
        _set_names(root, "layer_names", list(layers), style)
        for layer, weights in layers.items():
            group = root.create_group(layer)
            names = {weight_name(layer, role, style): values for role, values in weights.items()}
            _set_names(group, "weight_names", list(names), style)
            for name, values in names.items():
                extra: dict[str, Any] = {"compression": "gzip", "chunks": True} if style.compressed else {}
                group.create_dataset(name, data=values, **extra)
    return path


def write_keras_3(path: Path, tensors: dict[str, Any], *, named: bool = True) -> Path:
    """As Keras 3's `save_weights` does; early versions did not name the layers."""
    layers: dict[str, list[Any]] = {}
    for name, values in tensors.items():
        layers.setdefault(name.rpartition("/")[0], []).append(values)
    with h5py.File(path, "w") as file:
        file.create_group("vars")
        for i, (layer, arrays) in enumerate(layers.items()):
            group = file.create_group(f"layers/conv2d_{i}/vars" if i else "layers/conv2d/vars")
            if named:
                group.attrs["name"] = layer
            for number, values in enumerate(arrays):
                group[str(number)] = values
        file.create_group("layers/input_layer/vars")
        file.create_group("optimizer/vars")["0"] = np.int64(7)
    return path
