"""An exception as a `Failure`."""

from ssd_detect.doctor.facts import Failure
from ssd_detect.errors import SsdDetectError


def failure_of(error: BaseException) -> Failure:
    """What went wrong, in plain values."""
    if isinstance(error, ModuleNotFoundError) and error.name:
        return Failure("missing", error.name)
    if isinstance(error, SystemExit):
        return Failure("exited", str(error.code))
    text = str(error) if isinstance(error, SsdDetectError) else f"{type(error).__name__}: {error}"
    return Failure("error", text)
