"""Guessing anchors and colour order: made-up networks of every preset that are as cautious as real ones."""

import numpy as np
import pytest

from ssd_detect.arrays import Floats
from ssd_detect.boxes.anchors import ANCHOR_PRESETS, make_anchors
from ssd_detect.classes import VOC20
from ssd_detect.conventions import ColourOrder, ResizeRule
from ssd_detect.inspection.guess import (
    Level,
    advantage,
    fit,
    maps_of,
    pooled,
    sightings,
    sureness,
    z_value,
)
from ssd_detect.inspection.pyramid import pyramid
from ssd_detect.inspection.trial import Observation, judge, presets_of
from ssd_detect.model.spec import MEAN_RGB, ModelSpec

SLOPES = np.array([0.5, 0.45, 0.7, 0.75, 0.8, 0.85, 0.9])
NOISE = 0.05


def spec_of(preset: str) -> ModelSpec:
    return ModelSpec(ANCHOR_PRESETS[preset].side, VOC20, preset, ResizeRule.LEGACY)


def blank(preset: str, side: float) -> Level:
    """Nothing is seen."""
    count = len(make_anchors(preset))
    return Level(side, np.zeros((count, 3), np.float32), np.zeros((count, 4), np.float32))


def seen_by(preset: str, centre: tuple[float, float], size: tuple[float, float], seed: int) -> list[Level]:
    """One thing at all levels, as a network of this preset would see it that says less than it should."""
    rng = np.random.default_rng(seed)
    anchors = make_anchors(preset).astype(np.float64)
    slopes = SLOPES[maps_of(preset)][:, np.newaxis]
    levels = []
    for side in (1.0, 0.84, 0.7, 0.6, 0.5, 0.42, 0.36):
        level = blank(preset, side)
        shrunk = np.array(size) * side
        place = (np.array(centre) - 0.5) * side + 0.5
        ratios = np.log(shrunk / anchors[:, 2:])
        near = (np.abs(place - anchors[:, :2]) < 0.1 * anchors[:, 2:]).all(axis=1) & (np.abs(ratios) < 0.5).all(axis=1)
        said = (slopes * ratios + NOISE * rng.standard_normal(ratios.shape)) / 0.2
        level.offsets[near, :2] = ((place - anchors[:, :2]) / anchors[:, 2:] / 0.1)[near]
        level.offsets[near, 2:] = said[near]
        level.scores[near, 2] = rng.uniform(0.4, 0.9, near.sum())
        levels.append(level)
    return levels


def observation(levels: list[Level], exchanged: list[Level], spec: ModelSpec) -> Observation:
    anchors = presets_of(spec)
    return Observation(
        (sightings(levels, anchors), sightings(exchanged, anchors)), (sureness(levels), sureness(exchanged))
    )


def observations(preset: str, count: int) -> list[Observation]:
    """Things of sizes that small and large anchors see; with the colours exchanged the network sees nothing."""
    rng = np.random.default_rng(1)
    spec, made = spec_of(preset), []
    for number in range(count):
        width, height = rng.uniform(0.2, 0.7, 2)
        levels = seen_by(preset, tuple(rng.uniform(0.4, 0.6, 2)), (width, height), number)
        made.append(observation(levels, [blank(preset, 1.0)], spec))
    return made


class TestZValue:
    @pytest.mark.parametrize(
        ("advantages", "z"),
        [([], 0.0), ([0.0, 0.0], 0.0), ([3.0], 1.0), ([-2.0], -1.0), ([1.0, -1.0], 0.0), ([0.5] * 9, 3.0)],
    )
    def test_table(self, advantages: list[float], z: float) -> None:
        assert z_value(np.array(advantages, np.float32)) == pytest.approx(z)


