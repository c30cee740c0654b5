"""Running a written checkpoint as `ssd-detect image` would: our own reader, our own graph, on the CPU."""

from collections.abc import Callable
from pathlib import Path

from ssd_detect.arrays import Floats, Pixels
from ssd_detect.errors import OutputError
from ssd_detect.model.checkpoint import Checkpoint, load_checkpoint
from ssd_detect.model.conversion.outgoing import Outputs
from ssd_detect.model.session import NetworkSession
from ssd_detect.model.spec import ModelSpec
from ssd_detect.settings import CheckpointSettings, Device, SessionSettings


def open_session(checkpoint: Checkpoint) -> NetworkSession:
    """On the CPU, whatever there is: the numbers of a proof must not depend on a GPU."""
    return NetworkSession(checkpoint, SessionSettings(Device("cpu")))


def run_loaded(path: Path, spec: ModelSpec) -> Callable[[Pixels, Floats], Outputs]:
    """The network in the file at `path`, as `ReadBack.run`.

    Raises:
        OutputError: by what the file tells, it is another than that of `spec`.
    """
    checkpoint = load_checkpoint(CheckpointSettings(str(path)))
    if checkpoint.spec != spec:
        raise OutputError("the written file would be taken for another network than was meant; nothing was kept")
    session = open_session(checkpoint)

    def run(picture: Pixels, resized: Floats) -> Outputs:
        return Outputs(*session.run(resized), None)

    return run
