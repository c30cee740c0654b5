"""Where an anchor stands: its feature map, its cell, and which of the cell's anchors it is.

The order of anchors is that of `boxes.anchors.make_anchors`: map, row, column, then small square, large square, ratios.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ssd_detect.arrays import Integers
from ssd_detect.boxes.anchors import ANCHOR_PRESETS
from ssd_detect.model.spec import network


@dataclass(frozen=True)
class AnchorPlace:
    """The place of one anchor.

    Args:
        anchor_id: its number among all anchors, from 0.
        map_number: of its feature map, from 1.
        map_name: the layer that puts the map out, as in `model.spec`.
        grid: cells a side of the map.
        step: distance of the cells' centres, pixels of the network's input.
        row, column: of its cell, from 0.
        number: in its cell, from 0.
        per_cell: anchors in each cell of the map.
        ratio: width / height; 1.0 for both squares.
        shape: `small square`, `large square`, or the ratio in words, such as `2:1`.
    """

    anchor_id: int
    map_number: int
    map_name: str
    grid: int
    step: int
    row: int
    column: int
    number: int
    per_cell: int
    ratio: float
    shape: str


class AnchorGrid:
    """All places of a preset.

    Args:
        preset_name: a key of `ANCHOR_PRESETS`.
    """

    def __init__(self, preset_name: str) -> None:
        self._preset = ANCHOR_PRESETS[preset_name]
        self._map_names = tuple(head.source for head in network(self._preset.side).heads)
        counts = [g * g * n for g, n in zip(self._preset.grids, self._preset.anchors_per_cell, strict=True)]
        self._starts = np.cumsum([0, *counts])  # (maps + 1,)

    @property
    def side(self) -> int:
        """Width and height of the network's input, pixels."""
        return self._preset.side

    @property
    def num_maps(self) -> int:
        """How many feature maps there are."""
        return len(self._preset.grids)

    def place(self, anchor_id: int) -> AnchorPlace:
        """The place of an anchor, which must be one of the preset's."""
        k = int(np.searchsorted(self._starts, anchor_id, side="right")) - 1
        grid, per_cell = self._preset.grids[k], self._preset.anchors_per_cell[k]
        cell, number = divmod(anchor_id - int(self._starts[k]), per_cell)
        row, column = divmod(cell, grid)
        ratio, shape = _shape(number, self._preset.ratios[k])
        return AnchorPlace(
            anchor_id,
            k + 1,
            self._map_names[k],
            grid,
            self._preset.steps[k],
            row,
            column,
            number,
            per_cell,
            ratio,
            shape,
        )

    def in_cell_at(self, map_number: int, x_unit: float, y_unit: float) -> Integers:
        """Numbers of the anchors whose cell covers a point, (A,).

        A cell reaches half a step from its centre; the steps of some maps make the last cells leave the input.

        Args:
            map_number: from 1.
            x_unit, y_unit: shares of the picture's sides, 0 to 1.
        """
        k = map_number - 1
        grid, per_cell = self._preset.grids[k], self._preset.anchors_per_cell[k]
        row, column = (min(int(v * self.side / self._preset.steps[k]), grid - 1) for v in (y_unit, x_unit))
        first = int(self._starts[k]) + (row * grid + column) * per_cell
        return np.arange(first, first + per_cell)


def _shape(number: int, ratios: Sequence[float]) -> tuple[float, str]:
    if number < 2:
        return 1.0, ("small square", "large square")[number]
    ratio = ratios[number - 2]
    return ratio, f"{ratio:g}:1" if ratio >= 1 else f"1:{1 / ratio:g}"
