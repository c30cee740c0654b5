"""Writes a data set in another layout, beside its source and never over it.

| layout | annotations | pictures |
|---|---|---|
| voc | `Annotations/<name>.xml`, `ImageSets/Main/<split or all>.txt` | `JPEGImages/` |
| coco | `annotations/instances_<split or all>.json` | `images/` |
| yolo | `labels/<split>/<name>.txt`, `data.yaml` | `images/<split>/` |

What a layout cannot hold is counted and told (`Conversion.losses`). The files that the others belong to, the list, the
JSON and the YAML, come last, each whole.
"""

import functools
import shutil
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from ssd_detect.datasets.dataset import AnnotatedPicture, Dataset, DatasetKind
from ssd_detect.datasets.opening import kinds_in
from ssd_detect.datasets.writing_coco import coco_content
from ssd_detect.datasets.writing_voc import voc_content, voc_list
from ssd_detect.datasets.writing_yolo import data_yaml, yolo_labels
from ssd_detect.errors import OutputError
from ssd_detect.files import check_target, explained_writing, whole_file
from ssd_detect.formats.writer import write_whole


class PictureTransfer(str, Enum):
    """What becomes of the pictures."""

    NONE = "none"  # they stay where they are
    COPY = "copy"
    LINK = "link"  # symbolic links to where they are


@dataclass(frozen=True)
class Conversion:
    """What was written.

    Args:
        pictures, objects: how many.
        opened_by: the file or folder that opens the new data set.
        losses: what the layout could not hold, a sentence each.
    """

    pictures: int
    objects: int
    opened_by: Path
    losses: tuple[str, ...]


class _Plan(NamedTuple):
    """What goes where.

    Args:
        pictures: source -> its copy or link.
        files: target -> what makes its content; in the order of writing.
        opened_by: as in `Conversion`.
    """

    pictures: Mapping[Path, Path]
    files: Mapping[Path, Callable[[], bytes]]
    opened_by: Path


def convert(
    dataset: Dataset,
    target: Path,
    kind: DatasetKind,
    *,
    transfer: PictureTransfer = PictureTransfer.NONE,
    overwrite: bool = False,
    on_picture: Callable[[], None] = lambda: None,
) -> Conversion:
    """Write a data set below the folder `target`.

    Everything that can be known is checked before anything is written: names that would meet, files that exist.

    Args:
        dataset: with its problems solved: what `open_dataset` has left out is left out.
        target: a folder, made if missing.
        kind: the layout to write.
        transfer: whether the pictures come along.
        overwrite: replace files that exist; never those of the source.
        on_picture: called after each picture.

    Raises:
        OutputError: `target` lies in the source or holds a data set of another layout, two pictures would have one name
            there, a file exists and must not be replaced, or the system refuses.
    """
    _check_apart(dataset, target)
    plan = _plan(dataset, target, kind)
    if transfer is PictureTransfer.NONE:
        plan = plan._replace(pictures={})
    _check_free(dataset, plan, overwrite)
    _check_alone(target, kind)
    for source, place in plan.pictures.items():
        _transfer(source, place, transfer, overwrite)
        on_picture()
    for place, content in plan.files.items():
        write_whole(place, content(), overwrite=overwrite)
    objects = sum(_num_written(p, kind) for p in dataset.pictures)
    return Conversion(len(dataset.pictures), objects, plan.opened_by, tuple(_losses(dataset, kind)))


def _check_apart(dataset: Dataset, target: Path) -> None:
    source = (dataset.root if dataset.root.is_dir() else dataset.root.parent).resolve()
    if target.resolve().is_relative_to(source):
        raise OutputError(f"{target}: lies in the data set {source}, which is never written to; name another folder")


def _check_free(dataset: Dataset, plan: _Plan, overwrite: bool) -> None:
    places = [*plan.pictures.values(), *plan.files]
    folded = Counter(str(place).casefold() for place in places)
    for place in places:
        if folded[str(place).casefold()] > 1:
            raise OutputError(f"{place}: two pictures of the data set would have this name; rename one of them")
    sources = {p.path.resolve() for p in dataset.pictures} | {dataset.root.resolve()}
    for place in places:
        if place.resolve() in sources and not place.is_symlink():
            raise OutputError(f"{place}: belongs to the data set itself; name another folder")
        check_target(place, overwrite=overwrite)


