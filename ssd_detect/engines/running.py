"""What all engines but TensorFlow share: errors in our words."""

from collections.abc import Iterator
from contextlib import contextmanager

from ssd_detect.conventions import EngineName
from ssd_detect.errors import ClosedError, DeviceError, SsdDetectError

CLOSED = "this Detector is closed; make a new one"
_MEMORY_WORDS = ("alloc", "out of memory", "not enough memory", "insufficient memory")
_MAX_WORDS = 200


@contextmanager
def explained(engine: EngineName, device: str, batch: int, doing: str = "run") -> Iterator[None]:
    """What an engine raises in the block becomes one line.

    Args:
        engine: whose errors, which are of any class.
        device: as in `RunsOn`.
        batch: pictures that are in the network; 0 while it is loaded.
        doing: what it fails to do with the network, in words.

    Raises:
        DeviceError: for every error that is not ours already.
    """
    try:
        yield
    except (SsdDetectError, ImportError):
        raise
    except Exception as error:  # each engine has its own, and some raise bare RuntimeErrors
        raise DeviceError(_line(error, engine, device, batch, doing)) from error


def _line(error: Exception, engine: EngineName, device: str, batch: int, doing: str) -> str:
    from ssd_detect.doctor.hints import explain_failure  # which knows free memory; only when all is lost

    text = str(error).strip() or type(error).__name__
    if isinstance(error, MemoryError) or any(word in text.lower() for word in _MEMORY_WORDS):
        told = explain_failure(text, batch=batch, device=device, out_of_memory=True)
        return f"engine {engine.value}: {told}"
    first = next(line.strip() for line in text.splitlines() if line.strip())
    return (
        f"engine {engine.value} cannot {doing} the network on {device}: {first[:_MAX_WORDS]}; use --engine tensorflow"
    )


def check_open(is_open: bool) -> None:
    """Refuse a call after `close()`.

    Raises:
        ClosedError: it was closed.
    """
    if not is_open:
        raise ClosedError(CLOSED)
