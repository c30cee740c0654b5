"""COCO: `<folder>/detections.coco.json`, in one of two forms.

Without an annotation file: a complete object with `info`, `categories`, `annotations` and `images`. Ids count from 1;
`file_name` is the picture as the user named it; a picture without detections has its entry in `images`. Category ids
are the network's class ids; the 80 classes of COCO, in any known spelling, get COCO's own ids, 1 to 90 with gaps.

With `coco_images`: the list of results that pycocotools' `loadRes` takes, with the picture and category ids of that
file. It has no place for pictures without detections; they are those of the file that the list does not name.

Boxes are x, y, width, height in pixels with at most 3 decimals; areas and scores have at most 6.
"""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ssd_detect.classes import COCO80, COCO91, find_class_ids
from ssd_detect.detections import BOX_DECIMALS
from ssd_detect.errors import OutputError, SettingError, UnknownClassError
from ssd_detect.formats.coco_images import AnnotationFile, PictureId, PictureIds, picture_id_of
from ssd_detect.formats.file_reading import explained_reading
from ssd_detect.formats.json_values import four_numbers, items, number, parse_json, text, whole
from ssd_detect.formats.reading import ReadRecord, ReadSettings, detections_of
from ssd_detect.formats.record import OutputSettings, PictureRecord
from ssd_detect.formats.rounding import Box, Row, rounded_rows
from ssd_detect.formats.writer import GrowingFile, SharedFileWriter, nameless_stream

COCO_FILE_NAME = "detections.coco.json"
_AREA_DECIMALS = 2 * BOX_DECIMALS


def coco_writer(settings: OutputSettings) -> "CocoWriter | CocoResultsWriter":
    """The writer of the form that the settings ask for.

    Raises:
        FormatError: the annotation file is missing or damaged.
        SettingError: a class that can be found has no category in the annotation file.
    """
    return CocoWriter(settings) if settings.coco_images is None else CocoResultsWriter(settings)


def coco_category_ids(class_names: Sequence[str]) -> dict[int, int]:
    """Class id -> category id, for all classes but the background and COCO's unused numbers."""
    ids = {i: i for i, name in enumerate(class_names) if i != 0 and not _is_unused(name, class_names)}
    if len(class_names) != len(COCO80):
        return ids
    try:
        sparse = find_class_ids(class_names[1:], COCO91)
    except UnknownClassError:
        return ids
    return dict(zip(ids, sparse, strict=True)) if len(set(sparse)) == len(ids) else ids


def _is_unused(name: str, class_names: Sequence[str]) -> bool:
    return tuple(class_names) == COCO91 and name.startswith("unused ")


def _result(row: Row, picture_id: PictureId, category_id: int) -> dict[str, Any]:
    return {
        "image_id": picture_id,
        "category_id": category_id,
        "bbox": list(_bbox_xywh(row.box)),
        "score": row.score,
    }


def _bbox_xywh(box: Box) -> Box:
    x0, y0, x1, y1 = box
    return x0, y0, round(x1 - x0, BOX_DECIMALS), round(y1 - y0, BOX_DECIMALS)


class _List:
    """A JSON list under way in a file: one item a line, commas between."""

    def __init__(self, file: GrowingFile) -> None:
        self.file = file
        self.length = 0

    def extend(self, values: Sequence[dict[str, Any]]) -> None:
        """Write the items, all or, when it raises, none."""
        lines = ",\n".join(json.dumps(value, allow_nan=False) for value in values)
        if lines:
            self.file.append(((",\n" if self.length else "\n") + lines).encode("ascii"))
            self.length += len(values)

    @contextmanager
    def all_or_nothing(self) -> Iterator[None]:
        """When the block raises, what it added is taken back."""
        length = self.length
        try:
            with self.file.all_or_nothing():
                yield
        except BaseException:
            self.length = length
            raise


