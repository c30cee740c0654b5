"""Small operations on every device that TensorFlow lists, their results compared with known ones.

To be listed proves nothing: a GPU whose code is missing is listed, and fails at its first multiplication. Runs in the
child process only, since it needs TensorFlow.
"""

import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import tensorflow as tf

from ssd_detect.doctor.facts import DeviceTrial, Failure, Operation
from ssd_detect.doctor.failures import failure_of

_SIDE = 32
_CHANNELS = 8


@dataclass(frozen=True)
class KnownOperation:
    """An operation and its result.

    Args:
        name: as in `Operation`.
        run: calls TensorFlow.
        expected: what it must give, to the last bit: all numbers are small and whole, so that neither the order of
            additions nor the shorter mantissa of TF32 changes the result.
        stays: whether a result on another device is a failure.
    """

    name: str
    run: Callable[[], Any]
    expected: Any
    stays: bool = True


def try_devices() -> tuple[DeviceTrial, ...]:
    """Every operation on every device, in the order in which TensorFlow lists them."""
    _share_memory()
    operations = known_operations()
    names = [device.name.removeprefix("/physical_device:") for device in tf.config.list_physical_devices()]
    return tuple(DeviceTrial(name, tuple(try_operation(operation, name) for operation in operations)) for name in names)


def _share_memory() -> None:
    """Take memory of the GPUs as it is needed, as detection does; else all of it is taken at once."""
    for gpu in tf.config.list_physical_devices("GPU"):
        tf.config.experimental.set_memory_growth(gpu, True)


def known_operations() -> tuple[KnownOperation, ...]:
    """The elementwise product that GPUs without code fail at, cuBLAS's work, cuDNN's work, and SSD's last step."""
    rows = np.arange(_SIDE * _SIDE, dtype=np.float32).reshape(_SIDE, _SIDE) % 7
    columns = rows.T % 5
    picture = np.broadcast_to(rows[np.newaxis, :, :, np.newaxis], (1, _SIDE, _SIDE, _CHANNELS))
    kernel = np.ones((3, 3, _CHANNELS, _CHANNELS), np.float32)
    boxes = np.array([[0, 0, 1, 1], [0, 0, 1, 0.9], [0, 2, 1, 3]], np.float32)
    scores = np.array([0.5, 0.9, 0.7], np.float32)
    return (
        KnownOperation("multiply", lambda: tf.multiply(rows, columns), rows * columns),
        KnownOperation("matmul", lambda: tf.matmul(rows, columns), rows @ columns),
        KnownOperation("convolution", lambda: tf.nn.conv2d(picture, kernel, 1, "VALID"), _convolved(rows)),
        KnownOperation(
            "nms", lambda: tf.image.non_max_suppression(boxes, scores, 3, 0.5), np.array([1, 2]), stays=False
        ),
    )


def _convolved(rows: Any) -> Any:
    """What a kernel of ones makes of `_CHANNELS` equal channels: (1, _SIDE - 2, _SIDE - 2, _CHANNELS)."""
    sums = np.lib.stride_tricks.sliding_window_view(rows, (3, 3)).sum((2, 3)) * _CHANNELS
    return np.broadcast_to(sums[np.newaxis, :, :, np.newaxis], (1, *sums.shape, _CHANNELS))


def try_operation(operation: KnownOperation, device: str) -> Operation:
    """Run it twice on `device`, timed; an exception or a wrong result is a `Failure`."""
    try:
        first, result = _timed(operation, device)
        second, _ = _timed(operation, device)
    except Exception as error:  # of whatever kind: what fails, and how, is what is asked
        traceback.print_exc()
        return Operation(operation.name, failure_of(error))
    return Operation(operation.name, _wrong(operation, result, device), first, second)


def _timed(operation: KnownOperation, device: str) -> tuple[float, Any]:
    start = time.perf_counter()
    with tf.device(f"/{device}"):
        result = operation.run()
    result.numpy()  # waits for the GPU
    return time.perf_counter() - start, result


def _wrong(operation: KnownOperation, result: Any, device: str) -> Failure | None:
    if operation.stays and not result.device.endswith(device):
        return Failure("error", f"TensorFlow ran it on {result.device.rsplit('device:', 1)[-1]} instead")
    found = result.numpy()
    if found.shape != operation.expected.shape:
        return Failure("error", f"wrong result: shape {found.shape}, expected {operation.expected.shape}")
    wrong = int(np.count_nonzero(found != operation.expected))
    return Failure("error", f"wrong result: {wrong} of {found.size} numbers differ") if wrong else None
