"""What is taken for granted about weights of each source, where nobody tells otherwise, and how sure that is.

Sources: the code of the five programs, see `conventions`, and what their authors publish with them. Sure is what the
program's own files all have; unsure, what they differ in among each other and no tensor shows.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from ssd_detect.classes import CLASS_LISTS, class_list_for
from ssd_detect.conventions import AnchorClip, AnchorRounding, Profile, ResizeRule, Source
from ssd_detect.model.naming import usual_colour_order
from ssd_detect.model.spec import MEAN_RGB

_COCO_CLASSES = len(CLASS_LISTS["coco80"])
# torchvision's mean of 0.48235, 0.45882, 0.40784 and deviation of 1/255, in grey levels.
_TORCHVISION_MEAN = (122.99925, 116.9991, 103.9992)


@dataclass(frozen=True)
class Habits:
    """What goes without saying.

    Args:
        facts: fields of `ModelSpec` but its size, and `colour_order`.
        unsure: those of them that may well be otherwise.
    """

    facts: Mapping[str, Any]
    unsure: frozenset[str]


def habits_of(source: Source, size: int, num_classes: int) -> Habits:
    """The habits of `source` for networks of this input size and number of classes, background included."""
    anchors, unsure = _ANCHORS[source](num_classes)
    classes = class_list_for(num_classes)
    named = frozenset() if classes in CLASS_LISTS.values() else frozenset({"class_names"})
    facts: dict[str, Any] = {
        "class_names": classes,
        "anchors": f"{anchors}{size}",
        "mean_rgb": MEAN_RGB,
        "anchor_rounding": AnchorRounding.FLOAT,
        "anchor_clip": AnchorClip.NONE,
        "resize": ResizeRule.OPENCV,
        "colour_order": usual_colour_order(source),
    }
    return Habits({**facts, **_OWN[source]}, unsure | named | _UNSURE.get(source, frozenset()))


def _caffes(num_classes: int) -> tuple[str, frozenset[str]]:
    """Whoever has VOC's classes may have been trained on COCO before, with its anchors."""
    return ("coco", frozenset()) if num_classes == _COCO_CLASSES else ("voc", frozenset({"anchors"}))


# Each source's preset without the size, and whether that is unsure, by the number of classes.
_ANCHORS: Mapping[Source, Callable[[int], tuple[str, frozenset[str]]]] = {
    Source.TENSORFLOW: lambda _: ("coco", frozenset({"anchors"})),
    Source.CAFFE: _caffes,
    Source.KERAS: _caffes,
    Source.SSD_PYTORCH: lambda num_classes: ("coco" if num_classes == _COCO_CLASSES else "voc", frozenset()),
    Source.TORCHVISION: lambda _: ("coco", frozenset()),
}

# In what each source differs from the rest.
_OWN: Mapping[Source, Mapping[str, Any]] = {
    Source.TENSORFLOW: {"resize": ResizeRule.LEGACY, "profile": Profile.TUTORIAL},
    Source.CAFFE: {"anchor_rounding": AnchorRounding.INT, "profile": Profile.CAFFE},
    Source.KERAS: {"profile": Profile.KERAS},
    Source.SSD_PYTORCH: {"anchor_clip": AnchorClip.CENTRE_AND_SIZE, "profile": Profile.SSD_PYTORCH},
    Source.TORCHVISION: {
        "anchor_clip": AnchorClip.SIZE,
        "resize": ResizeRule.HALF_PIXEL,
        "mean_rgb": _TORCHVISION_MEAN,
        "profile": Profile.TORCHVISION,
    },
}

# ssd.pytorch's own files are RGB, the one that its authors converted from Caffe is BGR.
_UNSURE: Mapping[Source, frozenset[str]] = {Source.SSD_PYTORCH: frozenset({"colour_order"})}
