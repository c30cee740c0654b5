"""Against OpenCV's own Caffe runtime, whose numbers `scripts/parity/caffe` computes and `golden/caffe-*.npz` hold.

Two independent programs stand behind each number: the weights were written as a `.caffemodel` and run there; here the
same file goes through our reader and our network.
"""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import seeded

from ssd_detect.arrays import Floats
from ssd_detect.boxes.anchors import make_anchors
from ssd_detect.boxes.geometry import cxcywh_to_xyxy
from ssd_detect.boxes.postprocess import decode_candidates, keep_best
from ssd_detect.boxes.profiles import resolved
from ssd_detect.conventions import AnchorClip, AnchorRounding, Profile, ResizeRule
from ssd_detect.detector import Detector
from ssd_detect.model.checkpoint import load_checkpoint
from ssd_detect.model.resize import resized
from ssd_detect.model.session import NetworkSession
from ssd_detect.settings import CheckpointSettings, DetectionSettings, SessionSettings
from tests.parity import Rows, assert_same_detections, with_an_area

TESTS = Path(__file__).parent
PRESETS = {300: "voc300", 512: "coco512"}
PICTURES = [(300, 0), (300, 1), (300, 2), (300, 3), (512, 0), (512, 1)]
EVERY = 20 * 400  # more cannot come: 400 candidates of each of 20 classes


@cache
def golden(size: int) -> dict[str, Any]:
    with np.load(TESTS / "golden" / f"caffe-{size}.npz") as arrays:
        return dict(arrays)


def picture(index: int) -> Any:
    return seeded.seeded_picture(*seeded.PICTURES[index])


class Ours:
    """One file in our program, read once, and run once over each picture."""

    def __init__(self, path: Path, size: int) -> None:
        self.settings = CheckpointSettings(str(path), anchors=PRESETS[size])
        self.checkpoint = load_checkpoint(self.settings)
        self.network = NetworkSession(self.checkpoint, SessionSettings())
        self._outputs: dict[int, tuple[Floats, Floats]] = {}

    def outputs(self, index: int) -> tuple[Floats, Floats]:
        """Scores (N, 21) and offsets (N, 4) of a picture."""
        if index not in self._outputs:
            pixels = resized(picture(index), self.checkpoint.spec.size, self.checkpoint.spec.resize)
            scores, offsets = self.network.run(pixels[np.newaxis])
            self._outputs[index] = scores[0], offsets[0]
        return self._outputs[index]


@pytest.fixture(scope="module")
def ours(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[int], Ours]]:
    """Size -> the `.caffemodel` with the seeded weights, written by the script that made the numbers."""
    folder = tmp_path_factory.mktemp("caffe")
    opened: dict[int, Ours] = {}

    def of(size: int) -> Ours:
        if size not in opened:
            path = folder / f"VGG_VOC0712_SSD_{size}x{size}.caffemodel"
            script = TESTS.parent / "scripts" / "parity" / "caffe_weights.py"
            environment = os.environ | {"PYTHONPATH": str(TESTS / "golden")}
            subprocess.run([sys.executable, script, str(size), path], check=True, capture_output=True, env=environment)
            opened[size] = Ours(path, size)
        return opened[size]

    yield of
    for made in opened.values():
        made.network.close()


@pytest.mark.slow
@pytest.mark.parametrize("size", [300, 512])
class TestReading:
    def test_weights_come_back_bit_for_bit(self, ours: Callable[[int], Ours], size: int) -> None:
        variables = ours(size).checkpoint.variables
        for name, values in seeded.seeded_variables(size).items():
            np.testing.assert_array_equal(variables[name.removeprefix(f"ssd_{size}_vgg/")], values, name)

    def test_a_caffe_file_is_taken_as_caffe_takes_it(self, ours: Callable[[int], Ours], size: int) -> None:
        spec = ours(size).checkpoint.spec
        facts = (spec.size, spec.anchor_rounding, spec.anchor_clip, spec.resize, spec.profile)
        assert facts == (size, AnchorRounding.INT, AnchorClip.NONE, ResizeRule.OPENCV, Profile.CAFFE)


