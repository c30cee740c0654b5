"""The program's own engines, in a worker."""

from typing import TYPE_CHECKING, Any

import numpy as np

from bench.network_calls import Calls, network_calls
from ssd_detect.conventions import Arithmetic, EngineName
from ssd_detect.environment import keep_freed_memory
from ssd_detect.model.checkpoint import load_checkpoint
from ssd_detect.model.manifest import DEFAULT_CHECKPOINT
from ssd_detect.settings import CheckpointSettings, SessionSettings

if TYPE_CHECKING:  # it imports TensorFlow
    from ssd_detect.detector import Detector


def open_detector(engine: str, **more: Any) -> "Detector":
    """With the engine of this name, which a precision may follow: "openvino bf16"; `more` as for `Detector`."""
    name, _, precision = engine.partition(" ")
    from ssd_detect.detector import Detector

    keep_freed_memory()  # as the command line does
    return Detector(
        session=SessionSettings(engine=EngineName(name), precision=Arithmetic(precision or "float32")),
        **more,
    )


def engine_calls(engine: str, pictures: str) -> Calls:
    """The network of a `Detector`, and which engine that is."""
    detector = open_detector(engine)
    network: Any = detector._network
    return network_calls(network.run, pictures) | {"engine": lambda: engine_of(detector)}


def engine_of(detector: Any) -> str:
    """The name of the engine that computes; never `auto`."""
    return str(detector.runs_on.engine.value)


def checkpoint_calls() -> Calls:
    """The weights for those who build the network themselves."""
    checkpoint = load_checkpoint(CheckpointSettings(DEFAULT_CHECKPOINT))

    def save(path: str) -> dict[str, Any]:
        np.savez(path, **dict(checkpoint.variables))  # type: ignore[arg-type]
        return {"size": checkpoint.spec.size, "mean_rgb": list(checkpoint.spec.mean_rgb)}

    return {"save": save}
