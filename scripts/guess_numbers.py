"""How often `checkpoints info --guess` is right and how often it is sure, on annotated or other pictures.

    .venv/bin/python scripts/guess_numbers.py ../shared/voc-sample/JPEGImages --every 4

The shipped checkpoint looks at the pictures once (some seconds each). Its own anchors are one truth. For the other,
what it said is turned into what a network of the other preset would have said that is as cautious: each
log(size / anchor) changes by the slope of its map times the log of how much larger the anchors are. Exchanged colours
need no run of their own: they mirror the order that is as loaded.
"""

import argparse
import dataclasses
import pickle
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from ssd_detect.classes import VOC20
from ssd_detect.conventions import ColourOrder, ResizeRule
from ssd_detect.inspection.guess import Sightings, fit, maps_of, pooled
from ssd_detect.inspection.trial import Observation, judge, observe, presets_of
from ssd_detect.media.pictures import read_picture
from ssd_detect.model.checkpoint import load_checkpoint
from ssd_detect.model.manifest import DEFAULT_CHECKPOINT
from ssd_detect.model.session import NetworkSession
from ssd_detect.model.spec import ModelSpec
from ssd_detect.settings import CheckpointSettings, SessionSettings

TRUTH, OTHER = "coco300", "voc300"
SPEC = ModelSpec(300, VOC20, TRUTH, ResizeRule.ANTIALIAS)  # of the shipped checkpoint
POOLS = (1, 2, 5, 10, 20)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="JPEG pictures")
    parser.add_argument("--every", type=int, default=4, help="take every so many-th picture (default: %(default)s)")
    parser.add_argument("--draws", type=int, default=400, help="sets of pictures of each size (default: %(default)s)")
    parser.add_argument("--keep", type=Path, help="file that holds what the network said, for the next time")
    options = parser.parse_args()
    observations = kept_observations(options.keep, sorted(options.folder.glob("*.jpg"))[:: options.every])
    print(f"{len(observations)} pictures")
    for truth, told in ((TRUTH, observations), (OTHER, retold(observations))):
        for pool in POOLS:
            report(truth, told, pool, options.draws)


def kept_observations(keep: Path | None, paths: list[Path]) -> list[Observation]:
    if keep and keep.exists():
        kept: list[Observation] = pickle.loads(keep.read_bytes())
        return kept
    network = NetworkSession(load_checkpoint(CheckpointSettings(DEFAULT_CHECKPOINT)), SessionSettings())
    made: list[Observation] = []
    for number, path in enumerate(paths, start=1):
        made.append(observe(network, read_picture(path), SPEC))
        if keep and (number % 10 == 0 or number == len(paths)):
            keep.write_bytes(pickle.dumps(made))
            print(number, flush=True)
    return made


def retold(observations: list[Observation]) -> list[Observation]:
    """What a network of the other preset would have said."""
    anchors = presets_of(SPEC)
    growth = np.log(anchors[OTHER][:, 2:] / anchors[TRUTH][:, 2:])  # (N, 2)
    slopes = fit(pooled([o.seen[0] for o in observations]), TRUTH, anchors[TRUTH]).slopes
    print("slopes", np.round(slopes, 2))

    def changed(seen: Sightings) -> Sightings:
        shift = slopes[maps_of(TRUTH)[seen.anchors]] * growth[seen.anchors, seen.axes]
        return dataclasses.replace(seen, log_ratios=seen.log_ratios - shift)

    return [dataclasses.replace(o, seen=(changed(o.seen[0]), changed(o.seen[1]))) for o in observations]


def report(truth: str, observations: list[Observation], pool: int, draws: int) -> None:
    rng = np.random.default_rng(0)
    if pool == 1:
        sets = [[i] for i in range(len(observations))]
    else:
        sets = [list(rng.choice(len(observations), pool, replace=False)) for _ in range(draws)]
    guesses = [judge([observations[i] for i in chosen], SPEC, ColourOrder.RGB) for chosen in sets]
    for what, made, right in (
        ("anchors", [g.anchors for g in guesses], truth),
        ("colours", [g.colour_order for g in guesses], "rgb"),
    ):
        hits = np.array([j.choice == right for j in made])
        z = np.array([j.z for j in made])
        parts = [f"{what} {truth} of {pool:2d} pictures: right {hits.mean():.3f}; by z"]
        for limit in (1.5, 2.0, 2.5, 3.0):
            above = z >= limit
            share = hits[above].mean() if above.any() else float("nan")
            parts.append(f"{limit}: sure {above.mean():.3f}, then right {share:.4f};")
        print(" ".join(parts))


if __name__ == "__main__":
    main()
