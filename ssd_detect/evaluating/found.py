"""What the sources of detections have in common: the network, kept outputs, and saved predictions."""

from collections.abc import Iterable
from dataclasses import dataclass

from ssd_detect.detections import Detections
from ssd_detect.formats.provenance import Provenance


@dataclass(frozen=True, eq=False)
class Found:
    """Detections of pictures.

    Args:
        class_names: of the classes that could be found, background first.
        pictures: name of each picture, and what was found in it; read once. Their class ids count in `class_names`.
        provenance: of the detections; None where nothing tells.
        failures: names of pictures that were to be looked at and cannot be read.
        saved_threshold: of saved detections: the highest score threshold that they were saved with; None where nothing
            tells.
        unknown_classes: that saved detections name, and neither a list of classes nor the data set does.
    """

    class_names: tuple[str, ...]
    pictures: Iterable[tuple[str, Detections]]
    provenance: Provenance | None
    failures: tuple[str, ...] = ()
    saved_threshold: float | None = None
    unknown_classes: tuple[str, ...] = ()
