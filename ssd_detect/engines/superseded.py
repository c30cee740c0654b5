"""What of the engines' cache nothing will read again: found by its name, and removed.

Environments with different releases may share the cache. So of what replaces each other the newest two stay: with two
environments neither makes its own anew each time, and nothing piles up with updates.
"""

import re
import shutil
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from ssd_detect.conventions import EngineName
from ssd_detect.engines.entry import Entry
from ssd_detect.engines.processor import processor_id
from ssd_detect.errors import OutputError
from ssd_detect.locks import held_alone

KEPT_ENTRIES = 8
"""Of the networks that were used last; one takes some 250 MB. Older ones go when another is made."""

NETWORK_DIGITS = 16
"""Of an entry's name: which network it is. The others tell of the code that made it."""

_ENTRY = re.compile(r"[0-9a-f]{24}")
_KEPT_RELEASES = 2


def form_name(engine: EngineName, version: str, model: str) -> str:
    """The name of the file, or folder, that an engine of this version makes for itself of an entry's `model`."""
    return f"{engine.value}-{version.split('-')[0]}-{processor_id()}-{model}"


def remove_older_forms(entry: Entry, engine: EngineName, model: str) -> None:
    """Of what an engine's releases have made of `model`, on such a processor, keep the newest two."""
    pattern = re.compile(rf"{engine.value}-[^-]+-{processor_id()}-{re.escape(model)}")
    forms = _newest_first(path for path in _contents(entry.folder) if pattern.fullmatch(path.name))
    _remove(entry, forms[_KEPT_RELEASES:])


def remove_older_models(entry: Entry, name: str) -> None:
    """Remove int8 networks that were calibrated with an earlier content of the same folder, and all made of them.

    Args:
        entry: of the network.
        name: of the new one, as `int8-FOLDER-CONTENT.onnx`.
    """
    begin = re.escape(name.rpartition("-")[0])
    pattern = re.compile(rf"(?:.+-)?({begin}-[^-]+\.onnx)")
    found = ((path, pattern.fullmatch(path.name)) for path in _contents(entry.folder))
    _remove(entry, [path for path, match in found if match is not None and match[1] != name])


def _contents(folder: Path) -> list[Path]:
    try:
        return list(folder.iterdir())
    except OSError:  # another process has just removed it
        return []


def _remove(entry: Entry, paths: list[Path]) -> None:
    """Where we may not, they stay: whoever opens a network needs no room."""
    if paths:
        with suppress(OutputError):
            entry.remove([path.name for path in paths])


def remove_older_entries(made: Entry) -> None:
    """Of the other entries keep those that were used last: one of the same network by other code, and of all so many.

    One that another process is making, or removing, is left to it.
    """
    others = _newest_first(path for path in _contents(made.folder.parent) if _is_entry(path) and path != made.folder)
    network = made.folder.name[:NETWORK_DIGITS]
    same = [path for path in others if path.name.startswith(network)][_KEPT_RELEASES - 1 :]
    rest = [path for path in others if path not in same][KEPT_ENTRIES - 1 :]
    for path in (*same, *rest):
        with suppress(OutputError), held_alone(path, folder=path.parent):
            shutil.rmtree(path, ignore_errors=True)


def _is_entry(path: Path) -> bool:
    return _ENTRY.fullmatch(path.name) is not None and path.is_dir()


def _newest_first(paths: Iterator[Path]) -> list[Path]:
    return sorted(paths, key=_time, reverse=True)


def _time(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:  # another process has just removed it
        return 0.0
