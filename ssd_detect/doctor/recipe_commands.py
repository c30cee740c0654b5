"""What to type to install a TensorFlow with what it needs for a GPU, on each system."""

import re

from ssd_detect.doctor.rows import CondaPackages, System, TensorFlowRow
from ssd_detect.doctor.tables import conda_packages, distribution, is_older, known_range, mac_wheels, metal_for, release

_ENVIRONMENT = "ssd"
_CPU_PACKAGE = "tensorflow-cpu"


def linux_commands(row: TensorFlowRow, name: str, version: str) -> tuple[str, ...]:
    """By pip alone where the extra and-cuda exists, else with conda's CUDA."""
    if not row.and_cuda:
        return _conda_commands(row, version, "linux")
    plain = _plain_requirement(row, name, version)
    return (pip_command(re.sub(r"^[a-z-]+", r"\g<0>[and-cuda]", plain), *_caps(row)),)


def windows_commands(row: TensorFlowRow, name: str, version: str) -> tuple[str, ...]:
    """With conda's CUDA where TensorFlow can use a GPU, else the build for the CPU."""
    if row.windows_gpu:
        return _conda_commands(row, version, "windows")
    return (pip_command(_plain_requirement(row, name, version), *_caps(row)),)


def cpu_command(row: TensorFlowRow, name: str, version: str) -> str:
    """The line for the build without GPU code, where that was asked for by its name."""
    if name != _CPU_PACKAGE or distribution(name, version) is None:
        return ""
    return pip_command(f"{name}=={_release_to_install(row, version)}", *_caps(row))


def macos_advice(row: TensorFlowRow, version: str) -> str:
    """What there is instead of CUDA, clauses with semicolons between."""
    metal, machines = metal_for(version), [m for m in ("arm64", "x86_64") if _has_mac_wheels(m, version)]
    parts = ["NVIDIA's CUDA does not exist there", f"Python {row.python[0]} to {row.python[1]}"]
    if machines:
        line = pip_command(f"tensorflow=={_release_to_install(row, version)}", *_caps(row))
        parts.append(f"for the CPU ({' or '.join(machines)}): {line}")
    if metal:
        package = "tensorflow" if "arm64" in machines else "tensorflow-macos"
        series = ".".join(version.split(".")[:2])
        line = pip_command(f"{package}=={series}.*", f"tensorflow-metal=={metal.metal}.*", *_caps(row))
        parts.append(f"for the GPU of an Apple chip: {line}")
    return "; ".join(parts)


def _has_mac_wheels(machine: str, version: str) -> bool:
    wheels = mac_wheels(machine)
    if wheels is None or is_older(version, wheels.first):
        return False
    return not wheels.last or not is_older(wheels.last, version)


def pip_command(*requirements: str) -> str:
    """Quoted with double quotes, which all shells take, wherever a shell could make something of the text."""
    words = (word if re.fullmatch(r"[\w.=-]+", word) else f'"{word}"' for word in requirements)
    return " ".join(("python -m pip install", *words))


def _plain_requirement(row: TensorFlowRow, name: str, version: str) -> str:
    is_nightly = name == "tf-nightly" and not is_older(version, known_range()[1])
    return "tf-nightly" if is_nightly else f"tensorflow=={_release_to_install(row, version)}"


def _release_to_install(row: TensorFlowRow, version: str) -> str:
    """The very release that was asked for, unless only its series was, or its extra is broken."""
    return row.install if len(release(version)) < 3 or row.extra_broken else version


def _conda_commands(row: TensorFlowRow, version: str, system: System) -> tuple[str, ...]:
    """An environment of its own: what is this old gets along with nothing else."""
    packages = conda_packages(version)
    if packages is None:
        return ()
    python = (row.python if system == "linux" else row.python_windows)[1]
    channel = f"-c {packages.channel} " if packages.channel else ""
    cudnn = f" cudnn={packages.cudnn}" if packages.cudnn else ""
    commands = (
        f"conda create -n {_ENVIRONMENT} python={python}",
        f"conda activate {_ENVIRONMENT}",
        f"conda install {channel}cudatoolkit={packages.cudatoolkit}{cudnn}",
        pip_command(*_pip_requirements(row, version, packages)),
    )
    return (*commands, _library_path(packages)) if system == "linux" else commands


def _pip_requirements(row: TensorFlowRow, version: str, packages: CondaPackages) -> list[str]:
    tensorflow = f"{row.gpu_package}=={_release_to_install(row, version)}"
    return [tensorflow, *_caps(row), *([packages.pip] if packages.pip else [])]


def _caps(row: TensorFlowRow) -> list[str]:
    """What keeps pip from a NumPy and a protobuf that break this TensorFlow, where its metadata does not."""
    return [f"numpy{row.numpy}", f"protobuf{row.protobuf}"] if row.caps_missing else []


def _library_path(packages: CondaPackages) -> str:
    """A TensorFlow from pip does not look into conda's folder, nor before 2.14 into those of pip."""
    of_pip = ':$(python -c "import nvidia.cudnn as c; print(c.__path__[0])")/lib' if packages.pip else ""
    return f"export LD_LIBRARY_PATH=$CONDA_PREFIX/lib{of_pip}:$LD_LIBRARY_PATH"
