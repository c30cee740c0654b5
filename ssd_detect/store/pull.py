"""Bringing a known checkpoint here, whole, checked, and once however many ask for it."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from ssd_detect.errors import CheckpointError, SettingError
from ssd_detect.files import explained_writing, give_name
from ssd_detect.filetypes import other_than_file
from ssd_detect.locks import held_alone
from ssd_detect.media.sources.urls import WEB_SCHEMES, is_url, shown_url
from ssd_detect.model.manifest import ManifestEntry, shown_name
from ssd_detect.model.readers.sniff import sniff
from ssd_detect.store.download import download
from ssd_detect.store.listener import Listener
from ssd_detect.store.part import Part
from ssd_detect.store.verify import Checked, check_entry, note_of, note_sha256

DEFAULT_TIMEOUT_SECONDS = 30.0
_COPY_BYTES = 1 << 20


@dataclass(frozen=True)
class PullSettings:
    """How to fetch.

    Args:
        given: an address or a file instead of the addresses of the manifest; what comes is checked all the same.
        timeout_seconds: for connecting, and for each wait between bytes; above 0, at most a day.
        accept_unverified: take from the network what nobody has published a hash of.

    Raises:
        SettingError: a value that makes no sense.
    """

    given: str | None = None
    timeout_seconds: float = DEFAULT_TIMEOUT_SECONDS
    accept_unverified: bool = False

    def __post_init__(self) -> None:
        if not 0.0 < self.timeout_seconds <= 86400.0:  # also false for NaN
            raise SettingError(f"timeout is {self.timeout_seconds}, expected a number above 0, at most 86400")


@dataclass(frozen=True)
class Pulled:
    """A checkpoint that is here now: where, by what means, and how sure it is that it is the right one."""

    path: Path
    outcome: Literal["was here", "fetched"]
    checked: Checked | None = None


def pull(entry: ManifestEntry, settings: PullSettings, listener: Listener) -> Pulled:
    """Fetch what `entry` names, unless it is here.

    One process fetches, and others that want the same wait for it. A file that is here but damaged is replaced if it
    is in the cache; what ships, and the user's own files, are left as they are.

    Raises:
        CheckpointError: it cannot be had, or what came is something else; nothing has its name then.
        OutputError: the cache cannot be written.
    """
    here = entry.path()
    if here is not None and here != entry.cached:
        return Pulled(here, "was here")
    if entry.cached is None:
        raise CheckpointError(f"{entry.name}: cannot be fetched: {entry.how_to_get}")
    sources = _sources(entry, settings)
    with explained_writing(entry.cached):
        entry.cached.parent.mkdir(parents=True, exist_ok=True)
    busy = f"{entry.name}: another process is fetching it; waiting for its end"
    with held_alone(entry.cached, folder=entry.cached.parent, on_wait=lambda: listener.on_note(busy)):
        if entry.cached.is_file():
            checked = check_entry(entry, entry.cached)
            if checked.verdict != "bad":
                return Pulled(entry.cached, "was here", checked)
            listener.on_note(f"{entry.cached}: damaged: {checked.words}; fetching it again")
        return _fetch_first(entry, entry.cached, sources, settings, listener)


def _sources(entry: ManifestEntry, settings: PullSettings) -> tuple[str, ...]:
    """Addresses or files, best first.

    Raises:
        CheckpointError: none, or none that may be used.
    """
    sources = entry.urls if settings.given is None else (settings.given,)
    if not sources:
        raise CheckpointError(f"{entry.name}: has no address to fetch it from: {entry.how_to_get}")
    for source in sources:
        if is_url(source) and not source.lower().startswith(tuple(f"{scheme}://" for scheme in WEB_SCHEMES)):
            raise CheckpointError(f"{shown_url(source)}: expected a file, or an address with http:// or https://")
    from_network = any(map(is_url, sources))
    if from_network and not entry.is_verifiable and not settings.accept_unverified:
        raise CheckpointError(
            f"{entry.name}: nobody has published a hash of it, so that what comes from {shown_url(sources[0])} cannot "
            "be checked; use --accept-unverified to take it as it comes"
        )
    return sources


def _fetch_first(
    entry: ManifestEntry, target: Path, sources: tuple[str, ...], settings: PullSettings, listener: Listener
) -> Pulled:
    """From the first source that has it."""
    for source in sources[:-1]:
        try:
            return _fetch(entry, target, source, settings, listener)
        except CheckpointError as error:
            listener.on_note(f"{error}; trying the next address")
    return _fetch(entry, target, sources[-1], settings, listener)


def _fetch(entry: ManifestEntry, target: Path, source: str, settings: PullSettings, listener: Listener) -> Pulled:
    part = Part(target)
    if is_url(source):
        download(source, part, settings.timeout_seconds, listener)
    else:
        _copy(Path(source), part, listener)
    checked = check_entry(entry, part.path, target)
    if checked.verdict == "bad":
        part.discard()
        raise CheckpointError(f"{shown_url(source)}: is not {entry.name}: {checked.words}; nothing was kept")
    if not entry.is_verifiable:
        _check_content(part, source)
    note_sha256(target, checked.sha256)
    give_name(part.finish(), target, overwrite=True)
    return Pulled(target, "fetched", replace(checked, path=target))


def _check_content(part: Part, source: str) -> None:
    """Where no hash is known, what came shall at least be weights, and no web page about them."""
    sniffed = sniff(part.path)
    if sniffed.kind is None:
        part.discard()
        raise CheckpointError(f"{shown_url(source)}: is no checkpoint ({sniffed.what}); nothing was kept")


def _copy(source: Path, part: Part, listener: Listener) -> None:
    """A file that a person brought; the copy of an earlier try is of no use."""
    if other := other_than_file(source):
        raise CheckpointError(f"{source}: is a {other}, expected the checkpoint's file or its address")
    try:
        is_file = source.is_file()
    except OSError as error:
        raise CheckpointError(f"{shown_name(str(source))}: cannot be read: {error.strerror or error}") from error
    if not is_file:
        raise CheckpointError(f"{source}: no such file, expected the checkpoint or its address")
    part.discard()
    total = source.stat().st_size
    with explained_writing(part.target), source.open("rb") as file, part.path.open("wb") as copy:
        while block := file.read(_COPY_BYTES):
            copy.write(block)
            listener.on_bytes(copy.tell(), total)


def remove(entry: ManifestEntry) -> int:
    """Remove a fetched checkpoint, and what is left of unfinished tries; bytes that are free now.

    Raises:
        CheckpointError: nothing of it is in the cache; what ships and the user's own files are never removed.
        OutputError: cannot be removed, or is being fetched.
    """
    if entry.cached is None or not entry.cached.parent.is_dir():
        raise _nothing_to_remove(entry)
    part = Part(entry.cached)
    with held_alone(entry.cached, folder=entry.cached.parent):
        files = [path for path in (entry.cached, part.path) if path.is_file()]
        if not files:
            raise _nothing_to_remove(entry)
        freed = sum(path.stat().st_size for path in files)
        part.discard()
        with explained_writing(entry.cached):
            entry.cached.unlink(missing_ok=True)
            note_of(entry.cached).unlink(missing_ok=True)
    return freed


def _nothing_to_remove(entry: ManifestEntry) -> CheckpointError:
    where = entry.whereabouts()
    reason = "is not in the cache" if where == "not here" else f"is {where}, and only fetched checkpoints are removed"
    return CheckpointError(f"{entry.name}: {reason}")
