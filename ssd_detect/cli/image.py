"""`ssd-detect image`: objects in pictures."""

from pathlib import Path
from typing import Any

import click

from ssd_detect.cli.image_run import ImageSettings, run_images
from ssd_detect.cli.options import RunSettings, detection_options
from ssd_detect.errors import ExitStatus
from ssd_detect.formats.names import WRITERS
from ssd_detect.settings import DEFAULT_MAX_PIXELS, FetchSettings

FORMATS = ("image", "crops", *WRITERS)


@click.command()
@click.argument("inputs", nargs=-1, required=True)
@click.option(
    "-o",
    "--output",
    metavar="FILE|FOLDER",
    help="Where results go. Default: the current folder, the picture as NAME_detections.",
)
@click.option(
    "-f",
    "--format",
    "formats",
    type=click.Choice(FORMATS),
    multiple=True,
    default=("image",),
    show_default=True,
    help="What to write; may be given several times.",
)
@click.option(
    "--json", "json_target", metavar="FILE|-", help="Also write JSON lines, one a picture; - is standard output."
)
@click.option(
    "--coco-images",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="For the coco format: annotations whose picture and category ids to use.",
)
@click.option("--sha256", is_flag=True, help="Note the SHA-256 of each input in json, jsonl and coco.")
@click.option("--no-labels", is_flag=True, help="Draw boxes only, without class and score.")
@click.option(
    "--blur",
    multiple=True,
    metavar="NAME",
    help="Make objects of this class unrecognisable in the saved picture; may be given several times.",
)
@click.option("--recursive", is_flag=True, help="Look into folders of folders too.")
@click.option(
    "--resume", is_flag=True, help="Go on with an earlier run: what is left, what failed, what is new; same options."
)
@click.option("--strict", is_flag=True, help="Stop at the first failure.")
@click.option(
    "--max-pixels",
    type=click.IntRange(min=1),
    default=DEFAULT_MAX_PIXELS,
    show_default=True,
    help="Refuse larger pictures.",
)
@click.option("--url-timeout", type=float, default=20.0, show_default=True, help="Seconds to wait for a server.")
@click.option("--allow-private-urls", is_flag=True, help="Allow URLs of this machine and of local networks.")
@click.option("--overwrite", is_flag=True, help="Replace existing files.")
@detection_options  # fmt: skip
def image(
    inputs: tuple[str, ...], run: RunSettings, url_timeout: float, allow_private_urls: bool, **chosen: Any
) -> ExitStatus:
    """Find objects in pictures; save annotated copies and print what was found.

    INPUTS are picture files, folders, quoted globs, @LIST (a file with an input a line), http(s) URLs, or - for a
    picture on standard input. A line an object: class, score, and its box as left, top, right, bottom in pixels.

    \b
    ssd-detect image person.jpg
    ssd-detect image photos --recursive -o found -f image -f json -f crops
    ssd-detect image "*.jpg" --json - --class person
    """
    fetch = FetchSettings(timeout_seconds=url_timeout, allow_private=allow_private_urls)
    return run_images(inputs, ImageSettings(fetch=fetch, **chosen), run)
