"""Against torchvision itself and a PyTorch stand-in for ssd.pytorch: weights, input, anchors, heads, detections.

`scripts/parity/torch` computes the numbers; `golden/torchvision-300.npz` and `golden/ssd-pytorch-300.npz` hold them;
`torch_numbers.py` there says what each is. Where PyTorch and torchvision are installed, all is compared once more with
what they compute now, and with weights that they wrote.
"""

import hashlib
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
import seeded

from ssd_detect.arrays import Floats
from ssd_detect.boxes.anchors import make_anchors
from ssd_detect.boxes.postprocess import decode_candidates, keep_best
from ssd_detect.boxes.profiles import resolved
from ssd_detect.classes import COCO91, VOC20
from ssd_detect.conventions import AnchorClip, AnchorRounding, Profile, ResizeRule
from ssd_detect.detector import Detector
from ssd_detect.model.checkpoint import Checkpoint, load_checkpoint
from ssd_detect.model.resize import resized
from ssd_detect.model.session import NetworkSession
from ssd_detect.model.spec import ModelSpec
from ssd_detect.settings import CheckpointSettings, DetectionSettings, SessionSettings
from tests.parity import Rows, assert_same_detections, with_an_area

GOLDEN = Path(__file__).parent / "golden"
SCRIPTS = Path(__file__).parents[1] / "scripts" / "parity"
PROGRAMS = ("torchvision", "ssd-pytorch")
PICTURES = range(4)
SPECS = {
    "torchvision": ModelSpec(
        300,
        COCO91,
        "coco300",
        ResizeRule.HALF_PIXEL,
        mean_rgb=(122.99925, 116.9991, 103.9992),
        anchor_clip=AnchorClip.SIZE,
        profile=Profile.TORCHVISION,
    ),
    "ssd-pytorch": ModelSpec(
        300,
        VOC20,
        "voc300",
        ResizeRule.OPENCV,
        anchor_clip=AnchorClip.CENTRE_AND_SIZE,
        profile=Profile.SSD_PYTORCH,
    ),
}
NO_LIMIT = 1_000_000


class Run(NamedTuple):
    """One post-processing of a picture: score threshold, most detections (None: the profile's), last class."""

    threshold: float
    limit: int | None
    last_class: int


RUNS = {
    "torchvision": {"low": Run(0.01, None, 90), "high": Run(0.5, NO_LIMIT, 90), "all": Run(0.01, NO_LIMIT, 10)},
    "ssd-pytorch": {"low": Run(0.01, None, 20), "high": Run(0.5, None, 20)},
}
# Classes left out of a comparison, since rounding of the network's outputs decides about one of their boxes.
ON_THE_EDGE = {
    ("ssd-pytorch", 2, "low"): 18,  # the 200th and the 201st score are 0.0566503 and 0.0566489
    ("torchvision", 0, "all"): 10,  # an IoU is 0.45 within 3e-6
    ("torchvision", 3, "all"): 1,  # two boxes with an IoU of 0.46 have scores 3e-6 apart
}

Numbers = Mapping[str, Any]


class Port(NamedTuple):
    """One program's numbers, and a file of its weights."""

    program: str
    numbers: Numbers
    weights: Path


def read_numbers(folder: Path, program: str) -> Numbers:
    with np.load(folder / f"{program}-300.npz") as arrays:
        return dict(arrays)


def run_script(name: str, *arguments: object) -> None:
    subprocess.run([sys.executable, SCRIPTS / name, *map(str, arguments)], check=True, capture_output=True)


@pytest.fixture(scope="module", params=["stored", pytest.param("live", marks=pytest.mark.slow)])
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Numbers and weights of both programs: the stored numbers with weights of our own writing, or PyTorch's of now."""
    made = tmp_path_factory.mktemp(request.param)
    if request.param == "live":
        if find_spec("torch") is None or find_spec("torchvision") is None:
            pytest.skip("PyTorch and torchvision are not installed; the stored numbers stand in for them")
        run_script("torch_numbers.py", "--out", made, "--weights")
        return made
    for program in PROGRAMS:
        shutil.copy(GOLDEN / f"{program}-300.npz", made)
        run_script("torch_weights.py", program, made / f"{program}.pth")
    return made


@pytest.fixture(scope="module", params=PROGRAMS)
def port(request: pytest.FixtureRequest, folder: Path) -> Port:
    return Port(request.param, read_numbers(folder, request.param), folder / f"{request.param}.pth")


