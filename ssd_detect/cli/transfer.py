"""The bar of a transfer on a terminal: bytes, rate, time left. Nothing anywhere else."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from ssd_detect.cli.talk import Talk
from ssd_detect.environment import is_terminal


@contextmanager
def transfer_bar(talk: Talk) -> Iterator[Callable[[int, int | None], None]]:
    """A bar on standard error while the block runs; the block tells it bytes that are here, and bytes in all."""
    if talk.quiet or not is_terminal(sys.stderr):
        yield lambda here, total: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TimeRemainingColumn, TransferSpeedColumn

    columns = (BarColumn(), DownloadColumn(), TransferSpeedColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        number = progress.add_task("", total=None)
        yield lambda here, total: progress.update(number, completed=here, total=total)
