"""What can be asked of any engine in a worker; needs NumPy alone."""

from collections.abc import Callable
from typing import Any

import numpy as np

Run = Callable[[Any], tuple[Any, Any]]
"""(B, size, size, 3) float32 to scores (B, N, C) and offsets (B, N, 4)."""
Calls = dict[str, Callable[..., Any]]


def network_calls(run: Run, pictures: str) -> Calls:
    """`run` computes the pictures, `save` writes what comes out.

    Args:
        run: the network.
        pictures: an `.npy` file, (B, size, size, 3) float32, 0 to 255.
    """
    inputs = np.load(pictures)

    def once() -> None:
        run(inputs)

    def save(path: str) -> None:
        scores, offsets = run(inputs)
        np.savez(path, scores=scores, offsets=offsets)

    return {"run": once, "save": save}
