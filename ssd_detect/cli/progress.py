"""The bar on a terminal: frames or pictures, rate, time left. Nothing anywhere else."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta

from ssd_detect.cli.talk import Talk
from ssd_detect.environment import is_terminal


@contextmanager
def counted_progress(total: int | None, noun: str, talk: Talk) -> Iterator[Callable[[], None]]:
    """A bar on standard error while the block runs; the block calls what it gets after each item, from any thread.

    Args:
        total: items to come, as the file claims; None when nobody knows. A claim that is passed is dropped.
        noun: what the items are, such as "frames".
        talk: no bar under --quiet.
    """
    if talk.quiet or not is_terminal(sys.stderr):
        yield lambda: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn

    with Progress(
        BarColumn(),
        TextColumn("{task.fields[told]}"),
        console=Console(stderr=True),
        transient=True,
        redirect_stdout=is_terminal(sys.stdout),  # results then appear above the bar; into a pipe they go as they are
    ) as progress:
        number = progress.add_task("", total=total, told="")
        bar = progress.tasks[0]

        def advance() -> None:
            done = int(bar.completed) + 1
            if bar.total is not None and done > bar.total:
                bar.total = None
            # The mean of the whole run: frames come a batch at a time, and their pace inside a batch says nothing.
            rate = done / bar.elapsed if bar.elapsed else None
            progress.update(number, completed=done, told=told(done, bar.total, noun, rate))

        yield advance


def told(done: int, total: float | None, noun: str, rate: float | None) -> str:
    """What stands beside the bar, such as `9/60 frames, 3.1/s, 0:00:16 left`; what is unknown is left out."""
    parts = [f"{done} {noun}" if total is None else f"{done}/{total:.0f} {noun}"]
    if rate:
        parts.append(f"{rate:.1f}/s")
    if rate and total is not None:
        parts.append(f"{timedelta(seconds=round((total - done) / rate))} left")
    return ", ".join(parts)
