"""Why detections are wrong, and which objects nobody found.

Source: Bolya et al., "TIDE: A General Toolbox for Identifying Object Detection Errors" (2020), section 2.2, thresholds
0.5 and 0.1, kinds tried in the order of its program: location, class, duplicate, background, both. Hits are those of
VOC's rule (see `matching`); difficult objects and crowds explain no error, and detections of them are ignored.
"""

from collections.abc import Sequence

import numpy as np

from ssd_detect.arrays import Flags, Integers
from ssd_detect.evaluation.findings import ErrorKind, ErrorKinds
from ssd_detect.evaluation.matching import Matches, Outcome, best_objects, largest_overlap, match
from ssd_detect.evaluation.overlap import overlapping_pairs
from ssd_detect.evaluation.selection import above_score
from ssd_detect.evaluation.tables import PredictionTable, TruthTable
from ssd_detect.evaluation.voc_ap import counted_objects


def error_kinds(
    truth: TruthTable,
    predictions: PredictionTable,
    class_names: Sequence[str],
    *,
    score_threshold: float = 0.5,
    iou_threshold: float = 0.5,
    background_threshold: float = 0.1,
) -> ErrorKinds:
    """Give every detection above the score a kind, and find the missed objects.

    Args:
        truth, predictions: what was compared.
        class_names: background first.
        score_threshold: detections with this score or less are left out.
        iou_threshold: an object is hit from this IoU on.
        background_threshold: up to this IoU nothing is there.
    """
    shown, rows = above_score(predictions, score_threshold)
    matches = match(truth, best_objects(truth, shown), iou_threshold)
    kind, nearest = _kinds(truth, shown, matches, background_threshold)
    missed = _missed(truth, kind, nearest)
    counts = np.zeros((len(class_names), len(ErrorKind)), np.int64)
    np.add.at(counts, (shown.class_id, kind), 1)
    all_kinds = np.full(len(predictions), -1, np.int8)
    all_kinds[rows] = kind
    all_nearest = np.full(len(predictions), -1)
    all_nearest[rows] = nearest
    return ErrorKinds(
        class_names=tuple(class_names),
        kind=all_kinds,
        nearest=all_nearest,
        missed=missed,
        counts=counts,
        missed_counts=np.bincount(truth.class_id[missed], minlength=len(class_names)),
        score_threshold=score_threshold,
        iou_threshold=iou_threshold,
        background_threshold=background_threshold,
    )


def _kinds(
    truth: TruthTable, shown: PredictionTable, matches: Matches, background_threshold: float
) -> tuple[Integers, Integers]:
    """Kind of each detection, and the object it was judged by; (n,) each."""
    pairs = overlapping_pairs(truth, shown, same_class=False)
    usable = counted_objects(truth)[pairs.truth]
    same = shown.class_id[pairs.detection] == truth.class_id[pairs.truth]
    own_object, own = largest_overlap(pairs, usable & same, len(shown))
    other_object, other = largest_overlap(pairs, usable & ~same, len(shown))
    threshold = matches.iou_threshold
    rules: list[tuple[Flags, ErrorKind, Integers]] = [
        (matches.outcome == Outcome.HIT, ErrorKind.HIT, matches.truth),
        (matches.outcome == Outcome.IGNORED, ErrorKind.IGNORED, matches.truth),
        ((own >= background_threshold) & (own < threshold), ErrorKind.LOCATION, own_object),
        (other >= threshold, ErrorKind.CLASS, other_object),
        (own >= threshold, ErrorKind.DUPLICATE, own_object),
        (other <= background_threshold, ErrorKind.BACKGROUND, np.full(len(shown), -1)),
    ]
    conditions = [condition for condition, _, _ in rules]
    kind = np.select(conditions, [int(which) for _, which, _ in rules], int(ErrorKind.BOTH))
    return kind, np.select(conditions, [row for _, _, row in rules], other_object)


def _missed(truth: TruthTable, kind: Integers, nearest: Integers) -> Flags:
    """Objects that no detection hit, and that no error of class or location explains; (m,)."""
    missed = counted_objects(truth)
    explained = np.isin(kind, (ErrorKind.HIT, ErrorKind.CLASS, ErrorKind.LOCATION))
    missed[nearest[explained]] = False
    return missed
