"""CSV of videos: a header, then one row a detection; a frame without detections has one row whose detection fields are
empty. Rows look as `csv_rows` says; a file name that is no UTF-8 stands as `file_names` says.

Times have 6 decimals; `detected` is `true` or `false`. The rows of a frame stand together, and a video may occur once.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

from ssd_detect.formats.csv_rows import (
    DETECTION_HEADER,
    csv_lines,
    csv_rows,
    detections_in,
    number_field,
    whole_field,
    with_detections,
)
from ssd_detect.formats.file_names import name_to_text, text_to_name
from ssd_detect.formats.file_reading import explained_reading
from ssd_detect.formats.frame_record import FrameRecord
from ssd_detect.formats.frame_writer import FrameFileWriter
from ssd_detect.formats.json_detections import row_of
from ssd_detect.formats.reading import detections_of
from ssd_detect.formats.rounding import SECONDS_DECIMALS
from ssd_detect.formats.video_head import VideoHead

_FRAME_HEADER = ("file", "frame", "time", "detected", "width", "height")
FRAMES_HEADER = (*_FRAME_HEADER, *DETECTION_HEADER)
_TRUTH = {"true": True, "false": False}


class FrameCsvWriter(FrameFileWriter):
    """Writes the table; `FrameFileWriter` says how it is used."""

    def opening(self) -> bytes:
        """The header."""
        return csv_lines([FRAMES_HEADER])

    def head(self, video: VideoHead) -> bytes:
        """Nothing: the table holds frames only."""
        return b""

    def frame(self, values: Mapping[str, Any]) -> bytes:
        """The rows of the frame."""
        return csv_lines(with_detections(_leading(values), map(row_of, values["detections"])))


def _leading(values: Mapping[str, Any]) -> tuple[str, ...]:
    time, detected = f"{values['time']:.{SECONDS_DECIMALS}f}", "true" if values["detected"] else "false"
    size = str(values["width"]), str(values["height"])
    return name_to_text(values["file"]), str(values["frame"]), time, detected, *size


def read_frame_csv(path: Path, class_names: Sequence[str]) -> Iterator[FrameRecord]:
    """The frames of the table, in its order.

    Raises:
        FormatError: the file is missing or damaged, or is of a checkpoint with other classes.
    """
    with explained_reading(path), path.open(encoding="utf-8-sig", newline="") as lines:
        for leading, rows in groupby(csv_rows(lines, FRAMES_HEADER), lambda row: row[: len(_FRAME_HEADER)]):
            with explained_reading(f"{path}: {leading[0]}, frame {leading[1]}"):
                record = _record(leading, list(rows), class_names)
            yield record


def _record(leading: Sequence[str], rows: Sequence[Sequence[str]], class_names: Sequence[str]) -> FrameRecord:
    file, index, time, detected, width, height = leading
    if detected not in _TRUTH:
        raise ValueError(f"found {detected!r}, expected true or false")
    detections = detections_of(detections_in(rows), (whole_field(width), whole_field(height)), class_names)
    return FrameRecord(text_to_name(file), whole_field(index), number_field(time), detections, _TRUTH[detected])
