"""What 10, 100 and 1,000 pictures and frames cost: seconds of each, and the peak of memory, of whole runs.

From every run the time of a run over one is taken off, so that starting up does not hide what the rest costs.
"""

from collections.abc import Callable, Mapping

from bench.children import ChildRun, RunError, timed_run
from bench.clips import clip_720p, picture_folder
from bench.number import Number, PartResult
from bench.options import ROOT, Options, program

COUNTS = (10, 100, 1000)
_TINY = (2, 4, 8)
_LIMIT = 1.1
_FASTEST_FIRST = (("--engine", "openvino", "--precision", "bf16"), ("--engine", "auto"), ())
"""Engines in the order in which they are tried: what is asked here is not how fast the network is."""


def measure(options: Options) -> PartResult:
    """Both kinds, with the first engine that there is."""
    counts = _TINY if options.tiny else COUNTS
    engine = _first_that_works(options)
    table = [f"  {' '.join(engine) or 'no option':<36} {'seconds':>9} {'each':>9} {'peak memory':>12}"]
    numbers: list[Number] = []
    samples: dict[str, list[float]] = {}
    for kind, run in {"pictures": _pictures(options, engine), "frames": _frames(options, engine)}.items():
        runs = {count: run(count) for count in (1, *counts)}
        each = seconds_each(runs)
        table += [_row(kind, count, runs[count], each[count]) for count in counts]
        numbers += judged(kind, runs, each)
        samples |= {f"{count} {kind}, seconds and MiB": [r.seconds, r.peak_mebibytes] for count, r in runs.items()}
    return PartResult(numbers, table, samples)


def _first_that_works(options: Options) -> tuple[str, ...]:
    for engine in _FASTEST_FIRST[:-1]:
        try:
            _pictures(options, engine)(1)
        except RunError:
            continue
        return engine
    return _FASTEST_FIRST[-1]


def _pictures(options: Options, engine: tuple[str, ...]) -> Callable[[int], ChildRun]:
    def run(count: int) -> ChildRun:
        folder, target = options.folder / f"pictures-{count}", options.folder / f"found-{count}"
        if not folder.exists():
            picture_folder(folder, count)
        command = program("image", folder, "-o", target, "--overwrite", "-q", "-f", "image", "-f", "json", *engine)
        return timed_run(command, options.environment(), ROOT)

    return run


def _frames(options: Options, engine: tuple[str, ...]) -> Callable[[int], ChildRun]:
    clip = clip_720p(options.folder / "growing.mp4", max(_TINY if options.tiny else COUNTS))

    def run(count: int) -> ChildRun:
        target = options.folder / "grown.mp4"
        command = program("video", clip, target, "--overwrite", "-q", "--max-frames", str(count), *engine)
        return timed_run(command, options.environment(), ROOT)

    return run


def seconds_each(runs: Mapping[int, ChildRun]) -> dict[int, float]:
    """Count -> seconds of each of them beyond the first, which is what a run of one has."""
    return {count: (run.seconds - runs[1].seconds) / (count - 1) for count, run in runs.items() if count > 1}


def _row(kind: str, count: int, run: ChildRun, each: float) -> str:
    return f"  {count:>6} {kind:<29} {run.seconds:9.2f} {each:9.4f} {run.peak_mebibytes:8.0f} MiB"


def judged(kind: str, runs: Mapping[int, ChildRun], each: Mapping[int, float]) -> list[Number]:
    """The largest against the one before it."""
    fewer, most = sorted(runs)[-2:]
    memory = runs[most].peak_mebibytes / runs[fewer].peak_mebibytes
    return [
        Number(f"growth: {kind}, seconds each, {most} / {fewer}", each[most] / each[fewer], _LIMIT),
        Number(f"growth: {kind}, peak memory, {most} / {fewer}", memory, _LIMIT),
    ]
