"""Checks of the GPU itself: whether it gets here, whether it is hidden, whether this TensorFlow has code for it."""

from collections.abc import Iterator
from dataclasses import replace

from ssd_detect.doctor.advice import (
    fits_python,
    give_gpu_to_container,
    install_with_cuda,
    new_environment,
    pip_line,
    set_variable,
    unset,
)
from ssd_detect.doctor.check import Check
from ssd_detect.doctor.facts import TENSORFLOW, Facts, Gpu
from ssd_detect.doctor.situation import gpu_in_question, gpu_name, tensorflow_version
from ssd_detect.doctor.table_file import tables
from ssd_detect.doctor.tables import (
    code_in,
    is_older,
    known_range,
    newest_tensorflow_for,
    release,
    row_for,
    suits,
)

_WSL_UPDATE = "in Windows, install NVIDIA's newest driver, then type in PowerShell: wsl --update; wsl --shutdown"


def gpu_check(facts: Facts) -> Check:
    """The GPUs of the machine, or why they do not get into this container or Linux."""
    check = Check("NVIDIA driver", "GPU", "warn", "", stops="gpu")
    system = facts.system
    if system.wsl == 1:
        step = f"type in PowerShell: wsl --set-version {system.wsl_name or 'Ubuntu'} 2"
        return replace(check, found="WSL1 has no way to a GPU", wanted="WSL2", step=step, id="F10")
    if system.wsl and system.has_dxg is False:
        found = "Windows passes no GPU on to WSL2: /dev/dxg is missing"
        return replace(check, found=found, wanted="/dev/dxg", step=_WSL_UPDATE, id="F10")
    if system.container and not system.wsl and not facts.device_files and not facts.driver.path:
        found = "this container was started without access to the GPU"
        return replace(check, found=found, wanted="/dev/nvidiactl", step=give_gpu_to_container(facts), id="F11")
    return replace(check, mark="ok", found=_listed(facts), stops="nothing")


def _listed(facts: Facts) -> str:
    return ", ".join(_described(gpu) for gpu in facts.gpu_report.gpus) or gpu_name(facts)


def _described(gpu: Gpu) -> str:
    capability = f" (compute capability {gpu.compute_capability})" if gpu.compute_capability else ""
    return f"{gpu.name}{capability}"


def visibility_check(facts: Facts) -> Check | None:
    """What CUDA_VISIBLE_DEVICES hides; None when it is not set."""
    value, gpus = facts.environment.get("CUDA_VISIBLE_DEVICES"), facts.gpu_report.gpus
    if value is None:
        return None
    check = Check("NVIDIA driver", "CUDA_VISIBLE_DEVICES", "ok", f"is {value!r}")
    if not gpus or not _hides_all(value, gpus):
        return check
    which = "the only GPU" if len(gpus) == 1 else f"all {len(gpus)} GPUs"
    step = unset(facts, "CUDA_VISIBLE_DEVICES")
    if "SLURM_JOB_ID" in facts.environment and not value:
        step = "ask Slurm for a GPU: add --gres=gpu:1 to sbatch or srun"
    found = f"is {value!r}, which hides {which}"
    return replace(check, mark="warn", found=found, wanted="not set", step=step, id="F09", stops="gpu")


def _hides_all(value: str, gpus: tuple[Gpu, ...]) -> bool:
    """CUDA reads up to the first entry that names no GPU; a first entry that names none hides all."""
    first = value.split(",")[0].strip()
    if first.isdecimal():
        return int(first) >= len(gpus)
    if first.upper().startswith("MIG-"):
        return False  # the parts of a card are not listed here
    return not any(gpu.uuid is None or gpu.uuid.startswith(first) for gpu in gpus) if first else True


# ---------------------------------------------------------------- code for this GPU


def code_check(facts: Facts) -> Check | None:
    """Whether TensorFlow has code for the GPU in question; None where that cannot be told."""
    gpu, version = gpu_in_question(facts), tensorflow_version(facts)
    if gpu is None or gpu.compute_capability is None or not _is_known(version):
        return None
    assert version is not None
    verdict = suits(version, gpu.compute_capability)
    found = f"TensorFlow {version} has code for compute capability {gpu.compute_capability}"
    if verdict == "jit":
        found = f"TensorFlow {version} is compiled for {gpu.name} in the first run, which takes minutes, once"
    check = Check("devices", "GPU code", "ok", found)
    return check if verdict != "no" else _no_code(check, facts, gpu, version)


def _is_known(version: str | None) -> bool:
    match = row_for(version or "")
    return match is not None and match.is_known


def _no_code(check: Check, facts: Facts, gpu: Gpu, version: str) -> Check:
    capability = gpu.compute_capability or ""
    found = f"{gpu.name} has compute capability {capability}, and TensorFlow {version} has no code that it can run"
    check = replace(check, mark="warn", found=found, stops="gpu")
    code, newest = code_in(version), newest_tensorflow_for(capability)
    if code is not None and is_older(capability, code.minimum):
        step = _older_tensorflow(facts, newest)
        return replace(check, wanted=f"compute capability {code.minimum} or newer", step=step, id="F12")
    first = _first_series_after(version, capability)
    if first is None:
        step = "use NVIDIA's TensorFlow container, or the CPU: no TensorFlow that we know has code for this GPU"
        return replace(check, step=step, id="F13")
    step = pip_line(facts, "--upgrade", f"tensorflow[and-cuda]>={first}")
    return replace(check, wanted=f"TensorFlow {first} or newer", step=step, id="F13")


def _older_tensorflow(facts: Facts, series: str | None) -> str:
    oldest = TENSORFLOW.requirement.split(">=")[1]
    if series is None or is_older(series, oldest):
        code = code_in(known_range()[1])
        minimum = code.minimum if code else "unknown"
        last = f", and {series} was the last for this GPU" if series else ""
        return (
            f"use another GPU (compute capability {minimum} or newer), or the CPU: "
            f"ssd-detect needs TensorFlow {oldest} or newer{last}"
        )
    row = row_for(series)
    assert row is not None  # series is a row's own
    if fits_python(facts, series):
        return install_with_cuda(facts, row.row.install)
    return new_environment(facts, row.row.python[1], f"tensorflow[and-cuda]=={row.row.install}")


def _first_series_after(version: str, capability: str) -> str | None:
    series = sorted((row.version for row in tables().tensorflow), key=release)
    return next((s for s in series if is_older(version, s) and suits(s, capability) != "no"), None)


def other_gpu_checks(facts: Facts) -> Iterator[Check]:
    """The other GPUs that TensorFlow has no code for: no fault while the one in question works."""
    version, chosen = tensorflow_version(facts), gpu_in_question(facts)
    for gpu in facts.gpu_report.gpus if _is_known(version) else ():
        if gpu == chosen or not gpu.compute_capability or suits(version or "", gpu.compute_capability) != "no":
            continue
        found = f"({gpu.name}) has compute capability {gpu.compute_capability}, "
        found += f"for which TensorFlow {version} has no code"
        step = f"{set_variable(facts, 'CUDA_VISIBLE_DEVICES', str(chosen.index if chosen else 0))}   (leaves it out)"
        yield Check("devices", f"GPU {gpu.index}", "warn", found, "", step, "F12")


def is_compiled_first(facts: Facts) -> bool:
    """Whether the driver compiles TensorFlow's code for the GPU in question in the first run."""
    gpu, version = gpu_in_question(facts), tensorflow_version(facts)
    if gpu is None or gpu.compute_capability is None or version is None:
        return False
    return suits(version, gpu.compute_capability) == "jit"
