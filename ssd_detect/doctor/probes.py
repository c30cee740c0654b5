"""Gathers the `Facts` of this machine. What could fail, hang or kill is asked of a `Child`."""

import platform
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from ssd_detect import __version__
from ssd_detect.doctor.child import Child
from ssd_detect.doctor.facts import PACKAGES, TENSORFLOW, Facts, Failure, TensorFlowFacts, TrialFacts

CPU_INFO = Path("/proc/cpuinfo")
Tell = Callable[[str], None]


@dataclass(frozen=True)
class Patience:
    """How many seconds a question may take.

    Args:
        an_import: TensorFlow's takes 7 s from a cold disk, and far more over a network.
        detection: on a new kind of GPU the first call compiles kernels; up to twenty minutes were reported.
    """

    an_import: float = 120.0
    detection: float = 1200.0


_PATIENCE = Patience()


def gather(device: str, tell: Tell = lambda step: None, patience: Patience = _PATIENCE) -> Facts:
    """Find out everything.

    Args:
        device: `auto`, `cpu` or `gpu:N`: where detection is tried.
        tell: gets the name of each step before it begins.
        patience: when a step is given up.
    """
    with Child(device) as child:
        packages = _packages(child, tell, patience)
        tensorflow = _tensorflow(child, tell, patience)
        trial = None if isinstance(tensorflow, Failure) else _trial(child, tell, patience)
    cpu_trial, cpu_log = None, ""
    if isinstance(trial, Failure) and _may_be_the_gpu(device, tensorflow):
        cpu_trial, cpu_log = _trial_on_cpu(tell, patience)
    return Facts(
        system=system_name(),
        machine=platform.machine(),
        has_avx=has_avx(CPU_INFO),
        python_version=platform.python_version(),
        python_path=sys.executable,
        own_version=__version__,
        device_asked=device,
        packages=packages,
        tensorflow=tensorflow,
        trial=trial,
        cpu_trial=cpu_trial,
        log=child.log + cpu_log,
    )


def _packages(child: Child, tell: Tell, patience: Patience) -> dict[str, str | Failure]:
    versions: dict[str, str | Failure] = {}
    for package in PACKAGES:
        tell(package.name)
        versions[package.module] = child.ask(package.module, patience.an_import)
    return versions


def _tensorflow(child: Child, tell: Tell, patience: Patience) -> TensorFlowFacts | Failure:
    tell(TENSORFLOW.name)
    answer = child.ask(TENSORFLOW.module, patience.an_import)
    return answer if isinstance(answer, Failure) else TensorFlowFacts.from_json(answer)


def _trial(child: Child, tell: Tell, patience: Patience) -> TrialFacts | Failure:
    tell("detection")
    answer = child.ask("detection", patience.detection)
    return answer if isinstance(answer, Failure) else TrialFacts.from_json(answer)


def _trial_on_cpu(tell: Tell, patience: Patience) -> tuple[TrialFacts | Failure, str]:
    with Child("cpu") as child:
        trial = _trial(child, tell, patience)
    return trial, child.log


def _may_be_the_gpu(device: str, tensorflow: TensorFlowFacts | Failure) -> bool:
    return device.startswith("gpu") or (not isinstance(tensorflow, Failure) and bool(tensorflow.gpus))


def system_name() -> str:
    """The operating system, as its users call it."""
    kind = platform.system()
    if kind == "Linux":
        return f"{_distribution()}, kernel {platform.release()}"
    if kind == "Darwin":
        return f"macOS {platform.mac_ver()[0]}"
    return f"{kind} {platform.release()}, version {platform.version()}"


def _distribution() -> str:
    try:
        return platform.freedesktop_os_release()["PRETTY_NAME"]
    except (OSError, KeyError):
        return "Linux"


def has_avx(cpu_info: Path) -> bool | None:
    """Whether an x86 Linux lists AVX among the processor's flags; None where there is no such list."""
    try:
        lines = cpu_info.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return None
    flags = next((line for line in lines if line.startswith("flags")), None)
    return None if flags is None else "avx" in flags.split()
