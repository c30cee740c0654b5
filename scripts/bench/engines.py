"""The same network and pictures by our engines and by plain ones, in turn, each in a process of its own.

All compute in float32, for that is what is compared; OpenVINO as it comes computes in bf16 where the processor can, and
has a line of its own. Numbers are of one picture.
"""

import subprocess
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path
from statistics import median
from typing import Any

import cv2
import numpy as np

from bench.number import Number, PartResult, ratio, spread
from bench.options import ASTRONAUT, Options, program
from bench.workers import Worker, WorkerError, turns
from ssd_detect.media.pictures import read_picture
from ssd_detect.model.manifest import DEFAULT_CHECKPOINT

_OURS = {
    "ours, tensorflow": "tensorflow",
    "ours, auto": "auto",
    "ours, openvino bf16": "openvino bf16",
}
_PLAIN_BF16 = "plain openvino as it comes"
_AGREE = 1e-3
"""Largest difference of scores and offsets between engines; float32 sums in other orders differ by less."""
_NOISE = 0.02
"""Two processes that run the same library on the same file differ by as much on a quiet machine."""


def measure(options: Options) -> PartResult:
    """Compare all engines that are here."""
    with ExitStack() as stack:
        workers, absent = _opened(_kinds(options), stack)
        samples = turns(workers, "run", options.rounds_or(12))
        found = {name: _outputs(worker, options.folder / "out.npz") for name, worker in workers.items()}
        engine = workers["ours, auto"].ask("engine") if "ours, auto" in workers else "none"
        used = workers[_PLAIN_BF16].ask("precision") if _PLAIN_BF16 in workers else "nothing"
    table = [spread(name, values) for name, values in samples.items()]
    table += [f"  {name:<44} not measured: {why}" for name, why in absent.items()]
    table.append(f"  {_PLAIN_BF16} computes in {used}")
    return PartResult([*judged(samples, engine), agreement(found)], table, samples)


def _kinds(options: Options) -> dict[str, Callable[[], Worker]]:
    """How each is opened."""
    environment, pictures = options.environment(), str(_pictures(options.folder))
    model = str(_onnx(options))
    weights = str(options.folder / "weights.npz")
    with Worker("bench.ours:checkpoint_calls", {}, environment) as worker:
        network = worker.ask("save", weights)

    def opened(function: str, python: Path | None = None, **arguments: Any) -> Callable[[], Worker]:
        return lambda: Worker(f"bench.{function}", {**arguments, "pictures": pictures}, environment, python)

    plain = "plain_engines"
    return {
        "plain onnxruntime": opened(f"{plain}:onnxruntime", model=model),
        "plain opencv": opened(f"{plain}:opencv", model=model),
        "plain openvino": opened(f"{plain}:openvino", model=model, precision="f32"),
        _PLAIN_BF16: opened(f"{plain}:openvino", model=model, precision=None),
        "plain pytorch": opened(f"{plain}:pytorch", options.torch_python, weights=weights, **network),
        **{name: opened("ours:engine_calls", engine=engine) for name, engine in _OURS.items()},
    }


def _opened(kinds: Mapping[str, Callable[[], Worker]], stack: ExitStack) -> tuple[dict[str, Worker], dict[str, str]]:
    """Those that are here, and why the others are not."""
    workers, absent = {}, {}
    for name, opened in kinds.items():
        try:
            worker = stack.enter_context(opened())
            worker.ask("run")
        except WorkerError as error:
            absent[name] = str(error)
        else:
            workers[name] = worker
    return workers, absent


def _pictures(folder: Path) -> Path:
    """One picture, resized with whole grey levels."""
    path = folder / "pictures.npy"
    resized = cv2.resize(read_picture(ASTRONAUT), (300, 300), interpolation=cv2.INTER_LINEAR)
    np.save(path, resized[np.newaxis].astype(np.float32))
    return path


def _onnx(options: Options) -> Path:
    path = options.folder / "network.onnx"
    command = program("checkpoints", "convert", DEFAULT_CHECKPOINT, path, "--overwrite", "-q")
    subprocess.run(command, check=True, env=options.environment(), capture_output=True)
    return path


def _outputs(worker: Worker, path: Path) -> dict[str, Any]:
    worker.ask("save", str(path))
    with np.load(path) as arrays:
        return dict(arrays)


def judged(samples: Mapping[str, list[float]], engine: str) -> list[Number]:
    plain = {n: s for n, s in samples.items() if n.startswith("plain") and n != _PLAIN_BF16}
    best = min(plain, key=lambda name: median(plain[name]), default="")
    fastest = f"engines: auto ({engine}) / fastest plain ({best.removeprefix('plain ') or 'none'}), float32"
    pairs = [
        (fastest, "ours, auto", best, 1.0),
        ("engines: tensorflow / plain onnxruntime", "ours, tensorflow", "plain onnxruntime", 1.15),
        ("engines: openvino bf16 / plain openvino as it comes", "ours, openvino bf16", _PLAIN_BF16, None),
    ]
    return [compared(name, samples, upper, lower, limit) for name, upper, lower, limit in pairs]


def compared(name: str, samples: Mapping[str, list[float]], upper: str, lower: str, limit: float | None) -> Number:
    """The ratio of two of the samples; not measured when one is missing."""
    missing = [one for one in (upper, lower) if one not in samples]
    if missing:
        return Number(name, None, limit, note=f"{' and '.join(missing) or 'the other'} not measured")
    return ratio(name, samples[upper], samples[lower], limit, noise=_NOISE)


def agreement(found: Mapping[str, Mapping[str, Any]]) -> Number:
    """How far any float32 engine is from TensorFlow."""
    name = "engines: largest difference from tensorflow, scores and offsets"
    reference = found.get("ours, tensorflow")
    if reference is None:
        return Number(name, None, _AGREE, unit="", note="tensorflow not measured")
    worst = {
        kind: max(_largest(outputs[part] - reference[part]) for part in ("scores", "offsets"))
        for kind, outputs in found.items()
        if "bf16" not in kind and kind != _PLAIN_BF16
    }
    kind = max(worst, key=lambda key: worst[key])
    return Number(name, worst[kind], _AGREE, unit="", note=kind)


def _largest(differences: Any) -> float:
    """What is no number differs infinitely."""
    return float(np.nan_to_num(np.abs(differences), nan=np.inf).max())
