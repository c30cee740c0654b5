"""A stand-in for ssd.pytorch's SSD300: the same modules under the same names, written anew from the published layers.

Sources of the figures: Liu et al. 2016; ssd.pytorch's configuration and evaluation (VOC anchors cut to 0..1 in centre
form; OpenCV's resize of whole grey levels, then the mean; scores above 0.01, the best 200 of each class, IoU 0.45).
"""

# mypy: disable-error-code="import-not-found"
# PyTorch has an environment of its own; see `scripts/parity/torch`.

from itertools import pairwise
from typing import Any, NamedTuple

import cv2
import numpy as np
import torch
from torch import nn
from torch.nn import functional

MEAN_RGB = (123, 117, 104)
NMS_THRESHOLD = 0.45
TOP_K = 200  # of one class
VARIANCES = (0.1, 0.2)

GRIDS = (38, 19, 10, 5, 3, 1)
STEPS = (8, 16, 32, 64, 100, 300)
SIZES = (30, 60, 111, 162, 213, 264, 315)
RATIOS = ((2,), (2, 3), (2, 3), (2, 3), (2,), (2,))


class Found(NamedTuple):
    """Boxes (n, 4) float32 xyxy as shares of the picture, which they may leave; scores (n,); class ids (n,) int64."""

    boxes: Any
    scores: Any
    class_ids: Any


def make_network(num_classes: int) -> Any:
    """An `nn.Module` whose state dict has ssd.pytorch's names; `outputs` runs it."""
    network = nn.Module()
    network.vgg = nn.ModuleList(_vgg())
    network.L2Norm = nn.Module()
    network.L2Norm.weight = nn.Parameter(torch.empty(512))
    network.extras = nn.ModuleList(_extras())
    per_cell = [2 + 2 * len(ratios) for ratios in RATIOS]
    channels = (512, 1024, 512, 256, 256, 256)
    network.loc = nn.ModuleList(
        nn.Conv2d(c, 4 * n, kernel_size=3, padding=1) for c, n in zip(channels, per_cell, strict=True)
    )
    network.conf = nn.ModuleList(
        nn.Conv2d(c, num_classes * n, kernel_size=3, padding=1) for c, n in zip(channels, per_cell, strict=True)
    )
    return network.eval()


def _vgg() -> list[Any]:
    """Layers in such an order that the convolutions get the numbers that ssd.pytorch's files have for them."""
    layers: list[Any] = []
    before = 3
    for block, (channels, repeats) in enumerate([(64, 2), (128, 2), (256, 3), (512, 3), (512, 3)], start=1):
        for _ in range(repeats):
            layers += [nn.Conv2d(before, channels, kernel_size=3, padding=1), nn.ReLU()]
            before = channels
        if block < 5:
            layers.append(nn.MaxPool2d(2, stride=2, ceil_mode=block == 3))  # 75 -> 38
    layers.append(nn.MaxPool2d(3, stride=1, padding=1))
    layers += [nn.Conv2d(512, 1024, kernel_size=3, padding=6, dilation=6), nn.ReLU()]
    return [*layers, nn.Conv2d(1024, 1024, kernel_size=1), nn.ReLU()]


def _extras() -> list[Any]:
    layers: list[Any] = []
    before = 1024
    for between, channels, stride, pad in [(256, 512, 2, 1), (128, 256, 2, 1), (128, 256, 1, 0), (128, 256, 1, 0)]:
        layers.append(nn.Conv2d(before, between, kernel_size=1))
        layers.append(nn.Conv2d(between, channels, kernel_size=3, stride=stride, padding=pad))
        before = channels
    return layers


def network_input(picture: Any) -> Any:
    """(1, 3, 300, 300) float32 for (H, W, 3) uint8 RGB."""
    resized = cv2.resize(picture, (300, 300)).astype(np.float32) - np.array(MEAN_RGB, np.float32)
    return torch.from_numpy(resized.transpose(2, 0, 1)[np.newaxis].copy())


