"""What a worker does with its network: timed calls, and the outputs by which engines are compared."""

import time
from collections.abc import Iterator
from itertools import cycle, islice
from pathlib import Path
from typing import Any

from ssd_detect.benchmark.agreement import PictureOutputs, write_outputs
from ssd_detect.benchmark.memory import forget_peak, peak_bytes
from ssd_detect.benchmark.results import BenchmarkPicture, Opened
from ssd_detect.benchmark.settings import BenchmarkSettings
from ssd_detect.benchmark.video_run import run_video
from ssd_detect.detector import Detector
from ssd_detect.errors import PictureError
from ssd_detect.media.drawing.draw import draw_in_place
from ssd_detect.media.picture_files import save_picture
from ssd_detect.media.pictures import Picture, open_picture
from ssd_detect.media.video.reader import VideoReader
from ssd_detect.stages import StageTimes

REST = "rest"
"""The stage for what no other stage counts."""


class Work:
    """One detector and its pictures.

    Args:
        settings: what was chosen.
        paths: picture files, at least one; those that cannot be read are told in `opened`.

    Raises:
        PictureError: none can be read.
        CheckpointError, SettingError, DeviceError, MissingPackageError: as `Detector`.
    """

    def __init__(self, settings: BenchmarkSettings, paths: list[Path]) -> None:
        self._settings, self._times, self._peak = settings, StageTimes(), 0
        self._pictures: list[tuple[Path, Picture]] = []
        failures = list(self._read(paths))
        if not self._pictures:
            raise PictureError(failures[0])
        self._detector = Detector(
            settings.checkpoint,
            settings=settings.detection,
            session=settings.session,
            batch_size=settings.batch_size,
            times=self._times,
        )
        start = time.perf_counter()
        self._detector(self._pictures[0][1].pixels)
        self.opened = self._opened(failures, time.perf_counter() - start)

    def _read(self, paths: list[Path]) -> Iterator[str]:
        for path in paths:
            try:
                self._pictures.append((path, open_picture(path, name=str(path))))
            except PictureError as error:
                yield str(error)

    def _opened(self, failures: list[str], first_call: float) -> Opened:
        detector, runs_on = self._detector, self._detector.runs_on
        return Opened(
            checkpoint=detector.checkpoint_name,
            sha256=detector.checkpoint_sha256,
            size=detector.spec.size,
            num_classes=len(detector.class_names) - 1,
            engine=runs_on.engine.value,
            version=runs_on.version,
            device=runs_on.device,
            precision=runs_on.precision.value,
            threads=self._settings.most_threads,
            pictures=tuple(BenchmarkPicture(path.name, *picture.size) for path, picture in self._pictures),
            failures=tuple(failures),
            first_call_seconds=first_call,
        )

    def batch(self, size: int) -> dict[str, Any]:
        """Detect once in so many pictures, the same again and again where there are fewer.

        Returns:
            `seconds`, and `peak_bytes`, None where the system does not tell.
        """
        pictures = list(islice(cycle(picture.pixels for _, picture in self._pictures), size))
        self._detector.batch_size = size
        self._noted_peak()
        forget_peak()
        start = time.perf_counter()
        self._detector(pictures)
        seconds = time.perf_counter() - start
        self._detector.batch_size = self._settings.batch_size
        return {"seconds": seconds, "peak_bytes": self._noted_peak()}

    def each(self) -> float:
        """Seconds for all pictures, one at a time."""
        start = time.perf_counter()
        for _, picture in self._pictures:
            self._detector(picture.pixels)
        return time.perf_counter() - start

    def stages(self, folder: str) -> dict[str, float]:
        """Seconds of each stage of the first picture, from its file to the annotated file in `folder`; then `REST`."""
        path, _ = self._pictures[0]
        before, start = self._times.seconds(), time.perf_counter()
        with self._times.measure("read"):
            picture = open_picture(path, name=str(path))
        found = self._detector(picture.pixels)
        with self._times.measure("draw"):
            draw_in_place(picture.pixels, found)
        with self._times.measure("encode"):
            save_picture(Path(folder) / f"annotated{path.suffix}", picture.pixels, picture.origin, overwrite=True)
        whole, after = time.perf_counter() - start, self._times.seconds()
        order = dict.fromkeys(("read", *before, *after))
        stages = {name: after[name] - before.get(name, 0.0) for name in order if after[name] > before.get(name, 0.0)}
        return {**stages, REST: whole - sum(stages.values())}

    def video(self, clip: str, target: str) -> float:
        """Seconds for the annotated copy of a clip, as `ssd-detect video` makes it."""
        start = time.perf_counter()
        run_video(Path(clip), Path(target), self._detector, self._settings)
        return time.perf_counter() - start

    def network(self, clip: str) -> float:
        """Seconds of the network's own calls for the frames of a clip, in the batches of the video.

        One batch of frames at a time is in memory, whose peak is told too.
        """
        before = self._in_network()
        with VideoReader(clip) as reader:
            frames = (frame.pixels for frame in reader)
            while batch := list(islice(frames, self._settings.batch_size)):
                self._detector(batch)
        return self._in_network() - before

    def _in_network(self) -> float:
        return sum(seconds for name, seconds in self._times.seconds().items() if "network" in name)

    def outputs(self, target: str) -> None:
        """Write what the network puts out for each picture, and what is found in it."""
        write_outputs(
            Path(target),
            [
                PictureOutputs(self._detector.raw_outputs(picture.pixels)[0], self._detector(picture.pixels))
                for _, picture in self._pictures
            ],
        )

    def peak(self) -> int | None:
        """The most bytes that this process has held, of all calls."""
        return None if self._noted_peak() is None else self._peak

    def _noted_peak(self) -> int | None:
        """Since the last `forget_peak`."""
        now = peak_bytes()
        self._peak = max(self._peak, now or 0)
        return now
