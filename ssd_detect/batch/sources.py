"""Getting the picture of an input: from a file, a server, or standard input."""

import hashlib
import sys

from ssd_detect.batch.settings import JobSettings
from ssd_detect.errors import PictureError
from ssd_detect.media.pictures import Picture, open_picture
from ssd_detect.media.sources.fetch import fetch_picture
from ssd_detect.media.sources.inputs import PictureInput

_BLOCK = 1 << 20


def read_source(source: PictureInput, settings: JobSettings) -> tuple[Picture, str | None]:
    """The picture, and the SHA-256 of its file where the settings want it.

    Raises:
        PictureError: it cannot be had or is none.
    """
    if source.path is not None:
        picture = open_picture(source.path, name=source.name, max_pixels=settings.max_pixels)
        return picture, _file_digest(source) if settings.sha256 else None
    content = sys.stdin.buffer.read() if source.url is None else fetch_picture(source.url, settings.fetch)
    picture = open_picture(content, name=source.name, max_pixels=settings.max_pixels)
    return picture, hashlib.sha256(content).hexdigest() if settings.sha256 else None


def _file_digest(source: PictureInput) -> str:
    assert source.path is not None
    digest = hashlib.sha256()
    try:
        with source.path.open("rb") as file:
            while block := file.read(_BLOCK):
                digest.update(block)
    except OSError as error:
        raise PictureError(f"{source.name}: cannot be read: {error.strerror}") from error
    return digest.hexdigest()
