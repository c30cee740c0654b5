"""Known checkpoints as lines for a person, and as JSON."""

import json
from collections.abc import Iterable, Iterator
from typing import Any

from ssd_detect.classes import list_name
from ssd_detect.cli.talk import printable
from ssd_detect.counting import counted
from ssd_detect.model.manifest import ManifestEntry
from ssd_detect.model.manifest_entry import Score

_WIDTH = 100


def table(entries: Iterable[ManifestEntry]) -> Iterator[str]:
    """Two lines a checkpoint, at most 100 columns wide unless a name is longer; mAP in percent with its metric."""
    for entry in entries:
        note = " (instead of the one that ships)" if entry.replaces_shipped else ""
        yield printable(f"{entry.name:{_WIDTH - 22}}  {entry.whereabouts()}{note}")
        parts = (
            f"SSD{entry.spec.size}",
            f"{_classes(entry):10}",
            f"published {_percent(entry.published):13}",
            f"measured {_percent(entry.measured):13}",
            _short(entry.licence) or "licence unknown",
        )
        yield printable("  ".join(("  ", *parts)))[:_WIDTH].rstrip()


def _classes(entry: ManifestEntry) -> str:
    names = entry.spec.class_names
    return list_name(names) or counted(len(names) - 1, "class", "classes")


def _percent(score: Score | None) -> str:
    return "-" if score is None else f"{100 * score.mean_ap:.1f} {score.metric}"


def _short(licence: str) -> str:
    return licence.partition(";")[0]


def as_json_text(entries: Iterable[ManifestEntry]) -> str:
    """A list of objects, all that is known of each."""
    return json.dumps([_json(entry) for entry in entries], indent=2, ensure_ascii=False)


def _json(entry: ManifestEntry) -> dict[str, Any]:
    spec, path = entry.spec, entry.path()
    return {
        "name": entry.name,
        "where": entry.whereabouts(),
        "path": None if path is None else str(path),
        "how_to_get": None if path is not None else entry.how_to_get,
        "urls": list(entry.urls),
        "by_hand": entry.by_hand,
        "sha256": entry.sha256,
        "git_blob": entry.git_blob,
        "source": entry.source.value,
        "size": spec.size,
        "classes": _classes(entry),
        "class_names": list(spec.class_names[1:]),
        "anchors": spec.anchors,
        "anchor_rounding": spec.anchor_rounding.value,
        "anchor_clip": spec.anchor_clip.value,
        "resize": spec.resize.value,
        "colour_order": entry.colour_order.value,
        "mean_rgb": list(spec.mean_rgb),
        "profile": spec.profile.value,
        "published": _score(entry.published),
        "measured": _score(entry.measured),
        "licence": entry.licence,
        "origin": entry.origin,
        "training_data": entry.training_data,
        "note": entry.note,
        "described_in": None if entry.described_in is None else str(entry.described_in),
        "replaces_shipped": entry.replaces_shipped,
    }


def _score(score: Score | None) -> dict[str, Any] | None:
    if score is None:
        return None
    return {"map": score.mean_ap, "metric": score.metric, "on": score.on, "where": score.where}
