"""The benchmark as JSON; `schema/benchmark.schema.json` describes it. Seconds and bytes, all samples included."""

import math
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

from ssd_detect import __version__
from ssd_detect.benchmark.results import BatchTimes, Benchmark, EngineResult, VideoTimes
from ssd_detect.benchmark.samples import Samples

SCHEMA = "ssd-detect.benchmark/1"


def document(benchmark: Benchmark) -> dict[str, Any]:
    """The whole of it; what was not measured is null or empty."""
    return {
        "schema": SCHEMA,
        "tool": {"name": "ssd-detect", "version": __version__},
        **_plain(benchmark),
        "compared": [_engine(one, benchmark) for one in benchmark.compared],
    }


def _plain(value: Any) -> Any:
    """Records become objects; infinities, which JSON has not, null."""
    if isinstance(value, Samples):
        return _samples(value)
    if is_dataclass(value) and not isinstance(value, type):
        return {one.name: _plain(getattr(value, one.name)) for one in fields(value)} | _derived(value)
    if isinstance(value, Mapping):
        return {name: _plain(one) for name, one in value.items()}
    if isinstance(value, tuple):
        return [_plain(one) for one in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _samples(samples: Samples) -> dict[str, Any]:
    low, high = samples.quartiles
    return {"median": samples.median, "low_quartile": low, "high_quartile": high, "samples": list(samples.values)}


def _derived(value: Any) -> dict[str, float]:
    """What can be computed from the rest, for readers that only want to look."""
    if isinstance(value, BatchTimes):
        return {"pictures_per_second": value.batch_size / value.seconds.median}
    if isinstance(value, VideoTimes):
        return {"frames_per_second": value.frames / value.run.median, "ratio": value.ratio}
    return {}


def _engine(result: EngineResult, benchmark: Benchmark) -> dict[str, Any]:
    return {**_plain(result), "ratio": benchmark.ratio_to_first(result)}
