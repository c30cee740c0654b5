"""Checkpoints of which a manifest, or a TOML beside them, tells: by name, by hash, and in whose word is believed."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from safetensors.numpy import save_file

from ssd_detect.conventions import AnchorClip, ColourOrder, Profile, ResizeRule
from ssd_detect.errors import CheckpointError
from ssd_detect.hashing import git_blob_of, sha256_of
from ssd_detect.model.checkpoint import Checkpoint, load_checkpoint
from ssd_detect.model.facts import Origin
from ssd_detect.settings import CheckpointSettings
from tests.made_manifests import FACTS, forget, lines_of, own_home, toml_of

TOLD: dict[str, Any] = {**FACTS, "size": 300, "classes": "voc20", "anchors": "voc300", "source": "tensorflow"}


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    with own_home(tmp_path / "home", monkeypatch) as folder:
        yield folder


@pytest.fixture
def weights(home: Path, seeded_variables: dict[str, Any]) -> Path:
    save_file(seeded_variables, home / "mine.safetensors", {"anchors": "coco300", "resize": "antialias"})
    return home / "mine.safetensors"


def tell(home: Path, **more: Any) -> None:
    entry = {"file": "mine.safetensors", **TOLD, **more}
    (home / "own.toml").write_text(toml_of({"mine": entry}), encoding="utf-8")
    forget()


def load(given: object, **options: Any) -> Checkpoint:
    return load_checkpoint(CheckpointSettings(str(given), **options))


class TestByName:
    def test_users_own(self, home: Path, weights: Path) -> None:
        tell(home)
        checkpoint = load("mine", resize=ResizeRule.LEGACY)
        assert (checkpoint.name, checkpoint.assumed) == ("mine", ())
        assert (checkpoint.spec.anchors, checkpoint.spec.resize) == ("voc300", ResizeRule.LEGACY)
        assert checkpoint.colour_order is ColourOrder.BGR
        assert checkpoint.origins["resize"] is Origin.OPTION
        assert checkpoint.origins["anchors"] is Origin.USER_FILE

    def test_not_here(self, home: Path) -> None:
        with pytest.raises(CheckpointError, match=r"^ssd_300_vgg: .* is not here; type ssd-detect checkpoints pull"):
            load("ssd_300_vgg")
        tell(home)
        with pytest.raises(CheckpointError, match=r"mine\.safetensors is not here; put it to"):
            load("mine")

    @pytest.mark.parametrize("key", ["sha256", "git_blob"])
    def test_another_file_than_it_should_be(self, home: Path, weights: Path, key: str) -> None:
        right = {"sha256": sha256_of([weights]), "git_blob": git_blob_of(weights)}[key]
        tell(home, **{key: right})
        assert load("mine").name == load(weights).name == "mine"
        tell(home, **{key: "0" * len(right)})
        with pytest.raises(CheckpointError, match=r"mine\.safetensors: damaged: its .* is .*…, expected 000000000000…"):
            load("mine")


class TestByFile:
    def test_nothing_known(self, weights: Path) -> None:
        checkpoint = load(weights)
        assert (checkpoint.name, checkpoint.spec.resize) == ("mine.safetensors", ResizeRule.ANTIALIAS)
        assert checkpoint.origins["resize"] is Origin.METADATA
        assert checkpoint.origins["profile"] is Origin.HABIT

    def test_toml_beside_it_comes_before_its_metadata(self, weights: Path) -> None:
        told = {"size": 300, "anchors": "voc300", "anchor_clip": "wh"}
        weights.with_suffix(".toml").write_text(lines_of({**told, "classes": "voc20"}), encoding="utf-8")
        forget()
        checkpoint = load(weights)
        assert (checkpoint.spec.anchors, checkpoint.spec.anchor_clip) == ("voc300", AnchorClip.SIZE)
        assert checkpoint.spec.resize is ResizeRule.ANTIALIAS
        assert checkpoint.origins["anchors"] is Origin.USER_FILE
        assert checkpoint.origins["resize"] is Origin.METADATA

    def test_what_it_tells_comes_before_what_its_name_does(self, home: Path, seeded_variables: dict[str, Any]) -> None:
        """As after a conversion of the Caffe release's file of this name."""
        path = home / "VGG_VOC0712_SSD_300x300_iter_120000.ckpt"  # known as balancap's, by its name alone
        save_file(seeded_variables, path)
        assert (load(path).origins["resize"], load(path).spec.resize) == (Origin.MANIFEST, ResizeRule.LEGACY)
        save_file(seeded_variables, path, {"resize": "opencv", "profile": "caffe", "anchor_rounding": "int"})
        checkpoint = load(path)
        assert (checkpoint.origins["resize"], checkpoint.spec.resize) == (Origin.METADATA, ResizeRule.OPENCV)
        assert checkpoint.spec.profile is Profile.CAFFE

    def test_damaged_toml_beside_it(self, weights: Path) -> None:
        weights.with_suffix(".toml").write_text("size = 300\nanchor = 'voc300'\n", encoding="utf-8")
        with pytest.raises(CheckpointError, match=r"mine\.toml: line 2: unknown key 'anchor'; did you mean anchors\?"):
            load(weights)
