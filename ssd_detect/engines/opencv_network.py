"""OpenCV's dnn on the CPU."""

import threading
from pathlib import Path
from typing import Any

from ssd_detect.arrays import Floats
from ssd_detect.boxes.selection import Selected, select_scores
from ssd_detect.conventions import Arithmetic, EngineName
from ssd_detect.engines.packages import imported
from ssd_detect.engines.running import check_open, explained
from ssd_detect.model.runs_on import RunsOn
from ssd_detect.settings import SessionSettings

_ENGINE = EngineName.OPENCV


class OpenCvNetwork:
    """One network, which one thread after the other uses: it keeps its input.

    Args:
        model: an ONNX file as `model.conversion.to_onnx` writes it.
        settings: threads.

    Raises:
        DeviceError: this OpenCV cannot read the network; old ones lack some of its operators.
    """

    def __init__(self, model: Path, settings: SessionSettings) -> None:
        self._package = imported(_ENGINE)
        self._threads = settings.intra_op_threads
        self._version: str = self._package.__version__
        with explained(_ENGINE, "CPU", 0, f"read (OpenCV {self._version})"):
            self._net: Any = self._package.dnn.readNetFromONNX(str(model))
            self._names: list[str] = list(self._net.getUnconnectedOutLayersNames())  # OpenCV 5 wants all or one
        self._lock = threading.Lock()

    @property
    def runs_on(self) -> RunsOn:
        """See `Network`."""
        return RunsOn(_ENGINE, self._version, "CPU", Arithmetic.FLOAT32)

    def run(self, resized: Floats) -> tuple[Floats, Floats]:
        """See `Network`."""
        with self._lock:
            check_open(self._net is not None)
            with explained(_ENGINE, "CPU", len(resized)):
                return self._forward(resized)

    def _forward(self, resized: Floats) -> tuple[Floats, Floats]:
        before = self._package.getNumThreads()
        if self._threads is not None:
            self._package.setNumThreads(self._threads)  # of the process; others resize pictures with theirs
        try:
            self._net.setInput(resized)
            outputs = self._net.forward(self._names)
        finally:
            if self._threads is not None:
                self._package.setNumThreads(before)
        found = dict(zip(self._names, outputs, strict=True))
        return found["scores"], found["offsets"]

    def run_selected(self, resized: Floats, limits: Floats) -> Selected:
        """See `Network`."""
        return select_scores(*self.run(resized), limits)

    def close(self) -> None:
        """See `Network`."""
        with self._lock:
            self._net = None
