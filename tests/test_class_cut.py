"""Class lists cut out of larger networks: which outputs stay, and what the smaller network computes."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import seeded
import tensorflow as tf

from ssd_detect.classes import CLASS_LISTS, COCO80, COCO91, VOC20
from ssd_detect.conventions import ResizeRule
from ssd_detect.errors import SettingError
from ssd_detect.model.class_cut import cut_classes
from ssd_detect.model.graph import build_graph
from ssd_detect.model.spec import ModelSpec, network, variable_shapes

# The Caffe release's coco_voc_map.txt: place = VOC label, value = COCO label, 1 to 80 (ssd-reference, section 7).
VOC_FROM_COCO = (0, 5, 2, 15, 9, 40, 6, 3, 16, 57, 20, 61, 17, 18, 4, 1, 59, 19, 58, 7, 63)
# COCO's own category ids of the labels 1 to 80 (ssd-reference, section 7).
MISSING_IDS = {12, 26, 29, 30, 45, 66, 68, 69, 71, 83}
CATEGORY_IDS = (0, *(i for i in range(1, 91) if i not in MISSING_IDS))


def spec_of(class_list: str, size: int = 300) -> ModelSpec:
    return ModelSpec(size, CLASS_LISTS[class_list], f"coco{size}", ResizeRule.HALF_PIXEL)


def numbered(size: int, num_classes: int) -> dict[str, Any]:
    """Head variables whose every value tells anchor and class: 1000 x anchor + class; others are empty."""
    variables = {}
    for name, shape in variable_shapes(size, num_classes).items():
        values = np.zeros((0,), np.float32)
        if "conv_cls" in name:
            outputs = np.arange(shape[-1])
            values = np.broadcast_to(outputs // num_classes * 1000 + outputs % num_classes, shape).astype(np.float32)
        variables[name] = values
    return variables


class TestCut:
    @pytest.mark.parametrize("size", [300, 512])
    @pytest.mark.parametrize(
        ("given", "wanted", "outputs"),
        [
            ("coco80", "voc20", VOC_FROM_COCO),
            ("coco91", "voc20", tuple(CATEGORY_IDS[i] for i in VOC_FROM_COCO)),
            ("coco91", "coco80", CATEGORY_IDS),
        ],
    )
    def test_rows_of_each_anchor(self, size: int, given: str, wanted: str, outputs: tuple[int, ...]) -> None:
        variables = numbered(size, len(CLASS_LISTS[given]))
        cut, spec = cut_classes(variables, spec_of(given, size), wanted)
        assert spec == spec_of(wanted, size)
        shapes = variable_shapes(size, len(CLASS_LISTS[wanted]))
        for head in network(size).heads:
            expected = np.add.outer(np.arange(head.anchors_per_cell) * 1000, outputs).reshape(-1)
            for part in ("weights", "biases"):
                name = f"{head.scope}/conv_cls/{part}"
                assert cut[name].shape == shapes[name]
                assert cut[name].dtype == np.float32
                np.testing.assert_array_equal(cut[name], np.broadcast_to(expected, shapes[name]))
        others = [name for name in variables if "conv_cls" not in name]
        assert all(cut[name] is variables[name] for name in others)
        assert list(cut) == list(variables)

    @pytest.mark.parametrize("class_list", CLASS_LISTS)
    def test_its_own_list_changes_nothing(self, class_list: str) -> None:
        variables, spec = numbered(300, len(CLASS_LISTS[class_list])), spec_of(class_list)
        assert cut_classes(variables, spec, class_list) == (variables, spec)

    @pytest.mark.parametrize(
        ("given", "wanted", "words"),
        [
            (VOC20, "coco80", r"class list coco80 cannot be cut out of class list voc20: unknown class 'truck'"),
            (COCO80, "coco91", r"class list coco91 cannot be cut out of class list coco80: unknown class 'unused 12'"),
            (("background", "cat"), "voc20", r"class list voc20 cannot be cut out of the checkpoint's own 1 classes"),
        ],
    )
    def test_impossible_cut(self, given: tuple[str, ...], wanted: str, words: str) -> None:
        spec = replace(spec_of("voc20"), class_names=given)
        with pytest.raises(SettingError, match=words):
            cut_classes(numbered(300, len(given)), spec, wanted)

    def test_unknown_list(self) -> None:
        with pytest.raises(SettingError, match=r"class list is 'voc', expected one of voc20, coco80, coco91"):
            cut_classes({}, spec_of("voc20"), "voc")

    def test_lists_have_the_names_that_the_map_assumes(self) -> None:
        assert len(VOC_FROM_COCO) == len(VOC20)
        assert [COCO91[i] for i in CATEGORY_IDS] == list(COCO80)


def test_scores_are_the_softmax_of_the_kept_logits() -> None:
    """Scores of the cut network are those of the whole one, made to sum to one again over what was kept."""
    spec = spec_of("coco80")
    variables = {name.split("/", 1)[1]: v for name, v in seeded.seeded_variables(300, 81).items()}
    picture = seeded.seeded_picture(0, 300, 300)[np.newaxis].astype(np.float32)
    found = []
    for weights, made_for in [(variables, spec), cut_classes(variables, spec, "voc20")]:
        graph = build_graph(made_for, weights)
        with tf.compat.v1.Session(graph=graph.graph) as session:
            session.run(graph.initialise, graph.weights)
            found.append(session.run(graph.scores, {graph.resized: picture})[0])
    whole, cut = found
    kept = whole[:, list(VOC_FROM_COCO)].astype(np.float64)
    np.testing.assert_allclose(cut, kept / kept.sum(axis=1, keepdims=True), atol=1e-5)
