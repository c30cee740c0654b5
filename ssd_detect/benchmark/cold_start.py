"""From the start of a new process to what a person waits for: `ssd-detect image`, timed from outside."""

import os
import subprocess
import tempfile
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from ssd_detect.benchmark.results import ColdStart
from ssd_detect.benchmark.samples import Samples
from ssd_detect.benchmark.workers import WorkerError
from ssd_detect.children import command, last_line

_PATIENCE_SECONDS = 300.0


class Started(NamedTuple):
    """Seconds from the start of one process until its first line of results, and until its end."""

    first_result: float
    end: float


def start_cold(picture: Path, options: Sequence[str]) -> Started:
    """Run `ssd-detect image` once, with the picture's annotated copy in a folder that goes again.

    Raises:
        WorkerError: it failed or hung.
    """
    with tempfile.TemporaryDirectory(prefix="ssd-detect-") as folder:
        arguments = ["image", *options, "-o", folder + os.sep, "--", str(picture.absolute())]
        with (Path(folder) / "log").open("w+b") as log:
            start = time.perf_counter()
            process = subprocess.Popen(
                command("ssd_detect.cli.main", *arguments),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=log,
            )
            return _timed(process, start, Path(folder) / "log")


def _timed(process: "subprocess.Popen[bytes]", start: float, log: Path) -> Started:
    assert process.stdout is not None
    watch = threading.Timer(_PATIENCE_SECONDS, process.kill)
    watch.start()
    try:
        with process.stdout as results:
            results.readline()
            first = time.perf_counter() - start
            results.read()
        status = process.wait()
        end = time.perf_counter() - start
    finally:
        watch.cancel()
        process.kill()
        process.wait()
    if status != 0:
        said = last_line(log.read_text(encoding="utf-8", errors="replace"))
        reason = said.removeprefix("Error: ") or "without a word"
        raise WorkerError(f"ssd-detect image, started for its time, ended with status {status}: {reason}")
    return Started(first, end)


def cold_start_of(starts: Sequence[Started]) -> ColdStart:
    """What several starts come to."""
    return ColdStart(Samples(tuple(one.first_result for one in starts)), Samples(tuple(one.end for one in starts)))
