"""HDR video as ordinary pictures: the way from PQ or HLG numbers to the BT.709 numbers that any screen shows.

A frame goes through a table, computed here once: numbers -> light of the screen that the makers of the video had, in
cd/m2 -> the three lights of BT.709 -> less of it where it is brighter than ordinary white -> numbers. FFmpeg's `lut3d`
looks up and interpolates: 14 to 18 ms on two CPU cores for a frame of 1920x1080, conversions included.
"""

from fractions import Fraction
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeAlias, cast

import av
import cv2
import numpy as np
from av.filter import Graph
from av.video.format import VideoFormat
from numpy.typing import NDArray

from ssd_detect.arrays import Pixels

Values: TypeAlias = NDArray[np.float64]
"""Numbers or light of three colours, (..., 3) in the order RGB."""

PQ, HLG = 16, 18
"""Code points of ITU-T H.273 for the two HDR transfers: SMPTE ST 2084 and ARIB STD-B67."""

WHITE = 203.0
"""cd/m2 of a white sheet of paper in HDR (ITU-R BT.2408-7, table 1); it is the white of ordinary video too."""

FORMAT = "gbrp16le"
"""Pixel format in which `ToneMapper` takes frames; `lut3d` is the fastest with it, by 2.5 times."""

# Points a side. On photographs, 99 % of the numbers are within 4 of 255 of the formulas (33 a side: 7), and the mean
# is 0.3 off at most; what is further off is the least of the three of a strong colour. It takes 0.4 s to make.
_TABLE_SIDE = 65

# ITU-R BT.2100-2, table 4.
_PQ_PEAK = 10_000.0
_M1, _M2 = 2610 / 16384, 2523 / 4096 * 128
_C1, _C2, _C3 = 3424 / 4096, 2413 / 4096 * 32, 2392 / 4096 * 32

# ITU-R BT.2100-2, table 5, for a screen of 1000 cd/m2, on which HLG is usually graded.
_HLG_PEAK, _HLG_GAMMA = 1000.0, 1.2
_A, _B, _C = 0.17883277, 0.28466892, 0.55991073

# x and y of red, green, blue and white by code point of the primaries: ITU-T H.273, table 2.
_D65 = (0.3127, 0.3290)
_BT709, _BT2020, _P3 = 1, 9, 12
_CHROMATICITIES = {
    _BT709: ((0.640, 0.330), (0.300, 0.600), (0.150, 0.060), _D65),
    _BT2020: ((0.708, 0.292), (0.170, 0.797), (0.131, 0.046), _D65),
    _P3: ((0.680, 0.320), (0.265, 0.690), (0.150, 0.060), _D65),
}

# Up to half of white all light is kept, which is number 191 of 255.
_KNEE = 0.5
_BT1886_GAMMA = 2.4


class ToneMapper:
    """Maps frames of one video; it belongs to one thread.

    Args:
        transfer: `PQ` or `HLG`.
        primaries: code point; what is not told or not known counts as BT.2020.
        white: the share of 65535 that stands for the number 1.
    """

    def __init__(self, transfer: int, primaries: int, *, white: float = 1.0) -> None:
        self._table = _cube(transfer, primaries, white)
        self._graphs: dict[tuple[int, int], Graph] = {}

    def pixels(self, frame: av.VideoFrame) -> Pixels:
        """RGB (H, W, 3) of BT.709 of an HDR frame in `FORMAT`."""
        size = (frame.width, frame.height)
        if size not in self._graphs:
            self._graphs[size] = self._new_graph(*size)
        graph = self._graphs[size]
        graph.push(frame)
        deep = cast(av.VideoFrame, graph.pull()).to_ndarray()  # (H, W, 3) uint16
        # Not by swscale, which rounds up here: half a number too bright.
        return np.asarray(cv2.convertScaleAbs(deep, alpha=255 / 65535), np.uint8)

    def _new_graph(self, width: int, height: int) -> Graph:
        graph = Graph()
        with TemporaryDirectory() as folder:  # not a temporary file: Windows lets nobody else open an open one
            path = Path(folder) / "table.cube"
            path.write_text(self._table)
            source = graph.add_buffer(width=width, height=height, format=VideoFormat(FORMAT), time_base=Fraction(1))
            graph.link_nodes(source, graph.add("lut3d", file=str(path)), graph.add("buffersink")).configure()
        return graph


