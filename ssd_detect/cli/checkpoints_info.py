"""`ssd-detect checkpoints info`: what a checkpoint is, and how sure that is."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ssd_detect.cli.checkpoint_facts import checkpoint_settings, fact_options
from ssd_detect.cli.checkpoint_guess import guess_from
from ssd_detect.cli.checkpoint_lines import entry_lines, guess_lines, info_lines, variable_lines
from ssd_detect.cli.checkpoints_table import as_json_text
from ssd_detect.cli.names import not_empty
from ssd_detect.cli.talk import say
from ssd_detect.errors import CheckpointError, PictureError
from ssd_detect.filetypes import other_than_file
from ssd_detect.model.manifest import manifest, told_by_whom

if TYPE_CHECKING:
    from ssd_detect.inspection.info import FileInfo
    from ssd_detect.inspection.trial import Guess


@click.command()
@click.argument("checkpoint", metavar="NAME|PATH", callback=not_empty)
@click.option("--variables", is_flag=True, help="List every tensor of the file, with its range.")
@click.option("--guess", "pictures", type=click.Path(path_type=Path, dir_okay=False), multiple=True, metavar="PICTURE",
              help="Find out on this picture which anchors and which colour order fit best; may be given several "
                   "times, and ten pictures tell more than one.")  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@fact_options
def info(checkpoint: str, variables: bool, pictures: tuple[Path, ...], as_json: bool, **facts: Any) -> None:
    """Tell what a checkpoint is: its file, its network, and who says which conventions it was trained with.

    Ends with status 4 if it is no SSD-VGG, or known by name and not here, having told what is known.

    \b
    ssd-detect checkpoints info ssd_300_vgg_voc
    ssd-detect checkpoints info VGG_VOC0712.caffemodel --guess street.jpg --guess kitchen.jpg
    """
    _check_pictures(pictures)
    _tell_of_absent(checkpoint, as_json)
    from ssd_detect.inspection.info import inspect_checkpoint

    found, loaded = inspect_checkpoint(checkpoint_settings(checkpoint, **facts), variables=variables)
    guess = guess_from(loaded, pictures) if loaded and pictures else None
    if as_json:
        _print_json(found, guess)
    else:
        _print_lines(found, guess)
    if found.problem:
        raise CheckpointError(found.problem)


def _check_pictures(pictures: tuple[Path, ...]) -> None:
    """Before a checkpoint is read, which takes seconds."""
    for path in pictures:
        if other := other_than_file(path):
            raise PictureError(f"{path}: is a {other}, expected a picture's file")


def _tell_of_absent(name: str, as_json: bool) -> None:
    """Of a known checkpoint that is not here, tell what the manifest does; then that is an error."""
    entry = manifest().get(name)
    if entry is None or entry.path() is not None:
        return
    for line in [as_json_text([entry])] if as_json else entry_lines(entry):
        click.echo(line)
    with told_by_whom(name):
        raise CheckpointError(f"{name}: {entry.file.name} is not here; {entry.how_to_get}")


def _print_json(found: "FileInfo", guess: "Guess | None") -> None:
    from ssd_detect.formats.json_text import json_file
    from ssd_detect.inspection.document import document

    click.echo(json_file(document(found, guess)), nl=False)


def _print_lines(found: "FileInfo", guess: "Guess | None") -> None:
    for line in info_lines(found):
        say(line)
    if found.variables is not None:
        say("")
        for line in variable_lines(found.variables):
            say(line)
    if guess:
        for line in guess_lines(guess, found.path):
            say(line)
