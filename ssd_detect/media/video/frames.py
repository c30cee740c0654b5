"""What a video is to the rest of the program: frames with their times, and what is known of them before."""

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from types import TracebackType
from typing import NamedTuple, Protocol

from ssd_detect.arrays import Pixels
from ssd_detect.media.video.clock import FrameTime
from ssd_detect.media.video.colour import VideoColour


class Frame(NamedTuple):
    """A picture of a video: RGB uint8 (H, W, 3), upright, and its time."""

    pixels: Pixels
    time: FrameTime


@dataclass(frozen=True)
class VideoInfo:
    """What is known of a video before it is read.

    Args:
        name: as the user named it, for messages and records.
        width, height: pixels of an upright frame; all frames have this size.
        rate: frames a second on average.
        time_base: seconds a tick.
        frame_count: frames as the source claims, or as its length and rate suggest; None when neither is told.
        pixel_aspect: width of a pixel over its height, as shown; None when not told.
        colour: what the numbers of a YUV copy mean.
        companions: a file with sound, subtitles, chapters and metadata on the same clock; None when there is none.
        begin: second of the frames' clock from which a player counts.
        is_live: frames come when they come, and cannot be read again.
        notes: what the user should know of how it is read, each a short clause.
    """

    name: str
    width: int
    height: int
    rate: Fraction
    time_base: Fraction
    frame_count: int | None = None
    pixel_aspect: Fraction | None = None
    colour: VideoColour = VideoColour()
    companions: Path | None = None
    begin: Fraction = Fraction(0)
    is_live: bool = False
    notes: tuple[str, ...] = ()


class FrameSource(Protocol):
    """Where frames come from: a context manager, to be iterated once, that is closed at its block's end."""

    @property
    def info(self) -> VideoInfo:
        """What is known before."""

    @property
    def losses(self) -> str | None:
        """What was missing, in words, once it is read to its end; None when nothing was."""

    def __iter__(self) -> Iterator[Frame]:
        """All frames in the order of their times; every one has the size that `info` tells."""

    def close(self) -> None:
        """Free what it holds; a second call does nothing."""

    def __enter__(self) -> "FrameSource": ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...
