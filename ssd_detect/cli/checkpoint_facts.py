"""The options that settle what a file of weights does not tell, for verbs that work on checkpoints."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from ssd_detect.classes import read_class_file
from ssd_detect.cli.options import ANCHOR_PRESET_NAMES
from ssd_detect.conventions import AnchorClip, AnchorRounding, ColourOrder, ResizeRule
from ssd_detect.settings import CheckpointSettings

_CLASS_LISTS = {"voc": "voc20", "coco": "coco80"}
_KINDS = {"anchor_rounding": AnchorRounding, "anchor_clip": AnchorClip, "resize": ResizeRule,
          "colour_order": ColourOrder}  # fmt: skip

_OPTIONS = (
    click.option("--anchors", type=click.Choice(ANCHOR_PRESET_NAMES),
                 help="Anchors that the checkpoint was trained with."),
    click.option("--anchor-rounding", type=click.Choice([r.value for r in AnchorRounding]),
                 help="What became of anchor sizes that are no whole pixels."),
    click.option("--anchor-clip", type=click.Choice([c.value for c in AnchorClip]),
                 help="How anchors that leave the picture were cut."),
    click.option("--resize", type=click.Choice([r.value for r in ResizeRule]),
                 help="How pictures became the network's input."),
    click.option("--colour-order", type=click.Choice([c.value for c in ColourOrder]),
                 help="Order of the channels that the weights of the file expect."),
    click.option("--classes-file", type=click.Path(path_type=Path, dir_okay=False),
                 help="Names of the checkpoint's classes, one a line, without the background."),
    click.option("--class-list", type=click.Choice(list(_CLASS_LISTS)),
                 help="Keep only these classes of those that it knows."),
)  # fmt: skip


def fact_options(verb: Callable[..., Any]) -> Callable[..., Any]:
    """Give a verb the options; it hands them on to `checkpoint_settings`."""
    for option in reversed(_OPTIONS):
        verb = option(verb)
    return verb


def checkpoint_settings(
    given: str, *, classes_file: Path | None, class_list: str | None, **facts: str | None
) -> CheckpointSettings:
    """The checkpoint `given`, and what the options settle about it.

    Raises:
        SettingError: the class file cannot be used.
    """
    chosen: dict[str, Any] = {name: _KINDS.get(name, str)(value) for name, value in facts.items() if value}
    class_names = read_class_file(classes_file) if classes_file else None
    return CheckpointSettings(given, class_names=class_names, class_list=_CLASS_LISTS.get(class_list or ""), **chosen)
