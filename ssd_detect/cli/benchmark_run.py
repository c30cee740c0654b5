"""What `ssd-detect benchmark` does with its options: find the pictures, measure, tell."""

import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ssd_detect.benchmark.settings import DEFAULT_RUNS, MOST_PICTURES, QUICK_RUNS, BenchmarkSettings
from ssd_detect.cli.benchmark_lines import lines
from ssd_detect.cli.options import RunSettings
from ssd_detect.conventions import EngineName
from ssd_detect.counting import counted
from ssd_detect.environment import is_terminal, terminated_in_order
from ssd_detect.errors import ExitStatus, PictureError, SettingError
from ssd_detect.files import check_target, explained_writing
from ssd_detect.media.sources.inputs import find_inputs
from ssd_detect.settings import SessionSettings

if TYPE_CHECKING:
    from ssd_detect.benchmark.results import Benchmark

_WIDTH = 50


@dataclass(frozen=True)
class BenchmarkOptions:
    """The options of `benchmark` itself, see its help; `typed`: those that `ssd-detect image` has too."""

    compare: bool
    runs: int | None
    quick: bool
    json_target: str | None
    overwrite: bool
    typed: tuple[str, ...]


def run_benchmark(inputs: tuple[str, ...], chosen: BenchmarkOptions, run: RunSettings) -> ExitStatus:
    """Measure and tell."""
    if chosen.json_target not in (None, "-"):
        target = Path(str(chosen.json_target))
        check_target(target, overwrite=chosen.overwrite)
        with explained_writing(target):  # now, not when all is measured
            target.parent.mkdir(parents=True, exist_ok=True)
    pictures = _pictures(inputs, run)
    settings = BenchmarkSettings(
        checkpoint=run.checkpoint,
        detection=run.detection,
        session=_session(chosen, run),
        batch_size=run.batch_size,
        pictures=pictures.paths,
        options=chosen.typed,
        runs=chosen.runs or (QUICK_RUNS if chosen.quick else DEFAULT_RUNS),
        quick=chosen.quick,
    )
    with terminated_in_order():  # so that no worker stays
        found = _measured(settings, chosen, run)
    _tell(found, chosen, run)
    return _status(found, pictures.num_missing + len(found.failures))


def _session(chosen: BenchmarkOptions, run: RunSettings) -> SessionSettings:
    """The engine is that which was typed, or under --compare all of them."""
    all_engines = chosen.compare and "--engine" not in chosen.typed
    return replace(run.session, engine=EngineName.AUTO) if all_engines else run.session


@dataclass(frozen=True)
class _Pictures:
    paths: tuple[Path, ...]
    num_missing: int


def _pictures(inputs: tuple[str, ...], run: RunSettings) -> _Pictures:
    """The files that were named; what could not be found is said."""
    if not inputs:
        return _Pictures((), 0)
    found = find_inputs(inputs, recursive=False)
    for error in found.errors:
        run.talk.failure(str(error))
    paths = tuple(source.path.absolute() for source in found.inputs if source.path is not None)
    if len(paths) < len(found.inputs):
        raise SettingError("pictures are read again and again; expected files, not URLs or standard input")
    if not paths:
        raise PictureError("no picture is left to measure with; name others, or none for those that are made")
    if len(paths) > MOST_PICTURES:
        run.talk.note(f"Taking the first {MOST_PICTURES} of {counted(len(paths), 'picture')}.")
    return _Pictures(paths, len(found.errors))


def _measured(settings: BenchmarkSettings, chosen: BenchmarkOptions, run: RunSettings) -> "Benchmark":
    from ssd_detect.benchmark.comparing import compare
    from ssd_detect.benchmark.measuring import measure

    tell = _teller(run)
    try:
        return (compare if chosen.compare else measure)(settings, tell)
    finally:
        tell("")


def _teller(run: RunSettings) -> Callable[[str], None]:
    """Says on a terminal what is being measured, each in place of the one before; nothing to wipe it out."""

    def tell(step: str) -> None:
        if not run.talk.quiet and is_terminal(sys.stderr):
            line = f"Measuring {step} …" if step else ""
            click.echo(f"\r{line:{_WIDTH}}" + ("" if step else "\r"), nl=False, err=True)

    return tell


def _tell(found: "Benchmark", chosen: BenchmarkOptions, run: RunSettings) -> None:
    for failure in found.failures:
        run.talk.failure(failure)
    if found.machine.is_busy:
        run.talk.note(
            f"Warning: this machine is busy (load {found.machine.load:.1f} on "
            f"{counted(found.machine.cores, 'core')} before the start); these numbers mislead."
        )
    for line in lines(found):
        run.talk.result(line, err=chosen.json_target == "-")
    for result in found.compared:
        if result.is_fault:
            run.talk.failure(result.problem or f"{result.engine}: disagrees with {found.compared[0].engine}")
    if chosen.json_target is not None:
        from ssd_detect.benchmark.document import document
        from ssd_detect.cli.eval_run import write_json

        write_json(document(found), chosen.json_target, overwrite=chosen.overwrite)


def _status(found: "Benchmark", num_failures: int) -> ExitStatus:
    if any(result.is_fault for result in found.compared):
        return ExitStatus.FAILED
    return ExitStatus.SOME_FAILED if num_failures else ExitStatus.DONE
