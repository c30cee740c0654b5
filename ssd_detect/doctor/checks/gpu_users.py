"""Who else uses a GPU, and what to say of that."""

from ssd_detect.doctor.facts import Gpu, GpuProcess


def step_for_users(gpu: Gpu) -> str:
    """Never an offer to end it for the user: it may be somebody's training."""
    other = "choose another GPU, or: --device cpu"
    if not gpu.processes:
        return f"end what uses GPU {gpu.index} (nvidia-smi may list it), or {other}"
    largest = max(gpu.processes, key=lambda process: process.used_mib or 0)
    return f"end {name_of(largest)} ({_identity(largest)}) if it is yours, or {other}"


def name_of(process: GpuProcess) -> str:
    """The file name of its program."""
    return (process.name or "a program").replace("\\", "/").rsplit("/", 1)[-1]


def _identity(process: GpuProcess) -> str:
    words = [f"process {process.pid}"]
    words += [f"{process.used_mib} MiB"] if process.used_mib else []
    return ", ".join(words + ([f"user {process.user}"] if process.user else []))
