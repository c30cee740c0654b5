"""Encoders that really encode, by the writer and the reader of `video`; fonts that really draw.

Runs in the child process only, since it needs PyAV and NumPy, and encoders are native code that may crash.
"""

import os
import re
import tempfile
import traceback
from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from functools import partial
from pathlib import Path

import av
import numpy as np
from PIL import ImageFont

from ssd_detect.arrays import Pixels
from ssd_detect.doctor.facts import Tried
from ssd_detect.doctor.failures import failure_of
from ssd_detect.errors import VideoError
from ssd_detect.media.drawing.lettering import FONT_FILES, FONTS
from ssd_detect.media.video.clock import FrameTime
from ssd_detect.media.video.encoding import CODECS, CONTAINERS
from ssd_detect.media.video.frames import VideoInfo
from ssd_detect.media.video.reader import VideoReader
from ssd_detect.media.video.writer import VideoWriter
from ssd_detect.settings import EncodingSettings

_SIDE = 256  # pixels; NVIDIA's encoders refuse a smaller frame than about 150
_RATE = Fraction(25)
_TIME_BASE = Fraction(1, 1000)
_COLOUR = (200, 120, 40)
_TOLERANCE = 24  # of 255, at the middle: YUV with a quarter of the colour, and GIF's palette, come nearer than that
_HARDWARE = re.compile(r"(h264|hevc|av1)_(nvenc|qsv|amf|videotoolbox)")
_SUFFIX_OF = {"libvpx-vp9": ".webm", "mjpeg": ".avi", "prores_ks": ".mov", "ffv1": ".mkv"}


def try_encoders() -> tuple[Tried, ...]:
    """Every encoder that `video` offers, in a file of its kind, and GIF; then those of hardware that FFmpeg has."""
    hardware = sorted(name for name in av.codecs_available if _HARDWARE.fullmatch(name) and _encodes(name))
    names = [*dict.fromkeys(CODECS.values()), "gif", *hardware]
    with tempfile.TemporaryDirectory(prefix="ssd-detect-") as folder:
        return tuple(attempted(name, partial(try_encoder, name, Path(folder)), Path(folder)) for name in names)


def _encodes(name: str) -> bool:
    """FFmpeg has decoders of such names too."""
    try:
        return av.Codec(name, "w").is_encoder
    except ValueError:
        return False


def attempted(name: str, use: Callable[[], None], folder: Path) -> Tried:
    """Whether `use` ends well; files are named as they are called in `folder`, which means nothing to anybody."""
    try:
        use()
    except Exception as error:  # of whatever kind: what fails, and how, is what is asked
        if not _HARDWARE.fullmatch(name):  # which is missing nearly everywhere, and then no fault
            traceback.print_exc()
        failure = failure_of(error)
        return Tried(name, replace(failure, detail=failure.detail.replace(f"{folder}{os.sep}", "")))
    return Tried(name)


def try_encoder(encoder: str, folder: Path) -> None:
    """Write a video of one frame into `folder` for each kind of file that this encoder is for, and read it back.

    Raises:
        SsdDetectError: it cannot be written or read, or the frame is another one.
    """
    for suffix in _suffixes(encoder):
        path = folder / f"{encoder}{suffix}"
        pixels = np.full((_SIDE, _SIDE, 3), _COLOUR, np.uint8)
        _write(path, pixels, None if suffix == ".gif" else encoder)
        _check(path, pixels)


def _suffixes(encoder: str) -> Iterator[str]:
    if encoder == "gif":
        yield ".gif"
        return
    usual = [suffix for suffix, container in CONTAINERS.items() if container.encoder == encoder]
    yield from usual or [_SUFFIX_OF.get(encoder, ".mp4")]


def _write(path: Path, pixels: Pixels, encoder: str | None) -> None:
    like = VideoInfo("trial", _SIDE, _SIDE, _RATE, _TIME_BASE)
    with VideoWriter(path, like=like, encoding=EncodingSettings(encoder), audio=False) as writer:
        writer.append(pixels, FrameTime(0, round(1 / _RATE / _TIME_BASE), _TIME_BASE))


def _check(path: Path, pixels: Pixels) -> None:
    with VideoReader(path) as reader:
        frames = [frame.pixels for frame in reader]
    if len(frames) != 1 or frames[0].shape != pixels.shape:
        raise VideoError(f"{path.name}: wrote one frame of {_SIDE}x{_SIDE}, read back {len(frames)} other ones")
    middle = (_SIDE // 2, _SIDE // 2)
    off = int(np.abs(frames[0][middle].astype(int) - pixels[middle]).max())
    if off > _TOLERANCE:
        raise VideoError(f"{path.name}: a colour that was read back is {off} of 255 off")


def try_fonts() -> tuple[Tried, ...]:
    """Every font that ships draws a letter."""
    return tuple(attempted(name, partial(try_font, FONTS / name), FONTS) for name in FONT_FILES)


def try_font(path: Path) -> None:
    """Draw with the font of a file.

    Raises:
        OSError: it cannot be opened; or it draws nothing.
    """
    if not ImageFont.truetype(path, 16).getmask("?").getbbox():
        raise OSError(f"{path.name} draws nothing")
