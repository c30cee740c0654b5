"""Runs in a process of its own: reads one HDF5 file of Keras and leaves its tensors where `keras` finds them.

libhdf5 is written for files that one trusts: damaged ones can crash it, keep it busy for ever, or make it ask for all
memory. Nothing outside the file is followed: no external link or storage, no virtual dataset, no filter plugin.
Sources: Keras 2's `engine/saving.py`, Keras 3's `legacy_h5_format.py` and `saving_lib.py`.
"""

import json
import math
import re
import sys
from collections.abc import Iterator
from itertools import count, takewhile
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from ssd_detect.model.readers.faults import DamagedError, RefusedError

_INDEX = "index.json"
_TENSORS = "tensors"
MAX_GROWTH = 4
"""Compressed datasets may be this many times the file; weights hardly shrink."""

_ALLOWANCE = 2**20
_MAX_NAMES = 10_000
_MAX_DEPTH = 12
_ROLE = re.compile(r"(?:^|_)(kernel|bias|gamma|W|b)(?:_\d+)?(?::0)?$")
_OLD_ROLES = {"W": "kernel", "b": "bias"}  # Keras 1


def main() -> None:
    """For the arguments path, folder, seconds: write `tensors`, all numbers in a row, and `index.json` into the folder.

    `index.json` is JSON: what kind of file, what each tensor is and where in the row; or what is wrong.
    """
    path, folder, seconds = sys.argv[1:]
    size = Path(path).stat().st_size
    _limit_this_process(int(seconds), more_memory=2 * size + 2**28)
    try:
        told = _dumped(path, Path(folder) / _TENSORS, MAX_GROWTH * size + _ALLOWANCE)
    except RefusedError as error:
        told = {"refused": str(error)}
    except Exception as error:  # h5py raises nearly every kind
        told = {"damaged": str(error) or type(error).__name__}
    (Path(folder) / _INDEX).write_text(json.dumps(told), encoding="utf-8")


def _dumped(path: str, target: Path, most: int) -> dict[str, Any]:
    tensors: dict[str, Any] = {}
    start = 0
    with h5py.File(path, "r") as file, target.open("wb") as out:
        container, named = _layout(file)
        for name, dataset in named:
            if name in tensors or len(tensors) >= _MAX_NAMES:
                raise DamagedError(f"two tensors called {name[:100]}, or too many")
            element_type = _element_type(name, dataset)
            size = math.prod(dataset.shape) * element_type.itemsize
            if start + size > most:
                raise DamagedError(f"tensors of more than {most:,} bytes, {MAX_GROWTH} times the file's own")
            out.write(np.asarray(dataset[()], element_type).tobytes())
            tensors[name] = {"shape": dataset.shape, "dtype": element_type.name, "start": start}
            start += size
        return {"container": container, "metadata": _metadata(file), "tensors": tensors}


def _layout(file: h5py.File) -> tuple[str, Iterator[tuple[str, h5py.Dataset]]]:
    """What kind of file this is, and its tensors by our names: `layer/kernel`, `layer/bias`, `layer/gamma`."""
    root = _root(file)
    if "layer_names" in root.attrs or "layer_names0" in root.attrs:
        return "Keras HDF5 file", _of_named_layers(root)
    if _link(file, "layers") is not None:
        return "Keras 3 weights", _of_numbered_layers(_inside(file, "layers"))
    raise RefusedError("an HDF5 file, but not of Keras's weights: it has neither layer_names nor layers")


def _root(file: h5py.File) -> h5py.Group:
    """Where the network's own tensors are: whole models have a group for them."""
    return file if _link(file, "model_weights") is None else _inside(file, "model_weights")


def _of_named_layers(root: h5py.Group) -> Iterator[tuple[str, h5py.Dataset]]:
    """Layout of Keras 1 and 2, and of Keras 3's `.h5`: a group for each layer, which says where its tensors are."""
    for layer in _names(root, "layer_names"):
        group = _inside(root, layer)
        weights = _names(group, "weight_names")
        roles = [_role(weight) for weight in weights]
        nested = len(set(roles)) < len(roles)  # a model as a layer: then each tensor's own path names its layer
        for weight, role in zip(weights, roles, strict=True):
            owner = weight.rpartition("/")[0].rpartition("/")[2] if nested else layer
            yield f"{owner}/{role}", _dataset(group, weight)


def _role(weight: str) -> str:
    last = weight.rpartition("/")[2]
    match = _ROLE.search(last)
    return _OLD_ROLES.get(match.group(1), match.group(1)) if match else last.removesuffix(":0")