def _check_alone(target: Path, kind: DatasetKind) -> None:
    """A folder with two layouts in it is opened as neither."""
    for there in kinds_in(target) if target.is_dir() else ():
        if there is not kind:
            raise OutputError(f"{target}: holds a {there.value.upper()} data set already; name another folder")


def _transfer(source: Path, place: Path, transfer: PictureTransfer, overwrite: bool) -> None:
    with whole_file(place, overwrite=overwrite) as temporary, explained_writing(place):
        if transfer is PictureTransfer.LINK:
            temporary.symlink_to(source.resolve())
        else:
            shutil.copyfile(source, temporary)


def _plan(dataset: Dataset, target: Path, kind: DatasetKind) -> _Plan:
    planned = {DatasetKind.VOC: _plan_voc, DatasetKind.COCO: _plan_coco, DatasetKind.YOLO: _plan_yolo}
    return planned[kind](dataset, target, dataset.split or "all")


def _safe(picture: AnnotatedPicture) -> PurePosixPath:
    """The picture's name as a place below a folder, wherever a strange file_name would lead."""
    parts = [part for part in PurePosixPath(picture.name).parts if part not in ("/", "..")]
    return PurePosixPath(*parts)


def _plan_voc(dataset: Dataset, target: Path, split: str) -> _Plan:
    names = {p.path: _safe(p) for p in dataset.pictures}
    files: dict[Path, Callable[[], bytes]] = {}
    for picture in dataset.pictures:
        place = target / "Annotations" / names[picture.path].with_suffix(".xml")
        _add(files, place, functools.partial(voc_content, picture, names[picture.path], dataset.class_names))
    files[target / "ImageSets" / "Main" / f"{split}.txt"] = lambda: voc_list(names.values())
    return _Plan({path: target / "JPEGImages" / name for path, name in names.items()}, files, target)


def _plan_coco(dataset: Dataset, target: Path, split: str) -> _Plan:
    names = [str(_safe(p)) for p in dataset.pictures]
    index = target / "annotations" / f"instances_{split}.json"
    pictures = {p.path: target / "images" / name for p, name in zip(dataset.pictures, names, strict=True)}
    return _Plan(pictures, {index: lambda: coco_content(dataset, names)}, index)


def _plan_yolo(dataset: Dataset, target: Path, split: str) -> _Plan:
    below = PurePosixPath(split) if dataset.split else PurePosixPath()
    names = {p.path: below / _safe(p) for p in dataset.pictures}
    files: dict[Path, Callable[[], bytes]] = {}
    for picture in dataset.pictures:
        place = target / "labels" / names[picture.path].with_suffix(".txt")
        _add(files, place, functools.partial(yolo_labels, picture))
    files[target / "data.yaml"] = lambda: data_yaml(dataset.class_names, dataset.split)
    pictures = {path: target / "images" / name for path, name in names.items()}
    return _Plan(pictures, files, target / "data.yaml")


def _add(files: dict[Path, Callable[[], bytes]], place: Path, content: Callable[[], bytes]) -> None:
    if place in files:
        raise OutputError(f"{place}: two pictures of the data set would have this annotation; rename one of them")
    files[place] = content


def _num_written(picture: AnnotatedPicture, kind: DatasetKind) -> int:
    return int((~picture.crowd).sum()) if kind is DatasetKind.YOLO else len(picture)


def _losses(dataset: Dataset, kind: DatasetKind) -> Iterator[str]:
    crowd, difficult, truncated = (_count(dataset.pictures, name) for name in ("crowd", "difficult", "truncated"))
    if kind is DatasetKind.VOC:
        if crowd:
            yield f"{crowd} regions of crowds are objects with difficult 1: VOC has no crowds"
        if dataset.kind is DatasetKind.COCO:
            yield "areas of segments and COCO's ids are not written: VOC has none"
    if kind is DatasetKind.YOLO:
        if crowd:
            yield f"{crowd} regions of crowds are left out: YOLO has none"
        if difficult:
            yield f"{difficult} difficult objects are objects like any other: YOLO cannot say it"
        if truncated:
            yield f"{truncated} objects are truncated, which YOLO cannot say"
        if dataset.kind is DatasetKind.COCO:
            yield "areas of segments and COCO's ids are not written: YOLO has none"


def _count(pictures: Sequence[AnnotatedPicture], flag: str) -> int:
    return sum(int(getattr(p, flag).sum()) for p in pictures)
