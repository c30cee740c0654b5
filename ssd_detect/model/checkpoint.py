"""Reading a checkpoint: weights by name, and all that is known or assumed about them. No TensorFlow is needed."""

from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

from ssd_detect.arrays import Floats
from ssd_detect.conventions import ColourOrder, Source
from ssd_detect.errors import CheckpointError
from ssd_detect.files import file_stamp
from ssd_detect.hashing import git_blob_of, sha256_of
from ssd_detect.model.class_cut import cut_classes
from ssd_detect.model.facts import Origin, Weights, gather
from ssd_detect.model.locate import FoundCheckpoint, locate
from ssd_detect.model.manifest import ManifestEntry, entry_of, facts_of, manifest, namesake_of, told_by_whom
from ssd_detect.model.metadata import ABOUT, tells_facts
from ssd_detect.model.readers.open import open_tensors
from ssd_detect.model.readers.stored import StoredTensors
from ssd_detect.model.recognise import Recognised, recognise
from ssd_detect.model.spec import ModelSpec
from ssd_detect.model.values import StoredNetwork, StoredVariables, scale_names
from ssd_detect.settings import CheckpointSettings


@dataclass(frozen=True)
class Checkpoint:
    """Weights and what they belong to.

    Args:
        name: the manifest's name, or the file's.
        sha256: of the file; of several (a TensorFlow checkpoint's index and data), of all one after the other.
        spec: what the network is.
        assumed: facts that nobody told and that may well be otherwise, in words; empty when all is known.
        variables: name below the root scope -> float32 array; kernels HWIO, the first one's inputs RGB. Each is
            read when it is asked for, and raises CheckpointError then where the file is damaged.
        source: whose names and layout the file has.
        container: what kind of file it is, in words.
        colour_order: of the file's own first convolution.
        origins: field of `ModelSpec`, but its size, or `colour_order` -> who told it.
        step: of the training, where the file tells it.
        extra: names of tensors that the network does not need, such as an optimiser's, sorted.
        about: `origin`, `training_data` and `licence` in words, those that are known.
    """

    name: str
    sha256: str
    spec: ModelSpec
    assumed: tuple[str, ...]
    variables: Mapping[str, Floats]
    source: Source
    container: str
    colour_order: ColourOrder
    origins: Mapping[str, Origin]
    step: int | None
    extra: tuple[str, ...]
    about: Mapping[str, str]

    def read(self) -> None:
        """Read all variables now, as far as that has not been done; raises CheckpointError as they do."""
        for name in self.variables:
            self.variables[name]


def load_checkpoint(settings: CheckpointSettings) -> Checkpoint:
    """Find a checkpoint and check all but its numbers, which `Checkpoint.variables` reads when they are needed.

    Optimiser slots, moving averages, `global_step` and other extra tensors are ignored.

    Raises:
        CheckpointError: none found, damaged, or of another network; a missing or misshapen variable is named, and one
            of no floating-point numbers. What a manifest or TOML tells does not fit.
        SettingError: chosen anchors, class names or a class list do not fit the checkpoint.
    """
    with told_by_whom(settings.given):
        return _found(settings)


_MOST_BYTES = 4_000_000_000
_OF_OTHERS = frozenset({"caffe", "keras", "pytorch", "zip"})


@contextmanager
def loaded_ahead(settings: CheckpointSettings, *, numbers: bool) -> Iterator[Callable[[], Checkpoint]]:
    """Let a thread load a checkpoint; what the block gets waits for it, and returns it or raises what went wrong.

    So the block can begin with something else that takes long, such as the import of an engine. It does not end before
    the thread does. Files of other frameworks are loaded at the call instead: their readers import packages that an
    engine may be importing at the same time, and two threads that import modules which import each other fail.

    Args:
        settings: as for `load_checkpoint`, whose errors the call raises.
        numbers: the thread reads the variables as well; what is wrong with them is raised at their access.
    """
    if _kind(settings) in _OF_OTHERS:
        yield lambda: load_checkpoint(settings)
        return
    with ThreadPoolExecutor(1, "ssd-detect checkpoint") as thread:
        ahead = thread.submit(load_checkpoint, settings)
        if numbers:
            thread.submit(lambda: ahead.result().read())
        yield ahead.result


