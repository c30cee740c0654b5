"""What `ssd-detect eval` does with its options: the settings, the run, and telling of it."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ssd_detect.cli.eval_table import is_below, lines, percent, percent_below
from ssd_detect.cli.interrupt import stop_on_interrupt
from ssd_detect.cli.options import RunSettings
from ssd_detect.cli.progress import counted_progress
from ssd_detect.errors import ExitStatus, MissingPackageError, SettingError
from ssd_detect.evaluating.settings import EvalSettings

if TYPE_CHECKING:
    from ssd_detect.evaluating.run import Evaluated, Evaluation
    from ssd_detect.evaluation.results import EvaluationResult

_OF_THE_NETWORK = (
    "checkpoint",
    "resize",
    "colour_order",
    "device",
    "engine",
    "precision",
    "calibrate",
    "threads",
    "batch_size",
)
_OF_OUTPUTS = (
    *("score_threshold", "thresholds", "nms_threshold", "class_agnostic", "top_k", "max_detections", "profile"),
    *("anchors", "anchor_rounding", "anchor_clip", "class_list"),
)


@dataclass(frozen=True)
class EvalOptions:
    """The options of `eval` itself; see its help. `given` names all that stand on the command line."""

    dataset: Path
    split: str | None
    folder: Path | None
    metrics: tuple[str, ...]
    iou_thresholds: tuple[float, ...]
    limit: int | None
    bootstrap: int | None
    fail_under: float | None
    keep_raw: Path | None
    from_raw: Path | None
    predictions: Path | None
    write_thresholds: Path | None
    target_precision: float
    json_target: str | None
    resume: bool
    overwrite: bool
    command: str
    given: frozenset[str]


def run_evaluation(chosen: EvalOptions, run: RunSettings) -> ExitStatus:
    """Evaluate, say what came of it."""
    _check(chosen)
    settings = _settings(chosen, run)
    from ssd_detect.cli.startup import tell_of_other_weights
    from ssd_detect.evaluating.run import Evaluation

    evaluation = Evaluation.of(settings)
    for name, reason in evaluation.not_read:
        run.talk.failure(f"{click.format_filename(name)}: {reason}; left out")
    evaluated = _evaluated(evaluation, run)
    if evaluated is None:
        more = "" if settings.folder is None else "; the same command with --resume goes on"
        run.talk.note(f"Stopped before the end{more}.")
        return ExitStatus.INTERRUPTED
    provenance = evaluated.details.facts.provenance
    if settings.from_raw is not None and provenance is not None:  # else the detector's start has told
        tell_of_other_weights(run, provenance.checkpoint_name, provenance.checkpoint_sha256)
    return _tell(evaluated, chosen, settings, run)


def _check(chosen: EvalOptions) -> None:
    """Refuse what would have no effect, or another than it seems."""
    if chosen.fail_under is not None and not (chosen.fail_under == 0 or chosen.fail_under > 1):  # also true for NaN
        raise SettingError(f"--fail-under is {chosen.fail_under:g} percent, expected percent such as 70")
    source, useless = "--from-raw", frozenset(_OF_THE_NETWORK)
    if chosen.predictions is not None:
        source, useless = "--predictions", frozenset((*_OF_THE_NETWORK, *_OF_OUTPUTS))
    elif chosen.from_raw is None:
        return
    idle = [f"--{name.replace('_', '-')}" for name in sorted(useless & chosen.given)]
    if idle:
        raise SettingError(f"{', '.join(idle)}: without effect with {source}, where that is done; leave it out")


def _settings(chosen: EvalOptions, run: RunSettings) -> EvalSettings:
    to_file = chosen.json_target not in (None, "-")
    return EvalSettings(
        dataset=chosen.dataset,
        checkpoint=run.checkpoint,
        detection=run.detection,
        session=run.session,
        batch_size=run.batch_size,
        split=chosen.split,
        metrics=tuple(dict.fromkeys(chosen.metrics)),
        iou_thresholds=tuple(dict.fromkeys(chosen.iou_thresholds)),
        bootstrap=chosen.bootstrap,
        limit=chosen.limit,
        folder=chosen.folder,
        keep_raw=chosen.keep_raw,
        from_raw=chosen.from_raw,
        predictions=chosen.predictions,
        thresholds=None if run.thresholds is None else run.thresholds.path,
        write_thresholds=chosen.write_thresholds,
        precision=chosen.target_precision,
        json_file=Path(str(chosen.json_target)) if to_file else None,
        resume=chosen.resume,
        overwrite=chosen.overwrite,
        command=chosen.command,
    )


def _evaluated(evaluation: "Evaluation", run: RunSettings) -> "Evaluated | None":
    from ssd_detect.cli.startup import open_detector
    from ssd_detect.evaluating.network import EvalHooks

    total = len(evaluation.dataset.pictures)
    with _stopping(evaluation, run) as stopping, counted_progress(total, "pictures", run.talk) as advance:
        hooks = EvalHooks(
            load=lambda times, on_outputs: open_detector(run, times, on_outputs=on_outputs),
            on_picture=advance,
            on_failure=lambda name, error: run.talk.failure(str(error)),
            should_stop=stopping,
        )
        return evaluation.run(hooks)


@contextmanager
def _stopping(evaluation: "Evaluation", run: RunSettings) -> Iterator[Callable[[], bool]]:
    """Ctrl-C ends a run of the network in good order; the other sources take seconds, and end at once."""
    if evaluation.settings.predictions is not None or evaluation.settings.from_raw is not None:
        yield lambda: False
        return
    with stop_on_interrupt(run.talk) as stopping:
        yield stopping


def _tell(evaluated: "Evaluated", chosen: EvalOptions, settings: EvalSettings, run: RunSettings) -> ExitStatus:
    from ssd_detect.evaluating.files import write_files
    from ssd_detect.reporting.findings import find
    from ssd_detect.reporting.numbers import metrics

    result, details = evaluated.result, evaluated.details
    for line in lines(result):
        run.talk.result(line, err=chosen.json_target == "-")
    if chosen.json_target == "-":
        write_json(metrics(result, find(details), details), "-", overwrite=False)
    try:
        for path in write_files(result, details, settings):
            run.talk.note(f"saved {click.format_filename(path)}")
            if path == settings.write_thresholds:
                _tell_of_left_out(path, settings.precision, run)
    except MissingPackageError as error:
        run.talk.note(f"{error}; all but the page and its pictures is written")
    return _status(result, chosen, settings, run, some_failed=bool(details.facts.not_read))


def _tell_of_left_out(path: Path, precision: float, run: RunSettings) -> None:
    """Of classes that the file of thresholds has nothing for."""
    from ssd_detect.formats.thresholds import read_thresholds

    names = read_thresholds(path).chosen["never_reached"]
    if names:
        run.talk.note(
            f"not in it, since no threshold reaches a precision of {precision:g}: {', '.join(names)}; "
            "--score-threshold counts for these"
        )


def _status(
    result: "EvaluationResult", chosen: EvalOptions, settings: EvalSettings, run: RunSettings, *, some_failed: bool
) -> ExitStatus:
    if chosen.fail_under is not None:
        mean = leading_mean(result, settings.metrics)
        if mean is None or is_below(mean, chosen.fail_under):
            told = percent(mean) if mean is None else percent_below(mean, chosen.fail_under)
            run.talk.failure(f"mean {settings.metrics[0]} is {told}, expected at least {chosen.fail_under:.12g}")
            return ExitStatus.FAILED
    return ExitStatus.SOME_FAILED if some_failed else ExitStatus.DONE


def leading_mean(result: "EvaluationResult", metrics: tuple[str, ...]) -> float | None:
    """The mean AP of the first metric, at the first IoU threshold; None when no class has objects."""
    if metrics[0] == "coco":
        return None if result.coco is None else result.coco.numbers["AP"]
    return next(one.mean_ap for one in result.voc if one.metric == metrics[0])


def write_json(value: Mapping[str, Any], target: str, *, overwrite: bool) -> None:
    """Write an object to a file, or to standard output for `-`."""
    from ssd_detect.formats.json_text import json_file
    from ssd_detect.formats.writer import write_whole

    content = json_file(dict(value))
    if target == "-":
        click.echo(content, nl=False)  # which hands it on: a reader that has gone is noticed here
    else:
        write_whole(Path(target), content, overwrite=overwrite)
