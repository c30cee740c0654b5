"""A video through one detector: read, detect in batches, draw, write, all side by side; all it knows are callables."""

from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass, field

from ssd_detect.arrays import Pixels
from ssd_detect.detections import BestGuess, Detections
from ssd_detect.media.pipeline import batches, read_ahead, write_behind
from ssd_detect.media.video.clock import FrameTime
from ssd_detect.media.video.frames import Frame
from ssd_detect.stages import StageTimes


@dataclass
class VideoSummary:
    """What came of a video so far.

    Args:
        num_frames: frames done.
        seconds: from the begin of the first to the end of the last.
        objects: class name -> detections over all frames.
        best_guess: the best score of frames in which nothing reached the threshold.
    """

    num_frames: int = 0
    seconds: float = 0.0
    objects: Counter[str] = field(default_factory=Counter)
    best_guess: BestGuess | None = None
    _start: float = 0.0

    def add(self, time: FrameTime, detections: Detections) -> None:
        """Count a frame; frames come in the order of their times."""
        if self.num_frames == 0:
            self._start = time.start_seconds
        self.num_frames += 1
        self.seconds = time.end_seconds - self._start
        self.objects.update(found.class_name for found in detections)
        guess = detections.best_guess
        if guess is not None and (self.best_guess is None or guess.score > self.best_guess.score):
            self.best_guess = guess


@dataclass(frozen=True)
class VideoRun:
    """How a video is done.

    Args:
        detect: pictures in, their detections out.
        draw: a picture and its detections in, the annotated picture out.
        batch_size: frames handed to `detect` at once; about three times as many are in memory.
        times: gets the seconds of `read`, `draw` and `encode`.
    """

    detect: Callable[[list[Pixels]], list[Detections]]
    draw: Callable[[Pixels, Detections], Pixels]
    batch_size: int
    times: StageTimes

    def annotate(
        self,
        frames: Iterable[Frame],
        append: Callable[[Pixels, FrameTime], None],
        on_frame: Callable[[], None] = lambda: None,
    ) -> VideoSummary:
        """Detect in all frames and give the annotated ones to `append`, from a thread; `on_frame` is called for each.

        The first error of any stage ends the run and is raised.
        """

        def write(item: tuple[Frame, Detections]) -> None:
            self._write(*item, append)
            on_frame()

        summary = VideoSummary()
        with write_behind(write, depth=self.batch_size) as writing, closing(self.detected(frames)) as found:
            for frame, detections in found:
                writing.put((frame, detections))
                summary.add(frame.time, detections)
        return summary

    def detected(self, frames: Iterable[Frame]) -> Generator[tuple[Frame, Detections], None, None]:
        """Each frame with what was found in it; the next batch is read meanwhile. Close it when you leave early."""
        with read_ahead(self._timed(frames), depth=self.batch_size) as ready:
            for batch in batches(ready, self.batch_size):
                yield from zip(batch, self.detect([frame.pixels for frame in batch]), strict=True)

    def _timed(self, frames: Iterable[Frame]) -> Iterator[Frame]:
        iterator = iter(frames)
        while True:
            with self.times.measure("read"):
                frame = next(iterator, None)
            if frame is None:
                return
            yield frame

    def _write(self, frame: Frame, detections: Detections, append: Callable[[Pixels, FrameTime], None]) -> None:
        with self.times.measure("draw"):
            annotated = self.draw(frame.pixels, detections)
        with self.times.measure("encode"):
            append(annotated, frame.time)
