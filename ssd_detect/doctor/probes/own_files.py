"""Where ssd-detect lies, and which modules Python takes from where nobody installs any."""

from collections.abc import Mapping, Sequence
from importlib.machinery import PathFinder
from pathlib import Path

import ssd_detect
from ssd_detect.doctor.facts import PACKAGES, TENSORFLOW, OwnFiles
from ssd_detect.doctor.probes.files import entries

_INSTALLED = {"site-packages", "dist-packages"}  # the latter on Debian


def own_files(package: Path | None = None) -> OwnFiles:
    """`package`: folder of ssd_detect, unless it is another than the running one."""
    folder = (package or Path(ssd_detect.__file__).parent).resolve().parent
    return OwnFiles(str(folder), is_checkout=(folder / ".git").exists())  # in a work tree it is a file


def strangers(search_path: Sequence[Path]) -> Mapping[str, str]:
    """Module -> file, of the packages that matter, where an import takes it from outside the installed ones."""
    folders = [str(folder) for folder in search_path]
    found = {package.module: PathFinder.find_spec(package.module, folders) for package in (*PACKAGES, TENSORFLOW)}
    files = {module: spec.origin for module, spec in found.items() if spec is not None and spec.origin is not None}
    return {module: file for module, file in files.items() if not is_installed(Path(file))}


def is_installed(file: Path) -> bool:
    """Whether a file lies where pip and the like install, also by `pip install --target`: with their records."""
    return not _INSTALLED.isdisjoint(file.parts) or any(entries(folder, "*.dist-info") for folder in file.parents)
