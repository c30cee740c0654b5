"""Select, decode and suppress: an earlier revision, this tree, and a loop in the reference's style, in turn.

The golden arrays hold far more candidates than pictures do: they are the outputs of seeded weights.
"""

from contextlib import ExitStack
from functools import partial
from statistics import median

import numpy as np

from bench.network_calls import Calls
from bench.number import Number, PartResult, ratio, spread
from bench.options import ROOT, Options
from bench.reference_loop import found_boxes
from bench.trees import tree_of
from bench.workers import Worker, turns
from ssd_detect.boxes.anchors import make_anchors
from ssd_detect.boxes.outputs import OutputDecoder
from ssd_detect.boxes.profiles import resolved
from ssd_detect.classes import VOC20
from ssd_detect.conventions import Profile
from ssd_detect.settings import DetectionSettings
from ssd_detect.stages import StageTimes

_LIMIT_MILLISECONDS = {0.5: 4.0, 0.01: 8.0}
_CALLS = 10  # a turn


def measure(options: Options) -> PartResult:
    """At both thresholds."""
    trees = {"baseline": tree_of(options.baseline, options.folder), "present": ROOT}
    numbers: list[Number] = []
    samples: dict[str, list[float]] = {}
    with ExitStack() as stack:
        workers = {
            name: stack.enter_context(Worker("bench.postprocess:decoding_calls", {}, options.environment(tree)))
            for name, tree in trees.items()
        }
        for threshold in _LIMIT_MILLISECONDS:
            taken = turns(workers, f"{threshold}", options.rounds_or(15))
            taken |= {"loop": turns({"": workers["present"]}, f"loop {threshold}", options.rounds_or(5))[""]}
            numbers += judged(threshold, taken)
            samples |= {f"score {threshold}, {name}": values for name, values in taken.items()}
        for profile in Profile:
            name = f"profile {profile.value}"
            samples[name] = turns({"": workers["present"]}, name, options.rounds_or(5))[""]
    table = [spread(f"{name}, {_CALLS} pictures", values) for name, values in samples.items()]
    return PartResult(numbers, table, samples)


def judged(threshold: float, taken: dict[str, list[float]]) -> list[Number]:
    """Nothing may have become slower, and the loop is far behind."""
    name = f"postprocess: score {threshold}"
    milliseconds = 1000 * median(taken["present"]) / _CALLS
    return [
        ratio(f"{name}, present / baseline", taken["present"], taken["baseline"], 1.0, noise=0.05),
        Number(f"{name}, one picture", milliseconds, _LIMIT_MILLISECONDS[threshold], unit="ms"),
        Number(f"{name}, times faster than the loop", median(taken["loop"]) / median(taken["present"]), 5, "at least"),
    ]


def decoding_calls() -> Calls:
    """In a worker, of either tree: ten pictures at each threshold."""
    with np.load(ROOT / "tests" / "golden" / "golden-300.npz") as arrays:
        golden = arrays["p0_scores"], arrays["p0_loc"]
    anchors = make_anchors("coco300")

    def ours(threshold: float, profile: Profile = Profile.TUTORIAL) -> None:
        decoder = OutputDecoder(VOC20, resolved(DetectionSettings(threshold), profile), StageTimes())
        for _ in range(_CALLS):
            decoder(*golden, anchors, (500, 375))

    def loop(threshold: float) -> None:
        for _ in range(_CALLS):
            found_boxes(*golden, anchors, threshold, 0.45)

    calls: Calls = {f"{threshold}": partial(ours, threshold) for threshold in _LIMIT_MILLISECONDS}
    calls |= {f"loop {threshold}": partial(loop, threshold) for threshold in _LIMIT_MILLISECONDS}
    return calls | {f"profile {profile.value}": partial(ours, min(_LIMIT_MILLISECONDS), profile) for profile in Profile}
