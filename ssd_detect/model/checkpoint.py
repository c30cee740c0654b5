"""Reading a checkpoint: weights by name, and all that is known or assumed about them."""

import hashlib
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import safetensors
import tensorflow as tf

from ssd_detect.arrays import Floats
from ssd_detect.boxes.anchors import ANCHOR_PRESETS
from ssd_detect.classes import CLASS_LISTS, class_list_for
from ssd_detect.conventions import ResizeRule
from ssd_detect.errors import CheckpointError, SettingError
from ssd_detect.model.locate import FoundCheckpoint, locate, tensorflow_prefix
from ssd_detect.model.manifest import manifest
from ssd_detect.model.spec import MEAN_RGB, ModelSpec, network, variable_shapes
from ssd_detect.settings import CheckpointSettings

_FIRST_KERNEL = "/conv1/conv1_1/weights"
_SCALE_SUFFIX = "/scale"


@dataclass(frozen=True)
class Checkpoint:
    """Weights in memory and what they belong to.

    Args:
        name: the manifest's name, or the file's.
        sha256: of the file; of a TensorFlow checkpoint, of its index and data files one after the other.
        spec: what the network is.
        assumed: facts that neither the file nor the manifest nor the user told, in words; empty when all is known.
        variables: name below the root scope -> float32 array.
    """

    name: str
    sha256: str
    spec: ModelSpec
    assumed: tuple[str, ...]
    variables: Mapping[str, Floats]


class _Tensors(NamedTuple):
    """What a file holds, whatever its format."""

    shapes: Mapping[str, tuple[int, ...]]
    read: Callable[[str], Any]
    metadata: Mapping[str, str]


def load_checkpoint(settings: CheckpointSettings) -> Checkpoint:
    """Find, read and check a checkpoint.

    Optimiser slots, `global_step` and other extra variables are ignored.

    Raises:
        CheckpointError: none found, damaged, or of another network; a missing or misshapen variable is named.
        SettingError: anchors or class names that do not fit the checkpoint.
    """
    found = locate(settings.given)
    sha256 = _hash_files(found.files)
    name = _name(settings.given, found, sha256)
    try:
        with _open(found) as tensors:
            root = _root_scope(found.path, tensors.shapes)
            size, num_classes = _recognise(found.path, tensors.shapes, root)
            spec, assumed = _spec(settings, name, tensors.metadata, size, num_classes)
            variables = {
                variable: _read(found.path, tensors, f"{root}/{variable}", shape)
                for variable, shape in _checked_shapes(found.path, tensors.shapes, root, size, num_classes).items()
            }
    except (tf.errors.OpError, IndexError, safetensors.SafetensorError, UnicodeDecodeError) as error:
        reason = str(error).strip().splitlines()[0]
        raise CheckpointError(
            f"{found.path}: damaged or no checkpoint at all ({reason}); copy or download it again"
        ) from error
    return Checkpoint(name, sha256, spec, assumed, variables)


def _hash_files(files: tuple[Path, ...]) -> str:
    digest = hashlib.sha256()
    try:
        for path in files:
            with path.open("rb") as file:
                while block := file.read(1 << 20):
                    digest.update(block)
    except OSError as error:
        raise CheckpointError(f"{path}: cannot read the checkpoint: {error.strerror}") from error
    return digest.hexdigest()


def _name(given: str, found: FoundCheckpoint, sha256: str) -> str:
    """The manifest's name where the file is the manifest's, wherever it lies."""
    entries = manifest()
    wanted = entries[given].sha256 if given in entries else None
    if wanted not in (None, sha256):
        raise CheckpointError(
            f"{found.path}: damaged: its SHA-256 is {sha256[:12]}…, expected {str(wanted)[:12]}…; "
            "install ssd-detect again"
        )
    return next((e.name for e in entries.values() if e.sha256 == sha256), found.path.name)


@contextmanager
def _open(found: FoundCheckpoint) -> Iterator[_Tensors]:
    if found.kind == "safetensors":
        with safetensors.safe_open(found.path, framework="numpy") as file:
            shapes = {name: tuple(file.get_slice(name).get_shape()) for name in file.keys()}  # noqa: SIM118
            yield _Tensors(shapes, file.get_tensor, file.metadata() or {})
        return
    with tensorflow_prefix(found) as prefix:
        reader = tf.compat.v1.train.NewCheckpointReader(prefix)
        shapes = {name: tuple(shape) for name, shape in reader.get_variable_to_shape_map().items()}
        yield _Tensors(shapes, reader.get_tensor, {})


def _root_scope(path: Path, shapes: Mapping[str, tuple[int, ...]]) -> str:
    roots = sorted(name.removesuffix(_FIRST_KERNEL) for name in shapes if name.endswith(_FIRST_KERNEL))
    if len(roots) == 1:
        return roots[0]
    if roots:
        raise CheckpointError(
            f"{path}: holds several networks ({', '.join(roots)}), expected one SSD300-VGG or SSD512-VGG"
        )
    example = f"for example {min(shapes)}" if shapes else "none at all"
    raise CheckpointError(
        f"{path}: a checkpoint of another network: no variable ends in {_FIRST_KERNEL}, expected SSD300-VGG or "
        f"SSD512-VGG; it holds {len(shapes)} variables, {example}"
    )


