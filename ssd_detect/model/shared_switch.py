"""A switch of the whole process, held by all at once who want it in one position."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager


class SharedSwitch:
    """Threads that want the same position share it; one that wants the other waits until they are done.

    Nobody waits for ever: who comes goes behind those who wait already, even if the switch stands right for it now.
    Blocks of one thread do not nest.

    Args:
        read: how the switch stands.
        turn: put it so.
    """

    def __init__(self, read: Callable[[], bool], turn: Callable[[bool], None]) -> None:
        self._read, self._turn = read, turn
        self._changed = threading.Condition()
        self._waiting: list[object] = []
        self._num_holders = 0
        self._position = self._before = False

    @contextmanager
    def at(self, position: bool) -> Iterator[None]:
        """Within the block the switch stands so; when the last one leaves, it stands as before the first one came."""
        self._enter(position)
        try:
            yield
        finally:
            self._leave()

    def _enter(self, position: bool) -> None:
        me = object()
        with self._changed:
            self._waiting.append(me)
            try:
                self._changed.wait_for(
                    lambda: self._waiting[0] is me and (not self._num_holders or self._position == position)
                )
                if not self._num_holders:
                    self._before, self._position = self._read(), position
                    self._turn(position)
                self._num_holders += 1
            finally:  # interrupted too
                self._waiting.remove(me)
                self._changed.notify_all()

    def _leave(self) -> None:
        with self._changed:
            self._num_holders -= 1
            if not self._num_holders:
                self._turn(self._before)
            self._changed.notify_all()
