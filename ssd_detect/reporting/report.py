"""The report as a folder. The file of this room to read first."""

from contextlib import suppress
from pathlib import Path

from ssd_detect.evaluation.results import EvaluationResult
from ssd_detect.files import check_target
from ssd_detect.formats.writer import write_whole
from ssd_detect.reporting.details import ReportDetails
from ssd_detect.reporting.examples import MOST_EXAMPLES
from ssd_detect.reporting.numbers import METRICS_FILE, PER_CLASS_FILE, write_numbers
from ssd_detect.reporting.page import make_page
from ssd_detect.reporting.plotting import check_matplotlib

PAGE_FILE = "index.html"
_CHARTS = ("precision-recall", "scores", "calibration", "errors", "confusion", "sizes")
_EXAMPLES = tuple(f"{sort}-{n:02}" for sort in ("false-alarm", "missed") for n in range(1, MOST_EXAMPLES + 1))
PICTURE_FILES = tuple(f"{stem}.png" for stem in (*_CHARTS, *_EXAMPLES))
"""Every picture that a report can have; all charts are always there."""


def check_report(folder: Path, *, overwrite: bool) -> None:
    """Find out before the work begins whether a report can be written there.

    Raises:
        OutputError: one of its files exists and `overwrite` is off, or the folder cannot be written to.
        MissingPackageError: matplotlib, which the page needs, is not there.
    """
    for name in (METRICS_FILE, PER_CLASS_FILE, PAGE_FILE, *PICTURE_FILES):
        check_target(folder / name, overwrite=overwrite)
    check_matplotlib()


def write_report(result: EvaluationResult, details: ReportDetails, folder: Path, *, overwrite: bool) -> None:
    """Write `metrics.json`, `per_class.csv`, the pictures, and last `index.html`, which holds the pictures too.

    Args:
        result: the numbers.
        details: what they were made of.
        folder: where to; it is made.
        overwrite: replace an earlier report; examples that it had and this has not go.

    Raises:
        OutputError: as `check_report`, or the system refuses.
        MissingPackageError: matplotlib is not there; `metrics.json` and `per_class.csv` are written all the same.
    """
    for name in (PAGE_FILE, *PICTURE_FILES):
        check_target(folder / name, overwrite=overwrite)
    findings = write_numbers(result, details, folder, overwrite=overwrite)
    check_matplotlib()
    page, pictures = make_page(result, findings, details)
    for picture in pictures:
        write_whole(folder / picture.file_name, picture.png, overwrite=overwrite)
    for name in {*PICTURE_FILES} - {picture.file_name for picture in pictures}:
        with suppress(OSError):  # of an earlier report, which may be overwritten
            (folder / name).unlink(missing_ok=True)
    write_whole(folder / PAGE_FILE, page, overwrite=overwrite)
