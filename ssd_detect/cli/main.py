"""The program: its verbs, its exit statuses, and what it says when something goes wrong."""

import functools
import sys
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any

import click

from ssd_detect import __version__
from ssd_detect.cli.talk import say
from ssd_detect.environment import end_quickly, open_standard_streams
from ssd_detect.errors import ExitStatus, SsdDetectError

_VERBS: Mapping[str, tuple[str, str]] = {
    "image": ("ssd_detect.cli.image", "image"),
    "video": ("ssd_detect.cli.video", "video"),
    "explain": ("ssd_detect.cli.explain", "explain"),
    "eval": ("ssd_detect.cli.eval", "evaluation"),
    "dataset": ("ssd_detect.cli.dataset", "dataset"),
    "checkpoints": ("ssd_detect.cli.checkpoints", "checkpoints"),
    "benchmark": ("ssd_detect.cli.benchmark", "benchmark"),
    "doctor": ("ssd_detect.cli.doctor", "doctor"),
}
"""Verb -> its module and its name there; imported when it is typed: the other verbs' modules take 0.2 s."""


class Program(click.Group):
    """A group of verbs that ends every failure with one line and the status it stands for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """All verbs, whether they are imported or not."""
        return sorted(_VERBS.keys() | self.commands.keys())

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """A verb by its name, imported if need be; None where there is none."""
        if cmd_name in _VERBS and cmd_name not in self.commands:
            module, name = _VERBS[cmd_name]
            self.add_command(getattr(import_module(module), name))
        return super().get_command(ctx, cmd_name)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """As click does it, which looks for a misspelt verb's likeness among those that are imported."""
        if args and args[0] not in _VERBS:
            for name in _VERBS:
                self.get_command(ctx, name)
        return super().resolve_command(ctx, args)

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
        say(f"Error: {_system_message(error)}", err=True)
        return ExitStatus.FAILED
    except (click.Abort, KeyboardInterrupt):
        click.echo("Interrupted.", err=True)
        return ExitStatus.INTERRUPTED


def _usage_message(error: click.UsageError) -> str:
    """In one line: of what is missing, click lists the choices a line each."""
    message = error.format_message()
    return " ".join(message.split()) if isinstance(error, click.MissingParameter) else message


def _system_message(error: OSError) -> str:
    """What the system refused; of the standard output it gives no name."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    is_nameless_output = trace is not None and trace.tb_frame.f_code is click.echo.__code__
    return f"standard output: cannot be written: {error.strerror or error}" if is_nameless_output else str(error)


@click.group(cls=Program, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="ssd-detect")
def program() -> None:
    """Find objects in pictures and videos with SSD, the single-shot detector."""


def main() -> None:
    """The console script."""
    open_standard_streams()
    try:
        program()
    finally:
        end_quickly()
