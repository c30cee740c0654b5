"""Names for the array types that travel between modules."""

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Pixels: TypeAlias = NDArray[np.uint8]
"""RGB picture, (H, W, 3), 0-255."""

Floats: TypeAlias = NDArray[np.float32]
"""Boxes (n, 4), scores, offsets."""

Doubles: TypeAlias = NDArray[np.float64]
"""What is computed as the reference evaluators do: boxes of data sets, areas, precision."""

Integers: TypeAlias = NDArray[np.int64]
"""Class ids, anchor numbers."""

Flags: TypeAlias = NDArray[np.bool_]
