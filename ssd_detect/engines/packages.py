"""The packages that engines come in: which are there, and what to install."""

from collections.abc import Mapping
from importlib.util import find_spec
from typing import Any, NamedTuple

from ssd_detect.conventions import EngineName
from ssd_detect.environment import import_untracked
from ssd_detect.optional_packages import ONNXRUNTIME_DISTRIBUTIONS, explained_import, installed_of, version_of


class Package(NamedTuple):
    """Where an engine comes from.

    Args:
        module: as it is imported.
        distributions: names under which it may be installed.
        extra: of ours that brings it, with what converts networks for it; empty where we cannot do without it.
        parts: attributes that the module must have: of a removed package, folders may be left that import as one.
    """

    module: str
    distributions: tuple[str, ...]
    extra: str
    parts: tuple[str, ...] = ("__version__",)


PACKAGES: Mapping[EngineName, Package] = {
    EngineName.TENSORFLOW: Package("tensorflow", ("tensorflow", "tensorflow-cpu", "tf-nightly"), ""),
    EngineName.ONNXRUNTIME: Package(
        "onnxruntime", ONNXRUNTIME_DISTRIBUTIONS, "onnx", ("InferenceSession", "__version__")
    ),
    EngineName.OPENVINO: Package("openvino", ("openvino", "openvino-nightly"), "openvino", ("Core", "__version__")),
    EngineName.OPENCV: Package(
        "cv2",
        (
            "opencv-python-headless",
            "opencv-python",
            "opencv-contrib-python-headless",
            "opencv-contrib-python",
        ),
        "onnx",
        ("dnn", "__version__"),
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


def releases_of(engine: EngineName) -> str:
    """Every distribution that is installed for it, with its version, without an import; `?` where none tells.

    Of one version there may be several, such as with and without code for GPUs.
    """
    versions = ((name, version_of(name)) for name in PACKAGES[engine].distributions)
    return ",".join(f"{name}-{version}" for name, version in versions if version is not None) or "?"


def imported(engine: EngineName, needs: str | None = None) -> Any:
    """The engine's module.

    Args:
        engine: whose.
        needs: that and for what it is needed, in words; None: to compute.

    Raises:
        MissingPackageError: it is not installed.
        DeviceError: it is, and does not start.
    """
    package = PACKAGES[engine]
    needs = needs or f"engine {engine.value} needs the package {package.module}"
    with explained_import(package.module, _installed(engine), needs, install_line(engine)):
        module = import_untracked(package.module)
        for part in package.parts:
            getattr(module, part)
        return module


def _installed(engine: EngineName) -> str:
    return installed_of(PACKAGES[engine].distributions)


def install_line(engine: EngineName) -> str:
    """What to type; for `auto`, what any other engine than TensorFlow needs."""
    extra = "onnx" if engine is EngineName.AUTO else PACKAGES[engine].extra
    return f'pip install "ssd-detect[{extra}]"' if extra else "pip install ssd-detect"
