"""CSV: `<folder>/detections.csv`, a header and one row a detection; a picture without detections has one row whose
detection fields are empty. Rows look as `csv_rows` says; a file name that is no UTF-8 stands as `file_names` says.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import groupby

from ssd_detect.formats.csv_rows import (
    DETECTION_HEADER,
    csv_lines,
    csv_rows,
    detections_in,
    whole_field,
    with_detections,
)
from ssd_detect.formats.file_names import name_to_text, text_to_name
from ssd_detect.formats.file_reading import explained_reading
from ssd_detect.formats.reading import ReadRecord, ReadSettings, detections_of
from ssd_detect.formats.record import OutputSettings, PictureRecord
from ssd_detect.formats.rounding import rounded_rows
from ssd_detect.formats.writer import SharedFileWriter

_PICTURE_HEADER = ("file", "width", "height")
HEADER = (*_PICTURE_HEADER, *DETECTION_HEADER)
_FILE_NAME = "detections.csv"


class CsvWriter(SharedFileWriter):
    """Writes the table."""

    def __init__(self, settings: OutputSettings) -> None:
        super().__init__(settings, _FILE_NAME)

    @contextmanager
    def opened(self) -> Iterator[None]:
        """The table is open within, its header written."""
        with super().opened():
            self.file.append(csv_lines([HEADER]))
            yield

    def append(self, record: PictureRecord) -> None:
        """Write the rows of one picture.

        Raises:
            OutputError: the system refuses; the rows before stay whole.
        """
        picture = (name_to_text(record.file), *map(str, record.detections.size))
        self.file.append(csv_lines(with_detections(picture, rounded_rows(record.detections))))


def read_csv(settings: ReadSettings) -> Iterator[ReadRecord]:
    """The pictures of the table, in its order; the rows of a picture stand together.

    Raises:
        FormatError: the file is missing or damaged, or is of a checkpoint with other classes.
    """
    path = settings.folder / _FILE_NAME
    with explained_reading(path), path.open(encoding="utf-8-sig", newline="") as lines:
        for picture, rows in groupby(csv_rows(lines, HEADER), lambda row: row[: len(_PICTURE_HEADER)]):
            found = detections_in(rows)
            file, width, height = picture
            with explained_reading(f"{path}: {file}"):
                detections = detections_of(found, (whole_field(width), whole_field(height)), settings.class_names)
            yield ReadRecord(text_to_name(file), detections)
