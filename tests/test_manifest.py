"""Lists of checkpoints: the one that ships, the user's own, and facts beside a file."""

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from enum import Enum
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from ssd_detect.boxes.anchors import ANCHOR_PRESETS
from ssd_detect.classes import BACKGROUND, CLASS_LISTS, COCO80, COCO91, VOC20
from ssd_detect.conventions import AnchorClip, AnchorRounding, ColourOrder, Profile, ResizeRule, Source
from ssd_detect.environment import checkpoint_cache, settings_folder
from ssd_detect.errors import CheckpointError
from ssd_detect.hashing import git_blob_of, sha256_of
from ssd_detect.model.manifest import (
    DEFAULT_CHECKPOINT,
    ManifestEntry,
    checkpoints_folder,
    entry_of,
    facts_of,
    manifest,
    manifest_faults,
    namesake_of,
)
from ssd_detect.model.manifest_entry import FACTS as FACT_NAMES
from ssd_detect.model.manifest_file import MOST_BYTES, Place, entries_of, facts_beside
from ssd_detect.model.manifest_rules import METRICS
from ssd_detect.model.spec import SIZES, ModelSpec
from tests.made_manifests import ENTRY, FACTS, add_entries, forget, lines_of, own_home, toml_of

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

SCHEMA = json.loads((checkpoints_folder() / "manifest.schema.json").read_text(encoding="utf-8"))
BESIDE = {"$schema": SCHEMA["$schema"], "$defs": SCHEMA["$defs"], "$ref": "#/$defs/beside"}
SCORE = {"map": 0.5, "metric": "voc07", "on": "VOC2007 test", "where": "a README"}


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    with own_home(tmp_path / "home", monkeypatch) as folder:
        yield folder


def read(tmp_path: Path, text: str) -> dict[str, ManifestEntry]:
    path = tmp_path / "list.toml"
    path.write_text(text, encoding="utf-8")
    return entries_of(Place(path, tmp_path / "cache", is_users=True))


def is_valid(content: Any, schema: Any = SCHEMA) -> bool:
    return jsonschema.Draft202012Validator(schema).is_valid(content)


