"""Arabic and Hebrew for a renderer that only puts one glyph after the other.

Pillow shapes and turns such text itself where the FriBiDi library is installed, which is rare outside Linux desktops.
This covers what class names need: joined Arabic letters, and the order of words, numbers and brackets.
"""

import re
import unicodedata
from functools import lru_cache

_JOINING_FORMS = ("<isolated>", "<final>", "<initial>", "<medial>")
_MIRRORED = str.maketrans("()[]{}<>«»", ")(][}{><»«")
_TATWEEL = "\u0640"  # the stroke that joins on both sides

_RIGHT = "\u0590-\u065f\u066a-\u06ef\u06fa-\u08ff\ufb1d-\ufdff\ufe70-\ufefc"  # letters and marks, not digits
_RIGHT_TO_LEFT_RUN = re.compile(rf"[{_RIGHT}](?:\W*[{_RIGHT}])*")
_NUMBER = r"\d+(?:[.,:/]\d+)*"
_LEFT_TO_RIGHT_RUN = re.compile(rf"([^\W\d{_RIGHT}](?:\W*[^\W{_RIGHT}])*|{_NUMBER})")


def drawing_order(text: str) -> str:
    """`text` with joined letters as presentation forms, in the order in which glyphs stand from left to right.

    Text that starts with a right-to-left letter reads from the right as a whole; in other text only the
    right-to-left words are turned.
    """
    if not _RIGHT_TO_LEFT_RUN.search(text):
        return text
    text = join_letters(text)
    if _starts_from_right(text):
        pieces = list(enumerate(_LEFT_TO_RIGHT_RUN.split(text)))  # those that read from the left have odd numbers
        return "".join(piece if i % 2 else _turned(piece) for i, piece in reversed(pieces))
    return _RIGHT_TO_LEFT_RUN.sub(lambda run: _turned(run[0]), text)


def join_letters(text: str) -> str:
    """Arabic letters replaced by the isolated, initial, medial or final form that their neighbours ask for."""
    forms = _arabic_forms()
    for pair, ligature in _ligatures().items():
        text = text.replace(pair, ligature)
    joined = list(text)
    places = [i for i, c in enumerate(text) if not unicodedata.combining(c)]  # a mark does not part two letters
    for before, at, after in zip([None, *places], places, [*places[1:], None], strict=False):
        form = forms.get(text[at], {})
        from_right = before is not None and "<initial>" in forms.get(text[before], {}) and "<final>" in form
        to_left = after is not None and "<initial>" in form and "<final>" in forms.get(text[after], {})
        joined[at] = form.get(_JOINING_FORMS[from_right + 2 * to_left], text[at])
    return "".join(joined)


@lru_cache(maxsize=1)
def _arabic_forms() -> dict[str, dict[str, str]]:
    """Letter (or lam-alef ligature) -> kind of form -> presentation form, as Unicode's own table has it."""
    forms = {_TATWEEL: dict.fromkeys(_JOINING_FORMS, _TATWEEL)}
    for letters, kind, form in _presentation_forms():
        forms.setdefault(_ligatures().get(letters, letters), {})[kind] = form
    return forms


@lru_cache(maxsize=1)
def _ligatures() -> dict[str, str]:
    """The pairs that must be written as one: lam and the four alefs."""
    return {
        letters: form for letters, kind, form in _presentation_forms() if len(letters) == 2 and kind == "<isolated>"
    }


def _presentation_forms() -> list[tuple[str, str, str]]:
    """Letters, kind of form, form: all single letters, and lam-alef."""
    found = []
    for code in (*range(0xFB50, 0xFBB2), *range(0xFBD3, 0xFBEA), *range(0xFBFC, 0xFC00), *range(0xFE80, 0xFEFD)):
        kind, *letters = unicodedata.decomposition(chr(code)).split() or [""]
        found.append(("".join(chr(int(letter, 16)) for letter in letters), kind, chr(code)))
    return found


def _starts_from_right(text: str) -> bool:
    directions = (unicodedata.bidirectional(c) for c in text)
    return next((d in ("R", "AL") for d in directions if d in ("L", "R", "AL")), False)


def _turned(text: str) -> str:
    """Last character first, brackets the other way round. Marks come before their letter, where fonts expect them."""
    return text[::-1].translate(_MIRRORED)