def _kind(settings: CheckpointSettings) -> str:
    """Of the file; empty where there is none, which `load_checkpoint` says."""
    try:
        return locate(settings.given).kind
    except CheckpointError:
        return ""


def _check_size(found: FoundCheckpoint) -> None:
    """Before all of it is hashed: an SSD512 with all that an optimiser keeps has half a gigabyte."""
    size = sum(file.stat().st_size for file in found.files)
    if size > _MOST_BYTES:
        raise CheckpointError(
            f"{found.path}: has {size / 1e9:.1f} GB, expected {_MOST_BYTES / 1e9:.0f} at most of an SSD"
        )


def _found(settings: CheckpointSettings) -> Checkpoint:
    found = locate(settings.given)
    _check_size(found)
    stamps = {file: file_stamp(file) for file in found.files}
    sha256 = sha256_of(found.files)
    entry = _entry(settings.given, found, sha256)
    name = _name(settings.given, found, sha256)
    with ExitStack() as stack:
        tensors = stack.enter_context(open_tensors(found))
        network = recognise(found.path, tensors.shapes)
        if entry is None and not tells_facts(tensors.metadata):
            entry = namesake_of(found.path)
        weights = Weights(name, network.source, network.size, network.num_classes)
        facts = gather(settings, weights, entry, tensors.metadata)
        stored = StoredNetwork(found.path, tensors, network, facts.colour_order)
        stored.check_types()
        step = _step(tensors)
        variables: Mapping[str, Floats] = StoredVariables(stored, stamps, stack.pop_all())
        spec = facts.spec
        if settings.class_list is not None:
            variables, spec = cut_classes(variables, spec, settings.class_list)
        return Checkpoint(
            name=name,
            sha256=sha256,
            spec=spec,
            assumed=facts.assumed,
            variables=variables,
            source=network.source,
            container=tensors.container,
            colour_order=facts.colour_order,
            origins=facts.origins,
            step=step,
            extra=_extra(tensors, network),
            about=_about(entry, tensors.metadata),
        )


def _entry(given: str, found: FoundCheckpoint, sha256: str) -> ManifestEntry | None:
    """What is known about the file; one that goes by a name of the manifest must be the manifest's."""
    entry = manifest().get(given)
    if entry is None:
        return facts_of(found.path, sha256)
    if entry.sha256 not in (None, sha256):
        raise _changed(found, "SHA-256", sha256, str(entry.sha256), entry)
    if entry.git_blob is not None and found.files == (found.path,):
        blob = git_blob_of(found.path)
        if blob != entry.git_blob:
            raise _changed(found, "git blob id", blob, entry.git_blob, entry)
    return entry


def _changed(found: FoundCheckpoint, hashed: str, actual: str, expected: str, entry: ManifestEntry) -> CheckpointError:
    return CheckpointError(
        f"{found.path}: damaged: its {hashed} is {actual[:12]}…, expected {expected[:12]}…; "
        f"remove it, then {entry.how_to_get}"
    )


def _name(given: str, found: FoundCheckpoint, sha256: str) -> str:
    """The manifest's name where the file is the manifest's, wherever it lies."""
    if given in manifest():
        return given
    known = entry_of(found.path, sha256)
    return found.path.name if known is None else known.name


def _step(tensors: StoredTensors) -> int | None:
    """Of the optimiser: balancap's files, as all of slim's, call it so."""
    names = [name for name in tensors.shapes if name == "global_step" or name.endswith("/global_step")]
    if len(names) != 1 or tensors.shapes[names[0]] != () or tensors.dtypes[names[0]] not in ("int32", "int64"):
        return None
    return int(tensors.read(names[0]).item())


def _about(entry: ManifestEntry | None, metadata: Mapping[str, str]) -> Mapping[str, str]:
    """By the manifest or the user's file, else by the checkpoint itself."""
    told = {key: getattr(entry, key, "") or metadata.get(key, "") for key in ABOUT}
    return {key: words for key, words in told.items() if words}


def _extra(tensors: StoredTensors, network: Recognised) -> tuple[str, ...]:
    needed = set(network.names.values())
    return tuple(sorted(tensors.shapes.keys() - needed - scale_names(tensors, needed)))
