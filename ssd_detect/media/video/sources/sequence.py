"""Numbered pictures as a video: `frames/%05d.png`."""

import re
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

from ssd_detect.errors import PictureError, VideoError
from ssd_detect.media.pictures import Picture, open_picture
from ssd_detect.media.video.clock import FrameTime
from ssd_detect.media.video.frames import Frame, VideoInfo
from ssd_detect.media.video.sources.inputs import NUMBER_PATTERN
from ssd_detect.media.video.sources.source import ClosedAtEnd, fitted, joined

_SHOWN_NAMES = 3


class SequenceReader(ClosedAtEnd):
    """The pictures whose names match a pattern, in the order of their numbers, each read when its turn comes.

    The picture of number n is shown (n - first) / rate seconds after the first. A number that is missing and a picture
    that cannot be read leave a gap, so that the others keep their times; `losses` counts both. A picture of another
    size than the first is scaled to that.

    Args:
        pattern: a path whose last name holds one `%d` or `%0Nd`.
        rate: pictures a second.

    Raises:
        VideoError: no file matches, or none of those that do can be read.
    """

    def __init__(self, pattern: Path, rate: Fraction) -> None:
        self._pattern, self._rate = pattern, rate
        self._before, self._format, self._after = _parts(pattern.name)
        self._numbers = self._find_numbers()
        self._unreadable: list[PictureError] = []
        self._pictures = self._read()
        first = next(self._pictures, None)
        if first is None:
            raise VideoError(
                f"{pattern}: none of its {len(self._numbers)} pictures can be read ({self._unreadable[0]})"
            )
        self._first = first
        width, height = first[1].size
        self.info = VideoInfo(
            name=str(pattern),
            width=width,
            height=height,
            rate=rate,
            time_base=1 / rate,
            frame_count=len(self._numbers),
            notes=first[1].notes,
        )

    def _find_numbers(self) -> list[int]:
        """The numbers for which there is a file, sorted."""
        try:
            names = [entry.name for entry in self._pattern.parent.iterdir()]
        except OSError as error:
            raise VideoError(f"{self._pattern}: its folder cannot be read: {error.strerror}") from error
        matching = re.compile(f"{re.escape(self._before)}([0-9]+){re.escape(self._after)}")
        texts = (match[1] for match in map(matching.fullmatch, names) if match)
        numbers = sorted(int(text) for text in texts if self._format % int(text) == text)
        if not numbers:
            raise VideoError(f"{self._pattern}: no file has such a name; {_about_folder(names)}")
        return numbers

    def _read(self) -> Iterator[tuple[int, Picture]]:
        for number in self._numbers:
            path = self._pattern.with_name(self._before + self._format % number + self._after)
            try:
                yield number, open_picture(path, name=str(path))
            except PictureError as error:
                self._unreadable.append(error)

    def __iter__(self) -> Iterator[Frame]:
        number, picture = self._first
        while True:
            time = FrameTime(number - self._numbers[0], 1, self.info.time_base)
            yield Frame(fitted(picture.pixels, self.info.width, self.info.height), time)
            following = next(self._pictures, None)
            if following is None:
                return
            number, picture = following

    @property
    def losses(self) -> str | None:
        """Pictures that are missing or cannot be read; None when all are there."""
        missing = self._numbers[-1] - self._numbers[0] + 1 - len(self._numbers)
        unreadable = self._unreadable
        return joined(
            (
                f"{missing} numbers between the first and the last have no picture" if missing else None,
                f"{len(unreadable)} pictures cannot be read ({unreadable[0]})" if unreadable else None,
            )
        )


def _parts(name: str) -> tuple[str, str, str]:
    """What stands before the number, how the number is written, what stands behind it."""
    found = NUMBER_PATTERN.search(name)
    if found is None:
        raise VideoError(f"{name}: expected a name with one %d or %05d in it")
    return name[: found.start()], found[0], name[found.end() :]


def _about_folder(names: list[str]) -> str:
    if not names:
        return "its folder is empty"
    shown = ", ".join(sorted(names)[:_SHOWN_NAMES])
    rest = len(names) - _SHOWN_NAMES
    return f"its folder holds {shown}{f' and {rest} more' if rest > 0 else ''}"
