"""Which anchors and which colour order a network was trained with, by how well it agrees with itself on pictures.

Anchors. The network says how large a thing is in comparison with each anchor that sees it: d = log(size / anchor). The
presets differ in the sizes of the anchors, so only under the right one do two anchors tell the same size. But networks
are cautious: what they say is nearer to zero than the truth, d = m (log size - log anchor) with m from 0.4 (small
anchors of a short training) to 1. A picture as it is cannot tell this from anchors of other sizes, which makes boxes
agree best under the preset of the larger anchors whatever the truth is. Therefore the picture is shown at several
sizes (`pyramid`): how far d follows a shrinking that we know gives m, for each map of anchors; then size and m are
fitted, under each preset, and the preset with the smaller misfit wins.

Colour order. A network that sees red and blue exchanged is less sure, and of more things at once.

Both judgements come with a z value: the sum of the advantages that things (pictures, for the colours) give to the
winner, divided by the square root of the sum of their squares. n of them can reach the square root of n at most.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ssd_detect.arrays import Floats, Integers
from ssd_detect.boxes.anchors import ANCHOR_PRESETS
from ssd_detect.boxes.decode import SIZE_VARIANCE, decode_offsets
from ssd_detect.boxes.geometry import pairwise_iou

_MIN_SCORE = np.float32(0.3)
_SEEN_SCORE = np.float32(0.1)
_MOST_SIGHTINGS = 150  # of one level, best scores first
_SAME_THING = np.float32(0.7)  # IoU with the best sighting of a thing
_FEWEST_SIGHTINGS = 3  # of one thing; two always agree, by a size in between
_ROUNDS = 8
_USUAL_SLOPE, _SLOPES = 0.75, (0.3, 1.1)
_PRIOR_WEIGHT = 0.1  # of the usual slope, in squared log sizes; counts where a map has hardly any sightings


class Level(NamedTuple):
    """What the network says of the picture shrunk into the middle of its input."""

    side_unit: float  # side of the shrunk picture, as a share of the input's
    scores: Floats  # (N, C)
    offsets: Floats  # (N, 4)


@dataclass(frozen=True)
class Sightings:
    """What anchors say of the sizes of things, two rows a sighting: width, then height.

    Args:
        things: (n,) number of the thing and direction; a width and a height have numbers of their own.
        anchors: (n,) number of the anchor.
        axes: (n,) 0 for width, 1 for height.
        log_sides: (n,) log of the shrunk picture's side as a share of the input's.
        log_ratios: (n,) log(size / anchor), as the network has it.
        weights: (n,) score.
    """

    things: Integers
    anchors: Integers
    axes: Integers
    log_sides: Floats
    log_ratios: Floats
    weights: Floats


@dataclass(frozen=True)
class Fit:
    """How far what all say of one thing agrees under one preset.

    Args:
        slopes: (maps,) m of each map.
        misfits: (n,) weighted squared error of each row of the sightings, in log sizes.
        disagreement: root of their weighted mean: 0.1 is ten per cent of a size.
    """

    slopes: Floats
    misfits: Floats
    disagreement: float


def sightings(levels: Sequence[Level], anchors: Mapping[str, Floats]) -> Sightings:
    """The things of one picture as its anchors see them.

    Args:
        levels: of `run_pyramid`.
        anchors: preset -> (N, 4) cxcywh unit, all presets that are to be compared.
    """
    picked = [_strong(level) for level in levels]
    ids, classes, scores, offsets = (np.concatenate(parts) for parts in zip(*picked, strict=True))
    sides = np.repeat([np.float32(level.side_unit) for level in levels], [len(part[0]) for part in picked])
    overlaps = _largest_overlaps(ids, offsets, sides, anchors)
    things = _group(classes, scores, overlaps)
    seen = np.flatnonzero(things >= 0)
    ids, sides, things = ids[seen], sides[seen], things[seen]
    return Sightings(
        things=np.concatenate([2 * things, 2 * things + 1]),
        anchors=np.tile(ids, 2),
        axes=np.repeat([0, 1], len(seen)),
        log_sides=np.tile(np.log(sides), 2),
        log_ratios=(offsets[seen, 2:] * SIZE_VARIANCE).T.reshape(-1),
        weights=np.tile(scores[seen], 2),
    )


def _strong(level: Level) -> tuple[Integers, Integers, Floats, Floats]:
    """Anchor numbers, best classes, their scores, offsets, of what scores high; best first."""
    classes = level.scores[:, 1:].argmax(axis=1) + 1
    best = level.scores[np.arange(len(classes)), classes]
    ids = np.flatnonzero(best > _MIN_SCORE)
    ids = ids[np.argsort(-best[ids], kind="stable")][:_MOST_SIGHTINGS]
    return ids, classes[ids], best[ids], level.offsets[ids]


def _largest_overlaps(ids: Integers, offsets: Floats, sides: Floats, anchors: Mapping[str, Floats]) -> Floats:
    """IoU of each two boxes in the picture, under the preset where it is larger, so that none is favoured; (n, n)."""
    overlaps = np.zeros((len(ids), len(ids)), np.float32)
    for of_preset in anchors.values():
        boxes = (decode_offsets(offsets, of_preset[ids]) - np.float32(0.5)) / sides[:, np.newaxis]
        with np.errstate(invalid="ignore", over="ignore"):
            np.fmax(overlaps, pairwise_iou(boxes, boxes), out=overlaps)  # fmax passes over NaN
    return overlaps


def _group(classes: Integers, scores: Floats, overlaps: Floats) -> Integers:
    """Number of the thing that each sighting is of; -1 where there are too few of it."""
    things = np.full(len(classes), -1, np.int64)
    free = np.ones(len(classes), np.bool_)
    count = 0
    for best in np.argsort(-scores, kind="stable"):
        if not free[best]:
            continue
        members = np.flatnonzero(free & (classes == classes[best]) & (overlaps[best] >= _SAME_THING))
        free[[best, *members]] = False
        if len(members) >= _FEWEST_SIGHTINGS:
            things[members] = count
            count += 1
    return things


def pooled(parts: Sequence[Sightings]) -> Sightings:
    """The sightings of several pictures as those of one."""
    counts = [int(part.things.max(initial=-1)) + 1 for part in parts]
    firsts = np.cumsum([0, *counts[:-1]])
    things = np.concatenate([part.things + first for part, first in zip(parts, firsts, strict=True)])
    names = ("anchors", "axes", "log_sides", "log_ratios", "weights")
    return Sightings(things, *(np.concatenate([getattr(part, name) for part in parts]) for name in names))


def fit(seen: Sightings, preset: str, anchors: Floats) -> Fit:
    """Sizes of all things and slopes of all maps that explain the sightings best, by least squares in turns.

    Args:
        seen: at least one row.
        preset: whose maps the anchors are of.
        anchors: (N, 4) cxcywh unit.
    """
    maps = maps_of(preset)[seen.anchors]
    num_maps = len(ANCHOR_PRESETS[preset].grids)
    log_anchors = np.log(anchors[seen.anchors, 2 + seen.axes], dtype=np.float64)
    _, things = np.unique(seen.things, return_inverse=True)
    slopes = np.full(num_maps, _USUAL_SLOPE)
    for _ in range(_ROUNDS):
        slope = slopes[maps]
        weights = seen.weights * slope**2
        told = log_anchors + seen.log_ratios / slope - seen.log_sides  # log size in the picture, by each row
        sizes = np.bincount(things, weights * told) / np.bincount(things, weights)
        larger = sizes[things] + seen.log_sides - log_anchors  # than the anchor
        products = np.bincount(maps, seen.weights * larger * seen.log_ratios, num_maps)
        squares = np.bincount(maps, seen.weights * larger**2, num_maps)
        slopes = np.clip((products + _USUAL_SLOPE * _PRIOR_WEIGHT) / (squares + _PRIOR_WEIGHT), *_SLOPES)
    misfits = seen.weights * (seen.log_ratios - slopes[maps] * larger) ** 2
    disagreement = float(np.sqrt(misfits.sum() / seen.weights.sum()))
    return Fit(slopes.astype(np.float32), misfits.astype(np.float32), disagreement)


def maps_of(preset: str) -> Integers:
    """(N,) number of the map that each anchor belongs to."""
    described = ANCHOR_PRESETS[preset]
    counts = [grid**2 * cell for grid, cell in zip(described.grids, described.anchors_per_cell, strict=True)]
    return np.repeat(np.arange(len(counts)), counts)


def advantage(seen: Sightings, better: Fit, worse: Fit) -> float:
    """z of the claim that `better` fits better, by things; 0 without things."""
    _, things = np.unique(seen.things, return_inverse=True)
    return z_value(np.bincount(things, worse.misfits - better.misfits).astype(np.float32))


def z_value(advantages: Floats) -> float:
    """Their sum in units of its spread, were each as likely to have the other sign; at most the root of their number.

    Args:
        advantages: (n,), any n.
    """
    spread = float(np.sqrt((np.asarray(advantages, np.float64) ** 2).sum()))
    return float(np.sum(advantages, dtype=np.float64)) / spread if spread > 0 else 0.0


def sureness(levels: Sequence[Level]) -> float:
    """How sure the network is of what it sees: the sum of p^2 / q over all levels and the anchors that see something.

    p is the score of the best class, q that of all classes together; an anchor that thinks of one class only counts p.
    """
    total = 0.0
    for level in levels:
        foreground = level.scores[:, 1:]
        best = foreground.max(axis=1)
        seeing = best > _SEEN_SCORE
        total += float((best[seeing] ** 2 / foreground[seeing].sum(axis=1)).sum(dtype=np.float64))
    return total
