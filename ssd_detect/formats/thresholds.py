"""A score threshold for each class: the file that `eval --write-thresholds` writes and `--thresholds` reads.

JSON of the schema `ssd-detect.thresholds/1`, meant to be read and changed by people too. What a detection needs is
`classes`, class name -> score threshold; the rest says how the thresholds were chosen. Imports nothing heavy.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ssd_detect.files import explained_writing, whole_file
from ssd_detect.formats.file_reading import explained_reading
from ssd_detect.formats.json_text import json_file
from ssd_detect.formats.json_values import check_schema, member, number, parse_json, text

SCHEMA = "ssd-detect.thresholds/1"


@dataclass(frozen=True)
class ScoreThresholds:
    """What the file says.

    Args:
        classes: class name -> score threshold, 0 to 1; a detection's score is above it.
        checkpoint_name, checkpoint_sha256: whose scores they are for; empty where the file does not tell.
        chosen: how they were chosen, for people: plain values for JSON.
        path: of the file they were read from.
    """

    classes: Mapping[str, float]
    checkpoint_name: str = ""
    checkpoint_sha256: str = ""
    chosen: Mapping[str, Any] = field(default_factory=dict)
    path: Path | None = field(default=None, compare=False)

    def warning_for(self, checkpoint_name: str, checkpoint_sha256: str) -> str | None:
        """A line where the thresholds were chosen for other weights than these; None for their own."""
        if self.checkpoint_sha256 == checkpoint_sha256:
            return None
        return (
            f"the score thresholds were chosen for checkpoint {self.checkpoint_name or 'of no name'} "
            f"(SHA-256 {self.checkpoint_sha256[:12] or 'unknown'}), this one is {checkpoint_name}; "
            "scores of other weights mean something else"
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "schema": SCHEMA,
            "classes": dict(self.classes),
            "checkpoint": {"name": self.checkpoint_name, "sha256": self.checkpoint_sha256},
            "chosen": dict(self.chosen),
        }


def write_thresholds(path: Path, thresholds: ScoreThresholds, *, overwrite: bool) -> None:
    """Write the file, wholly or not at all.

    Raises:
        OutputError: it exists and must not be replaced, or the system refuses.
    """
    with whole_file(path, overwrite=overwrite) as temporary, explained_writing(path):
        temporary.write_bytes(json_file(thresholds.to_dict()))


def read_thresholds(path: Path) -> ScoreThresholds:
    """Read the file. `checkpoint` and `chosen` may be missing.

    Raises:
        FormatError: missing, damaged, of another kind, or a threshold outside 0 to 1.
    """
    with explained_reading(path):
        value = parse_json(path.read_text(encoding="utf-8-sig"))
        check_schema(value, SCHEMA)
        classes = member(value, "classes")
        if not isinstance(classes, dict):
            raise ValueError("'classes' is no object; expected class names with their thresholds")
        found = {name: number(classes, name) for name in classes}
        for name, threshold in found.items():
            if not 0 <= threshold <= 1:
                raise ValueError(f"the threshold of {name!r} is {threshold:g}, expected a number from 0 to 1")
        origin = value.get("checkpoint", {"name": "", "sha256": ""})
        return ScoreThresholds(found, text(origin, "name"), text(origin, "sha256"), value.get("chosen", {}), path)
