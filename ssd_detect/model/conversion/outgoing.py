"""What is handed to a writer, and what its reader hands back."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from ssd_detect.arrays import Floats, Pixels
from ssd_detect.boxes.anchors import make_anchors
from ssd_detect.model.checkpoint import Checkpoint
from ssd_detect.model.conversion.quantise import Stored, stored_tensors
from ssd_detect.model.conversion.settings import Precision
from ssd_detect.model.facts import Origin
from ssd_detect.model.metadata import written_metadata
from ssd_detect.model.spec import ModelSpec, network

_QUANTISED = {
    Precision.FLOAT32: {},
    Precision.FLOAT16: {"quantised": "float16 kernels"},
    Precision.INT8: {"quantised": "int8, symmetric, per output channel: weight = int8 * scale"},
}


@dataclass(frozen=True)
class Outgoing:
    """A network on its way into a file.

    Args:
        spec: what it is.
        tensors: by names below the root scope, in the precision that is stored.
        metadata: what else the file tells, as plain strings.
        step: of the training; 0 where nobody knows.
    """

    spec: ModelSpec
    tensors: Stored
    metadata: Mapping[str, str]
    step: int = 0

    def full_name(self, name: str) -> str:
        """With the root scope, as in the file."""
        return f"{network(self.spec.size).scope}/{name}"

    def anchors(self) -> Floats:
        """The spec's, (N, 4) float32 cxcywh unit."""
        return make_anchors(self.spec.anchors, self.spec.anchor_rounding, self.spec.anchor_clip)


def outgoing_of(checkpoint: Checkpoint, precision: Precision = Precision.FLOAT32) -> Outgoing:
    """A checkpoint on its way into a file that holds kernels in `precision`, with all that is known of it.

    Raises:
        CheckpointError: its weights do not fit the precision.
    """
    source = {"source_name": checkpoint.name, "source_sha256": checkpoint.sha256}
    assumed = [fact for fact, origin in checkpoint.origins.items() if origin is Origin.ASSUMED]
    metadata = written_metadata(checkpoint.spec, {**source, **checkpoint.about, **_QUANTISED[precision]}, assumed)
    tensors = stored_tensors(checkpoint.variables, precision)
    return Outgoing(checkpoint.spec, tensors, metadata, step=checkpoint.step or 0)


class Outputs(NamedTuple):
    """What a network puts out for one picture, each with a first axis of length 1."""

    scores: Floats  # (1, N, C)
    offsets: Floats  # (1, N, 4)
    boxes_unit: Floats | None  # (1, N, 4) xyxy, not clipped; None where the format has no boxes


@dataclass(frozen=True)
class ReadBack:
    """A written file as its own runtime sees it.

    Args:
        runtime: who read and ran it, in words for a person.
        tensors: by names below the root scope, kernels HWIO.
        metadata: as read.
        run: outputs for a picture (1, H, W, 3) uint8 RGB, and the same resized for the network, (1, size, size, 3)
            float32, 0 to 255; a runtime takes the one or the other.
    """

    runtime: str
    tensors: Stored
    metadata: Mapping[str, str]
    run: Callable[[Pixels, Floats], Outputs]
