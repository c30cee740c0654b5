"""Where the system's loader looks for a library that TensorFlow asks for, in its order; and where else they may lie.

Linux: ld.so(8). A dlopen honours the search paths of the library that makes the call, hence TensorFlow's.
Windows: LoadLibrary's standard order, of which only PATH is the user's.
"""

import re
from collections.abc import Iterator, Sequence
from enum import Enum
from pathlib import Path

from ssd_detect.doctor.facts import SearchPlace
from ssd_detect.doctor.probes.commands import run_command
from ssd_detect.doctor.probes.elf import SearchPaths, search_paths
from ssd_detect.doctor.probes.files import entries
from ssd_detect.doctor.probes.sources import Sources

_FRAMEWORK = ("libtensorflow_framework.so.2", "libtensorflow_framework.so.1", "libtensorflow_framework.so")
_CC = "libtensorflow_cc.so.2"
_DEFAULTS = ("lib/{machine}-linux-gnu", "usr/lib/{machine}-linux-gnu", "lib64", "usr/lib64", "lib", "usr/lib")
_ABI_OF = {"x86_64": "x86-64", "aarch64": "AArch64"}


class Opener(Enum):
    """Which of TensorFlow's own libraries opens a GPU library, and so lends its RUNPATH.

    The framework opens all but cuSOLVER, whose folder only the RUNPATH of libtensorflow_cc names in 2.21.
    """

    FRAMEWORK = "framework"
    CC = "cc"

    @classmethod
    def of(cls, component: str) -> "Opener":
        """Of a component as in `Library`."""
        return cls.CC if component == "cusolver" else cls.FRAMEWORK


def search_places(sources: Sources, tensorflow: Path | None, machine: str, opener: Opener) -> tuple[SearchPlace, ...]:
    """The places for what `opener` opens, `ldconfig`'s cache left out: it belongs right before the first `default`.

    Args:
        tensorflow: folder of the package; None without one.
        machine: such as `x86_64`.
    """
    places = _windows(sources) if sources.kind == "Windows" else _linux(sources, tensorflow, machine, opener)
    return tuple(dict.fromkeys(places))


def all_places(framework: Sequence[SearchPlace], cc: Sequence[SearchPlace]) -> tuple[SearchPlace, ...]:
    """The places of both openers in one list, in the loader's order."""
    more = [place for place in cc if place not in framework]
    cut = next((i for i, place in enumerate(framework) if place.found_by == "default"), len(framework))
    return (*framework[:cut], *more, *framework[cut:])


def _linux(sources: Sources, tensorflow: Path | None, machine: str, opener: Opener) -> Iterator[SearchPlace]:
    own = _own_paths(tensorflow, opener) if tensorflow else SearchPaths()
    yield from _places(own.rpath, "RPATH")
    yield from _places(sources.folders_in("LD_LIBRARY_PATH"), "LD_LIBRARY_PATH")
    yield from _places(own.runpath, "RUNPATH")
    defaults = (sources.root / place.format(machine=machine) for place in _DEFAULTS)
    yield from _places([folder for folder in defaults if folder.is_dir()], "default")


def _own_paths(tensorflow: Path, opener: Opener) -> SearchPaths:
    files = [tensorflow / name for name in _FRAMEWORK if (tensorflow / name).is_file()][:1]
    if opener is Opener.CC and (tensorflow / _CC).is_file():
        files.append(tensorflow / _CC)
    found = [search_paths(file) for file in files]
    return SearchPaths(
        tuple(folder for paths in found for folder in paths.rpath),
        tuple(folder for paths in found for folder in paths.runpath),
    )


def _windows(sources: Sources) -> Iterator[SearchPlace]:
    system = Path(sources.environment.get("SystemRoot", r"C:\Windows"))
    yield from _places([sources.base_prefix, system / "System32", system], "default")
    yield from _places(sources.folders_in("PATH"), "PATH")


def _places(folders: Sequence[Path], found_by: str) -> Iterator[SearchPlace]:
    # A path is shown with its `..` taken out; links stay, since the loader's own messages have them.
    yield from (SearchPlace(_tidy(folder), found_by, folder.is_dir()) for folder in folders)


def _tidy(folder: Path) -> str:
    parts: list[str] = []
    for part in folder.parts:
        if part == ".." and parts and parts[-1] != folder.anchor:
            parts.pop()
        else:
            parts.append(part)
    return str(Path(*parts)) if parts else "."


def other_folders(sources: Sources, toolkits: Sequence[Path]) -> Iterator[Path]:
    """Folders that hold GPU libraries on many machines, whether the loader looks there or not."""
    is_windows = sources.kind == "Windows"
    for entry in dict.fromkeys(sources.search_path):
        for wheel in entries(entry / "nvidia"):
            yield from (wheel / "bin", wheel / "bin" / "x86_64") if is_windows else (wheel / "lib",)
        yield from (entry / "torch" / "lib", entry / "tensorrt_libs")
    prefix = sources.conda_prefix
    yield prefix / "Library" / "bin" if is_windows else prefix / "lib"
    for toolkit in toolkits:
        yield from (toolkit / "bin",) if is_windows else (toolkit / "lib64", toolkit / "extras/CUPTI/lib64")
    if not is_windows:
        yield from (
            sources.root / place for place in ("usr/lib/wsl/lib", "usr/local/nvidia/lib64", "usr/local/nvidia/lib")
        )


def loader_cache(sources: Sources, machine: str, seconds: float) -> dict[str, Path]:
    """Soname -> file, by `ldconfig -p`; empty where there is no such thing (musl, Windows)."""
    programs = (sources.root / place for place in ("sbin/ldconfig", "usr/sbin/ldconfig"))
    program = next((path for path in programs if path.is_file()), None)
    if program is None:
        return {}
    text, status = run_command([str(program), "-p"], seconds)
    lines = re.findall(r"^\s*(\S+) \(([^)]*)\) => (.+)$", text, re.MULTILINE) if status == 0 else []
    fitting = [(name, Path(file)) for name, kinds, file in lines if _ABI_OF.get(machine, "") in kinds]
    return dict(reversed(fitting))  # of several with one name the first is taken
