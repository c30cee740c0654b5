"""COCO's twelve numbers, and those of each class.

Source: Lin et al., "Microsoft COCO" (2014), and the rules of `COCOeval` in pycocotools, whose numbers these equal; a
test compares them. They are computed here, because it is to take seconds: 5,000 pictures with 200 detections each cost
0.9 s of processor time here, 12 s in faster-coco-eval 1.8 and 35 s in pycocotools 2.0.11 on the same machine.
"""

from collections.abc import Sequence

import numpy as np

from ssd_detect.arrays import Doubles, Integers
from ssd_detect.evaluation.coco_matching import (
    AREA_RANGES,
    IOU_THRESHOLDS,
    MAX_DETECTIONS,
    CocoMatches,
    coco_match,
    outside,
)
from ssd_detect.evaluation.overlap import box_areas
from ssd_detect.evaluation.results import COCO_NUMBERS, CocoClassResult, CocoResult
from ssd_detect.evaluation.tables import PredictionTable, TruthTable
from ssd_detect.evaluation.voc_ap import precision_envelope

_RECALL_POINTS = np.linspace(0.0, 1.0, 101)
_AT_50, _AT_75 = 0, 5  # of IOU_THRESHOLDS


def coco_result(truth: TruthTable, predictions: PredictionTable, class_names: Sequence[str]) -> CocoResult:
    """All of COCO's numbers for boxes.

    Args:
        truth: objects; `difficult` means nothing here, `crowd` and `area` do.
        predictions: of each class at most the best 100 of a picture count.
        class_names: background first.
    """
    matches = coco_match(truth, predictions)
    num_objects = np.stack(
        [np.bincount(truth.class_id[~ignored], minlength=len(class_names)) for ignored in matches.ignored]
    )  # (A, C)
    ap = np.where(num_objects > 0, _precisions(truth, predictions, matches, num_objects), np.nan)  # (T, A, C)
    ar = {limit: _recalls(truth, matches, num_objects, limit) for limit in (1, 10, MAX_DETECTIONS)}  # (T, A, C)
    at_most = ar[MAX_DETECTIONS]
    values = [_mean(ap[:, 0]), _mean(ap[_AT_50, 0]), _mean(ap[_AT_75, 0]), *(_mean(ap[:, a]) for a in (1, 2, 3))]
    values += [*(_mean(recall[:, 0]) for recall in ar.values()), *(_mean(at_most[:, a]) for a in (1, 2, 3))]
    classes = tuple(
        CocoClassResult(
            class_id=k,
            name=class_names[k],
            ap=_mean(ap[:, 0, k]),
            ap50=_mean(ap[_AT_50, 0, k]),
            ap75=_mean(ap[_AT_75, 0, k]),
            ar100=_mean(at_most[:, 0, k]),
        )
        for k in range(1, len(class_names))
    )
    return CocoResult(dict(zip(COCO_NUMBERS, values, strict=True)), classes)


def _mean(values: Doubles) -> float | None:
    known = values[~np.isnan(values)]
    return float(known.mean()) if known.size else None


def _precisions(
    truth: TruthTable, predictions: PredictionTable, matches: CocoMatches, num_objects: Integers
) -> Doubles:
    """AP for each threshold, range of sizes and class; (T, A, C); 0 without objects."""
    ranked = matches.ranking
    position = np.empty(len(predictions), np.int64)
    position[ranked] = np.arange(len(ranked))
    class_id = predictions.class_id[ranked]
    begins = np.searchsorted(class_id, np.arange(num_objects.shape[1]))  # (C,)
    spot = position[matches.row]
    by_spot = np.argsort(spot)
    too_far = outside(box_areas(predictions.boxes[ranked]))  # (A, r)
    ap = np.zeros((len(IOU_THRESHOLDS), *num_objects.shape))
    for a in range(len(AREA_RANGES)):
        for t in range(len(IOU_THRESHOLDS)):
            taken = matches.truth[a, t, by_spot]
            counted = ~too_far[a]
            at, what = spot[by_spot][taken >= 0], taken[taken >= 0]
            counted[at] = ~matches.ignored[a, what]
            hits = at[counted[at]]  # ascending
            rank = np.append(0, np.cumsum(counted))  # counted detections before each
            ap[t, a] = _class_aps(hits, rank[hits + 1] - rank[begins[class_id[hits]]], class_id[hits], num_objects[a])
    return ap


def _class_aps(hits: Integers, rank: Integers, class_id: Integers, num_objects: Integers) -> Doubles:
    """AP of each class from its hits in order, and how many counted detections each class had by then; (C,).

    Between hits precision only falls, so the best precision from a recall on is always found at a hit.
    """
    ap = np.zeros(len(num_objects))
    ends = np.searchsorted(class_id, np.arange(len(num_objects)), side="right")
    for k in range(1, len(num_objects)):
        ranks = rank[ends[k - 1] : ends[k]]
        if not num_objects[k] or not len(ranks):
            continue
        found = np.arange(1, len(ranks) + 1)
        at = np.searchsorted(found / num_objects[k], _RECALL_POINTS, side="left")
        ap[k] = np.append(precision_envelope(found / ranks), 0.0)[at].mean()
    return ap


def _recalls(truth: TruthTable, matches: CocoMatches, num_objects: Integers, limit: int) -> Doubles:
    """Share of the objects hit by the `limit` best of a class in a picture; (T, A, C); NaN without objects."""
    recall = np.full((len(IOU_THRESHOLDS), *num_objects.shape), np.nan)
    within = matches.place[matches.row] < limit
    for a in range(len(AREA_RANGES)):
        for t in range(len(IOU_THRESHOLDS)):
            taken = matches.truth[a, t, within]
            taken = taken[taken >= 0]
            hits = np.bincount(truth.class_id[taken[~matches.ignored[a, taken]]], minlength=num_objects.shape[1])
            np.divide(hits, num_objects[a], out=recall[t, a], where=num_objects[a] > 0)
    return recall
