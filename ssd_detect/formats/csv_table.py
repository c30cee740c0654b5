"""CSV: `<folder>/detections.csv`, a header and one row a detection; a picture without detections has one row whose
detection fields are empty. UTF-8, commas, `"` around fields that need it, rows end in a line feed.

Scores have 6 decimals, coordinates 3. A file name that is no UTF-8 stands as `file_names` says.
"""

import csv
import io
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import groupby

from ssd_detect.detections import BOX_DECIMALS, SCORE_DECIMALS
from ssd_detect.formats.file_names import name_to_text, text_to_name
from ssd_detect.formats.file_reading import explained_reading
from ssd_detect.formats.json_values import LARGEST
from ssd_detect.formats.reading import ReadRecord, ReadSettings, detections_of
from ssd_detect.formats.record import OutputSettings, PictureRecord
from ssd_detect.formats.rounding import Row, rounded_rows
from ssd_detect.formats.writer import SharedFileWriter

HEADER = ("file", "width", "height", "class", "class_id", "score", "x0", "y0", "x1", "y1")
_FILE_NAME = "detections.csv"
_PICTURE_FIELDS = 3
_NOTHING_FOUND = ("",) * (len(HEADER) - _PICTURE_FIELDS)


class CsvWriter(SharedFileWriter):
    """Writes the table."""

    def __init__(self, settings: OutputSettings) -> None:
        super().__init__(settings, _FILE_NAME)

    @contextmanager
    def opened(self) -> Iterator[None]:
        """The table is open within, its header written."""
        with super().opened():
            self.file.append(_lines([HEADER]))
            yield

    def append(self, record: PictureRecord) -> None:
        """Write the rows of one picture.

        Raises:
            OutputError: the system refuses; the rows before stay whole.
        """
        picture = (name_to_text(record.file), *map(str, record.detections.size))
        found = [_fields(row) for row in rounded_rows(record.detections)] or [_NOTHING_FOUND]
        self.file.append(_lines([(*picture, *fields) for fields in found]))


def _fields(row: Row) -> tuple[str, ...]:
    box = (f"{v:.{BOX_DECIMALS}f}" for v in row.box)
    return (row.class_name, str(row.class_id), f"{row.score:.{SCORE_DECIMALS}f}", *box)


def _lines(rows: Iterable[Sequence[str]]) -> bytes:
    lines = io.StringIO(newline="")
    plain = csv.writer(lines, lineterminator="\n")
    quoted = csv.writer(lines, lineterminator="\n", quoting=csv.QUOTE_ALL)
    for row in rows:
        # Before Python 3.13, csv leaves a carriage return without quotes unless it ends the rows.
        (quoted if any("\r" in field for field in row) else plain).writerow(row)
    return lines.getvalue().encode("utf-8")


def read_csv(settings: ReadSettings) -> Iterator[ReadRecord]:
    """The pictures of the table, in its order; the rows of a picture stand together.

    Raises:
        FormatError: the file is missing or damaged, or is of a checkpoint with other classes.
    """
    path = settings.folder / _FILE_NAME
    with explained_reading(path), path.open(encoding="utf-8", newline="") as lines:
        for picture, rows in groupby(_rows(lines), lambda row: row[:_PICTURE_FIELDS]):
            found = [_row(row) for row in rows if tuple(row[_PICTURE_FIELDS:]) != _NOTHING_FOUND]
            file, width, height = picture
            with explained_reading(f"{path}: {file}"):
                detections = detections_of(found, (_whole(width), _whole(height)), settings.class_names)
            yield ReadRecord(text_to_name(file), detections)


def _rows(lines: Iterable[str]) -> Iterator[list[str]]:
    """The rows after the header; raises ValueError."""
    reader = csv.reader(lines, strict=True)
    try:
        if tuple(next(reader, ())) != HEADER:
            raise ValueError(f"does not begin with the header {','.join(HEADER)}")
        for row in reader:
            if len(row) != len(HEADER):
                raise ValueError(f"line {reader.line_num} has {len(row)} fields, expected {len(HEADER)}")
            yield row
    except csv.Error as error:
        raise ValueError(f"line {reader.line_num}: {error}") from error


def _row(fields: Sequence[str]) -> Row:
    class_name, class_id, score, *box = fields[_PICTURE_FIELDS:]
    x0, y0, x1, y1 = map(_number, box)
    return Row(class_name, _whole(class_id), _number(score), (x0, y0, x1, y1))


def _whole(field: str) -> int:
    if not (field.isascii() and field.isdigit() and len(field) < 10):
        raise ValueError(f"found {field!r}, expected a whole number")
    return int(field)


def _number(field: str) -> float:
    value = float(field)
    if not abs(value) <= LARGEST:
        raise ValueError(f"found {field!r}, expected a number")
    return value
