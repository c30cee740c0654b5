"""The proof that a written file is what was meant: its weights, its metadata, and what it puts out for pictures."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ssd_detect.arrays import Floats, Pixels
from ssd_detect.boxes.decode import decode_offsets
from ssd_detect.boxes.geometry import clip_xyxy
from ssd_detect.conventions import ResizeRule
from ssd_detect.differences import largest_difference
from ssd_detect.errors import OutputError
from ssd_detect.model.checkpoint import Checkpoint
from ssd_detect.model.conversion.outgoing import Outgoing, Outputs, ReadBack
from ssd_detect.model.conversion.settings import Precision
from ssd_detect.model.conversion.weights_runtime import open_session
from ssd_detect.model.resize import resized
from ssd_detect.model.spec import ModelSpec

# Heights and widths besides the network's own square: wide, tall, and smaller than the network's input.
_OTHER_SIZES_HW = ((375, 500), (480, 333), (97, 211))


class Limits(NamedTuple):
    """Largest differences from the source that a written file may show on the proof pictures.

    Args:
        scores: of any score, 0 to 1.
        offsets: of any offset.
        boxes: of any side of a box, clipped to the picture, as a share of the picture's side.
    """

    scores: float
    offsets: float
    boxes: float


# What fewer bits cost is limited at about twice what it costs random weights, which it hurts most. Measured on the
# proof pictures, scores and offsets: float16 0.005 and 0.016, int8 0.16 and 0.81 (random weights, SSD512); float16
# 0.001 and 0.017, int8 0.02 and 0.28 (trained weights, SSD300). Boxes are measured where kernels are float32.
LIMITS: Mapping[Precision, Limits] = {
    Precision.FLOAT32: Limits(1e-4, 1e-3, 1e-4),
    Precision.FLOAT16: Limits(0.01, 0.05, 0.02),
    Precision.INT8: Limits(0.35, 2.0, 0.5),
}


@dataclass(frozen=True)
class Proof:
    """What was measured; differences are the largest over all pictures.

    Args:
        runtime: who read and ran the written file.
        num_pictures: how many pictures went through both networks.
        scores, offsets, boxes: as in `Limits`; `boxes` is None where the format has none.
    """

    runtime: str
    num_pictures: int
    scores: float
    offsets: float
    boxes: float | None


def prove(source: Checkpoint, outgoing: Outgoing, precision: Precision, read: Callable[[], ReadBack]) -> Proof:
    """Read the written file, and compare it with what was written and with what the source puts out.

    Args:
        source: the checkpoint that is converted.
        outgoing: what was handed to the writer.
        precision: the limits are its.
        read: reads the file; whatever it raises is a failed proof.

    Raises:
        OutputError: the proof failed; says where.
    """
    try:
        read_back = read()
        _check_content(outgoing, read_back)
        pairs = list(_outputs(source, read_back))
    except OutputError:
        raise
    except Exception as error:  # every runtime has its own
        reason = next(iter(str(error).strip().splitlines()), type(error).__name__)
        raise OutputError(f"the written file cannot be read back ({reason}); nothing was kept") from error
    proof = _measured(read_back.runtime, pairs, outgoing.anchors())
    _check_limits(proof, LIMITS[precision])
    return proof


def _check_content(outgoing: Outgoing, read_back: ReadBack) -> None:
    """Weights must be those that were written, bit for bit."""
    for name, values in outgoing.tensors.items():
        found = read_back.tensors[name]
        if found.dtype != values.dtype or found.shape != values.shape or found.tobytes() != values.tobytes():
            raise OutputError(f"the written file holds another {name} than was meant; nothing was kept")
    if dict(read_back.metadata) != dict(outgoing.metadata):
        raise OutputError("the written file holds other metadata than was meant; nothing was kept")


def _outputs(source: Checkpoint, read_back: ReadBack) -> Iterator[tuple[Outputs, Outputs]]:
    """What the source and the written file put out for each proof picture."""
    session = open_session(source)
    for picture in proof_pictures(source.spec):
        inputs = resized(picture, source.spec.size, source.spec.resize)[np.newaxis]  # (1, size, size, 3)
        yield Outputs(*session.run(inputs), None), read_back.run(picture[np.newaxis], inputs)
    session.close()


def proof_pictures(spec: ModelSpec) -> tuple[Pixels, ...]:
    """Four pictures (H, W, 3) uint8 RGB, the same on every machine: waves of colour with sharp rectangles before them.

    All have the network's own size where TensorFlow does not have the resize rule.
    """
    square = (spec.size, spec.size)
    sizes = [square, *([square] * 3 if spec.resize is ResizeRule.OPENCV else _OTHER_SIZES_HW)]
    return tuple(_picture(np.random.default_rng(i), *size) for i, size in enumerate(sizes))


def _picture(random: np.random.Generator, height: int, width: int) -> Pixels:
    y, x = np.mgrid[0:height, 0:width]
    pace, phase = random.uniform(6, 30, (2, 3)), random.uniform(0, 6, (2, 3))
    waves = [np.sin(x / pace[0, c] + phase[0, c]) * np.cos(y / pace[1, c] + phase[1, c]) for c in range(3)]
    picture: Pixels = np.rint(127 + 100 * np.stack(waves, axis=-1)).astype(np.uint8)
    for _ in range(8):
        top, left = random.integers(0, height - 8), random.integers(0, width - 8)
        tall, wide = random.integers(8, height), random.integers(8, width)
        picture[top : top + tall // 2, left : left + wide // 2] = random.integers(0, 256, 3)
    return picture


def _measured(runtime: str, pairs: list[tuple[Outputs, Outputs]], anchors: Floats) -> Proof:
    scores = max(_difference(e.scores, f.scores) for e, f in pairs)
    offsets = max(_difference(e.offsets, f.offsets) for e, f in pairs)
    boxes = [
        _difference(clip_xyxy(decode_offsets(expected.offsets[0], anchors)), clip_xyxy(found.boxes_unit[0]))
        for expected, found in pairs
        if found.boxes_unit is not None
    ]
    return Proof(runtime, len(pairs), scores, offsets, max(boxes) if boxes else None)


def _difference(expected: Floats, found: Floats) -> float:
    if expected.shape != found.shape:
        raise OutputError(f"the written file puts out shape {found.shape}, expected {expected.shape}; nothing was kept")
    return largest_difference(expected, found)


def _check_limits(proof: Proof, limits: Limits) -> None:
    for name in ("scores", "offsets", "boxes"):
        value, limit = getattr(proof, name), getattr(limits, name)
        if value is not None and value > limit:
            raise OutputError(
                f"the written file puts out other {name} than the source (largest difference {value:.3g} in "
                f"{proof.runtime}, expected at most {limit:g}); nothing was kept"
            )
