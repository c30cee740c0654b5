"""Whether a score of 0.8 means that 8 of 10 detections are right.

Source: Guo et al., "On Calibration of Modern Neural Networks" (2017), section 2: bins of equal width and the expected
calibration error; the share of hits takes the place of accuracy.
"""

import numpy as np

from ssd_detect.evaluation.findings import Calibration
from ssd_detect.evaluation.matching import Matches, Outcome
from ssd_detect.evaluation.tables import PredictionTable


def calibration(predictions: PredictionTable, matches: Matches, num_bins: int = 10) -> Calibration:
    """Compare scores with hits, over all classes; ignored detections are left out.

    Args:
        predictions: with scores from 0 to 1.
        matches: of these predictions.
        num_bins: of equal width; a score on a border counts in the upper one.
    """
    counted = matches.outcome != Outcome.IGNORED
    score, hit = predictions.score[counted], matches.outcome[counted] == Outcome.HIT
    edges = np.linspace(0.0, 1.0, num_bins + 1)
    bins = np.minimum(np.searchsorted(edges, score, side="right") - 1, num_bins - 1)
    count = np.bincount(bins, minlength=num_bins)
    with np.errstate(invalid="ignore"):
        mean_score = np.bincount(bins, score, num_bins) / count
        precision = np.bincount(bins, hit, num_bins) / count
    filled = count > 0
    gap = np.abs(mean_score - precision)[filled]
    error = float(gap @ count[filled] / count.sum()) if len(score) else None
    return Calibration(edges, count, mean_score, precision, error)
