"""Settings that are built in Python with the words of the command line."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ssd_detect.conventions import (
    AnchorClip,
    AnchorRounding,
    Arithmetic,
    ColourOrder,
    EngineName,
    Profile,
    ResizeRule,
)
from ssd_detect.errors import SettingError
from ssd_detect.model.conversion.settings import ConvertSettings, FileFormat, Precision
from ssd_detect.settings import CheckpointSettings, DetectionSettings, Device, SessionSettings


def checkpoint(**options: Any) -> CheckpointSettings:
    return CheckpointSettings("a", **options)


def conversion(**options: Any) -> ConvertSettings:
    known: dict[str, Any] = {"file_format": "safetensors"}
    return ConvertSettings(CheckpointSettings("a"), Path("b"), **(known | options))


FIELDS: list[tuple[Callable[..., Any], str, Any]] = [
    (SessionSettings, "engine", EngineName),
    (SessionSettings, "precision", Arithmetic),
    (DetectionSettings, "profile", Profile),
    (checkpoint, "anchor_rounding", AnchorRounding),
    (checkpoint, "anchor_clip", AnchorClip),
    (checkpoint, "resize", ResizeRule),
    (checkpoint, "colour_order", ColourOrder),
    (conversion, "file_format", FileFormat),
    (conversion, "precision", Precision),
]
CASES = pytest.mark.parametrize(("build", "field", "kind"), FIELDS, ids=[f"{f[0].__name__} {f[1]}" for f in FIELDS])


@CASES
def test_a_word_is_what_it_names(build: Callable[..., Any], field: str, kind: Any) -> None:
    for member in kind:
        assert getattr(build(**{field: member.value}), field) is member
        assert getattr(build(**{field: member}), field) is member


@CASES
@pytest.mark.parametrize("word", ["", "foo", 3, []], ids=repr)
def test_other_words_are_refused(build: Callable[..., Any], field: str, kind: Any, word: Any) -> None:
    with pytest.raises(SettingError) as caught:
        build(**{field: word})
    assert str(caught.value) == f"{field} is {word!r}, expected one of {', '.join(member.value for member in kind)}"


def test_nothing_is_left_to_checkpoint_and_profile() -> None:
    assert DetectionSettings(profile=None).profile is None
    assert checkpoint(resize=None).resize is None


def test_device_and_calibration() -> None:
    words: dict[str, Any] = {"device": "gpu:1", "calibration": "pictures"}
    settings = SessionSettings(precision=Arithmetic.INT8, **words)
    assert settings.device == Device("gpu", 1)
    assert settings.calibration == Path("pictures")
    with pytest.raises(SettingError, match="device is 'gpu:x', expected auto"):
        SessionSettings(**{"device": "gpu:x"})  # type: ignore[arg-type]
