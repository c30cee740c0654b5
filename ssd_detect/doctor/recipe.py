"""`ssd-detect doctor --for tensorflow==1.15`: what a TensorFlow needs to use a GPU, and how to install it."""

import re
from dataclasses import dataclass

from ssd_detect.doctor.recipe_commands import cpu_command, linux_commands, macos_advice, windows_commands
from ssd_detect.doctor.recipe_notes import recipe_notes
from ssd_detect.doctor.rows import TensorFlowRow
from ssd_detect.doctor.table_file import tables
from ssd_detect.doctor.tables import driver_for, known_range, needed_libraries, row_for, suits
from ssd_detect.errors import SettingError

_NAMES = ("tensorflow", "tensorflow-gpu", "tensorflow-cpu", "tensorflow-intel", "tensorflow-macos", "tf-nightly")
_NUMBER = r"(?:0|[1-9][0-9]*)"
_VERSION = rf"v?{_NUMBER}(?:\.{_NUMBER})+(?:\.?[a-z][a-z0-9.+-]*)?(?:\.\*)?"
_REQUIREMENT = re.compile(rf"(?P<name>[a-z-]+)(\[and-cuda\])?(==?(?P<version>{_VERSION}))?|(?P<bare>{_VERSION})")
_INEXACT = re.compile(r"([a-z-]+)?(\[[a-z0-9,-]*\])?(([<>!~]=?|===).*|==?.*,.*|(==?)?v?[0-9]+(\.\*)?)?")


@dataclass(frozen=True)
class SystemRecipe:
    """What one system needs.

    Args:
        system: `Linux` or `Windows`.
        uses_gpu: whether this TensorFlow can use an NVIDIA GPU there.
        driver: the oldest one that works; "" without a GPU.
        comfortable_driver: the oldest one with which nothing is missing.
        python: the versions that have wheels, in words.
        commands: what to type, in this order.
        libraries: file names of all that must be found before a GPU is used.
    """

    system: str
    uses_gpu: bool
    driver: str
    comfortable_driver: str
    python: str
    commands: tuple[str, ...]
    libraries: tuple[str, ...]


@dataclass(frozen=True)
class Recipe:
    """What a TensorFlow needs.

    Args:
        version: what was asked for: "1.15".
        systems: Linux, then Windows.
        wsl_driver: the oldest driver of Windows for WSL2; "" where no number is known.
        cpu: what to type for the CPU alone, where that was asked for; else "".
        macos: what there is on macOS instead, clauses with semicolons between.
        native: compute capabilities of the GPUs that it has code for.
        compiled: those whose code the driver compiles first, which takes minutes, once.
        notes: whatever else to know, a sentence each.
    """

    version: str
    cuda: str
    cudnn: str
    numpy: str
    protobuf: str
    systems: tuple[SystemRecipe, ...]
    wsl_driver: str
    cpu: str
    macos: str
    native: tuple[str, ...]
    compiled: tuple[str, ...]
    notes: tuple[str, ...]


def recipe(requirement: str) -> Recipe:
    """What the TensorFlow of a requirement (`tensorflow==1.15`, `tensorflow-gpu==2.4`, `2.10`, `tf-nightly`) needs.

    Raises:
        SettingError: no such requirement, or a TensorFlow that the tables do not know.
    """
    name, version = _parsed(requirement)
    match = row_for(version)
    if match is None or not (match.is_known or name == "tf-nightly"):
        raise SettingError(f"--for {requirement}: no such TensorFlow is known; {_expected()}")
    row, driver = match.row, driver_for(version)
    if name != "tf-nightly" and not _was_published(row, version):
        raise SettingError(
            f"--for {requirement}: there is no TensorFlow {version}; there are {', '.join(row.releases)}"
        )
    return Recipe(
        version=version,
        cuda=row.cuda,
        cudnn=row.cudnn,
        numpy=row.numpy,
        protobuf=row.protobuf,
        systems=(_on_linux(row, name, version), _on_windows(row, name, version)),
        wsl_driver=driver.wsl if driver else "",
        cpu=cpu_command(row, name, version),
        macos=macos_advice(row, version),
        native=_gpus_that(version, "native"),
        compiled=_gpus_that(version, "jit"),
        notes=recipe_notes(name, version, row),
    )


def _was_published(row: TensorFlowRow, version: str) -> bool:
    """Of the newest series, there may be more by now; of what comes before a final release, nothing is kept."""
    is_final = re.fullmatch(r"[0-9]+\.[0-9]+\.[0-9.]+", version) is not None
    is_newest = row.version == known_range()[1]
    return not is_final or is_newest or version in row.releases


def _parsed(requirement: str) -> tuple[str, str]:
    """Name and version; the newest version where none is asked for."""
    text = re.sub(r"[\s\"']", "", requirement).lower().replace("_", "-")
    found, inexact = _REQUIREMENT.fullmatch(text), _INEXACT.fullmatch(text)
    if text and not found and inexact and (inexact[1] or "tensorflow") in _NAMES:
        oldest, newest = known_range()
        example = f"such as tensorflow=={newest} (known are {oldest} to {newest})"
        raise SettingError(f"--for {requirement}: give one exact version, {example}")
    name = (found["name"] or "tensorflow") if found else ""
    if not found or name not in _NAMES:
        raise SettingError(f"--for {requirement}: expected a TensorFlow; {_expected()}")
    return name, (found["version"] or found["bare"] or known_range()[1]).lstrip("v").removesuffix(".*")


def _expected() -> str:
    oldest, newest = known_range()
    return f"known are {oldest} to {newest}, as in --for tensorflow=={newest}"


def _gpus_that(version: str, way: str) -> tuple[str, ...]:
    return tuple(gpu.cc for gpu in tables().capability if suits(version, gpu.cc) == way)


def _on_linux(row: TensorFlowRow, name: str, version: str) -> SystemRecipe:
    driver = driver_for(version)
    return SystemRecipe(
        system="Linux",
        uses_gpu=True,
        driver=driver.linux if driver else "",
        comfortable_driver=driver.comfortable_linux if driver else "",
        python=_pythons(row.extra_python or row.python, "2.7, " if row.python_27 else ""),
        commands=linux_commands(row, name, version),
        libraries=tuple(needed_libraries(version, "linux").values()),
    )


def _on_windows(row: TensorFlowRow, name: str, version: str) -> SystemRecipe:
    driver = driver_for(version)
    return SystemRecipe(
        system="Windows",
        uses_gpu=row.windows_gpu,
        driver=driver.windows if driver else "",
        comfortable_driver=driver.comfortable_windows if driver else "",
        python=_pythons(row.python_windows),
        commands=windows_commands(row, name, version),
        libraries=tuple(needed_libraries(version, "windows").values()) if row.windows_gpu else (),
    )


def _pythons(bounds: tuple[str, str], older: str = "") -> str:
    return f"{older}{bounds[0]} to {bounds[1]}"
