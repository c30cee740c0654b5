"""Which processor this is: what engines compute, and which one is the quickest, depends on it."""

import hashlib
import os
import platform
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from ssd_detect.settings import SessionSettings

_TELLING = ("model name", "flags", "CPU implementer", "CPU part", "Features")  # x86; ARM


def processor_id() -> str:
    """Short, the same for processors of one model with the same abilities, and as many of them."""
    told = [platform.machine(), platform.processor(), str(os.cpu_count())]
    with suppress(OSError):  # only Linux has it
        first = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").partition("\n\n")[0]
        told += [line for line in first.splitlines() if line.startswith(_TELLING)]
    return hashlib.sha256("\n".join(told).encode()).hexdigest()[:12]


def usable_cores() -> int:
    """Cores that this process may use: fewer than the machine has where `taskset` or a container says so."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def within_cores(settings: SessionSettings) -> SessionSettings:
    """The same with no more threads than there are cores: more help no engine, and some hardly come to an end then."""
    threads = settings.intra_op_threads
    return settings if threads is None else replace(settings, intra_op_threads=min(threads, usable_cores()))


def load_average() -> float | None:
    """Busy processes, the mean of the last minute; None where the system does not count them."""
    try:
        return os.getloadavg()[0]
    except (AttributeError, OSError):
        return None


def is_busy(load: float | None, cores: int) -> bool:
    """Whether other programs want the cores too, so that what is measured here misleads.

    The mean of the last minute counts our own threads as well, of a run that has just ended: one a core, and one that
    reads or writes. So that nobody is warned of himself, only what goes beyond those is taken for others. What others
    do on single cores is not seen here; interleaved calls and their spread are there for that.

    Args:
        load: as `load_average`.
        cores: that this process may use.
    """
    return load is not None and load > cores + 1
