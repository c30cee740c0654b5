"""`guess`: pictures through the network with the colours in both orders, and what that tells of its conventions."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from ssd_detect.arrays import Floats, Pixels
from ssd_detect.boxes.anchors import ANCHOR_PRESETS, make_anchors
from ssd_detect.conventions import ColourOrder
from ssd_detect.inspection.guess import Fit, Sightings, advantage, fit, pooled, sightings, sureness, z_value
from ssd_detect.inspection.pyramid import run_pyramid
from ssd_detect.model.checkpoint import Checkpoint
from ssd_detect.model.resize import resized
from ssd_detect.model.session import NetworkSession
from ssd_detect.model.spec import ModelSpec
from ssd_detect.settings import SessionSettings

# What things of one picture say errs together: on VOC's pictures, z from 2 is right in 99 of 100 sets of ten, but in
# fewer than 80 of 100 sets of two (`scripts/guess_numbers.py`).
_SURE_Z = 2.0
_FEWEST_PICTURES = 10


@dataclass(frozen=True)
class Judgement:
    """The choice that fits best, and how far that is beyond chance: see `guess.z_value`."""

    choice: str
    z: float
    pictures: int

    @property
    def is_sure(self) -> bool:
        """Right in at least 99 of 100 cases on VOC's pictures, by `scripts/guess_numbers.py`."""
        return self.z >= _SURE_Z and self.pictures >= _FEWEST_PICTURES


@dataclass(frozen=True)
class Trial:
    """One combination.

    Args:
        anchors: preset.
        colour_order: of the file.
        disagreement: of what anchors say of one thing's size, as a share of it; None when nothing was seen.
        sureness: see `guess.sureness`.
    """

    anchors: str
    colour_order: str
    disagreement: float | None
    sureness: float


@dataclass(frozen=True)
class Guess:
    """What pictures tell of a checkpoint.

    Args:
        anchors: the preset that fits best.
        colour_order: that suits the file best.
        trials: all combinations.
        pictures, things: how many were looked at, and seen in them.
    """

    anchors: Judgement
    colour_order: Judgement
    trials: tuple[Trial, ...]
    pictures: int
    things: int


@dataclass(frozen=True)
class Observation:
    """What the network said of one picture, in both orders of colours: first as loaded, then exchanged."""

    seen: tuple[Sightings, Sightings]
    sureness: tuple[float, float]


def guess_conventions(checkpoint: Checkpoint, pictures: Iterable[Pixels], session: SessionSettings) -> Guess:
    """Let the checkpoint's network look at RGB pictures (H, W, 3); some seconds each on a CPU.

    Raises:
        DeviceError: the device is not there, or has not enough memory.
    """
    network = NetworkSession(checkpoint, session)
    try:
        observations = [observe(network, picture, checkpoint.spec) for picture in pictures]
    finally:
        network.close()
    return judge(observations, checkpoint.spec, checkpoint.colour_order)


def observe(network: NetworkSession, picture: Pixels, spec: ModelSpec) -> Observation:
    """Run the network on one RGB picture (H, W, 3) of any size; fourteen calls.

    Exchanging the channels of a picture less the mean is the same as exchanging those of the first kernel.

    Raises:
        DeviceError: not enough memory.
    """
    anchors = presets_of(spec)
    mean = np.array(spec.mean_rgb, np.float32)
    seen = resized(picture, spec.size, spec.resize)
    exchanged = np.ascontiguousarray((seen - mean)[..., ::-1]) + mean
    runs = [run_pyramid(network, one, mean) for one in (seen, exchanged)]
    return Observation(
        seen=(sightings(runs[0], anchors), sightings(runs[1], anchors)),
        sureness=(sureness(runs[0]), sureness(runs[1])),
    )


def presets_of(spec: ModelSpec) -> dict[str, Floats]:
    """The presets that a network of this input size can have been trained with, and their anchors."""
    return {
        name: make_anchors(name, spec.anchor_rounding, spec.anchor_clip)
        for name, preset in ANCHOR_PRESETS.items()
        if preset.side == spec.size
    }


def judge(observations: Sequence[Observation], spec: ModelSpec, loaded: ColourOrder) -> Guess:
    """What all the pictures say together.

    Args:
        observations: at least one.
        spec: of the network that looked at them; its own anchors do not count.
        loaded: the colour order that the file was taken to have.
    """
    orders = (loaded.value, (ColourOrder.RGB if loaded is ColourOrder.BGR else ColourOrder.BGR).value)
    colour_order = _judge_colours(observations, orders)
    seen = [pooled([o.seen[order] for o in observations]) for order in (0, 1)]
    fits = [_fits(of_order, spec) for of_order in seen]
    chosen = orders.index(colour_order.choice)
    trials = [
        Trial(
            preset, orders[order], _disagreement(fits[order].get(preset)), sum(o.sureness[order] for o in observations)
        )
        for preset in presets_of(spec)
        for order in (0, 1)
    ]
    things = len(np.unique(seen[chosen].things // 2))
    anchors = (
        _judge_anchors(seen[chosen], fits[chosen], len(observations))
        if things
        else Judgement(spec.anchors, 0.0, len(observations))
    )
    return Guess(anchors, colour_order, tuple(trials), len(observations), things)


def _judge_colours(observations: Sequence[Observation], orders: tuple[str, str]) -> Judgement:
    """A picture's advantage is the share by which one order makes the network surer, so that all count alike."""
    pairs = np.array([o.sureness for o in observations], np.float32)  # (pictures, 2)
    z = z_value((pairs[:, 0] - pairs[:, 1]) / np.maximum(pairs.sum(axis=1), np.float32(1e-9)))
    return Judgement(orders[int(z < 0)], abs(z), len(observations))


def _fits(seen: Sightings, spec: ModelSpec) -> dict[str, Fit]:
    """Preset -> how well it fits; nothing where nothing was seen."""
    return {name: fit(seen, name, anchors) for name, anchors in presets_of(spec).items()} if len(seen.things) else {}


def _disagreement(made: Fit | None) -> float | None:
    return None if made is None else made.disagreement


def _judge_anchors(seen: Sightings, fits: dict[str, Fit], pictures: int) -> Judgement:
    best, second, *_ = sorted(fits, key=lambda name: fits[name].disagreement)
    return Judgement(best, advantage(seen, fits[best], fits[second]), pictures)
