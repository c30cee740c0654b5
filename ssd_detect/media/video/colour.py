"""What the numbers of a video mean as colours, and the two conversions that must agree about it: to RGB and back.

The code points are those of ITU-T H.273, which FFmpeg uses too (`AVCOL_SPC_*`, `AVCOL_RANGE_*`, ...); 2 is "not told"
for matrix, primaries and transfer, 0 for the range.
"""

from dataclasses import dataclass, replace

import av
import numpy as np
from av.video.reformatter import VideoReformatter

from ssd_detect.arrays import Pixels

_RGB, _BT709, _NOT_TOLD = 0, 1, 2
_LIMITED, _FULL = 1, 2
# Matrix -> the number by which swscale knows it. What is missing, and "not told", counts as BT.601, as in FFmpeg.
_SWSCALE = {_BT709: 1, 4: 4, 5: 5, 6: 5, 7: 7, 9: 9, 10: 9}
_SWSCALE_BT601 = 5


@dataclass(frozen=True)
class VideoColour:
    """Code points of a YUV video.

    Args:
        matrix: how RGB became luma and chroma.
        range: 1 when luma is 16-235, 2 when it is 0-255, 0 when nobody says (then it is taken as 16-235).
        primaries: the colours of the three lights.
        transfer: the curve from light to numbers. It and `primaries` are carried along, never converted.
    """

    matrix: int = _NOT_TOLD
    range: int = 0
    primaries: int = _NOT_TOLD
    transfer: int = _NOT_TOLD

    def as_yuv(self) -> "VideoColour":
        """The same for a YUV copy: an RGB video becomes BT.709, 16-235; any other stays what it is."""
        return replace(self, matrix=_BT709, range=_LIMITED) if self.matrix == _RGB else self


class ColourConverter:
    """Converts frames of one video; it keeps swscale's tables, so that they are made once, and belongs to one thread.

    Args:
        colour: what the numbers of the YUV side mean.
    """

    def __init__(self, colour: VideoColour) -> None:
        self._matrix = _SWSCALE.get(colour.matrix, _SWSCALE_BT601)
        # Range of the YUV side, and a word for the RGB side: swscale ignores it, PyAV 14 wants two that differ.
        self._ranges = (_FULL, _LIMITED) if colour.range == _FULL else (_LIMITED, _FULL)
        self._reformatter = VideoReformatter()

    def to_rgb(self, frame: av.VideoFrame, width: int, height: int) -> Pixels:
        """RGB (height, width, 3) of a decoded frame; a frame of another size is scaled."""
        converted = self._reformatter.reformat(
            frame,
            width,
            height,
            "rgb24",
            src_colorspace=self._matrix,
            dst_colorspace=self._matrix,
            src_color_range=self._ranges[0],
            dst_color_range=self._ranges[1],
        )
        return np.asarray(converted.to_ndarray(), np.uint8)

    def from_rgb(self, pixels: Pixels) -> av.VideoFrame:
        """A yuv420p frame of RGB pixels (even height, even width, 3)."""
        return self._reformatter.reformat(
            av.VideoFrame.from_ndarray(np.ascontiguousarray(pixels), "rgb24"),
            format="yuv420p",
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
