"""Manifests as files: TOML in, entries out, and for what is wrong a line number and what was meant.

`checkpoints/manifest.schema.json` states the same rules for editors and tests.
"""

import difflib
import os
import re
import sys
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from ssd_detect.classes import CLASS_LISTS
from ssd_detect.conventions import ColourOrder, ResizeRule, Source
from ssd_detect.errors import CheckpointError
from ssd_detect.filetypes import other_than_file
from ssd_detect.model.manifest_entry import FACTS, ManifestEntry, Score
from ssd_detect.model.manifest_rules import BESIDE, ENTRY, MANIFEST, SCORE, Rules, TwiceError
from ssd_detect.model.spec import SIZES, ModelSpec

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

_PLAIN_NAME = re.compile(r"(?!\.{1,2}$)[^/\\\0]+")  # of a file in the cache, on every system

MOST_BYTES = 1 << 20
"""The manifest that ships has 30 kB; so large a list would know thousands of checkpoints."""

_MOST_SHOWN = 200  # characters of a wrong value


@dataclass(frozen=True)
class Place:
    """Where the files of a manifest lie.

    Args:
        manifest: the TOML itself; files are named as seen from its folder.
        cache: folder of fetched files.
        is_users: not the manifest that ships.
    """

    manifest: Path
    cache: Path
    is_users: bool


def entries_of(place: Place) -> dict[str, ManifestEntry]:
    """Name -> entry, in the order of the file.

    Raises:
        CheckpointError: cannot be read, is no TOML, or breaks a rule; names the file, the line, and what to write.
    """
    text, content = _read(place.manifest)
    _Checker(place.manifest, text, "").check(content, MANIFEST)
    return {name: _entry(name, fields, place, text) for name, fields in content["checkpoints"].items()}


def facts_beside(path: Path) -> ManifestEntry | None:
    """What a TOML beside a checkpoint, `NAME.SUFFIX.toml` or else `NAME.toml`, tells about it; None: there is none.

    It may tell as few facts as it likes; `ManifestEntry.told` names them.

    Args:
        path: the file, or the prefix of its files.

    Raises:
        CheckpointError: as `entries_of`.
    """
    path = path if path.name else path.absolute()  # the folder that we are in
    if not path.name:
        return None
    beside = (path.with_name(path.name + ".toml"), path.with_suffix(".toml"))
    manifest = next((p for p in beside if p != path and os.path.lexists(p)), None)
    if manifest is None:
        return None
    text, content = _read(manifest)
    fields = _Checker(manifest, text, "").check(content, BESIDE)
    values = {"source": Source.TENSORFLOW, "colour_order": ColourOrder.RGB, **fields}
    return ManifestEntry(
        path.name,
        path,
        None,
        _spec(manifest, text, "", fields),
        described_in=manifest,
        told=frozenset(fields) & FACTS,
        **{key: value for key, value in values.items() if key not in _SPEC_FIELDS},
    )


def _read(path: Path) -> tuple[str, dict[str, Any]]:
    if other := other_than_file(path):
        raise CheckpointError(f"{path}: is a {other}, expected a TOML file; remove or rename it")
    try:
        with path.open("rb") as file:
            content = file.read(MOST_BYTES + 1)
        if len(content) > MOST_BYTES:
            raise CheckpointError(
                f"{path}: is larger than {MOST_BYTES:,} bytes, expected a TOML file of at most so many"
            )
        text = content.decode("utf-8").replace("\r\n", "\n")
        return text, tomllib.loads(text)
    except OSError as error:
        raise CheckpointError(f"{path}: cannot be read: {error.strerror or error}") from error
    except (ValueError, RecursionError) as error:  # besides what is no TOML: endless numbers, brackets by the thousand
        raise CheckpointError(f"{path}: is no TOML: {error}") from error


def _entry(name: str, content: Any, place: Place, text: str) -> ManifestEntry:
    fields = _Checker(place.manifest, text, name).check(content, ENTRY)
    spec = _spec(place.manifest, text, name, fields)
    file = fields.pop("file")
    is_elsewhere = "urls" in fields or "by_hand" in fields
    if is_elsewhere and not re.fullmatch(_PLAIN_NAME, file):
        raise _fault(place.manifest, text, name, "file", f"file is {file!r}, expected a name without folders")
    beside = place.manifest.parent / file
    cached = place.cache / file if is_elsewhere else None
    return ManifestEntry(
        name,
        cached if cached is not None and not place.is_users else beside,
        fields.pop("sha256", None),
        spec,
        cached=cached,
        described_in=place.manifest if place.is_users else None,
        **{key: value for key, value in fields.items() if key not in _SPEC_FIELDS},
    )