def outputs(network: Any, inputs: Any) -> tuple[Any, Any]:
    """Offsets (8732, 4) and logits (8732, C) of one picture."""
    maps = _feature_maps(network, inputs)
    offsets = [_rows(head(x), 4) for head, x in zip(network.loc, maps, strict=True)]
    num_classes = network.conf[0].out_channels // 4
    logits = [_rows(head(x), num_classes) for head, x in zip(network.conf, maps, strict=True)]
    return torch.cat(offsets), torch.cat(logits)


def _feature_maps(network: Any, x: Any) -> list[Any]:
    maps = []
    for i, layer in enumerate(network.vgg):
        x = layer(x)
        if i == 22:  # after the ReLU of conv4_3
            length = x.pow(2).sum(dim=1, keepdim=True).sqrt() + 1e-10
            maps.append(network.L2Norm.weight.view(1, -1, 1, 1) * (x / length))
    maps.append(x)
    for i, layer in enumerate(network.extras):
        x = functional.relu(layer(x))
        if i % 2 == 1:
            maps.append(x)
    return maps


def _rows(values: Any, width: int) -> Any:
    """(1, A * width, H, W) to (H * W * A, width)."""
    return values.permute(0, 2, 3, 1).reshape(-1, width)


def make_anchors() -> Any:
    """(8732, 4) float32 cxcywh as shares of the side, each number cut to 0..1; computed in double."""
    rows = []
    for grid, step, (size, larger), ratios in zip(GRIDS, STEPS, pairwise(SIZES), RATIOS, strict=True):
        shapes = _cell(size / 300, larger / 300, ratios)
        centres = [(i + 0.5) / (300 / step) for i in range(grid)]
        rows += [(x, y, w, h) for y in centres for x in centres for w, h in shapes]
    return torch.tensor(rows, dtype=torch.float32).clamp(min=0, max=1)


def _cell(size: float, larger: float, ratios: tuple[int, ...]) -> list[tuple[float, float]]:
    middle = (size * larger) ** 0.5
    shapes = [(size, size), (middle, middle)]
    for ratio in ratios:
        root = ratio**0.5
        shapes += [(size * root, size / root), (size / root, size * root)]
    return shapes


def detect(offsets: Any, logits: Any, anchors: Any, threshold: float) -> Found:
    """Class after class, in each the best score first; no limit over all classes, no box cut at the picture's edge."""
    boxes, scores = _decode(offsets, anchors), logits.softmax(dim=1)
    found = []
    for class_id in range(1, scores.shape[1]):
        candidates = torch.nonzero(scores[:, class_id] > threshold).flatten()
        order = scores[candidates, class_id].sort(descending=True, stable=True)[1][:TOP_K]
        kept = candidates[order][_suppress(boxes[candidates[order]])]
        found.append(Found(boxes[kept], scores[kept, class_id], torch.full_like(kept, class_id)))
    return Found(*(torch.cat(parts) for parts in zip(*found, strict=True)))


def _decode(offsets: Any, anchors: Any) -> Any:
    centres = anchors[:, :2] + offsets[:, :2] * VARIANCES[0] * anchors[:, 2:]
    sizes = anchors[:, 2:] * torch.exp(offsets[:, 2:] * VARIANCES[1])
    top_left = centres - sizes / 2
    return torch.cat([top_left, top_left + sizes], dim=1)


def _suppress(boxes: Any) -> Any:
    """Places of the boxes (n, 4), best first, that stay: each removes later ones unless their IoU is at most 0.45."""
    places = torch.arange(len(boxes))
    kept = []
    while len(places):
        best, places = places[0], places[1:]
        kept.append(best)
        places = places[_iou(boxes[best], boxes[places]) <= NMS_THRESHOLD]
    return torch.stack(kept) if kept else places


def _iou(box: Any, others: Any) -> Any:
    shared = (torch.minimum(box[2:], others[:, 2:]) - torch.maximum(box[:2], others[:, :2])).clamp(min=0)
    intersection = shared.prod(dim=1)
    areas = (others[:, 2:] - others[:, :2]).prod(dim=1)
    return intersection / (areas - intersection + (box[2:] - box[:2]).prod())
