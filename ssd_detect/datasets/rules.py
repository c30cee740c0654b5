"""What readers do about each fault: the one table. `dataset check` prints the rows that a data set needs.

Kind about habit: what tools and people do differently is read (missing tags, floats, other suffixes, class names in
other letter case, with blanks or known aliases, marks of byte order). Strict about nonsense: each row of `RULES` is a
fault that is told by file and object, and has one treatment, whatever the data set's layout.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from ssd_detect.datasets.dataset import Problem, Treatment


class Rule(NamedTuple):
    """What one kind of problem is, and what is done about it.

    Args:
        treatment: always the same for a kind.
        text: the rule, for a person; without a full stop.
    """

    treatment: Treatment
    text: str


_KEPT, _MENDED, _DROPPED, _SKIPPED = Treatment.KEPT, Treatment.MENDED, Treatment.DROPPED, Treatment.SKIPPED

RULES = {
    # Whole files and pictures.
    "annotation-missing": Rule(_SKIPPED, "a picture of a VOC set without its XML file is left out: nobody has said "
                                         "what is in it"),
    "annotation-empty": Rule(_SKIPPED, "an XML file of 0 bytes says nothing: its picture is left out"),
    "annotation-damaged": Rule(_SKIPPED, "what cannot be read as XML, or declares entities, is left out with its "
                                         "picture"),
    "annotation-foreign": Rule(_SKIPPED, "an XML file that is no VOC annotation is left out"),
    "labels-missing": Rule(_KEPT, "a picture of a YOLO set without its file of labels has no objects"),
    "labels-damaged": Rule(_SKIPPED, "a file of labels that cannot be read is left out with its picture"),
    "picture-missing": Rule(_SKIPPED, "an annotation without a picture is left out"),
    "picture-unreadable": Rule(_SKIPPED, "a picture whose header cannot be read is left out"),
    "picture-twice": Rule(_SKIPPED, "of several annotations for one picture, or pictures of one name, the first "
                                    "counts"),
    "picture-entry": Rule(_SKIPPED, "an entry of images without a usable id and file_name is left out"),
    "picture-ambiguous": Rule(_KEPT, "of several pictures of one stem, the one that <filename> names counts, else the "
                                     "first"),
    "picture-name": Rule(_KEPT, "the annotation's own name finds the picture before <filename> does"),
    "encoding": Rule(_MENDED, "text that is neither UTF-8 nor says what it is, is read as Latin-1"),
    "size-missing": Rule(_MENDED, "the size is that of the picture"),
    "size-turned": Rule(_KEPT, "width and height are the other way round; boxes count in the picture as a person sees "
                               "it"),
    "size-wrong": Rule(_KEPT, "the size is that of the picture; boxes are used as they are"),
    "split-line": Rule(_MENDED, "a line of a split that is odd is taken for what its first word says"),
    "split-twice": Rule(_MENDED, "a picture that a split names twice counts once"),
    "counted-from": Rule(_KEPT, "pixels of a VOC set count from 1; from 0 if more boxes begin at 0 than at 1; "
                                "--one-based and --zero-based say it"),
    # Objects.
    "box-missing": Rule(_DROPPED, "an object without a box of four numbers is left out"),
    "box-not-numbers": Rule(_DROPPED, "an object whose box holds NaN, infinity, text or more than 1e9 is left out"),
    "box-not-shares": Rule(_DROPPED, "a YOLO box with a number above 2 is not in shares of the picture, and left out"),
    "box-inverted": Rule(_MENDED, "swapped corners are swapped back"),
    "box-empty": Rule(_DROPPED, "a box without width or height is left out"),
    "box-thin": Rule(_KEPT, "a VOC box whose corners are one pixel is one pixel wide or high: both corners belong to "
                            "it"),
    "box-outside": Rule(_DROPPED, "a box wholly outside the picture is left out"),
    "box-cut": Rule(_MENDED, "a box that reaches more than half a pixel outside is cut off at the border; less is "
                             "rounding, and cut off too"),
    "class-missing": Rule(_DROPPED, "an object without a class is left out"),
    "class-number": Rule(_DROPPED, "an object whose class number nothing names is left out"),
    "class-unknown": Rule(_DROPPED, "an object of a class that is not in the class list is left out; without "
                                    "--ignore-unknown it ends any other work"),
    "class-near": Rule(_KEPT, "a class nearly called like one that ten times as many objects have counts as "
                              "one of its own"),
    "class-twice": Rule(_KEPT, "categories of one name are one class"),
    "class-count": Rule(_KEPT, "the names count, not the number of classes (nc)"),
    "class-nameless": Rule(_KEPT, "classes that no file names are called by their numbers"),
    "flag-odd": Rule(_MENDED, "difficult, truncated and iscrowd are 1 for 1, true and yes, 0 for all else"),
    "area-odd": Rule(_MENDED, "an area that is no number above 0 is that of the box"),
    "object-twice": Rule(_DROPPED, "of objects of one class with the same box in a picture, the first counts"),
    "object-homeless": Rule(_DROPPED, "an annotation whose image_id no picture has is left out"),
    "object-odd": Rule(_DROPPED, "an entry of annotations that is no object is left out"),
    "line-odd": Rule(_DROPPED, "a line of labels is a class number and four shares, or three points and more"),
    "line-score": Rule(_MENDED, "a sixth number, a score, is passed over"),
}  # fmt: skip


@dataclass
class ProblemLog:
    """Takes down problems while a data set is read."""

    _problems: dict[Problem, None] = field(default_factory=dict)

    def add(self, kind: str, file: Path, text: str, number: int | None = None) -> None:
        """Take down one problem of a kind of `RULES`, once; the arguments are those of `Problem`."""
        self._problems[Problem(file, kind, text, RULES[kind].treatment, number)] = None

    def in_order(self) -> tuple[Problem, ...]:
        """By file, then by object; what is about the whole file first."""
        return tuple(sorted(self._problems, key=lambda p: (p.file.parts, p.object_number or 0)))


def loses_something(problems: Iterable[Problem]) -> bool:
    """Whether an object or a picture was left out."""
    return any(p.treatment in (_DROPPED, _SKIPPED) for p in problems)
