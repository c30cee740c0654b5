"""Which calibration pictures an int8 network was made with."""

import hashlib
from pathlib import Path

from ssd_detect import __version__
from ssd_detect.files import file_stamp


def calibration_id(folder: Path | None) -> str:
    """Short; of the files in the folder and below it, by name, size and time; of those that ship, our version."""
    if folder is None:
        return f"shipped-{__version__}"
    told = [f"{path} {file_stamp(path)}" for path in sorted(folder.rglob("*")) if path.is_file()]
    return hashlib.sha256("\n".join([str(folder.resolve()), *told]).encode()).hexdigest()[:16]
