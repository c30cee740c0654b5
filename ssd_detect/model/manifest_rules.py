"""What the tables of a manifest may hold: the keys, what becomes of their values, and what to write there."""

import re
from collections.abc import Callable, Collection, Mapping
from typing import Any, NamedTuple

from ssd_detect.classes import BACKGROUND, CLASS_LISTS
from ssd_detect.conventions import AnchorClip, AnchorRounding, ColourOrder, Profile, ResizeRule, Source
from ssd_detect.model.spec import SIZES

METRICS = ("voc07", "voc12", "coco", "unstated")


class Key(NamedTuple):
    """A key of a table: the field that it becomes, how, what to write there, and whether that is a `Score`."""

    field: str
    parse: Callable[[Any], Any]
    expected: str
    is_score: bool = False


class Rules(NamedTuple):
    """The keys of a table, and which of them must be there."""

    keys: Mapping[str, Key]
    required: Collection[str]


class TwiceError(ValueError):
    """Names stand once; the text is the one that does not."""


def _text(value: Any) -> str:
    if not isinstance(value, str) or not value.strip():
        raise ValueError(value)
    return value


def _file(value: Any) -> str:
    """NUL ends a name for every system, and is an error for Python."""
    if "\0" in _text(value):
        raise ValueError(value)
    return str(value)


def _matching(pattern: str) -> Callable[[Any], str]:
    def parse(value: Any) -> str:
        if not re.fullmatch(pattern, _text(value)):
            raise ValueError(value)
        return str(value)

    return parse


def _one_of(*values: Any) -> Callable[[Any], Any]:
    def parse(value: Any) -> Any:
        if value not in values or type(value) not in map(type, values):  # 300.0 equals 300
            raise ValueError(value)
        return value

    return parse


def _urls(value: Any) -> tuple[str, ...]:
    urls = [value] if isinstance(value, str) else value
    if not isinstance(urls, list) or not urls:
        raise ValueError(value)
    return tuple(map(_matching(r"https?://[^\s/]+/\S*"), urls))


def _class_names(value: Any) -> tuple[str, ...]:
    if isinstance(value, str):
        return CLASS_LISTS[_one_of(*CLASS_LISTS)(value)]
    names = tuple(map(_text, value if isinstance(value, list) else ()))
    if not names:
        raise ValueError(value)
    if twice := next((name for i, name in enumerate(names) if name in names[:i]), None):
        raise TwiceError(repr(twice))
    return (BACKGROUND, *names)


def _number(value: Any, most: float) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= most:
        raise ValueError(value)
    return float(value)


def _mean(value: Any) -> tuple[float, float, float]:
    red, green, blue = (_number(v, 255.0) for v in value)
    return red, green, blue


def _table(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ValueError(value)
    return value


def _choice(field: str, kind: type[Any]) -> Key:
    return Key(field, kind, f"one of {', '.join(member.value for member in kind)}")


def _words(field: str) -> Key:
    return Key(field, _text, "a text")


_FACT_KEYS = {
    "source": _choice("source", Source),
    "size": Key("size", _one_of(*SIZES), "300 or 512"),
    "classes": Key("class_names", _class_names, f"{', '.join(CLASS_LISTS)}, or names without the background"),
    "anchors": Key("anchors", _text, "voc300, coco300, voc512 or coco512"),
    "anchor_rounding": _choice("anchor_rounding", AnchorRounding),
    "anchor_clip": _choice("anchor_clip", AnchorClip),
    "resize": _choice("resize", ResizeRule),
    "colour_order": _choice("colour_order", ColourOrder),
    "mean_rgb": Key("mean_rgb", _mean, "three numbers from 0 to 255"),
    "profile": _choice("profile", Profile),
}
_PEOPLE_KEYS = {name: _words(name) for name in ("origin", "training_data", "licence", "note")} | {
    "published": Key("published", _table, "a table with map, metric, on and where", is_score=True),
    "measured": Key("measured", _table, "a table with map, metric and on", is_score=True),
}
_FILE_KEYS = {
    "file": Key("file", _file, "a text without NUL, the file's name"),
    "url": Key("urls", _urls, "an http:// or https:// address, or several in brackets"),
    "by_hand": _words("by_hand"),
    "sha256": Key("sha256", _matching(r"[0-9a-f]{64}"), "64 digits 0-9 and a-f"),
    "git_blob": Key("git_blob", _matching(r"[0-9a-f]{40}"), "40 digits 0-9 and a-f"),
}
ENTRY = Rules(_FACT_KEYS | _PEOPLE_KEYS | _FILE_KEYS, ("file", *_FACT_KEYS))
BESIDE = Rules(_FACT_KEYS | _PEOPLE_KEYS, ())
SCORE = Rules(
    {
        "map": Key("mean_ap", lambda value: _number(value, 1.0), "a number from 0 to 1"),
        "metric": Key("metric", _one_of(*METRICS), f"one of {', '.join(METRICS)}"),
        "on": _words("on"),
        "where": _words("where"),
    },
    ("map", "metric", "on"),
)
MANIFEST = Rules({"checkpoints": Key("checkpoints", _table, "tables [checkpoints.NAME]")}, ("checkpoints",))
