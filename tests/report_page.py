"""Reads the page of a report as a program would."""

import base64
from dataclasses import dataclass, field
from html.parser import HTMLParser

VOID = ("img", "meta")


@dataclass
class Cell:
    """Text of a table's cell, and the number that stands behind it for programs."""

    text: str = ""
    value: float | None = None


@dataclass
class ReadPage(HTMLParser):
    """What stands in a page; an element that is not closed in its turn is an error.

    Args:
        tables: id -> rows of cells, the header first.
        images: attributes of every `img`.
        tags, attributes: names of all elements, and of all attributes.
        ids, links, scopes: values of these attributes, links being `href`.
        tiles: the numbers outside of tables.
        names: the text of every `bdi`, which holds names of strangers.
        text: everything to be read.
    """

    tables: dict[str, list[list[Cell]]] = field(default_factory=dict)
    images: list[dict[str, str]] = field(default_factory=list)
    tags: set[str] = field(default_factory=set)
    attributes: set[str] = field(default_factory=set)
    ids: list[str] = field(default_factory=list)
    links: list[str] = field(default_factory=list)
    scopes: list[str] = field(default_factory=list)
    tiles: list[float] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    text: str = ""

    def __post_init__(self) -> None:
        super().__init__()
        self._open: list[str] = []
        self._rows: list[list[Cell]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        self.tags.add(tag)
        self.attributes |= {*values}
        if "id" in values:
            self.ids.append(values["id"])
        if tag not in VOID:
            self._open.append(tag)
        if tag == "img":
            self.images.append(values)
        elif tag == "a":
            self.links.append(values["href"])
        elif tag == "table":
            self._rows = self.tables[values["id"]] = []
        elif tag == "tr":
            self._rows.append([])
        elif tag in ("th", "td"):
            self._rows[-1].append(Cell())
            if tag == "th":
                self.scopes.append(values.get("scope", ""))
        elif tag == "data":
            self._take_number(float(values["value"]))
        elif tag == "bdi":
            self.names.append("")

    def _take_number(self, value: float) -> None:
        if "table" not in self._open:
            self.tiles.append(value)
        elif self._rows[-1][-1].value is None:  # an interval has two; the first counts
            self._rows[-1][-1].value = value

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        if "style" in self._open:
            return
        self.text += data
        if "bdi" in self._open:
            self.names[-1] += data
        if "tr" in self._open:
            self._rows[-1][-1].text += data

    def column(self, table: str, number: int) -> list[float | None]:
        """The numbers of a column, without the header."""
        return [row[number].value for row in self.tables[table][1:]]

    def first_column(self, table: str) -> list[str]:
        """What the rows of a table are called."""
        return [row[0].text for row in self.tables[table][1:]]

    @property
    def pngs(self) -> list[bytes]:
        """The content of every picture."""
        return [base64.b64decode(image["src"].removeprefix("data:image/png;base64,")) for image in self.images]


def read_page(content: bytes) -> ReadPage:
    """Parse a whole page."""
    page = ReadPage()
    page.feed(content.decode("utf-8"))
    page.close()
    assert page._open == []
    return page
