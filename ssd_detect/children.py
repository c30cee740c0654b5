"""Python processes of our own, for what must not happen in this one: how they begin, and how they ended, in words."""

import os
import signal
import sys
from typing import TextIO

# A child finds modules exactly where this process does: `python -m` would put the current folder first.
_PROGRAM = "import sys; sys.path[:] = {path!r}; from {module} import main; main()"


def command(module: str, *arguments: str, options: tuple[str, ...] = ()) -> list[str]:
    """What runs `main` of a module.

    Args:
        module: its full name.
        arguments: found there in `sys.argv`.
        options: of Python itself.
    """
    program = _PROGRAM.format(path=[str(entry) for entry in sys.path], module=module)
    return [sys.executable, *options, "-c", program, *arguments]


def private_answers() -> TextIO:
    """In a child: the standard output, out of reach of what is imported, whose prints go to the error stream."""
    answers = os.fdopen(os.dup(1), "w", encoding="ascii")
    os.dup2(2, 1)
    return answers


def signal_of(status: int) -> str | None:
    """The name of the signal that ended a process; None where it ended by itself.

    Args:
        status: as `Popen.returncode`, below 0 for a signal.
    """
    if status >= 0:
        return None
    try:
        return signal.Signals(-status).name
    except ValueError:  # of real time
        return f"signal {-status}"


def death(status: int) -> str:
    """How a process ended, in words that follow "ended"."""
    killer = signal_of(status)
    return f"with exit status {status}" if killer is None else f"by signal {killer}"


def last_line(text: str) -> str:
    """The last line that says something, which is a traceback's point; empty where none does."""
    return next((line.strip() for line in reversed(text.splitlines()) if line.strip()), "")
