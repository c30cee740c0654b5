"""Whom a long transfer tells about itself."""

from collections.abc import Callable
from dataclasses import dataclass


def _unheard(*_: object) -> None:
    pass


@dataclass(frozen=True)
class Listener:
    """What to call during a transfer; the default hears nothing.

    Args:
        on_bytes: bytes that are here, and bytes in all, or None where nobody knows; after every piece.
        on_note: a line that a person should know, such as that another process is at it.
    """

    on_bytes: Callable[[int, int | None], None] = _unheard
    on_note: Callable[[str], None] = _unheard
