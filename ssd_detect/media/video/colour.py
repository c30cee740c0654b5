"""What the numbers of a video mean as colours, and the two conversions that must agree about it: to RGB and back.

The code points are those of ITU-T H.273, which FFmpeg uses too (`AVCOL_SPC_*`, `AVCOL_RANGE_*`, ...); 2 is "not told"
for matrix, primaries and transfer, 0 for the range.
"""

from dataclasses import dataclass, replace

import av
import numpy as np
from av.video.reformatter import Colorspace, VideoReformatter
from numpy.typing import NDArray

from ssd_detect.arrays import Pixels
from ssd_detect.media.video import hdr
from ssd_detect.media.video.alpha import has_alpha, on_background

_RGB, _BT709, _NOT_TOLD, _BT2020 = 0, 1, 2, 9
_LIMITED, _FULL = 1, 2
# Matrix -> the number by which swscale knows it. What is missing, and "not told", counts as BT.601, as in FFmpeg; in
# HDR, which came with BT.2020, as that.
_SWSCALE = {_BT709: 1, 4: 4, 5: 5, 6: 5, 7: 7, _BT2020: 9, 10: 9}
_SWSCALE_BT601 = 5

WRITES_BT2020 = hasattr(Colorspace, "BT2020")
"""Whether RGB can become YUV by the matrix of BT.2020; PyAV 17, the last one for Python 3.10, cannot."""

# Flags of libswscale/swscale.h: bilinear, chroma of full width, exact rounding. Without them deep YUV comes out up to
# 2.6 of 255 too dark; they cost 3 ms for a frame of 1920x1080. With 8 bits they would cost 9 ms and win one
# number.
_FINE = 0x2 | 0x2000 | 0x40000
# White of YUV that swscale turns to RGB of 16 bits is 255 << 8.
_DEEP_WHITE_OF_YUV = 0xFF00 / 0xFFFF

_HDR_NAMES = {hdr.PQ: "PQ", hdr.HLG: "HLG"}
_GAMUT_NAMES = {_BT709: "BT.709", _BT2020: "BT.2020", 12: "Display P3"}


@dataclass(frozen=True)
class VideoColour:
    """Code points of a YUV video.

    Args:
        matrix: how RGB became luma and chroma.
        range: 1 when luma is 16-235, 2 when it is 0-255, 0 when nobody says (then it is taken as 16-235).
        primaries: the colours of the three lights.
        transfer: the curve from light to numbers. It and `primaries` are carried along, but for those of HDR, which
            becomes BT.709.
    """

    matrix: int = _NOT_TOLD
    range: int = 0
    primaries: int = _NOT_TOLD
    transfer: int = _NOT_TOLD

    @property
    def is_hdr(self) -> bool:
        """Whether it goes far beyond the white of ordinary screens."""
        return self.transfer in _HDR_NAMES

    def as_yuv(self) -> "VideoColour":
        """The same for a YUV copy: HDR and RGB become BT.709, 16-235; any other stays what it is if that can be."""
        if self.is_hdr:
            return VideoColour(_BT709, _LIMITED, _BT709, _BT709)
        if self.matrix == _RGB:
            return replace(self, matrix=_BT709, range=_LIMITED)
        is_lost = _SWSCALE.get(self.matrix) == _SWSCALE[_BT2020] and not WRITES_BT2020
        return replace(self, matrix=_BT709) if is_lost else self


