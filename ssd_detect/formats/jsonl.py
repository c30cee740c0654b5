"""JSON lines: one object a picture, also for a picture without detections. `schema/` describes the object.

Scores have at most 6 decimals, coordinates at most 3. Text is written in ASCII, so that a file name in any encoding,
and any terminal, can be written; a file name that is no UTF-8 has its odd bytes as the escapes `\\udc80` to `\\udcff`.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath
from typing import Any, TextIO

from ssd_detect.formats.file_reading import explained_reading
from ssd_detect.formats.json_detections import detections_from, detections_to_dict
from ssd_detect.formats.json_text import json_line
from ssd_detect.formats.json_values import check_schema, file_name, parse_json, text
from ssd_detect.formats.provenance import Provenance
from ssd_detect.formats.reading import ReadRecord, ReadSettings
from ssd_detect.formats.record import OutputSettings, PictureRecord
from ssd_detect.formats.writer import SharedFileWriter

SCHEMA = "ssd-detect.detections/1"
_FILE_NAME = "detections.jsonl"


def record_to_dict(record: PictureRecord) -> dict[str, Any]:
    """Plain values: file, sha256 where known, width, height, detections."""
    checksum = {} if record.sha256 is None else {"sha256": record.sha256}
    return {"file": record.file, **checksum, **detections_to_dict(record.detections)}


def record_from_dict(value: Any, class_names: Sequence[str], key: PurePosixPath) -> PictureRecord:
    """The record that `record_to_dict` was given, with rounded numbers.

    Raises:
        FormatError: a member is missing or of the wrong kind, or the results contradict themselves or the class list.
    """
    with explained_reading(f"the results of {key}"):
        read = _record(value, class_names)
    return PictureRecord(read.file, key, read.detections, read.sha256)


def to_json(record: PictureRecord, provenance: Provenance) -> dict[str, Any]:
    """The object of one picture: schema, record, tool, checkpoint, thresholds."""
    return {"schema": SCHEMA, **record_to_dict(record), **provenance.to_dict()}


def from_json(content: str, class_names: Sequence[str]) -> ReadRecord:
    """Read the text of that object back. Members that this version does not know are passed over.

    Raises:
        ValueError: not JSON, of another schema, or as `record_from_dict`.
    """
    value = parse_json(content)
    check_schema(value, SCHEMA)
    return _record(value, class_names)


def _record(value: Any, class_names: Sequence[str]) -> ReadRecord:
    file, detections = file_name(value, "file"), detections_from(value, class_names)
    return ReadRecord(file, detections, sha256=text(value, "sha256") if "sha256" in value else None)


class JsonLinesStream:
    """Appends one line a picture to an open text stream, such as standard output, and leaves the stream open."""

    def __init__(self, stream: TextIO, provenance: Provenance) -> None:
        self._stream = stream
        self._provenance = provenance

    def append(self, record: PictureRecord) -> None:
        """Write one picture's line and hand it on at once.

        Raises:
            OSError: the stream refuses, for instance since nobody reads it any more.
        """
        self._stream.write(json_line(to_json(record, self._provenance)))
        self._stream.flush()


class JsonLinesWriter(SharedFileWriter):
    """Writes `<folder>/detections.jsonl`, or another name there."""

    def __init__(self, settings: OutputSettings, file_name: str = _FILE_NAME) -> None:
        super().__init__(settings, file_name)

    def append(self, record: PictureRecord) -> None:
        """Write one picture's line.

        Raises:
            OutputError: the system refuses; the lines before stay whole.
        """
        self.file.append(json_line(to_json(record, self.settings.provenance)).encode("ascii"))


def open_json_lines(path: Path, provenance: Provenance, *, overwrite: bool) -> JsonLinesWriter:
    """A writer to `path`; the file appears whole when its block ends well.

    Raises:
        OutputError: at the block's beginning or end: the file exists and `overwrite` is off, or the system refuses.
    """
    settings = OutputSettings(path.parent, (), provenance, overwrite)  # each record brings its class names
    return JsonLinesWriter(settings, path.name)


def read_json_lines_file(path: Path, class_names: Sequence[str]) -> Iterator[ReadRecord]:
    """The pictures of one file of JSON lines, in its order.

    Raises:
        FormatError: the file is missing, or a line is damaged, of another schema, or of other classes.
    """
    with explained_reading(path), path.open(encoding="utf-8-sig", newline="\n") as lines:
        for line_number, line in enumerate(lines, 1):
            with explained_reading(f"{path}, line {line_number}"):
                record = from_json(line, class_names)
            yield record


def read_json_lines(settings: ReadSettings) -> Iterator[ReadRecord]:
    """The pictures of `<folder>/detections.jsonl`, in its order.

    Raises:
        FormatError: as `read_json_lines_file`.
    """
    return read_json_lines_file(settings.folder / _FILE_NAME, settings.class_names)
