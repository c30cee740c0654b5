"""Keep Pillow's warnings and log lines from the user: what they would say is an error or a note of ours.

`warnings.catch_warnings` is no help, for pictures are read in threads and it changes the whole process: another
thread's warnings would vanish meanwhile, and two such blocks that end crosswise leave the wrong filters behind. So one
filter is put first and stays there. It matches in a thread that is inside `without_warnings` and nowhere else.
"""

import logging
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, cast

_here = threading.local()
_lock = threading.Lock()


def _is_inside() -> bool:
    return getattr(_here, "depth", 0) > 0


class _InsideOnly:
    """Stands in a warning filter where the pattern for the message stands; `warnings` only calls `match`."""

    def match(self, _message: str) -> bool:
        return _is_inside()


_FILTER = ("ignore", _InsideOnly(), Warning, None, 0)
# Pillow logs one error, about absurd TIFF files; Python prints it to standard error where no log is set up.
logging.getLogger("PIL.TiffImagePlugin").addFilter(lambda _record: not _is_inside())


@contextmanager
def without_warnings() -> Iterator[None]:
    """No Python warning comes out of the block, whatever the filters say, no log line of Pillow's; in this thread."""
    _put_filter_first()
    _here.depth = getattr(_here, "depth", 0) + 1
    try:
        yield
    finally:
        _here.depth -= 1


def _put_filter_first() -> None:
    filters = cast(list[Any], warnings.filters)  # a list in fact, and whoever filters has put more of them in front
    with _lock:
        if not filters or filters[0] is not _FILTER:
            with suppress(ValueError):
                filters.remove(_FILTER)
            filters.insert(0, _FILTER)
