"""Whole runs over pictures and videos against the network alone, and against a loop in the tutorial's way.

The network alone gets resized pictures, in batches of the same size, in the same process as the run that is compared
with it. The loop has a process of its own; all of them do the same clip in each round.
"""

from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from statistics import median
from typing import Any

import cv2
import numpy as np
from measuring import in_turns

from bench.clips import clip_720p, picture_folder, shrunk
from bench.jobs import Run
from bench.network_calls import Calls
from bench.number import Number, PartResult, ratio, spread
from bench.options import ASTRONAUT, Options
from bench.ours import engine_of, open_detector
from bench.workers import Worker, WorkerError
from ssd_detect.arrays import Floats, Pixels
from ssd_detect.media.pictures import read_picture
from ssd_detect.media.video.reader import VideoReader
from ssd_detect.model.checkpoint import load_checkpoint
from ssd_detect.model.manifest import DEFAULT_CHECKPOINT
from ssd_detect.settings import CheckpointSettings
from ssd_detect.stages import StageTimes

_LIMIT_BARE, _LIMIT_LOOP = 0.95, 1.5


def measure_video(options: Options) -> PartResult:
    """Our engines, bare and whole, and the loop."""
    video = options.video or clip_720p(options.folder / "clip.mp4", 8 if options.tiny else 48)
    copy = str(options.folder / "copy.mp4")
    with ExitStack() as stack:
        workers, absent = _opened(options, "bench.end_to_end:video_calls", {"video": str(video), "copy": copy}, stack)
        loop = stack.enter_context(_loop(options, video))
        calls = {"loop": lambda: loop.seconds_each("job")} | _calls(workers)
        result = _result("video", workers, absent, in_turns(_warm(calls), options.rounds_or(5)))
        result.numbers.append(_same_network(loop, workers, options.folder))
        return result


def _same_network(loop: Worker, workers: dict[str, Worker], folder: Path) -> Number:
    """The loop must run our network; a picture of the network's size, which nobody resizes, tells, in float32."""
    picture = folder / "picture.npy"
    np.save(picture, shrunk(read_picture(ASTRONAUT), (300, 300)))
    name, limit = "video: highest scores, largest difference of the loop's from ours", 1e-4
    theirs = loop.ask("peaks", str(picture))
    exact = [worker for engine, worker in workers.items() if " " not in engine]
    apart = [np.abs(np.subtract(worker.ask("peaks", str(picture)), theirs)).max() for worker in exact]
    return Number(name, float(max(apart)) if apart else None, limit, unit="")


def measure_pictures(options: Options) -> PartResult:
    """Our engines, bare and whole, over a folder."""
    folder = options.pictures or picture_folder(options.folder / "pictures", 8 if options.tiny else 48)
    arguments = {"folder": str(folder), "target": str(options.folder / "results")}
    with ExitStack() as stack:
        workers, absent = _opened(options, "bench.end_to_end:picture_calls", arguments, stack)
        samples = in_turns(_warm(_calls(workers)), options.rounds_or(5))
        return _result("pictures", workers, absent, samples)


def _opened(
    options: Options, function: str, arguments: dict[str, str], stack: ExitStack
) -> tuple[dict[str, Worker], dict[str, str]]:
    """A worker for each engine, and why one cannot work."""
    workers, absent = {}, {}
    for engine in options.engines:
        try:
            worker = Worker(function, {"engine": engine, **arguments}, options.environment())
        except WorkerError as error:
            absent[engine] = str(error)
        else:
            workers[engine] = stack.enter_context(worker)
    return workers, absent


def _loop(options: Options, video: Path) -> Worker:
    spec = load_checkpoint(CheckpointSettings(DEFAULT_CHECKPOINT)).spec
    weights = str(options.folder / "weights.npz")
    with Worker("bench.ours:checkpoint_calls", {}, options.environment()) as checkpoint:
        checkpoint.ask("save", weights)
    told = {"mean_rgb": list(spec.mean_rgb), "anchors": spec.anchors, "weights": weights}
    files = {"clip": str(video), "copy": str(options.folder / "loop.mp4")}
    return Worker("bench.reference_loop:video_calls", {**told, **files}, options.environment())


