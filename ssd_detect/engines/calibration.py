"""The pictures that int8 is calibrated with: which ones a network was made with, and which are taken of a folder."""

import hashlib
import os
from pathlib import Path

from ssd_detect import __version__
from ssd_detect.errors import PictureError, SettingError, SsdDetectError
from ssd_detect.files import file_stamp
from ssd_detect.media.sources.folders import PICTURES, FolderSearch

MOST_PICTURES = 64
"""Of a folder: enough for the ranges to have settled, half a minute of calibration on two cores."""


def calibration_id(folder: Path | None) -> str:
    """`FOLDER-CONTENT`: of the files in it and below, by name, size and time; of those that ship, our version."""
    if folder is None:
        return f"shipped-{__version__}"
    told = [f"{path} {file_stamp(path)}" for path in sorted(folder.rglob("*")) if path.is_file()]
    content = _short("\n".join(told), 16)
    return f"{_short(str(folder.resolve()), 8)}-{content}"


def _short(text: str, digits: int) -> str:
    return hashlib.sha256(os.fsencode(text)).hexdigest()[:digits]


def chosen_pictures(folder: Path) -> list[Path]:
    """Of the pictures in a folder and below it, at most `MOST_PICTURES`, evenly spread over the sorted names.

    Raises:
        SettingError: it is none, or holds no pictures.
    """
    if not folder.is_dir():
        raise SettingError(f"{folder}: is no folder, expected one of pictures to calibrate int8 with")
    try:
        found = FolderSearch(recursive=True, on_error=_refuse, medium=PICTURES).in_folder(folder)
    except PictureError as error:
        raise SettingError(f"{error}; int8 is calibrated with up to {MOST_PICTURES} like those to come") from error
    if len(found) <= MOST_PICTURES:
        return list(found)
    last = MOST_PICTURES - 1
    return [found[round(i * (len(found) - 1) / last)] for i in range(MOST_PICTURES)]


def _refuse(error: SsdDetectError) -> None:
    raise error
