"""The names of the libraries that a TensorFlow asks for, by the tables."""

import re

from ssd_detect.doctor.facts import BuildFacts
from ssd_detect.doctor.probes.libraries import WantedLibrary
from ssd_detect.doctor.rows import System
from ssd_detect.doctor.tables import (
    cudnn_libraries,
    known_range,
    library_files,
    msvc_runtime,
    needed_libraries,
    row_for,
)

_IS_VERSION = re.compile(r"\d+(\.\d+)*")


def asking_version(build: BuildFacts | None) -> str:
    """The TensorFlow whose libraries are looked for: the installed one; without one, the newest that is known."""
    version = build.version if build else None
    return version if version and row_for(version) else known_range()[1]


def wanted_libraries(version: str, build: BuildFacts | None, kind: str) -> tuple[WantedLibrary, ...]:
    """The driver's library, those without which no GPU is used, in TensorFlow's order, then the others.

    Args:
        version: of TensorFlow; one that `row_for` knows.
        build: what was built for goes before the table: conda's builds have another CUDA than those of PyPI.
        kind: of system; on macOS nothing is wanted.
    """
    if kind not in ("Linux", "Windows"):
        return ()
    system: System = "linux" if kind == "Linux" else "windows"
    cuda, cudnn = _built_for(version, build)
    files = dict(library_files(cuda, cudnn, system))
    needed = [name for name in ("driver", *needed_libraries(version, system)) if name in files]
    rest = [WantedLibrary(name, file, False) for name, file in files.items() if name not in needed]
    return (*(WantedLibrary(name, files[name]) for name in needed), *rest, *_companions(version, cudnn, system))


def _built_for(version: str, build: BuildFacts | None) -> tuple[str, str]:
    """CUDA and cuDNN; Windows builds say such as `64_112`, which is no version."""
    match = row_for(version)
    cuda, cudnn = (match.row.cuda, match.row.cudnn) if match else ("", "")
    if build and _IS_VERSION.fullmatch(build.cuda_version or "") and _IS_VERSION.fullmatch(build.cudnn_version or ""):
        return build.cuda_version or cuda, build.cudnn_version or cudnn
    return cuda, cudnn


def _companions(version: str, cudnn: str, system: System) -> tuple[WantedLibrary, ...]:
    """What the wanted ones need in turn: the parts of cuDNN, and on Windows the C++ runtime and zlib."""
    row = cudnn_libraries(cudnn)
    if row is None:
        return ()
    parts = row.linux_parts if system == "linux" else row.windows_parts
    names = [("cudnn part", part) for part in parts]
    if system == "windows":
        names += [("msvc", name) for name in msvc_runtime(version)]
        names += [("zlib", "zlibwapi.dll")] if row.zlib_from else []
    return tuple(WantedLibrary(component, name, False) for component, name in names)
