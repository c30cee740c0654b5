"""What pipelines know of a detector: pictures in, detections out; in two steps where it offers them."""

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol, TypeAlias, runtime_checkable

from ssd_detect.arrays import Pixels
from ssd_detect.detections import Detections

Detect: TypeAlias = Callable[[list[Pixels]], list[Detections]]
"""A `Detector`, or anything else that takes pictures and returns their detections."""


class TwoSteps(NamedTuple):
    """Detection of which a part can be done ahead.

    Args:
        prepare: of one picture, what `detect` takes; from another thread, while `detect` is busy with others.
        detect: what was prepared, at least one, to its detections.
    """

    prepare: Callable[[Pixels], Any]
    detect: Callable[[list[Any]], list[Detections]]


@runtime_checkable
class _Preparing(Protocol):
    """What a `Detector` offers."""

    def prepare(self, picture: Pixels, /) -> Any: ...
    def detect_prepared(self, pictures: list[Any], /) -> list[Detections]: ...


def in_two_steps(detect: Detect | _Preparing) -> TwoSteps:
    """The steps of a `Detector`; anything else gets the pictures as they are."""
    if isinstance(detect, _Preparing):
        return TwoSteps(detect.prepare, detect.detect_prepared)
    return TwoSteps(lambda picture: picture, detect)
