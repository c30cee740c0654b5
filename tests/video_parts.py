"""What the tests of videos have in common: a copy made of a clip, a stand-in for the network, made frames."""

import threading
from collections.abc import Callable, Iterable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from ssd_detect.arrays import Pixels
from ssd_detect.boxes.profiles import resolved
from ssd_detect.conventions import Profile
from ssd_detect.detections import BestGuess, Detections
from ssd_detect.media.video.clock import FrameTime
from ssd_detect.media.video.frames import Frame
from ssd_detect.media.video.reader import VideoReader
from ssd_detect.media.video.run import VideoRun
from ssd_detect.media.video.selection import Chosen
from ssd_detect.media.video.writer import VideoWriter
from ssd_detect.settings import DetectionSettings, Selection
from ssd_detect.stages import StageTimes

NAMES = ("background", "car", "person")


def copy(source: Path, target: Path, **options: Any) -> str | None:
    """Through reader and writer, nothing drawn; what the reader found missing."""
    with VideoReader(source) as reader:
        with VideoWriter(target, like=reader.info, **options) as writer:
            for frame in reader:
                writer.append(frame.pixels, frame.time)
        return reader.losses


def read(path: Path) -> list[Frame]:
    with VideoReader(path) as reader:
        return list(reader)


def found(picture: Pixels, class_ids: tuple[int, ...] = (1,)) -> Detections:
    """A stand-in for the network: the same boxes in every picture."""
    height, width = picture.shape[:2]
    boxes = np.array([[0, 0, width, height]] * len(class_ids), np.float32).reshape(-1, 4)
    scores = np.full(len(class_ids), 0.9, np.float32)
    guess = None if class_ids else BestGuess("person", 0.25)
    return Detections(boxes, scores, np.array(class_ids, np.int64), (width, height), NAMES, best_guess=guess)


def frames_of(count: int, pixels: Callable[[], Pixels] | None = None) -> Iterator[Frame]:
    for number in range(count):
        picture = pixels() if pixels else np.full((4, 6, 3), number % 256, np.uint8)
        yield Frame(picture, FrameTime(10 + number, 1, Fraction(1, 10)))


def every_frame(stride: int = 1) -> Callable[[Iterable[Frame]], Chosen]:
    return lambda frames: Chosen(frames, Selection(stride=stride))


def video_run(batch_size: int = 4, **parts: Any) -> VideoRun:
    defaults: dict[str, Any] = {
        "detect": lambda batch: [found(picture) for picture in batch],
        "choose": every_frame(),
        "times": StageTimes(),
    }
    return VideoRun(batch_size=batch_size, **(defaults | parts))


def no_pipeline_is_left() -> bool:
    return not any("pipeline" in thread.name for thread in threading.enumerate())


class StandIn:
    """What `open_detector` gives, without a network."""

    def __init__(self, class_ids: tuple[int, ...] = (1, 2, 2), error: BaseException | None = None) -> None:
        self.times = StageTimes()
        self.class_ids, self.error = class_ids, error
        self.checkpoint_name, self.checkpoint_sha256, self.class_names = "stand-in", "0" * 64, NAMES
        self.settings = resolved(DetectionSettings(), Profile.TUTORIAL)

    def __enter__(self) -> "StandIn":
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def __call__(self, batch: list[Pixels]) -> list[Detections]:
        if self.error is not None:
            raise self.error
        return [found(picture, self.class_ids) for picture in batch]
