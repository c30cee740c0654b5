"""onnxruntime, on the CPU or through CUDA."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from ssd_detect.arrays import Floats
from ssd_detect.boxes.selection import Selected, select_scores
from ssd_detect.conventions import Arithmetic, EngineName
from ssd_detect.engines.packages import imported
from ssd_detect.engines.running import check_open, explained
from ssd_detect.engines.support import check_supported
from ssd_detect.errors import DeviceError
from ssd_detect.model.runs_on import RunsOn
from ssd_detect.settings import Device, SessionSettings

_ENGINE = EngineName.ONNXRUNTIME
_CUDA, _CPU = "CUDAExecutionProvider", "CPUExecutionProvider"
_OUTPUTS = ["scores", "offsets"]
_ERRORS_ONLY = 3  # else it warns of GPUs that it cannot look for


class OnnxRuntimeNetwork:
    """One session, which onnxruntime lets any number of threads use at once.

    Args:
        model: an ONNX file as `model.conversion.to_onnx` writes it, or made of one.
        settings: device, threads, precision.
        is_optimised: `model` is what `write_optimised` wrote on this very processor.

    Raises:
        MissingPackageError: onnxruntime is not installed.
        DeviceError: the GPU asked for is not there; the network cannot be loaded.
        SettingError: the precision is one of GPUs, and there is none.
    """

    def __init__(self, model: Path, settings: SessionSettings, *, is_optimised: bool = False) -> None:
        package = imported(_ENGINE)
        provider = _provider(package, settings)
        with explained(_ENGINE, _device_name(provider, settings), 0, "load"):
            self._session: Any = _session(package, model, settings, provider, is_optimised=is_optimised)
        used = self._session.get_providers()[0]
        if used != provider and settings.device.kind == "gpu":
            self.close()
            raise DeviceError(
                f"device {settings.device} does not start in onnxruntime; use --device cpu, or --engine tensorflow"
            )
        self._device = _device_name(used, settings)
        self._precision = settings.precision
        self._version: str = package.__version__

    @property
    def runs_on(self) -> RunsOn:
        """See `Network`."""
        return RunsOn(_ENGINE, self._version, self._device, self._precision)

    def run(self, resized: Floats) -> tuple[Floats, Floats]:
        """See `Network`."""
        session = self._session
        check_open(session is not None)
        with explained(_ENGINE, self._device, len(resized)):
            scores, offsets = session.run(_OUTPUTS, {"pictures": resized})
        return scores, offsets

    def run_selected(self, resized: Floats, limits: Floats) -> Selected:
        """See `Network`."""
        return select_scores(*self.run(resized), limits)

    def close(self) -> None:
        """See `Network`."""
        self._session = None


def _provider(package: Any, settings: SessionSettings) -> str:
    """CUDA where it is asked for, or to be had and of use."""
    device, has_cuda = settings.device, _CUDA in package.get_available_providers()
    if not has_cuda and device.kind == "auto":
        check_supported(replace(settings, device=Device("cpu")))  # which is what it turns out to be
    if not has_cuda and device.kind == "gpu":
        raise DeviceError(
            f"device {device} is not there for onnxruntime {package.__version__}, which was built without CUDA; "
            "install onnxruntime-gpu in its place, or use --engine tensorflow"
        )
    if device.kind == "cpu" or settings.precision is Arithmetic.INT8 or not has_cuda:
        return _CPU
    return _CUDA


def uses_cpu(settings: SessionSettings) -> bool:
    """Whether the network would run on the CPU.

    Raises:
        MissingPackageError, DeviceError, SettingError: as `OnnxRuntimeNetwork`.
    """
    return _provider(imported(_ENGINE), settings) == _CPU


def write_optimised(model: Path, target: Path) -> None:
    """Write the network as onnxruntime rewrites it for the CPU of this machine, which takes half of a session's start.

    Raises:
        MissingPackageError, DeviceError: as `OnnxRuntimeNetwork`.
    """
    package = imported(_ENGINE)
    options = _options(package)
    options.optimized_model_filepath = str(target)
    with explained(_ENGINE, "CPU", 0, "load"):
        package.InferenceSession(str(model), options, providers=[_CPU])


def _options(package: Any) -> Any:
    options = package.SessionOptions()
    options.log_severity_level = _ERRORS_ONLY
    return options


def _session(package: Any, model: Path, settings: SessionSettings, provider: str, *, is_optimised: bool) -> Any:
    options = _options(package)
    if settings.intra_op_threads is not None:
        options.intra_op_num_threads = settings.intra_op_threads
    if is_optimised:
        options.graph_optimization_level = package.GraphOptimizationLevel.ORT_DISABLE_ALL
    return package.InferenceSession(str(model), options, providers=_providers(provider, settings))


def _providers(provider: str, settings: SessionSettings) -> list[Any]:
    if provider == _CPU:
        return [_CPU]
    use_tf32 = "1" if settings.precision is Arithmetic.TF32 else "0"
    return [(_CUDA, {"device_id": str(settings.device.index), "use_tf32": use_tf32}), _CPU]


def _device_name(provider: str, settings: SessionSettings) -> str:
    return "CPU" if provider == _CPU else f"GPU:{settings.device.index}"
