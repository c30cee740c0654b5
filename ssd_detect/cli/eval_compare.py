"""`ssd-detect eval compare`: whether one of two evaluations is better, or only luckier."""

from pathlib import Path

import click

from ssd_detect.cli.talk import Talk
from ssd_detect.errors import ExitStatus
from ssd_detect.files import check_target

_RESULT = click.Path(path_type=Path)


@click.command()
@click.argument("a", type=_RESULT)
@click.argument("b", type=_RESULT)
@click.option(
    "--metric",
    type=click.Choice(("voc07", "voc10")),
    default="voc10",
    show_default=True,
    help="Which mean AP is compared.",
)
@click.option(
    "--iou",
    type=click.FloatRange(0, 1, min_open=True),
    default=0.5,
    show_default=True,
    metavar="T",
    help="Overlap (IoU) from which a detection is a hit.",
)
@click.option(
    "--bootstrap",
    type=click.IntRange(min=100),
    default=1000,
    show_default=True,
    metavar="N",
    help="How often the pictures are drawn anew.",
)
@click.option("--json", "json_target", metavar="FILE|-", help="Write the numbers as JSON; - is standard output.")
@click.option("--overwrite", is_flag=True, help="Replace an existing file.")
def compare(
    a: Path, b: Path, metric: str, iou: float, bootstrap: int, json_target: str | None, overwrite: bool
) -> ExitStatus:  # fmt: skip
    """Say whether the difference between two evaluations is more than chance.

    A and B are folders that eval -o has written, of the same pictures. Both are counted on the same draws of pictures
    (paired bootstrap); classes that only one checkpoint knows are left out.
    """
    from ssd_detect.cli.eval_run import write_json
    from ssd_detect.evaluating.compared_file import compare_runs, read_compared
    from ssd_detect.evaluating.kept_inputs import check_apart, files_of_evaluation
    from ssd_detect.evaluation.bootstrap import BootstrapSettings

    if json_target not in (None, "-"):
        check_target(Path(str(json_target)), overwrite=overwrite)
        check_apart([Path(str(json_target))], [*files_of_evaluation(a), *files_of_evaluation(b)])
    first, second = read_compared(a), read_compared(b)
    settings = BootstrapSettings(num_resamples=bootstrap)
    found = compare_runs(first, second, metric=metric, iou_threshold=iou, bootstrap=settings)  # type: ignore[arg-type]
    talk = Talk()
    on_stdout = json_target == "-"
    for name, given, mean in (("A", a, found.mean_ap_a), ("B", b, found.mean_ap_b)):
        talk.result(
            f"{name}: {click.format_filename(given)}: {metric} at IoU {iou:g}: {100 * mean:.2f} %", err=on_stdout
        )
    talk.result(found.verdict, err=on_stdout)
    if json_target is not None:
        write_json({"a": str(a), "b": str(b), **found.to_dict()}, json_target, overwrite=overwrite)
    return ExitStatus.DONE
