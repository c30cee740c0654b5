"""Files with more than one picture: what the user should know when only the first is read."""

import struct
from typing import IO

from PIL import ImageFile

_READ_AS_VIDEO = ("GIF", "PNG")  # FFmpeg reads no animated WebP, and of an animated AVIF one frame
_MOST_PAGES = 100_000


def about_frames(image: ImageFile.ImageFile, stream: IO[bytes]) -> tuple[str, ...]:
    """A note if there are more pictures than the one that `image` has loaded from `stream`."""
    if image.format == "TIFF":
        pages = _count_pages(stream)
        return (f"page 1 of {pages}",) if pages > 1 else ()
    frames = _count_frames(image)
    if frames == 1:
        return ()
    if image.format == "HEIF":
        return (f"main picture of {frames}",)
    pointer = "; ssd-detect video reads them all" if image.format in _READ_AS_VIDEO else ""
    return (f"first of {frames or 'several'} frames{pointer}",)


def _count_frames(image: ImageFile.ImageFile) -> int | None:
    """None if later frames are damaged."""
    try:
        return int(getattr(image, "n_frames", 1))
    except (OSError, SyntaxError, ValueError, EOFError, TypeError, LookupError, struct.error):
        return None


def _count_pages(stream: IO[bytes]) -> int:
    """The first directories of a TIFF file, each of which names the place of the next; up to the first damaged one."""
    stream.seek(0)
    head = stream.read(16)
    order, big = ("<" if head[:2] == b"II" else ">"), b"+" in head[2:4]
    number, offset = struct.Struct(order + ("Q" if big else "H")), struct.Struct(order + ("Q" if big else "I"))
    (place,) = offset.unpack_from(head, 8 if big else 4)
    seen: set[int] = set()
    while place and place not in seen and len(seen) < _MOST_PAGES:
        try:
            stream.seek(place)
            (entries,) = number.unpack(stream.read(number.size))
            stream.seek(place + number.size + entries * (20 if big else 12))
            following = offset.unpack(stream.read(offset.size))[0]
        except (struct.error, OSError, ValueError, OverflowError):
            break
        seen.add(place)
        place = following
    return len(seen)
