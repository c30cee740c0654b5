"""Where the results of each input go below the output folder: readable names that never collide.

The rule, over all inputs of a run and blind to letter case:

1. A key is the input's name without suffix, behind the sub-folders in which it was found.
2. Keys that are equal for inputs from different folders get the names of the folders above in front, as many as needed:
   `x/a.jpg` and `y/a.jpg` become `x/a` and `y/a`.
3. Keys still equal get the suffix: `a.jpg` and `a.png` become `a_jpg` and `a_png`.
4. Keys still equal are numbered in the order of their full names: `A.jpg` and `a.jpg` become `A` and `a_2`.

The order of the inputs does not matter. Every part of a key is a name that Linux, macOS and Windows can take.
"""

import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

_MAX_NAME_BYTES = 200  # of 255: room for what a format puts behind the key
# What Windows forbids, what a terminal cannot show, and stand-ins for bytes that are no UTF-8.
_FORBIDDEN = re.compile('[\x00-\x1f\x7f-\x9f<>:"/\\\\|?*\ud800-\udfff]')
# learn.microsoft.com/windows/win32/fileio/naming-a-file: devices, also with a suffix.
_DEVICE = re.compile(r"(?:con|prn|aux|nul|conin\$|conout\$|(?:com|lpt)[0-9¹²³]) *(?:\.|$)", re.IGNORECASE)


@dataclass(frozen=True)
class Place:
    """Where an input comes from.

    Args:
        full_name: of the input, like no other's.
        folders: names of all folders above it, outermost first; for a URL the host comes first.
        stem: its name without suffix.
        suffix: with its dot, or empty.
        num_kept: so many of the innermost folders belong to the key in any case.
    """

    full_name: str
    folders: tuple[str, ...]
    stem: str
    suffix: str = ""
    num_kept: int = 0


def unique_keys(places: Sequence[Place]) -> list[PurePosixPath]:
    """The keys of all inputs, in their order: relative paths without suffix, no two equal in any letter case."""
    keys = _with_folders(places)
    _add_suffixes(places, keys)
    _add_numbers(places, keys)
    return keys


def _with_folders(places: Sequence[Place]) -> list[PurePosixPath]:
    depths = [place.num_kept for place in places]
    homes = [_folded(_joined(place.folders)) for place in places]
    while True:
        keys = [_key(place, depth) for place, depth in zip(places, depths, strict=True)]
        groups = [group for group in _clashes(keys) if len({homes[i] for i in group}) > 1]
        growing = [i for group in groups for i in group if depths[i] < len(places[i].folders)]
        if not growing:
            return keys
        for i in growing:
            depths[i] += 1


def _add_suffixes(places: Sequence[Place], keys: list[PurePosixPath]) -> None:
    for group in _clashes(keys):
        if len({places[i].suffix.casefold() for i in group}) > 1:
            for i in group:
                keys[i] = keys[i].with_name(_safe(places[i].stem + places[i].suffix.replace(".", "_")))


def _add_numbers(places: Sequence[Place], keys: list[PurePosixPath]) -> None:
    taken = {_folded(key) for key in keys}
    for group in sorted(_clashes(keys), key=lambda group: _folded(keys[group[0]])):
        number = 2
        for i in sorted(group, key=lambda i: places[i].full_name)[1:]:
            plain = keys[i]
            while _folded(keys[i]) in taken:
                keys[i] = plain.with_name(f"{plain.name}_{number}")
                number += 1
            taken.add(_folded(keys[i]))


def _clashes(keys: Sequence[PurePosixPath]) -> list[list[int]]:
    """Groups of indices whose keys are equal."""
    groups: dict[str, list[int]] = {}
    for i, key in enumerate(keys):
        groups.setdefault(_folded(key), []).append(i)
    return [group for group in groups.values() if len(group) > 1]


def _key(place: Place, depth: int) -> PurePosixPath:
    return _joined([*place.folders[len(place.folders) - depth :], place.stem])


def _joined(names: Iterable[str]) -> PurePosixPath:
    return PurePosixPath(*map(_safe, names))


def _folded(key: PurePosixPath) -> str:
    """Equal for keys that some file system takes for one: in letter case, or in how an accent is stored."""
    return unicodedata.normalize("NFC", str(key).casefold())


def _safe(name: str) -> str:
    """`name` as one part of a path that every system can take; never empty, `.` or `..`."""
    allowed = _FORBIDDEN.sub("_", name).encode()[:_MAX_NAME_BYTES].decode(errors="ignore")
    ended = re.sub("[. ]+$", lambda end: "_" * len(end.group()), allowed)
    return f"_{ended}" if not ended or _DEVICE.match(ended) else ended
