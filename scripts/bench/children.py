"""Whole runs of the command line: how long, and how much memory at most."""

import os
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path


class RunError(Exception):
    """A run failed; the text is its last line."""


@dataclass(frozen=True)
class ChildRun:
    """One run: seconds by the clock, and the peak of resident memory, of it or of a child that it waited for."""

    seconds: float
    peak_mebibytes: float


def timed_run(command: Sequence[str], environment: Mapping[str, str], folder: Path) -> ChildRun:
    """Run a command to its end, in `folder`.

    Raises:
        RunError: its exit status is not 0.
    """
    log = Path(environment["SSD_DETECT_HOME"]).with_name("stderr.txt")
    with log.open("wb") as stderr:
        start = time.perf_counter()
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=stderr, env=environment, cwd=folder
        )
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - start
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RunError((log.read_text(errors="replace").strip().splitlines() or ["no message"])[-1])
    return ChildRun(seconds, usage.ru_maxrss / 1024)  # Linux counts in KiB
