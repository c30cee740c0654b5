"""`ssd-detect doctor`: whether detection works on this machine, and if not, why."""

import sys

import click

from ssd_detect.doctor.checks import Check
from ssd_detect.doctor.judge import judge
from ssd_detect.doctor.probes import gather
from ssd_detect.environment import is_terminal
from ssd_detect.errors import ExitStatus
from ssd_detect.settings import Device

_COLOURS = {"ok": "green", "warn": "yellow", "fail": "red"}
_MARK_WIDTH, _NAME_WIDTH = 6, 13


@click.command()
@click.option("--device", default="auto", show_default=True, metavar="auto|cpu|gpu:N",
              help="Where to try detection; cpu leaves every GPU untouched.")  # fmt: skip
@click.option("-v", "--verbose", is_flag=True, help="Also show what TensorFlow and its libraries said meanwhile.")
def doctor(device: str, verbose: bool) -> int:
    """Check that detection works on this machine, by detecting in a picture that ships.

    A line a check: ok, warn or fail, and what was found; for what is wrong also what is wanted and what to type
    next. Ends with status 0 if detection works, else with 1. Takes about ten seconds.
    """
    facts = gather(str(Device.parse(device)), _tell_step)
    _tell_step("")
    if verbose and facts.log:
        click.echo(facts.log, err=True)
    verdict = judge(facts)
    for check in verdict.checks:
        _show(check)
    click.echo()
    click.secho(verdict.sentence, bold=True)
    return ExitStatus.DONE if verdict.works else ExitStatus.FAILED


def _show(check: Check) -> None:
    mark = click.style(check.mark.ljust(_MARK_WIDTH), fg=_COLOURS[check.mark], bold=check.mark != "ok")
    click.echo(mark + check.name.ljust(_NAME_WIDTH) + check.found)
    indent = " " * (_MARK_WIDTH + _NAME_WIDTH)
    if check.wanted:
        click.echo(f"{indent}wanted: {check.wanted}")
    if check.step:
        click.echo(f"{indent}next:   {check.step}")


def _tell_step(step: str) -> None:
    """Say on a terminal what is being looked at, each in place of the one before; nothing to wipe it out."""
    if is_terminal(sys.stderr):
        line = f"Checking {step} …" if step else ""
        click.echo(f"\r{line:40}" + ("" if step else "\r"), nl=False, err=True)
