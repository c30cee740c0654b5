"""Animated pictures as videos: GIF, WebP, PNG and AVIF, every frame as a browser shows it, on white."""

import struct
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import IO, NamedTuple

from PIL import ImageFile

from ssd_detect.arrays import Pixels
from ssd_detect.errors import PictureError, VideoError
from ssd_detect.media.decoding.decoders import open_image
from ssd_detect.media.decoding.kinds import HEAD_BYTES, kind_of
from ssd_detect.media.decoding.metadata import read_metadata
from ssd_detect.media.decoding.quiet import without_warnings
from ssd_detect.media.decoding.rgb import upright_rgb
from ssd_detect.media.pictures import open_picture
from ssd_detect.media.video.clock import FrameTime
from ssd_detect.media.video.frames import Frame, VideoInfo
from ssd_detect.media.video.sources.source import ClosedAtEnd, fitted

_ANIMATED_KINDS = ("GIF", "WEBP", "PNG", "AVIF")  # of those that `kind_of` tells
_MILLISECOND = Fraction(1, 1000)
# As browsers do (bugs.webkit.org/36082): many files claim 0 or 10 ms and are meant to be seen.
_LONGEST_ABSURD, _INSTEAD = 10, 100
_DAMAGE = (OSError, SyntaxError, ValueError, EOFError, TypeError, LookupError, ArithmeticError, struct.error)


class _Loaded(NamedTuple):
    image: ImageFile.ImageFile
    orientation: int
    duration: int  # milliseconds


class AnimationReader(ClosedAtEnd):
    """An animated picture, once from its beginning to its end, whatever it says about loops.

    Frames have the durations that the file tells, in milliseconds; 10 ms or less counts as 100 ms. The file is decoded
    twice, since the durations are told frame by frame and its rate is asked for before.

    Raises:
        VideoError: missing, too large, or damaged before the second frame.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            first = open_picture(path, name=str(path))  # refuses what is too large before it is decoded
        except PictureError as error:
            raise VideoError(str(error)) from error
        with path.open("rb") as stream:
            self._num_claimed = _count_frames(_open(stream, path))
        durations = [loaded.duration for loaded in self._loaded()]
        if len(durations) < 2:
            raise VideoError(f"{path}: only {len(durations)} of its {self._num_claimed} frames can be read")
        self._num_readable = len(durations)
        self.info = VideoInfo(
            name=str(path),
            width=first.size[0],
            height=first.size[1],
            rate=len(durations) / (sum(durations) * _MILLISECOND),
            time_base=_MILLISECOND,
            frame_count=len(durations),
        )

    def _loaded(self) -> Iterator[_Loaded]:
        """Every frame up to the first that is damaged; each is valid until the next is taken."""
        with self._path.open("rb") as stream:
            image = _open(stream, self._path)
            hidden = _num_hidden(image)
            with without_warnings():
                orientation = read_metadata(image, stream).orientation
            for number in range(hidden, hidden + self._num_claimed):
                try:
                    with without_warnings():
                        image.seek(number)
                        image.load()
                except _DAMAGE:
                    return
                yield _Loaded(image, orientation, _duration(image))

    def __iter__(self) -> Iterator[Frame]:
        start = 0
        for image, orientation, duration in self._loaded():
            yield Frame(self._shown(image, orientation), FrameTime(start, duration, _MILLISECOND))
            start += duration

    def _shown(self, image: ImageFile.ImageFile, orientation: int) -> Pixels:
        with without_warnings():
            pixels = upright_rgb(image, orientation).pixels
        return fitted(pixels, self.info.width, self.info.height)

    @property
    def losses(self) -> str | None:
        """How many frames are damaged; None when none is."""
        if self._num_readable == self._num_claimed:
            return None
        return f"only {self._num_readable} of its {self._num_claimed} frames can be read; the file is damaged"


def is_animation(path: Path) -> bool:
    """Whether a file is a picture, by its content, of a kind that can be read, with more than one frame."""
    if not path.is_file():  # opening a pipe would take its beginning away
        return False
    try:
        with path.open("rb") as stream, without_warnings():
            kind = kind_of(stream.read(HEAD_BYTES))
            return kind in _ANIMATED_KINDS and _count_frames(_open(stream, path)) > 1
    except (*_DAMAGE, PictureError):
        return False


def _open(stream: IO[bytes], path: Path) -> ImageFile.ImageFile:
    stream.seek(0)
    kind = kind_of(stream.read(HEAD_BYTES))
    stream.seek(0)
    return open_image(stream, str(kind), str(path))


def _count_frames(image: ImageFile.ImageFile) -> int:
    return int(getattr(image, "n_frames", 1)) - _num_hidden(image)


def _num_hidden(image: ImageFile.ImageFile) -> int:
    """A PNG may hold one more picture in front, for programs that know no animations (PNG 3rd edition, 4.9)."""
    return int(bool(image.info.get("default_image")))


def _duration(image: ImageFile.ImageFile) -> int:
    told = round(image.info.get("duration", 0))
    return told if told > _LONGEST_ABSURD else _INSTEAD
