"""What memory does over 20,000 frames, a stand-in in the place of the network. In a process of its own."""

from pathlib import Path
from typing import Any, cast

import numpy as np
from measuring import resident_mebibytes

from bench.clips import small_clip
from bench.jobs import Run
from bench.network_calls import Calls
from bench.number import Number, PartResult
from bench.options import Options
from bench.workers import Worker
from ssd_detect.arrays import Pixels
from ssd_detect.boxes.profiles import resolved
from ssd_detect.conventions import Profile
from ssd_detect.detections import Detections
from ssd_detect.settings import DEFAULT_BATCH_SIZE, DetectionSettings

_EARLY = 100  # frames after which memory should not grow
_LIMIT_MEBIBYTES = 30.0


def measure(options: Options) -> PartResult:
    """A video, or a made one."""
    video = options.video or small_clip(options.folder / "many.mp4", 300 if options.tiny else 20_000)
    with Worker("bench.memory:stand_in_calls", {}, options.environment()) as worker:
        frames, end = worker.ask("run", str(video), str(options.folder / "memory.mp4"))
    return PartResult(judged(frames, end), samples={"MiB after each frame": frames})


def judged(frames: list[float], end: float) -> list[Number]:
    """How much is added after the first frames."""
    if len(frames) < _EARLY:
        return [Number("memory: grown", None, _LIMIT_MEBIBYTES, unit="MiB", note=f"only {len(frames)} frames")]
    early = frames[_EARLY - 1]
    places = {"at the last frame": frames[-1], "at the end": end}
    return [
        Number(f"memory: grown from frame {_EARLY}, {place}", value - early, _LIMIT_MEBIBYTES, unit="MiB")
        for place, value in places.items()
    ] + [Number(f"memory: at frame {_EARLY}", early, unit="MiB", note=f"{len(frames)} frames in all")]


def stand_in_calls() -> Calls:
    """In the worker: MiB after each frame, and when the copy is put together."""

    def run(video: str, copy: str) -> tuple[list[float], float]:
        done = Run(cast(Any, StandIn()))
        done.video(Path(video), Path(copy))
        return done.resident, resident_mebibytes()

    return {"run": run}


class StandIn:
    """Two objects in every frame, that move, at once."""

    checkpoint_name, checkpoint_sha256, batch_size = "stand-in", "0" * 64, DEFAULT_BATCH_SIZE
    class_names = ("background", "car", "person")
    settings = resolved(DetectionSettings(), Profile.TUTORIAL)

    def __init__(self) -> None:
        self._count = 0

    def __call__(self, pictures: list[Pixels]) -> list[Detections]:
        """As a detector."""
        return [self._found(picture) for picture in pictures]

    def _found(self, picture: Pixels) -> Detections:
        self._count += 1
        height, width = picture.shape[:2]
        share = self._count % 100 / 200
        boxes: Any = [[share * width, 0, (share + 0.2) * width, height], [0, share * height, width, height]]
        return Detections(
            boxes=np.array(boxes, np.float32),
            scores=np.array([0.5 + share, 0.5], np.float32),
            class_ids=np.array([1, 2]),
            size=(width, height),
            class_names=self.class_names,
        )
