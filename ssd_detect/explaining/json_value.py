"""An explanation as JSON; `formats/schema/explanation.schema.json` describes it."""

import math
from collections.abc import Iterable
from typing import Any

from ssd_detect.detections import BOX_DECIMALS, SCORE_DECIMALS
from ssd_detect.explaining.facts import (
    AnchorFacts,
    ClassScore,
    DetectionExplained,
    Explanation,
    Proposal,
    RegionExplained,
    SpotExplained,
)
from ssd_detect.explaining.trace import Outcome
from ssd_detect.formats.provenance import Provenance

SCHEMA = "ssd-detect.explanation/1"


def to_json(explanation: Explanation, file: str, provenance: Provenance) -> dict[str, Any]:
    """The object: schema, file, what was asked, tool, checkpoint, thresholds. Numbers that are none become null."""
    spot, region = explanation.spot, explanation.region
    return {
        "schema": SCHEMA,
        "file": file,
        "width": explanation.size[0],
        "height": explanation.size[1],
        "input_side": explanation.input_side,
        "detections": [{**_class(found), "box": _box(box)} for found, box in explanation.detections],
        "explained": [_detection(explained) for explained in explanation.explained],
        "spot": None if spot is None else _spot(spot),
        "region": None if region is None else _region(region),
        **provenance.to_dict(),
    }


def _detection(explained: DetectionExplained) -> dict[str, Any]:
    closest = explained.closest
    return {
        "number": explained.number,
        **_proposal(explained.made_by),
        "closest": None
        if closest is None
        else {"detection": closest.number, **_class(closest.found), "iou": _number(closest.iou)},
        "num_removed": explained.num_removed,
        "removed": _proposals(explained.removed),
        "num_near": explained.num_near,
        "near": _proposals(explained.near),
    }


def _spot(spot: SpotExplained) -> dict[str, Any]:
    return {
        "point": list(spot.point),
        "detections": list(spot.numbers),
        "num_boxes": spot.num_boxes,
        "classes": _proposals(spot.classes),
        "cells": _proposals(spot.cells),
    }


def _region(region: RegionExplained) -> dict[str, Any]:
    return {
        "box": _box(region.box),
        "best_iou_of_anchors": _number(region.ceiling),
        "best_iou_of_boxes": _number(region.best_iou),
        "anchors": _proposals(region.anchors),
        "boxes": _proposals(region.boxes),
    }


def _proposals(proposals: Iterable[Proposal]) -> list[dict[str, Any]]:
    return [_proposal(proposal) for proposal in proposals]


def _proposal(proposal: Proposal) -> dict[str, Any]:
    return {
        **_class(proposal.found),
        "iou": _number(proposal.iou),
        "outcome": _outcome(proposal.outcome),
        "anchor": _anchor(proposal.anchor),
    }


def _outcome(outcome: Outcome) -> dict[str, Any]:
    remover = outcome.remover
    return {
        "reason": outcome.reason.value,
        "threshold": _number(outcome.threshold),
        "margin": _number(outcome.margin),
        "detection": outcome.detection,
        "iou": _number(outcome.iou),
        "removed_by": None if remover is None else {"anchor": remover[0], "class_id": remover[1]},
        "rank": outcome.rank,
        "limit": outcome.limit,
    }


def _anchor(anchor: AnchorFacts) -> dict[str, Any]:
    place = anchor.place
    return {
        "anchor": place.anchor_id,
        "map": place.map_number,
        "map_name": place.map_name,
        "grid": place.grid,
        "step": place.step,
        "row": place.row,
        "column": place.column,
        "number": place.number,
        "per_cell": place.per_cell,
        "ratio": _number(place.ratio),
        "shape": place.shape,
        "size": [_number(v, BOX_DECIMALS) for v in anchor.size],
        "anchor_box": _box(anchor.anchor_box),
        "offsets": [_number(v) for v in anchor.offsets],
        "decoded_box": _box(anchor.decoded_box),
        "clipped_box": _box(anchor.clipped_box),
        "scores": [_class(found) for found in anchor.scores],
        "background": _number(anchor.background),
    }


def _class(found: ClassScore) -> dict[str, Any]:
    return {"class": found.class_name, "class_id": found.class_id, "score": _number(found.score)}


def _box(box: Iterable[float]) -> list[float | None]:
    return [_number(v, BOX_DECIMALS) for v in box]


def _number(value: float | None, decimals: int = SCORE_DECIMALS) -> float | None:
    if value is None or not math.isfinite(value):
        return None
    return round(value, decimals) + 0.0  # -0.0 becomes 0.0
