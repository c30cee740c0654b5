"""What lies at a path, where that is no regular file: reading one of those may take for ever."""

import stat
from pathlib import Path


def other_than_file(path: Path) -> str | None:
    """What is there instead of a regular file, as a noun; None: a regular file, or nothing that can be looked at."""
    try:
        mode = path.stat().st_mode
    except (OSError, ValueError):
        return None
    if stat.S_ISREG(mode):
        return None
    kinds = ((stat.S_ISDIR, "folder"), (stat.S_ISFIFO, "pipe"), (stat.S_ISSOCK, "socket"))
    return next((word for is_such, word in kinds if is_such(mode)), "device")
