"""What the computer is, as far as it decides about speed; told by files and by the doctor's probes."""

import os
import platform
import re

from ssd_detect.benchmark.results import Machine
from ssd_detect.doctor.child import Child
from ssd_detect.doctor.hints import has_nvidia_gpu
from ssd_detect.doctor.probes.commands import run_command
from ssd_detect.doctor.probes.distributions import installed_distributions
from ssd_detect.doctor.probes.driver import gpu_report
from ssd_detect.doctor.probes.files import read_text
from ssd_detect.doctor.probes.sources import Sources
from ssd_detect.doctor.probes.system import system_facts
from ssd_detect.engines.processor import load_average, usable_cores

_PACKAGES = re.compile(r"(tensorflow|tensorflow-cpu|onnxruntime(-gpu)?|openvino|opencv-python(-headless)?|numpy|av)$")
_DRIVER_SECONDS = 5.0  # a dead GPU lets its questioners hang
_COMMAND_SECONDS = 2.0


def look_at_machine(sources: Sources | None = None) -> Machine:
    """Look; on a computer with an NVIDIA GPU its driver is asked, by a child process.

    Args:
        sources: where to look; None: this machine.
    """
    load = load_average()  # before the child
    sources = sources or Sources.of_this_machine()
    packages = installed_distributions(sources.search_path, _PACKAGES)
    return Machine(
        processor=_processor(sources),
        cores=usable_cores(),
        all_cores=os.cpu_count() or 1,
        memory_bytes=_memory_bytes(),
        system=system_facts(sources).name,
        gpus=_gpus(sources) if has_nvidia_gpu(sources) else (),
        python=platform.python_version(),
        packages={name: version for name, version, *_ in sorted(packages, key=lambda one: one.name)},
        load=load,
    )


def _processor(sources: Sources) -> str:
    if sources.kind == "Darwin":
        command = [str(sources.root / "usr/sbin/sysctl"), "-n", "machdep.cpu.brand_string"]
        answer = run_command(command, _COMMAND_SECONDS)
        return answer.text if answer.status == 0 else platform.machine()
    told = re.search(r"^model name\s*:\s*(.+)$", read_text(sources.root / "proc/cpuinfo") or "", re.MULTILINE)
    return " ".join(told[1].split()) if told else platform.processor() or platform.machine()


def _memory_bytes() -> int | None:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return None


def _gpus(sources: Sources) -> tuple[str, ...]:
    with Child("auto") as child:
        report = gpu_report(child, sources, _DRIVER_SECONDS, _DRIVER_SECONDS)
    return tuple(gpu.name for gpu in report.gpus)
