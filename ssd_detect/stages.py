"""Where the time goes: seconds spent in each stage, added up over a run."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager


class StageTimes:
    """Seconds per named stage. Safe to use from several threads."""

    def __init__(self) -> None:
        self._seconds: dict[str, float] = {}
        self._lock = threading.Lock()

    @contextmanager
    def measure(self, stage: str) -> Iterator[None]:
        """Add the time that the block takes to `stage`."""
        start = time.perf_counter()
        try:
            yield
        finally:
            elapsed = time.perf_counter() - start
            with self._lock:
                self._seconds[stage] = self._seconds.get(stage, 0.0) + elapsed

    def seconds(self) -> dict[str, float]:
        """Stage -> seconds so far, in the order in which the stages were first met."""
        with self._lock:
            return dict(self._seconds)


@contextmanager
def told_when_slow(tell: Callable[[], None], seconds: float) -> Iterator[None]:
    """Call `tell`, from another thread, if the block still runs after `seconds`."""
    timer = threading.Timer(seconds, tell)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