class TestShipped:
    def test_fits_the_schema(self) -> None:
        jsonschema.Draft202012Validator.check_schema(SCHEMA)
        content = tomllib.loads((checkpoints_folder() / "manifest.toml").read_text(encoding="utf-8"))
        jsonschema.validate(content, SCHEMA)

    @pytest.mark.parametrize("entry", manifest().values(), ids=manifest())
    def test_every_entry_tells_all(self, entry: ManifestEntry) -> None:
        assert entry.told == FACT_NAMES
        assert all((entry.origin, entry.training_data, entry.licence))
        assert ANCHOR_PRESETS[entry.spec.anchors].side == entry.spec.size
        assert entry.name == DEFAULT_CHECKPOINT or bool(entry.urls) != bool(entry.by_hand)
        assert all(url.startswith("https://") for url in entry.urls)

    @pytest.mark.parametrize(
        ("source", "spec", "colour_order"),
        [
            (Source.CAFFE, ("int", "none", "opencv", "caffe"), ColourOrder.BGR),
            (Source.SSD_PYTORCH, ("float", "cxcywh", "opencv", "ssd.pytorch"), ColourOrder.RGB),
            (Source.TORCHVISION, ("float", "wh", "half_pixel", "torchvision"), ColourOrder.RGB),
            (Source.KERAS, ("float", "none", "opencv", "keras"), ColourOrder.BGR),
        ],
    )
    def test_conventions_of_each_port(self, source: Source, spec: tuple[str, ...], colour_order: ColourOrder) -> None:
        entries = [e for e in manifest().values() if e.source is source and e.name != "ssd_300_VOC0712"]
        assert entries
        for entry in entries:
            found = (entry.spec.anchor_rounding, entry.spec.anchor_clip, entry.spec.resize, entry.spec.profile)
            assert tuple(fact.value for fact in found) == spec
            assert entry.colour_order is colour_order

    def test_what_ssd_pytorch_took_from_caffe_is_bgr(self) -> None:
        entry = manifest()["ssd_300_VOC0712"]
        assert (entry.source, entry.colour_order) == (Source.SSD_PYTORCH, ColourOrder.BGR)

    @pytest.mark.parametrize(
        ("name", "anchors", "classes", "mean_ap"),
        [
            ("ssd_300_vgg", "coco300", VOC20, None),
            ("VGG_VOC0712_SSD_300x300_iter_120000", "voc300", VOC20, 0.778),
            ("VGG_VOC0712_SSD_300x300_ft_iter_120000", "coco300", VOC20, 0.817),
            ("VGG_VOC0712_SSD_512x512_ft_iter_120000", "coco512", VOC20, 0.837),
            ("ssd300_vgg16_coco", "coco300", COCO91, 0.251),
            ("ssd300_mAP_77.43_v2", "voc300", VOC20, 0.7743),
            ("VGG_VOC0712_SSD_512x512_iter_120000.caffemodel", "voc512", VOC20, 0.798),
            ("VGG_coco_SSD_512x512_iter_360000.caffemodel", "coco512", COCO80, None),
            ("VGG_coco_SSD_300x300_iter_400000.h5", "coco300", COCO80, 0.247),
        ],
    )
    def test_anchors_follow_the_training_data(
        self, name: str, anchors: str, classes: tuple[str, ...], mean_ap: float | None
    ) -> None:
        entry = manifest()[name]
        assert (entry.spec.anchors, entry.spec.class_names) == (anchors, classes)
        assert (entry.published and entry.published.mean_ap) == mean_ap

    def test_what_can_be_checked(self) -> None:
        assert manifest()["ssd_300_vgg"].git_blob == "1650a2ddbcb51351af4ad70ffe7a879301f5fdfe"
        torchvision = manifest()["ssd300_vgg16_coco"]
        assert torchvision.sha256 == "b556d3b43ab6c3f63d81bfb8835fe8756ac22da664357da100dccf96b6a6b42d"
        assert torchvision.spec.mean_rgb == (122.99925, 116.9991, 103.9992)
        assert not manifest()["ssd300_mAP_77.43_v2"].is_verifiable

    def test_reads_without_numpy(self) -> None:
        code = (
            "import sys; from ssd_detect.model.manifest import manifest; manifest();"
            "print([m for m in ('numpy', 'tensorflow', 'requests', 'rich') if m in sys.modules])"
        )
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        assert done.stdout.strip() == "[]"


def test_schema_and_code_know_the_same_words() -> None:
    properties = SCHEMA["$defs"]["entry"]["properties"]
    kinds: dict[str, type[Enum]] = {
        "source": Source,
        "anchor_rounding": AnchorRounding,
        "anchor_clip": AnchorClip,
        "resize": ResizeRule,
        "colour_order": ColourOrder,
        "profile": Profile,
    }
    for name, kind in kinds.items():
        assert properties[name]["enum"] == [member.value for member in kind]
    assert properties["size"]["enum"] == list(SIZES)
    assert set(properties["anchors"]["enum"]) == set(ANCHOR_PRESETS)
    assert properties["classes"]["anyOf"][0]["enum"] == list(CLASS_LISTS)
    assert SCHEMA["$defs"]["score"]["properties"]["metric"]["enum"] == list(METRICS)