class CocoWriter(SharedFileWriter):
    """Writes the complete object. Annotations are streamed; the entries of `images` wait in a nameless file."""

    def __init__(self, settings: OutputSettings) -> None:
        super().__init__(settings, COCO_FILE_NAME)
        self._category_ids = coco_category_ids(settings.class_names)
        self._annotations = _List(self.file)
        self._pictures = _List(GrowingFile(self.target))

    @contextmanager
    def opened(self) -> Iterator[None]:
        """The object is open within, info and categories written; the pictures follow at the end."""
        with (
            super().opened(),
            nameless_stream(self.settings.folder) as stream,
            self._pictures.file.opened(stream),
        ):
            self.file.append(self._head())
            yield
            self.file.append(b'\n],\n"images": [')
            for chunk in self._pictures.file.chunks():
                self.file.append(chunk)
            self.file.append(b"\n]}\n")

    def _head(self) -> bytes:
        info = {"description": "Detections of ssd-detect", **self.settings.provenance.to_dict()}
        categories = [{"id": i, "name": self.settings.class_names[k]} for k, i in self._category_ids.items()]
        lines = ",\n".join(json.dumps(category) for category in categories)
        head = f'{{"info": {json.dumps(info, allow_nan=False)},\n"categories": [\n{lines}\n],\n"annotations": ['
        return head.encode("ascii")

    def append(self, record: PictureRecord) -> None:
        """Write one picture's annotations, and note the picture.

        Raises:
            OutputError: the system refuses; what was written before stays whole.
        """
        picture_id = self._pictures.length + 1
        with self._pictures.all_or_nothing():
            self._pictures.extend([_picture(record, picture_id)])
            self._annotations.extend(
                [
                    _annotation(annotation_id, _result(row, picture_id, self._category_ids[row.class_id]))
                    for annotation_id, row in enumerate(rounded_rows(record.detections), self._annotations.length + 1)
                ]
            )


def _picture(record: PictureRecord, picture_id: int) -> dict[str, Any]:
    width, height = record.detections.size
    checksum = {} if record.sha256 is None else {"sha256": record.sha256}
    return {"id": picture_id, "file_name": record.file, "width": width, "height": height, **checksum}


def _annotation(annotation_id: int, result: dict[str, Any]) -> dict[str, Any]:
    _, _, width, height = result["bbox"]
    return {"id": annotation_id, **result, "area": round(width * height, _AREA_DECIMALS), "iscrowd": 0}


class CocoResultsWriter(SharedFileWriter):
    """Writes the list of results that belongs to an annotation file."""

    def __init__(self, settings: OutputSettings) -> None:
        super().__init__(settings, COCO_FILE_NAME)
        if settings.coco_images is None:
            raise SettingError("a COCO list of results needs the annotation file that it belongs to")
        annotations = AnnotationFile.read(settings.coco_images)
        self._category_ids = annotations.category_ids(_findable(settings))
        self._picture_ids = PictureIds(annotations)
        self._owners: dict[PictureId, str] = {}
        self._results = _List(self.file)

    @contextmanager
    def opened(self) -> Iterator[None]:
        """The list is open within."""
        with super().opened():
            self.file.append(b"[")
            yield
            self.file.append(b"\n]\n")

    def append(self, record: PictureRecord) -> None:
        """Write one picture's results.

        Raises:
            OutputError: the annotation file does not have just one picture of its own for this input, or no category
                for a class; or the system refuses, and what was written before stays whole.
        """
        picture_id = self._picture_ids.find(record.file)
        if picture_id in self._owners:
            raise OutputError(
                f"{record.file}: is the same picture in {self.settings.coco_images} as {self._owners[picture_id]}"
            )
        rows = rounded_rows(record.detections)
        self._results.extend([_result(row, picture_id, self._category_id(row.class_name)) for row in rows])
        self._owners[picture_id] = record.file

    def _category_id(self, class_name: str) -> int:
        if class_name not in self._category_ids:
            raise OutputError(f"{self.settings.coco_images}: has no category for the class {class_name!r}")
        return self._category_ids[class_name]


