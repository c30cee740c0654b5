"""The proof of an engine: what passes, and every way to fail."""

from collections.abc import Callable

import numpy as np
import pytest

from ssd_detect.arrays import Floats
from ssd_detect.boxes.anchors import make_anchors
from ssd_detect.boxes.selection import Selected, select_scores
from ssd_detect.conventions import Arithmetic, EngineName
from ssd_detect.engines.proving import LIMITS, prove
from ssd_detect.engines.reference import Reference
from ssd_detect.errors import DeviceError
from ssd_detect.model.runs_on import RunsOn

ANCHORS = make_anchors("voc300")
NUM_ANCHORS, NUM_CLASSES, NUM_PICTURES = len(ANCHORS), 21, 3


def reference() -> Reference:
    random = np.random.default_rng(8)
    scores = random.uniform(0, 0.1, (NUM_PICTURES, NUM_ANCHORS, NUM_CLASSES)).astype(np.float32)
    scores[:, ::40, 7] = random.uniform(0.35, 0.99, scores[:, ::40, 7].shape)
    offsets = random.normal(0, 1, (NUM_PICTURES, NUM_ANCHORS, 4)).astype(np.float32)
    numbers = np.arange(NUM_PICTURES, dtype=np.float32)  # by which the engine below tells pictures apart
    inputs = np.broadcast_to(numbers[:, None, None, None], (NUM_PICTURES, 300, 300, 3)).copy()
    return Reference(inputs, scores, offsets, ANCHORS)


class Engine:
    """Answers as it is told to; no engine fails in all these ways."""

    def __init__(self, scores: Floats, offsets: Floats, precision: Arithmetic = Arithmetic.FLOAT32) -> None:
        self.scores, self.offsets = scores, offsets
        self.runs_on = RunsOn(EngineName.OPENVINO, "1.2", "CPU", precision)
        self.batches: list[int] = []

    def run(self, resized: Floats) -> tuple[Floats, Floats]:
        self.batches.append(len(resized))
        numbers = resized[:, 0, 0, 0].astype(np.int64)
        return self.scores[numbers], self.offsets[numbers]

    def run_selected(self, resized: Floats, limits: Floats) -> Selected:
        return select_scores(*self.run(resized), limits)

    def close(self) -> None:
        pass


def test_equal_outputs_pass() -> None:
    expected = reference()
    engine = Engine(expected.scores, expected.offsets)
    assert prove(engine, expected) == (0.0, 0.0, 0.0, True)
    assert engine.batches == [1, NUM_PICTURES - 1]  # alone and together


def test_rounding_passes() -> None:
    expected = reference()
    engine = Engine(expected.scores + np.float32(5e-5), expected.offsets + np.float32(5e-4))
    found = prove(engine, expected)
    assert 4e-5 < found.scores < 1e-4
    assert 4e-4 < found.offsets < 1e-3
    assert 0 < found.boxes < 0.1


def spoilt(values: Floats, place: int, value: float) -> Floats:
    changed: Floats = values.copy()
    changed.reshape(-1)[place] = value
    return changed


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (
            lambda s, o: (spoilt(s, 5, s.flat[5] + 2e-4), o),
            r"other scores \(largest difference 0.0002\).*at most 0.0001",
        ),
        (lambda s, o: (spoilt(s, -1, np.nan), o), r"other scores \(largest difference inf\)"),
        (lambda s, o: (s, spoilt(o, 0, o.flat[0] + 0.002)), r"other offsets \(largest difference 0.002\)"),
        (lambda s, o: (s, spoilt(o, 9, np.inf)), r"other offsets \(largest difference inf\)"),
        (lambda s, o: (s[:, :, :20], o), "other scores .3, 8732, 20. than"),
        (lambda s, o: (s[:, ::-1], o), "other scores"),
        (lambda s, o: (s[::-1], o[::-1]), "other scores"),  # the pictures of a batch exchanged
    ],
)
def test_other_outputs_fail(spoil: Callable[[Floats, Floats], tuple[Floats, Floats]], message: str) -> None:
    expected = reference()
    with pytest.raises(DeviceError, match=message) as caught:
        prove(Engine(*spoil(expected.scores, expected.offsets)), expected)
    assert str(caught.value).startswith("engine openvino 1.2 on CPU (float32) computes other ")
    assert str(caught.value).endswith("; use --engine tensorflow")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("precision", [one for one in LIMITS if one is not Arithmetic.FLOAT32])
def test_fewer_bits_may_differ_more_but_not_be_nonsense(precision: Arithmetic) -> None:
    expected, limits = reference(), LIMITS[precision]
    assert limits.scores > LIMITS[Arithmetic.FLOAT32].scores
    prove(Engine(expected.scores + np.float32(limits.scores / 2), expected.offsets, precision), expected)
    with pytest.raises(DeviceError, match="other scores"):
        prove(Engine(expected.scores[:, ::-1], expected.offsets, precision), expected)
    with pytest.raises(DeviceError, match="other offsets"):
        prove(Engine(expected.scores, expected.offsets[:, ::-1], precision), expected)
    with pytest.raises(DeviceError, match="other scores"):
        prove(Engine(np.full_like(expected.scores, 1 / NUM_CLASSES), expected.offsets, precision), expected)