def _cube(transfer: int, primaries: int, white: float) -> str:
    """The table as a .cube file (Adobe, Cube LUT Specification 1.0): red runs fastest."""
    axis = np.minimum(np.linspace(0, 1 / white, _TABLE_SIDE), 1)
    numbers = np.stack(np.meshgrid(axis, axis, axis, indexing="ij")[::-1], axis=-1)  # (blue, green, red, 3)
    table = to_sdr(numbers, transfer, primaries).reshape(-1, 3)
    lines = (f"{red:.6f} {green:.6f} {blue:.6f}" for red, green, blue in table.tolist())
    return "\n".join([f"LUT_3D_SIZE {_TABLE_SIDE}", *lines, ""])


def to_sdr(numbers: Values, transfer: int, primaries: int) -> Values:
    """BT.709 numbers (..., 3), 0 to 1, of HDR numbers (..., 3), 0 to 1.

    Args:
        numbers: R'G'B', full range.
        transfer: `PQ` or `HLG`.
        primaries: code point; what is not told or not known counts as BT.2020.
    """
    light, peak = (_pq_light(numbers), _PQ_PEAK) if transfer == PQ else (_hlg_light(numbers), _HLG_PEAK)
    shown = _rolled_off(_into_gamut(light / WHITE @ _to_bt709(primaries).T), peak / WHITE)
    coded: Values = shown ** (1 / _BT1886_GAMMA)  # the inverse of ITU-R BT.1886 for a black of 0 cd/m2
    return coded


def _pq_light(numbers: Values) -> Values:
    """cd/m2: the EOTF of BT.2100-2, table 4."""
    power = numbers ** (1 / _M2)
    unit: Values = np.maximum(power - _C1, 0) / (_C2 - _C3 * power)
    return _PQ_PEAK * unit ** (1 / _M1)


def _hlg_light(numbers: Values) -> Values:
    """cd/m2: the inverse OETF and the OOTF of BT.2100-2, table 5."""
    scene = np.where(numbers <= 0.5, numbers**2 / 3, (np.exp((numbers - _C) / _A) + _B) / 12)
    luminance = scene @ _to_xyz(_BT2020)[1]
    light: Values = _HLG_PEAK * luminance[..., np.newaxis] ** (_HLG_GAMMA - 1) * scene
    return light


def _to_xyz(primaries: int) -> Values:
    """(3, 3): RGB to CIE XYZ, white having Y = 1 (SMPTE RP 177)."""
    points = np.array([(x / y, 1, (1 - x - y) / y) for x, y in _CHROMATICITIES[primaries]])  # (4, 3)
    lights, white = points[:3].T, points[3]
    matrix: Values = lights * np.linalg.solve(lights, white)
    return matrix


def _to_bt709(primaries: int) -> Values:
    """(3, 3): RGB to RGB; from BT.2020 it is the matrix of ITU-R BT.2087-0."""
    known = primaries if primaries in _CHROMATICITIES else _BT2020
    return np.asarray(np.linalg.solve(_to_xyz(_BT709), _to_xyz(known)), np.float64)


def _into_gamut(light: Values) -> Values:
    """Colours that BT.709 cannot show get as much grey of the same luminance as they need: the hue stays."""
    luminance = (light @ _to_xyz(_BT709)[1])[..., np.newaxis]
    lowest = np.minimum(light.min(axis=-1, keepdims=True), 0)
    share = luminance / np.maximum(luminance - lowest, 1e-12)
    inside: Values = np.maximum(luminance + (light - luminance) * np.where(lowest < 0, share, 1), 0)
    return inside


def _rolled_off(light: Values, peak: float) -> Values:
    """Light (1 is white) to 0-1: kept up to the knee, then along a hyperbola on which `peak` becomes 1.

    The hyperbola leaves the knee with slope 1; it is the curve "mobius" of FFmpeg's `tonemap`. It acts on the
    greatest of the three, the others keep their ratio to it, so that the hue stays and none of them is cut off.
    """
    greatest = light.max(axis=-1, keepdims=True)
    above = np.clip(greatest, _KNEE, peak) - _KNEE
    bend = 1 / (1 - _KNEE) - 1 / (peak - _KNEE)
    rolled = np.minimum(greatest, _KNEE) + above / (1 + bend * above)
    kept: Values = np.clip(light * (rolled / np.maximum(greatest, 1e-12)), 0, 1)
    return kept
