"""`ssd-detect dataset`: what is in a data set, what is wrong with it, and the same in another layout."""

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from ssd_detect.cli.checkpoint_facts import ANCHOR_PRESET_NAMES
from ssd_detect.cli.dataset_run import OpenOptions, run_check, run_convert, run_stats
from ssd_detect.cli.talk import Talk
from ssd_detect.errors import ExitStatus

_PATH = click.Path(path_type=Path)
_FOLDER = click.Path(path_type=Path, file_okay=False)

_OPTIONS = (
    click.argument("path", metavar="DATASET", type=_PATH),
    click.option("--split", metavar="NAME", help="Only this part, such as test.  [default: all there is]"),
    click.option("--classes-file", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE",
                 help="Names of the classes, one a line.  [default: those of the data set]"),
    click.option("--pictures", type=_FOLDER, metavar="FOLDER",
                 help="Where the pictures are, if not beside the annotations."),
    click.option("--one-based/--zero-based", default=None,
                 help="Whether VOC's pixels count from 1 or 0.  [default: as the boxes tell]"),
)  # fmt: skip
_OPEN_NAMES = ("path", "split", "classes_file", "pictures", "one_based")

_ignore_unknown = click.option("--ignore-unknown", is_flag=True, help="Leave objects of unknown classes out.")
_as_json = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


def _opening(verb: Callable[..., Any]) -> Callable[..., Any]:
    """Give a verb the options that say what to open; it receives them as one `opening: OpenOptions`."""

    @functools.wraps(verb)
    def with_options(ignore_unknown: bool = True, **given: Any) -> Any:
        named = {name: given.pop(name) for name in _OPEN_NAMES}
        return verb(opening=OpenOptions(**named, ignore_unknown=ignore_unknown), **given)

    for option in reversed(_OPTIONS):
        with_options = option(with_options)
    return with_options


@click.group()
def dataset() -> None:
    """Check, describe and convert annotated data sets.

    DATASET is a VOC folder, a COCO file or a folder with one, or a YOLO folder or its data.yaml; the content tells.
    """


@dataset.command()
@_opening
@_as_json
def check(opening: OpenOptions, as_json: bool) -> ExitStatus:
    """List what is wrong, and what is done about it.

    Ends with status 0 if all of it is used, with 1 if an object or a picture is left out, or there is no picture.
    """
    return run_check(opening, as_json=as_json)


@dataset.command()
@_opening
@click.option("--anchors", type=click.Choice(ANCHOR_PRESET_NAMES), default=None,
              help="Also tell how well the anchors of this preset cover the objects.")  # fmt: skip
@_ignore_unknown
@_as_json
def stats(opening: OpenOptions, anchors: str | None, as_json: bool) -> ExitStatus:
    """Count classes, sizes and shapes.

    With --anchors also tells the best overlap (IoU) that any anchor reaches with each object, by size, by shape as the
    network sees it, and by class: what no anchor reaches by 0.5 can hardly be learned or found.
    """
    return run_stats(opening, anchors, as_json=as_json)


@dataset.command()
@_opening
@click.argument("target", type=_FOLDER)
@click.option("--to", "kind", type=click.Choice(("voc", "coco", "yolo")), required=True, help="The layout to write.")
@click.option("--copy-pictures", is_flag=True, help="Copy the pictures too.")
@click.option("--link-pictures", is_flag=True, help="Make symbolic links to the pictures.")
@click.option("--overwrite", is_flag=True, help="Replace existing files.")
@click.option("-q", "--quiet", is_flag=True, help="Print nothing but errors.")
@_ignore_unknown
def convert(opening: OpenOptions, quiet: bool, copy_pictures: bool, link_pictures: bool, **chosen: Any) -> ExitStatus:
    """Write it in another layout below the folder TARGET.

    The source stays as it is. What the layout cannot hold is told.
    """
    if copy_pictures and link_pictures:
        raise click.UsageError("--copy-pictures and --link-pictures exclude each other; leave one of them out")
    transfer = "copy" if copy_pictures else "link" if link_pictures else None
    return run_convert(opening, transfer=transfer, talk=Talk(quiet=quiet), **chosen)
