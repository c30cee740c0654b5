"""The most memory that this process has held."""

import sys
from contextlib import suppress
from pathlib import Path

_STATUS = Path("/proc/self/status")
_FORGET = Path("/proc/self/clear_refs")
_RESET_PEAK = "5"  # man 5 proc, since Linux 4.0: the peak becomes what is held now
_BYTES_A_KIB = 1024


def forget_peak() -> None:
    """Begin anew, where the system can."""
    with suppress(OSError):
        _FORGET.write_text(_RESET_PEAK, encoding="ascii")


def peak_bytes() -> int | None:
    """Resident memory at its highest, since the last `forget_peak` on Linux; None on Windows."""
    try:
        lines = _STATUS.read_text(encoding="ascii", errors="replace").splitlines()
    except OSError:
        return _peak_elsewhere()
    # Not getrusage: what it tells begins with the peak of the process that started this one.
    return next((int(line.split()[1]) * _BYTES_A_KIB for line in lines if line.startswith("VmHWM:")), None)


def _peak_elsewhere() -> int | None:
    if sys.platform == "win32":
        return None
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * _BYTES_A_KIB
