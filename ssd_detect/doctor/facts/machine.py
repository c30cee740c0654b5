"""Facts about the computer, its Python and what is installed there. None stands for unknown."""

from dataclasses import dataclass
from typing import Literal

from ssd_detect.doctor.facts.record import Record


@dataclass(frozen=True)
class SystemFacts(Record):
    """Operating system and processor.

    Args:
        kind: as `platform.system()` says it.
        name: as its users call it: `Debian GNU/Linux 12 (bookworm)`, `Windows 11`, `macOS 15.1`.
        release: of the kernel: `6.8.0-45-generic`, `10.0.19045` (Windows build), `24.1.0`.
        machine: processor architecture: `x86_64`, `AMD64`, `aarch64`, `arm64`.
        distribution: `ID` of Linux's os-release, such as `ubuntu`, then the `ID_LIKE` words.
        libc: of Linux: `glibc` or `musl`.
        has_avx: whether the processor can do AVX; None where that is unknown or there is no such thing.
        wsl: version of the Windows Subsystem for Linux; None outside it.
        wsl_name: name of the distribution there, `WSL_DISTRO_NAME`.
        has_dxg: whether `/dev/dxg` exists: WSL2's way to the GPU.
        container: its engine; `other` when only signs of some container are seen; None outside one.
        is_rosetta: an x86_64 Python that macOS translates on Apple silicon.
        secure_boot: whether UEFI Secure Boot is on.
        long_paths: whether Windows allows paths over 260 characters.
        shell: name of the user's shell: `bash`, `zsh`, `powershell`, `cmd`.
        has_own_home: whether HOME names a folder of the user's own; None where HOME does not matter.
    """

    kind: str = "Linux"
    name: str = ""
    release: str = ""
    machine: str = ""
    distribution: tuple[str, ...] = ()
    libc: str | None = None
    libc_version: str | None = None
    has_avx: bool | None = None
    wsl: Literal[1, 2] | None = None
    wsl_name: str | None = None
    has_dxg: bool | None = None
    container: Literal["docker", "podman", "kubernetes", "apptainer", "lxc", "other"] | None = None
    is_rosetta: bool | None = None
    secure_boot: bool | None = None
    long_paths: bool | None = None
    shell: str | None = None
    has_own_home: bool | None = None


@dataclass(frozen=True)
class PythonFacts(Record):
    """The interpreter that runs this.

    Args:
        path: file of the interpreter.
        bits: of a pointer, 32 or 64.
        environment: what kind of environment `prefix` is.
        by_uv: whether uv made the environment (such a one may have no pip).
        user_site: the user's own site-packages folder, if Python looks there; None if not.
        pip_version: None when pip is not installed.
        free_threaded: a build without the global interpreter lock.
        externally_managed: whether pip refuses to install here (PEP 668).
    """

    version: str = ""
    path: str = ""
    prefix: str = ""
    bits: int = 64
    environment: Literal["venv", "conda", "system"] = "system"
    by_uv: bool = False
    user_site: str | None = None
    pip_version: str | None = None
    free_threaded: bool = False
    externally_managed: bool = False


@dataclass(frozen=True)
class Distribution(Record):
    """An installed distribution that matters here.

    Args:
        name: normalised: lower case, `-` between words.
        folder: the site-packages folder.
        installer: who put it there: `pip`, `uv`, `conda`.
        owns_tensorflow: whether it lists files under `tensorflow/`.
        requires: its requirements on nvidia-*, numpy and protobuf, and a tensorflow's on other tensorflows.
        missing_files: of an nvidia-* distribution: files that it lists and that are not there (first few).
    """

    name: str
    version: str
    folder: str = ""
    installer: str | None = None
    owns_tensorflow: bool = False
    requires: tuple[str, ...] = ()
    missing_files: tuple[str, ...] = ()


@dataclass(frozen=True)
class CondaPackage(Record):
    """A package of the conda environment: TensorFlow, CUDA, cuDNN and their like."""

    name: str
    version: str
    build: str = ""
    channel: str = ""


@dataclass(frozen=True)
class BuildFacts(Record):
    """What TensorFlow was built for, read from its files without importing it.

    Args:
        version: TensorFlow's.
        folder: of the package.
        cuda_version: as the build says it; on Windows such as `64_112`.
        compute_capabilities: as the build says them: `sm_60`, `compute_90`.
    """

    version: str | None = None
    folder: str = ""
    is_cuda_build: bool | None = None
    is_rocm_build: bool | None = None
    cuda_version: str | None = None
    cudnn_version: str | None = None
    compute_capabilities: tuple[str, ...] = ()


@dataclass(frozen=True)
class Folder(Record):
    """A folder that is written to.

    Args:
        purpose: `output`, `temporary` or `cache`.
        path: of the folder; "" for a current folder that no longer exists.
        is_writable: whether a file could really be made and filled in `tried_in`.
        free_bytes: for this user.
        tried_in: `path`, or the next folder above it that exists.
        error: why it cannot be written, in the system's words.
        is_strangers: whether `tried_in` belongs to another user although it lies in this user's home, as after sudo.
    """

    purpose: str
    path: str
    is_writable: bool | None = None
    free_bytes: int | None = None
    tried_in: str | None = None
    error: str | None = None
    is_strangers: bool = False


@dataclass(frozen=True)
class OwnFiles(Record):
    """Where ssd-detect itself lies.

    Args:
        folder: that holds the package.
        is_checkout: whether it is a clone of the repository, which git can repair.
    """

    folder: str = ""
    is_checkout: bool = False


@dataclass(frozen=True)
class CheckpointFacts(Record):
    """The checkpoint that ships.

    Args:
        size: bytes; None when the file cannot be read.
        sha256: of the file; None when it cannot be read or was not hashed.
        wanted_sha256: as the manifest says.
        error: why it cannot be read.
    """

    name: str
    path: str = ""
    size: int | None = None
    sha256: str | None = None
    wanted_sha256: str | None = None
    error: str | None = None
