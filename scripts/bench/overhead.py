"""Everything but the network, for one 720p frame: resize, decode, suppress and draw. Codecs have threads of their own.

The stages are those that `Detector` measures itself; what no stage accounts for is the rest of its call.
"""

import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from bench.clips import shrunk
from bench.network_calls import Calls
from bench.number import Number, PartResult, spread
from bench.options import ASTRONAUT, Options
from bench.ours import engine_of, open_detector
from bench.workers import Worker, WorkerError
from ssd_detect.arrays import Pixels
from ssd_detect.media.drawing.draw import draw_in_place
from ssd_detect.media.picture_files import save_picture
from ssd_detect.media.pictures import read_picture
from ssd_detect.stages import StageTimes

_CODECS = ("read", "encode")
_LIMIT_SHARE, _LIMIT_MILLISECONDS, _LIMIT_DETECTIONS = 0.02, 3.0, 1.0


def measure(options: Options) -> PartResult:
    """Ask each engine."""
    numbers: list[Number] = []
    table: list[str] = []
    samples: dict[str, list[float]] = {}
    for engine in options.engines:
        try:
            with Worker("bench.overhead:frame_calls", {"engine": engine}, options.environment()) as worker:
                stages = _stages(worker, options)
                found = worker.ask("engine")
        except WorkerError as error:
            numbers += judged(engine, {}, str(error))
            continue
        table += [spread(f"{engine} ({found}), {stage}", values) for stage, values in stages.items()]
        samples |= {f"{engine}, {stage}": values for stage, values in stages.items()}
        numbers += judged(engine, stages)
    return PartResult(numbers, table, samples)


def _stages(worker: Worker, options: Options) -> dict[str, list[float]]:
    rounds = options.rounds_or(25)
    worker.ask("frame", str(options.folder))  # packs weights, fills tables
    taken = [worker.ask("frame", str(options.folder)) for _ in range(rounds)]
    return {stage: [one[stage] for one in taken] for stage in taken[0]}


def judged(engine: str, stages: dict[str, list[float]], why: str = "") -> list[Number]:
    """Milliseconds, and the share of the network's time.

    The middle of each stage is summed: a frame that was disturbed in one of them then spoils that one only.
    """
    name = f"overhead: {engine}, all but the network and codecs, 720p"
    if not stages:
        return [
            Number(name, None, _LIMIT_MILLISECONDS, unit="ms", note=why),
            Number(f"{name}, of the network's time", None, _LIMIT_SHARE, note=why),
            Number(f"overhead: {engine}, decode and nms", None, _LIMIT_DETECTIONS, unit="ms", note=why),
        ]
    middle = {stage: median(values) for stage, values in stages.items()}
    network = middle.pop("network")
    found = middle["decode"] + middle["nms"]
    spent = sum(seconds for stage, seconds in middle.items() if stage not in _CODECS)
    return [
        Number(name, 1000 * spent, _LIMIT_MILLISECONDS, unit="ms"),
        Number(f"{name}, of the network's time", spent / network, _LIMIT_SHARE),
        Number(f"overhead: {engine}, decode and nms", 1000 * found, _LIMIT_DETECTIONS, unit="ms"),
    ]


def frame_calls(engine: str) -> Calls:
    """In the worker: one frame through everything; seconds of each stage."""
    times = StageTimes()
    detector = open_detector(engine, times=times)
    frame = shrunk(read_picture(ASTRONAUT), (1280, 720))
    canvas = frame.copy()  # its memory is there already: new pages would count as drawing

    def one(folder: str) -> dict[str, float]:
        before = times.seconds()
        start = time.perf_counter()
        detections = detector(frame)
        whole = time.perf_counter() - start
        stages = {stage: spent - before.get(stage, 0.0) for stage, spent in times.seconds().items()}
        rest = whole - sum(stages.values())
        np.copyto(canvas, frame)
        draw = _seconds(lambda: draw_in_place(canvas, detections))
        return stages | {"rest of the call": rest, "draw": draw} | _codecs(frame, Path(folder) / "frame.jpg")

    return {"frame": one, "engine": lambda: engine_of(detector)}


def _codecs(frame: Pixels, path: Path) -> dict[str, float]:
    encode = _seconds(lambda: save_picture(path, frame, overwrite=True))
    return {"encode": encode, "read": _seconds(lambda: read_picture(path))}


def _seconds(function: Callable[[], Any]) -> float:
    start = time.perf_counter()
    function()
    return time.perf_counter() - start
