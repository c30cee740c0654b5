"""The shared options: what their words become in the frozen settings."""

from typing import Any

import click
import pytest
from click.testing import CliRunner

from ssd_detect.cli.options import RunSettings, check_class_names, detection_options
from ssd_detect.conventions import AnchorClip, AnchorRounding, ColourOrder, Profile, ResizeRule
from ssd_detect.errors import UnknownClassError
from ssd_detect.settings import CheckpointSettings, DetectionSettings


def settings_of(*arguments: str) -> RunSettings:
    seen: list[RunSettings] = []

    @click.command()
    @detection_options
    def verb(run: RunSettings) -> None:
        seen.append(run)

    result = CliRunner().invoke(verb, arguments, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    (run,) = seen
    return run


def test_nothing_given_leaves_all_to_checkpoint_and_profile() -> None:
    run = settings_of()
    assert run.checkpoint == CheckpointSettings("ssd_300_vgg_voc")
    assert run.detection == DetectionSettings()


@pytest.mark.parametrize(
    ("option", "field", "members"),
    [
        ("--anchor-rounding", "anchor_rounding", AnchorRounding),
        ("--anchor-clip", "anchor_clip", AnchorClip),
        ("--resize", "resize", ResizeRule),
        ("--colour-order", "colour_order", ColourOrder),
    ],
)
def test_every_word_is_a_convention_of_the_checkpoint(option: str, field: str, members: Any) -> None:
    for member in members:
        assert getattr(settings_of(option, member.value).checkpoint, field) is member


def test_profile_belongs_to_the_detection() -> None:
    for profile in Profile:
        assert settings_of("--profile", profile.value).detection == DetectionSettings(profile=profile)


def test_limits() -> None:
    detection = settings_of("--top-k", "7", "--max-detections", "3").detection
    assert (detection.top_k, detection.max_detections) == (7, 3)


@pytest.mark.parametrize(("word", "class_list"), [("voc", "voc20"), ("coco", "coco80")])
def test_class_list(word: str, class_list: str) -> None:
    assert settings_of("--class-list", word).checkpoint.class_list == class_list


def test_class_names_are_looked_for_in_what_is_cut_out() -> None:
    cut = CheckpointSettings("coco.safetensors", class_list="voc20")
    check_class_names(cut, ["couch", "tv"])
    with pytest.raises(UnknownClassError, match="zebra"):
        check_class_names(cut, ["zebra"])
