"""Opens a data set of any layout, which its content tells and never its name alone."""

from collections.abc import Callable, Sequence
from pathlib import Path

from ssd_detect.datasets.assembly import assembled
from ssd_detect.datasets.coco import read_coco_dataset
from ssd_detect.datasets.coco_layout import coco_files_in, is_coco_file, one_coco_file
from ssd_detect.datasets.dataset import Dataset, DatasetKind
from ssd_detect.datasets.raw import RawDataset, ReadRequest
from ssd_detect.datasets.rules import ProblemLog
from ssd_detect.datasets.voc import read_voc
from ssd_detect.datasets.voc_layout import find_voc
from ssd_detect.datasets.yolo import read_yolo_dataset
from ssd_detect.datasets.yolo_layout import find_yolo, find_yolo_file, usual_yaml_files
from ssd_detect.errors import FormatError, SettingError
from ssd_detect.filetypes import other_than_file

_EXPECTED = (
    "a VOC folder (Annotations/*.xml and JPEGImages, or XML files beside their pictures), a COCO file (JSON with "
    "images, annotations and categories) or a folder with one, or a YOLO folder (data.yaml, or images and labels)"
)


def open_dataset(
    path: Path,
    *,
    split: str | None = None,
    class_names: Sequence[str] | None = None,
    pictures: Path | None = None,
    one_based: bool | None = None,
    ignore_unknown: bool = False,
) -> Dataset:
    """Read a data set: its pictures' sizes from their headers, all objects, and all that is wrong with them.

    Args:
        path: a folder or file.
        split: such as `test`; None: all there is.
        class_names: the class list to use, background first, such as a checkpoint's; names in annotations are found in
            it by `classes.find_class_ids`. None takes the data set's own.
        pictures: the folder of the pictures, where they are not beside the annotations.
        one_based: whether VOC's pixels count from 1; None lets the boxes tell (`datasets.voc`).
        ignore_unknown: leave objects of unknown classes out, where the default is an error.

    Raises:
        FormatError: no data set, several, or damaged as a whole; the message says what was looked for.
        SettingError: no such path, split or folder of pictures.
        UnknownClassError: objects of classes that are not in the list, unless `ignore_unknown`.
    """
    if not path.exists():
        raise SettingError(f"{path}: no such file or folder; expected {_EXPECTED}")
    if pictures is not None and not pictures.is_dir():
        raise SettingError(f"{pictures}: is no folder, expected the one that holds the pictures")
    names = None if class_names is None else tuple(class_names)
    request, log = ReadRequest(path, split, names, pictures, one_based, ignore_unknown), ProblemLog()
    raw = _read_folder(request, log) if path.is_dir() else _read_file(request, log)
    return assembled(raw, request, log)


def kinds_in(folder: Path) -> list[DatasetKind]:
    """The layouts of which a folder holds a data set or several, or a damaged one."""
    looks: dict[DatasetKind, Callable[[], object]] = {
        DatasetKind.VOC: lambda: find_voc(folder, None),
        DatasetKind.COCO: lambda: coco_files_in(folder),
        DatasetKind.YOLO: lambda: find_yolo(folder, None, ProblemLog()),
    }
    return [kind for kind, look in looks.items() if _finds(look)]


def _finds(look: Callable[[], object]) -> bool:
    try:
        return bool(look())
    except FormatError:
        return True


def _read_file(request: ReadRequest, log: ProblemLog) -> RawDataset:
    if other := other_than_file(request.path):
        raise FormatError(f"{request.path}: is a {other}, expected {_EXPECTED}")
    if is_coco_file(request.path):
        return read_coco_dataset(request.path, request, log)
    if place := find_yolo_file(request.path, request.split, log):
        return read_yolo_dataset(place, request, log)
    raise FormatError(f"{request.path}: is no data set; expected {_EXPECTED}")


def _read_folder(request: ReadRequest, log: ProblemLog) -> RawDataset:
    folder, split = request.path, request.split
    voc, coco, yolo = find_voc(folder, split), coco_files_in(folder), find_yolo(folder, split, log)
    found = {
        f"VOC (XML files in {voc.annotations})" if voc else "": voc,
        f"COCO ({', '.join(p.name for p in coco)})": coco,
        f"YOLO ({yolo.source})" if yolo else "": yolo,
    }
    layouts = [text for text, there in found.items() if there]
    if len(layouts) > 1:
        raise FormatError(
            f"{folder}: may be {' or '.join(layouts)}; name the folder of XML files, the JSON or the YAML"
        )
    if voc:
        return read_voc(voc, request, log)
    if coco:
        return read_coco_dataset(one_coco_file(folder, coco, split), request, log)
    if yolo:
        return read_yolo_dataset(yolo, request, log)
    for path in usual_yaml_files(folder):
        find_yolo_file(path, split, log)  # tells what is wrong with it
    raise FormatError(f"{folder}: holds no data set; looked for {_EXPECTED}")