def _calls(workers: dict[str, Worker]) -> dict[str, Callable[[], float]]:
    def asked(worker: Worker, call: str) -> Callable[[], float]:
        return lambda: worker.seconds_each(call)

    return {f"{name}, {call}": asked(worker, call) for name, worker in workers.items() for call in ("bare", "job")}


def _warm(calls: dict[str, Callable[[], float]]) -> dict[str, Callable[[], float]]:
    """The same, each called once."""
    for call in calls.values():
        call()
    return calls


def _result(
    part: str, workers: dict[str, Worker], absent: dict[str, str], samples: dict[str, list[float]]
) -> PartResult:
    numbers: list[Number] = []
    table = [spread(f"{name}, each", values) for name, values in samples.items()]
    for engine, worker in workers.items():
        numbers += judged(part, engine, worker.ask("engine"), samples)
        stages = worker.ask("stages")
        table += [f"    {engine}, {stage}: {seconds:.2f} s in all rounds" for stage, seconds in stages.items()]
        numbers.append(Number(f"{part}: {engine}, a second", 1 / median(samples[f"{engine}, job"]), unit=""))
    for engine, why in absent.items():
        names = {_bare_name(part, engine): _LIMIT_BARE, _loop_name(engine): _LIMIT_LOOP}
        taken = names if "loop" in samples else [_bare_name(part, engine)]
        numbers += [Number(name, None, names[name], "at least", note=why) for name in taken]
    return PartResult(numbers, table, samples)


def judged(part: str, engine: str, found: str, samples: dict[str, list[float]]) -> list[Number]:
    """Throughput, as a share of the network's and in times of the loop's; the latter is not promised of TensorFlow."""
    job, bare = samples[f"{engine}, job"], samples[f"{engine}, bare"]
    numbers = [ratio(_bare_name(part, engine), bare, job, _LIMIT_BARE, "at least", note=found)]
    if "loop" in samples:
        limit = None if engine == "tensorflow" else _LIMIT_LOOP
        most = f"the network alone would have {median(samples['loop']) / median(bare):.2f} x"
        numbers.append(ratio(_loop_name(engine), samples["loop"], job, limit, "at least", note=most))
    return numbers


def _loop_name(engine: str) -> str:
    return f"video: {engine} / reference-style loop, throughput"


def _bare_name(part: str, engine: str) -> str:
    return f"{part}: {engine}, whole run / network alone, throughput"


def video_calls(engine: str, video: str, copy: str) -> Calls:
    """In a worker: a video."""
    with VideoReader(Path(video)) as frames:
        inputs = [_resized(frame.pixels) for frame in frames]
    run = _run(engine)
    return _bare_calls(run, inputs) | {"job": lambda: run.video(Path(video), Path(copy))}


def picture_calls(engine: str, folder: str, target: str) -> Calls:
    """In a worker: a folder of pictures."""
    inputs = [_resized(read_picture(path)) for path in sorted(Path(folder).iterdir())]
    run = _run(engine)
    return _bare_calls(run, inputs) | {"job": lambda: run.pictures(Path(folder), Path(target))}


def _resized(picture: Pixels) -> Floats:
    return cv2.resize(picture, (300, 300), interpolation=cv2.INTER_LINEAR).astype(np.float32)


def _run(engine: str) -> Run:
    times = StageTimes()
    return Run(open_detector(engine, times=times), times)


def _bare_calls(run: Run, inputs: list[Floats]) -> Calls:
    size = run.detector.batch_size
    batches = [np.stack(inputs[i : i + size]) for i in range(0, len(inputs), size)]
    network: Any = run.detector._network

    def bare() -> int:
        for batch in batches:
            network.run(batch)
        return len(inputs)

    def peaks(picture: str) -> list[float]:
        """Of each class, over all anchors."""
        return [float(value) for value in run.detector.raw_outputs(np.load(picture))[0].max(axis=0)]

    return {"bare": bare, "peaks": peaks, "engine": lambda: engine_of(run.detector), "stages": run.times.seconds}
