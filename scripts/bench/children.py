"""Whole runs of the command line: how long, and how much memory at most."""

import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

_ONE_RUN = Path(__file__).with_name("one_run.py")


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
        done = subprocess.run(
            [sys.executable, "-I", "-S", _ONE_RUN, *command],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=stderr,
            env=environment,
            cwd=folder,
            text=True,
            check=True,
        )
    seconds, peak_kibibytes, status = done.stdout.split()
    if status != "0":
        raise RunError((log.read_text(errors="replace").strip().splitlines() or ["no message"])[-1])
    return ChildRun(float(seconds), int(peak_kibibytes) / 1024)  # Linux counts in KiB
