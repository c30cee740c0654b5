#!/usr/bin/env python3
"""What torchvision's `ssd300_vgg16` and a stand-in for ssd.pytorch compute for seeded weights and pictures.

`scripts/parity/torch` runs this in an environment that has PyTorch and writes, into tests/golden or another folder,
`torchvision-300.npz` (91 classes), `ssd-pytorch-300.npz` (21 classes) and `torch-files`, the small files of
`torch_files.py`. With `some` = every 17th of the 8732 anchors of the first four maps and all of the last two:

| array | shape | what |
|---|---|---|
| `versions` | () | of torch, torchvision, NumPy |
| `some` | (n,) | numbers of these anchors |
| `anchors` | (n, 4) | cx, cy, w, h as shares of the side, of `some` |
| `anchors_sha256` | () | of all 8732 x 4 float32 numbers, little-endian |
| `pK_input` | (43, 43, 3) | network input of picture K, every 7th row and column: RGB grey levels minus mean |
| `pK_offsets`, `pK_logits` | (n, 4), (n, C) | raw heads of `some` |
| `pK_T_classes`, `pK_T_scores`, `pK_T_boxes` | (n,), (n,), (n, 4) | final detections, in the program's own order |

T names the score threshold and more: `low` 0.01; `high` 0.5, for torchvision without its limit of 200 a picture, which
would leave the same as for `low`; `all`, torchvision's only, 0.01 without that limit, of classes 1 to 10, which shows
its limit of 400 candidates a class; `some` 0.01 with the anchors of `some` alone. Boxes are xyxy in pixels of the
picture; for `some`, shares of it. ssd.pytorch's may leave the picture.
"""

# mypy: disable-error-code="import-not-found"
# PyTorch has an environment of its own; see `scripts/parity/torch`.

import argparse
import hashlib
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import ssd_pytorch
import torch
import torchvision
from torch_files import write_files
from torch_weights import STATES, seeded_pictures, seeded_state

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from ssd_detect.files import whole_file  # noqa: E402

LOW, HIGH = 0.01, 0.5
NO_LIMIT = 1_000_000
# Score threshold, most detections a picture, last class that is stored.
TORCHVISION_RUNS = {"low": (LOW, 200, 90), "high": (HIGH, NO_LIMIT, 90), "all": (LOW, NO_LIMIT, 10)}
SOME = np.r_[0:8692:17, 8692:8732]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=ROOT / "tests" / "golden", help="folder (default: tests/golden)")
    parser.add_argument("--weights", action="store_true", help="also write PROGRAM.pth, 142 and 105 MB, there")
    given = parser.parse_args()
    programs = {
        "torchvision": (make_torchvision, torchvision_numbers),
        "ssd-pytorch": (ssd_pytorch.make_network, ssd_numbers),
    }
    for name, (make, numbers) in programs.items():
        network = load_state(make(STATES[name][1]), name).eval()
        with torch.inference_mode():
            save(given.out / f"{name}-300.npz", {"versions": versions(), "some": SOME, **numbers(network)})
        if given.weights:
            torch.save(network.state_dict(), given.out / f"{name}.pth")
    write_files(given.out / "torch-files")  # not "torch": tests/golden is on the path of imports


def make_torchvision(num_classes: int) -> Any:
    return torchvision.models.detection.ssd300_vgg16(weights=None, weights_backbone=None, num_classes=num_classes)


def versions() -> str:
    return f"torch {torch.__version__}, torchvision {torchvision.__version__}, numpy {np.__version__}"


def save(path: Path, arrays: Mapping[str, Any]) -> None:
    with whole_file(path, overwrite=True) as temporary:
        np.savez_compressed(temporary, **arrays)
    print(f"{path.name}: {path.stat().st_size:,} bytes", file=sys.stderr)


def load_state(network: Any, program: str) -> Any:
    """`network` with the seeded weights; PyTorch refuses missing and unknown names and other shapes."""
    network.load_state_dict({name: torch.from_numpy(v) for name, v in seeded_state(*STATES[program]).items()})
    return network


def anchor_numbers(anchors: Any) -> dict[str, Any]:
    values = anchors.numpy().astype("<f4")
    return {"anchors": values[SOME], "anchors_sha256": hashlib.sha256(values.tobytes()).hexdigest()}


def picture_numbers(name: str, inputs: Any, offsets: Any, logits: Any) -> dict[str, Any]:
    """`inputs` (1, 3, 300, 300), `offsets` (8732, 4), `logits` (8732, C)."""
    sample = inputs[0].permute(1, 2, 0)[::7, ::7].numpy()
    return {f"{name}_input": sample, f"{name}_offsets": offsets[SOME].numpy(), f"{name}_logits": logits[SOME].numpy()}


def found_numbers(name: str, boxes: Any, scores: Any, class_ids: Any) -> dict[str, Any]:
    return {
        f"{name}_boxes": boxes.numpy(),
        f"{name}_scores": scores.numpy(),
        f"{name}_classes": class_ids.numpy(),
    }


def torchvision_numbers(network: Any) -> dict[str, Any]:
    anchors = network.anchor_generator._grid_default_boxes([[g, g] for g in ssd_pytorch.GRIDS], [300, 300])
    numbers = anchor_numbers(anchors)
    for k, picture in enumerate(seeded_pictures()):
        pixels = torch.from_numpy(picture).permute(2, 0, 1) / 255
        numbers |= torchvision_picture(network, f"p{k}", pixels)
    return numbers


def torchvision_picture(network: Any, name: str, pixels: Any) -> dict[str, Any]:
    """All numbers of one picture, (3, H, W) float32 from 0 to 1."""
    transformed, _ = network.transform([pixels])
    maps = list(network.backbone(transformed.tensors).values())
    heads = network.head(maps)
    offsets, logits = heads["bbox_regression"][0], heads["cls_logits"][0]
    numbers = picture_numbers(name, transformed.tensors, offsets, logits)
    for run, (network.score_thresh, network.detections_per_img, last) in TORCHVISION_RUNS.items():
        (found,) = network([pixels])
        stored = found["labels"] <= last
        numbers |= found_numbers(f"{name}_{run}", *(found[part][stored] for part in ("boxes", "scores", "labels")))
    network.score_thresh, network.detections_per_img, _ = TORCHVISION_RUNS["low"]
    anchors = network.anchor_generator(transformed, maps)[0]
    some_heads = {key: values[:, SOME] for key, values in heads.items()}
    (found,) = network.postprocess_detections(some_heads, [anchors[SOME]], [(300, 300)])
    return numbers | found_numbers(f"{name}_some", found["boxes"] / 300, found["scores"], found["labels"])


def ssd_numbers(network: Any) -> dict[str, Any]:
    anchors = ssd_pytorch.make_anchors()
    numbers = anchor_numbers(anchors)
    for k, picture in enumerate(seeded_pictures()):
        inputs = ssd_pytorch.network_input(picture)
        offsets, logits = ssd_pytorch.outputs(network, inputs)
        numbers |= picture_numbers(f"p{k}", inputs, offsets, logits)
        height, width = picture.shape[:2]
        sides = torch.tensor([width, height, width, height], dtype=torch.float32)
        for run, threshold in (("low", LOW), ("high", HIGH)):
            found = ssd_pytorch.detect(offsets, logits, anchors, threshold)
            numbers |= found_numbers(f"p{k}_{run}", found.boxes * sides, found.scores, found.class_ids)
        found = ssd_pytorch.detect(offsets[SOME], logits[SOME], anchors[SOME], LOW)
        numbers |= found_numbers(f"p{k}_some", *found)
    return numbers


if __name__ == "__main__":
    main()