class TestRules:
    """The schema and the program agree on each."""

    @pytest.mark.parametrize(
        "changes",
        [
            {},
            {"classes": ["apple", "pear"]},
            {"mean_rgb": [0, 127.5, 255]},
            {"url": "https://example.org/x"},
            {"url": ["https://example.org/x", "http://example.org/y"]},
            {"by_hand": "ask Ann", "sha256": "0" * 64, "git_blob": "f" * 40},
            {"file": "folder/x.caffemodel"},
            {"published": SCORE, "measured": {"map": 1, "metric": "coco", "on": "x"}},
            {"origin": "o", "training_data": "t", "licence": "l", "note": "n"},
        ],
    )
    def test_good(self, changes: dict[str, Any], tmp_path: Path) -> None:
        content = {"checkpoints": {"made": {**ENTRY, **changes}}}
        assert is_valid(content)
        assert list(read(tmp_path, toml_of(content["checkpoints"]))) == ["made"]

    @pytest.mark.parametrize(
        ("changes", "words"),
        [
            ({"file": ""}, "file is '', expected a text"),
            ({"file": 3}, "file is 3, expected a text"),
            ({"file": "../x", "url": "https://example.org/x"}, "file is '../x', expected a name without folders"),
            ({"file": "..", "url": "https://example.org/x"}, "file is '..', expected a name without folders"),
            ({"file": "a\\b", "url": "https://example.org/x"}, "file is 'a\\\\b', expected a name without folders"),
            ({"source": "darknet"}, "expected one of tensorflow, caffe, ssd.pytorch, torchvision, keras"),
            ({"size": 400}, "size is 400, expected 300 or 512"),
            ({"size": True}, "size is True, expected 300 or 512"),
            ({"classes": ["a", "b", "b"]}, "classes holds 'b' twice, expected each name once"),
            ({"licence": ["x" * 1000]}, f"licence is ['{'x' * 198}…, expected a text"),
            ({"size": 300}, "anchors is 'coco512', expected voc300 or coco300, as size is 300"),
            ({"classes": "voc"}, "classes is 'voc', expected voc20, coco80, coco91, or names without the background"),
            ({"classes": []}, "classes is []"),
            ({"classes": 20}, "classes is 20"),
            ({"classes": {"a": 1, "b": 2}}, "classes is {'a': 1, 'b': 2}"),
            ({"anchors": "big"}, "anchors is 'big', expected voc512 or coco512"),
            ({"anchor_rounding": "down"}, "expected one of float, int"),
            ({"anchor_clip": True}, "expected one of none, wh, cxcywh"),
            ({"resize": "nearest"}, "expected one of legacy, half_pixel, opencv, antialias"),
            ({"colour_order": "BGR"}, "expected one of rgb, bgr"),
            ({"mean_rgb": [1, 2]}, "mean_rgb is [1, 2], expected three numbers from 0 to 255"),
            ({"mean_rgb": [1, 2, 256]}, "expected three numbers"),
            ({"mean_rgb": [1, 2, "3"]}, "expected three numbers"),
            ({"mean_rgb": 3}, "expected three numbers"),
            ({"profile": "fast"}, "profile is 'fast'"),
            ({"url": "ftp://example.org/x"}, "expected an http:// or https:// address"),
            ({"url": []}, "url is []"),
            ({"sha256": "F" * 64}, "expected 64 digits 0-9 and a-f"),
            ({"git_blob": "f" * 41}, "expected 40 digits 0-9 and a-f"),
            ({"published": "good"}, "published is 'good', expected a table with map, metric, on and where"),
            ({"published": {**SCORE, "map": 77.2}}, "map is 77.2, expected a number from 0 to 1"),
            ({"published": {**SCORE, "metrik": 1}}, "unknown key 'metrik'; did you mean metric?"),
            ({"published": {"map": 1, "on": "x"}}, "metric is missing"),
            ({"anchor_cilp": "wh"}, "unknown key 'anchor_cilp'; did you mean anchor_clip?"),
            ({"zzz": 1}, "unknown key 'zzz'; expected source, size, "),
        ],
    )
    def test_bad(self, changes: dict[str, Any], words: str, tmp_path: Path) -> None:
        content = {"checkpoints": {"other": ENTRY, "made": {**ENTRY, **changes}}}
        assert not is_valid(content)
        text = toml_of(content["checkpoints"])
        with pytest.raises(CheckpointError) as caught:
            read(tmp_path, text)
        message = str(caught.value)
        assert message.startswith(f"{tmp_path / 'list.toml'}: line ")
        assert words in message
        line = int(message.split("line ")[1].split(":")[0])
        assert line > text[: text.index("made")].count("\n"), "the line of another entry"

    @pytest.mark.parametrize(
        ("change", "words"),
        [
            ({"size": 512.0}, "size is 512.0, expected 300 or 512"),
            ({"file": "\0"}, "file is '\\x00', expected a text without NUL"),
            ({"file": "\0", "url": "https://example.org/x"}, "file is '\\x00', expected a text without NUL"),
        ],
    )
    def test_what_a_schema_cannot_say(self, change: dict[str, Any], words: str, tmp_path: Path) -> None:
        with pytest.raises(CheckpointError) as caught:
            read(tmp_path, toml_of({"made": {**ENTRY, **change}}))
        assert words in str(caught.value)

    @pytest.mark.parametrize("missing", ENTRY)
    def test_missing(self, missing: str, tmp_path: Path) -> None:
        content = {"checkpoints": {"made": {k: v for k, v in ENTRY.items() if k != missing}}}
        assert not is_valid(content)
        with pytest.raises(CheckpointError, match=rf"list.toml: line 1: made: {missing} is missing, expected "):
            read(tmp_path, toml_of(content["checkpoints"]))

    @pytest.mark.parametrize(
        ("text", "words"),
        [
            ("", "checkpoints is missing, expected tables"),
            ("checkpoints = 3", "line 1: checkpoints is 3"),
            ("[checkpoints]\nx = 3", "line 2: x is 3, expected a table [checkpoints.x]"),
            ("[checkpoint.x]\nsize = 3", "line 1: unknown key 'checkpoint'; did you mean checkpoints?"),
            ("[checkpoints.x\n", "is no TOML: "),
            ("a = 1\na = 2", "is no TOML: "),
            ("a = " + "[" * 20_000, "is no TOML: "),
            ("a = " + "1" * 5_000, "is no TOML: "),
        ],
    )
    def test_no_list_at_all(self, text: str, words: str, tmp_path: Path) -> None:
        with pytest.raises(CheckpointError) as caught:
            read(tmp_path, text)
        assert words in str(caught.value)
        assert "\n" not in str(caught.value)

    def test_exact_line(self, tmp_path: Path) -> None:
        text = "# mine\n\n[checkpoints.a]\n" + lines_of(ENTRY) + "\n  [ checkpoints.'b' ]\nfile = 'b'\nsiez = 300\n"
        with pytest.raises(CheckpointError, match=rf"line {len(text.splitlines())}: unknown key 'siez'"):
            read(tmp_path, text)

    def test_no_text(self, tmp_path: Path) -> None:
        (tmp_path / "x.toml").write_bytes(b"\xff\xfe")
        with pytest.raises(CheckpointError, match=r"x.toml: is no TOML: 'utf-8' codec"):
            entries_of(Place(tmp_path / "x.toml", tmp_path, is_users=True))
        with pytest.raises(CheckpointError, match=r"gone.toml: cannot be read: No such file"):
            entries_of(Place(tmp_path / "gone.toml", tmp_path, is_users=True))


