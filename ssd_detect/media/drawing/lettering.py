"""Text to pixels. No one font has all scripts, so each run of characters takes the first font that knows it."""

import math
import threading
import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

from ssd_detect.media.drawing.right_to_left import drawing_order

Grey: TypeAlias = NDArray[np.uint8]
"""Coverage, (H, W), 0 for paper to 255 for ink."""

FONTS = Path(__file__).parent / "fonts"
FONT_FILES = (
    "DejaVuSans.ttf",  # Latin, Greek, Cyrillic, Armenian, Georgian, Hebrew, Arabic; its box stands for what all lack
    "DroidSansFallback.ttf",  # Chinese, Japanese, Korean
    "NotoSansDevanagari-Regular.ttf",
    "NotoSansBengali-Regular.ttf",
    "NotoSansThai-Regular.ttf",
    "NotoSansTamil-Regular.ttf",
    "NotoSansTelugu-Regular.ttf",
    "NotoSansGujarati-Regular.ttf",
    "NotoSansKannada-Regular.ttf",
    "NotoSansMalayalam-Regular.ttf",
    "NotoSansGurmukhi-Regular.ttf",
    "NotoSansOriya-Regular.ttf",
    "NotoSansMyanmar-Regular.ttf",
    "NotoSansEthiopic-Regular.ttf",
)

_PROBE_SIZE = 16
_NO_CHARACTER = "\U0010ffff"  # never assigned, so every font answers with its glyph for "missing"
_STAYING = ("Mn", "Me", "Mc", "Cf", "Zs")  # marks, joiners and blanks stay with the font of the letter before
_ONE_AT_A_TIME = threading.RLock()  # FreeType's fonts are not made for several threads


def draw_text(text: str, size: int) -> Grey:
    """One line of text, as coverage (H, W).

    Args:
        text: without line breaks.
        size: pixels per em. The line is about 0.95 of it high for every Latin text; tall scripts need more.
    """
    with _ONE_AT_A_TIME:
        if not _shapes_text():
            text = drawing_order(text)
        runs = [(run, _font(file, size)) for run, file in split_runs(text)]
        top, bottom = _rows(runs, size)
        width = sum(font.getlength(run) for run, font in runs)
        image = Image.new("L", (max(1, math.ceil(width)), bottom - top))
        _draw_runs(ImageDraw.Draw(image), runs, baseline=-top)
    return np.asarray(image)


def split_runs(text: str) -> list[tuple[str, str]]:
    """Neighbouring characters that share a font, and the name of that font's file."""
    runs: list[tuple[str, str]] = []
    for character, file in _choose_fonts(text):
        if runs and runs[-1][1] == file:
            runs[-1] = (runs[-1][0] + character, file)
        else:
            runs.append((character, file))
    return runs


def _choose_fonts(text: str) -> Iterator[tuple[str, str]]:
    file = FONT_FILES[0]
    for character in text:
        if not (unicodedata.category(character) in _STAYING and has_glyph(file, character)):
            file = next((f for f in FONT_FILES if has_glyph(f, character)), FONT_FILES[0])
        yield character, file


@lru_cache(maxsize=4096)
def has_glyph(file: str, character: str) -> bool:
    """Whether the font draws something else for `character` than for one that does not exist."""
    with _ONE_AT_A_TIME:
        return _probe(file, character) != _probe(file, _NO_CHARACTER)


def _probe(file: str, character: str) -> tuple[tuple[float, ...], bytes]:
    font = _font(file, _PROBE_SIZE, ImageFont.Layout.BASIC)
    return font.getbbox(character), bytes(font.getmask(character))


@lru_cache(maxsize=64)
def _font(file: str, size: int, layout: ImageFont.Layout | None = None) -> ImageFont.FreeTypeFont:
    return ImageFont.truetype(FONTS / file, size, layout_engine=layout)


def _shapes_text() -> bool:
    """Whether this Pillow joins and turns letters; without the FriBiDi library it does not."""
    return _font(FONT_FILES[0], _PROBE_SIZE).layout_engine == ImageFont.Layout.RAQM


def _rows(runs: list[tuple[str, ImageFont.FreeTypeFont]], size: int) -> tuple[int, int]:
    """Rows above (negative) and below the baseline; never fewer than Latin needs, so that lines are equally high."""
    boxes = [_latin_box(size), *(font.getbbox(run, anchor="ls") for run, font in runs)]
    return int(min(box[1] for box in boxes)), int(max(box[3] for box in boxes))


@lru_cache(maxsize=64)
def _latin_box(size: int) -> tuple[float, ...]:
    return _font(FONT_FILES[0], size).getbbox("dp", anchor="ls")


def _draw_runs(draw: ImageDraw.ImageDraw, runs: list[tuple[str, ImageFont.FreeTypeFont]], baseline: int) -> None:
    x = 0.0
    for run, font in runs:
        draw.text((x, baseline), run, fill=255, font=font, anchor="ls")
        x += font.getlength(run)
