"""The emulated search of the loader: for each wanted library every file that could be taken, and which one is."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from ssd_detect.doctor.facts import Candidate, Library, SearchPlace
from ssd_detect.doctor.probes.files import entries
from ssd_detect.doctor.probes.origins import Origins


class WantedLibrary(NamedTuple):
    """A library that TensorFlow asks for, as in `Library`."""

    component: str
    name: str
    is_required: bool = True


@dataclass(frozen=True)
class Shelves:
    """Where to look for a library.

    Args:
        places: the loader's, in order.
        cache: `ldconfig`'s; it comes before the first `default` place.
        others: folders that the loader may not look into.
    """

    places: Sequence[SearchPlace]
    cache: Mapping[str, Path]
    others: Sequence[Path]


def find_library(wanted: WantedLibrary, shelves: Shelves, origins: Origins) -> Library:
    """Everything that could be loaded as `wanted`, and its other versions."""
    candidates = _described(_files_named(wanted.name, shelves), wanted.component, origins)
    others = _described(_other_versions(wanted.name, shelves), wanted.component, origins)
    return Library(wanted.component, wanted.name, wanted.is_required, tuple(candidates), tuple(others))


def _files_named(name: str, shelves: Shelves) -> Iterator[Candidate]:
    cached = shelves.cache.get(name)
    for place in shelves.places:
        if place.found_by == "default" and cached is not None:
            yield Candidate(str(cached), "ldconfig")
            cached = None
        yield Candidate(str(Path(place.path) / name), place.found_by)
    if cached is not None:
        yield Candidate(str(cached), "ldconfig")
    yield from (Candidate(str(folder / name), "nothing") for folder in shelves.others)


def _other_versions(name: str, shelves: Shelves) -> Iterator[Candidate]:
    stem, pattern = _versions_of(name)
    for place in shelves.places:
        yield from (Candidate(str(file), place.found_by) for file in _matching(Path(place.path), stem, pattern))
    for folder in shelves.others:
        yield from (Candidate(str(file), "nothing") for file in _matching(folder, stem, pattern))


def _versions_of(name: str) -> tuple[str, re.Pattern[str]]:
    """The start that other versions of `name` share, and a pattern of their names, which leaves `name` itself out.

    `libcudart.so.12`: `libcudart.so.11.0` is another version, but `libcudart.so.12.5.82` is what `name` is a link to.
    """
    if name.lower().endswith(".dll"):
        stem = re.sub(r"[\d_]+\.dll$", "", name, flags=re.IGNORECASE)
        return stem, re.compile(rf"(?!{re.escape(name)}$){re.escape(stem)}[\d_]+\.dll", re.IGNORECASE)
    stem = name.partition(".so")[0] + ".so"
    return stem, re.compile(rf"(?!{re.escape(name)}(\.|$)){re.escape(stem)}\.\d[\d.]*")


def _matching(folder: Path, stem: str, pattern: re.Pattern[str]) -> list[Path]:
    return [file for file in entries(folder, f"{stem}*") if pattern.fullmatch(file.name)]


def _described(found: Iterator[Candidate], component: str, origins: Origins) -> Iterator[Candidate]:
    """Those that exist, each once, by the first way that leads to it, with what is known of the file."""
    seen: set[str] = set()
    for candidate in found:
        path = Path(candidate.path)
        if candidate.path in seen or not path.is_file():
            continue
        seen.add(candidate.path)
        origin = origins.of(path, component)
        yield replace(candidate, version=origin.version, origin=origin.words, real_path=str(path.resolve()))
