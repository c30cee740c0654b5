"""OpenVINO on the CPU."""

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from ssd_detect.arrays import Floats
from ssd_detect.boxes.selection import Selected, select_scores
from ssd_detect.conventions import Arithmetic, EngineName
from ssd_detect.engines.packages import imported
from ssd_detect.engines.running import check_open, explained
from ssd_detect.errors import DeviceError
from ssd_detect.model.runs_on import RunsOn
from ssd_detect.settings import SessionSettings

_ENGINE = EngineName.OPENVINO
_HINTS = {Arithmetic.FLOAT32: "f32", Arithmetic.BF16: "bf16", Arithmetic.INT8: "f32"}  # the rest of an int8 network
_Result = TypeVar("_Result")


class OpenVinoNetwork:
    """One compiled network and one request, which one thread after the other uses: it takes all processors anyway.

    Args:
        model: an ONNX file as `model.conversion.to_onnx` writes it, or made of one.
        settings: threads, precision.
        cache: folder for the compiled network, so that the next start is quicker; None does without.

    Raises:
        MissingPackageError: openvino is not installed.
        DeviceError: this processor lacks the precision; the network cannot be loaded.
    """

    def __init__(self, model: Path, settings: SessionSettings, cache: Path | None = None) -> None:
        package = imported(_ENGINE)
        with explained(_ENGINE, "CPU", 0, "load"):
            core = package.Core()
            _check_precision(core, settings.precision)
            compiled = core.compile_model(str(model), "CPU", _properties(settings, cache))
            self._request: Any = compiled.create_infer_request()
        self._lock = threading.Lock()
        self._precision = settings.precision
        self._version: str = package.__version__.split("-")[0]

    @property
    def runs_on(self) -> RunsOn:
        """See `Network`."""
        return RunsOn(_ENGINE, self._version, "CPU", self._precision)

    def run(self, resized: Floats) -> tuple[Floats, Floats]:
        """See `Network`."""
        return self._inferred(resized, lambda scores, offsets: (scores.copy(), offsets.copy()))

    def run_selected(self, resized: Floats, limits: Floats) -> Selected:
        """See `Network`."""
        return self._inferred(resized, lambda scores, offsets: select_scores(scores, offsets, limits))

    def _inferred(self, resized: Floats, make: Callable[[Floats, Floats], _Result]) -> _Result:
        """What `make` makes of the outputs while they are there: the next call overwrites them."""
        with self._lock:
            check_open(self._request is not None)
            with explained(_ENGINE, "CPU", len(resized)):
                outputs = self._request.infer({"pictures": resized}, share_inputs=True, share_outputs=True)
            return make(outputs["scores"], outputs["offsets"])

    def close(self) -> None:
        """See `Network`."""
        with self._lock:
            self._request = None


def _properties(settings: SessionSettings, cache: Path | None) -> dict[str, Any]:
    properties: dict[str, Any] = {
        "PERFORMANCE_HINT": "LATENCY",
        "INFERENCE_PRECISION_HINT": _HINTS[settings.precision],  # it takes bf16 by itself where the processor has it
    }
    if settings.intra_op_threads is not None:
        properties["INFERENCE_NUM_THREADS"] = settings.intra_op_threads
    if cache is not None:
        properties["CACHE_DIR"] = str(cache)
    return properties


def _check_precision(core: Any, precision: Arithmetic) -> None:
    known = core.get_property("CPU", "OPTIMIZATION_CAPABILITIES")
    if precision is Arithmetic.BF16 and "BF16" not in known:
        raise DeviceError(
            "precision bf16 needs a processor with AVX-512 BF16 or AMX, which this one lacks; use --precision float32"
        )
