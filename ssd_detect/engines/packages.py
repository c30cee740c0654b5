"""The packages that engines come in: which are there, and what to install."""

from collections.abc import Mapping
from importlib import metadata
from importlib.util import find_spec
from typing import Any, NamedTuple

from ssd_detect.conventions import EngineName
from ssd_detect.environment import import_untracked
from ssd_detect.errors import MissingPackageError


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
    for name in PACKAGES[engine].distributions:
        try:
            return metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return "?"


def imported(engine: EngineName) -> Any:
    """The engine's module.

    Raises:
        MissingPackageError: it is not installed, or cannot be imported.
    """
    package = PACKAGES[engine]
    try:
        return import_untracked(package.module)
    except ImportError as error:
        raise MissingPackageError(
            f"engine {engine.value} needs the package {package.module} ({error}): {install_line(engine)}"
        ) from error


def install_line(engine: EngineName) -> str:
    """What to type."""
    extra = PACKAGES[engine].extra
    return f'pip install "ssd-detect[{extra}]"' if extra else "pip install ssd-detect"
