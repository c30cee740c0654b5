"""What is taken for granted about weights, who is believed, and what is called unsure."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ssd_detect.classes import COCO80, COCO91, VOC20
from ssd_detect.conventions import AnchorClip, AnchorRounding, ColourOrder, Profile, ResizeRule, Source
from ssd_detect.errors import CheckpointError, SettingError
from ssd_detect.model.facts import Facts, Origin, Weights, gather
from ssd_detect.model.foreign import foreign_network
from ssd_detect.model.habits import habits_of
from ssd_detect.model.manifest import ManifestEntry
from ssd_detect.model.spec import ModelSpec
from ssd_detect.settings import CheckpointSettings

COLOURS = "colour order rgb"
FLOAT, INT = AnchorRounding.FLOAT, AnchorRounding.INT
RGB, BGR = ColourOrder.RGB, ColourOrder.BGR


def told(
    weights: Weights, entry: ManifestEntry | None = None, metadata: dict[str, str] | None = None, **options: Any
) -> Facts:
    return gather(CheckpointSettings("m", **options), weights, entry, metadata or {})


def weights(source: Source = Source.TENSORFLOW, size: int = 300, num_classes: int = 21) -> Weights:
    return Weights("m", source, size, num_classes)


class TestHabits:
    @pytest.mark.parametrize(
        ("source", "size", "count", "anchors", "rounding", "clip", "resize", "order", "profile", "assumed"),
        [
            (Source.TENSORFLOW, 300, 21, "coco300", FLOAT, "none", "legacy", RGB, "tutorial", ["anchors coco300"]),
            (Source.TENSORFLOW, 512, 81, "coco512", FLOAT, "none", "legacy", RGB, "tutorial", ["anchors coco512"]),
            (Source.CAFFE, 300, 81, "coco300", INT, "none", "opencv", BGR, "caffe", []),
            (Source.CAFFE, 512, 21, "voc512", INT, "none", "opencv", BGR, "caffe", ["anchors voc512"]),
            (Source.KERAS, 300, 21, "voc300", FLOAT, "none", "opencv", BGR, "keras", ["anchors voc300"]),
            (Source.KERAS, 512, 81, "coco512", FLOAT, "none", "opencv", BGR, "keras", []),
            (Source.SSD_PYTORCH, 300, 21, "voc300", FLOAT, "cxcywh", "opencv", RGB, "ssd.pytorch", [COLOURS]),
            (Source.SSD_PYTORCH, 300, 81, "coco300", FLOAT, "cxcywh", "opencv", RGB, "ssd.pytorch", [COLOURS]),
            (Source.TORCHVISION, 300, 91, "coco300", FLOAT, "wh", "half_pixel", RGB, "torchvision", []),
        ],
    )  # fmt: skip
    def test_of_each_source(
        self, source: Source, size: int, count: int, anchors: str, rounding: AnchorRounding, clip: str, resize: str,
        order: ColourOrder, profile: str, assumed: list[str],
    ) -> None:  # fmt: skip
        facts = told(weights(source, size, count))
        spec = facts.spec
        assert (spec.size, spec.anchors, spec.anchor_rounding) == (size, anchors, rounding)
        assert (spec.anchor_clip, spec.resize, spec.profile) == (AnchorClip(clip), ResizeRule(resize), Profile(profile))
        assert facts.colour_order is order
        assert spec.class_names == {21: VOC20, 81: COCO80, 91: COCO91}[count]
        assert [words.partition(" (--")[0] for words in facts.assumed] == assumed

    def test_means(self) -> None:
        """As in the code of the five programs; torchvision's is a share of white."""
        assert told(weights(Source.CAFFE)).spec.mean_rgb == (123.0, 117.0, 104.0)
        mean = told(weights(Source.TORCHVISION, num_classes=91)).spec.mean_rgb
        assert mean == pytest.approx([255 * v for v in (0.48235, 0.45882, 0.40784)], abs=1e-9)

    @pytest.mark.parametrize("source", Source)
    def test_classes_of_ones_own(self, source: Source) -> None:
        facts = told(weights(source, num_classes=5))
        assert facts.spec.class_names == ("background", "class 1", "class 2", "class 3", "class 4")
        assert "class names class 1, class 2, … (--classes-file)" in facts.assumed

    @pytest.mark.parametrize("source", Source)
    def test_every_fact_has_a_habit(self, source: Source) -> None:
        fields = set(ModelSpec.__dataclass_fields__) - {"size"} | {"colour_order"}
        assert set(habits_of(source, 300, 21).facts) == fields
        assert set(told(weights(source)).origins) == fields


