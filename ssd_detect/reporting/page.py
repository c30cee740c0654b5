"""The page as a whole: one file that needs no network and no script."""

import base64
from collections.abc import Sequence
from pathlib import Path

from ssd_detect.evaluation.results import EvaluationResult
from ssd_detect.formats.file_names import name_to_text
from ssd_detect.reporting import sections
from ssd_detect.reporting.curve_figures import precision_recall_figure
from ssd_detect.reporting.details import ReportDetails
from ssd_detect.reporting.error_figures import confusion_figure, error_figure, size_figure
from ssd_detect.reporting.example_cards import Card, false_alarm_cards, missed_cards
from ssd_detect.reporting.findings import Findings
from ssd_detect.reporting.markup import Html, element, foreign, join, scrolling
from ssd_detect.reporting.plotting import PagePicture, plain_style
from ssd_detect.reporting.score_figures import calibration_figure, score_figure

_STYLE = Path(__file__).with_name("page.css")
# Nothing but what the page holds itself: a browser that obeys it loads nothing even if a name got past the escaping.
_POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'"


class Page:
    """Grows section by section, and knows the pictures that it shows."""

    def __init__(self) -> None:
        self.pictures: list[PagePicture] = []
        self._sections: list[Html] = []
        self._links: list[Html] = []

    def add(self, name: str, title: str, *content: Html) -> None:
        """Append a section; `name` is its id."""
        self._links.append(element("a", title, href=f"#{name}"))
        heading = element("h2", title, id=f"{name}-title")
        self._sections.append(element("section", heading, *content, id=name, aria_labelledby=f"{name}-title"))

    def show(self, picture: PagePicture) -> Html:
        """A picture with its content."""
        self.pictures.append(picture)
        width, height = picture.size
        source = "data:image/png;base64," + base64.b64encode(picture.png).decode("ascii")
        return element("img", src=source, width=str(width), height=str(height), alt=picture.alt)

    def figure(self, picture: PagePicture, text: str) -> Html:
        """A chart with a caption; it scrolls where the window is too narrow to read it."""
        shown = scrolling(self.show(picture), f"Chart {picture.file_name}")
        return element("figure", shown, element("figcaption", text))

    def whole(self, title: str, heading: Html, *head: Html) -> bytes:
        """The file."""
        document = element(
            "html",
            element(
                "head",
                element("meta", charset="utf-8"),
                element("meta", http_equiv="Content-Security-Policy", content=_POLICY),
                element("meta", name="viewport", content="width=device-width, initial-scale=1"),
                element("title", title),
                element("style", Html(_STYLE.read_text(encoding="utf-8"))),
            ),
            element(
                "body",
                element("header", element("h1", heading), *head, element("nav", *self._links, aria_label="Sections")),
                element("main", *self._sections),
            ),
            lang="en",
        )
        return f"<!doctype html>\n{document}\n".encode()


def make_page(result: EvaluationResult, findings: Findings, details: ReportDetails) -> tuple[bytes, list[PagePicture]]:
    """The page, and its pictures as files.

    Args:
        result: the numbers.
        findings: what was found besides.
        details: what they were made of.
    """
    page = Page()
    page.add("means-section", "Means", sections.means_table(result), sections.notes_list(result.notes))
    page.add("classes-section", "Classes", sections.classes_table(result, findings))
    with plain_style():
        _add_figures(page, findings)
    _add_examples(page, findings, details)
    facts = details.facts
    checkpoint = "saved predictions" if facts.provenance is None else facts.provenance.checkpoint_name
    names = [name_to_text(checkpoint), name_to_text(facts.dataset)]
    heading = join(map(foreign, names), " on ")
    content = page.whole(" on ".join(names), heading, sections.facts_list(facts, result), sections.tiles(result))
    return content, page.pictures


def _add_figures(page: Page, findings: Findings) -> None:
    iou = f"IoU {findings.curves.iou_threshold:g}"
    chosen = f"Detections with a score above {findings.errors.score_threshold:g}, at {iou}."
    page.add(
        "curves",
        "Precision and recall",
        page.figure(
            precision_recall_figure(findings.curves),
            f"The best precision at each recall, at {iou}; the number is the area under it (VOC10 AP).",
        ),
    )
    page.add(
        "scores",
        "Scores",
        page.figure(score_figure(findings), f"Hits and false alarms of all classes, at {iou}."),
        page.figure(calibration_figure(findings.calibration), _about_calibration(findings)),
        sections.calibration_table(findings.calibration),
    )
    page.add(
        "kinds",
        "Errors by kind",
        page.figure(error_figure(findings.errors), chosen),
        sections.errors_table(findings.errors),
    )
    page.add(
        "confusion",
        "Confusion matrix",
        page.figure(confusion_figure(findings.confusion), f"{chosen} Colours are shares of the row."),
        sections.confusions_table(findings.confusion),
    )
    page.add(
        "size",
        "Size of the objects",
        page.figure(size_figure(findings.sizes), f"VOC10 AP at {iou}, for COCO's ranges of areas."),
        sections.sizes_table(findings),
    )
    page.add("thresholds-section", "Thresholds", sections.thresholds_table(findings))


def _about_calibration(findings: Findings) -> str:
    error = findings.calibration.expected_error
    known = "There are no detections." if error is None else f"Expected calibration error {error:.3f}."
    return (
        f"Share of hits among the detections of a score; above the line scores are too low, below it too high. {known}"
    )


def _add_examples(page: Page, findings: Findings, details: ReportDetails) -> None:
    chosen = f"scores above {findings.errors.score_threshold:g}, IoU {findings.errors.iou_threshold:g}"
    alarms = false_alarm_cards(findings, details)
    page.add("false-alarms", "Worst false alarms", _legend(f"The surest ones ({chosen})."), _cards(page, alarms))
    missed = missed_cards(findings, details)
    page.add("missed", "Largest missed objects", _legend(f"By area ({chosen})."), _cards(page, missed))


def _legend(text: str) -> Html:
    return element(
        "p",
        f"{text} The box in question has the broad line. ",
        element("span", "detection", class_="key detection"),
        " ",
        element("span", "annotated object", class_="key object"),
    )


def _cards(page: Page, cards: Sequence[Card]) -> Html:
    if not cards:
        return element("p", "None.")
    return element("div", *(_card(page, card) for card in cards), class_="cards")


def _card(page: Page, card: Card) -> Html:
    shown = element("p", "The picture cannot be read.", class_="gone") if card.shown is None else page.show(card.shown)
    text = element(
        "figcaption",
        element("strong", foreign(card.title)),
        element("span", foreign(card.text)),
        element("span", foreign(card.picture_name), class_="file"),
    )
    return element("figure", shown, text, class_="card")
