"""What `auto`'s choice depends on beside the network: what is asked for, what is installed, and what the machine has.

The doctor's probes look at the machine; they are imported here only where a GPU may count.
"""

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ssd_detect.conventions import EngineName
from ssd_detect.engines.packages import releases_of
from ssd_detect.engines.processor import processor_id, usable_cores
from ssd_detect.environment import variables
from ssd_detect.files import file_stamp
from ssd_detect.settings import SessionSettings

if TYPE_CHECKING:
    from ssd_detect.doctor.probes.sources import Sources

# Not those that this program or a package sets by itself, such as TF_CPP_MIN_LOG_LEVEL or KMP_INIT_AT_FORK: they change
# nothing here, and are not always set.
_ON_CPUS = re.compile(
    r"OMP_(NUM_THREADS|THREAD_LIMIT|DYNAMIC|WAIT_POLICY|PROC_BIND|PLACES)|KMP_(AFFINITY|BLOCKTIME)|GOMP_\w+|"
    r"(ONEDNN|DNNL)_(MAX_CPU_ISA|DEFAULT_FPMATH_MODE)|OPENCV_FOR_THREADS_NUM|TF_ENABLE_ONEDNN_OPTS|(TF_)?XLA_FLAGS"
)
_ON_GPUS = re.compile(
    r"(CUDA|NVIDIA)_(VISIBLE_DEVICES|DEVICE_ORDER|TF32_OVERRIDE)|TF_CUDNN_\w+|TF_GPU_\w+|TF_DETERMINISTIC_OPS|"
    r"LD_LIBRARY_PATH"
)
_GPU_PACKAGES = re.compile(r"nvidia-|tensorrt|tensorflow-metal$|intel-extension-for-tensorflow")
_MODEL = re.compile(r"^Model:\s*(.+)$", re.MULTILINE)


def condition(settings: SessionSettings, able: Sequence[EngineName], sources: "Sources | None" = None) -> str:
    """One line, equal only where an earlier choice still holds.

    Args:
        settings: device, precision, threads.
        able: the engines to choose from.
        sources: where GPUs are looked for; None: this machine.
    """
    releases = " ".join(f"{engine.value}={releases_of(engine)}" for engine in able)
    threads = f"{settings.intra_op_threads or usable_cores()}/{settings.inter_op_threads or 'auto'}"
    told = f"{settings.device} {settings.precision.value} threads={threads} {releases} {processor_id()}"
    set_here = [*_chosen(variables(), _ON_CPUS)]
    if settings.device.kind != "cpu":
        set_here += _gpu_signs(sources)
    return f"{told} {_short(set_here)}" if set_here else told


def _short(lines: Sequence[str]) -> str:
    return hashlib.sha256("\n".join(lines).encode(errors="surrogateescape")).hexdigest()[:12]


def _chosen(environment: Mapping[str, str], names: re.Pattern[str]) -> Iterator[str]:
    return (f"{name}={environment[name]}" for name in sorted(environment) if names.fullmatch(name))


def _gpu_signs(sources: "Sources | None") -> Iterator[str]:
    """All that decides which GPUs an engine sees, and how quick they are; asks no driver, which could hang.

    Nothing where there is no GPU.
    """
    from ssd_detect.doctor.hints import has_nvidia_gpu
    from ssd_detect.doctor.probes.distributions import installed_distributions
    from ssd_detect.doctor.probes.hardware import bus_devices, device_files
    from ssd_detect.doctor.probes.sources import Sources

    sources = sources or Sources.of_this_machine()
    yield from (
        f"{name}={version}" for name, version, *_ in installed_distributions(sources.search_path, _GPU_PACKAGES)
    )
    if not has_nvidia_gpu(sources):
        return
    yield from _driver_signs(sources)
    yield from (f"{device.address} {device.device_id}" for device in bus_devices(sources.root) or ())
    yield from (f"{Path(f.path).name} {f.is_readable} {f.is_writable}" for f in device_files(sources.root))
    yield from _chosen(sources.environment, _ON_GPUS)


def _driver_signs(sources: "Sources") -> Iterator[str]:
    """Its version, and the GPUs that it knows: in WSL and on Windows, where no file tells, the stamp of its library."""
    from ssd_detect.doctor.probes.files import entries, read_text

    root = sources.root
    yield read_text(root / "proc/driver/nvidia/version") or read_text(root / "sys/module/nvidia/version") or ""
    for gpu in entries(root / "proc/driver/nvidia/gpus"):
        model = _MODEL.search(read_text(gpu / "information") or "")
        yield f"{gpu.name} {model[1] if model else ''}"
    system = Path(sources.environment.get("SystemRoot", r"C:\Windows"))
    for library in (root / "usr/lib/wsl/lib/libcuda.so.1", system / "System32" / "nvcuda.dll"):
        yield file_stamp(library)
