"""What a network runs on; engines know it, and so does TensorFlow's session, which imports nothing of theirs."""

from typing import NamedTuple

from ssd_detect.conventions import Arithmetic, EngineName


class RunsOn(NamedTuple):
    """What a network runs on, for people and for files.

    Args:
        engine: never `auto`.
        version: of the engine's package.
        device: `CPU`, or a GPU in the engine's words, such as `GPU:0`.
        precision: of the convolutions.
    """

    engine: EngineName
    version: str
    device: str
    precision: Arithmetic
