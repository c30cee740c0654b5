"""Ctrl-C, heard once as a wish to stop in good order, and twice as an order."""

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

from ssd_detect.cli.talk import Talk


@contextmanager
def stop_on_interrupt(talk: Talk) -> Iterator[Callable[[], bool]]:
    """Inside the block, the first SIGINT or SIGTERM makes the yielded function true; the second one interrupts."""
    stopping = False

    def stop(number: int, frame: FrameType | None) -> None:
        nonlocal stopping
        if stopping:
            raise KeyboardInterrupt
        stopping = True
        talk.note("Stopping; finishing what is in hand. Once more to stop at once.")

    before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield lambda: stopping
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
