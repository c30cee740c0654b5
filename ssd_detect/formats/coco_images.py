"""An existing COCO annotation file: its pictures and categories, found by the names of ours."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Any, TypeAlias
from urllib.parse import urlsplit

from ssd_detect.classes import BACKGROUND, find_class_ids
from ssd_detect.errors import OutputError, SettingError, UnknownClassError
from ssd_detect.formats.file_reading import explained_reading
from ssd_detect.formats.json_values import file_name, items, member, parse_json, text, whole

PictureId: TypeAlias = int | str
_MOST_NAMES_SHOWN = 5


def _base_name(file: str) -> str:
    path = urlsplit(file).path if file.startswith(("http://", "https://")) else file
    return PurePath(path).name


def _stem(file: str) -> str:
    return PurePath(_base_name(file)).stem


_NAMES: tuple[Callable[[str], str], ...] = (str, _base_name, _stem)
"""What two names may have in common for being of one picture, closest first."""


@dataclass(frozen=True)
class AnnotationFile:
    """What an annotation file says about pictures and categories.

    Args:
        path: the file.
        pictures: (id, entry) of each picture, in the file's order; ids are unique, each entry has a `file_name`.
        categories: (id, name) of each category, in the file's order.
    """

    path: Path
    pictures: tuple[tuple[PictureId, dict[str, Any]], ...]
    categories: tuple[tuple[int, str], ...]

    @classmethod
    def read(cls, path: Path) -> "AnnotationFile":
        """Read it from its file.

        Raises:
            FormatError: missing, damaged, or no COCO annotation file.
        """
        with explained_reading(path):
            return cls.of(parse_json(path.read_text(encoding="utf-8-sig")), path)

    @classmethod
    def of(cls, value: Any, path: Path) -> "AnnotationFile":
        """Take it from the value that `path` holds.

        Raises:
            ValueError: no COCO annotation file.
        """
        pictures = tuple((picture_id_of(entry, "id"), entry) for entry in items(value, "images"))
        for _, entry in pictures:
            file_name(entry, "file_name")
        if len({picture_id for picture_id, _ in pictures}) < len(pictures):
            raise ValueError("two of its pictures have the same id")
        return cls(path, pictures, tuple(_categories(value).items()))

    @property
    def class_names(self) -> tuple[str, ...]:
        """The categories in the order of their ids, behind the background."""
        return (BACKGROUND, *(name for _, name in sorted(self.categories)))

    def category_id(self, class_name: str) -> int | None:
        """The category of that name: the very name, else one that `find_class_ids` takes for the same.

        Raises:
            SettingError: two categories have the very name.
        """
        names = [name for _, name in self.categories]
        same = [category_id for category_id, name in self.categories if name == class_name]
        if len(same) > 1:
            raise SettingError(f"{self.path}: has {len(same)} categories {class_name!r}: ids {_listed(same)}")
        if same:
            return same[0]
        try:
            (index,) = find_class_ids([class_name], ["", *names])
        except UnknownClassError:
            return None
        return self.categories[index - 1][0]

    def category_ids(self, class_names: Sequence[str]) -> dict[str, int]:
        """Class name -> category id, for all of `class_names`.

        Raises:
            SettingError: some have no category, or two.
        """
        found = {name: self.category_id(name) for name in class_names}
        missing = [name for name, category_id in found.items() if category_id is None]
        if missing:
            raise SettingError(
                f"{self.path}: {len(found) - len(missing)} of {len(found)} classes have a category there, these have "
                f"not: {_listed(missing)}; leave them out with --exclude-class, or name those to find with --class"
            )
        return {name: category_id for name, category_id in found.items() if category_id is not None}


def _categories(value: Any) -> dict[int, str]:
    """Id -> name; raises ValueError where an id has two names."""
    found: dict[int, str] = {}
    for entry in items(value, "categories"):
        category_id, name = whole(entry, "id"), text(entry, "name")
        if found.setdefault(category_id, name) != name:
            raise ValueError(f"category {category_id} is both {found[category_id]!r} and {name!r}")
    return found


class PictureIds:
    """Finds the ids of input pictures in an annotation file by `file_name`: the whole name as given; where none is the
    same, the base name; where none is, the base name without suffix. Letter case counts."""

    def __init__(self, annotations: AnnotationFile) -> None:
        self._path = annotations.path
        self._known: list[dict[str, list[PictureId]]] = [{} for _ in _NAMES]
        for picture_id, entry in annotations.pictures:
            for name_of, known in zip(_NAMES, self._known, strict=True):
                known.setdefault(name_of(entry["file_name"]), []).append(picture_id)

    def find(self, file: str) -> PictureId:
        """The id of the picture.

        Raises:
            OutputError: none fits, or several do.
        """
        named = (known.get(name_of(file), []) for name_of, known in zip(_NAMES, self._known, strict=True))
        fitting: list[PictureId] = next(filter(None, named), [])
        if not fitting:
            raise OutputError(f"{file}: {self._path} has no picture of this name")
        if len(fitting) > 1:
            raise OutputError(f"{file}: fits {len(fitting)} pictures in {self._path}: ids {_listed(fitting)}")
        return fitting[0]

    def check(self, files: Sequence[str]) -> None:
        """Find out before the work begins whether each input has a picture of its own.

        Raises:
            SettingError: some have none or several, or share one; says how many match.
        """
        owners: dict[PictureId, str] = {}
        problems = []
        for file in files:
            try:
                owner = owners.setdefault(self.find(file), file)
            except OutputError as error:
                problems.append(str(error))
                continue
            if owner != file:
                problems.append(f"{file}: is the same picture there as {owner}")
        if problems:
            count = f"{len(files) - len(problems)} of {len(files)} inputs match"
            raise SettingError(f"{self._path}: {count}; {_listed(problems, '; ')}")


def check_coco_images(path: Path, files: Sequence[str]) -> None:
    """Find out before the work begins whether each input (as the user named it) has a picture in the annotation file.

    Raises:
        FormatError: the annotation file is missing or damaged.
        SettingError: not each input has one picture of its own.
    """
    PictureIds(AnnotationFile.read(path)).check(files)


def picture_id_of(entry: Any, name: str) -> PictureId:
    """The picture id `entry[name]`, a whole number or a string.

    Raises:
        ValueError: missing or of another kind.
    """
    found = member(entry, name)
    if not isinstance(found, int | str) or isinstance(found, bool):
        raise ValueError(f"{name!r} is {found!r}, expected a whole number or a string")
    return found


def _listed(values: Iterable[object], separator: str = ", ") -> str:
    shown = [str(v) for v in values]
    more = f"{separator}and {len(shown) - _MOST_NAMES_SHOWN} more" if len(shown) > _MOST_NAMES_SHOWN else ""
    return separator.join(shown[:_MOST_NAMES_SHOWN]) + more
