"""A camera of this computer, through OpenCV."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from fractions import Fraction

import cv2
import numpy as np

from ssd_detect.arrays import Pixels
from ssd_detect.errors import VideoError
from ssd_detect.media.video.clock import FrameTime
from ssd_detect.media.video.frames import Frame, VideoInfo
from ssd_detect.media.video.sources.settings import SourceSettings
from ssd_detect.media.video.sources.source import ClosedAtEnd, fitted, joined
from ssd_detect.media.video.sources.timed import T, TimedWorker

_SILENT = 0  # OpenCV's LOG_LEVEL_SILENT
_MICROSECOND = Fraction(1, 1_000_000)
_USUAL_RATE, _HIGHEST_RATE = 30.0, 1000.0  # the first is for cameras that do not tell theirs, or tell nonsense
_PROBED, _PROBE_SECONDS = 4, 2.0  # camera numbers that are tried when the one asked for is not there, and for how long


class CameraReader(ClosedAtEnd):
    """The frames of a camera, each with the time at which it came, from 0.

    A camera that fails or hangs is opened again; when it does not come back, the frames end and `losses` says so.

    Args:
        device: what `cv2.VideoCapture` opens: the number of a camera.
        name: for messages and records.
        settings: how long to wait, how often to try.

    Raises:
        VideoError: no such camera, or it sends nothing in time.
    """

    def __init__(self, device: int | str, name: str, settings: SourceSettings) -> None:
        self._device, self._settings = device, settings
        self._closed = threading.Event()
        self._lost: str | None = None
        self._num_gaps = 0
        self._camera = _Camera(device, settings.timeout_seconds)
        first = self._camera.read()
        if first is None:
            self._camera.close()
            raise VideoError(f"{name}: {_about_missing(self._camera, settings.timeout_seconds)}")
        self.info = VideoInfo(
            name=name,
            width=first.shape[1],
            height=first.shape[0],
            rate=Fraction(self._camera.rate).limit_denominator(1001),
            time_base=_MICROSECOND,
            is_live=True,
        )
        self._began, self._last = time.monotonic(), -1  # `_last` in microseconds
        self._first: Frame | None = self._timed(first)

    def _timed(self, pixels: Pixels) -> Frame:
        self._last = max(self._last + 1, round((time.monotonic() - self._began) / _MICROSECOND))
        duration = round(1 / self.info.rate / _MICROSECOND)
        return Frame(fitted(pixels, self.info.width, self.info.height), FrameTime(self._last, duration, _MICROSECOND))

    def __iter__(self) -> Iterator[Frame]:
        frame, self._first = self._first, None
        while frame is not None:
            yield frame
            frame = self._next()

    def _next(self) -> Frame | None:
        pixels = self._camera.read()
        if pixels is None:
            pixels = self._opened_again()
        return None if pixels is None else self._timed(pixels)

    def _opened_again(self) -> Pixels | None:
        """The first picture after the camera has been opened again; None when it does not come back."""
        tries = self._settings.reconnects
        for attempt in range(tries):
            self._camera.close()
            if self._closed.wait(self._settings.pause_before(attempt)):
                return None
            self._camera = _Camera(self._device, self._settings.timeout_seconds)
            if (pixels := self._camera.read()) is not None:
                self._num_gaps += 1
                return pixels
        ending = f" and did not come back in {tries} tries" if tries else ""
        self._lost = f"the camera was lost after {float(self._last * _MICROSECOND):.1f} s{ending}"
        return None

    @property
    def losses(self) -> str | None:
        """How often the camera was lost; None when it never was."""
        return joined((self._lost, f"the camera was lost {self._num_gaps} times" if self._num_gaps else None))

    def close(self) -> None:
        """Let the camera go; a second call does nothing."""
        self._closed.set()
        self._camera.close()


class _Camera:
    """An opened camera, or one that cannot be opened. All its calls are made by one thread, as some systems ask for."""

    def __init__(self, device: int | str, seconds: float) -> None:
        self._seconds = seconds
        self._worker = TimedWorker()
        self._capture: cv2.VideoCapture | None = None
        self.hangs = False
        try:
            self._capture = self._call(lambda: cv2.VideoCapture(device))
        except cv2.error:
            pass
        except TimeoutError:
            self.hangs = True
        self.is_there = self._capture is not None and self._capture.isOpened()

    def _call(self, function: Callable[[], T]) -> T:
        return self._worker.call(lambda: _quietly(function), self._seconds)

    def read(self) -> Pixels | None:
        """The next picture, RGB (H, W, 3); None when there is none in time."""
        if self._capture is None:
            return None
        try:
            was_read, picture = self._call(self._capture.read)
        except cv2.error:
            return None
        except TimeoutError:
            self.hangs, self._capture = True, None  # what hangs cannot even be released
            return None
        return np.asarray(cv2.cvtColor(picture, cv2.COLOR_BGR2RGB), np.uint8) if was_read else None

    @property
    def rate(self) -> float:
        """Pictures a second, as it claims."""
        told = 0.0 if self._capture is None else float(self._capture.get(cv2.CAP_PROP_FPS))
        return told if 0.0 < told <= _HIGHEST_RATE else _USUAL_RATE

    def close(self) -> None:
        """Let it go; a second call does nothing."""
        if self._capture is not None:
            with suppress(TimeoutError, cv2.error):
                self._call(self._capture.release)
            self._capture = None
        self._worker.end()


def _quietly(function: Callable[[], T]) -> T:
    """The function's result, with OpenCV's log off meanwhile: that a camera is missing is ours to say."""
    log = getattr(cv2.utils, "logging", cv2)  # before OpenCV 5 the functions stood beside all others
    level = log.getLogLevel()
    log.setLogLevel(_SILENT)
    try:
        return function()
    finally:
        log.setLogLevel(level)


def _about_missing(camera: _Camera, seconds: float) -> str:
    if camera.hangs:
        return f"sends no picture within {seconds:g} s"
    if camera.is_there:
        return "sends no pictures"
    answering = [str(number) for number in range(_PROBED) if _answers(number)]
    others = f"cameras that answer: {', '.join(answering)}" if answering else "none answers"
    return f"cannot be opened; {others}"


def _answers(number: int) -> bool:
    camera = _Camera(number, _PROBE_SECONDS)
    camera.close()
    return camera.is_there
