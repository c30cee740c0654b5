"""Ctrl-C, heard once as a wish to stop in good order, and twice as an order; at once where nothing is in hand."""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

from ssd_detect.cli.talk import Talk

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


@contextmanager
def stop_on_interrupt(talk: Talk) -> Iterator[Callable[[], bool]]:
    """Inside the block, the first SIGINT or SIGTERM makes the yielded function true; the second one interrupts."""
    wish = _Wish(talk)
    with _handled(wish.hear):
        yield lambda: wish.heard


@contextmanager
def interrupted_at_once() -> Iterator[None]:
    """Inside the block, SIGINT and SIGTERM interrupt at once, also where `stop_on_interrupt` would wait.

    It is for what comes before the work, such as making a network ready, of which nobody has anything yet. A wish to
    stop that was heard before the block, or that got lost in it, as Python loses interruptions of some callbacks,
    ends the block.
    """
    if threading.current_thread() is not threading.main_thread():  # which alone may set handlers, and hears signals
        yield
        return
    outer = getattr(signal.getsignal(signal.SIGINT), "__self__", None)
    wish = outer if isinstance(outer, _Wish) else _Wish(Talk(quiet=True))
    wish.check()
    with _handled(wish.obey):
        yield
    wish.check()


class _Wish:
    def __init__(self, talk: Talk) -> None:
        self.heard = False
        self._talk = talk

    def hear(self, number: int, frame: FrameType | None) -> None:
        """A handler: note it; interrupt if that is not the first time."""
        self.check()
        self.heard = True
        self._talk.note("Stopping; finishing what is in hand. Once more to stop at once.")

    def obey(self, number: int, frame: FrameType | None) -> None:
        """A handler: interrupt."""
        self.heard = True
        raise KeyboardInterrupt

    def check(self) -> None:
        """Interrupt if it was heard."""
        if self.heard:
            raise KeyboardInterrupt


@contextmanager
def _handled(handler: Callable[[int, FrameType | None], None]) -> Iterator[None]:
    before = {number: signal.signal(number, handler) for number in _SIGNALS}
    try:
        yield
    finally:
        for number, earlier in before.items():
            signal.signal(number, earlier)
