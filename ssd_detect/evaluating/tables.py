"""From a data set and detections, whose classes and pictures are known by name, to the two tables that are compared.

What counts are the classes that the detector could find: objects of others are left out, and told. Scores and boxes
count as they are written, with 6 and 3 decimals, so that saved detections give the very numbers of the run.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ssd_detect.arrays import Doubles, Flags, Integers
from ssd_detect.classes import find_class_ids
from ssd_detect.datasets.dataset import AnnotatedPicture
from ssd_detect.detections import Detections
from ssd_detect.errors import FormatError, OutputError, UnknownClassError
from ssd_detect.evaluation.tables import PredictionTable, TruthTable
from ssd_detect.formats.coco_images import AnnotationFile, PictureIds
from ssd_detect.formats.rounding import rounded_boxes, rounded_scores

_MOST_CLASSES_NAMED = 5


@dataclass(frozen=True, eq=False)
class Truth:
    """The objects that count.

    Args:
        table: of them.
        left_out: class name -> objects of it that the detector could not find.
        unwanted: objects of classes that were not asked for.
    """

    table: TruthTable
    left_out: Counter[str]
    unwanted: int

    def notes(self) -> Iterable[str]:
        """What is to be known about the objects, a sentence each."""
        if self.left_out:
            named = [f"{name} {count}" for name, count in self.left_out.most_common(_MOST_CLASSES_NAMED)]
            more = len(self.left_out) - len(named)
            rest = f", and {more} more classes" if more else ""
            yield f"Objects of classes that this checkpoint cannot find are left out: {', '.join(named)}{rest}."
        if self.unwanted:
            yield f"Objects of classes that were not asked for are left out: {self.unwanted}."


def ids_by_name(names: Sequence[str], known: Sequence[str]) -> Integers:
    """(len(names),) int64: the number in `known` of each class name, also in another spelling; -1: none.

    Both lists begin with the background, which has 0.
    """
    return np.array([0, *(_id_or_none(name, known) for name in names[1:])], np.int64)


def _id_or_none(name: str, known: Sequence[str]) -> int:
    if name in known[1:]:
        return known.index(name, 1)
    try:
        return find_class_ids([name], known)[0]
    except UnknownClassError:
        return -1


def truth_of(
    pictures: Sequence[AnnotatedPicture], names: Sequence[str], class_names: Sequence[str], wanted: Flags
) -> Truth:
    """The objects of `pictures`.

    Args:
        pictures: in the order of the tables.
        names: of the data set's classes, background first.
        class_names: of the detector's classes, background first; they number the table.
        wanted: (C,) bool, which of those count.
    """
    ids = ids_by_name(names, class_names)
    counts = [len(one) for one in pictures]
    of_set = _joined([one.class_ids for one in pictures], np.int64)
    class_id = ids[of_set]
    kept = (class_id > 0) & wanted[class_id]
    unknown = Counter(names[i] for i in of_set[class_id < 0].tolist())
    table = TruthTable(
        picture=np.repeat(np.arange(len(pictures)), counts)[kept],
        class_id=class_id[kept],
        boxes=_joined([one.boxes for one in pictures], np.float64, (0, 4))[kept],
        difficult=_joined([one.difficult for one in pictures], np.bool_)[kept],
        crowd=_joined([one.crowd for one in pictures], np.bool_)[kept],
        area=_joined([one.area for one in pictures], np.float64)[kept],
        num_pictures=len(pictures),
    )
    return Truth(table, unknown, int(((class_id > 0) & ~kept).sum()))


class PictureNumbers:
    """Finds the number of a picture by the name that detections have it under; see `PictureIds` for the rule.

    Args:
        root: the data set, for messages.
        pictures: of the data set, in the order of the tables.
        beyond: those that a limit has cut off: known, but without a number.
    """

    def __init__(
        self, root: Path, pictures: Sequence[AnnotatedPicture], beyond: Sequence[AnnotatedPicture] = ()
    ) -> None:
        named = tuple((i, {"file_name": one.name}) for i, one in enumerate((*pictures, *beyond)))
        self._ids = PictureIds(AnnotationFile(root, named, ()))
        self._pictures = pictures
        self._owners: dict[int, str] = {}

    def find(self, file: str, size: tuple[int, int]) -> int | None:
        """The picture's number; None for one beyond the limit.

        Raises:
            OutputError: the data set has no picture of that name, or several.
            FormatError: it was there before under another name, or is of another size.
        """
        number = int(self._ids.find(file))
        if number >= len(self._pictures):
            return None
        owner = self._owners.setdefault(number, file)
        picture = self._pictures[number]
        if owner != file:
            raise FormatError(f"{file}: is the same picture of the data set as {owner}: {picture.name}")
        if size != picture.size:
            raise FormatError(
                f"{file}: these detections are of a picture of {size[0]}x{size[1]} pixels, the data set's is "
                f"{picture.size[0]}x{picture.size[1]}; detect in the data set's own pictures"
            )
        return number


class Foreign(NamedTuple):
    """A picture of the detections that is none of the data set's: its name, and a line that tells why."""

    file: str
    reason: str


class PredictionRows:
    """Collects the detections of pictures, in any order.

    Args:
        numbers: of the pictures.
        wanted: (C,) bool, which of them count.
    """

    def __init__(self, numbers: PictureNumbers, wanted: Flags) -> None:
        self._numbers, self._wanted = numbers, wanted
        self._parts: dict[int, tuple[Integers, Doubles, Doubles]] = {}
        self.foreign: list[Foreign] = []

    def add(self, file: str, found: Detections) -> bool:
        """Take what was found in a picture; one that the data set does not have is noted in `foreign`.

        Nothing is said of one beyond the limit.

        Returns:
            Whether the picture counts.

        Raises:
            FormatError: a picture twice, or of another size.
        """
        try:
            number = self._numbers.find(file, found.size)
        except OutputError as error:
            self.foreign.append(Foreign(file, str(error)))
            return False
        if number is None:
            return False
        if number in self._parts:
            raise FormatError(f"{file}: has detections twice, expected once")
        self._parts[number] = (found.class_ids, rounded_scores(found), rounded_boxes(found))
        return True

    @property
    def numbers(self) -> set[int]:
        """Of the pictures that there was something about, be it that nothing was found."""
        return set(self._parts)

    def table(self, num_pictures: int) -> PredictionTable:
        """All detections of wanted classes."""
        parts = [(number, *self._parts[number]) for number in sorted(self._parts)]
        class_id = _joined([ids for _, ids, _, _ in parts], np.int64)
        kept = self._wanted[class_id]
        counts = [len(ids) for _, ids, _, _ in parts]
        return PredictionTable(
            picture=np.repeat(np.array([number for number, *_ in parts], np.int64), counts)[kept],
            class_id=class_id[kept],
            boxes=_joined([boxes for *_, boxes in parts], np.float64, (0, 4))[kept],
            score=_joined([scores for _, _, scores, _ in parts], np.float64)[kept],
            num_pictures=num_pictures,
        )


def _joined(parts: Sequence[np.ndarray], dtype: type[np.generic], empty: tuple[int, ...] = (0,)) -> np.ndarray:
    """One column; without parts of no rows."""
    return np.concatenate([np.zeros(empty, dtype), *parts]).astype(dtype, copy=False)
