"""`ssd-detect benchmark` without `--compare`: one network, part by part, in turns."""

import tempfile
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from ssd_detect.benchmark.cold_start import cold_start_of, start_cold
from ssd_detect.benchmark.machine import look_at_machine
from ssd_detect.benchmark.made import VIDEO_SIZE, made_clip, made_pictures
from ssd_detect.benchmark.results import BatchTimes, Benchmark, ColdStart, Opened, StageTable, ThreadTimes, VideoTimes
from ssd_detect.benchmark.samples import Samples, interleaved
from ssd_detect.benchmark.settings import MOST_PICTURES, BenchmarkSettings
from ssd_detect.benchmark.workers import Worker
from ssd_detect.shipped import PORTRAIT


def chosen_pictures(settings: BenchmarkSettings, folder: Path) -> tuple[Path, ...]:
    """The first few of those that were given; else made ones, written into `folder`."""
    return settings.pictures[:MOST_PICTURES] or made_pictures(PORTRAIT, folder)


def measure(settings: BenchmarkSettings, tell: Callable[[str], None] = lambda step: None) -> Benchmark:
    """Measure everything that the settings ask for.

    Args:
        settings: what was chosen.
        tell: gets the name of each step before it begins.

    Raises:
        PictureError: no picture can be read.
        CheckpointError, SettingError, DeviceError, MissingPackageError: as `Detector`.
        WorkerError: a worker died or hung.
    """
    tell("the machine")
    machine = look_at_machine()
    with tempfile.TemporaryDirectory(prefix="ssd-detect-") as name:
        folder = Path(name)
        pictures = chosen_pictures(settings, folder)
        with Worker("benchmark") as worker:
            tell("the network's start")
            opened = worker.open(settings, pictures)
            run = _Run(settings, worker, opened, folder, tell)
            stages, batches = run.stages(), run.batches()
            video, threads = run.video(batches[-1]), run.threads(pictures)
            peak = worker.ask("peak")
        # Last, and alone: what is wrong with the settings is said before, in the words of its own error.
        cold = _cold_start(settings, pictures[0], tell)
    return Benchmark(
        machine=machine,
        pictures=opened.pictures,
        opened=opened,
        num_warm_ups=run.num_warm_ups,
        cold_start=cold,
        stages=stages,
        batches=batches,
        threads=threads,
        video=video,
        peak_bytes=peak,
        failures=opened.failures,
    )


def _cold_start(settings: BenchmarkSettings, picture: Path, tell: Callable[[str], None]) -> ColdStart:
    starts = []
    for number in range(settings.cold_starts):
        tell(f"cold start {number + 1} of {settings.cold_starts}")
        starts.append(start_cold(picture, settings.options))
    return cold_start_of(starts)


@dataclass
class _Run:
    """The parts that one open network can tell."""

    settings: BenchmarkSettings
    worker: Worker
    opened: Opened
    folder: Path
    tell: Callable[[str], None]
    num_warm_ups: int = 1  # the first call

    def _turns(self, variants: Mapping[Any, Callable[[], Any]], runs: int) -> dict[Any, list[Any]]:
        """A warm-up call of each, then `runs` more in turns; the warm-up's is the first of each list."""
        self.num_warm_ups += len(variants)
        return interleaved(variants, runs + 1)

    def stages(self) -> StageTable:
        self.tell("the stages of a picture")
        runs = self._turns({"": partial(self.worker.ask, "stages", folder=str(self.folder))}, self.settings.runs)[""]
        runs = runs[1:]
        return StageTable(
            self.opened.pictures[0],
            Samples(tuple(sum(run.values()) for run in runs)),
            {name: Samples(tuple(run.get(name, 0.0) for run in runs)) for name in runs[0]},
        )

    def batches(self) -> tuple[BatchTimes, ...]:
        """Memory is that of the warm-up, in which batches grow: later calls find what larger ones have left behind."""

        def call(size: int) -> Any:
            self.tell(f"a batch of {size}")
            return self.worker.ask("batch", size=size)

        variants = {size: partial(call, size) for size in self.settings.batch_sizes}
        return tuple(
            BatchTimes(size, Samples(tuple(run["seconds"] for run in runs[1:])), runs[0]["peak_bytes"])
            for size, runs in self._turns(variants, self.settings.long_runs).items()
        )

    def threads(self, pictures: tuple[Path, ...]) -> tuple[ThreadTimes, ...]:
        """A worker for each count but the one that is open already; none on a GPU, which does the work itself."""
        counts = self.settings.thread_counts
        if self.opened.device != "CPU" or len(counts) == 1:
            return ()
        with ExitStack() as stack:
            workers = {}
            for count in counts:
                self.tell(f"a network with threads: {count}")
                workers[count] = self._with_threads(count, pictures, stack)
            variants = {count: partial(worker.ask, "batch", size=1) for count, worker in workers.items()}
            self.tell("one picture with fewer threads")
            turns = self._turns(variants, self.settings.runs)
        return tuple(
            ThreadTimes(count, Samples(tuple(run["seconds"] for run in runs[1:]))) for count, runs in turns.items()
        )

    def _with_threads(self, count: int, pictures: tuple[Path, ...], stack: ExitStack) -> Worker:
        if count == self.settings.most_threads:
            return self.worker
        self.num_warm_ups += 1
        worker = stack.enter_context(Worker(f"benchmark with threads: {count}"))
        worker.open(self.settings.with_threads(count), pictures[:1])
        return worker

    def video(self, batch: BatchTimes) -> VideoTimes:
        """The length of the clip depends on how long a picture takes in a batch, so that it takes some seconds."""
        self.tell("a video: making it")
        frames = self.settings.num_frames(batch.seconds.median / batch.batch_size)
        clip = self.folder / "made.mp4"
        made_clip(PORTRAIT, clip, frames)
        self.tell("a video, end to end")
        if self.settings.batch_size not in self.settings.batch_sizes:
            self._turns({"": partial(self.worker.ask, "batch", size=self.settings.batch_size)}, 0)
        target = self.folder / "annotated.mp4"
        variants = {
            "run": partial(self.worker.ask, "video", clip=str(clip), target=str(target)),
            "network": partial(self.worker.ask, "network", clip=str(clip)),
        }
        turns = interleaved(variants, 1 if self.settings.quick else 2)
        found = {name: Samples(tuple(values)) for name, values in turns.items()}
        return VideoTimes(*VIDEO_SIZE, frames, self.settings.batch_size, found["run"], found["network"])