@pytest.fixture(scope="module")
def checkpoint(port: Port) -> Checkpoint:
    """The file as our program takes it, with no option given."""
    return load_checkpoint(CheckpointSettings(str(port.weights)))


@pytest.fixture(scope="module")
def network(checkpoint: Checkpoint) -> Iterator[NetworkSession]:
    made = NetworkSession(checkpoint, SessionSettings())
    yield made
    made.close()


@pytest.fixture(scope="module")
def heads(network: NetworkSession, checkpoint: Checkpoint) -> Callable[[int], tuple[Floats, Floats]]:
    """Number of a picture -> scores (8732, C) and offsets (8732, 4), computed once."""

    @cache
    def of(index: int) -> tuple[Floats, Floats]:
        scores, offsets = network.run(resized_of(checkpoint, index)[np.newaxis])
        return scores[0], offsets[0]

    return of


@pytest.fixture(scope="module")
def detector(port: Port) -> Iterator[Detector]:
    with Detector(port.weights, settings=DetectionSettings(score_threshold=0.01)) as made:
        yield made


def picture(index: int) -> Any:
    return seeded.seeded_picture(*seeded.PICTURES[index])


def resized_of(checkpoint: Checkpoint, index: int) -> Floats:
    return resized(picture(index), checkpoint.spec.size, checkpoint.spec.resize)


def log_softmax(logits: Floats) -> Any:
    """(n, C) float64."""
    wide = logits.astype(np.float64)
    return wide - np.log(np.exp(wide).sum(axis=1, keepdims=True))


def expected_rows(numbers: Numbers, name: str, sides: Any) -> Rows:
    """The other program's detections, best score first; ssd.pytorch gives them class after class."""
    classes, scores, boxes = (numbers[f"{name}_{part}"] for part in ("classes", "scores", "boxes"))
    rows = with_an_area(classes, scores, boxes / sides)
    return chosen(rows, np.argsort(-rows.scores, kind="stable"))


def chosen(rows: Rows, places: Any) -> Rows:
    return Rows(*(values[places] for values in rows))


def our_anchors(program: str) -> Floats:
    spec = SPECS[program]
    return make_anchors(spec.anchors, AnchorRounding.FLOAT, spec.anchor_clip)


def our_rows(heads: tuple[Floats, Floats], anchors: Floats, program: str, run: Run) -> Rows:
    """What the program's profile makes of scores (n, C) and offsets (n, 4)."""
    scores, offsets = heads
    settings = DetectionSettings(score_threshold=run.threshold, max_detections=run.limit)
    settings = resolved(settings, SPECS[program].profile)
    class_ids = np.arange(scores.shape[1])
    wanted = (class_ids > 0) & (class_ids <= run.last_class)
    candidates, _ = decode_candidates(scores, offsets, anchors, wanted, settings)
    found = keep_best(candidates, settings)
    return Rows(found.class_ids, found.scores, found.boxes_unit)


def assert_same_run(port: Port, index: int, name: str, found: Rows) -> None:
    """Scores to 1e-4, boxes to 0.05 pixels; scores that near the threshold do not count."""
    _, height, width = seeded.PICTURES[index]
    edge, threshold = ON_THE_EDGE.get((port.program, index, name)), RUNS[port.program][name].threshold
    expected = expected_rows(port.numbers, f"p{index}_{name}", np.array([width, height] * 2, np.float32))
    ours, theirs = (
        chosen(rows, (rows.class_ids != edge) & (np.abs(rows.scores - threshold) > 1e-4)) for rows in (found, expected)
    )
    assert_same_detections(ours, theirs, scores_within=1e-4, boxes_within=0.05 / max(width, height))