ENTRY = ManifestEntry(
    "m",
    Path("m"),
    None,
    ModelSpec(300, VOC20, "voc300", ResizeRule.OPENCV, (1, 2, 3), INT, AnchorClip.SIZE, Profile.KERAS),
    colour_order=BGR,
)


class TestPrecedence:
    def test_manifest_tells_all(self) -> None:
        facts = told(weights(), ENTRY, {"anchors": "coco300"})
        assert (facts.spec, facts.colour_order, facts.assumed) == (ENTRY.spec, BGR, ())
        assert set(facts.origins.values()) == {Origin.MANIFEST}

    def test_users_file_tells_a_part(self) -> None:
        entry = replace(ENTRY, described_in=Path("m.toml"), told=frozenset({"size", "resize", "source"}))
        facts = told(weights(), entry, {"mean_rgb": "9,9,9", "resize": "antialias"})
        assert (facts.spec.resize, facts.spec.mean_rgb) == (ResizeRule.OPENCV, (9.0, 9.0, 9.0))
        assert (facts.spec.anchors, facts.colour_order) == ("coco300", RGB)
        assert facts.assumed == ("anchors coco300 (--anchors)",)
        origins = {"resize": Origin.USER_FILE, "mean_rgb": Origin.METADATA, "anchors": Origin.ASSUMED}
        assert {fact: facts.origins[fact] for fact in origins} == origins
        assert facts.origins["profile"] is Origin.HABIT

    @pytest.mark.parametrize(
        ("option", "value"),
        [
            ("anchors", "coco300"),
            ("anchor_rounding", FLOAT),
            ("anchor_clip", AnchorClip.CENTRE_AND_SIZE),
            ("resize", ResizeRule.LEGACY),
            ("colour_order", RGB),
            ("class_names", ("background", *(f"thing {i}" for i in range(20)))),
        ],
    )
    def test_option_beats_all(self, option: str, value: Any) -> None:
        facts = told(weights(), ENTRY, **{option: value})
        actual = facts.colour_order if option == "colour_order" else getattr(facts.spec, option)
        assert (actual, facts.origins[option]) == (value, Origin.OPTION)
        assert {origin for fact, origin in facts.origins.items() if fact != option} == {Origin.MANIFEST}

    def test_what_was_assumed_when_the_file_was_written_is_not_surer_now(self) -> None:
        facts = told(weights(), metadata={"anchors": "voc300", "resize": "opencv", "assumed": "anchors,colour_order,x"})
        assert facts.assumed == ("anchors voc300 (--anchors)", "colour order rgb (--colour-order)")
        assert (facts.origins["resize"], facts.spec.anchors) == (Origin.METADATA, "voc300")
        assert told(weights(), metadata={"anchors": "voc300", "assumed": "anchors"}, anchors="voc300").assumed == ()

    def test_option_settles_what_was_assumed(self) -> None:
        assert told(weights(Source.SSD_PYTORCH), colour_order=BGR).assumed == ()
        assert told(weights(), metadata={"anchors": "voc300"}).assumed == ()

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"anchors": "voc512"}, "anchor preset voc512 does not fit: the checkpoint m is an SSD300"),
            ({"anchors": "voc"}, "anchor preset is 'voc', expected one of voc300"),
            ({"class_names": COCO80}, r"has 20 classes \(without the background\), its list of class names has 80"),
        ],
    )
    def test_what_does_not_fit(self, options: dict[str, Any], message: str) -> None:
        with pytest.raises(SettingError, match=message):
            told(weights(), **options)

    def test_an_entry_about_other_weights(self) -> None:
        """Such as a file of ssd.pytorch, brought under the name of one of Caffe, whose colours are exchanged."""
        with pytest.raises(
            CheckpointError, match="the manifest tells of a checkpoint whose source is tensorflow, but the"
        ):
            told(weights(Source.SSD_PYTORCH), ENTRY)
        own = replace(ENTRY, described_in=Path("m.toml"), told=frozenset({"size"}))
        assert told(weights(Source.SSD_PYTORCH), own).spec.size == 300
        with pytest.raises(
            CheckpointError, match=r"m\.toml tells of a checkpoint whose size is 300, but the size of m is 512"
        ):
            told(weights(size=512), own)

    @pytest.mark.parametrize(
        ("spec", "told_facts", "message"),
        [
            (
                {"anchors": "voc512"},
                {"anchors"},
                "m.toml: anchors: anchor preset voc512 does not fit: the checkpoint m",
            ),
            ({"class_names": ("background", "a")}, {"class_names"}, "m.toml: classes: the checkpoint m has 20 classes"),
        ],
    )
    def test_an_entry_that_does_not_fit(self, spec: dict[str, Any], told_facts: set[str], message: str) -> None:
        """It is not the user's choice for this run: it names its file, and an option overrules it."""
        made = replace(ENTRY.spec, **spec)
        own = replace(ENTRY, spec=made, described_in=Path("m.toml"), told=frozenset(told_facts))
        with pytest.raises(CheckpointError, match=message):
            told(weights(), own)
        assert told(weights(), own, anchors="voc300", class_names=VOC20).spec.anchors == "voc300"


