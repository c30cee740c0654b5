#!/usr/bin/env python3
"""What OpenCV's Caffe runtime makes of the seeded weights: `tests/golden/caffe-300.npz` and `caffe-512.npz`.

    scripts/parity/caffe       makes the environment that this needs, and both files

Only OpenCV 4 reads Caffe's files; OpenCV 5 has dropped that. Of each picture K are stored:

    pK_input       network input, every 7th row and column, RGB minus mean
    pK_logits      (n, 21) scores before the softmax of every `stride`-th anchor
    pK_offsets     (n, 4) raw offsets of the same anchors
    pK_CHOICE_classes, _scores, _boxes     the rows of DetectionOutput, best score first: class ids, scores, xyxy as
        shares of the picture, not clipped; CHOICE is `kept` (200 a picture) and `all` (no limit)

and once the anchors, xyxy as shares of the input's side: `anchors_int` and `anchors_float` (of every `stride`-th), and
`anchors_int_sums`, `anchors_float_sums` (4,) over all of them. Caffe's PriorBox keeps sizes in integers. OpenCV's
does not, as `anchors_float` shows: so it is given sizes cut to whole pixels for everything else.
"""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import caffe_prototxt
import cv2
import numpy as np
import seeded
from caffe_weights import caffemodel

_GOLDEN = Path(__file__).parents[2] / "tests" / "golden"
_STRIDES = {300: 11, 512: 23}  # prime: every place in a cell and in a map comes up
_NUM_PICTURES = {300: 4, 512: 2}
# `ssd_pascal.py` for 300 and `ssd_coco.py` for 512.
_MIN_SIZES = {
    300: (30, 60, 111, 162, 213, 264, 315),
    512: (20.48, 51.2, 133.12, 215.04, 296.96, 378.88, 460.8, 542.72),
}
_MEAN_BGR = np.array([104, 117, 123], np.float32)
_OUTPUTS = ["mbox_loc", "mbox_conf", "mbox_priorbox", "detection_out", "detection_out_all"]


def _open_network(size: int, weights: Any, *, rounded: bool) -> Any:
    sizes = [int(side) if rounded else side for side in _MIN_SIZES[size]]
    text = np.frombuffer(caffe_prototxt.deploy(size, sizes).encode(), np.uint8)
    dnn: Any = cv2.dnn  # the stubs of OpenCV 5 know nothing of Caffe
    network = dnn.readNetFromCaffe(text, weights)
    network.enableFusion(False)  # each layer as it is written, and plain sums
    network.enableWinograd(False)
    return network


def _preprocess(picture_rgb: Any, size: int) -> Any:
    """(1, 3, size, size) float32, BGR minus mean: resized in whole grey levels, as Caffe's data layer does."""
    bgr = cv2.resize(picture_rgb[:, :, ::-1], (size, size), interpolation=cv2.INTER_LINEAR)
    return (bgr.astype(np.float32) - _MEAN_BGR).transpose(2, 0, 1)[np.newaxis]


def _run(network: Any, inputs: Any) -> dict[str, Any]:
    network.setInput(inputs)
    return dict(zip(_OUTPUTS, network.forward(_OUTPUTS), strict=True))


def _detections(rows: Any, choice: str) -> Iterator[tuple[str, Any]]:
    rows = rows.reshape(-1, 7)  # picture, class, score, xyxy
    rows = rows[rows[:, 2] > 0]  # OpenCV fills up with zeros
    rows = rows[np.argsort(-rows[:, 2], kind="stable")]
    yield f"{choice}_classes", rows[:, 1].astype(np.uint8)
    yield f"{choice}_scores", rows[:, 2]
    yield f"{choice}_boxes", rows[:, 3:]


def _picture_numbers(outputs: dict[str, Any], inputs: Any, stride: int) -> Iterator[tuple[str, Any]]:
    yield "input", inputs[0, ::-1, ::7, ::7].transpose(1, 2, 0)
    yield "logits", outputs["mbox_conf"].reshape(-1, 21)[::stride]
    yield "offsets", outputs["mbox_loc"].reshape(-1, 4)[::stride]
    yield from _detections(outputs["detection_out"], "kept")
    yield from _detections(outputs["detection_out_all"], "all")


def _anchor_numbers(outputs: dict[str, Any], rounding: str, stride: int) -> Iterator[tuple[str, Any]]:
    anchors = outputs["mbox_priorbox"][0, 0].reshape(-1, 4)
    yield f"anchors_{rounding}", anchors[::stride]
    yield f"anchors_{rounding}_sums", anchors.sum(axis=0, dtype=np.float64)


def numbers(size: int) -> dict[str, Any]:
    """Everything that a golden file holds."""
    weights = np.frombuffer(b"".join(caffemodel(size)), np.uint8)
    stride = _STRIDES[size]
    network = _open_network(size, weights, rounded=True)
    found: dict[str, Any] = {"stride": np.array(stride), "opencv": np.array(cv2.__version__)}
    for index, height, width in seeded.PICTURES[: _NUM_PICTURES[size]]:
        inputs = _preprocess(seeded.seeded_picture(index, height, width), size)
        outputs = _run(network, inputs)
        found |= {f"p{index}_{name}": values for name, values in _picture_numbers(outputs, inputs, stride)}
    found |= _anchor_numbers(outputs, "int", stride)
    return found | dict(_anchor_numbers(_run(_open_network(size, weights, rounded=False), inputs), "float", stride))


def main() -> None:
    for size in (300, 512):
        path = _GOLDEN / f"caffe-{size}.npz"
        np.savez_compressed(path, **numbers(size))
        print(f"{path.name}: {path.stat().st_size} bytes, OpenCV {cv2.__version__}", file=sys.stderr)


if __name__ == "__main__":
    main()
