"""Where things lie in a YOLO data set.

`data.yaml` with `path`, `train`, `val`, `test` (a folder, a list of pictures in a text file, or several) and `names`;
or `images` and `labels`, perhaps with a folder for each split in or above both, and `classes.txt`; or pictures and
their labels in one folder.
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ssd_detect.datasets.listing import child_folder, files_below, folders_in, is_above, pictures_below, stem_key
from ssd_detect.datasets.rules import ProblemLog
from ssd_detect.datasets.texts import head_of, read_text
from ssd_detect.datasets.yaml_subset import Value, parse_yaml_subset
from ssd_detect.errors import FormatError, SettingError
from ssd_detect.formats.file_reading import explained_reading
from ssd_detect.media.sources.folders import exists, is_folder

SPLITS = ("train", "val", "test")
_ALIASES = {"valid": "val", "validation": "val"}
_KEYS = ("path", *SPLITS, "names", "nc")
_YAML, _USUAL_STEMS = (".yaml", ".yml"), ("data", "dataset")
_ANY_SPLIT = "train, val or test"
_NAME_FILES = ("classes.txt", "obj.names", "classes.names")
_MOST_LOOKED_INTO = 20  # files, lines
_LONGEST_LINE = 1 << 16


@dataclass(frozen=True)
class YoloPlace:
    """The files of a YOLO data set, or of its split.

    Args:
        source: what told so: `data.yaml` or the folder.
        root: the folder that picture names count from.
        pictures: each once.
        names: class number, from 0 -> name; None where no file tells.
        num_classes: as `nc` says.
        is_listed: the pictures come from a list, so that other labels beside theirs mean nothing.
        odd_yaml: a `data.yaml` that names no classes, and why.
    """

    source: Path
    root: Path
    pictures: Sequence[Path]
    names: dict[int, str] | None
    num_classes: str = ""
    is_listed: bool = False
    odd_yaml: tuple[Path, str] | None = None


def label_file(picture: Path) -> Path:
    """Where a picture's labels lie: the last `images` of its path is `labels`; without one, or there, beside it."""
    parts = list(picture.parts)
    beside = picture.with_suffix(".txt")
    for i in reversed(range(len(parts) - 1)):
        if parts[i].casefold() == "images":
            parts[i] = "labels"
            there = Path(*parts).with_suffix(".txt")
            return there if there.exists() or not beside.exists() else beside
    return beside


def looks_like_labels(path: Path) -> bool:
    """Whether one of the first lines of a text file is a class number and at least four more numbers."""
    lines = head_of(path, _MOST_LOOKED_INTO * _LONGEST_LINE).split(b"\n", _MOST_LOOKED_INTO)
    return any(_is_label_line(line[:_LONGEST_LINE]) for line in lines[:_MOST_LOOKED_INTO])


def _is_label_line(line: bytes) -> bool:
    fields = line.split()
    try:
        return len(fields) >= 5 and float(fields[0]).is_integer() and bool([float(v) for v in fields])
    except (ValueError, OverflowError):
        return False


def find_yolo(folder: Path, split: str | None, log: ProblemLog) -> YoloPlace | None:
    """The YOLO data set in `folder`; None if there is none.

    Raises:
        FormatError: several YAML files, or a damaged one.
        SettingError: it has no such split.
    """
    faults = {p: _fault_of(p, log) for p in sorted(folder.iterdir()) if p.suffix.lower() in _YAML and not p.is_dir()}
    files = [p for p, fault in faults.items() if fault is None]
    named = [p for p in files if _is_usual(p)]
    if len(named or files) > 1:
        names = ", ".join(p.name for p in files)
        raise FormatError(f"{folder}: holds {len(files)} YAML files of YOLO data sets: {names}; name one of them")
    if files:
        return find_yolo_file((named or files)[0], split, log)
    odd = next(((p, fault) for p, fault in faults.items() if fault and _is_usual(p)), None)
    return _bare_folder(folder, split, log, odd)


def usual_yaml_files(folder: Path) -> list[Path]:
    """What is called like the YAML file of a YOLO data set, whatever is in it."""
    return [p for p in sorted(folder.iterdir()) if _is_usual(p) and not p.is_dir()]


def _is_usual(path: Path) -> bool:
    return path.suffix.lower() in _YAML and path.stem.lower() in _USUAL_STEMS


def _fault_of(path: Path, log: ProblemLog) -> str | None:
    """Why a YAML file describes no data set; None if it does, or would but for damage that reading it tells."""
    try:
        text = read_text(path, log)
    except OSError as error:
        return error.strerror or str(error)
    try:
        found = parse_yaml_subset(text, _KEYS)
    except ValueError as error:
        lines = text.splitlines()
        is_meant = any(line.startswith("names:") for line in lines) and any(line.startswith(SPLITS) for line in lines)
        return None if is_meant else str(error)
    if not text.strip():
        return "is empty"
    lacking = [key for key, is_there in (("names", "names" in found), (_ANY_SPLIT, found.keys() & SPLITS))
               if not is_there]  # fmt: skip
    return f"has no {' and no '.join(lacking)}" if lacking else None


def find_yolo_file(path: Path, split: str | None, log: ProblemLog) -> YoloPlace | None:
    """The data set that a YAML file describes; None if the suffix is not that of one.

    Raises:
        FormatError: damaged, without names or splits, or none of its folders is there, or one is above the file's.
        SettingError: it has no such split.
    """
    if path.suffix.lower() not in _YAML:
        return None
    if fault := _fault_of(path, log):
        raise FormatError(f"{path}: is no data set: {fault}; expected names, and {_ANY_SPLIT}")
    with explained_reading(path):
        values = parse_yaml_subset(read_text(path, log), _KEYS)
        names = _names(values["names"])
    base = _base(path, values)
    entries = _entries_of(values, split, path)
    places = [place for entry in entries if (place := _place(entry, path, base)) is not None]
    if not places:
        raise FormatError(f"{path}: none of {', '.join(entries)} is there; looked below {base}")
    pictures = dict.fromkeys(p for place in places for p in _pictures_at(place, base, log))
    is_listed = any(not place.is_dir() for place in places)
    return YoloPlace(path, base, [*pictures], names, str(values.get("nc", "")), is_listed)


