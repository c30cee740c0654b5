"""Check and statistics of a data set as plain values, ready for JSON."""

import itertools
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from ssd_detect.datasets.coverage import AnchorCoverage, Coverage
from ssd_detect.datasets.dataset import Dataset, Treatment
from ssd_detect.datasets.rules import RULES
from ssd_detect.datasets.statistics import RATIO_LIMITS, SIDE_LIMITS, DatasetStatistics

CHECK_SCHEMA = "ssd-detect.dataset-check/1"
STATISTICS_SCHEMA = "ssd-detect.dataset-stats/1"


def check_report(dataset: Dataset) -> dict[str, Any]:
    """All problems, and each kind of them with its count, treatment and rule."""
    return {
        "schema": CHECK_SCHEMA,
        **_head(dataset),
        "treatments": treatment_counts(dataset),
        "kinds": [
            {"kind": kind, "count": count, "treatment": RULES[kind].treatment.value, "rule": RULES[kind].text}
            for kind, count in kind_counts(dataset)
        ],
        "problems": [
            {
                "file": str(p.file),
                "object": p.object_number,
                "kind": p.kind,
                "treatment": p.treatment.value,
                "text": p.text,
            }
            for p in dataset.problems
        ],
    }


def kind_counts(dataset: Dataset) -> list[tuple[str, int]]:
    """Kinds of problems in the order of the rules, with how many there are."""
    counts = Counter(p.kind for p in dataset.problems)
    return [(kind, counts[kind]) for kind in RULES if counts[kind]]


def treatment_counts(dataset: Dataset) -> dict[str, int]:
    """Treatment -> number of problems, also where there are none."""
    counts = Counter(p.treatment for p in dataset.problems)
    return {treatment.value: counts[treatment] for treatment in Treatment}


def statistics_report(
    dataset: Dataset, statistics: DatasetStatistics, coverage: AnchorCoverage | None
) -> dict[str, Any]:
    """The statistics, and the coverage by anchors if it was asked for."""
    values = asdict(statistics)
    # `objects` and `pictures` come with the head.
    report = {"schema": STATISTICS_SCHEMA, **_head(dataset), **values}
    return report if coverage is None else {**report, "coverage": _coverage_report(coverage)}


def _head(dataset: Dataset) -> dict[str, Any]:
    return {
        "dataset": str(dataset.root),
        "kind": dataset.kind.value,
        "split": dataset.split,
        "class_names": list(dataset.class_names[1:]),
        "pictures": len(dataset.pictures),
        "objects": sum(len(p) for p in dataset.pictures),
    }


def _coverage_report(coverage: AnchorCoverage) -> dict[str, Any]:
    sizes, ratios = _bounds(SIDE_LIMITS, "side"), _bounds(RATIO_LIMITS, "ratio")
    return {
        "anchors": coverage.anchors,
        "overall": asdict(coverage.overall),
        "by_size": _bucket_rows(sizes, coverage.by_size),
        "by_ratio": _bucket_rows(ratios, coverage.by_ratio),
        "by_size_and_ratio": [
            {**size, **row}
            for size, covered in zip(sizes, coverage.by_size_and_ratio, strict=True)
            for row in _bucket_rows(ratios, covered)
        ],
        "by_class": {name: asdict(one) for name, one in coverage.by_class.items()},
    }


def _bounds(limits: Sequence[float], name: str) -> list[dict[str, float | None]]:
    """From, and up to but without; None at the open ends."""
    ends = [0.0, *limits, math.inf]
    return [
        {f"{name}_from": low, f"{name}_below": None if high == math.inf else high}
        for low, high in itertools.pairwise(ends)
    ]


def _bucket_rows(bounds: Sequence[dict[str, float | None]], covered: Sequence[Coverage]) -> list[dict[str, Any]]:
    return [{**bound, **asdict(one)} for bound, one in zip(bounds, covered, strict=True)]
