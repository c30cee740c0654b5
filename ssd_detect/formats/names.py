"""The output formats that hold text, by the names that users give them. Importing this loads no format."""

from collections.abc import Callable, Iterator
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple, cast

if TYPE_CHECKING:
    from ssd_detect.formats.reading import ReadRecord, ReadSettings
    from ssd_detect.formats.record import DetectionsWriter, OutputSettings


class TextFormat(NamedTuple):
    """Where a format lives.

    Args:
        module: of this package.
        writer: what makes its writer from `OutputSettings`.
        reader: what reads it by `ReadSettings`.
    """

    module: str
    writer: str
    reader: str

    def make_writer(self, settings: "OutputSettings") -> "DetectionsWriter":
        """A writer, to be used in a `with` block.

        Raises:
            FormatError: `coco` only: the annotation file of the settings is missing or damaged.
            SettingError: `coco` only: a class has no category there.
        """
        return cast("DetectionsWriter", self._part(self.writer)(settings))

    def read(self, settings: "ReadSettings") -> "Iterator[ReadRecord]":
        """The pictures that were written.

        Raises:
            FormatError: from the iterator: a file is missing, damaged or of another kind.
        """
        return cast("Iterator[ReadRecord]", self._part(self.reader)(settings))

    def _part(self, name: str) -> Any:
        return getattr(import_module(f"ssd_detect.formats.{self.module}"), name)


_TEXT_FORMATS = {
    "json": TextFormat("json_files", "JsonFilesWriter", "read_json_files"),
    "jsonl": TextFormat("jsonl", "JsonLinesWriter", "read_json_lines"),
    "csv": TextFormat("csv_table", "CsvWriter", "read_csv"),
    "coco": TextFormat("coco", "coco_writer", "read_coco"),
    "voc": TextFormat("voc", "VocWriter", "read_voc"),
    "yolo": TextFormat("yolo", "YoloWriter", "read_yolo"),
}

WRITERS: "dict[str, Callable[[OutputSettings], DetectionsWriter]]" = {
    name: form.make_writer for name, form in _TEXT_FORMATS.items()
}
READERS: "dict[str, Callable[[ReadSettings], Iterator[ReadRecord]]]" = {
    name: form.read for name, form in _TEXT_FORMATS.items()
}
