#!/usr/bin/env python3
"""Seeded weights as a file of ssd.pytorch or of torchvision, written without PyTorch.

    torch_weights.py ssd-pytorch OUT.pth       21 classes
    torch_weights.py torchvision OUT.pth       91 classes

The tables of names are this script's own, made from the module trees of both programs, so that they prove those of
`ssd_detect.model.naming` rather than repeat them. The file is laid out as `torch.save` does it since PyTorch 1.6.
"""

import struct
import sys
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests" / "golden"))

import seeded

VGG = [f"conv{block}/conv{block}_{i}" for block, n in enumerate((2, 2, 3, 3, 3), 1) for i in range(1, n + 1)]
EXTRAS = [f"block{block}/conv{k}x{k}" for block in (8, 9, 10, 11) for k in (1, 3)]
BODY = [*VGG, "conv6", "conv7", *EXTRAS]
HEADS = [f"block{block}_box" for block in (4, 7, 8, 9, 10, 11)]

SSD_PYTORCH = {
    **dict(
        zip(
            BODY,
            [f"vgg.{i}" for i in (0, 2, 5, 7, 10, 12, 14, 17, 19, 21, 24, 26, 28, 31, 33)]
            + [f"extras.{i}" for i in range(8)],
            strict=True,
        )
    ),
    "block4_box/L2Normalization/gamma": "L2Norm.weight",
    **{f"{head}/conv_loc": f"loc.{k}" for k, head in enumerate(HEADS)},
    **{f"{head}/conv_cls": f"conf.{k}" for k, head in enumerate(HEADS)},
}

TORCHVISION = {
    **dict(
        zip(
            BODY,
            [f"backbone.features.{i}" for i in (0, 2, 5, 7, 10, 12, 14, 17, 19, 21)]
            + [f"backbone.extra.0.{i}" for i in ("1", "3", "5", "7.1", "7.3")]
            + [f"backbone.extra.{k}.{i}" for k in (1, 2, 3, 4) for i in (0, 2)],
            strict=True,
        )
    ),
    "block4_box/L2Normalization/gamma": "backbone.scale_weight",
    **{f"{head}/conv_loc": f"head.regression_head.module_list.{k}" for k, head in enumerate(HEADS)},
    **{f"{head}/conv_cls": f"head.classification_head.module_list.{k}" for k, head in enumerate(HEADS)},
}


def seeded_state(names: Mapping[str, str], num_classes: int) -> dict[str, Any]:
    """PyTorch's name -> float32 array of the seeded SSD300, kernels OIHW.

    Args:
        names: `SSD_PYTORCH` or `TORCHVISION`.
        num_classes: with the background.
    """
    state: dict[str, Any] = {}
    for full_name, values in seeded.seeded_variables(300, num_classes).items():
        name = full_name.removeprefix("ssd_300_vgg/")
        if name.endswith("gamma"):
            state[names[name]] = values
        elif name.endswith("/weights"):
            state[f"{names[name.removesuffix('/weights')]}.weight"] = np.ascontiguousarray(values.transpose(3, 2, 0, 1))
        else:
            state[f"{names[name.removesuffix('/biases')]}.bias"] = values
    return state


def seeded_pictures() -> list[Any]:
    """(H, W, 3) uint8 RGB each."""
    return [seeded.seeded_picture(*shape) for shape in seeded.PICTURES]


STATES = {"ssd-pytorch": (SSD_PYTORCH, 21), "torchvision": (TORCHVISION, 91)}
"""Program -> its names, its number of classes."""


def write_pth(path: Path, state: Mapping[str, Any]) -> None:
    """Write float32 arrays as `torch.save` would a state dict: a ZIP, nothing compressed, one entry a storage."""
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("archive/data.pkl", _pickled(state))
        archive.writestr("archive/byteorder", "little")
        for key, values in enumerate(state.values()):
            archive.writestr(f"archive/data/{key}", values.astype("<f4").tobytes())
        archive.writestr("archive/version", "3\n")


def _pickled(state: Mapping[str, Any]) -> bytes:
    """The state dict in pickle's protocol 2; the storages are named only."""
    items = b"".join(_text(name) + _tensor(key, values) for key, (name, values) in enumerate(state.items()))
    return b"\x80\x02" + _EMPTY_DICT + b"(" + items + b"u."


_EMPTY_DICT = b"ccollections\nOrderedDict\n)R"


def _tensor(key: int, values: Any) -> bytes:
    strides = [step // values.itemsize for step in values.strides]
    storage = _text("storage") + b"ctorch\nFloatStorage\n" + _text(str(key)) + _text("cpu") + _number(values.size)
    place = _number(0) + _numbers(values.shape) + _numbers(strides)
    return b"ctorch._utils\n_rebuild_tensor_v2\n((" + storage + b"tQ" + place + b"\x89" + _EMPTY_DICT + b"tR"


def _text(text: str) -> bytes:
    return b"X" + struct.pack("<I", len(text)) + text.encode()


def _number(value: int) -> bytes:
    return b"J" + struct.pack("<i", value)


def _numbers(values: Any) -> bytes:
    return b"(" + b"".join(_number(v) for v in values) + b"t"


if __name__ == "__main__":
    write_pth(Path(sys.argv[2]), seeded_state(*STATES[sys.argv[1]]))
