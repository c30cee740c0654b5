"""A picture as the network's square input, by each rule of `ResizeRule`, on the host: every engine gets the same.

For LEGACY and HALF_PIXEL the arithmetic is that of TensorFlow's `ResizeBilinear` on uint8, operation by operation in
float32: the same bits as its kernel for the CPU on x86-64 makes. Where a build of TensorFlow fuses multiplication and
addition, it may differ from this in the last bit. OpenCV's and Pillow's own bilinear filters are further off: in
positions or in their rounding.
"""

from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

import cv2
import numpy as np
from numpy.typing import NDArray

from ssd_detect.arrays import Floats, Integers, Pixels
from ssd_detect.conventions import ResizeRule

_HALF = np.float32(0.5)
# Interpolated at once: fewer mean more calls, more mean arrays that the system gives, and clears, anew each time.
_ROWS = 32


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

    lower: Integers  # (side,)
    upper: Integers  # (side,)
    share: Floats  # of the upper one, once for each number of a sample: (side * channels,)


@lru_cache(maxsize=64)
def _pairs(source: int, side: int, channels: int, *, half_pixel: bool) -> _Pairs:
    """Of an axis of `source` samples of `channels` numbers each; float32 as TensorFlow has."""
    scale = np.float32(source) / np.float32(side)
    outputs = np.arange(side, dtype=np.float32)
    positions = (outputs + _HALF) * scale - _HALF if half_pixel else outputs * scale
    floors = np.floor(positions)
    lower, upper = (np.clip(floors.astype(np.int64) + step, 0, source - 1) for step in (0, 1))
    pairs = _Pairs(lower, upper, np.repeat(positions - floors, channels))
    for table in pairs:
        table.flags.writeable = False  # kept for all threads
    return pairs


def _interpolate(picture: Pixels, out: Floats, *, half_pixel: bool) -> None:
    """Bilinear, into `out`: what is needed is gathered as uint8, rows first, then mixed in float32."""
    height, width, side = *picture.shape[:2], len(out)
    ys = _pairs(height, side, 1, half_pixel=half_pixel)
    xs = _pairs(width, side, 3, half_pixel=half_pixel)
    samples, mixed = picture.reshape(height, width * 3), out.reshape(side, side * 3)
    for start in range(0, side, _ROWS):
        block = slice(start, start + _ROWS)
        numbers = np.concatenate([ys.lower[block], ys.upper[block]])
        rows = samples.take(numbers, axis=0, mode="clip")  # (2 _ROWS, 3 W); the mode saves a copy
        pixels = cv2.cvtColor(rows.reshape(-1, width, 3), cv2.COLOR_RGB2RGBA).view(np.uint32)[..., 0]  # (2 _ROWS, W)
        left, right = (_pixels_at(columns, pixels) for columns in (xs.lower, xs.upper))  # (2 _ROWS, 3 side)
        both: Floats = np.asarray(cv2.subtract(right, left, dtype=cv2.CV_32F), np.float32)
        both *= xs.share
        both += left
        top, bottom = np.split(both, 2)
        bottom -= top
        bottom *= ys.share[block, np.newaxis]
        np.add(top, bottom, out=mixed[block])


def _pixels_at(columns: Integers, pixels: NDArray[np.uint32]) -> Pixels:
    """(n, W) RGBA to (n, 3 columns): four bytes are gathered as one number, three would be by a copying loop."""
    gathered = pixels.take(columns, axis=1, mode="clip").view(np.uint8).reshape(len(pixels), -1, 4)
    return np.asarray(cv2.cvtColor(gathered, cv2.COLOR_RGBA2RGB), np.uint8).reshape(len(pixels), -1)


# Multiply-adds up to which OpenBLAS, NumPy's on Linux and Windows, makes a matrix product in the thread that asks for
# it: GEMM_MULTITHREAD_THRESHOLD (4) times SMP_THRESHOLD_MIN (65536) in its interface/gemm.c. Above it, its own threads
# fight with the network's for the processor.
_PRODUCT = 4 * 65536
# Of them at most, for one row or column of a picture, so that a product takes 32 or more: with one alone it would be a
# product with a vector, whose limit is far lower.
_PRODUCT_OF_ONE = _PRODUCT // 32
# Outputs of one product: more mean fewer calls and more zeros in its weights. Measured on 300x200 to 3840x2160.
_ROWS_OF_BAND, _COLUMNS_OF_BAND = 4, 16
_BANDS_OF_GROUP = 6  # of rows, whose samples become floats together: neighbours share many of them
_STRIP = 512 * 1024  # float32 numbers between rows and columns: they stay in the cache, and memory stays bounded


class _Band(NamedTuple):
    """Outputs of an axis that follow each other, from samples that follow each other."""

    outputs: slice
    samples: slice
    weights: Floats  # (samples, outputs) of columns, (outputs, samples) of rows, as the products take them