_SPEC_FIELDS = frozenset(ModelSpec.__dataclass_fields__)
_PLACEHOLDERS: Mapping[str, Any] = {
    "size": SIZES[0],
    "class_names": CLASS_LISTS["voc20"],
    "anchors": "coco300",
    "resize": ResizeRule.LEGACY,
}


def _spec(path: Path, text: str, name: str, fields: Mapping[str, Any]) -> ModelSpec:
    """With placeholders for what is not told, which only a TOML beside a checkpoint may leave out."""
    told = {key: value for key, value in fields.items() if key in _SPEC_FIELDS}
    sizes = (told["size"],) if "size" in told else SIZES
    presets = [f"{kind}{size}" for size in sizes for kind in ("voc", "coco")]
    if told.get("anchors", presets[0]) not in presets:
        words = f"anchors is {told['anchors']!r}, expected {' or '.join(presets)}"
        raise _fault(path, text, name, "anchors", f"{words}, as size is {told['size']}" if "size" in told else words)
    return ModelSpec(**{**_PLACEHOLDERS, **told})


class _Checker(NamedTuple):
    """Checks the tables of one entry; `name` is empty for what stands outside of entries."""

    path: Path
    text: str
    name: str

    def check(self, table: Any, rules: Rules) -> dict[str, Any]:
        """Field -> parsed value."""
        if not isinstance(table, dict):
            raise self.fault(self.name, f"{self.name} is {table!r}, expected a table [checkpoints.{self.name}]")
        parsed = {}
        for key, value in table.items():
            if key not in rules.keys:
                raise self.fault(key, f"unknown key {key!r}{_meant(key, rules.keys)}")
            rule = rules.keys[key]
            try:
                parsed[rule.field] = rule.parse(value)
            except TwiceError as error:
                raise self.fault(key, f"{key} holds {error} twice, expected each name once") from error
            except (ValueError, TypeError) as error:
                raise self.fault(key, f"{key} is {_shown(value)}, expected {rule.expected}") from error
            if rule.is_score:
                parsed[rule.field] = Score(**self.check(value, SCORE))
        missing = [key for key in rules.required if key not in table]
        if missing:
            words = f"{missing[0]} is missing, expected {rules.keys[missing[0]].expected}"
            raise self.fault("", f"{self.name}: {words}" if self.name else words)
        return parsed

    def fault(self, key: str, words: str) -> CheckpointError:
        return _fault(self.path, self.text, self.name, key, words)


def _fault(path: Path, text: str, name: str, key: str, words: str) -> CheckpointError:
    return CheckpointError(f"{path}: line {_line_of(text, name, key)}: {words}")


def _line_of(text: str, name: str, key: str) -> int:
    """The number of the line where a key of an entry stands, as TOML is usually written; else where the entry does."""
    lines = text.splitlines()
    starts = (
        [i for i, line in enumerate(lines) if line.lstrip().startswith("[") and _names(line, name)] if name else [0]
    )
    start = starts[0] if starts else 0
    pattern = re.compile(rf"\s*\[?[\w.\"'-]*?\b{re.escape(key)}[\"']?\s*[=.\]]")
    found = (i for i in range(start, len(lines)) if key and pattern.match(lines[i]))
    return next(found, start) + 1


def _names(header: str, name: str) -> bool:
    return re.search(rf"[.\"']{re.escape(name)}[\"'\].]", header) is not None


def _meant(key: str, keys: Collection[str]) -> str:
    close = difflib.get_close_matches(key, keys, n=1)
    return f"; did you mean {close[0]}?" if close else f"; expected {', '.join(keys)}"


def _shown(value: Any) -> str:
    """As much as a line holds."""
    text = repr(value)
    return text if len(text) <= _MOST_SHOWN else f"{text[:_MOST_SHOWN]}…"
