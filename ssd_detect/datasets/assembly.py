"""From raw pictures to a data set: classes found, boxes fitted, duplicates left out."""

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np

from ssd_detect.datasets.class_finding import check_known, class_ids_of, near_match, own_class_names, tell_near_names
from ssd_detect.datasets.dataset import AnnotatedPicture, Dataset
from ssd_detect.datasets.raw import Corners, RawDataset, RawObject, RawPicture, ReadRequest
from ssd_detect.datasets.rules import ProblemLog
from ssd_detect.formats.fitting import Tell, in_order, inside


def assembled(raw: RawDataset, request: ReadRequest, log: ProblemLog) -> Dataset:
    """The data set.

    Raises:
        UnknownClassError: objects of unknown classes, and they are not to be ignored.
    """
    names = Counter(one.class_name for picture in raw.pictures for one in picture.objects)
    class_names = request.class_names or raw.class_names or own_class_names(names)
    if request.class_names is None and raw.class_names is None:
        tell_near_names(names, class_names, request.path, log)
    if not request.ignore_unknown:
        check_known(names, class_names, request.path)
    ids = class_ids_of(names, class_names)
    hints = {name: near_match(name, class_names) for name, class_id in ids.items() if class_id is None}
    pictures = tuple(_picture(picture, ids, class_names, hints, log) for picture in raw.pictures)
    return Dataset(request.path, raw.kind, request.split, class_names, pictures, log.in_order())


def _picture(
    raw: RawPicture,
    ids: Mapping[str, int | None],
    class_names: Sequence[str],
    hints: Mapping[str, str],
    log: ProblemLog,
) -> AnnotatedPicture:
    kept: dict[tuple[int, Corners], RawObject] = {}
    for one in raw.objects:
        tell = _teller(raw, one, log)
        class_id = ids[one.class_name]
        if class_id is None:
            hint = hints[one.class_name]
            tell("class-unknown", f"class {one.class_name!r} is not in the list{'; ' if hint else ''}{hint}")
            continue
        box = inside(in_order(one.box, tell), raw.size, tell)
        if box is not None and kept.setdefault((class_id, box), one) is not one:
            tell("object-twice", f"is the same {class_names[class_id]} as object {kept[class_id, box].number}")
    return _columns(raw, kept)


def _teller(raw: RawPicture, one: RawObject, log: ProblemLog) -> Tell:
    def tell(kind: str, text: str) -> None:
        log.add(kind, raw.source, f"{raw.name}: {text}", one.number)

    return tell


def _columns(raw: RawPicture, kept: Mapping[tuple[int, Corners], RawObject]) -> AnnotatedPicture:
    boxes = np.array([box for _, box in kept], np.float64).reshape(-1, 4)
    of_boxes = (boxes[:, 2] - boxes[:, 0]) * (boxes[:, 3] - boxes[:, 1])
    stated = [np.nan if one.area is None else one.area for one in kept.values()]
    areas = np.array(stated, np.float64)
    return AnnotatedPicture(
        raw.path,
        raw.name,
        raw.size,
        boxes,
        np.array([class_id for class_id, _ in kept], np.int64),
        np.array([one.difficult for one in kept.values()], np.bool_),
        np.array([one.crowd for one in kept.values()], np.bool_),
        np.array([one.truncated for one in kept.values()], np.bool_),
        np.where(np.isnan(areas), of_boxes, areas),
        raw.picture_id,
    )
