"""Which of a batch's scores can become detections at all: those above the limit of their class."""

from typing import NamedTuple

import numpy as np

from ssd_detect.arrays import Flags, Floats, Integers
from ssd_detect.boxes.profiles import rules_of
from ssd_detect.settings import DetectionSettings

# Anchors that are compared, or reduced, in one go: NumPy takes a row of some thousand numbers at the speed of memory,
# and one of 21 at the speed of its loop.
_ANCHORS_IN_A_ROW = 128


class Selected(NamedTuple):
    """Scores of a batch of B pictures that are above the limits of their classes, by picture, anchor, then class.

    Args:
        picture_ids, anchor_ids, class_ids: (n,) int64.
        scores: (n,) float32.
        offsets: (n, 4) float32, of each one's anchor.
        peaks: (B, C) float32, the highest score of each class in each picture; a NaN is passed over; 0 where all are.
    """

    picture_ids: Integers
    anchor_ids: Integers
    class_ids: Integers
    scores: Floats
    offsets: Floats
    peaks: Floats

    def at(self, places: Integers) -> "Selected":
        """Some of them, in this order."""
        return Selected(
            self.picture_ids[places],
            self.anchor_ids[places],
            self.class_ids[places],
            self.scores[places],
            self.offsets.take(places, axis=0),  # an index, for rows so short, takes ten times as long
            self.peaks,
        )


def score_limits(wanted: Flags, settings: DetectionSettings, thresholds: Floats | None = None) -> Floats:
    """The limits that `select_scores` takes, (C,) float32: a score is selected when it is above its class's.

    Args:
        wanted: (C,) bool, which classes count; the background (0) must not.
        settings: resolved; score_threshold and profile count here.
        thresholds: (C,) float32, one for each class in the place of score_threshold.

    Returns:
        Infinity for the other classes. Where the profile selects a score that equals its threshold too, the next
        smaller number; -1 for 0, since what lies between them may be flushed to zero by who compares.
    """
    each = np.full(wanted.shape, settings.score_threshold, np.float32) if thresholds is None else thresholds
    if rules_of(settings).selects_equal:
        each = np.where(each > 0, np.nextafter(each, np.float32(-1)), np.float32(-1))
    limits: Floats = np.where(wanted, each, np.float32(np.inf))
    return limits


def select_scores(scores: Floats, offsets: Floats, limits: Floats) -> Selected:
    """Select on the host.

    Args:
        scores: (B, N, C) float32, 0 to 1; a NaN is never selected.
        offsets: (B, N, 4) float32.
        limits: (C,) float32; a score is selected when it is above its class's; infinity selects none.
    """
    num_anchors, num_classes = scores.shape[1:]
    values = scores.reshape(-1)
    places = np.flatnonzero(_above(values, limits))  # (n,)
    rows, class_ids = _split(places, num_classes)
    picture_ids, anchor_ids = _split(rows, num_anchors)
    of_anchors = offsets.reshape(-1, 4).take(rows, axis=0)
    return Selected(picture_ids, anchor_ids, class_ids, values[places], of_anchors, _peaks(scores))


def _split(numbers: Integers, by: int) -> tuple[Integers, Integers]:
    """Quotients and remainders; `np.divmod` takes twice as long."""
    quotients = numbers // by
    return quotients, numbers - quotients * by


def _above(values: Floats, limits: Floats) -> Flags:
    """(B * N * C,) to the same: whether each is above the limit of its class."""
    row = np.tile(limits, _ANCHORS_IN_A_ROW)
    above = np.empty(values.shape, np.bool_)
    end = len(values) - len(values) % len(row)
    np.greater(values[:end].reshape(-1, len(row)), row, out=above[:end].reshape(-1, len(row)))
    np.greater(values[end:], row[: len(values) - end], out=above[end:])
    return above


def _peaks(scores: Floats) -> Floats:
    """(B, N, C) to (B, C): the highest of each class, at least 0; fmax passes over NaN."""
    batch, num_anchors, num_classes = scores.shape
    end = num_anchors - num_anchors % _ANCHORS_IN_A_ROW
    rows = scores[:, :end].reshape(batch, end // _ANCHORS_IN_A_ROW, _ANCHORS_IN_A_ROW * num_classes)
    highest = np.fmax.reduce(rows, axis=1, initial=0.0).reshape(batch, _ANCHORS_IN_A_ROW, num_classes)
    peaks: Floats = np.fmax(np.fmax.reduce(highest, axis=1), np.fmax.reduce(scores[:, end:], axis=1, initial=0.0))
    return peaks
