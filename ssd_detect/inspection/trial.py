"""`guess`: pictures through the network with the colours in both orders, and what that tells of its conventions."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ssd_detect.arrays import Floats, Pixels
from ssd_detect.boxes.anchors import ANCHOR_PRESETS, make_anchors
from ssd_detect.inspection.guess import Fit, Sightings, advantage, fit, pooled, sightings, sureness, z_value
from ssd_detect.inspection.pyramid import run_pyramid
from ssd_detect.model.session import NetworkSession

SURE_ANCHORS = 2.5
SURE_COLOURS = 2.5
AS_LOADED, EXCHANGED = "as loaded", "exchanged"


@dataclass(frozen=True)
class Judgement:
    """The choice that fits best, and how far that is beyond chance: see `guess.z_value`."""

    choice: str
    z: float
    sure: bool


@dataclass(frozen=True)
class Trial:
    """One combination.

    Args:
        anchors: preset.
        exchanged: red and blue were exchanged, compared with how the checkpoint was loaded.
        disagreement: of what anchors say of one thing's size, as a share of it; None when nothing was seen.
        sureness: see `guess.sureness`.
    """

    anchors: str
    exchanged: bool
    disagreement: float | None
    sureness: float


@dataclass(frozen=True)
class Guess:
    """What pictures tell of a checkpoint.

    Args:
        anchors: the preset that fits best.
        colours: `as loaded` or `exchanged`.
        trials: all combinations.
        pictures, things: how many were looked at, and seen in them.
    """

    anchors: Judgement
    colours: Judgement
    trials: tuple[Trial, ...]
    pictures: int
    things: int


@dataclass(frozen=True)
class Observation:
    """What the network said of one picture, in both orders of colours: first as loaded, then exchanged."""

    seen: tuple[Sightings, Sightings]
    sureness: tuple[float, float]


def observe(network: NetworkSession, picture: Pixels, size: int) -> Observation:
    """Run the network on one RGB picture (H, W, 3) of any size; fourteen calls.

    Exchanging the channels of the input, mean subtracted, is the same as exchanging those of the first kernel.

    Raises:
        DeviceError: not enough memory.
    """
    anchors = presets_of(size)
    network_input = network.resize(picture[np.newaxis])[0]
    runs = [run_pyramid(network, np.ascontiguousarray(x)) for x in (network_input, network_input[..., ::-1])]
    return Observation(
        seen=(sightings(runs[0], anchors), sightings(runs[1], anchors)),
        sureness=(sureness(runs[0]), sureness(runs[1])),
    )


def presets_of(size: int) -> dict[str, Floats]:
    """The presets that a network of this input size can have been trained with, and their anchors."""
    return {name: make_anchors(name) for name, preset in ANCHOR_PRESETS.items() if preset.side == size}


def judge(observations: Sequence[Observation], size: int) -> Guess:
    """What all the pictures say together."""
    colours = _judge_colours(observations)
    fits = [_fits([o.seen[order] for o in observations], size) for order in (0, 1)]
    anchors = _judge_anchors(*fits[colours.choice == EXCHANGED])
    trials = [
        Trial(preset, bool(order), made.disagreement if made else None, sum(o.sureness[order] for o in observations))
        for order, (_, by_preset) in enumerate(fits)
        for preset, made in by_preset.items()
    ]
    seen = fits[colours.choice == EXCHANGED][0]
    return Guess(anchors, colours, tuple(trials), len(observations), len(np.unique(seen.things // 2)))


def _judge_colours(observations: Sequence[Observation]) -> Judgement:
    """A picture's advantage is the share by which one order makes the network surer, so that all count alike."""
    both = [
        (loaded - exchanged) / max(loaded + exchanged, 1e-9) for loaded, exchanged in (o.sureness for o in observations)
    ]
    z = z_value(np.array(both))
    return Judgement(EXCHANGED if z < 0 else AS_LOADED, abs(z), abs(z) >= SURE_COLOURS)


def _fits(parts: Sequence[Sightings], size: int) -> tuple[Sightings, dict[str, Fit | None]]:
    seen = pooled(parts)
    presets = presets_of(size)
    return seen, {name: fit(seen, name, anchors) if len(seen.things) else None for name, anchors in presets.items()}


def _judge_anchors(seen: Sightings, fits: dict[str, Fit | None]) -> Judgement:
    made = sorted(((f.disagreement, name, f) for name, f in fits.items() if f), key=lambda item: item[:2])
    if not made:
        return Judgement(next(iter(fits)), 0.0, False)
    (_, choice, best), (_, _, second) = made[:2]
    z = advantage(seen, best, second)
    return Judgement(choice, z, z >= SURE_ANCHORS)
