"""A video through one detector: read, prepare, detect in batches, fill in, write, side by side.

All it knows are callables.
"""

from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ssd_detect.arrays import Pixels
from ssd_detect.detections import Detections
from ssd_detect.errors import PictureError, SettingError
from ssd_detect.media.detecting import Detect, in_two_steps
from ssd_detect.media.pipeline import read_ahead, write_behind
from ssd_detect.media.video.between import interpolate
from ssd_detect.media.video.frames import Frame
from ssd_detect.media.video.selection import ChosenFrame
from ssd_detect.settings import DEFAULT_BATCH_SIZE
from ssd_detect.stages import StageTimes

_DEPTH_LIVE = 32
"""Frames of a live source that may wait when the network need not see them all."""

_DEPTH_BETWEEN = 16
"""Frames that may wait for the sake of those that the network does not see; more are memory without gain."""


class _ReadyFrame(NamedTuple):
    """A frame that is taken, and what the network gets of it, if it is to see it."""

    chosen: ChosenFrame
    prepared: Any = None


class DetectedFrame(NamedTuple):
    """A frame and what is in it.

    Args:
        number: its place among the frames that are taken, from 0.
        frame: the frame.
        detections: found in it, or filled in.
        is_detected: whether the network saw this very frame.
        around: what was found in the frames before and behind that the network saw, if it did not see this one.
    """

    number: int
    frame: Frame
    detections: Detections
    is_detected: bool
    around: tuple[Detections, ...] = ()


@dataclass(frozen=True)
class VideoRun:
    """How a video is done.

    Args:
        detect: pictures in, their detections out; a `Detector` gets those that are not live as `prepare` makes them.
        choose: of all frames, those that are taken.
        batch_size: frames handed to `detect` at once.
        stride: frames of which the network sees one.
        interpolates: objects move evenly in frames that the network does not see; else they stand still.
        newest_wins: the source is live: frames that come while the network is busy are dropped.
        keeps_up: the source is live, and every frame is written: the network sees the newest one whenever it is free,
            and the others show what was found last.
        times: gets the seconds of `read`.
    """

    detect: Detect
    choose: Callable[[Iterable[Frame]], Iterable[ChosenFrame]]
    batch_size: int = 1
    stride: int = 1
    interpolates: bool = False
    newest_wins: bool = False
    keeps_up: bool = False
    times: StageTimes = field(default_factory=StageTimes)

    def do(self, frames: Iterable[Frame], write: Callable[[DetectedFrame], None]) -> None:
        """Give each frame with its objects to `write`, in a thread of its own.

        About three batches are in memory, and the frames between theirs, or some if those are many. The first error of
        any stage ends the run and is raised.
        """
        with write_behind(write, self._depth) as writing, closing(self.detected(frames)) as found:
            for frame in found:
                writing.put(frame)

    @property
    def _depth(self) -> int:
        """Frames that may wait on either side: what comes and goes while the network is busy once."""
        if self._is_live:
            return self.batch_size  # a picture of now is worth more than one of each moment
        return max(self.batch_size, min(self.batch_size * self.stride, _DEPTH_BETWEEN))

    @property
    def _is_live(self) -> bool:
        return self.newest_wins or self.keeps_up

    def detected(self, frames: Iterable[Frame]) -> Generator[DetectedFrame, None, None]:
        """Each frame with what is in it; the next ones are read meanwhile. Close it when you leave early."""
        prepare, detect = in_two_steps(self.detect)
        depth = _DEPTH_LIVE if self.keeps_up else 1
        with ExitStack() as stack:
            read = stack.enter_context(read_ahead(self._timed(frames), depth, newest_wins=self._is_live))
            if self.keeps_up:
                yield from self._keeping_up(iter(self.choose(read)))
                return
            ready = self._prepared(read, prepare)
            if (
                not self._is_live
            ):  # there a frame that waits may be dropped, and the detector may come with the first one
                ready = stack.enter_context(read_ahead(ready, self._depth))
            yield from self._filled(ready, detect)

    def _timed(self, frames: Iterable[Frame]) -> Iterator[Frame]:
        iterator = iter(frames)
        while True:
            with self.times.measure("read"):
                frame = next(iterator, None)
            if frame is None:
                return
            yield frame

    def _prepared(self, frames: Iterable[Frame], prepare: Callable[[Pixels], Any]) -> Iterator[_ReadyFrame]:
        for chosen in self.choose(frames):
            yield _ReadyFrame(chosen, prepare(chosen.frame.pixels) if chosen.to_detect else None)

    def _filled(
        self, ready: Iterator[_ReadyFrame], detect: Callable[[list[Any]], list[Detections]]
    ) -> Iterator[DetectedFrame]:
        waiting: list[ChosenFrame] = []  # frames behind the last one that the network saw
        before: Detections | None = None
        for group in _groups(ready, self.batch_size):
            seen = [prepared for frame, prepared in group if frame.to_detect]
            found = iter(detect(seen) if seen else ())
            for frame, _ in group:
                if not frame.to_detect:
                    waiting.append(frame)
                    continue
                after = next(found)
                yield from self._between(waiting, before, after)
                yield DetectedFrame(frame.number, frame.frame, after, not frame.is_repeat)
                waiting, before = [], after
        yield from self._between(waiting, before, None)

    def _between(
        self, waiting: list[ChosenFrame], before: Detections | None, after: Detections | None
    ) -> Iterator[DetectedFrame]:
        for place, (number, frame, *_) in enumerate(waiting, 1):
            assert before is not None  # the first frame of all is one that the network sees
            if after is None:
                yield DetectedFrame(number, frame, before, False, (before,))
                continue
            share = place / (len(waiting) + 1)
            objects = interpolate(before, after, share) if self.interpolates else before
            yield DetectedFrame(number, frame, objects, False, (before, after))

    def _keeping_up(self, chosen: Iterator[ChosenFrame]) -> Iterator[DetectedFrame]:
        first = next(chosen, None)
        if first is None:
            return
        (latest,) = self.detect([first.frame.pixels])
        yield DetectedFrame(first.number, first.frame, latest, True)

        def look(frame: Frame) -> None:
            nonlocal latest
            (latest,) = self.detect([frame.pixels])

        with write_behind(look, depth=1, newest_wins=True) as looking:
            for number, frame, *_ in chosen:
                looking.put(frame)
                yield DetectedFrame(number, frame, latest, False)


