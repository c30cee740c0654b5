"""`ssd-detect doctor`: whether detection works on this machine, and if not, why."""

import sys

import click
from click.core import ParameterSource

from ssd_detect.cli.doctor_lines import report_lines
from ssd_detect.cli.talk import say
from ssd_detect.doctor.check import Verdict
from ssd_detect.doctor.judge import judge
from ssd_detect.doctor.probes.gather import gather
from ssd_detect.doctor.recipe import recipe
from ssd_detect.doctor.recipe_text import recipe_lines
from ssd_detect.doctor.redaction import Redactor
from ssd_detect.doctor.report import report
from ssd_detect.environment import (
    home_folders,
    host_names,
    is_terminal,
    shows_colours,
    terminated_in_order,
    user_names,
)
from ssd_detect.errors import ExitStatus
from ssd_detect.settings import Device


@click.command()
@click.option("--device", default="auto", show_default=True, metavar="auto|cpu|gpu:N",
              help="Where to try detection; cpu leaves every GPU untouched.")  # fmt: skip
@click.option("--quick", is_flag=True,
              help="Only look, in under two seconds, and try nothing: status 0 then means that nothing was found that "
                   "stops detection.")  # fmt: skip
@click.option("--require-gpu", is_flag=True, help="End with status 0 only if detection works on a GPU.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON for a bug report, without home, user and host names.")
@click.option("--for", "requirement", metavar="REQUIREMENT",
              help="Only tell what that TensorFlow needs, such as tensorflow==1.15; look at nothing.")  # fmt: skip
@click.option("-v", "--verbose", is_flag=True, help="Also show details, and what TensorFlow and its libraries said.")
def doctor(device: str, quick: bool, require_gpu: bool, as_json: bool, requirement: str | None, verbose: bool) -> int:
    """Check that detection works on this machine, by detecting in a picture that ships.

    A line a check: ok, warn, fail or skipped, and what was found; for what is wrong also what is wanted and what to
    type next. Ends with status 0 if detection works, else with 1. Takes about ten seconds.
    """
    if requirement is not None:
        _refuse_others("as_json", "quick", "require_gpu", "device")
        click.echo("\n".join(recipe_lines(recipe(requirement))))
        return ExitStatus.DONE
    with terminated_in_order():
        facts = gather(str(Device.parse(device)), _tell_step, quick=quick)
    _tell_step("")
    if verbose and not as_json:
        for line in facts.log.splitlines():
            say(line.expandtabs(), err=True)
    verdict = judge(facts, require_gpu=require_gpu)
    if as_json:
        click.echo(report(facts, verdict, Redactor(home_folders(), user_names(), host_names())))
    else:
        click.echo("\n".join(report_lines(verdict, verbose)), color=shows_colours(sys.stdout))
    return _status(verdict, require_gpu)


def _refuse_others(*names: str) -> None:
    """Refuse options that mean nothing beside --for."""
    context = click.get_current_context()
    given = [name for name in names if context.get_parameter_source(name) is not ParameterSource.DEFAULT]
    if given:
        option = "--" + given[0].removeprefix("as_").replace("_", "-")
        raise click.UsageError(f"--for looks at nothing on this machine: it does not go with {option}", context)


def _status(verdict: Verdict, require_gpu: bool) -> int:
    return ExitStatus.DONE if (verdict.works_on_gpu if require_gpu else verdict.works) else ExitStatus.FAILED


def _tell_step(step: str) -> None:
    """Say on a terminal what is being looked at, each in place of the one before; nothing to wipe it out."""
    if is_terminal(sys.stderr):
        line = f"Checking {step} …" if step else ""
        click.echo(f"\r{line:40}" + ("" if step else "\r"), nl=False, err=True)
