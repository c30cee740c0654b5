"""From typing the command to the written picture: an earlier revision, and this tree with two engines, in turn.

The first run of each is not counted: it compiles Python files, fills caches and converts the checkpoint.
"""

from collections.abc import Callable
from pathlib import Path

from measuring import in_turns

from bench.children import RunError, timed_run
from bench.number import Number, PartResult, ratio, spread
from bench.options import ASTRONAUT, ROOT, Options, program
from bench.trees import tree_of

_LIMITS = {"tensorflow": 0.8, "onnxruntime": 0.35}


def measure(options: Options) -> PartResult:
    """Time all of them."""
    baseline = tree_of(options.baseline, options.folder)
    runs = {"baseline": _run(options, baseline, [])}
    runs |= {engine: _run(options, ROOT, ["--engine", engine]) for engine in _LIMITS}
    absent = {name: why for name, run in runs.items() if (why := _warm_up(run))}
    samples = in_turns({n: run for n, run in runs.items() if n not in absent}, options.rounds_or(9))
    table = [spread(f"cold start, {name}", values, scale=1, unit="s ") for name, values in samples.items()]
    return PartResult([judged(samples, absent, engine) for engine in _LIMITS], table, samples)


def _run(options: Options, tree: Path, more: list[str]) -> Callable[[], float]:
    command = program("image", ASTRONAUT, "-o", options.folder / "cold.png", "--overwrite", "-q", *more)
    return lambda: timed_run(command, options.environment(tree), tree).seconds


def _warm_up(run: Callable[[], float]) -> str:
    """Why it does not run; nothing if it does."""
    try:
        run()
    except RunError as error:
        return str(error)
    return ""


def judged(samples: dict[str, list[float]], absent: dict[str, str], engine: str) -> Number:
    name = f"cold-start: {engine} / baseline"
    missing = [f"{one}: {absent[one]}" for one in ("baseline", engine) if one in absent]
    if missing:
        return Number(name, None, _LIMITS[engine], note="; ".join(missing))
    return ratio(name, samples[engine], samples["baseline"], _LIMITS[engine])
