"""What TensorFlow computes for the golden pictures, by which other engines are proved: in a process of its own.

The golden pictures are those of a conversion's proof, of waves and rectangles, and the portrait that ships.
"""

import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ssd_detect.arrays import Floats
from ssd_detect.children import command, death, last_line
from ssd_detect.environment import for_quiet_child
from ssd_detect.errors import DeviceError, OutputError

_MOST_SECONDS = 600


class Reference(NamedTuple):
    """What went in and what came out, float32.

    Args:
        inputs: (P, size, size, 3), resized, 0 to 255.
        scores: (P, N, C).
        offsets: (P, N, 4).
        anchors: (N, 4) cxcywh unit.
    """

    inputs: Floats
    scores: Floats
    offsets: Floats
    anchors: Floats


def compute_reference(weights: Path, target: Path) -> None:
    """Let a child process write `target` for the checkpoint `weights`.

    Raises:
        DeviceError: it fails, or takes too long.
        OutputError: somebody has removed the folder of `target` meanwhile.
    """
    try:
        done = subprocess.run(
            command("ssd_detect.engines.reference", str(weights), str(target)),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            env=for_quiet_child(without_gpus=True),  # the numbers must not depend on one
            timeout=_MOST_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise DeviceError(
            f"TensorFlow has not computed the reference for other engines after {_MOST_SECONDS} s; "
            "use --engine tensorflow"
        ) from error
    if not target.parent.is_dir():
        raise OutputError(f"{target.parent}: was removed while a network was made ready there; start again")
    if done.returncode != 0 or not target.is_file():
        raise DeviceError(
            f"TensorFlow cannot compute the reference for other engines: it ended {death(done.returncode)} "
            f"({last_line(done.stderr) or 'nothing was said'}); type ssd-detect doctor to find out why"
        )


def read_reference(path: Path) -> Reference:
    """What the child has written."""
    with np.load(path, allow_pickle=False) as arrays:
        return Reference(*(arrays[name] for name in Reference._fields))


def main() -> None:
    """For the arguments weights, target: compute and write."""
    weights, target = map(Path, sys.argv[1:])
    computed = _computed(weights)
    with target.open("wb") as file:
        np.savez(file, **computed._asdict())


def _computed(weights: Path) -> Reference:
    from ssd_detect.boxes.anchors import make_anchors
    from ssd_detect.media.pictures import read_picture
    from ssd_detect.model.checkpoint import load_checkpoint
    from ssd_detect.model.conversion.proof import proof_pictures
    from ssd_detect.model.resize import resized
    from ssd_detect.model.session import NetworkSession
    from ssd_detect.settings import CheckpointSettings, Device, SessionSettings
    from ssd_detect.shipped import PORTRAIT

    checkpoint = load_checkpoint(CheckpointSettings(str(weights)))
    spec = checkpoint.spec
    pictures = (*proof_pictures(spec), read_picture(PORTRAIT))
    inputs = np.stack([resized(picture, spec.size, spec.resize) for picture in pictures])
    session = NetworkSession(checkpoint, SessionSettings(Device("cpu")))
    scores, offsets = zip(*(session.run(one[np.newaxis]) for one in inputs), strict=True)
    anchors = make_anchors(spec.anchors, spec.anchor_rounding, spec.anchor_clip)
    return Reference(inputs, np.concatenate(scores), np.concatenate(offsets), anchors)
