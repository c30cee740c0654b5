"""What belongs together, looked up in `tables.toml`: TensorFlow, Python, drivers, CUDA, cuDNN, libraries and GPUs.

A version may have more parts than a row names, and words behind them: "2.16.2" and "2.16.0rc1" are found under "2.16".
"""

import re
from collections.abc import Iterable, Mapping
from typing import Literal, TypeVar

from ssd_detect.doctor.rows import (
    BrokenRecipe,
    Capability,
    Code,
    CondaPackages,
    CudaDriver,
    CudnnCode,
    CudnnLibraries,
    Distribution,
    Extra,
    Generation,
    Libraries,
    MacWheels,
    Match,
    Message,
    Metal,
    MinorCompatibility,
    PtxIsa,
    Ranged,
    System,
    TensorFlowDriver,
    Wheel,
)
from ssd_detect.doctor.table_file import tables

Release = tuple[int, ...]
_R = TypeVar("_R", bound=Ranged)


def release(version: str) -> Release:
    """The numbers that a version begins with: "2.23.0-dev20261026" gives (2, 23, 0); none: ()."""
    found = re.match(r"\d+(\.\d+)*", version)
    return tuple(int(part) for part in found[0].split(".")) if found else ()


def is_older(version: str, than: str) -> bool:
    """Whether a version comes before another; missing parts count as 0."""
    mine, other = release(version), release(than)
    length = max(len(mine), len(other))
    return mine + (0,) * (length - len(mine)) < other + (0,) * (length - len(other))


def is_within(version: str, first: str, last: str) -> bool:
    """Whether a version lies in a range; "2.14" as `last` covers 2.14.1, "" has no end."""
    end = release(last)
    return not is_older(version, first) and (not end or release(version)[: len(end)] <= end)


def _covering(rows: Iterable[_R], version: str) -> _R | None:
    return next((row for row in rows if is_within(version, row.first, row.last)), None)


# ---------------------------------------------------------------- TensorFlow


def row_for(version: str) -> Match | None:
    """The row of a TensorFlow; for one newer than all rows the newest; None for one that never was, or is too old."""
    found = release(version)
    by_release = {release(row.version): row for row in tables().tensorflow}
    for length in (3, 2):
        if len(found) >= length and found[:length] in by_release:
            return Match(by_release[found[:length]], is_known=True)
    newest = max(key for key in by_release if len(key) == 2)
    return Match(by_release[newest], is_known=False) if found[:2] > newest else None


def known_range() -> tuple[str, str]:
    """The oldest and the newest TensorFlow that the tables know."""
    versions = sorted((row.version for row in tables().tensorflow), key=release)
    return versions[0], versions[-1]


def driver_for(version: str) -> TensorFlowDriver | None:
    """The drivers that a TensorFlow needs."""
    return _covering(tables().tensorflow_driver, version)


def code_in(version: str) -> Code | None:
    """The code for GPUs that a TensorFlow contains."""
    return _covering(tables().code, version)


def extra_of(version: str) -> Extra | None:
    """What the extra and-cuda of a TensorFlow installs; None where it has none."""
    return _covering(tables().extra, version)


def conda_packages(version: str) -> CondaPackages | None:
    """What conda installs for a TensorFlow without that extra."""
    return _covering(tables().conda, version)


def distribution(name: str, version: str) -> Distribution | None:
    """Whether a distribution of this name and version can use a GPU; None for an unknown one."""
    return _covering((row for row in tables().distribution if row.name == name), version)


def broken_recipe(requirement: str, version: str, python: str) -> BrokenRecipe | None:
    """What is wrong with installing this ("tensorflow[and-cuda]") in this version; None if nothing is known."""
    rows = (row for row in tables().broken_recipe if row.requirement == requirement)
    return _covering((row for row in rows if not row.python or is_within(python, row.python, row.python)), version)


# ---------------------------------------------------------------- driver and CUDA


def driver_of_cuda(cuda: str) -> CudaDriver | None:
    """The driver that belongs to a toolkit ("12.5"); for a series that of its first release."""
    wanted = release(cuda)
    exact = (row for row in tables().cuda_driver if release(row.cuda) == wanted)
    series = (row for row in tables().cuda_driver if release(row.cuda)[:2] == wanted[:2])
    return next(exact, None) or next(series, None)


def cuda_of_driver(driver: str, system: System) -> str | None:
    """The newest CUDA ("12.4") whose own driver is not newer than this one; None below all."""
    rows = [row for row in tables().cuda_driver if _driver(row, system)]
    served = [row.cuda for row in rows if not is_older(driver, _driver(row, system))]
    return ".".join(max(served, key=release).split(".")[:2]) if served else None


