"""Numbers about videos: a whole run against the bare session, the time of each stage, and what memory does.

`scripts/benchmark --video` prints them.
"""

import multiprocessing
import os
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any, cast

import imageio_ffmpeg  # type: ignore[import-untyped]
import numpy as np
from measuring import report, resident_mebibytes

from ssd_detect.arrays import Pixels
from ssd_detect.detections import Detections
from ssd_detect.detector import Detector
from ssd_detect.media.video.reader import VideoReader
from ssd_detect.media.video.sources.inputs import find_videos
from ssd_detect.media.video.sources.settings import SourceSettings
from ssd_detect.model.manifest import DEFAULT_CHECKPOINT
from ssd_detect.settings import (
    DEFAULT_BATCH_SIZE,
    CheckpointSettings,
    DetectionSettings,
    EncodingSettings,
    Selection,
)
from ssd_detect.stages import StageTimes
from ssd_detect.videos.job import VideoJob, VideoJobHooks
from ssd_detect.videos.settings import Products, VideoJobSettings

PIECE = 12 * DEFAULT_BATCH_SIZE  # frames
STAGES = ("read", "resize+network", "decode", "nms", "draw", "encode", "finish")
EARLY = 100  # frames after which memory should not grow


def video_numbers(video: Path | None, num_frames: int | None) -> None:
    """Everything about videos; a made clip stands in when no video is given."""
    with tempfile.TemporaryDirectory() as folder:
        ratio(video or made_clip(Path(folder) / "made.mp4", "768x432", 150), num_frames)
        print("\nMemory of a run, a stand-in in place of the network")
        if video is not None:
            memory(str(video), video)
        memory("20,000 small frames, made", made_clip(Path(folder) / "many.mp4", "96x64", 20_000))


def made_clip(path: Path, size: str, num_frames: int) -> Path:
    """A moving test picture with a tone."""
    sources = ["-f", "lavfi", "-i", f"testsrc2=s={size}:r=25", "-f", "lavfi", "-i", "sine"]
    encoding = ["-c:v", "libx264", "-preset", "veryfast", "-pix_fmt", "yuv420p", "-c:a", "aac"]
    command = [imageio_ffmpeg.get_ffmpeg_exe(), "-v", "error", *sources, *encoding]
    seconds = ["-frames:v", str(num_frames), "-t", str(num_frames / 25)]
    subprocess.run([*command, *seconds, str(path)], check=True, stdin=subprocess.DEVNULL)
    return path


def ratio(video: Path, num_frames: int | None) -> None:
    """`video` against the session calls alone, in turns of `PIECE` frames of the same video."""
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else float("nan")
    print(f"\nA run over {video}, batches of {DEFAULT_BATCH_SIZE}, a piece at a time (load before: {load:.1f})")
    times, bare, whole, count = StageTimes(), Stopwatch(), Stopwatch(), 0
    with Detector(times=times) as detector, VideoReader(video) as frames, tempfile.TemporaryDirectory() as folder:
        taken = islice(frames, num_frames)
        begin = frames.info.begin
        while piece := list(islice(taken, PIECE)):
            batches = stacked([frame.pixels for frame in piece])
            if not count:
                detector._network.run(batches[0])  # the first call packs weights
            part = Selection(start=piece[0].time.start - begin, end=piece[-1].time.end - begin, max_frames=len(piece))
            with bare.running():
                for batch in batches:
                    detector._network.run(batch)
            with whole.running():
                done = Run(Path(folder) / f"{count}.mp4", part, detector, times).do(video)
            assert len(done.resident) == len(piece), f"{len(done.resident)} frames came out, expected {len(piece)}"
            count += len(piece)
    report("session calls alone", f"{bare.seconds:.1f} s", f"{bare.cpu_seconds:.1f} s of CPU")
    report("the run", f"{whole.seconds:.1f} s", f"{whole.cpu_seconds:.1f} s of CPU")
    report("frames a second", f"{count / whole.seconds:.2f}")
    report("throughput, of the bare session's", f"{bare.seconds / whole.seconds:.3f}", "at least 0.95")
    report("    by CPU time, which other programs disturb less", f"{bare.cpu_seconds / whole.cpu_seconds:.3f}")
    tell_stages(times.seconds(), whole.seconds, count)


@dataclass
class Stopwatch:
    """Seconds of the blocks that ran under it, by the clock and of all cores."""

    seconds: float = 0.0
    cpu_seconds: float = 0.0

    @contextmanager
    def running(self) -> Iterator[None]:
        """Count the block."""
        start, cpu_start = time.perf_counter(), time.process_time()
        yield
        self.seconds += time.perf_counter() - start
        self.cpu_seconds += time.process_time() - cpu_start


def stacked(pictures: list[Pixels]) -> list[Pixels]:
    """Batches (B, H, W, 3), as the session takes them."""
    starts = range(0, len(pictures), DEFAULT_BATCH_SIZE)
    return [np.stack(pictures[i : i + DEFAULT_BATCH_SIZE]) for i in starts]


def tell_stages(seconds: dict[str, float], whole: float, num_frames: int) -> None:
    """Stages run side by side, and wait for a core while the network has all of them."""
    for stage in STAGES:
        spent = seconds.get(stage, 0.0)
        report(f"    {stage}", f"{1000 * spent / num_frames:.2f} ms a frame", f"{spent / whole:6.1%} of the run")


def memory(what: str, video: Path) -> None:
    """In a process of its own, whose memory nothing else has touched."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        frames, end = pool.apply(resident_of, (video,))
    report(what, f"{len(frames)} frames")
    if len(frames) < EARLY:
        return
    for place, value in (
        (f"at frame {EARLY}", frames[EARLY - 1]),
        ("at the last frame", frames[-1]),
        ("at the end", end),
    ):
        report(f"    {place}", f"{value:.0f} MiB", f"{value - frames[EARLY - 1]:+.1f} MiB, at most +30")


def resident_of(video: Path) -> tuple[list[float], float]:
    """MiB after each frame of a run, and when the copy is put together."""
    with tempfile.TemporaryDirectory() as folder:
        run = Run(Path(folder) / "copy.mp4", Selection(), cast(Detector, StandIn()), StageTimes()).do(video)
        return run.resident, resident_mebibytes()


@dataclass
class Run:
    """One run of `video` with a detector that is there already."""

    target: Path
    selection: Selection
    detector: Detector
    times: StageTimes
    resident: list[float] = field(default_factory=list)
    """MiB after each frame."""

    def do(self, video: Path) -> "Run":
        """Make the copy."""
        settings = VideoJobSettings(
            CheckpointSettings(DEFAULT_CHECKPOINT),
            DetectionSettings(),
            DEFAULT_BATCH_SIZE,
            Products(file=self.target),
            SourceSettings(),
            self.selection,
            EncodingSettings(),
        )
        hooks = VideoJobHooks(
            load=lambda times: nullcontext(self.detector),
            progress=lambda name, total: nullcontext(lambda: None),
            on_outcome=lambda outcome: None,
            on_failure=lambda error: print(f"  {error}"),
            on_record=lambda record: self.resident.append(resident_mebibytes()),
        )
        VideoJob(find_videos([str(video)], recursive=False), settings, hooks, self.times).run()
        return self


class StandIn:
    """Two objects in every frame, that move, at once."""

    checkpoint_name, checkpoint_sha256 = "stand-in", "0" * 64

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
            class_names=("background", "car", "person"),
        )
