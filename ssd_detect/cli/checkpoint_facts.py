"""The options that settle what a file of weights does not tell, and the settings made of them."""

from collections.abc import Callable
from enum import Enum
from pathlib import Path
from typing import Any

import click

from ssd_detect.classes import read_class_file
from ssd_detect.conventions import AnchorClip, AnchorRounding, ColourOrder, ResizeRule
from ssd_detect.settings import CheckpointSettings

# The keys of boxes.anchors.ANCHOR_PRESETS, again, since importing them would import NumPy; a test compares.
ANCHOR_PRESET_NAMES = ("voc300", "coco300", "voc512", "coco512")
# What can be cut out of a larger network, by its short name; coco91 only numbers coco80's classes in another way.
_CLASS_LISTS = {"voc": "voc20", "coco": "coco80"}
_AS_CHECKPOINT = "as the checkpoint"


def one_of(members: type[Enum]) -> dict[str, Any]:
    """What an option needs for its value to become a member; None where the option is not given."""

    def parse(ctx: click.Context, param: click.Parameter, value: str | None) -> Enum | None:
        return None if value is None else members(value)

    choice = click.Choice([member.value for member in members])
    return {"type": choice, "callback": parse, "default": None, "show_default": _AS_CHECKPOINT}


FACT_OPTIONS = (
    click.option("--anchors", type=click.Choice(ANCHOR_PRESET_NAMES), default=None, show_default=_AS_CHECKPOINT,
                 help="Anchors that the checkpoint was trained with; wrong ones give wrong boxes."),
    click.option("--anchor-rounding", **one_of(AnchorRounding),
                 help="Anchor sizes that are no whole pixels, which SSD512 has: keep them, or cut them as Caffe does."),
    click.option("--anchor-clip", **one_of(AnchorClip),
                 help="Cut the size of large anchors (wh: torchvision), or their centre too (cxcywh: ssd.pytorch)."),
    click.option("--resize", **one_of(ResizeRule),
                 help="How pictures become the network's input: as the reference TensorFlow port does it, torchvision, "
                      "Caffe, or Pillow."),
    click.option("--colour-order", **one_of(ColourOrder),
                 help="Order of the channels that the first convolution in the file takes."),
    click.option("--classes-file", type=click.Path(path_type=Path, dir_okay=False), default=None,
                 help="Names of the checkpoint's classes, one a line, without the background."),
    click.option("--class-list", type=click.Choice(list(_CLASS_LISTS)), default=None, show_default="all it knows",
                 help="Cut these out of a network that knows more classes: VOC's out of COCO's, COCO's 80 out of 91."),
)  # fmt: skip
FACT_NAMES = frozenset(
    {"anchors", "anchor_rounding", "anchor_clip", "resize", "colour_order", "classes_file", "class_list"}
)
"""Under which a verb gets their values."""


def fact_options(verb: Callable[..., Any]) -> Callable[..., Any]:
    """Give a verb the options; it hands them on to `checkpoint_settings`."""
    for option in reversed(FACT_OPTIONS):
        verb = option(verb)
    return verb


def checkpoint_settings(
    given: str, *, classes_file: Path | None, class_list: str | None, **facts: Any
) -> CheckpointSettings:
    """The checkpoint `given`, and what the options settle about it.

    Raises:
        SettingError: the class file cannot be used.
    """
    class_names = read_class_file(classes_file) if classes_file else None
    cut = _CLASS_LISTS[class_list] if class_list else None
    return CheckpointSettings(given, class_names=class_names, class_list=cut, **facts)
