"""Errors by kind and class, AP by size of the objects, and the confusion matrix."""

from collections.abc import Sequence

import numpy as np

from ssd_detect.evaluation.findings import ConfusionMatrix, ErrorKind, ErrorKinds, SizeResult
from ssd_detect.media.drawing.palette import text_colour
from ssd_detect.reporting.plotting import (
    BLUE,
    GREEN,
    ORANGE,
    PAGE_WIDTH,
    RED,
    SKY,
    YELLOW,
    PagePicture,
    label_ticks,
    new_figure,
    to_page_picture,
)

KIND_COLOURS = {
    ErrorKind.CLASS: ORANGE,
    ErrorKind.LOCATION: SKY,
    ErrorKind.BOTH: GREEN,
    ErrorKind.DUPLICATE: YELLOW,
    ErrorKind.BACKGROUND: RED,
}
_MISSED_COLOUR = BLUE
_ROW_HEIGHT = 22  # CSS pixels
_MOST_NUMBERED = 25  # classes; in a larger matrix there is no room for numbers


def error_figure(errors: ErrorKinds) -> PagePicture:
    """A bar for each class, its parts the kinds."""
    names = list(errors.class_names[1:])
    figure = new_figure(PAGE_WIDTH, 110 + _ROW_HEIGHT * max(1, len(names)))
    axes = figure.subplots()
    rows, begin = np.arange(len(names)), np.zeros(len(names))
    parts = [(kind.name.lower(), errors.counts[1:, kind], colour) for kind, colour in KIND_COLOURS.items()]
    for label, counts, colour in (*parts, ("missed", errors.missed_counts[1:], _MISSED_COLOUR)):
        axes.barh(rows, counts, left=begin, color=colour, edgecolor="#444444", linewidth=0.4, label=label)
        begin = begin + counts
    label_ticks(axes.yaxis, names)
    axes.set(ylim=(len(names) - 0.4, -0.6), xlim=(0, max(1.0, begin.max(initial=0) * 1.03)), xlabel="number of errors")
    axes.locator_params(axis="x", integer=True)
    axes.grid(True, axis="x")
    figure.legend(loc="outside upper left", ncols=len(parts) + 1, frameon=False)
    total = f"{int(begin.sum()):,} errors of {len(names)} classes"
    return to_page_picture(figure, "errors.png", f"Errors by class and kind, as bars: {total}. The table has the sums.")


def size_figure(sizes: Sequence[SizeResult]) -> PagePicture:
    """A bar for each range of sizes."""
    figure = new_figure(560, 300)
    axes = figure.subplots()
    bars = axes.bar([one.name for one in sizes], [one.mean_ap or 0.0 for one in sizes], 0.6, color=BLUE)
    axes.bar_label(bars, [_said(one.mean_ap) for one in sizes], padding=2)
    axes.set_xticks(range(len(sizes)), [f"{one.name}\n{one.num_objects:,} objects" for one in sizes])
    axes.set(ylim=(0, 1.05), ylabel="mean AP")
    axes.grid(True, axis="y")
    values = "; ".join(f"{one.name} {_said(one.mean_ap)}" for one in sizes)
    return to_page_picture(figure, "sizes.png", f"Mean AP by size of the objects: {values}.")


def _said(ap: float | None) -> str:
    return "n/a" if ap is None else f"{ap:.3f}"


def confusion_figure(matrix: ConfusionMatrix) -> PagePicture:
    """A row for each class of objects, coloured by shares of the row; numbers where there is room."""
    names = [*matrix.class_names[1:], "background"]
    order = np.roll(np.arange(len(names)), -1)  # the background comes last
    counts = matrix.counts[np.ix_(order, order)]
    side = min(PAGE_WIDTH, 260 + 40 * len(names))
    figure = new_figure(side, side)
    axes = figure.subplots()
    totals = counts.sum(axis=1, keepdims=True)
    shares = counts / np.maximum(1, totals)
    image = axes.imshow(shares, cmap="Blues", vmin=0, vmax=1)
    axes.tick_params(axis="x", rotation=90)
    axes.tick_params(length=0, labelsize=8 if len(names) <= 60 else 7)
    for axis in (axes.xaxis, axes.yaxis):
        label_ticks(axis, names)
    axes.set(xlabel="detected as", ylabel="annotated as")
    axes.spines[:].set_visible(False)
    if len(names) <= _MOST_NUMBERED:
        for row, column in np.argwhere(counts):
            red, green, blue, _ = image.to_rgba(shares[row, column : column + 1], bytes=True)[0].tolist()
            ink = [channel / 255 for channel in text_colour((red, green, blue))]
            axes.text(column, row, f"{counts[row, column]}", ha="center", va="center", fontsize=8, color=ink)
    hits = int(np.trace(counts))
    return to_page_picture(
        figure,
        "confusion.png",
        f"Confusion matrix of {len(names) - 1} classes and the background: {hits:,} of {int(counts.sum()):,} are on "
        "the diagonal. The table lists the most frequent confusions.",
    )
