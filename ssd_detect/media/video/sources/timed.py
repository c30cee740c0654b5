"""Calls that may hang: a thread does them, and is left behind when it does not come back."""

import threading
from collections.abc import Callable
from queue import Empty, SimpleQueue
from typing import Any, TypeVar, cast

T = TypeVar("T")


class TimedWorker:
    """Does one call after the other, all in one thread of its own; call `end` when there are no more."""

    def __init__(self) -> None:
        self._calls: SimpleQueue[Callable[[], Any] | None] = SimpleQueue()
        self._results: SimpleQueue[tuple[Any, BaseException | None]] = SimpleQueue()
        threading.Thread(target=self._work, name="ssd-detect camera", daemon=True).start()

    def call(self, function: Callable[[], T], seconds: float) -> T:
        """What the function returns or raises.

        Raises:
            TimeoutError: it takes longer; the worker is of no use any more.
        """
        self._calls.put(function)
        try:
            result, error = self._results.get(timeout=seconds)
        except Empty:
            self.end()
            raise TimeoutError from None
        if error is not None:
            raise error
        return cast(T, result)

    def end(self) -> None:
        """Let the thread end, after the call that it is in."""
        self._calls.put(None)

    def _work(self) -> None:
        while (function := self._calls.get()) is not None:
            try:
                self._results.put((function(), None))
            except BaseException as error:  # whatever it is, it belongs to the caller
                self._results.put((None, error))
