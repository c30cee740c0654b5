"""`ssd-detect benchmark`: how fast this machine is, part by part."""

from typing import Any

import click

from ssd_detect.benchmark.settings import DEFAULT_RUNS, QUICK_RUNS
from ssd_detect.cli.benchmark_run import BenchmarkOptions, run_benchmark
from ssd_detect.cli.options import RunSettings, detection_options
from ssd_detect.errors import ExitStatus

_TYPED = "ssd_detect.typed"  # in the context's meta: the arguments as they came
_OWN = frozenset({"inputs", "compare", "runs", "quick", "json_target", "overwrite", "quiet", "verbose", "help"})
"""Parameters that `ssd-detect image` lacks, or that change what it prints."""


class BenchmarkCommand(click.Command):
    """A verb that remembers what was typed."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """As any command."""
        ctx.meta[_TYPED] = list(args)
        return super().parse_args(ctx, args)


@click.command("benchmark", cls=BenchmarkCommand)
@click.argument("inputs", metavar="[PICTURE]...", nargs=-1)
@click.option(
    "--compare",
    is_flag=True,
    help="Measure every engine that is installed, or --engine, and check that they agree with TensorFlow.",
)
@click.option("--runs", type=click.IntRange(2, 1000), metavar="N", show_default=f"{DEFAULT_RUNS}; quick: {QUICK_RUNS}",
              help="Timed calls of each variant.")  # fmt: skip
@click.option(
    "--quick",
    is_flag=True,
    help="In some 20 seconds (--compare: a minute): no threads, fewer batch sizes, one cold start.",
)
@click.option("--json", "json_target", metavar="FILE|-",
              help="Write all samples as JSON; - is standard output.")  # fmt: skip
@click.option("--overwrite", is_flag=True, help="Replace an existing file.")
@detection_options
def benchmark(inputs: tuple[str, ...], run: RunSettings, **chosen: Any) -> ExitStatus:  # fmt: skip
    """Measure how fast this machine detects, part by part. Takes about a minute, two with --compare.

    PICTURES are files, folders or quoted globs; without any, a portrait that ships and pictures made of it. Tells what
    the machine is, how long a cold start takes, where the time of a picture goes, pictures a second by batch size and
    by threads, frames a second of a made video, and memory. Variants take turns; the middle of their times counts.

    Ends with status 1 where engines disagree with TensorFlow or fail under --compare, 3 when some pictures cannot be
    read.

    \b
    ssd-detect benchmark --quick
    ssd-detect benchmark photos --json numbers.json
    ssd-detect benchmark --compare
    """
    return run_benchmark(inputs, BenchmarkOptions(**chosen, typed=_typed_for_image(click.get_current_context())), run)


def _typed_for_image(context: click.Context) -> tuple[str, ...]:
    """Of the options that were typed, those that `ssd-detect image` has too, as it takes them."""
    values, _, given = context.command.make_parser(context).parse_args(list(context.meta[_TYPED]))
    typed: list[str] = []
    for option in dict.fromkeys(given):
        if isinstance(option, click.Option) and option.name is not None and option.name not in _OWN:
            value, name = values[option.name], option.opts[0]
            typed += [name] if option.is_flag else [part for one in _as_list(value) for part in (name, one)]
    return tuple(typed)


def _as_list(value: str | list[str]) -> list[str]:
    return value if isinstance(value, list) else [value]
