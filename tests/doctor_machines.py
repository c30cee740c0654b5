"""The made machines of `tests/machines`: a base, what is different about each, and what the doctor should say of it.

A machine is a TOML file. `base` names another whose facts it starts from. A table changes fields; a table in place of a
list changes the entries that it names; "unset" takes a field or an entry away; a table with `kind` and `detail`, which
is a failure, stands in for whatever was there.
"""

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ssd_detect.doctor.facts import Facts

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

FOLDER = Path(__file__).with_name("machines")
_IDENTITIES = ("index", "component", "purpose", "path", "name")  # what an entry of a list is known by


@dataclass(frozen=True)
class Machine:
    """A made machine: its facts, which rows of the reference and of the reports it stands for, what is expected."""

    name: str
    title: str
    facts: Facts
    failures: tuple[str, ...]
    reports: tuple[str, ...]
    expect: dict[str, Any]


def machine(name: str) -> Machine:
    """The machine in the file of this name."""
    content = _read(name)
    return Machine(
        name=name,
        title=content["title"],
        facts=Facts.from_json(_facts(name)),
        failures=tuple(content["failures"]),
        reports=tuple(content["reports"]),
        expect=content["expect"],
    )


def names() -> list[str]:
    """Of all machines that something is expected of."""
    return sorted(path.stem for path in FOLDER.glob("*.toml"))


def _read(name: str) -> dict[str, Any]:
    content: dict[str, Any] = tomllib.loads((FOLDER / f"{name}.toml").read_text(encoding="utf-8"))
    return content


def _facts(name: str) -> dict[str, Any]:
    content = _read(name)
    base = _facts(content["base"]) if content.get("base") else {}
    merged: dict[str, Any] = _merged(base, content.get("facts", {}))
    return merged


def _merged(base: Any, change: Any) -> Any:
    if not isinstance(change, dict) or {"kind", "detail"} <= change.keys():
        return change
    if isinstance(base, list):
        return _merged_list(base, change)
    known = base if isinstance(base, dict) else {}
    merged = {**known, **{key: _merged(known.get(key), value) for key, value in change.items()}}
    return {key: value for key, value in merged.items() if value != "unset"}


def _merged_list(base: list[Any], change: dict[str, Any]) -> list[Any]:
    """Entries by what they are known by; one without that by its place; an unknown one is added."""
    entries = {_identity(entry, place): entry for place, entry in enumerate(base)}
    for key, value in change.items():
        entries[key] = _merged(entries.get(key, {"name": key}), value)
    return [entry for entry in entries.values() if entry != "unset"]


def _identity(entry: dict[str, Any], place: int) -> str:
    if "address" in entry:
        return str(place)
    keys = [key for key in _IDENTITIES if key in entry]
    return str(entry[keys[0]]) if keys else str(place)
