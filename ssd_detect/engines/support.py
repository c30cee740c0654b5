"""What each engine computes with, and where. Neither NumPy nor an engine is imported: usage errors come from here."""

from collections.abc import Mapping

from ssd_detect.conventions import Arithmetic, EngineName
from ssd_detect.errors import SettingError
from ssd_detect.settings import Device, SessionSettings

_CPU, _GPU = "cpu", "gpu"
_BOTH = frozenset({_CPU, _GPU})

PRECISIONS: Mapping[EngineName, Mapping[Arithmetic, frozenset[str]]] = {
    EngineName.TENSORFLOW: {
        Arithmetic.FLOAT32: _BOTH,
        Arithmetic.TF32: frozenset({_GPU}),
        Arithmetic.BF16: _BOTH,
        Arithmetic.FP16: frozenset({_GPU}),  # which has no quick kernels on the CPU
    },
    EngineName.ONNXRUNTIME: {
        Arithmetic.FLOAT32: _BOTH,
        Arithmetic.TF32: frozenset({_GPU}),
        Arithmetic.INT8: frozenset({_CPU}),  # what we quantise, its CUDA kernels would compute in float32
    },
    EngineName.OPENVINO: dict.fromkeys((Arithmetic.FLOAT32, Arithmetic.BF16, Arithmetic.INT8), frozenset({_CPU})),
    EngineName.OPENCV: {Arithmetic.FLOAT32: frozenset({_CPU})},
}
"""Kinds of devices. Whether the very device can do it, too, is known when the network is loaded."""

_ON: Mapping[frozenset[str], str] = {
    frozenset({_CPU}): "on the CPU only",
    frozenset({_GPU}): "on GPUs only",
    _BOTH: "on the CPU and on GPUs",
}


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
                f"no engine computes with {precision.value} on {_told(settings.device)}; {_who(precision)}"
            )
        return
    reason = _refusal(settings.engine, settings)
    if reason is not None:
        raise SettingError(f"{reason}; {_who(precision)}")


def candidates(settings: SessionSettings) -> tuple[EngineName, ...]:
    """The engines that can do what `settings` ask for, TensorFlow first; not all of them need be installed."""
    return tuple(engine for engine in PRECISIONS if _refusal(engine, settings) is None)


def _refusal(engine: EngineName, settings: SessionSettings) -> str | None:
    """Why an engine cannot do it; None if it may be able to."""
    precision, device = settings.precision, settings.device
    known = PRECISIONS[engine]
    if precision not in known:
        names = ", ".join(one.value for one in known)
        return f"engine {engine.value} does not compute with {precision.value}, expected one of {names}"
    if device.kind == "auto" or device.kind in known[precision]:
        return None
    everywhere = frozenset[str]().union(*known.values())
    if device.kind not in everywhere:
        return f"engine {engine.value} runs {_ON[everywhere]}, not on {_told(device)}"
    return f"engine {engine.value} computes with {precision.value} {_ON[known[precision]]}, not on {_told(device)}"


def _told(device: Device) -> str:
    return {"cpu": "the CPU", "gpu": f"device {device}", "auto": "any device"}[device.kind]


def _who(precision: Arithmetic) -> str:
    """What can do it, in words."""
    able = {engine: known[precision] for engine, known in PRECISIONS.items() if precision in known}
    told = ", ".join(f"{engine.value} ({_ON[where]})" for engine, where in able.items())
    return f"{precision.value} is computed by {told}"
