"""What a network is besides its weights, gathered from all who tell: the first who does is believed."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any, NamedTuple

from ssd_detect.boxes.anchors import ANCHOR_PRESETS
from ssd_detect.conventions import ColourOrder, Source
from ssd_detect.counting import counted
from ssd_detect.errors import CheckpointError, SettingError, SsdDetectError
from ssd_detect.model.habits import Habits, habits_of
from ssd_detect.model.manifest import ManifestEntry
from ssd_detect.model.metadata import assumed_by_metadata, told_by_metadata
from ssd_detect.model.spec import ModelSpec
from ssd_detect.settings import CheckpointSettings


class Origin(str, Enum):
    """Who told a fact, in the order in which they are believed."""

    OPTION = "option"  # the user, for this run
    USER_FILE = "your TOML"  # beside the checkpoint, or in the user's folder
    MANIFEST = "manifest"  # the one that ships
    METADATA = "file"  # the checkpoint itself
    HABIT = "source"  # nobody, but all files of this source are so
    ASSUMED = "assumed"  # nobody, and files of this source differ


_OPTIONS: Mapping[str, str] = {
    "class_names": "--classes-file",
    "anchors": "--anchors",
    "anchor_rounding": "--anchor-rounding",
    "anchor_clip": "--anchor-clip",
    "resize": "--resize",
    "colour_order": "--colour-order",
}


class Weights(NamedTuple):
    """What the tensors show."""

    name: str
    source: Source
    size: int
    num_classes: int


@dataclass(frozen=True)
class Facts:
    """All that is known.

    Args:
        spec: what the network is.
        colour_order: that the file's first convolution expects.
        origins: field of `ModelSpec`, but its size, or `colour_order` -> who told it.
    """

    spec: ModelSpec
    colour_order: ColourOrder
    origins: Mapping[str, Origin]

    @property
    def assumed(self) -> tuple[str, ...]:
        """What nobody told and what may well be otherwise, in words, each with the option that settles it."""
        unsure = [fact for fact, origin in self.origins.items() if origin is Origin.ASSUMED]
        return tuple(f"{self._in_words(fact)} ({_OPTIONS[fact]})" for fact in unsure)

    def _in_words(self, fact: str) -> str:
        if fact == "class_names":
            return f"class names {', '.join(self.spec.class_names[1:3])}, …"
        value = self.colour_order if fact == "colour_order" else getattr(self.spec, fact)
        return f"{fact.replace('_', ' ')} {value.value if isinstance(value, Enum) else value}"


def gather(
    settings: CheckpointSettings, weights: Weights, entry: ManifestEntry | None, metadata: Mapping[str, str]
) -> Facts:
    """Ask everybody, the user first.

    Args:
        settings: the user's word.
        weights: what the tensors show.
        entry: what the manifest, or a user's file, tells.
        metadata: what the file tells.

    Raises:
        SettingError: the user chose anchors or class names that do not fit the weights.
        CheckpointError: an entry tells of others; names its file and the key.
    """
    if entry is not None:
        _check_entry(entry, weights)
    habits = habits_of(weights.source, weights.size, weights.num_classes)
    values: dict[str, Any] = {}
    origins: dict[str, Origin] = {}
    for origin, told in _tellers(settings, weights, entry, metadata, habits):
        for fact in habits.facts.keys() & told.keys() - values.keys():
            values[fact], origins[fact] = told[fact], origin
    colour_order = values.pop("colour_order")
    spec = ModelSpec(size=weights.size, **values)
    _check(spec, weights, origins, entry)
    return Facts(spec, colour_order, {fact: origins[fact] for fact in habits.facts})


def _tellers(
    settings: CheckpointSettings,
    weights: Weights,
    entry: ManifestEntry | None,
    metadata: Mapping[str, str],
    habits: Habits,
) -> Iterator[tuple[Origin, Mapping[str, Any]]]:
    options = {fact: getattr(settings, fact) for fact in _OPTIONS}
    yield Origin.OPTION, {fact: value for fact, value in options.items() if value is not None}
    if entry is not None:
        yield _origin_of(entry), {fact: _of_entry(entry, fact) for fact in entry.told & habits.facts.keys()}
    told = told_by_metadata(metadata, weights.size, weights.num_classes)
    unsure = assumed_by_metadata(metadata) & _OPTIONS.keys()
    yield Origin.METADATA, {fact: value for fact, value in told.items() if fact not in unsure}
    yield Origin.ASSUMED, {fact: told.get(fact, habits.facts[fact]) for fact in unsure | habits.unsure}
    yield Origin.HABIT, habits.facts


def _origin_of(entry: ManifestEntry) -> Origin:
    return Origin.MANIFEST if entry.described_in is None else Origin.USER_FILE


def _of_entry(entry: ManifestEntry, fact: str) -> Any:
    return entry.colour_order if fact == "colour_order" else getattr(entry.spec, fact)


def _check_entry(entry: ManifestEntry, weights: Weights) -> None:
    """What tensors show is not to be believed, but tells whether the rest, which they don't, is about them."""
    told = {"size": entry.spec.size, "source": entry.source.value}
    shown = {"size": weights.size, "source": weights.source.value}
    for fact in sorted(told.keys() & entry.told):
        if told[fact] != shown[fact]:
            raise CheckpointError(
                f"{_file_of(entry)} tells of a checkpoint whose {fact} is {told[fact]}, but the "
                f"{fact} of {weights.name} is {shown[fact]}: another checkpoint, or a wrong word"
            )


def _file_of(entry: ManifestEntry | None) -> str:
    return "the manifest" if entry is None or entry.described_in is None else str(entry.described_in)


def _check(spec: ModelSpec, weights: Weights, origins: Mapping[str, Origin], entry: ManifestEntry | None) -> None:
    """Whoever told it may have meant another checkpoint."""

    def fault(fact: str, key: str, words: str) -> SsdDetectError:
        if origins[fact] in (Origin.USER_FILE, Origin.MANIFEST):
            return CheckpointError(f"{_file_of(entry)}: {key}: {words}; correct {key} there")
        return SettingError(words)

    if spec.anchors not in ANCHOR_PRESETS:
        raise SettingError(f"anchor preset is {spec.anchors!r}, expected one of {', '.join(ANCHOR_PRESETS)}")
    if ANCHOR_PRESETS[spec.anchors].side != spec.size:
        words = f"anchor preset {spec.anchors} does not fit: the checkpoint {weights.name} is an SSD{spec.size}"
        raise fault("anchors", "anchors", words)
    if len(spec.class_names) != weights.num_classes:
        words = (
            f"the checkpoint {weights.name} has {counted(weights.num_classes - 1, 'class', 'classes')} (without the "
            f"background), its list of class names has {len(spec.class_names) - 1}"
        )
        raise fault("class_names", "classes", words)
