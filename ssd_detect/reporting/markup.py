"""HTML that is escaped unless it says that it is HTML: names of classes and files come from strangers."""

import html
import re
from collections.abc import Iterable, Sequence

# What HTML cannot hold even as a reference: control characters but tab and line feed, and lone surrogates.
_UNFIT = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")
_VOID = ("img", "meta")


class Html(str):
    """Text that is HTML already."""


def to_html(text: str) -> Html:
    """The text for content or attributes; what no page can hold becomes U+FFFD."""
    return text if isinstance(text, Html) else Html(html.escape(_UNFIT.sub("\ufffd", text)))


def join(parts: Iterable[str], between: str = "") -> Html:
    """The parts, each escaped unless it is HTML."""
    return Html(to_html(between).join(map(to_html, parts)))


def element(tag: str, *content: str, **attributes: str) -> Html:
    """An element. Names of attributes are as Python allows them: `class_`, `aria_label`."""
    inside = "".join(f' {name.rstrip("_").replace("_", "-")}="{to_html(value)}"' for name, value in attributes.items())
    return Html(f"<{tag}{inside}>" if tag in _VOID else f"<{tag}{inside}>{join(content)}</{tag}>")


def foreign(name: str) -> Html:
    """A name of a stranger's; its writing direction stays inside it."""
    return element("bdi", name)


def number(value: float | None, decimals: int = 3) -> Html:
    """The rounded number to be read, and the whole one to be copied by programs; `n/a` for None."""
    if value is None:
        return element("span", "n/a", class_="none")
    return element("data", f"{value:,.{decimals}f}", value=repr(float(value)))


def count(value: int) -> Html:
    """A whole number."""
    return element("data", f"{value:,}", value=str(int(value)))


def table(caption: str, header: Sequence[str], rows: Iterable[Sequence[str]], *, name: str) -> Html:
    """A table whose first column names the rows; it scrolls where the window is too narrow.

    Args:
        caption: what it shows.
        header: of every column.
        rows: cells, as many as the header has.
        name: its id in the page.
    """
    head = element("tr", *(element("th", cell, scope="col") for cell in header))
    body = (
        element("tr", element("th", first, scope="row"), *(element("td", cell) for cell in rest))
        for first, *rest in rows
    )
    whole = element("table", element("caption", caption), element("thead", head), element("tbody", *body), id=name)
    return scrolling(whole, f"Table: {caption}")


def scrolling(content: Html, label: str) -> Html:
    """Content that scrolls by itself, by keyboard too."""
    return element("div", content, class_="scroll", tabindex="0", role="region", aria_label=label)
