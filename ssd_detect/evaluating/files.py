"""The files of an evaluation: whether they may be written, and writing them."""

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from ssd_detect.arrays import Doubles
from ssd_detect.datasets.dataset import Dataset, DatasetKind
from ssd_detect.detections import SCORE_DECIMALS
from ssd_detect.errors import MissingPackageError
from ssd_detect.evaluating.compared_file import COMPARED_FILE, write_compared
from ssd_detect.evaluating.kept_inputs import check_names
from ssd_detect.evaluating.settings import EvalSettings
from ssd_detect.evaluation.curves import thresholds_for_precision
from ssd_detect.evaluation.evaluate import EvaluationSettings, evaluate
from ssd_detect.evaluation.results import EvaluationResult
from ssd_detect.files import check_target
from ssd_detect.formats.json_text import json_file
from ssd_detect.formats.thresholds import ScoreThresholds, write_thresholds
from ssd_detect.formats.writer import write_whole
from ssd_detect.reporting.details import ReportDetails
from ssd_detect.reporting.findings import find
from ssd_detect.reporting.numbers import metrics
from ssd_detect.reporting.report import PAGE_FILE, check_report, write_report

_HALF_A_DECIMAL = 0.5 * 10**-SCORE_DECIMALS


def is_coco_file(dataset: Dataset) -> bool:
    """Whether the data set's root is a COCO annotation file itself."""
    return dataset.kind is DatasetKind.COCO and dataset.root.is_file()


def check_files(settings: EvalSettings) -> None:
    """Find out before the work begins whether all that is asked for may be written.

    Raises:
        OutputError: a file may not be written.
        SettingError: two files have one name.
    """
    check_names(settings)
    for path in settings.targets:
        may_stay = settings.resume and path == settings.keep_raw
        check_target(path, overwrite=settings.overwrites or may_stay)
    if settings.folder is not None:
        check_target(settings.folder / COMPARED_FILE, overwrite=settings.overwrites)
        with suppress(MissingPackageError):  # told when all else is written
            check_report(settings.folder, overwrite=settings.overwrites)


def write_files(result: EvaluationResult, details: ReportDetails, settings: EvalSettings) -> Iterator[Path]:
    """Write what the settings ask for; the files that people look for, each when it is there.

    Raises:
        OutputError: a file may not be written.
        MissingPackageError: last of all: the page needs matplotlib.
    """
    overwrite = settings.overwrites
    if settings.keep_raw is not None:  # by the run itself
        yield settings.keep_raw
    if settings.json_file is not None:
        write_whole(settings.json_file, json_file(metrics(result, find(details), details)), overwrite=overwrite)
        yield settings.json_file
    if settings.write_thresholds is not None:
        write_thresholds(settings.write_thresholds, chosen_thresholds(details, settings), overwrite=overwrite)
        yield settings.write_thresholds
    if settings.folder is not None:
        write_compared(details, settings.folder, overwrite=overwrite)
        write_report(result, details, settings.folder, overwrite=overwrite)
        yield settings.folder / PAGE_FILE


def chosen_thresholds(details: ReportDetails, settings: EvalSettings) -> ScoreThresholds:
    """The lowest score threshold of each class at which the wanted precision is reached."""
    wanted = EvaluationSettings(metrics=("voc10",), iou_thresholds=settings.iou_thresholds[:1], coco=False)
    (curves,) = evaluate(details.truth, details.predictions, details.class_names, wanted).voc
    chosen = thresholds_for_precision(curves.classes, settings.precision)
    provenance = details.facts.provenance
    reached = [(one, curve) for one, curve in zip(chosen, curves.classes, strict=True) if one.threshold is not None]
    return ScoreThresholds(
        classes={one.name: _below_unrounded(one.threshold or 0.0, curve.score) for one, curve in reached},
        checkpoint_name="" if provenance is None else provenance.checkpoint_name,
        checkpoint_sha256="" if provenance is None else provenance.checkpoint_sha256,
        chosen={
            "rule": "the lowest score threshold at which the precision of what is kept is still reached",
            "precision": settings.precision,
            "iou_threshold": settings.iou_thresholds[0],
            "dataset": {"path": str(settings.dataset), "split": settings.split},
            "num_pictures": details.truth.num_pictures,
            "at_threshold": {one.name: {"precision": one.precision, "recall": one.recall} for one, _ in reached},
            "never_reached": [one.name for one in chosen if one.threshold is None],
        },
    )


def _below_unrounded(threshold: float, scores: Doubles) -> float:
    """The threshold, lowered where it is to keep everything: below all that may have been rounded to the last score."""
    return threshold if threshold >= scores[-1] else max(float(scores[-1]) - _HALF_A_DECIMAL, 0.0)
