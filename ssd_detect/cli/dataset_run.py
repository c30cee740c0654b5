"""What the verbs of `ssd-detect dataset` do. Everything heavy is imported when it is needed."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ssd_detect.classes import read_class_file
from ssd_detect.cli.progress import counted_progress
from ssd_detect.cli.talk import Talk, say
from ssd_detect.counting import counted
from ssd_detect.errors import ExitStatus, FormatError
from ssd_detect.formats.json_text import json_file

if TYPE_CHECKING:
    from ssd_detect.datasets.dataset import Dataset


@dataclass(frozen=True)
class OpenOptions:
    """Which data set, and how to read it; as `datasets.opening.open_dataset`."""

    path: Path
    split: str | None
    classes_file: Path | None
    pictures: Path | None
    one_based: bool | None
    ignore_unknown: bool

    def open(self) -> "Dataset":
        """Read the data set.

        Raises:
            SsdDetectError: as `open_dataset`; the file of class names is unusable.
        """
        class_names = read_class_file(self.classes_file) if self.classes_file else None
        from ssd_detect.datasets.opening import open_dataset

        return open_dataset(
            self.path,
            split=self.split,
            class_names=class_names,
            pictures=self.pictures,
            one_based=self.one_based,
            ignore_unknown=self.ignore_unknown,
        )


def run_check(opening: OpenOptions, *, as_json: bool) -> ExitStatus:
    """List the problems; status 1 if something is left out.

    Raises:
        SsdDetectError: as `OpenOptions.open`; there is no picture at all.
    """
    dataset = opening.open()
    from ssd_detect.cli.dataset_lines import check_lines
    from ssd_detect.datasets.report import check_report
    from ssd_detect.datasets.rules import loses_something

    if as_json:
        click.echo(json_file(check_report(dataset)), nl=False)
    elif dataset.pictures or dataset.problems:
        for line in check_lines(dataset):
            say(line)
    if not dataset.pictures:
        where = f" in the split {dataset.split!r}" if dataset.split else ""
        what = f"{dataset.kind.value.upper()} data set without a picture{where}"
        raise FormatError(f"{dataset.root}: is a {what}, expected one at least; put pictures there, or name another")
    return ExitStatus.FAILED if loses_something(dataset.problems) else ExitStatus.DONE


def run_stats(opening: OpenOptions, anchors: str | None, *, as_json: bool) -> ExitStatus:
    """Tell what is in the data set."""
    dataset = opening.open()
    from ssd_detect.cli.dataset_lines import statistics_lines
    from ssd_detect.datasets.coverage import coverage_of
    from ssd_detect.datasets.report import statistics_report
    from ssd_detect.datasets.statistics import statistics_of

    statistics = statistics_of(dataset)
    coverage = None if anchors is None else coverage_of(dataset, anchors)
    if as_json:
        click.echo(json_file(statistics_report(dataset, statistics, coverage)), nl=False)
    else:
        for line in statistics_lines(dataset, statistics, coverage):
            say(line)
    return ExitStatus.DONE


def run_convert(
    opening: OpenOptions, target: Path, kind: str, transfer: str | None, *, overwrite: bool, talk: Talk
) -> ExitStatus:
    """Write the data set in another layout."""
    dataset = opening.open()
    from ssd_detect.cli.dataset_lines import left_out_line
    from ssd_detect.datasets.converting import PictureTransfer, convert
    from ssd_detect.datasets.dataset import DatasetKind

    wanted = PictureTransfer(transfer or "none")
    total = 0 if wanted is PictureTransfer.NONE else len(dataset.pictures)
    with counted_progress(total, "pictures", talk) as advance:
        done = convert(dataset, target, DatasetKind(kind), transfer=wanted, overwrite=overwrite, on_picture=advance)
    for line in (*left_out_line(dataset), *done.losses, *_about_pictures(wanted is PictureTransfer.NONE, kind)):
        talk.note(line)
    talk.result(f"{done.opened_by}: {counted(done.pictures, 'picture')}, {counted(done.objects, 'object')}")
    return ExitStatus.DONE


def _about_pictures(stay: bool, kind: str) -> list[str]:
    if not stay:
        return []
    if kind == "yolo":
        return ["the pictures stay where they are: put them into images, beside labels, to open the new data set"]
    return ["the pictures stay where they are: open the new data set with --pictures"]