@pytest.mark.parametrize("rounding", list(AnchorRounding))
@pytest.mark.parametrize("size", [300, 512])
def test_anchors(size: int, rounding: AnchorRounding) -> None:
    """PriorBox, given sizes cut to whole pixels as Caffe's own cuts them, and given them as they are."""
    expected = golden(size)
    anchors = cxcywh_to_xyxy(make_anchors(PRESETS[size], rounding))
    np.testing.assert_allclose(anchors[:: expected["stride"]], expected[f"anchors_{rounding.value}"], atol=3e-7)
    sums = anchors.sum(axis=0, dtype=np.float64)
    np.testing.assert_allclose(sums, expected[f"anchors_{rounding.value}_sums"], atol=1e-3)


def test_rounding_matters_at_512_only() -> None:
    """Without the difference, the test above would not tell one rounding from the other."""
    for size, least in [(300, 0.0), (512, 9.0)]:
        apart = np.abs(golden(size)["anchors_int_sums"] - golden(size)["anchors_float_sums"])
        assert (apart >= least).all()
        assert (apart > 0).any() == (size == 512)


@pytest.mark.slow
class TestNetwork:
    @pytest.mark.parametrize(("size", "index"), PICTURES)
    def test_input(self, ours: Callable[[int], Ours], size: int, index: int) -> None:
        """OpenCV's builds may round a grey level differently, here and there; this one's do not."""
        spec = ours(size).checkpoint.spec
        less_mean = resized(picture(index), size, spec.resize) - np.array(spec.mean_rgb, np.float32)
        apart = np.abs(less_mean[::7, ::7] - golden(size)[f"p{index}_input"])
        assert apart.max() <= 1
        assert (apart > 0).mean() < 0.01

    @pytest.mark.parametrize(("size", "index"), PICTURES)
    def test_heads(self, ours: Callable[[int], Ours], size: int, index: int) -> None:
        """Logits up to 30 in size are compared by their softmax's logarithm, which is all that scores tell of them."""
        expected = golden(size)
        scores, offsets = (outputs[:: expected["stride"]] for outputs in ours(size).outputs(index))
        logits = expected[f"p{index}_logits"].astype(np.float64)
        log_scores = logits - np.log(np.exp(logits).sum(axis=1, keepdims=True))
        np.testing.assert_allclose(np.log(scores), log_scores, rtol=0, atol=1e-3)
        np.testing.assert_allclose(scores, np.exp(log_scores), rtol=0, atol=1e-4)
        np.testing.assert_allclose(offsets, expected[f"p{index}_offsets"], rtol=0, atol=1e-3)


def assert_as_in_caffe(found: Rows, size: int, index: int, choice: str) -> None:
    expected = [golden(size)[f"p{index}_{choice}_{part}"] for part in ("classes", "scores", "boxes")]
    assert_same_detections(found, with_an_area(*expected), scores_within=1e-4, boxes_within=1e-4)


@pytest.mark.slow
class TestDetections:
    """DetectionOutput: the same detections as there, to 1e-4 in scores and in shares of the picture's sides."""

    @pytest.mark.parametrize("size", [300, 512])
    def test_whole_way(self, ours: Callable[[int], Ours], size: int) -> None:
        """By what a Caffe file is taken for: only the anchor preset and the threshold are given."""
        with Detector(ours(size).settings, settings=DetectionSettings(score_threshold=0.01)) as detector:
            for index in [index for of_size, index in PICTURES if of_size == size]:
                found = detector(picture(index))
                boxes_unit = found.boxes / np.array([*found.size, *found.size])
                assert_as_in_caffe(Rows(found.class_ids, found.scores, boxes_unit), size, index, "kept")

    @pytest.mark.parametrize(("size", "index"), PICTURES)
    def test_without_the_last_limit(self, ours: Callable[[int], Ours], size: int, index: int) -> None:
        """Some thousand detections, down to scores of 0.01 and to the last of the 400 candidates of a class."""
        spec = ours(size).checkpoint.spec
        settings = resolved(DetectionSettings(score_threshold=0.01, max_detections=EVERY), spec.profile)
        anchors = make_anchors(spec.anchors, spec.anchor_rounding, spec.anchor_clip)
        candidates, _ = decode_candidates(*ours(size).outputs(index), anchors, np.arange(21) > 0, settings)
        kept = keep_best(candidates, settings)
        assert len(kept.scores) > 4000
        assert_as_in_caffe(Rows(kept.class_ids, kept.scores, kept.boxes_unit), size, index, "all")
