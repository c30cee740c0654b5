"""JSON lines: one object a picture, also for a picture without detections."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from ssd_detect.detections import Detections
from ssd_detect.files import explained_writing, whole_file
from ssd_detect.formats.provenance import Provenance

SCHEMA = "ssd-detect.detections/1"


class JsonLinesWriter:
    """Appends one line a picture to a text stream."""

    def __init__(self, stream: TextIO, provenance: Provenance) -> None:
        self._stream = stream
        self._provenance = provenance.to_dict()

    def append(self, file: str, detections: Detections) -> None:
        """Write the detections of the picture `file`."""
        record = {"schema": SCHEMA, "file": file, **detections.to_dict(), **self._provenance}
        # ASCII, so that a file name in any encoding, and any terminal, can be written.
        self._stream.write(json.dumps(record, allow_nan=False) + "\n")
        self._stream.flush()


@contextmanager
def open_json_lines(path: Path, provenance: Provenance, *, overwrite: bool) -> Iterator[JsonLinesWriter]:
    """A writer to `path`; the file appears whole when the block ends well.

    Raises:
        OutputError: the file exists and `overwrite` is off, or the system refuses.
    """
    with whole_file(path, overwrite=overwrite) as temporary:
        with explained_writing(path):
            stream = temporary.open("w", encoding="utf-8")
        with stream:
            yield JsonLinesWriter(stream, provenance)
