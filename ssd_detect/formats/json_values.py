"""Strict reading of JSON values; each function raises ValueError with a text that goes after a file's name."""

import json
import os
from typing import Any

LARGEST = 1e9
"""No size, coordinate or class number in such files is larger; numbers beyond it are taken for damage."""


def parse_json(text: str, *, with_nan: bool = False) -> Any:
    """The value of a JSON text.

    Args:
        text: such as a file's content.
        with_nan: let NaN and Infinity through, for readers that tell where they stand; `number` refuses them.

    Raises:
        ValueError: not JSON, NaN or Infinity in it, an object with a member twice, or nested too deeply.
    """
    try:
        return json.loads(text, parse_constant=None if with_nan else _refuse, object_pairs_hook=_object)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error
    except json.JSONDecodeError as error:
        raise ValueError(f"not JSON: {error}") from error


def _refuse(constant: str) -> Any:
    raise ValueError(f"holds {constant}, which JSON does not know")


def _object(members: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object, each of whose members stands there once: which of two is meant, nobody knows."""
    found = dict(members)
    if len(found) < len(members):
        names = [name for name, _ in members]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"{twice!r} stands twice in one object; leave one out")
    return found


def member(value: Any, name: str) -> Any:
    """`value[name]`.

    Raises:
        ValueError: not an object, or it has no such member.
    """
    if not isinstance(value, dict):
        raise ValueError(f"found {_kind(value)}, expected an object with {name!r}")
    if name not in value:
        raise ValueError(f"{name!r} is missing")
    return value[name]


def check_schema(value: Any, expected: str) -> None:
    """Check that the object says it is of the schema of this name.

    Raises:
        ValueError: no object, or of another or no schema.
    """
    found = member(value, "schema")
    if found != expected:
        raise ValueError(f"its schema is {found!r}, expected {expected!r}")


def items(value: Any, name: str) -> list[Any]:
    """The list `value[name]`.

    Raises:
        ValueError: missing or no list.
    """
    found = member(value, name)
    if not isinstance(found, list):
        raise ValueError(f"{name!r} is {_kind(found)}, expected a list")
    return found


def text(value: Any, name: str) -> str:
    """The string `value[name]`.

    Raises:
        ValueError: missing or no string.
    """
    found = member(value, name)
    if not isinstance(found, str):
        raise ValueError(f"{name!r} is {_kind(found)}, expected a string")
    return found


def file_name(value: Any, name: str) -> str:
    """The string `value[name]`, which a file on this system could have for its name.

    Raises:
        ValueError: missing, no string, or no file name: on Linux, of half a character that stands for no byte.
    """
    found = text(value, name)
    try:
        os.fsencode(found)
    except UnicodeEncodeError as error:
        raise ValueError(f"{name!r} is {_shown(found)}, which cannot be a file name") from error
    return found


def whole(value: Any, name: str) -> int:
    """The whole number `value[name]`.

    Raises:
        ValueError: missing, no whole number, negative, or beyond `LARGEST`.
    """
    found = member(value, name)
    if not isinstance(found, int) or isinstance(found, bool) or not 0 <= found <= LARGEST:
        raise ValueError(f"{name!r} is {_shown(found)}, expected a whole number from 0")
    return found


def flag(value: Any, name: str) -> bool:
    """The truth value `value[name]`.

    Raises:
        ValueError: missing, or neither true nor false.
    """
    found = member(value, name)
    if not isinstance(found, bool):
        raise ValueError(f"{name!r} is {_shown(found)}, expected true or false")
    return found


def number(value: Any, name: str) -> float:
    """The number `value[name]`.

    Raises:
        ValueError: missing, no number, or beyond `LARGEST`.
    """
    return _number(member(value, name), name)


def four_numbers(value: Any, name: str) -> tuple[float, float, float, float]:
    """The four numbers of the list `value[name]`.

    Raises:
        ValueError: missing, not four, no numbers, or beyond `LARGEST`.
    """
    found = items(value, name)
    if len(found) != 4:
        raise ValueError(f"{name!r} has {len(found)} numbers, expected 4")
    a, b, c, d = (_number(v, name) for v in found)
    return a, b, c, d


def _number(found: Any, name: str) -> float:
    if not isinstance(found, int | float) or isinstance(found, bool) or not abs(found) <= LARGEST:
        raise ValueError(f"{name!r} is {_shown(found)}, expected a number")
    return float(found)


def _kind(value: Any) -> str:
    return {dict: "an object", list: "a list", str: "a string", type(None): "null"}.get(type(value), _shown(value))


def _shown(value: Any) -> str:
    shown = json.dumps(value)
    return shown if len(shown) <= 40 else f"{shown[:40]}…"
