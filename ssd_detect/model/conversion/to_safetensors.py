"""`.safetensors`: tensors under the reference's names, metadata in the header."""

from pathlib import Path

import safetensors
from safetensors.numpy import save

from ssd_detect.model.conversion.outgoing import Outgoing, ReadBack


def write_safetensors(path: Path, outgoing: Outgoing) -> None:
    """Write one file.

    Raises:
        OSError: the system refuses.
    """
    tensors = {outgoing.full_name(name): values for name, values in outgoing.tensors.items()}
    path.write_bytes(save(tensors, dict(outgoing.metadata)))  # their own writer cannot take every path


def read_safetensors(path: Path, outgoing: Outgoing) -> ReadBack:
    """The file as the safetensors library reads it, run as `ssd-detect` runs any checkpoint."""
    from ssd_detect.model.conversion.weights_runtime import run_loaded  # TensorFlow, which writing does without

    content = path.read_bytes()
    named = safetensors.numpy.load(content)
    below = {outgoing.full_name(name): name for name in outgoing.tensors}
    with safetensors.safe_open(path, framework="numpy") as file:
        metadata = file.metadata() or {}
    return ReadBack(
        "ssd-detect", {below.get(n, n): v for n, v in named.items()}, metadata, run_loaded(path, outgoing.spec)
    )
