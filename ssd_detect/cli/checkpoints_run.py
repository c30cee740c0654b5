"""What the verbs of `ssd-detect checkpoints` do: one checkpoint after the other, and a line for each."""

import difflib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from ssd_detect.cli.talk import Talk
from ssd_detect.cli.transfer import transfer_bar
from ssd_detect.errors import CheckpointError, ExitStatus, SsdDetectError
from ssd_detect.model.manifest import ManifestEntry, manifest, manifest_faults, told_by_whom, unknown_name
from ssd_detect.store.listener import Listener
from ssd_detect.store.part import Part, Prospect
from ssd_detect.store.pull import PullSettings, pull, remove
from ssd_detect.store.verify import Checked, check_entry, check_path

_KEPT: Mapping[Prospect, str] = {
    "goes on": "What has come is kept; the same command goes on from there.",
    "may go on": "What has come is kept; the same command goes on from there if the server allows it.",
    "begins anew": "The server does not let a transfer go on; the same command begins anew.",
}


def entry_named(name: str) -> ManifestEntry:
    """The entry of that name.

    Raises:
        CheckpointError: there is none; says what was meant, and which lists could not be read.
    """
    entries = manifest()
    if name in entries:
        return entries[name]
    close = difflib.get_close_matches(name, entries, n=1)
    hint = f"did you mean {close[0]}?" if close else "ssd-detect checkpoints list shows all"
    raise unknown_name(name, hint)


def path_of(entry: ManifestEntry) -> Path:
    """Where it lies.

    Raises:
        CheckpointError: it is not here; says how to get it.
    """
    path = entry.path()
    if path is None:
        with told_by_whom(entry.name):
            raise CheckpointError(f"{entry.name}: is not here; {entry.how_to_get}")
    return path


def pull_all(names: Sequence[str], settings: PullSettings, talk: Talk) -> int:
    """Fetch each; the exit status."""
    return _each(names, lambda name: _pull(name, settings, talk), talk)


def _pull(name: str, settings: PullSettings, talk: Talk) -> None:
    entry = entry_named(name)
    try:
        with transfer_bar(talk) as on_bytes:
            pulled = pull(entry, settings, Listener(on_bytes, talk.note))
    except KeyboardInterrupt:
        prospect = None if entry.cached is None else Part(entry.cached).prospect()
        if prospect is not None:
            talk.note(_KEPT[prospect])
        raise
    talk.result(f"{name}: {pulled.outcome}: {pulled.path}")
    if pulled.checked is not None and pulled.checked.verdict == "unknown":
        talk.note(f"{name}: not verified: {pulled.checked.words}; it is noted for later comparisons")


def verify_all(given: Sequence[str], talk: Talk) -> int:
    """Check each, all that are here where none is given; the exit status, 4 if one is damaged or missing."""
    here = [name for name, entry in manifest().items() if entry.path() is not None]
    said: list[str] = []

    def verify(name: str) -> None:
        try:
            _verify(name, talk)
        except CheckpointError as error:
            said.append(str(error))
            raise

    status = _each(given or here, verify, talk)
    for fault in manifest_faults():
        if not any(fault in line for line in said):
            talk.failure(fault)
    return ExitStatus.NO_CHECKPOINT if status else ExitStatus.DONE


def _verify(given: str, talk: Talk) -> None:
    name = given if given in manifest() else _name_at(Path(given))
    checked = check_path(Path(given)) if name is None and _may_be_path(given) else _verify_entry(name or given)
    talk.result(f"{checked.name}: {checked.verdict}: {checked.words}")


def _name_at(path: Path) -> str | None:
    """The name of the known checkpoint that lies there, whole or damaged."""
    place = path.absolute()
    return next((name for name, entry in manifest().items() if entry.path() == place), None)


def _verify_entry(name: str) -> Checked:
    entry = entry_named(name)
    path = path_of(entry)
    checked = check_entry(entry, path)
    if checked.verdict == "bad":
        again = entry.how_to_get if path == entry.cached else "install ssd-detect again"
        if entry.described_in is not None and path == entry.file:
            again = f"copy it again, or correct {entry.described_in}"
        raise CheckpointError(f"{path}: damaged: {checked.words}; {again}")
    return checked


def _may_be_path(given: str) -> bool:
    path = Path(given)
    if len(path.parts) > 1:
        return True
    try:
        return path.exists() or path.with_name(path.name + ".index").is_file()
    except OSError:  # too long for a name
        return False


def remove_all(names: Sequence[str], talk: Talk) -> int:
    """Remove each from the cache; the exit status."""

    def remove_one(name: str) -> None:
        talk.result(f"{name}: removed, {remove(entry_named(name)):,} bytes freed")

    return _each(names, remove_one, talk)


def _each(names: Sequence[str], work: Callable[[str], None], talk: Talk) -> int:
    """Do the work for each; say what fails, and go on.

    Returns:
        0: all done; 3: some failed; else the status of the first failure.
    """
    failures: list[SsdDetectError] = []
    for name in names:
        try:
            work(name)
        except SsdDetectError as error:
            talk.failure(str(error))
            failures.append(error)
    if not failures:
        return ExitStatus.DONE
    return ExitStatus.SOME_FAILED if len(failures) < len(names) else failures[0].exit_status
