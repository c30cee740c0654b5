"""What the facts say at a glance: is there a GPU to speak of, which TensorFlow is it, did it work? Pure."""

import re

from ssd_detect.doctor.facts import Distribution, Facts, Failure, Gpu, TensorFlowFacts, TrialFacts
from ssd_detect.doctor.rows import System

_CUDA_WHEEL = re.compile(r"nvidia-(cuda-runtime|cudnn|cublas)\b.*")
_NO_DEVICES = ("", "void", "none")  # of NVIDIA_VISIBLE_DEVICES


def expects_gpu(facts: Facts) -> bool:
    """Whether an NVIDIA GPU is in the machine, or in its host, so that its absence from TensorFlow is a fault."""
    if facts.system.kind == "Darwin":
        return False
    if facts.gpu_report.gpus or facts.bus or facts.device_files or facts.kernel_module.version:
        return True
    if facts.system.wsl:  # whose hardware is hidden
        return bool(facts.system.has_dxg and facts.driver.path) or wants_cuda(facts)
    if facts.system.kind == "Windows":
        return facts.driver.path is not None
    asked = facts.environment.get("NVIDIA_VISIBLE_DEVICES", "")
    return facts.system.container is not None and facts.bus is None and asked not in _NO_DEVICES


def wants_cuda(facts: Facts) -> bool:
    """Whether somebody installed CUDA's libraries."""
    names = (*(package.name for package in facts.conda_packages), *(d.name for d in facts.distributions))
    return any(_CUDA_WHEEL.fullmatch(name) or name in ("cudatoolkit", "cudnn") for name in names)


def asks_for_gpu(facts: Facts) -> bool:
    """Whether --device names a GPU."""
    return facts.device_asked.startswith("gpu")


def gpu_in_question(facts: Facts) -> Gpu | None:
    """The GPU that detection would run on: the one asked for, else the first."""
    wanted = facts.device_asked.removeprefix("gpu:") if asks_for_gpu(facts) else "0"
    gpus = facts.gpu_report.gpus
    return next((gpu for gpu in gpus if str(gpu.index) == wanted), gpus[0] if gpus else None)


def gpu_name(facts: Facts) -> str:
    """What to call the GPU: its name, else what the bus knows."""
    gpu = gpu_in_question(facts)
    if gpu is not None:
        return gpu.name
    device = facts.bus[0] if facts.bus else None
    return (device and (device.name or f"NVIDIA GPU {device.device_id}")) or "NVIDIA GPU"


def running(facts: Facts) -> TensorFlowFacts | None:
    """What TensorFlow tells about itself; None when it does not start, or was not asked."""
    return facts.tensorflow if isinstance(facts.tensorflow, TensorFlowFacts) else None


def tensorflow_version(facts: Facts) -> str | None:
    """Of the TensorFlow that an import takes: as it says itself, as its files or its distribution say."""
    tensorflow = running(facts)
    if tensorflow is not None:
        return tensorflow.version
    if facts.build is not None and facts.build.version is not None:
        return facts.build.version
    return next((found.version for found in facts.distributions if found.owns_tensorflow), None)


def distribution(facts: Facts, name: str) -> Distribution | None:
    """The installed distribution of this name."""
    return next((found for found in facts.distributions if found.name == name), None)


def sees_gpu(facts: Facts) -> bool:
    """Whether TensorFlow lists a GPU."""
    tensorflow = running(facts)
    return tensorflow is not None and bool(tensorflow.gpus)


def on_gpu(trial: TrialFacts | Failure | None) -> bool:
    """Whether the trial ran on a GPU."""
    return isinstance(trial, TrialFacts) and trial.device_name.startswith("GPU")


def system_of(facts: Facts) -> System:
    """The column of the tables."""
    return "windows" if facts.system.kind == "Windows" else "linux"