class ColourConverter:
    """Converts frames of one video; it keeps swscale's tables, so that they are made once, and belongs to one thread.

    Args:
        colour: what the numbers of the YUV side mean.
    """

    def __init__(self, colour: VideoColour) -> None:
        usual = _SWSCALE[_BT2020] if colour.is_hdr else _SWSCALE_BT601
        self._matrix = _SWSCALE.get(colour.matrix, usual)
        # Range of the YUV side, and a word for the RGB side: swscale ignores it, PyAV wants two that differ.
        self._ranges = (_FULL, _LIMITED) if colour.range == _FULL else (_LIMITED, _FULL)
        self._mapper = _tone_mapper(colour) if colour.is_hdr else None
        self._reformatters: dict[str, VideoReformatter] = {}

    def to_rgb(self, frame: av.VideoFrame, width: int, height: int) -> Pixels:
        """RGB (height, width, 3) of a decoded frame: HDR as BT.709, what is transparent on the background of pictures.

        A frame of another size is scaled.
        """
        if self._mapper is None:
            pixels = self._bytes(frame, width, height, "rgb24")
        else:
            pixels = self._mapper.pixels(self._from_stored(frame, width, height, hdr.FORMAT))
        if not has_alpha(frame.format):
            return pixels
        return on_background(pixels, self._bytes(frame, width, height, "rgba")[..., 3])

    def _bytes(self, frame: av.VideoFrame, width: int, height: int, form: str) -> NDArray[np.uint8]:
        return np.asarray(self._from_stored(frame, width, height, form).to_ndarray(), np.uint8)

    def _from_stored(self, frame: av.VideoFrame, width: int, height: int, form: str) -> av.VideoFrame:
        if self._matrix == _SWSCALE[_BT2020]:
            frame.colorspace = _BT2020  # PyAV 17 reads that matrix from the frame alone
        return self._reformatter(form).reformat(
            frame,
            width,
            height,
            form,
            interpolation=_FINE if _bits(frame) > 8 else None,
            src_colorspace=self._matrix,
            dst_colorspace=self._matrix,
            src_color_range=self._ranges[0],
            dst_color_range=self._ranges[1],
        )

    def _reformatter(self, form: str) -> VideoReformatter:
        """One for each target format: it keeps the tables of its last conversion only."""
        return self._reformatters.setdefault(form, VideoReformatter())

    def from_rgb(self, pixels: Pixels, form: str = "yuv420p") -> av.VideoFrame:
        """A YUV frame of RGB pixels (H, W, 3), whose sides suit the format."""
        return self._reformatter(form).reformat(
            av.VideoFrame.from_ndarray(np.ascontiguousarray(pixels), "rgb24"),
            format=form,
            src_colorspace=self._matrix,
            dst_colorspace=self._matrix,
            src_color_range=self._ranges[1],
            dst_color_range=self._ranges[0],
        )


def colour_of(frame: av.VideoFrame, context: av.VideoCodecContext) -> VideoColour:
    """What a decoded frame and its decoder say about colour."""
    if frame.format.is_rgb:
        return VideoColour(_RGB, _FULL, context.color_primaries, context.color_trc)
    full = frame.color_range == _FULL or frame.format.name.startswith(("yuvj", "gray"))
    return VideoColour(
        _NOT_TOLD if frame.colorspace == _RGB else frame.colorspace,
        _FULL if full else frame.color_range or context.color_range,
        context.color_primaries,
        context.color_trc,
    )


def colour_notes(frame: av.VideoFrame, colour: VideoColour) -> tuple[str, ...]:
    """What the user should know of how frames like this one become RGB of 8 bits, each a short clause."""
    notes = []
    if colour.is_hdr:
        names = ", ".join(filter(None, (_HDR_NAMES[colour.transfer], _GAMUT_NAMES.get(colour.primaries))))
        notes.append(f"HDR ({names}) is shown as SDR: tone-mapped to BT.709")
    elif _bits(frame) > 8:
        notes.append(f"{_bits(frame)} bits a channel become 8")
    if has_alpha(frame.format):
        notes.append("transparent parts are shown on white")
    return tuple(notes)


def _bits(frame: av.VideoFrame) -> int:
    """Of its deepest channel."""
    return max(component.bits for component in frame.format.components)


def _tone_mapper(colour: VideoColour) -> hdr.ToneMapper:
    return hdr.ToneMapper(colour.transfer, colour.primaries, white=1.0 if colour.matrix == _RGB else _DEEP_WHITE_OF_YUV)
