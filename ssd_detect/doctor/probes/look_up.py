"""Everything that files and records tell, with nothing imported and no library loaded."""

import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.machinery import PathFinder
from pathlib import Path
from typing import Any, TypeVar

from ssd_detect.doctor.facts import (
    PACKAGES,
    BuildFacts,
    BusDevice,
    Distribution,
    Failure,
    Folder,
    KernelModule,
    LibrarySearch,
    OwnFiles,
    Package,
    PythonFacts,
    SystemFacts,
    Toolkit,
    XlaFiles,
)
from ssd_detect.doctor.probes.build_info import build_facts
from ssd_detect.doctor.probes.checkpoint import shipped_checkpoint
from ssd_detect.doctor.probes.distributions import conda_packages, leftovers, normalised, relevant_distributions
from ssd_detect.doctor.probes.folders import folder_facts, kernel_cache, own_home, temporary_folder
from ssd_detect.doctor.probes.hardware import bus_devices, device_files, kernel_module, windows_devices
from ssd_detect.doctor.probes.libraries import Shelves, find_library
from ssd_detect.doctor.probes.origins import Origins
from ssd_detect.doctor.probes.own_files import own_files, strangers
from ssd_detect.doctor.probes.python import python_facts
from ssd_detect.doctor.probes.search_places import Opener, all_places, loader_cache, other_folders, search_places
from ssd_detect.doctor.probes.sources import Sources
from ssd_detect.doctor.probes.system import system_facts
from ssd_detect.doctor.probes.toolkits import toolkits
from ssd_detect.doctor.probes.variables import relevant_variables
from ssd_detect.doctor.probes.wanted import asking_version, wanted_libraries
from ssd_detect.doctor.probes.xla import xla_files

_T = TypeVar("_T")
_D = TypeVar("_D")
_POWERSHELL = ("powershell.exe",)


@dataclass
class Attempts:
    """Runs probes; one that raises leaves its facts unknown and a note for the log."""

    notes: list[str] = field(default_factory=list)

    def of(self, probe: Callable[..., _T], *arguments: Any, otherwise: _D) -> _T | _D:
        """What the probe finds; `otherwise` when it raises."""
        try:
            return probe(*arguments)
        except Exception as error:  # whatever a strange machine makes of our assumptions
            place = traceback.extract_tb(error.__traceback__)[-1]
            self.notes.append(
                f"{probe.__name__}: {type(error).__name__}: {error} (line {place.lineno} of {place.name})"
            )
            return otherwise


def look_up(sources: Sources, attempts: Attempts, seconds: float) -> dict[str, Any]:
    """The fields of `Facts` that files tell; commands may take `seconds` each."""
    system = attempts.of(system_facts, sources, otherwise=SystemFacts(kind=sources.kind))
    distributions = attempts.of(relevant_distributions, sources.search_path, otherwise=())
    build = attempts.of(build_facts, sources.search_path, distributions, otherwise=None)
    found = attempts.of(toolkits, sources, otherwise=())
    tensorflow = Path(build.folder) if build else None
    return {
        "system": system,
        "python": attempts.of(python_facts, sources, otherwise=PythonFacts()),
        "environment": relevant_variables(sources.environment),
        "distributions": distributions,
        "leftovers": attempts.of(leftovers, sources.search_path, otherwise=()),
        "conda_packages": attempts.of(conda_packages, sources.conda_prefix, otherwise=()),
        "build": build,
        "packages": attempts.of(installed_packages, distributions, sources.search_path, otherwise={}),
        "own_files": attempts.of(own_files, otherwise=OwnFiles()),
        "strangers": attempts.of(strangers, sources.search_path, otherwise={}),
        "toolkits": found,
        "library_search": attempts.of(
            library_search, sources, build, system.machine, found, seconds, otherwise=LibrarySearch()
        ),
        "xla_files": attempts.of(xla_files, sources, tensorflow, otherwise=XlaFiles()),
        "checkpoint": attempts.of(shipped_checkpoint, otherwise=None),
        **_hardware(sources, attempts),
        **_folders(sources, attempts),
    }


