"""The program: its verbs, its exit statuses, and what it says when something goes wrong."""

import functools
import sys
from collections.abc import Callable, Sequence
from typing import Any

import click

from ssd_detect import __version__
from ssd_detect.cli.benchmark import benchmark
from ssd_detect.cli.checkpoints import checkpoints
from ssd_detect.cli.dataset import dataset
from ssd_detect.cli.doctor import doctor
from ssd_detect.cli.eval import evaluation
from ssd_detect.cli.explain import explain
from ssd_detect.cli.image import image
from ssd_detect.cli.talk import say
from ssd_detect.cli.video import video
from ssd_detect.environment import open_standard_streams
from ssd_detect.errors import ExitStatus, SsdDetectError


class Program(click.Group):
    """A group of verbs that ends every failure with one line and the status it stands for."""

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        **extra: Any,
    ) -> Any:
        """Run a command line; exits unless `standalone_mode` is off."""
        run = functools.partial(super().main, args, prog_name, complete_var, standalone_mode=False, **extra)
        if not standalone_mode:
            return run()
        sys.exit(_status(run))


def _status(run: Callable[[], Any]) -> int:
    """The exit status of a run; what went wrong is said in one line."""
    try:
        return int(run() or ExitStatus.DONE)
    except SsdDetectError as error:
        say(f"Error: {error}", err=True)
        return error.exit_status
    except click.exceptions.NoArgsIsHelpError as error:
        error.show()
        return ExitStatus.USAGE
    except click.UsageError as error:
        command = error.ctx.command_path if error.ctx else "ssd-detect"
        say(f"Error: {_usage_message(error)} (see {command} --help)", err=True)
        return ExitStatus.USAGE
    except click.ClickException as error:
        error.show()
        return ExitStatus.FAILED
    except ImportError as error:
        click.echo(f"Error: a package cannot be loaded ({error}); type ssd-detect doctor to find out why", err=True)
        return ExitStatus.FAILED
    except OSError as error:  # of the system, outside what we explain better: a full disk, a device gone
        say(f"Error: {error}", err=True)
        return ExitStatus.FAILED
    except (click.Abort, KeyboardInterrupt):
        click.echo("Interrupted.", err=True)
        return ExitStatus.INTERRUPTED


def _usage_message(error: click.UsageError) -> str:
    """In one line: of what is missing, click lists the choices a line each."""
    message = error.format_message()
    return " ".join(message.split()) if isinstance(error, click.MissingParameter) else message


@click.group(cls=Program, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="ssd-detect")
def program() -> None:
    """Find objects in pictures and videos with SSD, the single-shot detector."""


for _verb in (image, video, explain, evaluation, dataset, checkpoints, benchmark, doctor):
    program.add_command(_verb)


def main() -> None:
    """The console script."""
    open_standard_streams()
    program()
