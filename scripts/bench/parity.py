"""Our numbers against those of the reference implementation, on seeded weights, and a batch against its pictures."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np

from bench.number import Number, PartResult
from bench.options import ROOT, Options
from ssd_detect.arrays import Floats, Pixels
from ssd_detect.boxes.anchors import make_anchors
from ssd_detect.boxes.outputs import OutputDecoder
from ssd_detect.boxes.profiles import resolved
from ssd_detect.classes import VOC20
from ssd_detect.conventions import Profile
from ssd_detect.detector import Detector
from ssd_detect.model.resize import resized
from ssd_detect.settings import DetectionSettings
from ssd_detect.stages import StageTimes

sys.path.insert(0, str(ROOT / "tests" / "golden"))

import seeded

_THRESHOLDS = {"a": (0.15, 0.10), "b": (0.40, 0.10), "c": (0.01, 0.45)}  # score, NMS
_STRIDES = {300: 1, 512: 5}  # the golden file of 512 holds every fifth anchor
_NUM_PICTURES = {300: 4, 512: 2}


def measure(options: Options) -> PartResult:
    """Both sizes; with `tiny`, one picture of the smaller."""
    numbers = []
    for size in (300,) if options.tiny else (300, 512):
        checkpoint = options.folder / f"ssd_{size}_vgg.ckpt"
        script = ROOT / "tests" / "golden" / "seeded.py"
        subprocess.run([sys.executable, script, str(size), checkpoint], check=True, capture_output=True)
        numbers += _of_size(size, checkpoint, 1 if options.tiny else _NUM_PICTURES[size])
    return PartResult([*numbers, _batch()])


def _of_size(size: int, checkpoint: Path, num_pictures: int) -> list[Number]:
    with np.load(ROOT / "tests" / "golden" / f"golden-{size}.npz") as arrays:
        golden = dict(arrays)
    anchors = float(np.abs(make_anchors(f"coco{size}")[:, [1, 0, 3, 2]] - golden["anchors_yxhw"]).max())
    worst: dict[str, float] = {}
    with Detector(checkpoint) as detector:
        for index in range(num_pictures):
            for name, value in _differences(detector, golden, index, size).items():
                worst[name] = max(worst.get(name, 0.0), value)
    limits = {"input": 1e-3, "scores": 1e-4, "loc": 1e-3}
    return [Number(f"parity: SSD{size}, anchors, largest difference", anchors, 1e-6, unit="")] + [
        Number(f"parity: SSD{size}, {name}, largest difference", value, limits.get(name, 1e-4), unit="")
        for name, value in worst.items()
    ]


def _differences(detector: Detector, golden: dict[str, Any], index: int, size: int) -> dict[str, float]:
    picture, step = _picture(index), _STRIDES[size]
    scores, offsets = detector.raw_outputs(picture)
    inputs = resized(picture, size, detector.spec.resize) - np.array(detector.spec.mean_rgb, np.float32)
    found = {"input": inputs[::7, ::7], "scores": scores[::step], "loc": offsets[::step]}
    compared = {name: float(np.abs(one - golden[f"p{index}_{name}"]).max()) for name, one in found.items()}
    return compared | {
        f"boxes at score {score} and IoU {nms}": _worst_box(golden, f"p{index}_{name}", scores, offsets, size)
        for name, (score, nms) in _THRESHOLDS.items()
    }


def _picture(index: int) -> Pixels:
    _, height, width = seeded.PICTURES[index]
    picture: Pixels = seeded.seeded_picture(index, height, width)
    return picture


def _worst_box(golden: dict[str, Any], key: str, scores: Floats, offsets: Floats, size: int) -> float:
    """Largest distance of a reference detection from ours of the same class and score; infinite if numbers differ."""
    score, nms = _THRESHOLDS[key[-1]]
    decode = OutputDecoder(VOC20, resolved(DetectionSettings(score, nms), Profile.TUTORIAL), StageTimes())
    kept = decode(scores, offsets, make_anchors(f"coco{size}"), (1, 1))
    boxes = golden[f"{key}_boxes_yxyx"][:, [1, 0, 3, 2]]
    with_area = (boxes[:, :2] < boxes[:, 2:]).all(axis=1)
    boxes, classes = boxes[with_area], golden[f"{key}_classes"][with_area]
    if len(boxes) != len(kept):
        return float("inf")
    distance = np.abs(boxes[:, np.newaxis] - kept.boxes).max(axis=2)  # (reference, ours)
    distance[classes[:, np.newaxis] != kept.class_ids] = np.inf
    score_distance = np.abs(golden[f"{key}_scores"][with_area][:, np.newaxis] - kept.scores)
    distance[score_distance > 1e-4] = np.inf
    return float(distance.min(axis=1).max(initial=0.0))


def _batch() -> Number:
    pictures = [_picture(index) for index in (1, 2, 3)]
    taken: list[Floats] = []
    with Detector(on_outputs=lambda scores, offsets: taken.append(scores.copy())) as detector:
        detector(pictures)
        alone = [detector.raw_outputs(picture)[0] for picture in pictures]
    worst = max(float(np.abs(one - other).max()) for one, other in zip(taken, alone, strict=True))
    return Number("parity: a batch and its pictures, scores, largest difference", worst, 1e-5, unit="")
