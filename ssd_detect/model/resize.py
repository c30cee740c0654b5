"""A picture as the network's square input, by each rule of `ResizeRule`, on the host: every engine gets the same.

For LEGACY and HALF_PIXEL the arithmetic is that of TensorFlow's `ResizeBilinear` on uint8, operation by operation in
float32: the same bits as its kernel for the CPU on x86-64 makes. Where a build of TensorFlow fuses multiplication and
addition, it may differ from this in the last bit. OpenCV's and Pillow's own bilinear filters are further off: in
positions or in their rounding.
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple, TypeVar

import cv2
import numpy as np

from ssd_detect.arrays import Floats, Integers, Pixels
from ssd_detect.conventions import ResizeRule

_HALF = np.float32(0.5)
_ROWS = 32  # mixed at once: fewer mean more calls


def resized(picture: Pixels, side: int, rule: ResizeRule) -> Floats:
    """(H, W, 3) uint8 to (side, side, 3) float32, 0 to 255; from any thread."""
    square: Floats = resized_batch([picture], side, rule)[0]
    return square


def resized_batch(pictures: Sequence[Pixels], side: int, rule: ResizeRule) -> Floats:
    """(H, W, 3) uint8 each, of any sizes, to (B, side, side, 3) float32, 0 to 255; from any thread."""
    batch = np.empty((len(pictures), side, side, 3), np.float32)
    for picture, out in zip(pictures, batch, strict=True):
        if picture.shape[:2] == (side, side):
            out[...] = picture
        elif rule is ResizeRule.OPENCV:
            out[...] = cv2.resize(np.ascontiguousarray(picture), (side, side), interpolation=cv2.INTER_LINEAR)
        elif rule is ResizeRule.ANTIALIAS:
            _mix(picture, out)
        else:
            _interpolate(picture, out, half_pixel=rule is ResizeRule.HALF_PIXEL)
    return batch


class _Pairs(NamedTuple):
    """Between which two samples of an axis each output lies: numbers of the lower ones, of the upper ones, shares."""

    lower: Integers
    upper: Integers
    share: Floats  # of the upper one


_Tables = TypeVar("_Tables", bound=tuple[Integers | Floats, ...])


@lru_cache(maxsize=64)
def _pairs(source: int, side: int, channels: int, *, half_pixel: bool) -> _Pairs:
    """Of an axis of `source` samples of `channels` numbers each, (side * channels,) each; float32 as TensorFlow has."""
    scale = np.float32(source) / np.float32(side)
    outputs = np.arange(side, dtype=np.float32)
    positions = (outputs + _HALF) * scale - _HALF if half_pixel else outputs * scale
    floors = np.floor(positions)
    lower, upper = (np.clip(floors.astype(np.int64) + step, 0, source - 1) for step in (0, 1))
    lower, upper = (np.add.outer(i * channels, np.arange(channels)).reshape(-1) for i in (lower, upper))
    return _shared(_Pairs(lower, upper, np.repeat(positions - floors, channels)))


def _interpolate(picture: Pixels, out: Floats, *, half_pixel: bool) -> None:
    """Bilinear, into `out`: what is needed is gathered as uint8, rows first, then mixed in float32."""
    height, width, side = *picture.shape[:2], len(out)
    ys = _pairs(height, side, 1, half_pixel=half_pixel)
    xs = _pairs(width, side, 3, half_pixel=half_pixel)
    rows = picture.reshape(height, width * 3).take(np.concatenate([ys.lower, ys.upper]), axis=0)  # (2 side, 3 W)
    left = rows.take(xs.lower, axis=1).astype(np.float32)  # (2 side, 3 side)
    mixed = rows.take(xs.upper, axis=1).astype(np.float32)
    _blend(left, mixed, xs.share, out=mixed)
    top, bottom = mixed[:side], mixed[side:]
    _blend(top, bottom, ys.share[:, np.newaxis], out=out.reshape(side, side * 3))


def _blend(first: Floats, second: Floats, share: Floats, out: Floats) -> None:
    """first + (second - first) * share; overwrites `second`."""
    np.subtract(second, first, out=second)
    np.multiply(second, share, out=second)
    np.add(first, second, out=out)


def _shared(tables: _Tables) -> _Tables:
    """The same, kept for all threads: read-only."""
    for table in tables:
        table.flags.writeable = False
    return tables


class _Taps(NamedTuple):
    """Of which samples of an axis each output is mixed: for each of the most that one needs, number and weight."""

    numbers: Integers  # (taps, outputs)
    weights: Floats  # (taps, outputs); 0 where an output needs fewer


@lru_cache(maxsize=64)
def _taps(source: int, side: int, channels: int) -> _Taps:
    """A triangle filter as wide as the reduction, as `tf.image.resize(antialias=True)` has it, in float32.

    An axis has `source` samples of `channels` numbers each, and `side` outputs.
    """
    scale = np.float32(1) / (np.float32(side) / np.float32(source))  # rounded twice there, which moves the centres
    reach = np.maximum(scale, np.float32(1))
    centres = (np.arange(side, dtype=np.float32) + _HALF) * scale
    firsts = np.clip(np.ceil(centres - reach - _HALF).astype(np.int64), 0, source - 1)
    numbers = np.add.outer(np.arange(int(np.ceil(2 * reach)) + 1), firsts)  # (taps, side)
    distances = numbers.astype(np.float32) + _HALF - centres
    weights = np.maximum(np.float32(1) - np.abs(distances * (np.float32(1) / reach)), np.float32(0))
    weights[numbers >= source] = 0
    weights /= weights.sum(axis=0)
    starts = np.minimum(numbers, source - 1)[..., np.newaxis] * channels  # (taps, side, 1)
    taps = _Taps((starts + np.arange(channels)).reshape(len(numbers), -1), np.repeat(weights, channels, axis=1))
    return _shared(taps)


def _mix(picture: Pixels, out: Floats) -> None:
    """The triangle filter, into `out`: no matrix product, whose threads would get into the way of the network's."""
    height, width, side = *picture.shape[:2], len(out)
    samples, mixed = picture.reshape(height, width * 3), out.reshape(side, side * 3)
    ys, xs = _taps(height, side, 1), _taps(width, side, 3)
    for start in range(0, side, _ROWS):  # a large picture's in float32 would leave every cache
        block = slice(start, start + _ROWS)
        rows = _sum(samples, ys.numbers[:, block], ys.weights[:, block, np.newaxis], axis=0)  # (_ROWS, 3 W)
        mixed[block] = _sum(rows, xs.numbers, xs.weights, axis=1)


def _sum(samples: Pixels | Floats, numbers: Integers, weights: Floats, axis: int) -> Floats:
    total: Floats = samples.take(numbers[0], axis=axis) * weights[0]
    for number, weight in zip(numbers[1:], weights[1:], strict=True):
        part = samples.take(number, axis=axis).astype(np.float32, copy=False)
        part *= weight
        total += part
    return total
