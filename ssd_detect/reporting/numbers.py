"""The numbers of an evaluation as files: `metrics.json` (`formats/schema/metrics.schema.json`) and `per_class.csv`."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from ssd_detect import __version__
from ssd_detect.evaluation.findings import ErrorKind
from ssd_detect.evaluation.results import EvaluationResult, VocResult
from ssd_detect.files import check_target
from ssd_detect.formats.csv_rows import csv_lines
from ssd_detect.formats.json_text import json_file
from ssd_detect.formats.writer import write_whole
from ssd_detect.reporting.details import ReportDetails, RunFacts
from ssd_detect.reporting.findings import Findings, find

SCHEMA = "ssd-detect.metrics/1"
METRICS_FILE = "metrics.json"
PER_CLASS_FILE = "per_class.csv"
_DECIMALS = 6


def write_numbers(result: EvaluationResult, details: ReportDetails, folder: Path, *, overwrite: bool) -> Findings:
    """Write `metrics.json` and `per_class.csv` into a folder, which is made; needs no optional package.

    Args:
        result: the numbers.
        details: what they were made of.
        folder: where to.
        overwrite: replace existing files.

    Returns:
        what was found besides, for whoever shows it too.

    Raises:
        OutputError: a file exists and `overwrite` is off, or the system refuses.
    """
    for name in (METRICS_FILE, PER_CLASS_FILE):
        check_target(folder / name, overwrite=overwrite)
    findings = find(details)
    write_whole(folder / METRICS_FILE, json_file(metrics(result, findings, details)), overwrite=overwrite)
    write_whole(folder / PER_CLASS_FILE, csv_lines(_encodable(_rows(result, findings))), overwrite=overwrite)
    return findings


def metrics(result: EvaluationResult, findings: Findings, details: ReportDetails) -> dict[str, Any]:
    """What `metrics.json` holds: plain values; a number that is not applicable is None."""
    return {
        "schema": SCHEMA,
        **_origin(details.facts),
        "class_names": list(details.class_names),
        **result.to_dict(),
        **findings.to_dict(),
    }


def _origin(facts: RunFacts) -> dict[str, Any]:
    unknown = {"tool": {"name": "ssd-detect", "version": __version__}, "checkpoint": None, "thresholds": None}
    return {
        **(unknown if facts.provenance is None else facts.provenance.to_dict()),
        "dataset": {"name": facts.dataset, "kind": facts.dataset_kind, "split": facts.split},
        "predictions": facts.predictions,
        "command": facts.command,
        "date": facts.date.isoformat(timespec="seconds"),
        "not_read": list(facts.not_read),
    }


def voc_title(result: VocResult) -> str:
    """Such as `VOC07 AP at IoU 0.5`; the number does not stand on a line of its own."""
    return f"{result.metric.upper()} AP at IoU\u00a0{result.iou_threshold:g}"


def _rows(result: EvaluationResult, findings: Findings) -> Iterator[Sequence[str]]:
    yield (
        *("class", "class_id", "objects", "difficult", "detections"),
        *(f"{one.metric}_ap_{one.iou_threshold:g}" for one in result.voc),
        *(("coco_ap", "coco_ap50", "coco_ap75", "coco_ar100") if result.coco else ()),
        *(f"ap_{size.name}" for size in findings.sizes),
        *("threshold", "threshold_precision", "threshold_recall"),
        *(f"detections_{kind.name.lower()}" for kind in ErrorKind),
        "objects_missed",
    )
    for i, one in enumerate(findings.curves.classes):
        coco, chosen = result.coco.classes[i] if result.coco else None, findings.for_precision[i]
        yield (
            *(one.name, str(one.class_id), str(one.num_objects), str(one.num_difficult), str(one.num_detections)),
            *(_field(voc.classes[i].ap) for voc in result.voc),
            *(map(_field, (coco.ap, coco.ap50, coco.ap75, coco.ar100)) if coco else ()),
            *(_field(size.classes[i]) for size in findings.sizes),
            *map(_field, (chosen.threshold, chosen.precision, chosen.recall)),
            *map(str, findings.errors.counts[one.class_id].tolist()),
            str(findings.errors.missed_counts[one.class_id]),
        )


def _field(value: float | None) -> str:
    """Empty where the number is not applicable."""
    return "" if value is None else f"{value:.{_DECIMALS}f}"


def _encodable(rows: Iterator[Sequence[str]]) -> Iterator[Sequence[str]]:
    """CSV cannot hold lone surrogates, nor Python 3.10's zero characters, which a JSON file of class names can."""
    return ([field.encode("utf-8", "replace").decode().replace("\0", "?") for field in row] for row in rows)