def _hardware(sources: Sources, attempts: Attempts) -> dict[str, Any]:
    if sources.kind != "Linux":
        return {}
    return {
        "bus": attempts.of(bus_devices, sources.root, otherwise=None),
        "kernel_module": attempts.of(kernel_module, sources.root, otherwise=KernelModule()),
        "device_files": attempts.of(device_files, sources.root, otherwise=()),
    }


def _folders(sources: Sources, attempts: Attempts) -> dict[str, Any]:
    folders = {"output": sources.working_folder, "temporary": temporary_folder(sources)}
    return {"folders": tuple(_tried(purpose, path, sources, attempts) for purpose, path in folders.items())}


def _tried(purpose: str, path: Path | None, sources: Sources, attempts: Attempts) -> Folder:
    home = attempts.of(own_home, sources, otherwise=None)
    return attempts.of(folder_facts, purpose, path, home, otherwise=Folder(purpose, str(path or "")))


def kernel_cache_of(sources: Sources, attempts: Attempts) -> dict[str, Any]:
    """The fields of `Facts` about the folder that compiled kernels go to, on a machine with an NVIDIA GPU."""
    cache = attempts.of(kernel_cache, sources, otherwise=None)
    folders = (_tried("cache", Path(cache.path), sources, attempts),) if cache else ()
    return {"kernel_cache": cache, "folders": folders}


def windows_bus(attempts: Attempts, seconds: float) -> tuple[BusDevice, ...] | None:
    """Windows' list of displays, apart from the rest since PowerShell takes a second to start."""
    return attempts.of(windows_devices, _POWERSHELL, seconds, otherwise=None)


def library_search(
    sources: Sources, build: BuildFacts | None, machine: str, found: Sequence[Toolkit], seconds: float
) -> LibrarySearch:
    """Where each of TensorFlow's GPU libraries lies, and which file its loader would take.

    Args:
        machine: architecture, such as `x86_64`.
        found: CUDA toolkits on the disk.
        seconds: how long ldconfig may take.
    """
    version = asking_version(build)
    wanted = wanted_libraries(version, build, sources.kind)
    if not wanted:
        return LibrarySearch()
    tensorflow = Path(build.folder) if build else None
    places = {opener: search_places(sources, tensorflow, machine, opener) for opener in Opener}
    cache = loader_cache(sources, machine, seconds) if sources.kind == "Linux" else {}
    others = tuple(other_folders(sources, [Path(toolkit.path) for toolkit in found]))
    origins = Origins.gathered(sources, found)
    shelves = {opener: Shelves(own, cache, others) for opener, own in places.items()}
    libraries = tuple(find_library(one, shelves[Opener.of(one.component)], origins) for one in wanted)
    return LibrarySearch(all_places(places[Opener.FRAMEWORK], places[Opener.CC]), libraries, version)


def installed_packages(
    distributions: Sequence[Distribution], search_path: Sequence[Path]
) -> Mapping[str, str | Failure]:
    """Module name -> version, for `PACKAGES`, without importing them."""
    return {package.module: _installed(package, distributions, search_path) for package in PACKAGES}


def _installed(package: Package, distributions: Sequence[Distribution], search_path: Sequence[Path]) -> str | Failure:
    if PathFinder.find_spec(package.module, [str(entry) for entry in search_path]) is None:
        return Failure("missing", package.module)
    return next(_versions(package, distributions), "unknown version")


def _versions(package: Package, distributions: Sequence[Distribution]) -> Iterator[str]:
    """Of the distribution that is asked for; for OpenCV, which has four names, of any of them."""
    name = normalised(package.requirement.partition(">")[0])
    yield from (d.version for d in distributions if d.name == name)
    if package.module == "cv2":
        yield from (d.version for d in distributions if d.name.startswith("opencv-"))
