"""Looking at pictures with a checkpoint's network, to guess what it was trained with: a quiet TensorFlow, progress."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ssd_detect.environment import held_back_stderr, is_terminal, silence_tensorflow

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ssd_detect.arrays import Pixels
    from ssd_detect.inspection.trial import Guess
    from ssd_detect.model.checkpoint import Checkpoint


def guess_from(checkpoint: "Checkpoint", pictures: tuple[Path, ...]) -> "Guess":
    """Read all pictures, then run the network, which imports TensorFlow.

    Raises:
        PictureError: a picture that cannot be read.
    """
    from ssd_detect.media.pictures import read_picture
    from ssd_detect.settings import SessionSettings

    read = [read_picture(path) for path in pictures]
    silence_tensorflow()
    with held_back_stderr():
        from ssd_detect.inspection.trial import guess_conventions
    return guess_conventions(checkpoint, _counted(read), SessionSettings())


def _counted(pictures: "list[Pixels]") -> "Iterator[Pixels]":
    """Say on a terminal which picture is being looked at, each in place of the one before; then wipe it out."""
    watched = is_terminal(sys.stderr)
    for number, picture in enumerate(pictures, start=1):
        if watched:
            click.echo(f"\rLooking at picture {number} of {len(pictures)} …", nl=False, err=True)
        yield picture
    if watched:
        click.echo(f"\r{'':40}\r", nl=False, err=True)