class TestUsers:
    def test_no_folder(self, home: Path) -> None:
        home.rmdir()
        forget()
        assert DEFAULT_CHECKPOINT in manifest()
        assert manifest_faults() == ()

    def test_platform_folders(self, monkeypatch: pytest.MonkeyPatch) -> None:
        for unset in ("", None):
            monkeypatch.delenv("SSD_DETECT_HOME", raising=False)
            if unset is not None:
                monkeypatch.setenv("SSD_DETECT_HOME", unset)
            assert settings_folder().is_absolute()
            assert settings_folder().name == "ssd-detect"
            assert checkpoint_cache().parts[-2:] == ("ssd-detect", "checkpoints")

    def test_own_home(self, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        assert (settings_folder(), checkpoint_cache()) == (home, home / "checkpoints")
        monkeypatch.chdir(home.parent)
        monkeypatch.setenv("SSD_DETECT_HOME", "home")
        assert settings_folder() == home

    def test_a_file_beside_its_list(self, home: Path) -> None:
        add_entries(home, {"mine": {**ENTRY, "file": "weights/mine.caffemodel", "classes": ["apple"]}})
        entry = manifest()["mine"]
        assert (entry.path(), entry.whereabouts()) == (None, "not here")
        assert entry.how_to_get == f"put it to {home / 'weights/mine.caffemodel'}, or correct {home / 'made.toml'}"
        (home / "weights").mkdir()
        (home / "weights" / "mine.caffemodel").write_bytes(b"x")
        assert (entry.path(), entry.whereabouts()) == (home / "weights" / "mine.caffemodel", "yours")
        assert entry.spec == ModelSpec(
            512, (BACKGROUND, "apple"), "coco512", ResizeRule.OPENCV, (123.0, 117.0, 104.0),
            AnchorRounding.INT, AnchorClip.NONE, Profile.CAFFE,
        )  # fmt: skip
        assert (entry.source, entry.colour_order) == (Source.CAFFE, ColourOrder.BGR)

    def test_a_prefix(self, home: Path) -> None:
        add_entries(home, {"mine": {**ENTRY, "file": "my.ckpt"}})
        assert manifest()["mine"].path() is None
        (home / "my.ckpt.index").write_bytes(b"x")
        assert manifest()["mine"].path() == home / "my.ckpt"

    def test_a_file_to_fetch(self, home: Path) -> None:
        add_entries(home, {"mine": {**ENTRY, "url": "https://example.org/x"}})
        entry = manifest()["mine"]
        assert entry.how_to_get == "type ssd-detect checkpoints pull mine"
        assert entry.path() is None
        assert entry.cached == home / "checkpoints" / "made.caffemodel"
        entry.cached.parent.mkdir()
        entry.cached.write_bytes(b"x")
        assert (entry.path(), entry.whereabouts()) == (entry.cached, "cached")
        (home / "made.caffemodel").write_bytes(b"x")
        assert (entry.path(), entry.whereabouts()) == (home / "made.caffemodel", "yours")

    def test_by_hand(self, home: Path) -> None:
        assert manifest()["VGG_coco_SSD_512x512_iter_360000.caffemodel"].how_to_get == (
            "get VGG_coco_SSD_512x512_iter_360000.caffemodel by hand from "
            "https://drive.google.com/open?id=0BzKzrI_SkD1_dlJpZHJzOXd3MTg, then type ssd-detect checkpoints pull "
            "VGG_coco_SSD_512x512_iter_360000.caffemodel --from FILE"
        )

    def test_the_users_wins(self, home: Path) -> None:
        add_entries(home, {"ssd_300_vgg": ENTRY, "mine": ENTRY})
        assert manifest()["ssd_300_vgg"].spec.size == 512
        assert {n for n, entry in manifest().items() if entry.replaces_shipped} == {"ssd_300_vgg"}

    def test_twice_in_the_users_own(self, home: Path) -> None:
        add_entries(home, {"mine": ENTRY}, "a.toml")
        add_entries(home, {"mine": {**ENTRY, "note": "b"}, "too": ENTRY}, "b.toml")
        assert manifest()["mine"].note == ""
        assert "too" in manifest()
        assert manifest_faults() == (f"{home / 'b.toml'}: mine is in {home / 'a.toml'} already, which counts",)

    def test_a_home_that_is_a_file(self, home: Path) -> None:
        home.rmdir()
        home.write_text("")
        forget()
        assert DEFAULT_CHECKPOINT in manifest()
        words = "is a file, expected the folder of your lists (SSD_DETECT_HOME)"
        assert manifest_faults() == (f"{home}: {words}",)

    def test_damage_leaves_the_others(self, home: Path) -> None:
        (home / "bad.toml").write_text("[checkpoints.x]\nsiez = 300\n")
        add_entries(home, {"mine": ENTRY})
        assert {"mine", DEFAULT_CHECKPOINT} <= set(manifest())
        assert manifest_faults() == (f"{home / 'bad.toml'}: line 2: unknown key 'siez'; did you mean size?",)

    @pytest.mark.skipif(sys.platform == "win32", reason="no such pipes there")
    def test_what_is_no_file_or_endless_is_left_out(self, home: Path) -> None:
        os.mkfifo(home / "a.toml")
        (home / "b.toml").symlink_to("/dev/zero")
        (home / "c.toml").write_text("\n" * (MOST_BYTES + 1))
        (home / "d.toml").mkdir()
        (home / "e.toml").write_text("x = " + "[" * 5000)
        add_entries(home, {"mine": ENTRY}, "f.toml")
        assert {"mine", DEFAULT_CHECKPOINT} <= set(manifest())
        words = ("is a pipe, ", "is a device, ", "is larger than 1,048,576 bytes", "is a folder, ", "is no TOML: ")
        for name, said, fault in zip("abcde", words, manifest_faults(), strict=True):
            assert fault.startswith(f"{home / name}.toml: {said}")

    def test_a_list_of_a_mebibyte(self, home: Path) -> None:
        text = toml_of({"mine": ENTRY})
        (home / "a.toml").write_text(text + "#" * (MOST_BYTES - len(text)))
        forget()
        assert ("mine" in manifest(), manifest_faults()) == (True, ())


class TestFacts:
    def test_nothing_known(self, home: Path) -> None:
        (home / "x.pth").write_bytes(b"x")
        assert facts_of(home / "x.pth", "0" * 64) is None
        assert facts_beside(home / "x.pth") is None

    def test_by_hash_under_any_name(self, home: Path, tmp_path: Path) -> None:
        shipped = manifest()[DEFAULT_CHECKPOINT]
        assert facts_of(tmp_path / "renamed", str(shipped.sha256)) is shipped

    def test_the_users_hash_comes_first(self, home: Path, tmp_path: Path) -> None:
        shipped = manifest()[DEFAULT_CHECKPOINT]
        add_entries(home, {"mine": {**ENTRY, "sha256": shipped.sha256}})
        found = facts_of(tmp_path / "renamed", str(shipped.sha256))
        assert found is not None
        assert found.name == "mine"

    def test_by_git_blob(self, home: Path, tmp_path: Path) -> None:
        content = b"what is up, doc?"
        blob = "bd9dbf5aae1a3862dd1526723246b20206e5fc37"  # of Pro Git, 10.2
        (tmp_path / "any.zip").write_bytes(content)
        assert git_blob_of(tmp_path / "any.zip") == blob
        assert facts_of(tmp_path / "any.zip", "0" * 64) is None
        add_entries(home, {"mine": {**ENTRY, "file": "mine.zip", "git_blob": blob}})
        assert entry_of(tmp_path / "any.zip", "0" * 64) is manifest()["mine"]
        (tmp_path / "any.zip").write_bytes(content + b"!")
        assert facts_of(tmp_path / "any.zip", "0" * 64) is None

    @pytest.mark.parametrize(
        ("name", "known"),
        [
            ("VGG_VOC0712_SSD_300x300_iter_120000.ckpt.zip", "VGG_VOC0712_SSD_300x300_iter_120000"),
            ("VGG_VOC0712_SSD_300x300_iter_120000.ckpt", "VGG_VOC0712_SSD_300x300_iter_120000"),
            ("VGG_VOC0712_SSD_300x300_iter_120000.h5", "VGG_VOC0712_SSD_300x300_iter_120000.h5"),
            ("ssd300_mAP_77.43_v2.pth", "ssd300_mAP_77.43_v2"),
            ("ssd_300_vgg.ckpt", None),  # every training has that name, and the published file is known by its hash
            ("ssd300_vgg16_coco-b556d3b4.pth", None),
        ],
    )
    def test_by_name_only_without_a_hash(self, name: str, known: str | None, home: Path, tmp_path: Path) -> None:
        found = namesake_of(tmp_path / name)
        assert (found and found.name) == known
        assert facts_of(tmp_path / name, "0" * 64) is None

    def test_a_list_of_the_user_tells_of_its_own_file_only(self, home: Path, tmp_path: Path) -> None:
        add_entries(home, {"made": {**ENTRY, "file": str(tmp_path / "here" / "w.caffemodel")}})
        for folder in ("here", "there"):
            (tmp_path / folder).mkdir()
            (tmp_path / folder / "w.caffemodel").write_bytes(b"x")
        found = [namesake_of(tmp_path / folder / "w.caffemodel") for folder in ("here", "there")]
        assert [entry and entry.name for entry in found] == ["made", None]

    def test_beside_the_folder_that_we_are_in(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        (tmp_path / "model").mkdir()
        monkeypatch.chdir(tmp_path / "model")
        assert facts_beside(Path()) is None
        assert facts_beside(Path("/")) is None
        (tmp_path / "model.toml").write_text(lines_of(FACTS), encoding="utf-8")
        found = facts_beside(Path())
        assert found is not None
        assert found.described_in == tmp_path / "model.toml"

    @pytest.mark.parametrize("beside", ["x.caffemodel.toml", "x.toml"])
    def test_beside(self, beside: str, home: Path, tmp_path: Path) -> None:
        path = tmp_path / "x.caffemodel"
        path.write_bytes(b"x")
        (tmp_path / beside).write_text(lines_of(FACTS), encoding="utf-8")
        assert is_valid(dict(FACTS), BESIDE)
        found = facts_of(path, sha256_of([path]))
        assert found is not None
        assert (found.path(), found.described_in, found.told) == (path, tmp_path / beside, FACT_NAMES)
        assert (found.spec.anchors, found.source) == ("coco512", Source.CAFFE)

    def test_beside_comes_before_the_hash(self, home: Path, tmp_path: Path) -> None:
        shipped = manifest()[DEFAULT_CHECKPOINT]
        few = {"anchors": "voc300"}
        assert is_valid(few, BESIDE)
        (tmp_path / "x.toml").write_text(lines_of(few), encoding="utf-8")
        found = facts_of(tmp_path / "x.safetensors", str(shipped.sha256))
        assert found is not None
        assert (found.spec.anchors, found.told) == ("voc300", frozenset({"anchors"}))

    def test_nothing_told_beside(self, home: Path, tmp_path: Path) -> None:
        assert is_valid({}, BESIDE)
        (tmp_path / "x.toml").write_text("# nothing yet\n", encoding="utf-8")
        found = facts_of(tmp_path / "x.safetensors", "0" * 64)
        assert found is not None
        assert found.told == frozenset()

    @pytest.mark.parametrize(
        ("text", "words"),
        [
            ("anchors = 'voc400'", "line 1: anchors is 'voc400', expected voc300 or coco300 or voc512 or coco512"),
            ("size = 300\nclasses = 'voc20'\nanchor = 'voc300'", "line 3: unknown key 'anchor'; did you mean anchors?"),
            ("size = 300\nclasses = 'voc20'\nanchors = 'voc512'", "line 3: anchors is 'voc512', expected voc300 or"),
            (toml_of({"x": ENTRY}), "unknown key 'checkpoints'"),
        ],
    )
    def test_damage_beside_is_an_error(self, text: str, words: str, home: Path, tmp_path: Path) -> None:
        (tmp_path / "x.toml").write_text(text, encoding="utf-8")
        with pytest.raises(CheckpointError) as caught:
            facts_of(tmp_path / "x.pth", "0" * 64)
        assert str(caught.value).startswith(f"{tmp_path / 'x.toml'}: line ")
        assert words in str(caught.value)

    @pytest.mark.skipif(sys.platform == "win32", reason="no such pipes there")
    @pytest.mark.parametrize(
        ("made", "words"),
        [
            (lambda path: os.mkfifo(path), "is a pipe, expected a TOML file"),
            (lambda path: path.symlink_to("/dev/zero"), "is a device, expected a TOML file"),
            (lambda path: path.symlink_to("gone"), "cannot be read: No such file"),
            (lambda path: path.mkdir(), "is a folder, expected a TOML file"),
            (lambda path: path.write_text("#" * (MOST_BYTES + 1)), "is larger than 1,048,576 bytes"),
            (lambda path: path.write_text("x = " + "[" * 5000), "is no TOML: "),
        ],
    )
    def test_what_is_no_text_beside(
        self, made: Callable[[Path], object], words: str, home: Path, tmp_path: Path
    ) -> None:
        made(tmp_path / "x.toml")
        with pytest.raises(CheckpointError) as caught:
            facts_of(tmp_path / "x.pth", "0" * 64)
        assert str(caught.value).startswith(f"{tmp_path / 'x.toml'}: {words}")


def test_hashes_of_several_files(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"ab")
    (tmp_path / "b").write_bytes(b"c")
    assert sha256_of([tmp_path / "a", tmp_path / "b"]) == hashlib.sha256(b"abc").hexdigest()
    for hashes in (lambda p: sha256_of([p]), git_blob_of):
        with pytest.raises(CheckpointError, match="cannot read the checkpoint: No such file"):
            hashes(tmp_path / "gone")
