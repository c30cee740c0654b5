"""What a network is besides its weights, as the plain strings that travel in every file we write, and back."""

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from ssd_detect.boxes.anchors import ANCHOR_PRESETS
from ssd_detect.classes import CLASS_LISTS, list_name
from ssd_detect.conventions import AnchorClip, AnchorRounding, Profile, ResizeRule
from ssd_detect.model.spec import ModelSpec

METADATA_NAME = "ssd_detect/metadata"
"""In formats that know variables only: a string of JSON, the metadata's keys and values."""

ABOUT = ("origin", "training_data", "licence")
"""What people should know of weights, wherever they go; as in the manifest."""

_ASSUMED = "assumed"


def spec_metadata(spec: ModelSpec) -> dict[str, str]:
    """`spec` as strings. `classes` is the name of a class list, or a JSON list of names, background first."""
    return {
        "model": f"ssd_{spec.size}_vgg",
        "classes": list_name(spec.class_names) or json.dumps(spec.class_names),
        "anchors": spec.anchors,
        "anchor_rounding": spec.anchor_rounding.value,
        "anchor_clip": spec.anchor_clip.value,
        "resize": spec.resize.value,
        "mean_rgb": ",".join(repr(float(v)).removesuffix(".0") for v in spec.mean_rgb),
        "channel_order": "RGB",
        "profile": spec.profile.value,
    }


def written_metadata(spec: ModelSpec, about: Mapping[str, str], assumed: Iterable[str]) -> dict[str, str]:
    """All metadata of a file that we write: `spec`, what else is known `about` it, and which facts were only assumed.

    The facts that nobody has settled, fields of `ModelSpec` or `colour_order`, stay noted with the weights: writing
    them elsewhere makes them no surer.
    """
    unsure = sorted(assumed)
    return spec_metadata(spec) | dict(about) | ({_ASSUMED: ",".join(unsure)} if unsure else {})


def assumed_by_metadata(metadata: Mapping[str, str]) -> frozenset[str]:
    """The facts of which a file that we wrote says that they were assumed; none when all were sure."""
    return frozenset(filter(None, metadata.get(_ASSUMED, "").split(",")))


def tells_facts(metadata: Mapping[str, str]) -> bool:
    """Whether a file that we wrote, or one like it, tells what it is."""
    return not _FIELDS.keys().isdisjoint(metadata)


def told_by_metadata(metadata: Mapping[str, str], size: int, num_classes: int) -> dict[str, Any]:
    """The fields of `ModelSpec` that a file's metadata tell; what is missing, or makes no sense, is left out."""
    told: dict[str, Any] = {}
    for key, (field, parse) in _FIELDS.items():
        try:
            told[field] = parse(metadata[key])
        except (KeyError, ValueError):
            continue
    if "anchors" in told and ANCHOR_PRESETS[told["anchors"]].side != size:
        del told["anchors"]
    if "class_names" in told and len(told["class_names"]) != num_classes:
        del told["class_names"]
    return told


def _preset(text: str) -> str:
    if text not in ANCHOR_PRESETS:
        raise ValueError(text)
    return text


def _class_names(text: str) -> tuple[str, ...]:
    if text in CLASS_LISTS:
        return CLASS_LISTS[text]
    try:
        names = json.loads(text)
    except RecursionError as error:  # brackets by the thousand
        raise ValueError(text) from error
    if not (isinstance(names, list) and len(names) > 1 and all(isinstance(n, str) and n.strip() for n in names)):
        raise ValueError(text)
    return tuple(names)


def _mean(text: str) -> tuple[float, float, float]:
    red, green, blue = (float(v) for v in text.split(",", 3))
    if not all(0 <= v <= 255 for v in (red, green, blue)):  # NaN is not either
        raise ValueError(text)
    return red, green, blue


_FIELDS: Mapping[str, tuple[str, Callable[[str], Any]]] = {
    "classes": ("class_names", _class_names),
    "anchors": ("anchors", _preset),
    "anchor_rounding": ("anchor_rounding", AnchorRounding),
    "anchor_clip": ("anchor_clip", AnchorClip),
    "resize": ("resize", ResizeRule),
    "mean_rgb": ("mean_rgb", _mean),
    "profile": ("profile", Profile),
}
