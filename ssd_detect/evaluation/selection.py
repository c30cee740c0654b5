"""Parts of a table."""

from dataclasses import replace

import numpy as np

from ssd_detect.arrays import Integers
from ssd_detect.evaluation.tables import PredictionTable


def above_score(predictions: PredictionTable, threshold: float) -> tuple[PredictionTable, Integers]:
    """Detections with a score above the threshold, as `DetectionSettings` has it, and their rows; (k,) int64."""
    rows = np.flatnonzero(predictions.score > threshold)
    part = replace(
        predictions,
        picture=predictions.picture[rows],
        class_id=predictions.class_id[rows],
        boxes=predictions.boxes[rows],
        score=predictions.score[rows],
    )
    return part, rows
