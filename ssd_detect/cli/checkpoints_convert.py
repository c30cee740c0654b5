"""`ssd-detect checkpoints convert`: the same weights in another format."""

from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ssd_detect.cli.checkpoint_facts import checkpoint_settings, fact_options
from ssd_detect.cli.names import not_empty
from ssd_detect.cli.talk import Talk
from ssd_detect.environment import held_back_stderr, hide_gpus, silence_tensorflow, terminated_in_order
from ssd_detect.model.conversion.settings import ConvertSettings, FileFormat, Precision, format_of
from ssd_detect.model.conversion.staging import check_settings

if TYPE_CHECKING:
    from ssd_detect.model.conversion.convert import ConversionReport


def _target(ctx: click.Context, param: click.Parameter, value: str) -> Path:
    """A path; an empty name would become that of the current folder."""
    if not_empty(ctx, param, value) == "-":
        raise click.BadParameter("- is a stream, expected the name of a file or folder to write", ctx, param)
    return Path(value)


@click.command()
@click.argument("source", callback=not_empty)
@click.argument("target", callback=_target)
@click.option(
    "--to",
    type=click.Choice([f.value for f in FileFormat]),
    help="What to write. Default: told by TARGET: .safetensors, .onnx, .ckpt, or a folder (saved-model).",
)
@click.option(
    "--precision",
    type=click.Choice([p.value for p in Precision]),
    default="float32",
    show_default=True,
    help="How kernels are stored; other than float32 in .safetensors only.",
)
@click.option("--overwrite", is_flag=True, help="Replace what is there.")
@fact_options
@click.option("-q", "--quiet", is_flag=True, help="Print nothing but errors.")
@click.option("-v", "--verbose", is_flag=True, help="Tell more: each step, TensorFlow's own log.")
def convert(
    source: str, target: Path, to: str | None, precision: str, overwrite: bool, quiet: bool, verbose: bool, **facts: Any
) -> None:
    """Write the checkpoint SOURCE as TARGET, in another format.

    The written file is loaded in its own runtime and compared with SOURCE before it gets its name. What SOURCE is,
    such as anchors and class names, and what the options settle about it, travels in the file.

    \b
    ssd-detect checkpoints convert VGG_VOC0712.caffemodel ssd300.safetensors --anchors voc300 --precision int8
    ssd-detect checkpoints convert ssd_300_vgg_voc ssd300.onnx
    """
    file_format = FileFormat(to) if to else format_of(target)
    settings = ConvertSettings(
        checkpoint_settings(source, **facts), target, file_format, Precision(precision), overwrite
    )
    check_settings(settings)
    talk = Talk(quiet=quiet, verbose=verbose)
    hide_gpus()  # a proof on the CPU: numbers that do not depend on the machine
    if not verbose:
        silence_tensorflow()
    with nullcontext() if verbose else held_back_stderr():
        from ssd_detect.model.conversion.convert import convert as run
    with terminated_in_order():
        _tell(run(settings, lambda stage: talk.detail(f"{stage} …")), talk)


def _tell(report: "ConversionReport", talk: Talk) -> None:
    proof = report.proof
    measured = {"scores": proof.scores, "offsets": proof.offsets, "boxes": proof.boxes}
    differences = ", ".join(f"{name} {value:.2g}" for name, value in measured.items() if value is not None)
    talk.result(f"wrote {', '.join(map(str, report.files))}: {report.num_bytes / 1e6:.1f} MB")
    talk.result(f"proved in {proof.runtime} on {proof.num_pictures} pictures; largest differences: {differences}")
    if report.assumed:
        talk.note(f"assumed, and noted in the file as assumed: {', '.join(report.assumed)}")
