"""The journal of a run: what is finished, line by line, so that `--resume` can go on after anything.

A line is written after all files of its picture have their final names, so what stands in the journal is whole; the
picture at which a run was killed is simply done again. A run that comes to its end removes its journal.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any, TextIO

from ssd_detect.errors import OutputError
from ssd_detect.files import explained_writing
from ssd_detect.formats.jsonl import record_from_dict, record_to_dict
from ssd_detect.formats.record import PictureRecord

JOURNAL_NAME = ".ssd-detect-run.jsonl"
_SCHEMA = "ssd-detect.run/1"


@dataclass(frozen=True)
class Finished:
    """A picture that is done: its record as written, and the state of its file at that time."""

    key: PurePosixPath
    stamp: str
    values: Any

    def record(self, class_names: tuple[str, ...]) -> PictureRecord:
        """The record itself; raises FormatError for a journal of other classes."""
        return record_from_dict(self.values, class_names, self.key)


def fingerprint(choices: Mapping[str, Any]) -> str:
    """A short name for all choices that change results: two runs may only be joined if it is the same."""
    return hashlib.sha256(json.dumps(choices, sort_keys=True, default=str).encode()).hexdigest()[:16]


def file_stamp(path: Path | None) -> str:
    """Changes when the file does; empty for what is no file."""
    if path is None or not path.is_file():
        return ""
    state = path.stat()
    return f"{state.st_size}-{state.st_mtime_ns}"


def has_journal(folder: Path) -> bool:
    """Whether a run in `folder` has not come to its end."""
    return (folder / JOURNAL_NAME).is_file()


def read_journal(folder: Path, run_fingerprint: str) -> dict[PurePosixPath, Finished]:
    """Key -> what an earlier run in `folder` finished; empty when there is no journal.

    Raises:
        OutputError: the earlier run had other settings.
    """
    lines = _whole_lines(folder / JOURNAL_NAME)
    header = next(lines, None)
    if header is None:
        return {}
    if header != _header(run_fingerprint):
        raise OutputError(
            f"{folder}: the run to resume had another checkpoint, other thresholds or other formats; "
            "give the same options, or leave --resume out and use --overwrite"
        )
    finished = {}
    for line in lines:
        entry = Finished(PurePosixPath(line["key"]), line["stamp"], line["record"])
        finished[entry.key] = entry
    return finished


def _whole_lines(path: Path) -> Iterator[Any]:
    """The lines of the journal; one that was cut off when the run was killed ends it."""
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return
    for line in text.splitlines(keepends=True):
        if not line.endswith("\n"):
            return
        try:
            yield json.loads(line)
        except ValueError:
            return


def _header(run_fingerprint: str) -> dict[str, str]:
    return {"schema": _SCHEMA, "fingerprint": run_fingerprint}


class Journal:
    """Takes down finished pictures."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def append(self, record: PictureRecord, stamp: str) -> None:
        """Note that all files of this picture are whole."""
        self.append_finished(Finished(record.key, stamp, record_to_dict(record)))

    def append_finished(self, entry: Finished) -> None:
        """Note what an earlier journal said."""
        self._write({"key": str(entry.key), "stamp": entry.stamp, "record": entry.values})

    def _write(self, line: Mapping[str, Any]) -> None:
        self._stream.write(json.dumps(line, allow_nan=False) + "\n")
        self._stream.flush()


@contextmanager
def open_journal(folder: Path, run_fingerprint: str, finished: Mapping[PurePosixPath, Finished]) -> Iterator[Journal]:
    """A journal in `folder` that begins with what is finished; stays until `remove_journal`.

    Raises:
        OutputError: the system refuses to write.
    """
    path = folder / JOURNAL_NAME
    with explained_writing(path):
        folder.mkdir(parents=True, exist_ok=True)
        stream = path.open("w", encoding="utf-8")
    with stream:
        journal = Journal(stream)
        journal._write(_header(run_fingerprint))
        for entry in finished.values():
            journal.append_finished(entry)
        yield journal


def remove_journal(folder: Path) -> None:
    """The run has come to its end."""
    (folder / JOURNAL_NAME).unlink(missing_ok=True)
