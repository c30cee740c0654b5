"""Which calibration pictures an int8 network was made with."""

import hashlib
from pathlib import Path

from ssd_detect import __version__
from ssd_detect.files import file_stamp


def calibration_id(folder: Path | None) -> str:
    """Short; of the files in the folder, by name, size and time; of those that ship, our version."""
    if folder is None:
        return f"shipped-{__version__}"
    files = sorted(path for path in folder.iterdir() if path.is_file()) if folder.is_dir() else []
    told = [f"{path.name} {file_stamp(path)}" for path in files]
    return hashlib.sha256("\n".join([str(folder.resolve()), *told]).encode()).hexdigest()[:16]
