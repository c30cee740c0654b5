"""Scores of hits and of false alarms, and whether a score is what it seems."""

from typing import TYPE_CHECKING

import numpy as np

from ssd_detect.arrays import Doubles
from ssd_detect.evaluation.findings import Calibration
from ssd_detect.reporting.findings import Findings
from ssd_detect.reporting.plotting import (
    BLACK,
    BLUE,
    ORANGE,
    PAGE_WIDTH,
    PagePicture,
    new_figure,
    to_page_picture,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_BINS = np.linspace(0.0, 1.0, 41)


def score_figure(findings: Findings) -> PagePicture:
    """Two histograms, one above the other; counts on a logarithmic scale, since low scores are most of all."""
    hits, alarms = findings.hit_scores, findings.false_alarm_scores
    figure = new_figure(PAGE_WIDTH, 340)
    upper, lower = figure.subplots(2, 1, sharex=True, sharey=True)
    highest = max(np.histogram(scores, _BINS)[0].max() for scores in (hits, alarms))
    upper.set_ylim(0.7, 2 * max(10, highest))  # before the scale, which looks for positive numbers otherwise
    _draw_histogram(upper, hits, BLUE, f"hits ({len(hits):,})")
    _draw_histogram(lower, alarms, ORANGE, f"false alarms ({len(alarms):,})")
    lower.set_xlabel("score")
    return to_page_picture(figure, "scores.png", _alt_of_scores(hits, alarms))


def _draw_histogram(axes: "Axes", scores: Doubles, colour: str, title: str) -> None:
    axes.hist(scores, bins=_BINS.tolist(), color=colour, edgecolor="white", linewidth=0.5)
    axes.set_yscale("log")
    axes.set(xlim=(0, 1), ylabel="detections")
    axes.set_title(title, loc="left")
    axes.grid(True, axis="y")
    if not len(scores):
        axes.text(0.5, 0.5, "none", ha="center", va="center", color="#555555", transform=axes.transAxes)


def _alt_of_scores(hits: Doubles, alarms: Doubles) -> str:
    parts = (
        f"{len(scores):,} {name}" + (f", median score {np.median(scores):.2f}" if len(scores) else "")
        for name, scores in (("hits", hits), ("false alarms", alarms))
    )
    return f"Histograms of scores: {'; '.join(parts)}."


def calibration_figure(found: Calibration) -> PagePicture:
    """Share of hits over score, and how many detections there are of each."""
    figure = new_figure(560, 460)
    upper, lower = figure.subplots(2, 1, sharex=True, height_ratios=(4, 1))
    centres, width = (found.edges[:-1] + found.edges[1:]) / 2, np.diff(found.edges)
    upper.bar(centres, np.nan_to_num(found.precision), width * 0.94, color=BLUE, label="share of hits")
    filled = found.count > 0
    upper.plot((0, 1), (0, 1), color=BLACK, linewidth=1, linestyle="--", label="as the scores say")
    upper.plot(found.mean_score[filled], found.precision[filled], "o", color=BLACK, markersize=4, label="mean score")
    upper.set(xlim=(0, 1), ylim=(0, 1.02), ylabel="share of hits")
    upper.legend(loc="upper left", frameon=False)
    upper.grid(True, axis="y")
    lower.bar(centres, found.count, width * 0.94, color="#888888")
    lower.set(xlabel="score", ylabel="detections", ylim=(0, max(1, found.count.max()) * 1.1))
    return to_page_picture(figure, "calibration.png", _alt_of_calibration(found))


def _alt_of_calibration(found: Calibration) -> str:
    if found.expected_error is None:
        return "Calibration: there are no detections."
    return (
        f"Share of hits over score. Expected calibration error {found.expected_error:.3f}; the table has all numbers."
    )
