"""Facts that the child process proved: packages that import, devices that compute, encoders that encode."""

from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from ssd_detect.doctor.facts.record import Record

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
VIDEO_PACKAGES = (Package("PyAV", "av", "av>=17.1"),)
PACKAGES = (*DETECTION_PACKAGES, *VIDEO_PACKAGES)
"""Those whose import is tried besides TensorFlow's. The requirements are pyproject.toml's, again; a test compares."""


@dataclass(frozen=True)
class Failure(Record):
    """Why a question got no answer.

    Args:
        kind: `missing`: a module is not installed; `error`: an exception; `killed`: the process died of a signal;
            `exited`: it ended itself; `hung`: it was given up; `unasked`: no process could be started to ask.
        detail: name of the module; text of the exception; name of the signal; exit status; seconds waited; why not.
        file: of the module that an exception came from, where that is another one than was to be imported.
        is_users: whether that file was neither installed nor is Python's own.
    """

    kind: Literal["missing", "error", "killed", "exited", "hung", "unasked"]
    detail: str
    file: str | None = field(default=None, compare=False)
    is_users: bool = field(default=False, compare=False)


@dataclass(frozen=True)
class DeviceFacts(Record):
    """A device that TensorFlow sees: `CPU:0`, `GPU:0`; model and compute capability ("9.0") where it tells them."""

    name: str
    model: str | None = None
    compute_capability: str | None = None

    @property
    def is_gpu(self) -> bool:
        """Whether it is a GPU."""
        return self.name.startswith("GPU")


@dataclass(frozen=True)
class TensorFlowFacts(Record):
    """What TensorFlow tells about itself; None where this build does not say."""

    version: str
    is_cuda_build: bool
    cuda_version: str | None = None
    cudnn_version: str | None = None
    devices: tuple[DeviceFacts, ...] = ()

    @property
    def gpus(self) -> tuple[DeviceFacts, ...]:
        """The GPUs among the devices."""
        return tuple(device for device in self.devices if device.is_gpu)


@dataclass(frozen=True)
class Operation(Record):
    """An operation that was tried on a device.

    Args:
        name: `multiply`, `matmul`, `convolution` (which uses cuDNN) or `nms`.
        failure: why it did not end well; a wrong result is an `error` that says so.
        first_seconds: the first call, with the compilation of kernels.
        second_seconds: the same again.
    """

    name: str
    failure: Failure | None = None
    first_seconds: float | None = None
    second_seconds: float | None = None


@dataclass(frozen=True)
class DeviceTrial(Record):
    """The operations that were tried on one device, named as in `DeviceFacts`, in order."""

    name: str
    operations: tuple[Operation, ...] = ()

    @property
    def works(self) -> bool:
        """Whether every operation ended well, and there were some."""
        return bool(self.operations) and all(operation.failure is None for operation in self.operations)


@dataclass(frozen=True)
class TrialFacts(Record):
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
    class_name: str | None = None
    score: float = 0.0
    box: Box | None = None
    first_seconds: float = 0.0
    median_seconds: float = 0.0


@dataclass(frozen=True)
class Tried(Record):
    """An encoder or a font that was really used, by name; `failure` is why that did not work."""

    name: str
    failure: Failure | None = None
