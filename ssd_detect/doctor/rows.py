"""The rows of `tables.toml`, each a frozen record. `tables` finds them; the file explains them and names their sources.

Versions are text as their makers write it ("2.16.1", "525.60.13", "9.0"). `first` and `last` bound a range of versions,
both ends within it; "2.14" as an end covers 2.14.1; "" as the last one means that no end is known.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

System = Literal["linux", "windows"]
Loading = Literal["linked", "named", "unnamed"]


@dataclass(frozen=True)
class Row:
    """What all rows have: `source`, the marks and keys that say where the facts were read."""

    source: str


@dataclass(frozen=True)
class Ranged(Row):
    """A row for a range of versions."""

    first: str
    last: str = ""


@dataclass(frozen=True, kw_only=True)
class TensorFlowRow(Row):
    """What a TensorFlow was built for and works with.

    Args:
        version: the series ("2.16") or the single release ("2.16.1") that the row is about.
        install: what to give pip after `==`.
        releases: all that were published of the series, the final ones.
        python: oldest and newest on Linux, besides 2.7 where `python_27`.
        python_windows: oldest and newest there.
        cuda: version of the tested build.
        cudnn: version of the tested build; `cudnn_windows` where it is another one there.
        cudnn_compiled: what it names in its own error texts; "" where that is not known.
        numpy: those that really work, whatever the metadata says.
        protobuf: those that really work; "" for any.
        caps_missing: whether its metadata lets pip install a NumPy or protobuf that breaks it.
        windows_gpu: whether the build for Windows can use a GPU.
        gpu_package: the distribution with the code for GPUs.
        and_cuda: whether pip can bring the libraries by the extra of that name.
        extra_python: oldest and newest for that extra, where not those of `python`.
        extra_broken: why that extra does not work; "" where it does.
        nvidia_folders: folders of `site-packages/nvidia` in which it looks for libraries.
        glibc: the oldest for its wheels.
        loading: what a missing library does: breaks the import, is named in the log, or is not.
    """

    version: str
    install: str
    releases: tuple[str, ...]
    python: tuple[str, str]
    python_windows: tuple[str, str]
    cuda: str
    cudnn: str
    numpy: str
    protobuf: str
    windows_gpu: bool
    gpu_package: str
    and_cuda: bool
    glibc: str
    loading: Loading
    loading_windows: Loading | None = None
    python_27: bool = False
    caps_missing: bool = False
    cudnn_windows: str = ""
    cudnn_compiled: str = ""
    extra_python: tuple[str, str] | None = None
    extra_broken: str = ""
    nvidia_folders: tuple[str, ...] = ()


@dataclass(frozen=True)
class Match:
    """The row for a TensorFlow; `is_known` is False when it is newer than all rows, and the newest stands in."""

    row: TensorFlowRow
    is_known: bool


@dataclass(frozen=True, kw_only=True)
class Distribution(Ranged):
    """Whether the distribution of this name can use a GPU."""

    name: str
    linux_gpu: bool
    windows_gpu: bool
    note: str = ""


@dataclass(frozen=True, kw_only=True)
class BrokenRecipe(Ranged):
    """A requirement that pip cannot install, or that does not do what it should; `python` where only there."""

    requirement: str
    found: str
    instead: str
    python: str = ""


@dataclass(frozen=True, kw_only=True)
class Extra(Ranged):
    """What the extra and-cuda installs: `nvidia-NAME-SUFFIX` -> version, or its range."""

    suffix: str
    pins: Mapping[str, str]


@dataclass(frozen=True, kw_only=True)
class CondaPackages(Ranged):
    """What brings the libraries where no extra does: conda's packages, and one of pip's where conda has no cuDNN."""

    cudatoolkit: str
    channel: str = ""
    cudnn: str = ""
    pip: str = ""


@dataclass(frozen=True, kw_only=True)
class CudaDriver(Row):
    """The driver that belongs to a CUDA toolkit; "" where there is none for Windows."""

    cuda: str
    linux: str
    windows: str = ""


@dataclass(frozen=True, kw_only=True)
class MinorCompatibility(Row):
    """The oldest driver that runs anything of this major version of CUDA."""

    major: int
    linux: str
    windows: str


@dataclass(frozen=True, kw_only=True)
class TensorFlowDriver(Ranged):
    """The drivers for a TensorFlow: without the first nothing runs, with the comfortable one nothing is missing.

    `hopper_linux` and `blackwell_*` are for GPUs of compute capability 9.x and 10.x to 12.x. "" where none is known.
    """

    linux: str
    comfortable_linux: str
    windows: str = ""
    comfortable_windows: str = ""
    wsl: str = ""
    hopper_linux: str = ""
    blackwell_linux: str = ""
    blackwell_wsl: str = ""


@dataclass(frozen=True, kw_only=True)
class PtxIsa(Row):
    """The CUDA that brought a version of the PTX instruction set, and the first branch of the driver that knows it."""

    isa: str
    cuda: str
    driver: str


@dataclass(frozen=True, kw_only=True)
class Libraries(Ranged):
    """File names of the libraries of a CUDA: name -> file."""

    linux: Mapping[str, str]
    windows: Mapping[str, str]


@dataclass(frozen=True, kw_only=True)
class CudnnLibraries(Row):
    """File names of a cuDNN, and of the parts that it loads by itself."""

    major: int
    linux: str
    windows: str
    linux_parts: tuple[str, ...] = ()
    windows_parts: tuple[str, ...] = ()
    zlib_from: str = ""


@dataclass(frozen=True, kw_only=True)
class Names(Ranged):
    """Libraries by name, or files."""

    names: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Wheel(Row):
    """The wheel `nvidia-NAME-cu11` or `-cu12`: its folder of `site-packages/nvidia`, and what lies there."""

    name: str
    folder: str
    libraries: tuple[str, ...]
    files: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Capability(Row):
    """A compute capability, and GPUs that have it."""

    cc: str
    architecture: str
    gpus: str


@dataclass(frozen=True, kw_only=True)
class Generation(Row):
    """The last branch of the driver that knows an architecture (None: the newest does); the open kernel module."""

    architecture: str
    open_module: Literal["unsupported", "possible", "required"]
    last_branch: int | None = None


@dataclass(frozen=True, kw_only=True)
class Code(Ranged):
    """The code for GPUs in a TensorFlow: machine code, PTX, and PTX of the elementwise kernels."""

    sass: tuple[str, ...]
    ptx: tuple[str, ...]
    minimum: str
    sass_partly: tuple[str, ...] = ()
    ptx_isa: str = ""
    mlir_ptx: str = ""
    mlir_isa: str = ""


@dataclass(frozen=True, kw_only=True)
class Suits(Ranged):
    """A range of TensorFlow that a range of GPUs works with; `jit`: after a long compilation by the driver."""

    gpu_first: str
    gpu_last: str
    jit: bool = False


@dataclass(frozen=True, kw_only=True)
class CudnnCode(Ranged):
    """The code in a range of cuDNN, and the oldest GPU that it runs on."""

    sass: tuple[str, ...]
    minimum: str


@dataclass(frozen=True, kw_only=True)
class ErrorNumber(Row):
    """A number that CUDA or NVML answers with."""

    number: int
    meaning: str


@dataclass(frozen=True, kw_only=True)
class Message(Row):
    """A part of what TensorFlow, CUDA or cuDNN say; `cause` is a stable word for what is behind it."""

    fragment: str
    cause: str
    meaning: str


@dataclass(frozen=True, kw_only=True)
class Metal(Ranged):
    """The tensorflow-metal that goes with a range of TensorFlow."""

    metal: str


@dataclass(frozen=True, kw_only=True)
class MacWheels(Ranged):
    """The TensorFlow that has wheels for a kind of Mac, and the oldest macOS for them."""

    machine: str
    macos: str


@dataclass(frozen=True, kw_only=True)
class Variable(Row):
    """A variable of the environment that is told, by a regular expression; `only_set`: without its value."""

    name: str
    only_set: bool = False