class TestForeignNetworks:
    @pytest.mark.parametrize(
        ("names", "words"),
        [
            (["vgg_16/conv1/conv1_1/weights", "vgg_16/fc8/weights"], "VGG16 for classification, not an SSD"),
            (["conv1_1/0", "fc6/0", "fc8/0", "fc8/1"], "VGG16 for classification"),
            (["features.0.weight", "classifier.6.weight"], "VGG16 for classification"),
            (["block1_conv1/kernel", "predictions/kernel"], "VGG16 for classification"),
            (["conv1_1/0", "fc6/0", "fc7/0"], "without SSD's own layers and heads"),
            (["conv1_1/0", "pool6_mbox_loc/0"], "an SSD of the first generation"),
            (["conv1_1/0", "conv11/dw/0", "conv17_2_mbox_conf/0"], "an SSD on MobileNet"),
            (["FeatureExtractor/MobilenetV1/Conv2d_0/weights"], "an SSD on MobileNet"),
            (["backbone.body.layer4.2.conv3.weight", "rpn.head.conv.weight"], "ResNet"),
            (["rpn_conv/3x3/0", "cls_score/0"], "a Faster R-CNN"),
        ],
    )
    def test_named(self, names: list[str], words: str) -> None:
        assert words in str(foreign_network(names))

    @pytest.mark.parametrize(
        "names",
        [
            [],
            ["own/conv/kernel"],
            ["ssd_300_vgg/conv7/weights", "ssd_300_vgg/block4_box/conv_cls/biases"],
            ["conv1_1/0", "fc7/0", "fc7_mbox_conf/1"],
            ["vgg.0.weight", "vgg.33.weight", "conf.0.bias"],
            ["backbone.features.0.weight", "head.classification_head.module_list.0.bias"],
        ],
    )
    def test_not_named(self, names: list[str]) -> None:
        assert foreign_network(names) is None
