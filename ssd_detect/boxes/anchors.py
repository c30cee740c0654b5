"""SSD's anchors: the fixed boxes that the network's offsets refer to.

Formula and constants: Liu et al., "SSD: Single Shot MultiBox Detector" (2016), and the Caffe release's
`ssd_pascal.py` and `ssd_coco.py`; the same in balancap/SSD-Tensorflow.
"""

from dataclasses import dataclass, replace
from functools import cache

import numpy as np

from ssd_detect.arrays import Floats
from ssd_detect.conventions import AnchorClip, AnchorRounding
from ssd_detect.errors import SettingError

MATCHED_IOU = 0.5
"""Anchors that overlap an object so much learn it; if none does, the best one alone (Liu et al. 2016, section 2.2)."""

_WIDE_AND_TALL = (2.0, 1 / 2)
_WIDER_AND_TALLER = (2.0, 1 / 2, 3.0, 1 / 3)


@dataclass(frozen=True)
class AnchorPreset:
    """One way of covering the network's input with anchors.

    Args:
        side: width and height of the network's input, pixels.
        grids: cells a side of each feature map.
        steps: distance of the cells' centres, pixels; not side / grid, which would shift the centres.
        sizes: side of each map's small square anchor, pixels, and one more: map k's large square is
            the geometric mean of sizes k and k + 1.
        ratios: width / height of each map's further anchors.
    """

    side: int
    grids: tuple[int, ...]
    steps: tuple[int, ...]
    sizes: tuple[float, ...]
    ratios: tuple[tuple[float, ...], ...]

    @property
    def anchors_per_cell(self) -> tuple[int, ...]:
        """Anchors in one cell of each map: two squares, then one a ratio."""
        return tuple(2 + len(ratios) for ratios in self.ratios)


def _preset300(*sizes: float) -> AnchorPreset:
    return AnchorPreset(
        side=300,
        grids=(38, 19, 10, 5, 3, 1),
        steps=(8, 16, 32, 64, 100, 300),
        sizes=sizes,
        ratios=(_WIDE_AND_TALL, *[_WIDER_AND_TALLER] * 3, *[_WIDE_AND_TALL] * 2),
    )


def _preset512(*sizes: float) -> AnchorPreset:
    return AnchorPreset(
        side=512,
        grids=(64, 32, 16, 8, 4, 2, 1),
        steps=(8, 16, 32, 64, 128, 256, 512),
        sizes=sizes,
        ratios=(_WIDE_AND_TALL, *[_WIDER_AND_TALLER] * 4, *[_WIDE_AND_TALL] * 2),
    )


ANCHOR_PRESETS = {
    "voc300": _preset300(30, 60, 111, 162, 213, 264, 315),
    "coco300": _preset300(21, 45, 99, 153, 207, 261, 315),
    "voc512": _preset512(35.84, 76.8, 153.6, 230.4, 307.2, 384.0, 460.8, 537.6),
    "coco512": _preset512(20.48, 51.2, 133.12, 215.04, 296.96, 378.88, 460.8, 542.72),
}


def make_anchors(
    preset_name: str, rounding: AnchorRounding = AnchorRounding.FLOAT, clip: AnchorClip = AnchorClip.NONE
) -> Floats:
    """All anchors of a preset, (N, 4) float32 cxcywh as shares of the input's side; N is 8732 or 24564.

    Order: map, row, column, then small square, large square, ratios. Anchors may leave the picture.
    The array is shared and read-only.

    Args:
        preset_name: a key of `ANCHOR_PRESETS`.
        rounding: INT cuts the sizes of the preset, and nothing that is made of them, to whole pixels: the Caffe
            release's PriorBox layer keeps them in variables of type int. The presets of SSD300 have no others.
        clip: SIZE as torchvision's `DefaultBoxGenerator` does it, CENTRE_AND_SIZE as ssd.pytorch's `PriorBox`.

    Raises:
        SettingError: no such preset.
    """
    if preset_name not in ANCHOR_PRESETS:
        raise SettingError(f"anchor preset is {preset_name!r}, expected one of {', '.join(ANCHOR_PRESETS)}")
    return _made_anchors(preset_name, AnchorRounding(rounding), AnchorClip(clip))


@cache
def _made_anchors(preset_name: str, rounding: AnchorRounding, clip: AnchorClip) -> Floats:
    preset = ANCHOR_PRESETS[preset_name]
    if rounding is AnchorRounding.INT:
        preset = replace(preset, sizes=tuple(float(int(size)) for size in preset.sizes))
    anchors = np.concatenate([_map_anchors(preset, k) for k in range(len(preset.grids))])  # (N, 4)
    if clip is not AnchorClip.NONE:
        first = 2 if clip is AnchorClip.SIZE else 0
        np.clip(anchors[:, first:], 0, 1, out=anchors[:, first:])
    anchors.flags.writeable = False
    return anchors


def _map_anchors(preset: AnchorPreset, k: int) -> Floats:
    grid = preset.grids[k]
    # Multiplied by the step first, then divided, in float32: the reference's own rounding.
    centres = (
        (np.arange(grid, dtype=np.float32) + np.float32(0.5)) * np.float32(preset.steps[k]) / np.float32(preset.side)
    )
    sizes = _cell_sizes(preset, k)  # (A, 2)
    boxes = np.empty((grid, grid, len(sizes), 4), np.float32)
    boxes[..., 0] = centres[np.newaxis, :, np.newaxis]  # x runs along a row
    boxes[..., 1] = centres[:, np.newaxis, np.newaxis]
    boxes[..., 2:] = sizes
    return boxes.reshape(-1, 4)


def _cell_sizes(preset: AnchorPreset, k: int) -> Floats:
    """Width and height of each anchor of a cell, (A, 2); computed in double, stored as float32."""
    small, following = preset.sizes[k], preset.sizes[k + 1]
    large = np.sqrt(small * following)
    stretched = [(small * np.sqrt(r), small / np.sqrt(r)) for r in preset.ratios[k]]
    return (np.array([(small, small), (large, large), *stretched]) / preset.side).astype(np.float32)