class _Bands(NamedTuple):
    """All outputs of an axis."""

    bands: tuple[_Band, ...]
    most: int  # outputs of one
    weights: int  # of the largest


@lru_cache(maxsize=32)  # 20 KB for 500 samples, under 4 MB for as many as there can be
def _bands(source: int, side: int, most: int, *, columns: bool) -> _Bands:
    """A triangle filter as wide as the reduction, as `tf.image.resize(antialias=True)` has it, in float32.

    An axis has `source` samples and `side` outputs, of which a band has `most` at most.
    """
    scale = np.float32(1) / (np.float32(side) / np.float32(source))  # rounded twice there, which moves the centres
    reach = np.maximum(scale, np.float32(1))
    centres = (np.arange(side, dtype=np.float32) + _HALF) * scale
    while most > 3 and most * ((most + 1) * reach + 3) > _PRODUCT_OF_ONE:
        most -= 1
    bands = tuple(_band(part, source, centres, reach, columns=columns) for part in _parts(side, most))
    return _Bands(bands, most, max(band.weights.size for band in bands))


def _band(outputs: slice, source: int, centres: Floats, reach: np.float32, *, columns: bool) -> _Band:
    own = centres[outputs]
    first, last = np.floor(own[0] - reach - _HALF), np.ceil(own[-1] + reach + _HALF)
    samples = slice(max(int(first), 0), min(int(last), source))
    distances = np.arange(samples.start, samples.stop, dtype=np.float32) + _HALF - own[:, np.newaxis]
    weights = np.maximum(np.float32(1) - np.abs(distances * (np.float32(1) / reach)), np.float32(0))
    weights /= weights.sum(axis=1, keepdims=True)
    weights = np.ascontiguousarray(weights.T) if columns else weights  # turned by the product it takes longer
    weights.flags.writeable = False  # kept for all threads
    return _Band(outputs, samples, weights)


def _parts(total: int, most: int) -> list[slice]:
    """0 to `total` in parts of `most` at most, as equal as can be: with 3 or more, none of a larger total is 1."""
    count = -(-total // most)
    borders = [total * i // count for i in range(count + 1)]
    return [slice(*pair) for pair in pairwise(borders)]


def _mix(picture: Pixels, out: Floats) -> None:
    """The triangle filter, into `out`: strip by strip, rows first; a band of rows or columns is one matrix product.

    Each product is so small that the calling thread makes it, whatever the size of the picture.
    """
    height, width, side = *picture.shape[:2], len(out)
    samples = picture.reshape(height, width * 3)
    ys = _bands(height, side, _ROWS_OF_BAND, columns=False)
    xs = _bands(width, side, _COLUMNS_OF_BAND, columns=True)
    of_strip = max(min(_PRODUCT // xs.weights, _STRIP // width) // (3 * ys.most), 1)  # bands
    for bands in _groups(ys.bands, of_strip):
        strip = _covered(bands)
        num_rows = strip.stop - strip.start
        planes, mixed = np.empty((3, num_rows, width), np.float32), np.empty((3, num_rows, side), np.float32)
        _mix_rows(samples, bands, planes)
        _mix_columns(planes.reshape(-1, width), xs.bands, mixed.reshape(-1, side))
        cv2.merge(list(mixed), dst=out[strip])


def _mix_rows(samples: Pixels, bands: Sequence[_Band], planes: Floats) -> None:
    """(H, 3 W) into (3, rows, W), a plane for each colour."""
    num_columns, first = samples.shape[1], bands[0].outputs.start
    for group in _groups(bands, _BANDS_OF_GROUP):
        outputs, window = _covered(group), slice(group[0].samples.start, group[-1].samples.stop)
        mixed = np.empty((outputs.stop - outputs.start, num_columns), np.float32)
        most = min(_PRODUCT // max(band.weights.size for band in group), _STRIP // (window.stop - window.start))
        for columns in _parts(num_columns, max(most, 1)):
            floats = samples[window, columns].astype(np.float32)
            for band in group:
                own = slice(band.samples.start - window.start, band.samples.stop - window.start)
                rows = mixed[band.outputs.start - outputs.start : band.outputs.stop - outputs.start]
                np.matmul(band.weights, floats[own], out=rows[:, columns])
        of_planes = slice(outputs.start - first, outputs.stop - first)
        cv2.split(mixed.reshape(len(mixed), -1, 3), list(planes[:, of_planes]))


def _mix_columns(rows: Floats, bands: Sequence[_Band], out: Floats) -> None:
    """(rows, W) into (rows, side)."""
    for outputs, window, weights in bands:
        np.matmul(rows[:, window], weights, out=out[:, outputs])


def _groups(bands: Sequence[_Band], size: int) -> Iterator[Sequence[_Band]]:
    """Of `size` bands each, but the last one."""
    return (bands[start : start + size] for start in range(0, len(bands), size))


def _covered(bands: Sequence[_Band]) -> slice:
    """The outputs of bands that follow each other."""
    return slice(bands[0].outputs.start, bands[-1].outputs.stop)