def _of_numbered_layers(group: h5py.Group, depth: int = 0) -> Iterator[tuple[str, h5py.Dataset]]:
    """Layout of Keras 3's `.weights.h5`: groups named after classes, in which `vars` names the layer."""
    if depth > _MAX_DEPTH:
        raise DamagedError("groups in groups without an end")
    for key in group:
        inner = _inside(group, key)
        if isinstance(inner, h5py.Group):
            yield from _variables(inner) if key == "vars" else _of_numbered_layers(inner, depth + 1)


def _variables(group: h5py.Group) -> Iterator[tuple[str, h5py.Dataset]]:
    """A convolution's kernel and bias, a normalisation's only vector; what others have keeps its number."""
    if len(group) == 0:
        return
    if "name" not in group.attrs:
        raise RefusedError("weights of an early Keras 3, which do not name their layers; save the model as .h5 with it")
    layer, found = str(group.attrs["name"]), {key: _dataset(group, key) for key in group}
    axes = {key: len(dataset.shape) for key, dataset in found.items()}
    if axes in ({"0": 4, "1": 1}, {"0": 4}):
        roles = {"0": "kernel", "1": "bias"}
    else:
        roles = {"0": "gamma"} if axes == {"0": 1} else {}
    yield from ((f"{layer}/{roles.get(key, key)}", dataset) for key, dataset in found.items())


def _names(group: h5py.Group, attribute: str) -> list[str]:
    """A list of names, which Keras splits into `attribute0`, `attribute1`, ... where it is long."""
    parts = [attribute]
    if attribute not in group.attrs:
        parts = list(takewhile(group.attrs.__contains__, (f"{attribute}{i}" for i in count())))
    names: list[str] = []
    for part in parts:
        if math.prod(group.attrs.get_id(part).shape) > _MAX_NAMES:
            raise DamagedError(f"more than {_MAX_NAMES:,} names in {part}")
        names += [n.decode("utf-8") if isinstance(n, bytes) else str(n) for n in np.ravel(group.attrs[part])]
    return names


def _inside(group: h5py.Group, path: str) -> Any:
    """What is at this path, if all the way is in this file."""
    for name in filter(None, path.split("/")):
        link = _link(group, name)
        if link is None:
            raise DamagedError(f"{path[:100]} is missing")
        if link != h5py.h5l.TYPE_HARD:
            raise RefusedError(f"its {path[:100]} is a link to elsewhere, expected the weights themselves")
        group = group[name]
    return group


def _link(group: h5py.Group, name: str) -> int | None:
    """The kind of link that this name is, which is not followed; None where there is no such name."""
    links, key = group.id.links, name.encode()
    return int(links.get_info(key).type) if links.exists(key) else None


def _dataset(group: h5py.Group, path: str) -> h5py.Dataset:
    found = _inside(group, path)
    if not isinstance(found, h5py.Dataset) or found.shape is None:
        raise DamagedError(f"{path[:100]} is no array of numbers")
    if found.external or found.is_virtual:
        raise RefusedError(f"the numbers of {path[:100]} are in another file, expected them in this one")
    return found


def _element_type(name: str, dataset: h5py.Dataset) -> "np.dtype[Any]":
    element_type = np.dtype(dataset.dtype)
    if element_type.kind not in "fiub" or element_type.itemsize > 8:
        raise DamagedError(f"{name[:100]} is no array of numbers")
    native: np.dtype[Any] = element_type.newbyteorder("=")
    return native


def _metadata(file: h5py.File) -> dict[str, str]:
    """Versions, and how many tensors of an optimiser are here but not read."""
    root = _root(file)
    told = {key: _text(root.attrs[key]) for key in ("keras_version", "backend") if key in root.attrs}
    if _link(file, "optimizer_weights") is not None:
        told["optimizer_weights"] = str(len(_names(_inside(file, "optimizer_weights"), "weight_names")))
    return told


def _text(value: Any) -> str:
    return (value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value))[:100]


def _limit_this_process(cpu_seconds: int, more_memory: int) -> None:
    """From now on at most so many seconds of computing and so many more bytes of memory, and no core file.

    Windows has no such limits. macOS does not keep the one on memory, so that it is not set there.
    """
    if sys.platform == "win32":
        return
    import resource

    wanted = {resource.RLIMIT_CORE: 0, resource.RLIMIT_CPU: cpu_seconds}
    pages = Path("/proc/self/statm")
    if pages.exists():
        used = int(pages.read_text(encoding="ascii").split()[0]) * resource.getpagesize()
        wanted[resource.RLIMIT_AS] = used + more_memory
    for what, value in wanted.items():
        hard = resource.getrlimit(what)[1]
        resource.setrlimit(what, (value if hard == resource.RLIM_INFINITY else min(value, hard), hard))
