"""`ssd-detect image`: objects in picture files."""

import sys
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ssd_detect.cli.options import RunSettings, detection_options
from ssd_detect.errors import ExitStatus, SettingError
from ssd_detect.files import check_target
from ssd_detect.media.targets import PictureJob, plan_pictures

if TYPE_CHECKING:
    from ssd_detect.detections import Detections
    from ssd_detect.detector import Detector
    from ssd_detect.formats.jsonl import JsonLinesWriter


@click.command()
@click.argument("inputs", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    metavar="FILE|FOLDER",
    help="Where the annotated picture goes. Default: NAME_detections in the current folder.",
)
@click.option(
    "--json",
    "json_target",
    metavar="FILE|-",
    help="Also write JSON lines, one a picture; - is standard output.",
)
@click.option("--no-labels", is_flag=True, help="Draw boxes only, without class and score.")
@click.option("--overwrite", is_flag=True, help="Replace existing files.")
@detection_options  # fmt: skip
def image(
    inputs: tuple[Path, ...],
    output: Path | None,
    json_target: str | None,
    no_labels: bool,
    overwrite: bool,
    run: RunSettings,
) -> int:
    """Find objects in pictures; save annotated copies and print what was found.

    A line an object: class, score, and its box as left, top, right, bottom in pixels.

    \b
    ssd-detect image person.jpg
    ssd-detect image *.jpg -o annotated/ --json found.jsonl --class person
    """
    if output is not None and len(inputs) > 1 and output.is_file():
        raise SettingError(f"{output}: is a file, expected a folder for the copies of {len(inputs)} pictures")
    if json_target not in (None, "-"):
        check_target(Path(str(json_target)), overwrite=overwrite)
    jobs, failures = plan_pictures(inputs, output, overwrite=overwrite)
    for failure in failures:
        run.talk.failure(str(failure))
    num_done = _run(jobs, json_target, not no_labels, overwrite, run) if jobs else 0
    if num_done == len(jobs) and not failures:
        return ExitStatus.DONE
    return ExitStatus.SOME_FAILED if num_done else ExitStatus.FAILED


def _run(jobs: list[PictureJob], json_target: str | None, labels: bool, overwrite: bool, run: RunSettings) -> int:
    """Do the jobs and say what was found; returns how many went well."""
    from ssd_detect.cli.startup import open_detector, tell_stage_times

    num_done = 0
    with open_detector(run) as detector, _json_writer(json_target, detector, overwrite) as json_lines:
        from ssd_detect.media.picture_run import PictureRun

        pictures = PictureRun(detector, run.batch_size, labels, overwrite, detector.times)
        for result in pictures.results(jobs):
            if result.detections is None:
                run.talk.failure(str(result.error))
                continue
            num_done += 1
            tell_detections(result.job, result.detections, run, several=len(jobs) > 1, err=json_target == "-")
            if json_lines is not None:
                json_lines.append(str(result.job.source), result.detections)
        tell_stage_times(detector, run.talk)
    return num_done


def _json_writer(
    target: str | None, detector: "Detector", overwrite: bool
) -> "AbstractContextManager[JsonLinesWriter | None]":
    from ssd_detect.formats.jsonl import JsonLinesWriter, open_json_lines
    from ssd_detect.formats.provenance import Provenance

    provenance = Provenance(detector.checkpoint_name, detector.checkpoint_sha256, detector.settings)
    if target is None:
        return nullcontext()
    if target == "-":
        return nullcontext(JsonLinesWriter(sys.stdout, provenance))
    return open_json_lines(Path(target), provenance, overwrite=overwrite)


def tell_detections(job: PictureJob, detections: "Detections", run: RunSettings, *, several: bool, err: bool) -> None:
    """The lines of one picture; each begins with its name when there are several."""
    start = f"{click.format_filename(job.source)}: " if several else ""
    for found in detections:
        box = " ".join(f"{v:.1f}" for v in found.box)
        run.talk.result(f"{start}{found.class_name} {found.score:.3f}  {box}", err=err)
    if detections.best_guess is not None:
        guess, limit = detections.best_guess, run.detection.score_threshold
        run.talk.result(f"{start}nothing scored above {limit:g}; best: {guess.class_name} {guess.score:.3f}", err=err)
    run.talk.result(f"{start}saved {click.format_filename(job.target)}", err=err)
