"""Detections that `image --format jsonl`, `--json` or `--format coco` has saved."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from ssd_detect.classes import BACKGROUND
from ssd_detect.conventions import Arithmetic, Profile
from ssd_detect.detections import Detections
from ssd_detect.evaluating.found import Found
from ssd_detect.evaluating.tables import ids_by_name
from ssd_detect.formats.coco import read_coco_file
from ssd_detect.formats.file_reading import explained_reading
from ssd_detect.formats.json_detections import row_of
from ssd_detect.formats.json_values import flag, items, member, number, parse_json, text, whole
from ssd_detect.formats.jsonl import SCHEMA, read_json_lines_file
from ssd_detect.formats.provenance import Provenance
from ssd_detect.model.manifest import manifest
from ssd_detect.settings import DetectionSettings

_MOST_CLASSES = 100_000
"""A class number above it is damage; all below it would be given names."""


def found_in_predictions(
    path: Path, *, class_names: tuple[str, ...] | None, dataset_names: Sequence[str], coco_images: Path | None
) -> Found:
    """What a file of detections holds; JSON lines and both forms of COCO are told by their content.

    COCO files tell what could be found by their categories. JSON lines do not: there it is what `class_names` says,
    else what the manifest says of the checkpoint that the lines name, else the classes that occur in the lines and
    those of the data set, so that a class that was never found counts as such.

    Args:
        path: the file.
        class_names: of the network that made the detections, background first, where the user tells them.
        dataset_names: of the data set's classes, background first.
        coco_images: the annotation file that a COCO list of results belongs to.

    Raises:
        FormatError: missing, damaged, or of another kind.
    """
    first = _first_line(path)
    if first is None:
        records = list(read_coco_file(path, class_names, coco_images))
        names = records[0].detections.class_names if records else class_names or tuple(dataset_names)
        return Found(names, _pairs(records), None, saved_threshold=_threshold_of_coco(path))
    known = class_names or _known_names(first)
    in_lines = {} if known else _names_by_number(path)
    names = known or _with_names_of(dataset_names, in_lines)
    return Found(
        names,
        _pairs(read_json_lines_file(path, names)),
        _provenance(path, first),
        saved_threshold=_threshold_of_lines(path),
        unknown_classes=_others(in_lines.values(), dataset_names),
    )


def _pairs(records: Any) -> Iterator[tuple[str, Detections]]:
    return ((one.file, one.detections) for one in records)


def _first_line(path: Path) -> Any | None:
    """The first object of JSON lines; None where the file is another kind of JSON."""
    with explained_reading(path), path.open(encoding="utf-8-sig", newline="\n") as lines:
        line = next(lines, "")
        if not line.strip():
            raise ValueError("holds no detections; expected JSON lines or COCO JSON, as image writes them")
    try:
        value = parse_json(line, with_nan=True)  # which is told with its line when that is read
    except ValueError:
        return None
    return value if isinstance(value, dict) and value.get("schema") == SCHEMA else None


def _threshold_of_coco(path: Path) -> float | None:
    """As `info` of a COCO file of ours tells; None for a list of results, and for files of others."""
    with explained_reading(path):
        value = parse_json(path.read_text(encoding="utf-8-sig"), with_nan=True)
    return _told_threshold(value.get("info")) if isinstance(value, dict) else None


def _threshold_of_lines(path: Path) -> float | None:
    """The highest of all lines, which may come from several runs."""
    with explained_reading(path), path.open(encoding="utf-8-sig", newline="\n") as lines:
        return max((told for line in lines if (told := _threshold_of_line(line)) is not None), default=None)


def _threshold_of_line(line: str) -> float | None:
    try:
        return _told_threshold(parse_json(line))
    except ValueError:  # told when it is read for its detections
        return None


def _told_threshold(value: Any) -> float | None:
    """The highest score threshold, of all classes or of one, in the `thresholds` of an object."""
    chosen = value.get("thresholds") if isinstance(value, dict) else None
    if not isinstance(chosen, dict):
        return None
    of_classes = chosen.get("classes")
    told = [chosen.get("score"), *(of_classes.values() if isinstance(of_classes, dict) else ())]
    numbers = [float(one) for one in told if isinstance(one, int | float) and not isinstance(one, bool)]
    numbers = [one for one in numbers if 0 <= one <= 1]  # not NaN
    return max(numbers, default=None)


def _known_names(line: Any) -> tuple[str, ...] | None:
    name = line.get("checkpoint", {}).get("name") if isinstance(line.get("checkpoint"), dict) else None
    entry = manifest().get(name) if isinstance(name, str) else None
    return entry.spec.class_names if entry is not None else None


def _with_names_of(dataset_names: Sequence[str], by_id: Mapping[int, str]) -> tuple[str, ...]:
    """Class names at their numbers, as far as they occur; the others are the data set's that do not in any spelling."""
    others = iter(_others(dataset_names[1:], (BACKGROUND, *by_id.values())))
    names = [by_id.get(i) or next(others, f"class {i}") for i in range(1, max(by_id, default=0) + 1)]
    return (BACKGROUND, *names, *others)


