"""A Pascal VOC annotation as any tool has written it: what data sets and saved results read alike.

Kind about what tools do differently (missing elements, fractions, blanks, encodings); all that makes no sense is told
by a kind, such as `box-inverted`, and a text that goes after the object's number.
"""

import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple
from xml.etree.ElementTree import Element

from ssd_detect.formats.file_names import text_to_name
from ssd_detect.formats.file_reading import read_regular
from ssd_detect.formats.fitting import Tell, in_order
from ssd_detect.formats.json_values import LARGEST
from ssd_detect.formats.rounding import Box
from ssd_detect.formats.xml_text import MOST_XML_BYTES, Mend, parse_xml

CORNERS = ("xmin", "ymin", "xmax", "ymax")
_YES = ("1", "true", "yes")


class AnnotationError(ValueError):
    """A file that is no annotation: `kind` says in which way, the text what was found and what was expected."""

    def __init__(self, kind: str, text: str) -> None:
        super().__init__(text)
        self.kind = kind


class VocStated(NamedTuple):
    """One object as it stands in a file.

    Args:
        number: which of the file, from 1.
        class_name: as it stands there, not empty, but perhaps of blanks alone.
        corners: xmin, ymin, xmax, ymax as the file counts, finite, in order; perhaps outside the picture.
        difficult, truncated: the flags.
        score: the text of `<score>`; empty where there is none.
    """

    number: int
    class_name: str
    corners: Box
    difficult: bool
    truncated: bool
    score: str


class VocAnnotation:
    """What an annotation file says.

    Args:
        path: the file.
        mend: told of an encoding that is guessed.

    Raises:
        OSError: it cannot be read, or is no regular file.
        AnnotationError: `annotation-empty`, `annotation-damaged` (no XML, entities, too large) or `annotation-foreign`.
    """

    def __init__(self, path: Path, mend: Mend) -> None:
        data = read_regular(path, MOST_XML_BYTES + 1)
        if not data.strip():
            raise AnnotationError("annotation-empty", "holds nothing (0 bytes, or blanks)")
        try:
            self._root = parse_xml(data, mend)
        except ValueError as error:
            raise AnnotationError("annotation-damaged", str(error)) from error
        if self._root.tag != "annotation":
            found = f"its outermost element is {self._root.tag!r}, expected annotation"
            raise AnnotationError("annotation-foreign", found)

    @property
    def path(self) -> str:
        """The text of `<path>`, blanks around it too; empty where there is none."""
        return self._name("path")

    @property
    def filename(self) -> str:
        """The text of `<filename>`, blanks around it too; empty where there is none."""
        return self._name("filename")

    def _name(self, tag: str) -> str:
        return text_to_name(self._root.findtext(tag) or "")

    @property
    def size(self) -> tuple[int, int] | None:
        """(width, height) in pixels as it stands there, perhaps 0 or less; None where no numbers do."""
        width, height = (_number(self._root.findtext(f"size/{tag}")) for tag in ("width", "height"))
        return None if width is None or height is None else (int(width), int(height))

    def objects(self, tell_of: Callable[[int], Tell]) -> Iterator[VocStated]:
        """The objects that have a class and a box, in the file's order.

        Args:
            tell_of: gives what is told of the object with a number: `class-missing`, `box-missing`, `box-not-numbers`
                (such are left out), `box-inverted` (put in order) and `flag-odd` (read as it says).
        """
        for number, element in enumerate(self._root.findall("object"), 1):
            tell = tell_of(number)
            class_name, corners = element.findtext("name") or "", _corners(element, tell)
            if not class_name:
                tell("class-missing", "has no <name>")
            elif corners is not None:
                difficult, truncated = (_flag(element, tag, tell) for tag in ("difficult", "truncated"))
                yield VocStated(number, class_name, corners, difficult, truncated, _text(element, "score"))


def _text(element: Element, path: str) -> str:
    return (element.findtext(path) or "").strip()


def _number(text: str | None) -> float | None:
    """The number, finite and of a size that can be; else None."""
    try:
        value = float(text or "")
    except ValueError:
        return None
    return value if math.isfinite(value) and abs(value) <= LARGEST else None


def _corners(element: Element, tell: Tell) -> Box | None:
    texts = [_text(element, f"bndbox/{tag}") for tag in CORNERS]
    missing = [tag for tag, text in zip(CORNERS, texts, strict=True) if not text]
    if missing:
        tell("box-missing", f"has no {', '.join(missing)} in <bndbox>")
        return None
    numbers = [v for text in texts if (v := _number(text)) is not None]
    if len(numbers) < len(CORNERS):
        tell("box-not-numbers", f"its box is {', '.join(map(repr, texts))}")
        return None
    return in_order((numbers[0], numbers[1], numbers[2], numbers[3]), tell)


def _flag(element: Element, tag: str, tell: Tell) -> bool:
    text = _text(element, tag)
    value = text.lower() in _YES
    if text not in ("", "0", "1"):
        tell("flag-odd", f"{tag} is {text!r}, expected 0 or 1; taken for {int(value)}")
    return value
