"""The checkpoints that we know: the manifest that ships, the user's own lists, and a TOML beside a checkpoint.

Imports neither TensorFlow nor NumPy.
"""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from ssd_detect.environment import checkpoint_cache, settings_folder
from ssd_detect.errors import CheckpointError
from ssd_detect.filetypes import other_than_file
from ssd_detect.hashing import git_blob_of
from ssd_detect.model.manifest_entry import ManifestEntry as ManifestEntry
from ssd_detect.model.manifest_file import Place, entries_of, facts_beside

_MOST_SHOWN = 300  # characters
DEFAULT_CHECKPOINT = "ssd_300_vgg_voc"


def checkpoints_folder() -> Path:
    """Where the shipped checkpoints lie: in the installed package, or at the root of a source checkout."""
    package = Path(__file__).resolve().parent.parent
    installed = package / "checkpoints"
    return installed if installed.is_dir() else package.parent / "checkpoints"


@cache
def manifest() -> Mapping[str, ManifestEntry]:
    """Name -> entry: those that ship in the order of their file, then the user's; of one name, the user's.

    Lists of the user that are damaged are left out, so that the names that ship stay usable; see `manifest_faults`.

    Raises:
        CheckpointError: the manifest that ships is missing or damaged: the installation is.
    """
    path = checkpoints_folder() / "manifest.toml"
    try:
        shipped = entries_of(Place(path, checkpoint_cache(), is_users=False))
    except CheckpointError as error:
        raise CheckpointError(
            f"{path}: the list of checkpoints is missing or damaged ({error}); install ssd-detect again"
        ) from error
    users = {name: replace(entry, replaces_shipped=name in shipped) for name, entry in _users().entries.items()}
    return MappingProxyType(shipped | users)


def manifest_faults() -> tuple[str, ...]:
    """What is wrong with the user's own lists, one line each."""
    return _users().faults


def unknown_name(given: str, words: str) -> CheckpointError:
    """That there is no such checkpoint: first what is wrong with the lists in which the name may stand."""
    return CheckpointError("; ".join((*manifest_faults(), f"{shown_name(given)}: no such checkpoint", words)))


def shown_name(given: str) -> str:
    """As much of a name as a line holds."""
    return given if len(given) <= _MOST_SHOWN else f"{given[:_MOST_SHOWN]}…"


@contextmanager
def told_by_whom(name: str) -> Iterator[None]:
    """Name the user's list in what goes wrong inside the block, if it describes this one instead of what ships.

    Raises:
        CheckpointError: as the block.
    """
    try:
        yield
    except CheckpointError as error:
        entry = manifest().get(name)
        if entry is None or not entry.replaces_shipped or str(entry.described_in) in str(error):
            raise
        raise CheckpointError(f"{error} ({name} is described in {entry.described_in})") from error


def facts_of(path: Path, sha256: str) -> ManifestEntry | None:
    """What is known about a checkpoint, under whatever name it lies; None: nothing.

    A TOML beside it comes first, then its hash, the user's lists before the manifest that ships. `ManifestEntry.told`
    says which facts are told.

    Args:
        path: the file, or the prefix of its files.
        sha256: as `ManifestEntry.sha256`.

    Raises:
        CheckpointError: the TOML beside it is damaged.
    """
    return facts_beside(path) or entry_of(path, sha256)


def namesake_of(path: Path) -> ManifestEntry | None:
    """The entry, of those whose hash nobody knows, whose file is called as this one.

    It is not more than likely that they are the same: what a file tells of itself is to be believed first.
    """
    return next((e for e in _users_first() if not e.is_verifiable and _has_name_of(path, e)), None)


def entry_of(path: Path, sha256: str) -> ManifestEntry | None:
    """The entry that a checkpoint is by its hash, or by the id that git gives it; arguments as for `facts_of`."""
    entries = _users_first()
    known = next((entry for entry in entries if entry.sha256 == sha256), None)
    return known or _by_git_blob(path, [entry for entry in entries if entry.git_blob is not None])


def _users_first() -> list[ManifestEntry]:
    return sorted(manifest().values(), key=lambda entry: entry.described_in is None)


class _Users(NamedTuple):
    entries: Mapping[str, ManifestEntry]
    faults: tuple[str, ...]


@cache
def _users() -> _Users:
    """The user's own lists, in the order of their names."""
    entries: dict[str, ManifestEntry] = {}
    folder = settings_folder()
    other = None if folder.is_dir() else other_than_file(folder) or ("file" if folder.exists() else None)
    faults = [f"{folder}: is a {other}, expected the folder of your lists (SSD_DETECT_HOME)"] if other else []
    for path in sorted(folder.glob("*.toml")) if folder.is_dir() else ():
        try:
            found = entries_of(Place(path, checkpoint_cache(), is_users=True))
        except CheckpointError as error:
            faults.append(str(error))
            continue
        twice = sorted(found.keys() & entries.keys())
        faults += [f"{path}: {name} is in {entries[name].described_in} already, which counts" for name in twice]
        entries = found | entries
    return _Users(entries, tuple(faults))


def _by_git_blob(path: Path, entries: Iterable[ManifestEntry]) -> ManifestEntry | None:
    """Reads the file once more, and only one that could be an entry's by its suffix."""
    alike = [entry for entry in entries if entry.file.suffix == path.suffix.lower()]
    if not alike or not path.is_file():
        return None
    blob = git_blob_of(path)
    return next((entry for entry in alike if entry.git_blob == blob), None)


def _has_name_of(path: Path, entry: ManifestEntry) -> bool:
    """Zips are the same as what they hold. What a user's list tells is told of the file there, not of all so called."""
    if entry.described_in is not None:
        here = entry.path()
        return here is not None and here.resolve() == path.resolve()
    return path.name.removesuffix(".zip") == entry.file.name.removesuffix(".zip")
