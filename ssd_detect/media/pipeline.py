"""Bounded threads between the stages of a run: read ahead of a consumer, write behind a producer.

Both ends wait for each other, so that memory stays flat; the first error on either side ends both. Neither function
returns before its thread has ended: the thread is never cut off in the middle of an item.
"""

import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager
from itertools import islice
from typing import Generic, TypeVar

T = TypeVar("T")

_WAKE_SECONDS = 0.2  # waits are cut into such pieces: Python on Windows hears Ctrl-C only between them


@contextmanager
def read_ahead(items: Iterable[T], depth: int, *, newest_wins: bool = False) -> Iterator[Iterator[T]]:
    """Take `items` in a background thread, up to `depth` of them ahead of the consumer.

    The block gets an iterator of the same items in the same order; what taking an item raised is raised at its place.
    Leaving the block stops the thread after the item it is taking, and closes `items` if that is a generator.

    Args:
        items: what is taken.
        depth: how many may wait.
        newest_wins: never wait for the consumer: the oldest item that waits makes room for a new one.
    """
    channel: _Channel[T] = _Channel(depth, newest_wins=newest_wins)
    thread = _start(lambda: _produce(items, channel))
    try:
        yield channel.items()
    finally:
        channel.end(drop=True)
        _wait_for(thread)


def batches(items: Iterator[T], size: int) -> Iterator[list[T]]:
    """Lists of `size` items in a row; the last one may be shorter."""
    return iter(lambda: list(islice(items, size)), [])


class WriteBehind(Generic[T]):
    """Takes the items for a `write_behind` thread."""

    def __init__(self, channel: "_Channel[T]", errors: list[BaseException]) -> None:
        self._channel = channel
        self._errors = errors

    def put(self, item: T) -> None:
        """Hand over an item; waits while `depth` items are waiting. Raises what the function raised before."""
        if not self._channel.put(item) and self._errors:
            raise self._errors[0]


@contextmanager
def write_behind(function: Callable[[T], None], depth: int, *, newest_wins: bool = False) -> Iterator[WriteBehind[T]]:
    """Apply `function` to items in a background thread, in the order in which the block puts them.

    The function's first error is raised by the next `put`, or at the block's end; what is still waiting is dropped
    then, as it is when the block itself raises. A block that ends well waits until everything is done.

    Args:
        function: what is done with an item.
        depth: how many may wait.
        newest_wins: never let the block wait: the oldest item that waits makes room for a new one.
    """
    channel: _Channel[T] = _Channel(depth, newest_wins=newest_wins)
    errors: list[BaseException] = []
    thread = _start(lambda: _consume(function, channel, errors))
    try:
        yield WriteBehind(channel, errors)
        channel.end()
        _wait_for(thread)
    finally:
        channel.end(drop=True)
        _wait_for(thread)
    if errors:
        raise errors[0]


class _Channel(Generic[T]):
    """A queue of limited depth that either side can end."""

    def __init__(self, depth: int, *, newest_wins: bool) -> None:
        self._depth = max(1, depth)
        self._newest_wins = newest_wins
        self._waiting: deque[T] = deque()
        self._ended = False
        self._error: BaseException | None = None
        self._changed = threading.Condition()

    def put(self, item: T) -> bool:
        """Wait for room and add an item; False if the channel was ended."""
        with self._changed:
            while len(self._waiting) >= self._depth and not self._ended:
                if self._newest_wins:
                    self._waiting.popleft()
                else:
                    self._changed.wait(_WAKE_SECONDS)
            if not self._ended:
                self._waiting.append(item)
                self._changed.notify_all()
            return not self._ended

    def items(self) -> Iterator[T]:
        """Each item as it comes, then the error with which the channel was ended, if any."""
        while True:
            with self._changed:
                while not self._waiting and not self._ended:
                    self._changed.wait(_WAKE_SECONDS)
                if not self._waiting:
                    break
                item = self._waiting.popleft()
                self._changed.notify_all()
            yield item
        if self._error is not None:
            raise self._error

    def end(self, error: BaseException | None = None, *, drop: bool = False) -> None:
        """Let nothing more in, and wake everyone; with `drop` what waits is thrown away, an error too."""
        with self._changed:
            self._ended = True
            self._error = error
            if drop:
                self._waiting.clear()
            self._changed.notify_all()


def _produce(items: Iterable[T], channel: _Channel[T]) -> None:
    error = None
    try:
        iterator = iter(items)
        try:
            for item in iterator:
                if not channel.put(item):
                    break
        finally:
            if isinstance(iterator, Generator):
                iterator.close()
    except BaseException as raised:  # whatever it is, it belongs to the consumer
        error = raised
    channel.end(error)


def _consume(function: Callable[[T], None], channel: _Channel[T], errors: list[BaseException]) -> None:
    try:
        for item in channel.items():
            function(item)
    except BaseException as raised:  # whatever it is, it belongs to the producer
        errors.append(raised)
        channel.end(drop=True)


def _start(work: Callable[[], None]) -> threading.Thread:
    thread = threading.Thread(target=work, name="ssd-detect pipeline", daemon=True)
    thread.start()
    return thread


def _wait_for(thread: threading.Thread) -> None:
    while thread.is_alive():
        thread.join(_WAKE_SECONDS)
