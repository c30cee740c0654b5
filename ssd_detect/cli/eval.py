"""`ssd-detect eval`: how good a checkpoint is on a data set, in the papers' numbers."""

import shlex
from pathlib import Path
from typing import Any

import click

from ssd_detect.cli.eval_compare import compare
from ssd_detect.cli.eval_run import EvalOptions, run_evaluation
from ssd_detect.cli.options import RunSettings, evaluation_options
from ssd_detect.errors import ExitStatus

_FILE = click.Path(path_type=Path, dir_okay=False)
_FOLDER = click.Path(path_type=Path, file_okay=False)
_COMMAND = "ssd_detect.command"  # in the context's meta: what was typed


class EvalCommand(click.Command):
    """A verb with a second one beneath it: `eval compare` goes to `compare`, all else is a data set to evaluate."""

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        """The context of the verb that is meant."""
        if args[:1] == ["compare"]:
            return compare.make_context(f"{info_name} compare", args[1:], parent, **extra)
        typed = shlex.join(["ssd-detect", "eval", *args])
        context = super().make_context(info_name, args, parent, **extra)
        context.meta[_COMMAND] = typed
        return context


@click.command("eval", cls=EvalCommand)
@click.argument("dataset", type=click.Path(path_type=Path))
@click.option("--split", metavar="NAME", help="Part of the data set, such as test.  [default: all there is]")
@click.option(
    "-o",
    "--output",
    "folder",
    type=_FOLDER,
    metavar="FOLDER",
    help="Write a report there: index.html with its pictures, metrics.json, per_class.csv, detections.jsonl, and "
    "compared.npz for eval compare.",
)
@click.option(
    "--metric",
    "metrics",
    type=click.Choice(("voc07", "voc10", "coco")),
    multiple=True,
    default=("voc07", "voc10", "coco"),
    show_default=True,
    help="voc07: 11 points; voc10: all points, as VOC 2010 and later; coco: the COCO family. The first one counts for "
    "--fail-under. May be given several times.",
)
@click.option(
    "--iou",
    "iou_thresholds",
    type=click.FloatRange(0, 1, min_open=True),
    multiple=True,
    default=(0.5,),
    show_default=True,
    metavar="T",
    help="Overlap (IoU) from which a VOC metric counts a hit; may be given several times.",
)
@click.option("--limit", type=click.IntRange(min=1), metavar="N", help="Only the first N pictures.")
@click.option(
    "--bootstrap",
    type=click.IntRange(min=100),
    metavar="N",
    help="Give intervals of the means by drawing the pictures N times anew, such as 1000.",
)
@click.option(
    "--fail-under",
    type=click.FloatRange(0, 100),
    metavar="PERCENT",
    help="End with status 1 if the first metric's mean AP is below, such as 70.",
)
@click.option("--keep-raw", type=_FILE, metavar="FILE", help="Keep the network's outputs, for --from-raw.")
@click.option(
    "--from-raw",
    type=_FILE,
    metavar="FILE",
    help="Take kept outputs in the place of the network: thresholds, profile, limits and class list can be tried anew "
    "in seconds.",
)
@click.option(
    "--predictions",
    type=_FILE,
    metavar="FILE",
    help="Take detections that image -f jsonl or -f coco has saved in the place of the network.",
)
@click.option(
    "--write-thresholds",
    type=_FILE,
    metavar="FILE",
    help="Write the lowest score threshold of each class that reaches --target-precision, for image and video "
    "--thresholds.",
)
@click.option(
    "--target-precision",
    type=click.FloatRange(0, 1, min_open=True),
    default=0.9,
    show_default=True,
    metavar="P",
    help="That thresholds are to reach, in the file and in the report.",
)
@click.option("--json", "json_target", metavar="FILE|-", help="Write the numbers as JSON; - is standard output.")
@click.option("--resume", is_flag=True, help="Go on with a run that was broken off; same options, same -o.")
@click.option("--overwrite", is_flag=True, help="Replace existing files.")
@evaluation_options
def evaluation(run: RunSettings, **chosen: Any) -> ExitStatus:  # fmt: skip
    """Measure how good a checkpoint is on a data set, as the papers do.

    DATASET is a VOC folder, a COCO JSON with its pictures, or a YOLO folder. Prints the average precision (AP) of each
    class, the means, and what they mean. Thresholds are those of the papers' evaluations: score 0.01, NMS 0.45, the
    limits of the checkpoint's profile.

    Ends with status 1 below --fail-under, 3 when some pictures cannot be read.

    \b
    ssd-detect eval VOC2007 --split test -o report
    ssd-detect eval voc --limit 500 --keep-raw outputs.npz
    ssd-detect eval voc --from-raw outputs.npz --nms-threshold 0.5
    ssd-detect eval compare report other-report    (see eval compare --help)
    """
    context = click.get_current_context()
    given = {name for name in context.params if _is_given(context, name)}
    return run_evaluation(EvalOptions(**chosen, command=context.meta[_COMMAND], given=frozenset(given)), run)


def _is_given(context: click.Context, name: str) -> bool:
    return context.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE
