"""The packages that engines come in: which are there, and what to install."""

from collections.abc import Mapping
from importlib import metadata
from importlib.util import find_spec
from typing import Any, NamedTuple

from ssd_detect.conventions import EngineName
from ssd_detect.environment import import_untracked
from ssd_detect.errors import DeviceError, MissingPackageError, SsdDetectError


class Package(NamedTuple):
    """Where an engine comes from.

    Args:
        module: as it is imported.
        distributions: names under which it may be installed.
        extra: of ours that brings it, with what converts networks for it; empty where we cannot do without it.
    """

    module: str
    distributions: tuple[str, ...]
    extra: str


PACKAGES: Mapping[EngineName, Package] = {
    EngineName.TENSORFLOW: Package("tensorflow", ("tensorflow", "tensorflow-cpu", "tf-nightly"), ""),
    EngineName.ONNXRUNTIME: Package(
        "onnxruntime", ("onnxruntime", "onnxruntime-gpu", "onnxruntime-openvino", "onnxruntime-directml"), "onnx"
    ),
    EngineName.OPENVINO: Package("openvino", ("openvino", "openvino-nightly"), "openvino"),
    EngineName.OPENCV: Package(
        "cv2",
        (
            "opencv-python-headless",
            "opencv-python",
            "opencv-contrib-python-headless",
            "opencv-contrib-python",
        ),
        "onnx",
    ),
}
CONVERTER = "onnx"
"""The module that writes networks for every engine but TensorFlow."""


def is_installed(engine: EngineName) -> bool:
    """Whether it could be imported; nothing is."""
    return find_spec(PACKAGES[engine].module) is not None


def can_convert() -> bool:
    """Whether a network can be written for other engines."""
    return find_spec(CONVERTER) is not None


def version_of(engine: EngineName) -> str:
    """As its distribution tells it, without importing it; `?` where none does."""
    return _version(_installed(engine)) or "?"


def _version(distribution: str) -> str | None:
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return None


def imported(engine: EngineName) -> Any:
    """The engine's module.

    Raises:
        MissingPackageError: it is not installed.
        DeviceError: it is, and does not start.
    """
    package = PACKAGES[engine]
    try:
        return import_untracked(package.module)
    except Exception as error:  # a broken package raises what it likes
        what = f"engine {engine.value} needs the package {package.module}"
        raise missing_or_broken(error, package.module, _installed(engine), what, install_line(engine)) from error


def missing_or_broken(error: Exception, module: str, distribution: str, needs: str, install: str) -> SsdDetectError:
    """What to say of an import that failed: the package is not there, or it is and something in it fails.

    Args:
        error: of the import.
        module: that was to be imported.
        distribution: that brings it.
        needs: that and for what it is needed, in words.
        install: what to type where it is missing.
    """
    if isinstance(error, ModuleNotFoundError) and error.name == module:
        return MissingPackageError(f"{needs} ({error}): {install}")
    reason = (str(error).strip().splitlines() or [""])[0]
    if not isinstance(error, ImportError):
        reason = f"{type(error).__name__}: {reason}" if reason else type(error).__name__
    return DeviceError(
        f"{needs}, which is installed but does not start ({reason}): pip install --force-reinstall {distribution}"
    )


def _installed(engine: EngineName) -> str:
    """The distribution that is there; the usual one where none is known."""
    names = PACKAGES[engine].distributions
    return next((name for name in names if _version(name) is not None), names[0])


def install_line(engine: EngineName) -> str:
    """What to type; for `auto`, what any other engine than TensorFlow needs."""
    extra = "onnx" if engine is EngineName.AUTO else PACKAGES[engine].extra
    return f'pip install "ssd-detect[{extra}]"' if extra else "pip install ssd-detect"
