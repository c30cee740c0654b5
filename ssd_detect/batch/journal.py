"""The journal of a run: what is finished, line by line, so that `--resume` can go on after anything.

A line is written after all files of its picture have their final names, so what stands in the journal is whole; the
picture at which a run was killed is simply done again. The journal stays beside the results: `--resume` can then also
retry what failed, take in new inputs, and see that results are of other settings.
"""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any, TextIO

from ssd_detect.errors import OutputError
from ssd_detect.files import explained_writing, whole_file
from ssd_detect.formats.jsonl import record_from_dict, record_to_dict
from ssd_detect.formats.record import PictureRecord

JOURNAL_NAME = ".ssd-detect-run.jsonl"
_SCHEMA = "ssd-detect.run/1"
_END = {"end": True}


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


def has_journal(folder: Path) -> bool:
    """Whether a run has written into `folder`."""
    return (folder / JOURNAL_NAME).is_file()


def is_unfinished(folder: Path) -> bool:
    """Whether the run that has written into `folder` was broken off."""
    lines = list(_whole_lines(folder / JOURNAL_NAME))
    return bool(lines) and lines[-1] != _END


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
            f"{folder}: the run to resume had another checkpoint, other thresholds, other formats, another precision "
            "(or its engine or calibration) or other options; give the same options, or leave --resume out and use "
            "--overwrite"
        )
    finished = {}
    for line in lines:
        if line == _END:
            continue
        entry = Finished(PurePosixPath(line["key"]), line["stamp"], line["record"])
        finished[entry.key] = entry
    return finished


def _whole_lines(path: Path) -> Iterator[Any]:
    """The lines of the journal; one that was cut off when the run was killed ends it."""
    try:
        text = path.read_text(encoding="utf-8")
    except (FileNotFoundError, NotADirectoryError):
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
    """Takes down finished pictures; the file appears with the first one, behind what an earlier run has finished.

    Args:
        folder: of the results; None keeps no journal.
        run_fingerprint: of the choices that shape them.
        finished: what an earlier run has done.
    """

    def __init__(self, folder: Path | None, run_fingerprint: str, finished: Iterable[Finished]) -> None:
        self._path = None if folder is None else folder / JOURNAL_NAME
        self._head = [_header(run_fingerprint), *map(_entry, finished)]
        self._stream: TextIO | None = None

    def append(self, record: PictureRecord, stamp: str) -> None:
        """Note that all files of this picture are whole.

        Raises:
            OutputError: the system refuses.
        """
        self._write(_entry(Finished(record.key, stamp, record_to_dict(record))))

    def end(self) -> None:
        """Note that every input has been tried."""
        if self._stream is not None or len(self._head) > 1:  # else nothing was ever done
            self._write(_END)

    def close(self) -> None:
        """Close the file."""
        if self._stream is not None:
            self._stream.close()

    def _write(self, line: Mapping[str, Any]) -> None:
        if self._path is None:
            return
        with explained_writing(self._path):
            if self._stream is None:
                with whole_file(self._path, overwrite=True) as temporary:
                    temporary.write_text("".join(map(_line, self._head)), encoding="ascii")
                self._stream = self._path.open("a", encoding="ascii")
            self._stream.write(_line(line))
            self._stream.flush()


def _entry(finished: Finished) -> dict[str, Any]:
    return {"key": str(finished.key), "stamp": finished.stamp, "record": finished.values}


def _line(values: Mapping[str, Any]) -> str:
    return json.dumps(values, allow_nan=False) + "\n"
