"""JSON as it is written: strict, so without NaN, and in ASCII, so that any terminal and any file name can be held."""

import json
from typing import Any


def json_line(value: dict[str, Any]) -> str:
    """An object as one line, its line feed included.

    Raises:
        ValueError: NaN or an infinity in it.
    """
    return json.dumps(value, allow_nan=False) + "\n"


def json_file(value: dict[str, Any]) -> bytes:
    """An object in readable form, indented by two blanks.

    Raises:
        ValueError: NaN or an infinity in it.
    """
    return (json.dumps(value, indent=2, allow_nan=False) + "\n").encode("ascii")
