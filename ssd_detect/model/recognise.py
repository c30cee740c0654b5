"""Which network the tensors of a file are: told by their names and shapes, before any of them is read."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from ssd_detect.conventions import Source
from ssd_detect.counting import counted
from ssd_detect.errors import CheckpointError
from ssd_detect.model import naming
from ssd_detect.model.foreign import foreign_network
from ssd_detect.model.spec import network, variable_shapes

Shapes = Mapping[str, tuple[int, ...]]


@dataclass(frozen=True)
class Recognised:
    """An SSD-VGG in a file.

    Args:
        source: whose names and layout its tensors have.
        size: 300 or 512.
        num_classes: background included.
        names: our name below the root -> name in the file, of every variable of the network.
    """

    source: Source
    size: int
    num_classes: int
    names: Mapping[str, str]


def recognise(path: Path, shapes: Shapes) -> Recognised:
    """The network whose tensors have these shapes; all that it needs is there, in the right shape.

    Raises:
        CheckpointError: another network, or a part of one; says which, where that shows.
    """
    source = naming.source_of(shapes)
    if foreign := foreign_network(shapes):
        raise CheckpointError(f"{path}: {foreign}, expected an SSD300-VGG or SSD512-VGG")
    if source is None:
        example = f"for example {min(shapes)}" if shapes else "none at all"
        raise CheckpointError(
            f"{path}: a checkpoint of another network, expected an SSD300-VGG or SSD512-VGG; it holds "
            f"{counted(len(shapes), 'tensor')}, {example}"
        )
    size = naming.size_of(source, shapes)
    try:
        names = naming.native_names(source, size, shapes)
    except CheckpointError as error:
        raise CheckpointError(f"{path}: {error}") from error
    num_classes = _num_classes(path, source, size, shapes, names)
    found = Recognised(source, size, num_classes, names)
    _check_shapes(path, shapes, found)
    return found


def _num_classes(path: Path, source: Source, size: int, shapes: Shapes, names: Mapping[str, str]) -> int:
    count = naming.num_classes(source, size, shapes)
    if count is not None:
        return count
    head = network(size).heads[0]
    name = names[f"{head.scope}/conv_cls/biases"]
    found = f"has shape {shapes[name]}" if name in shapes else "is missing"
    raise CheckpointError(
        f"{path}: variable {name} {found}, expected shape ({head.anchors_per_cell} x number of classes,)"
    )


def _check_shapes(path: Path, shapes: Shapes, found: Recognised) -> None:
    faults = []
    for name, shape in variable_shapes(found.size, found.num_classes).items():
        native, expected = found.names[name], naming.native_shape(found.source, shape)
        actual = shapes.get(native)
        if actual is None:
            faults.append(f"{native} is missing, expected shape {expected}")
        elif actual != expected:
            faults.append(f"{native} has shape {actual}, expected {expected}")
    if faults:
        more = f" (and {len(faults) - 1} more such faults)" if len(faults) > 1 else ""
        classes = counted(found.num_classes, "class", "classes")
        raise CheckpointError(f"{path}: not an SSD{found.size}-VGG with {classes}: variable {faults[0]}{more}")
