"""Facts about NVIDIA's hardware, driver and libraries. None stands for unknown."""

from dataclasses import dataclass
from typing import Literal

from ssd_detect.doctor.facts.record import Record


@dataclass(frozen=True)
class BusDevice(Record):
    """An NVIDIA display or compute device on the PCI bus.

    Args:
        address: `0000:01:00.0`.
        device_id: `10de:2330`, vendor and device in hexadecimal.
        name: as the list of PCI ids or Windows calls it.
        driver: kernel driver that holds it: `nvidia`, `nouveau`, `vfio-pci`; None when none does.
    """

    address: str = ""
    device_id: str = ""
    name: str | None = None
    driver: str | None = None


@dataclass(frozen=True)
class KernelModule(Record):
    """NVIDIA's kernel module on Linux.

    Args:
        version: of the loaded module; None when none is loaded or seen (as in WSL).
        is_open: whether it is the open one.
        nouveau_loaded: whether the free driver holds its place.
        built_for: kernel releases for which a module file lies on the disk.
    """

    version: str | None = None
    is_open: bool | None = None
    nouveau_loaded: bool | None = None
    built_for: tuple[str, ...] = ()


@dataclass(frozen=True)
class DeviceFile(Record):
    """A file of /dev that CUDA opens; those that do not exist are not listed."""

    path: str
    is_readable: bool
    is_writable: bool
    mode: str = ""
    group: str | None = None


@dataclass(frozen=True)
class DriverFacts(Record):
    """The driver's user-space library, `libcuda.so.1` or `nvcuda.dll`, as a child process loaded it.

    Args:
        path: the file that was loaded, links resolved; None when none could be.
        version: the suffix of that file, `535.104.05`; None on Windows.
        cuda_version: newest CUDA that it serves, `12.2`, by cuDriverGetVersion.
        init_code: what cuInit(0) returned; 0 is success.
        device_count: by cuDeviceGetCount, so after CUDA_VISIBLE_DEVICES.
        error: why it could not be loaded or asked.
    """

    path: str | None = None
    version: str | None = None
    cuda_version: str | None = None
    init_code: int | None = None
    device_count: int | None = None
    error: str | None = None


@dataclass(frozen=True)
class GpuProcess(Record):
    """A process that uses a GPU. Memory in MiB; None where the driver does not tell (Windows, WSL)."""

    pid: int
    name: str | None = None
    used_mib: int | None = None
    user: str | None = None


@dataclass(frozen=True)
class Gpu(Record):
    """A GPU as NVML or nvidia-smi describes it. Memory in MiB.

    Args:
        index: NVML's, in the order of the bus; CUDA's may differ.
        compute_capability: `8.6`; None where nvidia-smi is too old to tell.
        compute_mode: `Default`, `Exclusive_Process`, `Prohibited`.
        is_mig: whether the card is to be used in parts (MIG).
        mig_instances: how many parts there are.
    """

    index: int
    name: str
    compute_capability: str | None = None
    uuid: str | None = None
    pci_address: str | None = None
    total_mib: int | None = None
    free_mib: int | None = None
    compute_mode: str | None = None
    is_mig: bool | None = None
    mig_instances: int | None = None
    processes: tuple[GpuProcess, ...] = ()


@dataclass(frozen=True)
class GpuReport(Record):
    """What the driver's management library says about all GPUs, whatever CUDA_VISIBLE_DEVICES hides.

    Args:
        source: who answered; None when nobody did.
        cuda_version: newest CUDA that the driver serves; not an installed toolkit.
        error_code: NVML's, when it could not be asked (9 driver not loaded, 12 no library, 18 mismatch).
        error: NVML's words, then nvidia-smi's, when neither answered.
    """

    source: Literal["nvml", "nvidia-smi"] | None = None
    driver_version: str | None = None
    cuda_version: str | None = None
    gpus: tuple[Gpu, ...] = ()
    error_code: int | None = None
    error: str | None = None


@dataclass(frozen=True)
class SearchPlace(Record):
    """A folder where the loader looks for libraries.

    Args:
        found_by: why it looks there: `LD_LIBRARY_PATH`, `RUNPATH` (TensorFlow's own list), `default`, `PATH` (Windows).
    """

    path: str
    found_by: str
    exists: bool = True


@dataclass(frozen=True)
class Candidate(Record):
    """A library file that could be loaded for a wanted name.

    Args:
        path: where it was found.
        found_by: a `SearchPlace.found_by`, or `ldconfig`, or `nothing` when the loader does not look there.
        version: of the file, as far as its name, its distribution or a header tells.
        origin: who brought it: `pip nvidia-cudnn-cu12 9.3.0.75`, `conda cudnn 8.9.7`, `CUDA toolkit 11.2`, `WSL`,
            `system`.
        real_path: links resolved.
    """

    path: str
    found_by: str
    version: str | None = None
    origin: str = ""
    real_path: str = ""

    @property
    def is_reachable(self) -> bool:
        """Whether the loader looks where it lies."""
        return self.found_by != "nothing"


@dataclass(frozen=True)
class Library(Record):
    """A wanted library and all that was found for it.

    Args:
        component: `cudart`, `cublas`, `cublasLt`, `cufft`, `cusolver`, `cusparse`, `cudnn`, `driver`, …
        name: the wanted soname or DLL: `libcudart.so.12`, `cudart64_110.dll`.
        is_required: whether TensorFlow needs it to use a GPU.
        candidates: in the order of the loader's search; those that it does not reach come last.
        others: files of the same library in other versions, such as `libcudart.so.11.0`.
        load_error: why the winner could not be loaded; None when it could or was not tried.
        loaded_version: what the winner says of itself (cuDNN: `9.3.0`).
    """

    component: str
    name: str
    is_required: bool = True
    candidates: tuple[Candidate, ...] = ()
    others: tuple[Candidate, ...] = ()
    load_error: str | None = None
    loaded_version: str | None = None

    @property
    def winner(self) -> Candidate | None:
        """The file that the loader takes."""
        return next((candidate for candidate in self.candidates if candidate.is_reachable), None)

    @property
    def version(self) -> str | None:
        """Of the file that the loader takes, as exactly as it is known."""
        return self.loaded_version or (self.winner.version if self.winner else None)


@dataclass(frozen=True)
class LibrarySearch(Record):
    """The emulated search of the system's loader for TensorFlow's GPU libraries.

    Args:
        places: where it looks, in this order; ldconfig's cache has no folder of its own and comes before `default`.
        libraries: in the order in which TensorFlow loads them.
        wanted_by: the TensorFlow or CUDA version whose names were looked for.
    """

    places: tuple[SearchPlace, ...] = ()
    libraries: tuple[Library, ...] = ()
    wanted_by: str | None = None


@dataclass(frozen=True)
class Toolkit(Record):
    """A CUDA toolkit on the disk; TensorFlow finds its libraries only where the loader looks."""

    path: str
    version: str | None = None
    cudnn_version: str | None = None


@dataclass(frozen=True)
class XlaFiles(Record):
    """What XLA needs to compile kernels.

    Args:
        ptxas: the file that would be run; None when there is none.
        libdevice: the file that would be read.
        data_dir: folder that XLA_FLAGS names with --xla_gpu_cuda_data_dir.
        looked_in: folders, in order.
    """

    ptxas: str | None = None
    libdevice: str | None = None
    data_dir: str | None = None
    looked_in: tuple[str, ...] = ()


@dataclass(frozen=True)
class KernelCache(Record):
    """Where the driver keeps the GPU kernels that it compiled; `size` in bytes, 0 when there is no such folder."""

    path: str
    size: int = 0
