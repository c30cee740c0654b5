"""File names as text. A name on Linux may hold bytes that are no UTF-8; Python carries them as lone surrogates, which
JSON can hold (as escapes) and CSV and XML cannot.

The rule for CSV and XML: such a name becomes `bytes:` and its percent-encoded bytes, `bytes:caf%E9.jpg`. A name that
itself begins with `bytes:` is encoded as well, so that reading is never ambiguous.
"""

import os
import re
from urllib.parse import quote, unquote_to_bytes

_PREFIX = "bytes:"
_SURROGATES = re.compile("[\ud800-\udfff]")


def name_to_text(file: str, forbidden: re.Pattern[str] = _SURROGATES) -> str:
    """The name as text without characters that match `forbidden`, which must include the lone surrogates."""
    if file.startswith(_PREFIX) or forbidden.search(file):
        return _PREFIX + quote(os.fsencode(file))
    return file


def text_to_name(text: str) -> str:
    """The name that `name_to_text` was given."""
    return os.fsdecode(unquote_to_bytes(text.removeprefix(_PREFIX))) if text.startswith(_PREFIX) else text
