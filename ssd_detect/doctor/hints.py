"""What `image`, `video` and `Detector` say of a GPU that is not used or that fails: a line, and the way to the doctor.

Runs where detection runs, and so is cheap until something has failed; what explains a failure is imported then.
"""

import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from ssd_detect.doctor.probes.files import entries, read_text
from ssd_detect.doctor.probes.hardware import bus_devices
from ssd_detect.doctor.probes.sources import Sources

if TYPE_CHECKING:
    from ssd_detect.doctor.facts import GpuReport

SLOW_START = (
    "The first run on this GPU may take minutes: its driver may have to compile the network's code, once. "
    "Later runs start at once."
)
UNUSED_GPU = (
    "Running on the CPU, although this computer has an NVIDIA GPU; type ssd-detect doctor to find out why "
    "(with --device cpu this is not said)."
)

_REPORT_SECONDS = 5.0  # a dead GPU lets its questioners hang
_MEMORY_CAUSES = ("memory", "cudnn-start")
_MAX_WORDS = 200
_MIB_A_KIB = 1 / 1024


def has_nvidia_gpu(sources: Sources) -> bool:
    """Whether there are signs of an NVIDIA GPU: of its driver, on the bus, or of WSL's way to one. Asks nobody."""
    if sources.kind == "Windows":
        return (Path(sources.environment.get("SystemRoot", r"C:\Windows")) / "System32" / "nvcuda.dll").is_file()
    if sources.kind != "Linux":
        return False
    root = sources.root
    in_wsl = (root / "dev/dxg").exists() and (root / "usr/lib/wsl/lib/libcuda.so.1").exists()
    return in_wsl or bool(entries(root / "proc/driver/nvidia/gpus")) or bool(bus_devices(root))


def explain_failure(
    text: str,
    *,
    batch: int,
    device: str,
    out_of_memory: bool = False,
    report: "Callable[[], GpuReport] | None" = None,
    sources: Sources | None = None,
) -> str | None:
    """One line about an error of TensorFlow; None on the CPU when nothing is known about it.

    Args:
        text: TensorFlow's words.
        batch: pictures that were in the network; 0 while it was being started.
        device: `CPU` or `GPU:0`.
        out_of_memory: whether it is known to be that.
        report: asks for the memory of the GPUs; None asks the driver of this machine.
        sources: where free memory is read; None: this machine.
    """
    from ssd_detect.doctor.tables import message_in

    known = message_in(text)
    sources = sources or Sources.of_this_machine()
    if out_of_memory or (known and known.cause == "memory"):
        free = _free(device, report, sources)
        return f"not enough memory{_on(device)}{_for(batch)}{free}; {_less_memory(batch, device)}"
    if device == "CPU":
        return None
    free = _free(device, report, sources) if known and known.cause in _MEMORY_CAUSES else ""
    reason = known.meaning if known else f"TensorFlow says: {_one_line(text)}"
    return f"{device} fails: {reason}{free}; type ssd-detect doctor to find out more, or use --device cpu"


def _on(device: str) -> str:
    return "" if device == "CPU" else f" on {device}"


def _for(batch: int) -> str:
    return f" for {batch} picture(s) at once" if batch else ""


def _less_memory(batch: int, device: str) -> str:
    smaller = f"use a --batch-size smaller than {batch}" if batch > 1 else "close other programs"
    return smaller if device == "CPU" else f"{smaller}, or use --device cpu; ssd-detect doctor shows who holds memory"


def _free(device: str, report: "Callable[[], GpuReport] | None", sources: Sources) -> str:
    """Free memory in parentheses; of all GPUs, since TensorFlow and the driver may number them differently."""
    if device == "CPU":
        match = re.search(r"^MemAvailable:\s+(\d+) kB", read_text(sources.root / "proc/meminfo") or "", re.MULTILINE)
        return f" ({int(match[1]) * _MIB_A_KIB:.0f} MiB are free)" if match else ""
    gpus = (report or (lambda: _ask_driver(sources)))().gpus
    told = [gpu for gpu in gpus if gpu.free_mib is not None and gpu.total_mib is not None]
    parts = (f"{gpu.free_mib} of {gpu.total_mib} MiB are free on {gpu.name}" for gpu in told)
    return f" ({', '.join(parts)})" if told else ""


def _ask_driver(sources: Sources) -> "GpuReport":
    from ssd_detect.doctor.child import Child
    from ssd_detect.doctor.probes.driver import gpu_report

    with Child("auto") as child:
        return gpu_report(child, sources, _REPORT_SECONDS, _REPORT_SECONDS)


def _one_line(text: str) -> str:
    line = next((line.strip() for line in text.splitlines() if line.strip()), "nothing")
    return line if len(line) <= _MAX_WORDS else line[: _MAX_WORDS - 1] + "…"
