"""What is found out about a machine: one frozen record, gathered by `probes`, judged by `judge`."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

Box = tuple[float, float, float, float]


class Package(NamedTuple):
    """A package that this program stands on: what people call it, what Python and pip call it."""

    name: str
    module: str
    requirement: str


TENSORFLOW = Package("TensorFlow", "tensorflow", "tensorflow>=2.16")
DETECTION_PACKAGES = (
    Package("NumPy", "numpy", "numpy>=1.26"),
    Package("Pillow", "PIL", "pillow>=10.3"),
    Package("OpenCV", "cv2", "opencv-python-headless>=4.9"),
    Package("safetensors", "safetensors", "safetensors>=0.4.3"),
)
VIDEO_PACKAGES = (Package("PyAV", "av", "av>=14.0"),)
PACKAGES = (*DETECTION_PACKAGES, *VIDEO_PACKAGES)
"""Those whose import is tried besides TensorFlow's. The requirements are pyproject.toml's, again; a test compares."""


@dataclass(frozen=True)
class Failure:
    """Why a question got no answer.

    Args:
        kind: `missing`: a module is not installed; `error`: an exception; `killed`: the process died of a signal;
            `exited`: it ended itself; `hung`: it was given up.
        detail: name of the module; text of the exception; name of the signal; exit status; seconds waited.
    """

    kind: Literal["missing", "error", "killed", "exited", "hung"]
    detail: str


@dataclass(frozen=True)
class DeviceFacts:
    """A device that TensorFlow sees: `CPU:0`, `GPU:0`; model and compute capability ("9.0") where it tells them."""

    name: str
    model: str | None = None
    compute_capability: str | None = None

    @property
    def is_gpu(self) -> bool:
        """Whether it is a GPU."""
        return self.name.startswith("GPU")


@dataclass(frozen=True)
class TensorFlowFacts:
    """What TensorFlow tells about itself; None where this build does not say."""

    version: str
    is_cuda_build: bool
    cuda_version: str | None
    cudnn_version: str | None
    devices: tuple[DeviceFacts, ...]

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> "TensorFlowFacts":
        """The inverse of `dataclasses.asdict`, after a way through JSON."""
        return cls(**{**value, "devices": tuple(DeviceFacts(**device) for device in value["devices"])})

    @property
    def gpus(self) -> tuple[DeviceFacts, ...]:
        """The GPUs among the devices."""
        return tuple(device for device in self.devices if device.is_gpu)


@dataclass(frozen=True)
class TrialFacts:
    """What the shipped checkpoint found in the shipped picture.

    Args:
        device_name: where the network ran, in TensorFlow's words.
        class_name: the best detection's; None when nothing was detected.
        score: of that detection; 0 without one.
        box: of that detection, x0, y0, x1, y1 in pixels; None without one.
        first_seconds: the first call, which warms TensorFlow up.
        median_seconds: of the calls after it.
    """

    device_name: str
    class_name: str | None
    score: float
    box: Box | None
    first_seconds: float
    median_seconds: float

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> "TrialFacts":
        """The inverse of `dataclasses.asdict`, after a way through JSON."""
        return cls(**{**value, "box": value["box"] and tuple(value["box"])})


@dataclass(frozen=True)
class Facts:
    """Everything that is known about a machine before it is judged.

    Args:
        system: operating system, with its version.
        machine: processor architecture, such as `x86_64`.
        has_avx: whether the processor can do AVX; None where that is unknown.
        python_version: of the running interpreter.
        python_path: file of the running interpreter.
        own_version: ssd-detect's.
        device_asked: `auto`, `cpu` or `gpu:N`.
        packages: module name -> version, for `PACKAGES`.
        tensorflow: what it tells about itself.
        trial: detection on the device asked for; None when not tried, since TensorFlow does not start.
        cpu_trial: detection on the CPU; None unless `trial` failed and a GPU may be the reason.
        log: what native code and tracebacks said on standard error meanwhile.
    """

    system: str
    machine: str
    has_avx: bool | None
    python_version: str
    python_path: str
    own_version: str
    device_asked: str
    packages: Mapping[str, str | Failure]
    tensorflow: TensorFlowFacts | Failure
    trial: TrialFacts | Failure | None
    cpu_trial: TrialFacts | Failure | None = None
    log: str = ""
