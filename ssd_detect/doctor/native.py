"""What only NVIDIA's own libraries can tell. Runs in the child process: a broken driver may hang or kill the caller."""

import ctypes
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from ssd_detect.doctor.facts import DriverFacts, Gpu, GpuProcess, GpuReport

_T = TypeVar("_T")
_BYTES_A_MIB = 1 << 20
_COMPUTE_MODES = ("Default", "Exclusive_Thread", "Prohibited", "Exclusive_Process")  # nvmlComputeMode_t
_MIG_ENABLED = 1


def driver_facts() -> DriverFacts:
    """Load the driver's library by its plain name, as TensorFlow does, and start it."""
    is_windows = sys.platform == "win32"
    try:
        library = ctypes.CDLL("nvcuda.dll" if is_windows else "libcuda.so.1")
    except OSError as error:
        return DriverFacts(error=str(error))
    path = _loaded_file("libcuda.so")
    code = int(library.cuInit(0))
    return DriverFacts(
        path=path,
        version=_suffix(path),
        cuda_version=_cuda_version(_number_by(library.cuDriverGetVersion)),
        init_code=code,
        device_count=_number_by(library.cuDeviceGetCount) if code == 0 else None,
    )


def _number_by(function: Callable[[Any], int]) -> int | None:
    """What a function of CUDA writes into the integer that it is given; None when it fails."""
    number = ctypes.c_int()
    return number.value if function(ctypes.byref(number)) == 0 else None


def _cuda_version(number: int | None) -> str | None:
    """12040 -> 12.4, as cuDriverGetVersion counts."""
    return None if number is None else f"{number // 1000}.{number % 1000 // 10}"


def _loaded_file(name: str) -> str | None:
    """The file of that name that is mapped into this process; None where the system does not tell."""
    try:
        lines = Path("/proc/self/maps").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return None
    paths = (line.split(maxsplit=5)[5] for line in lines if f"/{name}" in line)
    return next(paths, None)


def _suffix(path: str | None) -> str | None:
    match = re.search(r"\.so\.(\d+\.[\d.]*\d)$", path or "")
    return match.group(1) if match else None


def load_library(path: str) -> str | None:
    """Load a library file; returns the version that it tells of itself: cuDNN does, the others do not.

    Raises:
        OSError: it cannot be loaded, in the loader's words.
    """
    library = ctypes.CDLL(path)
    if not hasattr(library, "cudnnGetVersion"):
        return None
    library.cudnnGetVersion.restype = ctypes.c_size_t
    return _cudnn_version(int(library.cudnnGetVersion()))


def _cudnn_version(number: int) -> str:
    """8907 -> 8.9.7, 90300 -> 9.3.0: cuDNN 9 counts its major version in ten thousands."""
    major = number // 10000 if number >= 90000 else number // 1000
    rest = number - major * (10000 if number >= 90000 else 1000)
    return f"{major}.{rest // 100}.{rest % 100}"


def gpu_report() -> GpuReport:
    """Ask NVML about all GPUs.

    Raises:
        ModuleNotFoundError: nvidia-ml-py is not installed.
    """
    import pynvml as nvml

    try:
        nvml.nvmlInit()
    except nvml.NVMLError as error:
        return GpuReport(error_code=int(error.value), error=f"NVML: {error}")
    try:
        gpus = tuple(_gpu(nvml, index) for index in range(nvml.nvmlDeviceGetCount()))
        cuda = _told(nvml.nvmlSystemGetCudaDriverVersion_v2)
        return GpuReport("nvml", _text(nvml.nvmlSystemGetDriverVersion()), _cuda_version(cuda), gpus)
    except nvml.NVMLError as error:  # such as a GPU that fell off the bus
        return GpuReport(error_code=int(error.value), error=f"NVML: {error}")
    finally:
        nvml.nvmlShutdown()


def _gpu(nvml: Any, index: int) -> Gpu:
    handle = nvml.nvmlDeviceGetHandleByIndex(index)
    capability = _told(nvml.nvmlDeviceGetCudaComputeCapability, handle)
    memory = _told(nvml.nvmlDeviceGetMemoryInfo, handle)
    mode = _told(nvml.nvmlDeviceGetComputeMode, handle)
    mig = _told(nvml.nvmlDeviceGetMigMode, handle)  # (now, after the next reset)
    pci = _told(nvml.nvmlDeviceGetPciInfo, handle)
    return Gpu(
        index=index,
        name=_text(nvml.nvmlDeviceGetName(handle)),
        compute_capability=f"{capability[0]}.{capability[1]}" if capability else None,
        uuid=_maybe_text(_told(nvml.nvmlDeviceGetUUID, handle)),
        pci_address=_text(pci.busId) if pci else None,
        total_mib=memory.total // _BYTES_A_MIB if memory else None,
        free_mib=memory.free // _BYTES_A_MIB if memory else None,
        compute_mode=_COMPUTE_MODES[mode] if mode is not None else None,
        is_mig=mig[0] == _MIG_ENABLED if mig else None,
        mig_instances=_mig_instances(nvml, handle) if mig and mig[0] == _MIG_ENABLED else None,
        processes=tuple(_process(nvml, one) for one in _told(nvml.nvmlDeviceGetComputeRunningProcesses, handle) or ()),
    )


def _mig_instances(nvml: Any, handle: Any) -> int:
    most = _told(nvml.nvmlDeviceGetMaxMigDeviceCount, handle) or 0
    return sum(_told(nvml.nvmlDeviceGetMigDeviceHandleByIndex, handle, index) is not None for index in range(most))


def _process(nvml: Any, process: Any) -> GpuProcess:
    used = process.usedGpuMemory
    name = _maybe_text(_told(nvml.nvmlSystemGetProcessName, process.pid))
    return GpuProcess(process.pid, name, None if used is None else used // _BYTES_A_MIB, _user_of(process.pid))


def _user_of(pid: int) -> str | None:
    try:
        return Path(f"/proc/{pid}").owner()
    except (OSError, KeyError, NotImplementedError):
        return None


def _told(function: Callable[..., _T], *arguments: Any) -> _T | None:
    """The answer; None when this GPU, driver or user may not have it: one closed door is no reason to give up."""
    import pynvml as nvml

    try:
        return function(*arguments)
    except nvml.NVMLError:
        return None


def _text(value: str | bytes) -> str:
    """Old bindings answer in bytes."""
    return value.decode(errors="replace") if isinstance(value, bytes) else value


def _maybe_text(value: str | bytes | None) -> str | None:
    return None if value is None else _text(value)