def detect_frames(
    detect: Detect, frames: Iterable[Frame], *, batch_size: int = DEFAULT_BATCH_SIZE
) -> Generator[DetectedFrame, None, None]:
    """Each frame with what is in it, in order; the next ones are read and resized while the network is busy.

        with Detector() as detector, VideoReader("input.mp4") as video:
            for found in detect_frames(detector, video):
                print(float(found.frame.time.start), len(found.detections))

    Args:
        detect: a `Detector`, or anything else that takes pictures and returns their detections.
        frames: of a `VideoReader`, or any pictures with `frames_at_rate`.
        batch_size: frames handed to `detect` at once.

    Raises:
        SettingError: at once, a batch size below 1. While iterating, whatever `detect` and `frames` raise.
    """
    if batch_size < 1:
        raise SettingError(f"batch_size is {batch_size}, expected a whole number of at least 1")
    return VideoRun(detect, _all, batch_size).detected(frames)


def _all(frames: Iterable[Frame]) -> Iterator[ChosenFrame]:
    for number, frame in enumerate(frames):
        if not isinstance(frame, Frame):
            raise PictureError(f"expected frames, got {type(frame).__name__}; frames_at_rate(pictures, 25) makes them")
        yield ChosenFrame(number, frame, True)


def _groups(ready: Iterator[_ReadyFrame], size: int) -> Iterator[list[_ReadyFrame]]:
    """Frames in a row up to the `size`-th among them that the network sees, as soon as that one is there.

    Only the last group may have fewer of them, or none.
    """
    group: list[_ReadyFrame] = []
    num_to_detect = 0
    for frame in ready:
        group.append(frame)
        num_to_detect += frame.chosen.to_detect
        if num_to_detect == size:
            yield group
            group, num_to_detect = [], 0
    if group:
        yield group
