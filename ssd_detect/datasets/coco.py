"""Reads COCO data sets: one JSON with images, annotations and categories.

Boxes are x, y, width, height in pixels from 0. An area that is stated is that of the object's segment, which COCO's
sizes go by; segments are not read themselves. `iscrowd` is COCO's; `difficult` and `truncated` are members of our own
that `convert` writes.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from ssd_detect.classes import BACKGROUND
from ssd_detect.datasets.coco_layout import CocoPictures, is_of_split
from ssd_detect.datasets.dataset import DatasetKind
from ssd_detect.datasets.raw import (
    Corners,
    RawDataset,
    RawObject,
    RawPicture,
    ReadRequest,
    check_found,
    compare_sizes,
    size_or_problem,
)
from ssd_detect.datasets.rules import ProblemLog
from ssd_detect.datasets.texts import read_text
from ssd_detect.errors import SettingError
from ssd_detect.formats.coco_images import PictureId, picture_id_of
from ssd_detect.formats.file_reading import explained_reading
from ssd_detect.formats.fitting import Tell
from ssd_detect.formats.json_values import LARGEST, file_name, items, parse_json, text, whole

_YES = (1, True, "1", "true", "yes")
_FLAGS = ("difficult", "iscrowd", "truncated")


def read_coco_dataset(path: Path, request: ReadRequest, log: ProblemLog) -> RawDataset:
    """All pictures of the file, objects still to be judged.

    Raises:
        FormatError: no JSON, or not of COCO's build; or no picture can be used.
        SettingError: the file is of another split by its name.
    """
    if request.split is not None and not is_of_split(path, request.split):
        raise SettingError(f"{path}: is not of the split {request.split!r} by its name; a COCO file is one split")
    with explained_reading(path):
        value = parse_json(read_text(path, log), with_nan=True)  # an object with NaN is told, and only that goes
        images, annotations = items(value, "images"), items(value, "annotations")
        categories = _categories(value, path, log)
    places = CocoPictures(path, request.pictures)
    looked_in = ", ".join(map(str, places.bases))
    pictures = _pictures(images, places, path, log)
    names = {entry["id"]: _name(entry) for entry in reversed(images) if _is_usable(entry)}  # of an id's first entry
    reader = _ObjectReader(categories, names, path, log)
    objects: dict[PictureId, list[RawObject]] = {picture_id: [] for picture_id in names}
    for number, entry in enumerate(annotations, 1):
        picture_id = reader.picture_id(entry, number)
        if picture_id is not None and pictures[picture_id] is not None:  # else it is told with the picture
            objects[picture_id] += reader.objects(entry, number, names[picture_id])
    found = [one._replace(objects=objects[picture_id]) for picture_id, one in pictures.items() if one is not None]
    check_found(request, found, len(images), looked_in, log)
    return RawDataset(DatasetKind.COCO, found, (BACKGROUND, *dict.fromkeys(categories.values())))


def _categories(value: Any, path: Path, log: ProblemLog) -> dict[int, str]:
    """Id -> name, in the order of ids."""
    found: dict[int, str] = {}
    for entry in items(value, "categories"):
        category_id, name = whole(entry, "id"), _class_name(text(entry, "name"))
        if name in found.values():
            log.add("class-twice", path, f"category {category_id} is called {name!r} as another is")
        if found.setdefault(category_id, name) != name:
            raise ValueError(f"category {category_id} is both {found[category_id]!r} and {name!r}")
    return dict(sorted(found.items()))


def _class_name(name: str) -> str:
    """JSON can hold halves of characters, which no output can."""
    return name.strip().encode(errors="replace").decode()


def _is_usable(entry: Any) -> bool:
    """Whether an entry of images has an id, and a name that a file could have."""
    try:
        picture_id_of(entry, "id")
        return bool(file_name(entry, "file_name").strip())
    except ValueError:
        return False


def _name(entry: Mapping[str, Any]) -> str:
    name: str = entry["file_name"]
    return name.replace("\\", "/").removeprefix("./")


def _pictures(
    images: list[Any], places: CocoPictures, path: Path, log: ProblemLog
) -> dict[PictureId, RawPicture | None]:
    """Id -> picture; None for one that cannot be used, which is told."""
    found: dict[PictureId, RawPicture | None] = {}
    files: dict[Path, PictureId] = {}
    for number, entry in enumerate(images, 1):
        if not _is_usable(entry):
            log.add("picture-entry", path, f"entry {number} of images is {_shown(entry)}")
            continue
        picture_id, name = entry["id"], _name(entry)
        file = places.find(name)
        if file is None:
            log.add("picture-missing", path, f"{name} (id {picture_id!r}) is not there")
        elif picture_id in found or file in files:
            what = f"the file of id {files[file]!r} too" if file in files else f"one of several with id {picture_id!r}"
            log.add("picture-twice", path, f"entry {number} of images, {name}, is {what}")
            file = None
        size = None if file is None else size_or_problem(file, log)
        if file is not None and size is not None:
            compare_sizes(_stated_size(entry), size, path, name, log)
            files[file] = picture_id
            found[picture_id] = RawPicture(file, name, size, path, (), picture_id)
        else:
            found.setdefault(picture_id, None)
    return found


def _stated_size(entry: Mapping[str, Any]) -> tuple[int, int] | None:
    width, height = (entry.get(side) for side in ("width", "height"))
    return (int(width), int(height)) if width and height and _is_number(width) and _is_number(height) else None


class _ObjectReader(NamedTuple):
    """Reads entries of annotations; what is wrong with one is told."""

    categories: Mapping[int, str]
    names: Mapping[PictureId, str]
    path: Path
    log: ProblemLog

    def picture_id(self, entry: Any, number: int) -> PictureId | None:
        """The picture that an entry belongs to; None if there is none."""
        if not isinstance(entry, dict):
            self.log.add("object-odd", self.path, f"is {_shown(entry)}, expected an object", number)
            return None
        found = entry.get("image_id")
        if isinstance(found, int | str) and not isinstance(found, bool) and found in self.names:
            return found
        self.log.add("object-homeless", self.path, f"image_id is {_shown(found)}, which no picture has", number)
        return None

    def objects(self, entry: dict[str, Any], number: int, name: str) -> list[RawObject]:
        """The object of an entry, or none if it cannot be used."""

        def tell(kind: str, told: str) -> None:
            self.log.add(kind, self.path, f"{name}: {told}", number)

        one = _object(entry, number, self.categories, tell)
        return [] if one is None else [one]


def _object(entry: dict[str, Any], number: int, categories: Mapping[int, str], tell: Tell) -> RawObject | None:
    category_id = entry.get("category_id")
    if not isinstance(category_id, int) or isinstance(category_id, bool) or category_id not in categories:
        tell("class-number", f"category_id is {_shown(category_id)}, which no category has")
        return None
    box = _box(entry, tell)
    if box is None:
        return None
    difficult, crowd, truncated = (_flag(entry, name, tell) for name in _FLAGS)
    return RawObject(number, categories[category_id], box, difficult, crowd, truncated, _area(entry, tell))


def _box(entry: dict[str, Any], tell: Tell) -> Corners | None:
    bbox = entry.get("bbox")
    if not isinstance(bbox, list) or len(bbox) != 4:
        tell("box-missing", f"bbox is {_shown(bbox)}, expected x, y, width, height")
        return None
    if not all(_is_number(v) for v in bbox):
        tell("box-not-numbers", f"bbox is {_shown(bbox)}")
        return None
    x, y, width, height = map(float, bbox)
    return x, y, x + width, y + height


def _is_number(value: Any) -> bool:
    """Finite, no truth value, and of a size that can be."""
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= LARGEST  # false for NaN


def _flag(entry: dict[str, Any], name: str, tell: Tell) -> bool:
    found = entry.get(name, 0)
    if found is None or (isinstance(found, int) and found in (0, 1)):
        return bool(found)
    value = (found.strip().lower() if isinstance(found, str) else found) in _YES
    tell("flag-odd", f"{name} is {_shown(found)}, expected 0 or 1; taken for {int(value)}")
    return value


def _area(entry: dict[str, Any], tell: Tell) -> float | None:
    area = entry.get("area")
    if area is None or (_is_number(area) and area > 0):
        return None if area is None else float(area)
    tell("area-odd", f"area is {_shown(area)}")
    return None


def _shown(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= 60 else f"{text[:60]}…"
