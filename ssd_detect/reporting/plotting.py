"""How all figures of a report are made: by matplotlib's objects, in one plain style, whatever the user's settings."""

import io
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from ssd_detect.errors import MissingPackageError
from ssd_detect.media.drawing.lettering import FONT_FILES, FONTS, has_glyph

if TYPE_CHECKING:
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure
    from matplotlib.text import Text

PAGE_WIDTH = 1040
"""Of the widest figure in the page, CSS pixels."""

# Okabe and Ito's colours, which people with any kind of colour vision tell apart ("Color Universal Design", 2008).
BLUE, ORANGE, GREEN, SKY, YELLOW, RED, BLACK = (
    "#0072B2", "#E69F00", "#009E73", "#56B4E9", "#F0E442", "#D55E00", "#222222",
)  # fmt: skip

_PIXELS_PER_INCH = 100  # of the page; text of 8 points is 11 pixels high
_SHARPNESS = 2  # pixels of the file for each of the page, for fine screens and for print
_LONGEST_NAME = 18  # characters
_STYLE: dict[str, Any] = {
    "font.size": 9,
    "axes.titlesize": 9,
    "axes.labelsize": 9,
    "xtick.labelsize": 8,
    "ytick.labelsize": 8,
    "legend.fontsize": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": "#777777",
    "axes.axisbelow": True,
    "grid.color": "#dddddd",
}


@dataclass(frozen=True)
class PagePicture:
    """A picture of the page.

    Args:
        file_name: under which it lies beside the page.
        png: its content.
        size: (width, height) in the page, CSS pixels.
        alt: what it shows, in words, for those who cannot see it.
    """

    file_name: str
    png: bytes
    size: tuple[int, int]
    alt: str


def check_matplotlib() -> None:
    """Find out before the work begins whether figures can be drawn.

    Raises:
        MissingPackageError: matplotlib is not there or does not load.
    """
    try:
        import matplotlib.figure  # noqa: F401
    except Exception as error:  # whatever a broken installation raises
        found = " ".join(str(error).split()) or type(error).__name__
        raise MissingPackageError(
            f'the report page needs matplotlib, but {found}; type: pip install "ssd-detect[eval]"; '
            "metrics.json and per_class.csv need nothing more"
        ) from error


@contextmanager
def plain_style() -> Iterator[None]:
    """One look, even for a user whose own plots are white on black; the user's settings are back afterwards."""
    from matplotlib import style

    with style.context(["default", _STYLE]):
        yield


def new_figure(width: float, height: float, layout: Literal["constrained"] | None = "constrained") -> "Figure":
    """An empty figure of this size in the page, CSS pixels; no window and no state of pyplot's belongs to it.

    The constrained layout finds the borders by itself, at 0.1 s a panel.
    """
    from matplotlib.figure import Figure

    size = width / _PIXELS_PER_INCH, height / _PIXELS_PER_INCH
    return Figure(figsize=size, dpi=_PIXELS_PER_INCH, layout=layout)


def to_page_picture(figure: "Figure", file_name: str, alt: str) -> PagePicture:
    """Draw the figure."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    width, height = figure.get_size_inches() * _PIXELS_PER_INCH
    content = io.BytesIO()
    FigureCanvasAgg(figure).print_figure(
        content, format="png", dpi=_PIXELS_PER_INCH * _SHARPNESS, metadata={"Software": None}
    )
    return PagePicture(file_name, content.getvalue(), (round(width), round(height)), alt)


def write_name(text: "Text", name: str) -> None:
    """Let a text of a figure show a stranger's name: shortened, no mathematics, in a font that has its letters.

    A character that the font lacks becomes a question mark; the tables of the page have the whole name.
    """
    shown, file = _drawable(name)
    text.set_text(shown)
    _set_font(text, file)


def label_ticks(axis: "Axis", names: Sequence[str]) -> None:
    """`write_name` for the ticks 0, 1, ... of an axis."""
    drawable = [_drawable(name) for name in names]
    axis.set_ticks(range(len(names)), labels=[shown for shown, _ in drawable])
    for label, (_, file) in zip(axis.get_ticklabels(), drawable, strict=True):
        _set_font(label, file)


def _drawable(name: str) -> tuple[str, str]:
    """What can be drawn of a name, and the file of the font that has most of its characters."""
    short = name if len(name) <= _LONGEST_NAME else name[: _LONGEST_NAME - 1] + "…"
    file = max(FONT_FILES, key=lambda one: sum(has_glyph(one, character) for character in short))
    return "".join(character if has_glyph(file, character) else "?" for character in short), file


def _set_font(text: "Text", file: str) -> None:
    from matplotlib.font_manager import FontProperties

    text.set_parse_math(False)
    text.set_fontproperties(FontProperties(fname=FONTS / file, size=text.get_fontsize()))
