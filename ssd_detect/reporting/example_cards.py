"""The worst errors as cards of the page: a picture, and in words what is wrong in it."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from ssd_detect.boxes.geometry import pairwise_iou
from ssd_detect.errors import PictureError
from ssd_detect.evaluation.findings import ErrorKind
from ssd_detect.formats.file_names import name_to_text
from ssd_detect.reporting.details import ReportDetails
from ssd_detect.reporting.example_pictures import draw_example
from ssd_detect.reporting.examples import Example, worst_false_alarms, worst_missed
from ssd_detect.reporting.findings import Findings
from ssd_detect.reporting.plotting import PagePicture


@dataclass(frozen=True)
class Card:
    """One example.

    Args:
        title: the class, and the score of a detection.
        text: what is wrong, for a person.
        picture_name: of the data set's picture.
        shown: None when the picture cannot be read.
    """

    title: str
    text: str
    picture_name: str
    shown: PagePicture | None


def false_alarm_cards(findings: Findings, details: ReportDetails) -> list[Card]:
    """The surest false alarms."""
    return list(_cards("false-alarm", worst_false_alarms(details.predictions, findings.errors), findings, details))


def missed_cards(findings: Findings, details: ReportDetails) -> list[Card]:
    """The largest missed objects."""
    return list(_cards("missed", worst_missed(details.truth, findings.errors), findings, details))


def _cards(stem: str, examples: Iterable[Example], findings: Findings, details: ReportDetails) -> Iterator[Card]:
    for number, example in enumerate(examples, 1):
        about = _about_missed if example.kind is None else _about_false_alarm
        title, text = about(example, findings, details)
        name = name_to_text(details.pictures[example.picture].name)
        alt = f"{title}: {text}; a part of {name} with the boxes."
        shown = _picture(example, f"{stem}-{number:02}.png", alt, findings.errors.score_threshold, details)
        yield Card(title, text, name, shown)


def _picture(
    example: Example, file_name: str, alt: str, score_threshold: float, details: ReportDetails
) -> PagePicture | None:
    try:
        png, size = draw_example(example, details, score_threshold)
    except PictureError:  # a picture may have gone since; the run names all that cannot be read
        return None
    return PagePicture(file_name, png, size, alt)


def _about_false_alarm(example: Example, findings: Findings, details: ReportDetails) -> tuple[str, str]:
    found, names = details.predictions, details.class_names
    title = f"{names[found.class_id[example.row]]} {found.score[example.row]:.2f}"
    nearest = int(findings.errors.nearest[example.row])
    if nearest < 0:
        return title, "background: no object is there"
    name = names[details.truth.class_id[nearest]]
    boxes = found.boxes[[example.row]].astype(np.float32), details.truth.boxes[[nearest]].astype(np.float32)
    overlap = f"IoU {pairwise_iou(*boxes)[0, 0]:.2f}"
    return title, {
        ErrorKind.CLASS: f"class: this is {name} ({overlap})",
        ErrorKind.LOCATION: f"location: the box fits {name} poorly ({overlap})",
        ErrorKind.DUPLICATE: f"duplicate: a better detection has this {name} ({overlap})",
    }.get(ErrorKind(findings.errors.kind[example.row]), f"both: this is {name}, and the box fits poorly ({overlap})")


def _about_missed(example: Example, _: Findings, details: ReportDetails) -> tuple[str, str]:
    x0, y0, x1, y1 = details.truth.boxes[example.row]
    return details.class_names[details.truth.class_id[example.row]], f"missed: {x1 - x0:.0f} × {y1 - y0:.0f} pixels"
