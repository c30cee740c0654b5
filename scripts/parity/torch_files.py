"""Small files in every dress that PyTorch gives to weights, and the values in them.

The reader of `.pth` files is tested against these, since PyTorch itself wrote them. `expected.npz` beside them holds
`FILE/NAME` -> values; bfloat16 is kept as float32 there, which holds each of its numbers.
"""

# mypy: disable-error-code="import-not-found"
# PyTorch has an environment of its own; see `scripts/parity/torch`.

import warnings
from collections import OrderedDict
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn


def write_files(folder: Path) -> None:
    """Write the files and `expected.npz` into `folder`, over those that are there."""
    folder.mkdir(parents=True, exist_ok=True)
    state, parallel, training = _every_kind(), nn.DataParallel(_layer(1)).state_dict(), _training()
    torch.save(state, folder / "zip.pth")
    torch.save(state, folder / "legacy.pth", _use_new_zipfile_serialization=False)
    torch.save(parallel, folder / "data_parallel.pth")
    torch.save(training, folder / "nested.pth")
    states = {"zip": state, "legacy": state, "data_parallel": parallel, "nested": training["state_dict"]}
    arrays = {f"{file}.pth/{name}": _as_numpy(v) for file, held in states.items() for name, v in held.items()}
    np.savez_compressed(folder / "expected.npz", **arrays)
    _write_others(folder)


def _write_others(folder: Path) -> None:
    """Files that are more than tensors, or than the bytes in them."""
    torch.save(_layer(3), folder / "whole_module.pth")
    torch.save({"expanded": torch.ones(1).expand(2, 3)}, folder / "expanded.pth")
    program = nn.Module()  # without a method: TorchScript stores source text and paths of all that it compiles
    program.weight = nn.Parameter(torch.ones(2, 3))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # TorchScript is no longer recommended, but such files are about
        torch.jit.save(torch.jit.script(program), folder / "script.pt")


def _every_kind() -> "OrderedDict[str, Any]":
    """Each element type, and each way in which a tensor can lie in its storage."""
    values = torch.arange(24, dtype=torch.float32) / 7 - 1
    shared = torch.arange(12, dtype=torch.float32) * 0.5
    return OrderedDict(
        {
            "float32": values.reshape(2, 3, 4).clone(),
            "float16": values.half(),
            "bfloat16": values.bfloat16(),
            "float64": values.double().reshape(4, 6),
            "int64_scalar": torch.tensor(-120000),
            "int32": torch.tensor([-1, 2**31 - 1], dtype=torch.int32),
            "uint8": torch.tensor([0, 255], dtype=torch.uint8),
            "bool": torch.tensor([True, False, True]),
            "empty": torch.empty(0, 3),
            "parameter": nn.Parameter(values[:5].clone()),
            "shared_whole": shared,
            "shared_middle": shared[3:9].reshape(2, 3),
            "transposed": values.reshape(4, 6).t(),
            "every_other": values.reshape(4, 6).clone()[::2, 1::2],
            "channels_last": values.reshape(1, 2, 3, 4).clone().to(memory_format=torch.channels_last),
        }
    )


def _training() -> dict[str, Any]:
    """What a training program keeps: weights beside an optimiser's state and plain values."""
    layer = _layer(2)
    optimizer = torch.optim.SGD(layer.parameters(), lr=0.1, momentum=0.9)
    layer(torch.ones(1, 2, 3, 3)).sum().backward()
    weights = {name: values.clone() for name, values in layer.state_dict().items()}
    optimizer.step()
    return {"epoch": 3, "best": 0.774, "arch": "ssd300", "state_dict": weights, "optimizer": optimizer.state_dict()}


def _layer(seed: int) -> Any:
    """A small convolution with seeded weights."""
    layer = nn.Conv2d(2, 3, kernel_size=3)
    random = np.random.RandomState(seed)
    with torch.no_grad():
        for values in (layer.weight, layer.bias):
            values.copy_(torch.from_numpy(random.standard_normal(values.shape).astype(np.float32)))
    return layer


def _as_numpy(values: Any) -> Any:
    return (values.float() if values.dtype == torch.bfloat16 else values).detach().numpy()