def _names(value: Value) -> dict[int, str]:
    if isinstance(value, list):
        return dict(enumerate(value))
    if isinstance(value, dict) and all(key.isdecimal() for key in value):
        if len({int(key) for key in value}) < len(value):
            raise ValueError("names has a class number twice, expected each once")
        return {int(key): name for key, name in value.items()}
    raise ValueError("names is neither a list nor a mapping of numbers to names")


def _base(path: Path, values: dict[str, Value]) -> Path:
    """What the other paths count from: `path`, counted from the YAML file, where that is a folder; else the file's."""
    stated = values.get("path", "")
    base = path.parent / stated if isinstance(stated, str) else path.parent
    return Path(os.path.normpath(base)) if is_folder(base) else path.parent


def _entries_of(values: dict[str, Value], split: str | None, path: Path) -> list[str]:
    there = {name: values[name] for name in SPLITS if values.get(name)}
    wanted = [*there] if split is None else [_ALIASES.get(split, split)]
    if any(name not in there for name in wanted):
        raise SettingError(f"{path}: no split {split!r}; there are {', '.join(there) or 'none'}")
    entries = []
    for name in wanted:
        value = there[name]
        entries += [value] if isinstance(value, str) else [*value]
    return list(dict.fromkeys(entries))


def _place(entry: str, path: Path, base: Path) -> Path | None:
    """The folder or list that an entry means. Some tools write `../train/images` for what lies beside the YAML file."""
    inner = entry.replace("\\", "/")
    while inner.startswith("../"):
        inner = inner.removeprefix("../")
    tries = (base / entry, path.parent / entry, base / inner)
    found = next((Path(os.path.normpath(p)) for p in tries if exists(p)), None)
    if found is not None and found.is_dir() and is_above(found, path.parent):
        raise FormatError(
            f"{path}: {entry!r} leads to {found.resolve()}, which holds more than this data set; "
            "name the folder of its pictures"
        )
    return found


def _pictures_at(place: Path, base: Path, log: ProblemLog) -> list[Path]:
    if place.is_dir():
        return [p for paths in pictures_below(place).values() for p in paths]
    with explained_reading(place):
        lines = [line.strip() for line in read_text(place, log).splitlines()]
    listed: dict[Path, int] = {}
    for number, line in enumerate(lines, 1):
        if line and listed.setdefault(_listed(line, place, base), number) != number:
            log.add("split-twice", place, f"{line!r} stands there twice", number)
    return [*listed]


def _listed(line: str, place: Path, base: Path) -> Path:
    tries = [Path(os.path.normpath(folder / line)) for folder in (place.parent, base)]
    return next((p for p in tries if exists(p)), tries[0])


def _bare_folder(
    folder: Path, split: str | None, log: ProblemLog, odd_yaml: tuple[Path, str] | None
) -> YoloPlace | None:
    """`images` and `labels`, or both together, without a YAML file."""
    images, labels = child_folder(folder, "images"), child_folder(folder, "labels")
    if images and labels and (_holds_labels(labels) or _are_partners(images, labels)):
        chosen = images if split is None else _split_below(images, split)
    elif _holds_labels(folder, below=False) and any(pictures_below(folder)):
        chosen = folder
    else:
        halves = [p for p in folders_in(folder) if (child_folder(p, "images") and _holds_labels(p / "labels"))]
        if not halves:
            return None
        chosen = folder if split is None else _split_below(folder, split)
    pictures = [p for paths in pictures_below(chosen).values() for p in paths]
    return YoloPlace(folder, folder, pictures, _names_beside(folder, chosen, labels, log), odd_yaml=odd_yaml)


def _split_below(folder: Path, split: str) -> Path:
    names = (split, *(k for k, v in _ALIASES.items() if v == split), _ALIASES.get(split, split))
    found = child_folder(folder, *names)
    if found is None:
        there = ", ".join(p.name for p in folders_in(folder)) or "none"
        raise SettingError(f"{folder}: no split {split!r}; there are {there}")
    return found


def _holds_labels(folder: Path, *, below: bool = True) -> bool:
    if not folder.is_dir():
        return False
    files = files_below(folder) if below else (p for p in sorted(folder.iterdir()) if p.is_file())
    texts = [p for p in files if p.suffix.lower() == ".txt" and p.name not in _NAME_FILES][:_MOST_LOOKED_INTO]
    return any(looks_like_labels(p) for p in texts)


def _are_partners(images: Path, labels: Path) -> bool:
    """Whether texts are called like pictures: they may all be empty."""
    texts = {stem_key(p, labels) for p in files_below(labels) if p.suffix.lower() == ".txt"}
    return not texts.isdisjoint(pictures_below(images))


def _names_beside(folder: Path, chosen: Path, labels: Path | None, log: ProblemLog) -> dict[int, str] | None:
    for place in dict.fromkeys(filter(None, (folder, chosen, labels))):
        for path in (place / name for name in _NAME_FILES):
            if path.is_file():
                with explained_reading(path):
                    lines = read_text(path, log).rstrip().splitlines()
                return {i: line.strip() for i, line in enumerate(lines) if line.strip()}
    return None