def _driver(row: CudaDriver, system: System) -> str:
    return row.linux if system == "linux" else row.windows


def minor_compatibility(cuda: str) -> MinorCompatibility | None:
    """The oldest driver for anything of the major version of this CUDA; None before 11, where no such rule holds."""
    return next((row for row in tables().minor_compatibility if (row.major,) == release(cuda)[:1]), None)


def ptx_isa(isa: str) -> PtxIsa | None:
    """Who can compile PTX of this version."""
    return next((row for row in tables().ptx_isa if row.isa == isa), None)


# ---------------------------------------------------------------- libraries


def cuda_libraries(cuda: str) -> Libraries | None:
    """File names of the libraries of a CUDA, without cuDNN."""
    return _covering(tables().libraries, cuda)


def cudnn_libraries(cudnn: str) -> CudnnLibraries | None:
    """File names of a cuDNN."""
    return next((row for row in tables().cudnn if (row.major,) == release(cudnn)[:1]), None)


def needed_libraries(version: str, system: System) -> Mapping[str, str]:
    """Name -> file of all that a TensorFlow opens before it uses a GPU; one missing, and it uses none.

    Empty for a TensorFlow that the tables do not know. The driver's own library (`driver`) is not among them.
    """
    match, needed = row_for(version), _covering(tables().needed, version)
    if match is None or needed is None:
        return {}
    files = library_files(match.row.cuda, match.row.cudnn, system)
    return {name: files[name] for name in needed.names}


def library_files(cuda: str, cudnn: str, system: System) -> Mapping[str, str]:
    """Name -> file of every library of a CUDA, of its cuDNN and of the driver; empty where unknown."""
    libraries, dnn = cuda_libraries(cuda), cudnn_libraries(cudnn)
    if libraries is None or dnn is None:
        return {}
    if system == "linux":
        return {**libraries.linux, "cudnn": dnn.linux}
    return {**libraries.windows, "cudnn": dnn.windows}


def msvc_runtime(version: str) -> tuple[str, ...]:
    """The files of the C++ runtime that a TensorFlow for Windows needs."""
    found = _covering(tables().msvc_runtime, version)
    return found.names if found else ()


def wheel_of(library: str) -> Wheel | None:
    """The wheel that brings a library ("cudnn")."""
    return next((row for row in tables().wheel if library in row.libraries), None)


# ---------------------------------------------------------------- GPUs


def capability(cc: str) -> Capability | None:
    """What has this compute capability; for an unlisted minor number ("8.8") the nearest below it."""
    same = [row for row in tables().capability if release(row.cc)[0] == release(cc)[0] and not is_older(cc, row.cc)]
    return max(same, key=lambda row: release(row.cc)) if same else None


def generation(cc: str) -> Generation | None:
    """The driver's side of the architecture with this compute capability."""
    row = capability(cc)
    return next((g for g in tables().generation if row and g.architecture == row.architecture), None)


def suits(version: str, cc: str) -> Literal["native", "jit", "no"]:
    """Whether a GPU works with a TensorFlow; `jit`: after a compilation of many minutes, once."""
    fitting = (row for row in tables().suits if is_within(cc, row.gpu_first, row.gpu_last))
    row = _covering(fitting, version)
    if row is None:
        return "no"
    return "jit" if row.jit else "native"


def newest_tensorflow_for(cc: str) -> str | None:
    """The newest series ("2.16") that a GPU works with; None if there is none."""
    series = sorted((row.version for row in tables().tensorflow if row.version.count(".") == 1), key=release)
    return next((version for version in reversed(series) if suits(version, cc) != "no"), None)


def cudnn_code(cudnn: str) -> CudnnCode | None:
    """The code in a cuDNN; None before 9.3, which nobody has looked into."""
    return _covering(tables().cudnn_code, cudnn)


# ---------------------------------------------------------------- errors and macOS


def cuda_error(number: int) -> str | None:
    """What an error number of CUDA means."""
    return next((row.meaning for row in tables().cuda_error if row.number == number), None)


def nvml_error(number: int) -> str | None:
    """What an error number of NVML means."""
    return next((row.meaning for row in tables().nvml_error if row.number == number), None)


def message_in(text: str) -> Message | None:
    """The first known message of TensorFlow, CUDA or cuDNN that a text contains, in any case of letters."""
    lowered = text.lower()
    return next((row for row in tables().message if row.fragment.lower() in lowered), None)


def metal_for(version: str) -> Metal | None:
    """The tensorflow-metal that goes with a TensorFlow."""
    return _covering(tables().metal, version)


def mac_wheels(machine: str) -> MacWheels | None:
    """The TensorFlow with wheels for a Mac of this architecture ("arm64", "x86_64")."""
    return next((row for row in tables().mac_wheels if row.machine == machine), None)