class TestStoredNumbers:
    """What needs no network: quick, and on the same inputs to the last bit."""

    @pytest.mark.parametrize("program", PROGRAMS)
    def test_anchors_bit_for_bit(self, program: str) -> None:
        numbers, anchors = read_numbers(GOLDEN, program), our_anchors(program)
        np.testing.assert_array_equal(anchors[numbers["some"]], numbers["anchors"])
        assert hashlib.sha256(anchors.astype("<f4").tobytes()).hexdigest() == numbers["anchors_sha256"]

    @pytest.mark.parametrize("index", PICTURES)
    @pytest.mark.parametrize("program", PROGRAMS)
    def test_detections_of_the_same_heads(self, program: str, index: int) -> None:
        """Given 552 anchors' raw heads, the program's own post-processing and our profile."""
        numbers = read_numbers(GOLDEN, program)
        scores = np.exp(log_softmax(numbers[f"p{index}_logits"])).astype(np.float32)
        heads = scores, numbers[f"p{index}_offsets"]
        rows = our_rows(heads, our_anchors(program)[numbers["some"]], program, RUNS[program]["low"])
        expected = expected_rows(numbers, f"p{index}_some", 1)
        assert len(expected.scores) > 150
        assert_same_detections(rows, expected, scores_within=1e-6, boxes_within=1e-5)

    def test_the_stand_in_agrees_with_the_reference(self, golden: Callable[[int], dict[str, Any]]) -> None:
        """balancap's TensorFlow code on the same weights; picture 0 needs no resize, in which the two differ."""
        numbers, reference = read_numbers(GOLDEN, "ssd-pytorch"), golden(300)
        some = numbers["some"]
        np.testing.assert_allclose(numbers["p0_offsets"], reference["p0_loc"][some], rtol=0, atol=1e-3)
        scores = np.exp(log_softmax(numbers["p0_logits"]))
        np.testing.assert_allclose(scores, reference["p0_scores"][some], rtol=0, atol=1e-4)


class TestFile:
    def test_weights_come_back_bit_for_bit(self, port: Port, checkpoint: Checkpoint) -> None:
        variables = seeded.seeded_variables(300, len(SPECS[port.program].class_names))
        assert len(checkpoint.variables) == len(variables) == 71
        for name, values in variables.items():
            np.testing.assert_array_equal(checkpoint.variables[name.removeprefix("ssd_300_vgg/")], values, name)

    def test_it_is_taken_as_its_program_takes_it(self, port: Port, checkpoint: Checkpoint) -> None:
        assert checkpoint.spec == SPECS[port.program]

    def test_only_the_colours_of_ssd_pytorch_are_unsure(self, port: Port, checkpoint: Checkpoint) -> None:
        unsure = {"torchvision": 0, "ssd-pytorch": 1}[port.program]
        assert len(checkpoint.assumed) == unsure
        assert all("--colour-order" in fact for fact in checkpoint.assumed)


@pytest.mark.slow
@pytest.mark.parametrize("index", PICTURES)
class TestNetwork:
    def test_input(self, port: Port, checkpoint: Checkpoint, index: int) -> None:
        """Grey levels. Builds of OpenCV may round a few of ssd.pytorch's differently; torchvision has no such step."""
        less_mean = resized_of(checkpoint, index) - np.array(checkpoint.spec.mean_rgb, np.float32)
        apart = np.abs(less_mean[::7, ::7] - port.numbers[f"p{index}_input"])
        assert apart.max() <= (1 if port.program == "ssd-pytorch" else 1e-3)
        assert (apart > 1e-3).mean() < 0.01

    def test_heads(self, port: Port, heads: Callable[[int], tuple[Floats, Floats]], index: int) -> None:
        """Logits are up to 20 in size, offsets up to 16; of logits, scores tell the logarithm of their softmax."""
        scores, offsets = (outputs[port.numbers["some"]] for outputs in heads(index))
        expected = log_softmax(port.numbers[f"p{index}_logits"])
        np.testing.assert_allclose(np.log(scores), expected, rtol=0, atol=1e-3)
        np.testing.assert_allclose(scores, np.exp(expected), rtol=0, atol=1e-4)
        np.testing.assert_allclose(offsets, port.numbers[f"p{index}_offsets"], rtol=0, atol=1e-3)

    def test_detections(self, port: Port, heads: Callable[[int], tuple[Floats, Floats]], index: int) -> None:
        """Of our own heads."""
        for name, run in RUNS[port.program].items():
            rows = our_rows(heads(index), our_anchors(port.program), port.program, run)
            assert_same_run(port, index, name, rows)

    def test_detector(self, port: Port, detector: Detector, index: int) -> None:
        """From the file and the picture to the end, no option given but the threshold."""
        found = detector(picture(index))
        sides = np.array([*found.size, *found.size], np.float32)
        assert_same_run(port, index, "low", Rows(found.class_ids, found.scores, found.boxes / sides))
