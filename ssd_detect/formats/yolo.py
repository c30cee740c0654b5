"""YOLO: `<folder>/<key>.txt`, a line `class x_center y_center width height score` a detection, none when nothing was
found; and `<folder>/classes.txt`, a class name a line.

Classes count from 0, without the background. Centre and size are shares of the picture's sides, 0 to 1 with 6 decimals,
a size at least 0.000001; so in a picture 10,000 pixels wide a side lies within 0.01 pixels. The format holds neither
the picture's name nor its size. A line break within a class name stands as a blank in `classes.txt`.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path, PurePosixPath

from ssd_detect.detections import SCORE_DECIMALS
from ssd_detect.errors import FormatError, OutputError
from ssd_detect.files import check_target
from ssd_detect.formats.file_reading import explained_reading, own_files
from ssd_detect.formats.reading import ReadRecord, ReadSettings, detections_of
from ssd_detect.formats.record import PictureRecord
from ssd_detect.formats.rounding import Row, rounded_rows
from ssd_detect.formats.writer import OwnFileWriter, write_whole

SHARE_DECIMALS = 6
_LEAST_SHARE = 10.0**-SHARE_DECIMALS
_CLASSES_KEY = PurePosixPath("classes")


class YoloWriter(OwnFileWriter):
    """Writes one text file a picture, and the class names at the end."""

    suffix = ".txt"

    def shared_targets(self) -> list[Path]:
        """The file of class names."""
        return [self.settings.folder / f"{_CLASSES_KEY}{self.suffix}"]

    @contextmanager
    def opened(self) -> Iterator[None]:
        """The class names are written when the block has ended well."""
        (target,) = self.shared_targets()
        check_target(target, overwrite=self.settings.overwrite)
        yield
        content = "".join(f"{line}\n" for line in _class_lines(self.settings.class_names)).encode()
        write_whole(target, content, overwrite=self.settings.overwrite)

    def append(self, record: PictureRecord) -> None:
        """Write the picture's file.

        Raises:
            OutputError: as for every format; or the picture's file would be that of the class names.
        """
        if str(record.key).casefold() == str(_CLASSES_KEY):
            raise OutputError(f"{record.file}: its results would stand in classes.txt, which names the classes")
        super().append(record)

    def content(self, record: PictureRecord) -> bytes:
        """A line a detection."""
        return "".join(_line(row, record.detections.size) for row in rounded_rows(record.detections)).encode("ascii")


def _class_lines(class_names: Sequence[str]) -> list[str]:
    return [" ".join(name.splitlines()) for name in class_names[1:]]


def _line(row: Row, size: tuple[int, int]) -> str:
    x_center, width = _centre_and_length(row.box[0], row.box[2], size[0])
    y_center, height = _centre_and_length(row.box[1], row.box[3], size[1])
    shares = " ".join(f"{share:.{SHARE_DECIMALS}f}" for share in (x_center, y_center, width, height))
    return f"{row.class_id - 1} {shares} {row.score:.{SCORE_DECIMALS}f}\n"


def _centre_and_length(low: float, high: float, side: int) -> tuple[float, float]:
    """Both as shares of the picture's side."""
    return (low + high) / 2 / side, max((high - low) / side, _LEAST_SHARE)


def read_yolo(settings: ReadSettings) -> Iterator[ReadRecord]:
    """The pictures of all text files below the folder, sorted by key; `file` is the key.

    A line without a score counts as certain: 1.

    Raises:
        FormatError: a file is damaged, `classes.txt` names other classes, or no `size_of` was given.
    """
    _check_classes(settings)
    for key, path in own_files(settings.folder, YoloWriter.suffix):
        if key == _CLASSES_KEY:
            continue
        if settings.size_of is None:
            raise FormatError(f"{path}: YOLO files do not hold the picture's size, and none was given")
        size = settings.size_of(key)
        rows = list(_rows(path, size, settings.class_names))
        with explained_reading(path):
            detections = detections_of(rows, size, settings.class_names)
        yield ReadRecord(str(key), detections, key=key)


def _check_classes(settings: ReadSettings) -> None:
    path = settings.folder / f"{_CLASSES_KEY}{YoloWriter.suffix}"
    if not path.exists():
        return
    with explained_reading(path):
        lines = path.read_text(encoding="utf-8-sig").removesuffix("\n").split("\n")
        if lines != _class_lines(settings.class_names):
            raise ValueError("names other classes than the class list; these results are of another checkpoint")


def _rows(path: Path, size: tuple[int, int], class_names: Sequence[str]) -> Iterator[Row]:
    with explained_reading(path):
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    for line_number, line in enumerate(lines, 1):
        with explained_reading(f"{path}, line {line_number}"):
            row = _row(line.split(), size, class_names)
        yield row


def _row(fields: Sequence[str], size: tuple[int, int], class_names: Sequence[str]) -> Row:
    if len(fields) not in (5, 6):
        raise ValueError(f"has {len(fields)} fields, expected 5 or 6")
    class_id = int(fields[0]) + 1
    if not 1 <= class_id < len(class_names):
        raise ValueError(f"has the class {class_id - 1}, expected 0 to {len(class_names) - 2}")
    x_center, y_center, width, height, score = map(float, [*fields[1:], "1"][:5])
    (x0, x1), (y0, y1) = _ends(x_center, width, size[0]), _ends(y_center, height, size[1])
    return Row(class_names[class_id], class_id, score, (x0, y0, x1, y1))


def _ends(centre: float, length: float, side: int) -> tuple[float, float]:
    """Both ends in pixels; what rounding has put outside the picture is moved to its border."""
    low, high = centre - length / 2, centre + length / 2
    if not -_LEAST_SHARE <= low < high <= 1 + _LEAST_SHARE:
        raise ValueError(f"has a box from {low:g} to {high:g}, expected one within 0 to 1")
    return max(low, 0.0) * side, min(high, 1.0) * side
