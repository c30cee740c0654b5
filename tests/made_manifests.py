"""Lists of checkpoints for tests, in a home of their own."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from ssd_detect.model import manifest

FACTS: Mapping[str, Any] = {
    "source": "caffe",
    "size": 512,
    "classes": "coco80",
    "anchors": "coco512",
    "anchor_rounding": "int",
    "anchor_clip": "none",
    "resize": "opencv",
    "colour_order": "bgr",
    "mean_rgb": [123, 117, 104],
    "profile": "caffe",
}
ENTRY: Mapping[str, Any] = {"file": "made.caffemodel", **FACTS}


def lines_of(fields: Mapping[str, Any]) -> str:
    """The fields as TOML; texts, numbers and lists are written as in JSON, and tables in one line."""
    return "".join(f"{key} = {_value(value)}\n" for key, value in fields.items())


def _value(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{k} = {_value(v)}" for k, v in value.items()) + "}"
    return json.dumps(value)


def toml_of(entries: Mapping[str, Mapping[str, Any]]) -> str:
    """A list of checkpoints."""
    return "\n".join(f'[checkpoints."{name}"]\n{lines_of(fields)}' for name, fields in entries.items())


@contextmanager
def own_home(home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """SSD_DETECT_HOME is `home` in the block; `forget()` makes later changes of lists count."""
    home.mkdir(parents=True, exist_ok=True)
    monkeypatch.setenv("SSD_DETECT_HOME", str(home))
    forget()
    try:
        yield home
    finally:
        monkeypatch.undo()
        forget()


def forget() -> None:
    """Let the lists be read anew."""
    manifest.manifest.cache_clear()
    manifest._users.cache_clear()


def add_entries(home: Path, entries: Mapping[str, Mapping[str, Any]], name: str = "made.toml") -> None:
    """Write a list of the user's, and let it count."""
    (home / name).write_text(toml_of(entries), encoding="utf-8")
    forget()
