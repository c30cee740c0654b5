"""All that is known about a checkpoint: what its file holds, and of each convention what it is and who told it."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from ssd_detect.classes import list_name
from ssd_detect.errors import CheckpointError
from ssd_detect.hashing import sha256_of
from ssd_detect.inspection.tensors import TensorNumbers, count_kinds, count_numbers, measure
from ssd_detect.model.checkpoint import Checkpoint, load_checkpoint
from ssd_detect.model.facts import Origin
from ssd_detect.model.locate import locate
from ssd_detect.model.readers.open import open_tensors
from ssd_detect.settings import CheckpointSettings

# Fields of `Checkpoint.origins`, in the order in which they are told.
_FACTS = ("class_names", "anchors", "anchor_rounding", "anchor_clip", "resize", "colour_order", "mean_rgb", "profile")


@dataclass(frozen=True)
class Fact:
    """One convention.

    Args:
        value: a word of `conventions`, a preset, or a mean colour; of the class names, the name of a list, or None.
        told_by: who says so; where nobody does, files of this source are usually so.
    """

    value: str | tuple[float, float, float] | None
    told_by: Origin

    @property
    def is_sure(self) -> bool:
        """Nobody has to look into it."""
        return self.told_by is not Origin.ASSUMED


@dataclass(frozen=True)
class NetworkInfo:
    """The network in a file.

    Args:
        name: the manifest's or the file's.
        source: whose names the tensors have.
        size: side of the input, pixels.
        class_names: background first.
        parameters: numbers that the network needs.
        step: of the training; None when the file does not tell.
        facts: convention -> what it is.
        assumed: what is not sure, in words, and the option that settles it.
        about: `origin`, `training_data` and `licence` in words, those that are known.
    """

    name: str
    source: str
    size: int
    class_names: tuple[str, ...]
    parameters: int
    step: int | None
    facts: Mapping[str, Fact]
    assumed: tuple[str, ...]
    about: Mapping[str, str]


@dataclass(frozen=True)
class FileInfo:
    """What a file holds, be it a network of ours or not.

    Args:
        path: the file, or the prefix of a TensorFlow checkpoint.
        files: all of its files.
        bytes: their size together.
        sha256: of all of them, one after the other.
        container: what kind of file, in words.
        tensors: how many.
        numbers: how many numbers these hold.
        extra: kind -> count of the tensors that the network does not need; of all, when there is no network.
        variables: each tensor in numbers; None when nobody asked.
        network: None when it is no SSD.
        problem: why not.
    """

    path: Path
    files: tuple[Path, ...]
    bytes: int
    sha256: str
    container: str
    tensors: int
    numbers: int
    extra: Mapping[str, int]
    variables: tuple[TensorNumbers, ...] | None
    network: NetworkInfo | None
    problem: str | None


def inspect_checkpoint(settings: CheckpointSettings, *, variables: bool = False) -> tuple[FileInfo, Checkpoint | None]:
    """Look at a checkpoint, and load it if it is one of ours.

    Args:
        settings: which file; what is chosen about it counts as told by the user.
        variables: read and measure every tensor.

    Raises:
        CheckpointError: nothing there, or nothing with tensors in it; says what it is.
        SettingError: a choice that does not fit the checkpoint.
    """
    found = locate(settings.given)
    checkpoint, problem = _loaded(settings)
    with open_tensors(found) as tensors:
        info = FileInfo(
            path=found.path,
            files=found.files,
            bytes=sum(file.stat().st_size for file in found.files),
            sha256=checkpoint.sha256 if checkpoint else sha256_of(found.files),
            container=tensors.container,
            tensors=len(tensors.shapes),
            numbers=count_numbers(tensors),
            extra=count_kinds(checkpoint.extra if checkpoint else tensors.shapes),
            variables=tuple(measure(tensors)) if variables else None,
            network=_network(checkpoint) if checkpoint else None,
            problem=problem,
        )
    return info, checkpoint


def _loaded(settings: CheckpointSettings) -> tuple[Checkpoint | None, str | None]:
    """The checkpoint, or why it is none."""
    try:
        checkpoint = load_checkpoint(settings)
        checkpoint.read()  # damage of the numbers shows only then
    except CheckpointError as error:
        return None, str(error)
    return checkpoint, None


def _network(checkpoint: Checkpoint) -> NetworkInfo:
    return NetworkInfo(
        name=checkpoint.name,
        source=checkpoint.source.value,
        size=checkpoint.spec.size,
        class_names=checkpoint.spec.class_names,
        parameters=sum(values.size for values in checkpoint.variables.values()),
        step=checkpoint.step,
        facts={fact: Fact(_value(checkpoint, fact), checkpoint.origins[fact]) for fact in _FACTS},
        assumed=checkpoint.assumed,
        about=checkpoint.about,
    )


def _value(checkpoint: Checkpoint, fact: str) -> str | tuple[float, float, float] | None:
    spec = checkpoint.spec
    words: Mapping[str, str] = {
        "anchors": spec.anchors,
        "anchor_rounding": spec.anchor_rounding.value,
        "anchor_clip": spec.anchor_clip.value,
        "resize": spec.resize.value,
        "colour_order": checkpoint.colour_order.value,
        "profile": spec.profile.value,
    }
    if fact == "mean_rgb":
        return spec.mean_rgb
    if fact == "class_names":
        return list_name(spec.class_names)
    return words[fact]
