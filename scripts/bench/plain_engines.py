"""The other ways to run the same network, as somebody would write them who has read the first page of each manual.

Of the program nothing but the import that is not reported to a maker, and that where it is used: PyTorch may be that
of an interpreter without our packages.
"""

from importlib import import_module
from typing import Any

import numpy as np

from bench.network_calls import Calls, network_calls


def onnxruntime(model: str, pictures: str) -> Calls:
    """Of the package onnxruntime."""
    from ssd_detect.environment import import_untracked

    module = import_untracked("onnxruntime")
    session = module.InferenceSession(model, providers=["CPUExecutionProvider"])
    return network_calls(lambda inputs: session.run(["scores", "offsets"], {"pictures": inputs}), pictures)


def opencv(model: str, pictures: str) -> Calls:
    """OpenCV's dnn module."""
    module: Any = import_module("cv2")
    network = module.dnn.readNetFromONNX(model)
    names = network.getUnconnectedOutLayersNames()

    def run(inputs: Any) -> tuple[Any, Any]:
        network.setInput(inputs)
        found = dict(zip(names, network.forward(names), strict=True))
        return found["scores"], found["offsets"]

    return network_calls(run, pictures)


def openvino(model: str, pictures: str, precision: str | None) -> Calls:
    """Of the package openvino. Without a precision it computes in bf16 wherever the processor can."""
    from ssd_detect.environment import import_untracked

    module = import_untracked("openvino")
    chosen = {} if precision is None else {"INFERENCE_PRECISION_HINT": precision}
    compiled = module.Core().compile_model(model, "CPU", chosen)

    def run(inputs: Any) -> tuple[Any, Any]:
        found = compiled(inputs)
        return found["scores"], found["offsets"]

    used = str(compiled.get_property("INFERENCE_PRECISION_HINT"))
    return network_calls(run, pictures) | {"precision": lambda: used}


def pytorch(weights: str, pictures: str, size: int, mean_rgb: list[float]) -> Calls:
    """PyTorch, eager, channels last."""
    from bench.plain_torch import TorchSsd

    torch: Any = import_module("torch")
    with np.load(weights) as arrays:
        network = TorchSsd(dict(arrays), size, mean_rgb)

    def run(inputs: Any) -> tuple[Any, Any]:
        with torch.inference_mode():
            scores, offsets = network(torch.from_numpy(inputs))
        return scores.numpy(), offsets.numpy()

    return network_calls(run, pictures)
