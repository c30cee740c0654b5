"""A folder of the engines' cache: files that are whole and as they were written, and a record of what is known of them.

The record, `record.json`, tells size, time and SHA-256 of each file. Size and time are looked at before every use, the
hash only when they differ: hashing 105 MB takes longer than loading them. A file that is not as recorded is made again.
"""

import json
import shutil
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ssd_detect.errors import CheckpointError
from ssd_detect.files import explained_writing, file_stamp, remove_leftovers, whole_file
from ssd_detect.hashing import sha256_of
from ssd_detect.locks import held_alone

PROOFS, CHOICES = "proofs", "choices"
"""Subjects of the record."""

_RECORD = "record.json"
_FILES = "files"


@dataclass(frozen=True)
class Entry:
    """One network of the cache.

    Args:
        folder: of its files; its name is the network's key.
        on_wait: called when another process is writing there, whose end is waited for.
    """

    folder: Path
    on_wait: Callable[[], None] = lambda: None

    def path(self, name: str) -> Path:
        """Where the file of this name is, or would be."""
        return self.folder / name

    def has(self, name: str) -> bool:
        """Whether the file is there and as it was written."""
        path, told = self.path(name), self.told(_FILES).get(name)
        if told is None or not path.is_file():
            return False
        if told["stamp"] == file_stamp(path):
            return True
        return bool(told["size"] == path.stat().st_size and told["sha256"] == _hash(path))

    def made(self, name: str, write: Callable[[Path], None]) -> Path:
        """The file, written by `write` if it is not there; by one process alone.

        Raises:
            OutputError: the system refuses.
        """
        if not self.has(name):
            with self._alone():
                if not self.has(name):  # still: another process may have made it meanwhile
                    self._write(name, write)
        return self.path(name)

    def _write(self, name: str, write: Callable[[Path], None]) -> None:
        path = self.path(name)
        remove_leftovers(path)  # of runs that were killed; nobody else is writing
        with whole_file(path, overwrite=True) as temporary, explained_writing(path):
            write(temporary)
        told = {"stamp": file_stamp(path), "size": path.stat().st_size, "sha256": _hash(path)}
        self._note(_FILES, name, told)

    def remove(self, names: Sequence[str]) -> None:
        """Remove files or folders, as far as the system lets us; none is made meanwhile.

        Raises:
            OutputError: the system refuses to lock the entry, or to write the record.
        """
        with self._alone():
            for path in map(self.path, names):
                with suppress(OSError):  # open, on Windows; gone
                    path.unlink() if path.is_file() else shutil.rmtree(path)
            self._write_record(_FILES, {name: told for name, told in self.told(_FILES).items() if name not in names})

    def told(self, subject: str) -> dict[str, Any]:
        """What the record says of a subject; empty where it says nothing, or is damaged."""
        found = self._record().get(subject)
        return found if isinstance(found, dict) else {}

    def _record(self) -> dict[str, Any]:
        try:
            record = json.loads(self.path(_RECORD).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return {}
        return record if isinstance(record, dict) else {}

    def note(self, subject: str, name: str, value: Any) -> None:
        """Put `value`, as JSON knows it, under a name into the record."""
        with self._alone():
            self._note(subject, name, value)

    def _note(self, subject: str, name: str, value: Any) -> None:
        self._write_record(subject, {**self.told(subject), name: value})

    def _write_record(self, subject: str, values: dict[str, Any]) -> None:
        subjects = {**self._record(), subject: values}
        path = self.path(_RECORD)
        with whole_file(path, overwrite=True) as temporary, explained_writing(path):
            temporary.write_text(json.dumps(subjects, indent=1), encoding="utf-8")

    def _alone(self) -> Any:
        with explained_writing(self.folder):
            self.folder.mkdir(parents=True, exist_ok=True)
        return held_alone(self.folder, folder=self.folder.parent, on_wait=self.on_wait)


def _hash(path: Path) -> str:
    try:
        return sha256_of([path])
    except CheckpointError:  # gone, or not to be read
        return ""
