"""Who brought a library file: a wheel, conda, a CUDA toolkit, WSL or the system; and which version it is."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from ssd_detect.doctor.facts import Toolkit
from ssd_detect.doctor.probes.distributions import conda_records, installed_distributions, recorded_files
from ssd_detect.doctor.probes.sources import Sources

_BRINGS_LIBRARIES = re.compile(r"(nvidia-|torch$|tensorrt)")
_IS_LIBRARY = re.compile(r"\.so(\.[\d.]+)?$|\.dll$", re.IGNORECASE)


class Origin(NamedTuple):
    """In words, as `Candidate.origin`; and the file's version, if that is known from it."""

    words: str
    version: str | None


@dataclass(frozen=True)
class Origins:
    """Who owns which file, gathered once; `owned` goes by the path without links in its folders."""

    owned: Mapping[Path, Origin]
    toolkits: Sequence[Toolkit]
    wsl: Path

    @classmethod
    def gathered(cls, sources: Sources, toolkits: Sequence[Toolkit]) -> "Origins":
        """Read the records of pip and conda."""
        owned = dict(_owned_by_wheels(sources.search_path))
        owned |= dict(_owned_by_conda(sources.conda_prefix))
        return cls(owned, toolkits, (sources.root / "usr/lib/wsl").resolve())

    def of(self, path: Path, component: str) -> Origin:
        """Of a file that may be a link."""
        real = path.resolve()
        owner = self.owned.get(_plain(path)) or self.owned.get(real)
        if owner is not None:
            return Origin(owner.words, owner.version or suffix_version(real))
        for toolkit in self.toolkits:
            if real.is_relative_to(toolkit.path):
                version = suffix_version(real) or (toolkit.cudnn_version if component == "cudnn" else None)
                return Origin(f"CUDA toolkit {toolkit.version or toolkit.path}", version)
        return Origin("WSL" if real.is_relative_to(self.wsl) else "system", suffix_version(real))


def suffix_version(path: Path) -> str | None:
    """`libcublas.so.12.5.3` -> `12.5.3`; None where the name tells no more than a soname does."""
    match = re.search(r"\.so\.(\d+(\.\d+)+)$", path.name)
    return match.group(1) if match else None


def _owned_by_wheels(search_path: Sequence[Path]) -> Iterator[tuple[Path, Origin]]:
    for name, version, folder, records in installed_distributions(search_path, _BRINGS_LIBRARIES):
        # A library in torch's own wheel is not numbered like torch.
        origin = Origin(f"pip {name} {version}", version if name != "torch" else None)
        for file in filter(_IS_LIBRARY.search, recorded_files(records)):
            yield _plain(folder / file), origin


def _owned_by_conda(prefix: Path) -> Iterator[tuple[Path, Origin]]:
    for package, files in conda_records(prefix):
        for file in filter(_IS_LIBRARY.search, files):
            path = prefix / file
            # cudatoolkit brings ten libraries, none of which is numbered like it.
            version = package.version if package.name == "cudnn" else suffix_version(path.resolve())
            yield _plain(path), Origin(f"conda {package.name} {package.version}", version)


def _plain(path: Path) -> Path:
    return path.parent.resolve() / path.name