def _others(names: Iterable[str], known: Sequence[str]) -> tuple[str, ...]:
    """The names that `known`, background first, has in no spelling."""
    listed = tuple(names)
    ids = ids_by_name((BACKGROUND, *listed), known)[1:]
    return tuple(name for name, class_id in zip(listed, ids.tolist(), strict=True) if class_id < 0)


def _names_by_number(path: Path) -> dict[int, str]:
    """Class number -> class name, of the detections in the lines: one to one."""
    by_id: dict[int, str] = {}
    ids: dict[str, int] = {}
    with explained_reading(path), path.open(encoding="utf-8-sig", newline="\n") as lines:
        for line_number, line in enumerate(lines, 1):
            with explained_reading(f"{path}, line {line_number}"):
                for row in map(row_of, items(parse_json(line), "detections")):
                    if not 1 <= row.class_id <= _MOST_CLASSES:
                        raise ValueError(f"class number {row.class_id}, expected 1 to {_MOST_CLASSES}")
                    if (name := by_id.setdefault(row.class_id, row.class_name)) != row.class_name:
                        raise ValueError(f"class {row.class_id} is {row.class_name!r}, and {name!r} before")
                    if (number := ids.setdefault(row.class_name, row.class_id)) != row.class_id:
                        raise ValueError(f"class {row.class_name!r} has number {row.class_id}, and {number} before")
    return by_id


def _provenance(path: Path, line: Any) -> Provenance:
    """Checkpoint and thresholds, as the first line tells them.

    Raises:
        FormatError: they are missing or damaged.
    """
    with explained_reading(f"{path}, line 1"):
        checkpoint, chosen = member(line, "checkpoint"), member(line, "thresholds")
        settings = DetectionSettings(
            score_threshold=number(chosen, "score"),
            nms_threshold=number(chosen, "nms"),
            class_agnostic=flag(chosen, "class_agnostic"),
            profile=None if chosen.get("profile") is None else Profile(text(chosen, "profile")),
            class_thresholds=_thresholds_of_classes(chosen),
            top_k=_limit(chosen, "top_k"),
            max_detections=_limit(chosen, "max_detections"),
        )
        precision = Arithmetic(line.get("arithmetic", Arithmetic.FLOAT32))
        return Provenance(text(checkpoint, "name"), text(checkpoint, "sha256"), settings, precision)


def _limit(chosen: Any, name: str) -> int | None:
    return None if chosen.get(name) is None else whole(chosen, name)


def _thresholds_of_classes(chosen: Any) -> tuple[tuple[str, float], ...]:
    classes = chosen.get("classes", {})
    if not isinstance(classes, dict):
        raise ValueError("'classes' is no object; expected class names with their thresholds")
    return tuple((name, number(classes, name)) for name in classes)