class TestPyramid:
    @pytest.mark.parametrize("full", [300, 512])
    def test_levels(self, full: int) -> None:
        mean = np.array(MEAN_RGB, np.float32)
        picture = np.random.default_rng(0).uniform(0, 255, (full, full, 3)).astype(np.float32)
        sides, canvases = pyramid(picture, mean)
        assert sides[0] == 1.0
        assert 0.34 < sides[-1] < 0.37
        np.testing.assert_array_equal(canvases[0], picture)
        for side, canvas in zip(sides, canvases, strict=True):
            edge = (full - round(side * full)) // 2
            assert (canvas[:edge] == mean).all()
            assert (canvas[edge] != mean).any()
            np.testing.assert_allclose((canvas - mean).mean(), (picture - mean).mean() * side**2, atol=1e-3)


class TestAnchors:
    def test_nothing_seen(self) -> None:
        spec = spec_of("voc300")
        nothing = observation([blank("voc300", 1.0)], [blank("voc300", 1.0)], spec)
        guess = judge([nothing], spec, ColourOrder.RGB)
        assert (guess.things, guess.pictures) == (0, 1)
        assert not guess.anchors.is_sure
        assert not guess.colour_order.is_sure
        assert {trial.disagreement for trial in guess.trials} == {None}

    @pytest.mark.parametrize("told", [0, 1])
    @pytest.mark.parametrize("preset", ANCHOR_PRESETS)
    def test_every_preset_is_found_whatever_was_told(self, preset: str, told: int) -> None:
        spec = spec_of(sorted(presets_of(spec_of(preset)))[told])
        guess = judge(observations(preset, 10), spec, ColourOrder.RGB)
        assert guess.anchors.choice == preset
        assert guess.anchors.is_sure

    def test_slopes_are_found(self) -> None:
        seen = pooled([o.seen[0] for o in observations("coco300", 20)])
        made = fit(seen, "coco300", make_anchors("coco300"))
        np.testing.assert_allclose(made.slopes[1:5], SLOPES[1:5], atol=0.06)
        assert 0.5 * NOISE < made.disagreement < 1.5 * NOISE

    def test_pictures_are_pooled_as_things_of_their_own(self) -> None:
        both = [o.seen[0] for o in observations("voc300", 2)]
        together = pooled(both)
        assert len(np.unique(together.things)) == sum(len(np.unique(part.things)) for part in both)
        assert len(together.things) == sum(len(part.things) for part in both)

    def test_the_other_way_round(self) -> None:
        seen = pooled([o.seen[0] for o in observations("voc300", 5)])
        fits = {name: fit(seen, name, make_anchors(name)) for name in ("voc300", "coco300")}
        there = advantage(seen, fits["voc300"], fits["coco300"])
        assert there == pytest.approx(-advantage(seen, fits["coco300"], fits["voc300"]))


class TestColours:
    @pytest.mark.parametrize(("loaded", "other"), [(ColourOrder.RGB, "bgr"), (ColourOrder.BGR, "rgb")])
    def test_the_surer_order_wins(self, loaded: ColourOrder, other: str) -> None:
        spec, made = spec_of("voc300"), observations("voc300", 10)
        assert judge(made, spec, loaded).colour_order.choice == loaded.value
        turned = [Observation((o.seen[1], o.seen[0]), (o.sureness[1], o.sureness[0])) for o in made]
        guess = judge(turned, spec, loaded)
        assert guess.colour_order.choice == other
        assert guess.colour_order.is_sure
        assert guess.anchors.choice == "voc300"  # told by the better order's outputs

    def test_nine_pictures_are_never_enough(self) -> None:
        guess = judge(observations("voc300", 9), spec_of("voc300"), ColourOrder.RGB)
        assert guess.colour_order.z > 2
        assert not guess.colour_order.is_sure
        assert not guess.anchors.is_sure

    def test_sureness_counts_doubt(self) -> None:
        def level(*scores: float) -> list[Level]:
            made: Floats = np.zeros((1, 4), np.float32)
            made[0, 1 : 1 + len(scores)] = scores
            return [Level(1.0, made, np.zeros((1, 4), np.float32))]

        assert sureness(level()) == 0
        assert sureness(level(0.05)) == 0  # nothing that it would call seen
        assert sureness(level(0.8)) == pytest.approx(0.8)
        assert sureness(level(0.4, 0.4)) == pytest.approx(0.2)
