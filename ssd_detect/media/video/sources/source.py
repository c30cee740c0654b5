"""What sources have in common: the context manager, and frames of one size."""

from collections.abc import Iterable
from types import TracebackType
from typing import TypeVar

import cv2
import numpy as np

from ssd_detect.arrays import Pixels

_Self = TypeVar("_Self", bound="ClosedAtEnd")


class ClosedAtEnd:
    """A context manager that closes itself; what it holds, its `close` frees."""

    def close(self) -> None:
        """Free what it holds; a second call does nothing."""

    def __enter__(self: _Self) -> _Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def fitted(pixels: Pixels, width: int, height: int) -> Pixels:
    """The picture (H, W, 3) as (height, width, 3), scaled if it has another size."""
    if pixels.shape[:2] == (height, width):
        return pixels
    grows = width > pixels.shape[1] or height > pixels.shape[0]
    method = cv2.INTER_LINEAR if grows else cv2.INTER_AREA  # the latter does not flicker where pictures shrink
    return np.asarray(cv2.resize(pixels, (width, height), interpolation=method), np.uint8)


def joined(clauses: Iterable[str | None]) -> str | None:
    """Clauses about what was missing as one text; None when there are none."""
    return "; ".join(clause for clause in clauses if clause) or None
