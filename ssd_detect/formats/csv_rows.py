"""Rows of CSV tables, and the fields of one detection, the last seven of every table's rows.

UTF-8, commas, `"` around fields that need it, rows end in a line feed. Scores have 6 decimals, coordinates 3.
"""

import csv
import io
from collections.abc import Iterable, Iterator, Sequence

from ssd_detect.detections import BOX_DECIMALS, SCORE_DECIMALS
from ssd_detect.formats.json_values import LARGEST
from ssd_detect.formats.rounding import Row

DETECTION_HEADER = ("class", "class_id", "score", "x0", "y0", "x1", "y1")
NOTHING_FOUND = ("",) * len(DETECTION_HEADER)


def csv_lines(rows: Iterable[Sequence[str]]) -> bytes:
    """The rows as they stand in the file."""
    lines = io.StringIO(newline="")
    plain = csv.writer(lines, lineterminator="\n")
    quoted = csv.writer(lines, lineterminator="\n", quoting=csv.QUOTE_ALL)
    for row in rows:
        # Before Python 3.13, csv leaves a carriage return without quotes unless it ends the rows.
        (quoted if any("\r" in field for field in row) else plain).writerow(row)
    return lines.getvalue().encode("utf-8")


def csv_rows(lines: Iterable[str], header: tuple[str, ...]) -> Iterator[list[str]]:
    """The rows after the header.

    Raises:
        ValueError: another header, a row of another length, or no CSV.
    """
    reader = csv.reader(lines, strict=True)
    try:
        if tuple(next(reader, ())) != header:
            raise ValueError(f"does not begin with the header {','.join(header)}")
        for row in reader:
            if len(row) != len(header):
                raise ValueError(f"line {reader.line_num} has {len(row)} fields, expected {len(header)}")
            yield row
    except csv.Error as error:
        raise ValueError(f"line {reader.line_num}: {error}") from error


def with_detections(leading: tuple[str, ...], found: Iterable[Row]) -> list[tuple[str, ...]]:
    """The rows of one picture or frame, which all begin with the same fields: one a detection, at least one."""
    return [(*leading, *fields) for fields in [_fields(row) for row in found] or [NOTHING_FOUND]]


def _fields(row: Row) -> tuple[str, ...]:
    box = (f"{v:.{BOX_DECIMALS}f}" for v in row.box)
    return (row.class_name, str(row.class_id), f"{row.score:.{SCORE_DECIMALS}f}", *box)


def detections_in(rows: Iterable[Sequence[str]]) -> list[Row]:
    """The detections in the rows of one picture or frame.

    Raises:
        ValueError: a field is no number.
    """
    endings = [tuple(row[-len(NOTHING_FOUND) :]) for row in rows]
    return [_row(fields) for fields in endings if fields != NOTHING_FOUND]


def _row(fields: Sequence[str]) -> Row:
    class_name, class_id, score, *box = fields
    x0, y0, x1, y1 = map(number_field, box)
    return Row(class_name, whole_field(class_id), number_field(score), (x0, y0, x1, y1))


def whole_field(field: str) -> int:
    """The whole number from 0 that a field holds.

    Raises:
        ValueError: it holds none, or one of ten digits or more.
    """
    if not (field.isascii() and field.isdigit() and len(field) < 10):
        raise ValueError(f"found {field!r}, expected a whole number")
    return int(field)


def number_field(field: str) -> float:
    """The number that a field holds.

    Raises:
        ValueError: it holds none, or one beyond `LARGEST`.
    """
    value = float(field)
    if not abs(value) <= LARGEST:
        raise ValueError(f"found {field!r}, expected a number")
    return value
