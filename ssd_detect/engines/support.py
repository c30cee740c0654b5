"""What each engine computes with, and where. Neither NumPy nor an engine is imported: usage errors come from here."""

from collections.abc import Mapping

from ssd_detect.conventions import Arithmetic, EngineName
from ssd_detect.errors import SettingError
from ssd_detect.settings import SessionSettings

PRECISIONS: Mapping[EngineName, tuple[Arithmetic, ...]] = {
    EngineName.TENSORFLOW: (Arithmetic.FLOAT32, Arithmetic.TF32, Arithmetic.BF16, Arithmetic.FP16),
    EngineName.ONNXRUNTIME: (Arithmetic.FLOAT32, Arithmetic.TF32, Arithmetic.INT8),
    EngineName.OPENVINO: (Arithmetic.FLOAT32, Arithmetic.BF16, Arithmetic.INT8),
    EngineName.OPENCV: (Arithmetic.FLOAT32,),
}
"""Whether the device can do it, too, is known when the network is loaded."""

_CPU_ONLY = frozenset({EngineName.OPENVINO, EngineName.OPENCV})
_GPU_ONLY = frozenset({Arithmetic.TF32})
_CPU_ONLY_IN_ONNXRUNTIME = frozenset({Arithmetic.INT8})  # what we quantise, its CUDA kernels would compute in float32


def check_supported(settings: SessionSettings) -> None:
    """Refuse what no network can be opened for.

    Raises:
        SettingError: engine, precision and device do not go together; says what does.
    """
    precision = settings.precision
    if settings.calibration is not None and precision is not Arithmetic.INT8:
        raise SettingError(
            f"calibration pictures are for precision int8, and {precision.value} needs none; leave it out"
        )
    if settings.engine is EngineName.AUTO:
        if not candidates(settings):
            raise SettingError(
                f"no engine computes with {precision.value} on device {settings.device}; {_with(precision)}"
            )
        return
    reason = _refusal(settings.engine, settings)
    if reason is not None:
        raise SettingError(f"{reason}; {_with(precision)}")


def candidates(settings: SessionSettings) -> tuple[EngineName, ...]:
    """The engines that can do what `settings` ask for, TensorFlow first; not all of them need be installed."""
    return tuple(engine for engine in PRECISIONS if _refusal(engine, settings) is None)


def _refusal(engine: EngineName, settings: SessionSettings) -> str | None:
    """Why an engine cannot do it; None if it may be able to."""
    precision, on_gpu = settings.precision, settings.device.kind == "gpu"
    if precision not in PRECISIONS[engine]:
        known = ", ".join(one.value for one in PRECISIONS[engine])
        return f"engine {engine.value} does not compute with {precision.value}, expected one of {known}"
    if on_gpu and engine in _CPU_ONLY:
        return f"engine {engine.value} runs on the CPU only, device is {settings.device}"
    if on_gpu and engine is EngineName.ONNXRUNTIME and precision in _CPU_ONLY_IN_ONNXRUNTIME:
        return f"engine {engine.value} computes with {precision.value} on the CPU only, device is {settings.device}"
    if settings.device.kind == "cpu" and precision in _GPU_ONLY:
        return f"{precision.value} is a way of NVIDIA GPUs, device is {settings.device}"
    return None


def _with(precision: Arithmetic) -> str:
    """What to do, in words."""
    able = [engine for engine, known in PRECISIONS.items() if precision in known]
    where = {True: "any device", False: "--device auto or cpu"}
    told = ", ".join(f"{engine.value} ({where[engine not in _CPU_ONLY]})" for engine in able)
    return f"{precision.value} is computed by {told}"
