"""What is found out about a machine: one frozen record, gathered by `probes`, judged by `judge`.

Every class goes to plain values by `dataclasses.asdict` and back by its `from_json`. Nearly every field has a default
that means "nothing there" or "unknown", so that a made machine states what is special about it and no more.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from ssd_detect.doctor.facts.machine import (
    BuildFacts,
    CheckpointFacts,
    CondaPackage,
    Distribution,
    Folder,
    OwnFiles,
    PythonFacts,
    SystemFacts,
)
from ssd_detect.doctor.facts.nvidia import (
    BusDevice,
    Candidate,
    DeviceFile,
    DriverFacts,
    Gpu,
    GpuProcess,
    GpuReport,
    KernelCache,
    KernelModule,
    Library,
    LibrarySearch,
    SearchPlace,
    Toolkit,
    XlaFiles,
)
from ssd_detect.doctor.facts.proof import (
    DETECTION_PACKAGES,
    PACKAGES,
    TENSORFLOW,
    VIDEO_PACKAGES,
    Box,
    DeviceFacts,
    DeviceTrial,
    Failure,
    Operation,
    Package,
    TensorFlowFacts,
    TrialFacts,
    Tried,
)
from ssd_detect.doctor.facts.record import Record

__all__ = [
    "DETECTION_PACKAGES",
    "PACKAGES",
    "TENSORFLOW",
    "VIDEO_PACKAGES",
    "Box",
    "BuildFacts",
    "BusDevice",
    "Candidate",
    "CheckpointFacts",
    "CondaPackage",
    "DeviceFacts",
    "DeviceFile",
    "DeviceTrial",
    "Distribution",
    "DriverFacts",
    "Facts",
    "Failure",
    "Folder",
    "Gpu",
    "GpuProcess",
    "GpuReport",
    "KernelCache",
    "KernelModule",
    "Library",
    "LibrarySearch",
    "Operation",
    "OwnFiles",
    "Package",
    "PythonFacts",
    "Record",
    "SearchPlace",
    "SystemFacts",
    "TensorFlowFacts",
    "Toolkit",
    "TrialFacts",
    "Tried",
    "XlaFiles",
]


@dataclass(frozen=True)
class Facts(Record):
    """Everything that is known about a machine before it is judged.

    Args:
        own_version: ssd-detect's; `own_files`: where it lies.
        device_asked: `auto`, `cpu` or `gpu:N`.
        quick: whether nothing was imported or tried: then `packages` holds the versions of what is installed, and
            `tensorflow`, `device_trials`, the trials, `encoders` and `fonts` are None.
        environment: the variables of CUDA, TensorFlow, Python and the loader that are set.
        distributions: installed ones that matter: tensorflow and its like, keras, numpy, protobuf, nvidia-*, torch,
            jax, OpenCV's, av.
        leftovers: folders such as `~ensorflow` that a broken uninstall left in site-packages.
        conda_packages: those of the conda environment that matter.
        build: of the TensorFlow that an import would take; None without one.
        bus: NVIDIA devices; None where the bus cannot be seen.
        packages: module name -> version, for `PACKAGES`.
        tensorflow: what it tells about itself; None when not tried.
        device_trials: operations on each device; None when not tried.
        trial: detection on the device asked for; None when not tried, since TensorFlow does not start.
        cpu_trial: detection on the CPU; None unless `trial` failed and a GPU may be the reason.
        checkpoint: None when the manifest cannot be read.
        strangers: module name -> file, for modules of `PACKAGES` and TensorFlow that Python takes from elsewhere than
            its folders of installed packages, such as a `tensorflow.py` of the user's.
        log: what native code and tracebacks said on standard error meanwhile, and which probes failed.
    """

    own_version: str = ""
    own_files: OwnFiles = field(default_factory=OwnFiles)
    device_asked: str = "auto"
    quick: bool = False
    system: SystemFacts = field(default_factory=SystemFacts)
    python: PythonFacts = field(default_factory=PythonFacts)
    environment: Mapping[str, str] = field(default_factory=dict)
    distributions: tuple[Distribution, ...] = ()
    leftovers: tuple[str, ...] = ()
    conda_packages: tuple[CondaPackage, ...] = ()
    build: BuildFacts | None = None
    bus: tuple[BusDevice, ...] | None = None
    kernel_module: KernelModule = field(default_factory=KernelModule)
    device_files: tuple[DeviceFile, ...] = ()
    driver: DriverFacts = field(default_factory=DriverFacts)
    gpu_report: GpuReport = field(default_factory=GpuReport)
    library_search: LibrarySearch = field(default_factory=LibrarySearch)
    toolkits: tuple[Toolkit, ...] = ()
    xla_files: XlaFiles = field(default_factory=XlaFiles)
    kernel_cache: KernelCache | None = None
    packages: Mapping[str, str | Failure] = field(default_factory=dict)
    strangers: Mapping[str, str] = field(default_factory=dict)
    tensorflow: TensorFlowFacts | Failure | None = None
    device_trials: tuple[DeviceTrial, ...] | Failure | None = None
    trial: TrialFacts | Failure | None = None
    cpu_trial: TrialFacts | Failure | None = None
    checkpoint: CheckpointFacts | None = None
    encoders: tuple[Tried, ...] | Failure | None = None
    fonts: tuple[Tried, ...] | Failure | None = None
    folders: tuple[Folder, ...] = ()
    log: str = ""
