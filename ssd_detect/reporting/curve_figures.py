"""Precision over recall, a panel for each class."""

import math
from typing import TYPE_CHECKING

import numpy as np

from ssd_detect.arrays import Doubles
from ssd_detect.evaluation.curves import curve_points
from ssd_detect.evaluation.results import ClassResult, VocResult
from ssd_detect.reporting.plotting import (
    BLUE,
    PAGE_WIDTH,
    PagePicture,
    new_figure,
    to_page_picture,
    write_name,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_COLUMNS = 5
_PANEL_HEIGHT = 190  # CSS pixels
_LEFT, _RIGHT, _BOTTOM, _TITLE, _BETWEEN = 58, 16, 48, 26, 24  # CSS pixels
_SINGLE = (520, 400)  # (width, height) of the figure of one class


def precision_recall_figure(curves: VocResult) -> PagePicture:
    """All classes as small multiples of the same axes."""
    n = max(1, len(curves.classes))
    columns = min(_COLUMNS, n)
    rows = math.ceil(n / columns)
    width, height = _SINGLE if n == 1 else (PAGE_WIDTH * columns // _COLUMNS, 50 + _PANEL_HEIGHT * rows)
    figure = new_figure(width, height, layout=None)  # the borders are known
    panels = figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False).ravel()
    figure.subplots_adjust(
        left=_LEFT / width,
        right=1 - _RIGHT / width,
        bottom=_BOTTOM / height,
        top=1 - _TITLE / height,
        wspace=_BETWEEN / (width / columns),
        hspace=1.4 * _TITLE / (height / rows),
    )
    for panel, result in zip(panels, curves.classes, strict=False):
        _draw_panel(panel, result)
    for panel in panels[len(curves.classes) :]:
        panel.set_axis_off()
    for panel in panels[max(0, n - columns) : n]:  # also where the last row ends early
        panel.tick_params(labelbottom=True)
    figure.supxlabel("recall", fontsize=9, y=8 / height, va="bottom")
    figure.supylabel("precision", fontsize=9, x=4 / width, ha="left")
    return to_page_picture(figure, "precision-recall.png", _alt(curves))


def _draw_panel(panel: "Axes", result: ClassResult) -> None:
    recall, precision = _stairs(result)
    panel.set(xlim=(0, 1.02), ylim=(0, 1.02))
    for set_ticks in (panel.set_xticks, panel.set_yticks):
        set_ticks((0, 0.5, 1), ("0", "0.5", "1"))
    panel.grid(True)
    panel.fill_between(recall, precision, step="pre", color=BLUE, alpha=0.15, linewidth=0)
    panel.plot(recall, precision, drawstyle="steps-pre", color=BLUE, linewidth=1.5)
    write_name(panel.set_title("", loc="left"), result.name)
    panel.set_title("n/a" if result.ap is None else f"{result.ap:.3f}", loc="right")
    if not result.num_objects or not len(recall):
        reason = "no detections" if result.num_objects else "no objects"
        panel.text(0.51, 0.5, reason, ha="center", va="center", color="#555555")


def _stairs(result: ClassResult) -> tuple[Doubles, Doubles]:
    """The points from recall 0 on and down to precision 0, so that the area below is the AP of VOC10."""
    recall, precision = curve_points(result)
    if not len(recall):
        return recall, precision
    return np.concatenate([[0.0], recall, recall[-1:]]), np.concatenate([precision[:1], precision, [0.0]])


def _alt(curves: VocResult) -> str:
    known = sorted((one.ap, one.name) for one in curves.classes if one.ap is not None)
    if not known:
        return "Precision over recall: no class has objects, so there are no curves."
    (worst, worst_name), (best, best_name) = known[0], known[-1]
    return (
        f"Precision over recall, one panel for each of {len(curves.classes)} classes. "
        f"Best: {best_name}, AP {best:.3f}; worst: {worst_name}, AP {worst:.3f}. The table of classes has all numbers."
    )
