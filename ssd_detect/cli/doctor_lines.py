"""The doctor's report as lines for a person: groups at the left, all of it on one screen when all is well."""

import itertools
from collections.abc import Iterator

import click

from ssd_detect.cli.talk import printable
from ssd_detect.doctor.check import Check, Mark, Verdict

_COLOURS = {"ok": "green", "warn": "yellow", "fail": "red", "skipped": "bright_black"}
_GROUP_WIDTH, _MARK_WIDTH = 15, 8
_INDENT = " " * _MARK_WIDTH
_SHORT = 24  # characters


def report_lines(verdict: Verdict, verbose: bool) -> Iterator[str]:
    """The lines, with colours that `click.echo` leaves out where nobody watches.

    Args:
        verdict: what to tell.
        verbose: a line for each check, and its details.
    """
    for group, members in itertools.groupby(verdict.checks, key=lambda check: check.group):
        heading = str(group)
        for line in _group_lines(list(members), verbose):
            yield click.style(heading.ljust(_GROUP_WIDTH), bold=True) + line
            heading = ""
    yield ""
    yield click.style(printable(verdict.sentence), bold=True)


def _group_lines(checks: list[Check], verbose: bool) -> Iterator[str]:
    """Short ones that are ok share a line, so that the whole fits on a screen when all is well."""
    for is_short, members in itertools.groupby(checks, key=lambda check: not verbose and _is_short(check)):
        if is_short:
            yield _marked("ok", printable(", ".join(_told(check) for check in members)))
        else:
            for check in members:
                yield from _check_lines(check, verbose)


def _is_short(check: Check) -> bool:
    return check.mark == "ok" and len(check.as_clause()) <= _SHORT


def _told(check: Check) -> str:
    """The group TensorFlow has other lines too, in which the name is not said twice."""
    return check.found if check.name == check.group != "TensorFlow" else check.as_clause()


def _marked(mark: Mark, text: str) -> str:
    return click.style(mark.ljust(_MARK_WIDTH), fg=_COLOURS[mark], bold=mark in ("warn", "fail")) + text


def _check_lines(check: Check, verbose: bool) -> Iterator[str]:
    yield _marked(check.mark, printable(_told(check)))
    if check.wanted:
        yield f"{_INDENT}wanted: {printable(check.wanted)}"
    if check.step:
        first, *more = map(printable, check.step.splitlines())
        yield f"{_INDENT}next:   {first}"
        yield from (f"{_INDENT}        {line}" for line in more)
    if verbose:
        yield from (f"{_INDENT}{printable(line)}" for line in check.details)
