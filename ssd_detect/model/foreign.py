"""Networks that are mistaken for SSD-VGG, told by the names of their tensors."""

import re
from collections.abc import Iterable

_VGG16 = "VGG16 for classification, not an SSD"
_HEADS = re.compile(r"mbox|_box/|conf\.0|classification_head|conv_cls")

# What a name has in it -> what such a network is; the first that is found counts.
_MARKS: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(pattern), words)
    for pattern, words in (
        (r"pool6_mbox|pool6_norm_mbox", "an SSD of the first generation, which has a head on pool6"),
        (r"(?i)mobilenet|conv_?\d+(_\d+)?[/_](dw|sep|depthwise)|depthwise", "an SSD on MobileNet, or MobileNet itself"),
        (r"(?i)inception", "an SSD on Inception, or Inception itself"),
        (r"(?i)resnet|\bres\d[a-z]_|layer4\.\d", "an SSD on ResNet, or ResNet itself"),
        (r"(?i)darknet|yolo", "a YOLO"),
        (r"rpn_|rpn\.|roi_heads|fast_rcnn|cls_score", "a Faster R-CNN"),
    )
)
# The names of VGG16's last layer in slim, Caffe, torchvision, Keras.
_CLASSIFIER = re.compile(r"(^|/)fc8(/|_|$)|^classifier\.6\.|(^|/)predictions/")


def foreign_network(names: Iterable[str]) -> str | None:
    """What a network is that is no SSD-VGG, in words, where that shows; None otherwise.

    Args:
        names: of all tensors of a file.
    """
    names = tuple(names)
    for mark, words in _MARKS:
        if any(mark.search(name) for name in names):
            return words
    if any(_HEADS.search(name) for name in names):
        return None
    if any(_CLASSIFIER.search(name) for name in names):
        return _VGG16
    if any(name.startswith(("fc7/", "vgg.33.")) for name in names):
        return "VGG16 as SSD's training begins with it, without SSD's own layers and heads"
    return None
