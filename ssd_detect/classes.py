"""The class lists that SSD checkpoints are trained on, and how people spell their names.

Index = the network's class id; 0 is the background. Sources: the label maps of the Caffe SSD release.
"""

import difflib
from collections.abc import Iterable, Sequence
from pathlib import Path

from ssd_detect.errors import SettingError, UnknownClassError

BACKGROUND = "background"

VOC20 = (
    BACKGROUND, "aeroplane", "bicycle", "bird", "boat", "bottle", "bus", "car", "cat", "chair", "cow",
    "diningtable", "dog", "horse", "motorbike", "person", "pottedplant", "sheep", "sofa", "train", "tvmonitor",
)  # fmt: skip

COCO80 = (
    BACKGROUND, "person", "bicycle", "car", "motorcycle", "airplane", "bus", "train", "truck", "boat",
    "traffic light", "fire hydrant", "stop sign", "parking meter", "bench", "bird", "cat", "dog", "horse", "sheep",
    "cow", "elephant", "bear", "zebra", "giraffe", "backpack", "umbrella", "handbag", "tie", "suitcase", "frisbee",
    "skis", "snowboard", "sports ball", "kite", "baseball bat", "baseball glove", "skateboard", "surfboard",
    "tennis racket", "bottle", "wine glass", "cup", "fork", "knife", "spoon", "bowl", "banana", "apple", "sandwich",
    "orange", "broccoli", "carrot", "hot dog", "pizza", "donut", "cake", "chair", "couch", "potted plant", "bed",
    "dining table", "toilet", "tv", "laptop", "mouse", "remote", "keyboard", "cell phone", "microwave", "oven",
    "toaster", "sink", "refrigerator", "book", "clock", "vase", "scissors", "teddy bear", "hair drier", "toothbrush",
)  # fmt: skip

_COCO_UNUSED_IDS = frozenset({12, 26, 29, 30, 45, 66, 68, 69, 71, 83})


def _sparse_coco() -> tuple[str, ...]:
    """COCO's own category ids, 0-90, as torchvision's models number their outputs."""
    names = iter(COCO80[1:])
    return (BACKGROUND, *(f"unused {i}" if i in _COCO_UNUSED_IDS else next(names) for i in range(1, 91)))


COCO91 = _sparse_coco()

CLASS_LISTS = {"voc20": VOC20, "coco80": COCO80, "coco91": COCO91}

# Each row names one thing; any of its spellings finds the class under the name that the checkpoint uses.
_SYNONYMS = (
    ("aeroplane", "airplane", "plane"),
    ("bicycle", "bike"),
    ("motorbike", "motorcycle"),
    ("sofa", "couch"),
    ("tvmonitor", "tv", "television"),
    ("cell phone", "mobile phone", "phone"),
    ("donut", "doughnut"),
    ("hair drier", "hair dryer"),
)


def list_name(class_names: Sequence[str]) -> str | None:
    """The key of `CLASS_LISTS` under which exactly these names stand, background first; None: under none."""
    return next((name for name, names in CLASS_LISTS.items() if names == tuple(class_names)), None)


def class_list_for(num_classes: int) -> tuple[str, ...]:
    """The names to assume for a checkpoint with `num_classes` outputs (background included)."""
    for names in CLASS_LISTS.values():
        if len(names) == num_classes:
            return names
    return (BACKGROUND, *(f"class {i}" for i in range(1, num_classes)))


def _folded(name: str) -> str:
    """Letter case, blanks, hyphens and underscores do not count."""
    return "".join(c for c in name.casefold() if c not in " -_\t")


def find_class_ids(names: Iterable[str], class_names: Sequence[str]) -> tuple[int, ...]:
    """Class ids of `names` in `class_names`, without regard to letter case, blanks, hyphens and known aliases.

    Raises:
        UnknownClassError: a name that is none of the classes; the message suggests near ones.
    """
    ids = {_folded(name): i for i, name in enumerate(class_names) if i != 0}
    for synonyms in _SYNONYMS:
        spellings = [_folded(s) for s in synonyms]
        for known in [ids[s] for s in spellings if s in ids][:1]:
            ids |= {s: known for s in spellings if s not in ids}
    return tuple(_class_id(name, ids, class_names) for name in names)


def _class_id(name: str, ids: dict[str, int], class_names: Sequence[str]) -> int:
    if _folded(name) in ids:
        return ids[_folded(name)]
    near = difflib.get_close_matches(_folded(name), ids, n=3, cutoff=0.6)
    if near:
        suggestions = " or ".join(dict.fromkeys(class_names[ids[n]] for n in near))
        raise UnknownClassError(f"unknown class {name!r}; did you mean {suggestions}?")
    raise UnknownClassError(f"unknown class {name!r}; this checkpoint knows {', '.join(class_names[1:])}")


def read_class_file(path: Path) -> tuple[str, ...]:
    """Read class names, one a line, in the order of the network's outputs, with the background put first.

    Empty lines do not count; a first line that names the background (`background`, `none`) is optional.

    Raises:
        SettingError: the file cannot be read, holds no name, or holds a name twice.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise SettingError(f"{path}: cannot read the class file: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise SettingError(f"{path}: not a class file: expected UTF-8 text with one class name a line") from error
    names = [line.strip() for line in text.splitlines() if line.strip()]
    if names and _folded(names[0]) in ("background", "none", "noneoftheabove"):
        names = names[1:]
    if not names:
        raise SettingError(f"{path}: holds no class name, expected one a line")
    twice = [name for i, name in enumerate(names) if name in names[:i]]
    if twice:
        raise SettingError(f"{path}: class {twice[0]!r} stands there twice")
    return (BACKGROUND, *names)
