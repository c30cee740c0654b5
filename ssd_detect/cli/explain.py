"""`ssd-detect explain`: why something was found in a picture, or was not."""

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from ssd_detect.cli.explain_run import ExplainSettings, run_explain
from ssd_detect.cli.options import RunSettings, detection_options
from ssd_detect.explaining.question import DEFAULT_TOP, Four, Question


def _numbers(count: int, words: str) -> Callable[[click.Context, click.Parameter, str | None], Any]:
    """What reads so many numbers with commas between them."""

    def parse(ctx: click.Context, param: click.Parameter, value: str | None) -> tuple[float, ...] | None:
        if value is None:
            return None
        try:
            numbers = tuple(float(part) for part in value.split(","))
        except ValueError:
            numbers = ()
        if len(numbers) != count or not all(map(math.isfinite, numbers)):
            raise click.BadParameter(f"{value!r} is not {words}, in pixels, with commas between them")
        return numbers

    return parse


@click.command()
@click.argument("picture", metavar="IMAGE")
@click.option(
    "--at",
    callback=_numbers(2, "two numbers X,Y"),
    metavar="X,Y",
    help="A point in pixels of the upright picture: the detections there, and what else was close to one.",
)
@click.option(
    "--box",
    type=click.IntRange(min=1),
    metavar="N",
    help="The N-th detection, counted from 1 as ssd-detect image prints them.",
)
@click.option(
    "--region",
    callback=_numbers(4, "four numbers X0,Y0,X1,Y1"),
    metavar="X0,Y0,X1,Y1",
    help="Where an object should have been found: how well any anchor, and any box of the network, fits it.",
)
@click.option(
    "--top",
    type=click.IntRange(1, 1000),
    default=DEFAULT_TOP,
    show_default=True,
    help="Entries of each list, and classes of each anchor.",
)
@click.option("--json", "json_target", metavar="FILE|-", help="Also write it as JSON; - is standard output.")
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    metavar="PICTURE",
    help="Also draw it: the anchor, boxes, what was removed, the point, with a legend.",
)
@click.option("--overwrite", is_flag=True, help="Replace existing files.")
@detection_options  # fmt: skip
def explain(
    picture: str,
    at: tuple[float, float] | None,
    box: int | None,
    region: Four | None,
    top: int,
    run: RunSettings,
    **chosen: Any,
) -> None:
    """Tell why something was found in a picture, or was not.

    IMAGE is a picture file, an http(s) URL, or - for standard input. Of a detection: the feature map, the cell and the
    anchor that made it, its scores, and what it removed. Of a spot where nothing was found: the anchors that came
    closest, and why nothing came of them. Give the options with which you run ssd-detect image.

    \b
    ssd-detect explain person.jpg --box 1
    ssd-detect explain street.jpg --at 320,200 --score-threshold 0.3 -o why.png
    ssd-detect explain street.jpg --region 300,180,340,230 --json -
    """
    run_explain(picture, Question(box, at, region, top), ExplainSettings(**chosen), run)
