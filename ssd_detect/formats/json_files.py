"""JSON files: `<folder>/<key>.json`, one a picture, the object of a JSON line in readable form."""

from collections.abc import Iterator
from dataclasses import replace

from ssd_detect.formats.coco import COCO_FILE_NAME
from ssd_detect.formats.file_reading import explained_reading, own_files
from ssd_detect.formats.json_text import json_file
from ssd_detect.formats.jsonl import from_json, to_json
from ssd_detect.formats.reading import ReadRecord, ReadSettings
from ssd_detect.formats.record import PictureRecord
from ssd_detect.formats.writer import OwnFileWriter


class JsonFilesWriter(OwnFileWriter):
    """Writes one JSON file a picture."""

    suffix = ".json"

    def content(self, record: PictureRecord) -> bytes:
        """The object, indented by two blanks."""
        return json_file(to_json(record, self.settings.provenance))


def read_json_files(settings: ReadSettings) -> Iterator[ReadRecord]:
    """The pictures of all JSON files below the folder, sorted by key.

    Raises:
        FormatError: a file is damaged, of another schema, or of a checkpoint with other classes.
    """
    for key, path in own_files(settings.folder, JsonFilesWriter.suffix):
        if path != settings.folder / COCO_FILE_NAME:  # of another format, which may share the folder
            with explained_reading(path):
                record = from_json(path.read_text(encoding="utf-8-sig"), settings.class_names)
            yield replace(record, key=key)