def _findable(settings: OutputSettings) -> list[str]:
    """The classes that the run may report."""
    names, chosen = settings.class_names, settings.provenance.settings
    wanted, unwanted = find_class_ids(chosen.classes, names), find_class_ids(chosen.exclude_classes, names)
    return [names[i] for i in coco_category_ids(names) if (i in wanted or not wanted) and i not in unwanted]


def read_coco(settings: ReadSettings) -> Iterator[ReadRecord]:
    """The pictures of `<folder>/detections.coco.json`; see `read_coco_file`."""
    return read_coco_file(settings.folder / COCO_FILE_NAME, settings.class_names, settings.coco_images)


def read_coco_file(
    path: Path, class_names: Sequence[str] | None, coco_images: Path | None = None
) -> Iterator[ReadRecord]:
    """The pictures of a file, in the order of its `images` or of `coco_images`.

    An annotation without a score counts as certain: 1.

    Args:
        path: the file, of either form.
        class_names: of the detections, background first; None: the file's categories, in the order of their ids.
        coco_images: the annotation file that a list of results belongs to.

    Raises:
        FormatError: a file is missing or damaged, or the pictures and categories of the results are not there.
    """
    with explained_reading(path):
        value = parse_json(path.read_text(encoding="utf-8-sig"), with_nan=True)  # told with its picture
        annotations, results = _parts(value, path, coco_images)
        of_picture = _by_picture(results, annotations)
        class_names = annotations.class_names if class_names is None else class_names
        class_ids = _class_ids(annotations, class_names)
    for picture_id, entry in annotations.pictures:
        with explained_reading(f"{path}: {entry['file_name']}"):
            rows = [_row(result, class_ids, class_names) for result in of_picture[picture_id]]
            size = whole(entry, "width"), whole(entry, "height")
            detections = detections_of(rows, size, class_names)
            sha256 = text(entry, "sha256") if "sha256" in entry else None
        yield ReadRecord(entry["file_name"], detections, sha256=sha256)


def _parts(value: Any, path: Path, coco_images: Path | None) -> tuple[AnnotationFile, list[Any]]:
    """The pictures and categories, and the results."""
    if not isinstance(value, list):
        return AnnotationFile.of(value, path), items(value, "annotations")
    if coco_images is None:
        raise ValueError("is a list of results; its pictures are in the annotation file, which was not named")
    return AnnotationFile.read(coco_images), value


def _by_picture(results: list[Any], annotations: AnnotationFile) -> dict[PictureId, list[Any]]:
    of_picture: dict[PictureId, list[Any]] = {picture_id: [] for picture_id, _ in annotations.pictures}
    foreign: list[Any] = []
    for result in results:
        picture_id = picture_id_of(result, "image_id")
        of_picture.get(picture_id, foreign).append(result)
    if foreign:
        count = f"{len(foreign)} of {len(results)} results are of pictures"
        raise ValueError(f"{count} that {annotations.path} does not have, the first of {foreign[0]['image_id']!r}")
    return of_picture


def _class_ids(annotations: AnnotationFile, class_names: Sequence[str]) -> dict[int, int]:
    """Category id -> class id; the first class where several have one category."""
    ids: dict[int, int] = {}
    for class_id in coco_category_ids(class_names):
        category_id = annotations.category_id(class_names[class_id])
        if category_id is not None:
            ids.setdefault(category_id, class_id)
    return ids


def _row(result: Any, class_ids: dict[int, int], class_names: Sequence[str]) -> Row:
    category_id = whole(result, "category_id")
    if category_id not in class_ids:
        raise ValueError(f"category {category_id} is none of the classes")
    x, y, width, height = four_numbers(result, "bbox")
    box = x, y, round(x + width, BOX_DECIMALS), round(y + height, BOX_DECIMALS)
    score = number(result, "score") if "score" in result else 1.0
    return Row(class_names[class_ids[category_id]], class_ids[category_id], score, box)
