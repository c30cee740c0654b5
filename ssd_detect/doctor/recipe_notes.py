"""What else to know about a TensorFlow before installing it, a sentence each."""

from ssd_detect.doctor.recipe_commands import pip_command
from ssd_detect.doctor.rows import TensorFlowRow
from ssd_detect.doctor.table_file import tables
from ssd_detect.doctor.tables import (
    broken_recipe,
    code_in,
    distribution,
    driver_for,
    extra_of,
    generation,
    is_older,
    release,
    suits,
)

_OLDEST_OF_NEW_CUDNN = "7.5"  # compute capability, see `cudnn_code`


def recipe_notes(name: str, version: str, row: TensorFlowRow) -> tuple[str, ...]:
    """Notes on `name` (a distribution) of `version`, whose row is `row`."""
    package, gpus = _package_notes(name, version, row), _gpu_notes(version)
    return (*package, *_library_notes(row), *gpus, *_driver_notes(version), *_cudnn_notes(version))


def _package_notes(name: str, version: str, row: TensorFlowRow) -> list[str]:
    notes = []
    stub, asked_for = broken_recipe(name, version, row.python[1]), distribution(name, version)
    if stub is not None:
        notes.append(f"{name} {version} cannot be installed: {stub.found}; use {stub.instead}.")
    elif asked_for is not None and not asked_for.linux_gpu:
        notes.append(f"{name} {version} itself cannot use an NVIDIA GPU; {row.gpu_package} can.")
    if row.extra_broken:
        notes.append(f"Do not take {row.version} itself: {row.extra_broken}; {row.install} repairs that.")
    if row.extra_python and row.extra_python != row.python:
        notes.append(f"The extra and-cuda cannot be installed on Python {row.python[1]}.")
    if name == "tf-nightly":
        notes.append(f"A nightly build may want more than TensorFlow {row.version}, the newest that is known here.")
    return notes


def _library_notes(row: TensorFlowRow) -> list[str]:
    notes = []
    if not row.and_cuda:
        archives = "developer.nvidia.com/cuda-toolkit-archive and developer.nvidia.com/cudnn-archive"
        notes.append(f"NVIDIA's own CUDA {row.cuda} and cuDNN {row.cudnn} do as well: {archives}")
    if row.loading == "linked":
        notes.append("Its import fails when a library is missing, also on a computer without a GPU.")
    return notes


def _gpu_notes(version: str) -> list[str]:
    """The generations that are newer than all that this TensorFlow has code for, with the names of shops."""
    rows = sorted(tables().capability, key=lambda row: release(row.cc))
    last = max((place for place, row in enumerate(rows) if suits(version, row.cc) != "no"), default=-1)
    newer: dict[str, str] = {}
    for row in rows[last + 1 :]:
        series = next((gpu for gpu in row.gpus.split(", ") if gpu.startswith("RTX") and gpu.endswith("series")), "")
        newer[row.architecture] = newer.get(row.architecture) or series.removesuffix(" series")
    names = ", ".join(f"{name} ({series})" if series else name for name, series in newer.items())
    return [f"No code for newer GPUs: {names}."] if names else []


def _driver_notes(version: str) -> list[str]:
    driver, notes = driver_for(version), []
    if driver and driver.hopper_linux:
        notes.append(f"Hopper GPUs need driver {driver.hopper_linux} or newer.")
    if driver and driver.blackwell_linux:
        notes.append(f"Blackwell GPUs need driver {driver.blackwell_linux} or newer.")
    return [*notes, *(f"The last driver for {names} GPUs is that of branch {b}." for b, names in _branches(version))]


def _branches(version: str) -> list[tuple[int, str]]:
    """The last branch of the driver, and the architectures among the GPUs of this TensorFlow that it is for."""
    found: dict[int, dict[str, None]] = {}
    for gpu in tables().capability:
        row = generation(gpu.cc)
        if row and row.last_branch and suits(version, gpu.cc) != "no":
            found.setdefault(row.last_branch, {})[row.architecture] = None
    return [(branch, " and ".join(", ".join(names).rsplit(", ", 1))) for branch, names in found.items()]


def _cudnn_notes(version: str) -> list[str]:
    """Pip takes the newest cuDNN where the extra only bounds it; that has left older GPUs behind."""
    extra, code = extra_of(version), code_in(version)
    if extra is None or code is None or not extra.pins["cudnn"].startswith(">"):
        return []
    if not is_older(code.minimum, _OLDEST_OF_NEW_CUDNN):
        return []
    return [f"GPUs older than Turing also need: {pip_command(f'nvidia-cudnn-{extra.suffix}>=9.3,<9.11')}"]