def _recognise(path: Path, shapes: Mapping[str, tuple[int, ...]], root: str) -> tuple[int, int]:
    """Input size, told by block12, and number of classes, told by the first head's biases."""
    size = 512 if any(name.startswith(f"{root}/block12") for name in shapes) else 300
    name = f"{root}/block4_box/conv_cls/biases"
    per_cell = network(size).heads[0].anchors_per_cell
    shape = shapes.get(name)
    if shape is None:
        raise CheckpointError(f"{path}: variable {name} is missing, expected shape ({per_cell} x number of classes,)")
    if len(shape) != 1 or shape[0] % per_cell or shape[0] < 2 * per_cell:
        raise CheckpointError(f"{path}: variable {name} has shape {shape}, expected ({per_cell} x number of classes,)")
    return size, shape[0] // per_cell


def _checked_shapes(
    path: Path, shapes: Mapping[str, tuple[int, ...]], root: str, size: int, num_classes: int
) -> dict[str, tuple[int, ...]]:
    """The shapes that the network needs; an error when the file's are others."""
    needed = variable_shapes(size, num_classes)
    faults = []
    for name, shape in needed.items():
        actual = shapes.get(f"{root}/{name}")
        if actual is None:
            faults.append(f"{root}/{name} is missing, expected shape {shape}")
        elif actual != shape:
            faults.append(f"{root}/{name} has shape {actual}, expected {shape}")
    if faults:
        more = f" (and {len(faults) - 1} more such faults)" if len(faults) > 1 else ""
        raise CheckpointError(f"{path}: not an SSD{size}-VGG with {num_classes} classes: variable {faults[0]}{more}")
    return needed


def _read(path: Path, tensors: _Tensors, name: str, shape: tuple[int, ...]) -> Floats:
    values = np.asarray(tensors.read(name))
    if values.dtype == np.int8:
        values = values * _scales(path, tensors, name, shape)
    if not (np.issubdtype(values.dtype, np.floating) or values.dtype.name == "bfloat16"):
        raise CheckpointError(f"{path}: variable {name} holds {values.dtype}, expected floating-point numbers")
    result: Floats = values.astype(np.float32, copy=False)
    if not np.isfinite(result).all():
        raise CheckpointError(
            f"{path}: variable {name} holds infinite or undefined numbers: damaged, or a training that diverged"
        )
    return result


def _scales(path: Path, tensors: _Tensors, name: str, shape: tuple[int, ...]) -> Floats:
    """The float32 factor of each output channel of an int8 kernel, stored beside it."""
    expected = shape[-1:]
    actual = tensors.shapes.get(name + _SCALE_SUFFIX)
    if actual != expected:
        found = "is missing" if actual is None else f"has shape {actual}"
        raise CheckpointError(f"{path}: variable {name}{_SCALE_SUFFIX} {found}, expected shape {expected}")
    return np.asarray(tensors.read(name + _SCALE_SUFFIX), np.float32)


def _spec(
    settings: CheckpointSettings, name: str, metadata: Mapping[str, str], size: int, num_classes: int
) -> tuple[ModelSpec, tuple[str, ...]]:
    """What the network is, by the user's word, else the manifest, else the file itself, else the reference's habits."""
    entry = manifest().get(name)
    spec, assumed = (entry.spec, {}) if entry else _spec_from_metadata(metadata, size, num_classes)
    if settings.anchors is not None:
        if ANCHOR_PRESETS[settings.anchors].side != size:
            raise SettingError(f"anchor preset {settings.anchors} does not fit: the checkpoint {name} is an SSD{size}")
        spec = replace(spec, anchors=settings.anchors)
        assumed.pop("anchors", None)
    if settings.class_names is not None:
        spec = replace(spec, class_names=settings.class_names)
        assumed.pop("classes", None)
    if len(spec.class_names) != num_classes:
        raise SettingError(
            f"the checkpoint {name} has {num_classes - 1} classes (without the background), "
            f"its list of class names has {len(spec.class_names) - 1}"
        )
    return spec, tuple(assumed.values())


def _spec_from_metadata(metadata: Mapping[str, str], size: int, num_classes: int) -> tuple[ModelSpec, dict[str, str]]:
    """A spec from a .safetensors file's metadata; what that does not tell is assumed as in the reference port."""
    assumed: dict[str, str] = {}

    def told(key: str, valid: Callable[[str], bool], otherwise: str, words: str) -> str:
        value = metadata.get(key, "")
        if valid(value):
            return value
        assumed[key] = words
        return otherwise

    anchors = f"coco{size}"
    list_name = next((n for n, names in CLASS_LISTS.items() if len(names) == num_classes), "")
    classes = told("classes", CLASS_LISTS.__contains__, list_name, f"class names {list_name or 'class 1, class 2, …'}")
    mean = told("mean_rgb", _is_mean, ",".join(str(v) for v in MEAN_RGB), "mean colour 123,117,104")
    red, green, blue = (float(v) for v in mean.split(","))
    spec = ModelSpec(
        size=size,
        class_names=CLASS_LISTS[classes] if classes else class_list_for(num_classes),
        anchors=told("anchors", lambda v: v in ANCHOR_PRESETS, anchors, f"anchors {anchors}"),
        resize=ResizeRule(told("resize", lambda v: v in set(ResizeRule), "legacy", "resize legacy")),
        mean_rgb=(red, green, blue),
    )
    return spec, assumed


def _is_mean(text: str) -> bool:
    return re.fullmatch(r"\d+(\.\d+)?(,\d+(\.\d+)?){2}", text) is not None
