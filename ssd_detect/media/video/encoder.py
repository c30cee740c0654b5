"""Pictures of one video in, packets out: one for each, in the same order."""

from collections import deque
from dataclasses import replace
from fractions import Fraction
from typing import Any, cast

import av
import numpy as np
from av.codec.context import Flags as CodecFlags
from av.format import Flags as FormatFlags
from av.packet import Packet

from ssd_detect.arrays import Pixels
from ssd_detect.media.video.colour import ColourConverter, VideoColour
from ssd_detect.media.video.encoding import Encoder
from ssd_detect.media.video.frames import VideoInfo

_FULL_RANGE, _RGB_MATRIX = 2, 0
_HEVC_TAG = "hvc1"  # the one of the two that Apple's players take
# Finer clocks overflow inside libvpx and SVT-AV1, which then change time stamps.
_FINEST_TICK = Fraction(1, 1_000_000)  # seconds
# These write times into their packets, MPEG-4 with at most 65535 ticks a second, MPEG-2 only those of certain rates.
_TICK_PER_FRAME = ("mpeg1video", "mpeg2video", "mpeg4")
_MOST_TICKS = 65_535


class FrameEncoder:
    """Encodes RGB pictures.

    Args:
        encoder: which one, and how.
        like: what the video is made from: size, time base, colours.
        key_every: frames from one key frame to the next, for encoders that make none where they are told to.
    """

    def __init__(self, encoder: Encoder, like: VideoInfo, key_every: int) -> None:
        self._encoder, self._like = encoder, like
        self._clock = _EncoderClock(like.time_base, _tick(encoder, like))
        self._converter = ColourConverter(colour_for(encoder, like))
        self._context = cast(av.VideoCodecContext, av.CodecContext.create(encoder.name, "w"))
        self._context.options = dict(encoder.options)
        self._context.gop_size = key_every
        configure(self._context, encoder, like)
        wanted = FormatFlags(av.ContainerFormat(encoder.container.format, "w").flags)
        if FormatFlags.global_header in wanted:
            self._context.flags |= CodecFlags.global_header.value

    def encode(self, pixels: Pixels, pts: int, *, key: bool) -> "list[Packet[Any]]":
        """The packets that are ready after this picture (H, W, 3), which is shown at `pts` ticks.

        Raises:
            av.FFmpegError: the encoder refuses.
        """
        frame = self._frame(_grown(pixels, self._encoder.size_for(pixels.shape[1], pixels.shape[0])))
        frame.pts, frame.time_base = self._clock.given(pts), self._clock.tick
        if key:
            frame.pict_type = 1  # a key frame, in FFmpeg's numbers AV_PICTURE_TYPE_I
        return self._clock.restored(self._context.encode(frame))

    def flush(self) -> "list[Packet[Any]]":
        """The rest of the packets; nothing can be encoded afterwards."""
        return self._clock.restored(self._context.encode(None))

    def _frame(self, pixels: Pixels) -> av.VideoFrame:
        if self._encoder.is_rgb:
            return av.VideoFrame.from_ndarray(pixels, "rgb24").reformat(format=self._encoder.pixel_format)
        return self._converter.from_rgb(pixels, self._encoder.pixel_format)


class _EncoderClock:
    """Times as the encoder can count them, and the true ones back in its packets.

    Args:
        time_base: seconds a tick of the video.
        tick: seconds a tick of the encoder.
    """

    def __init__(self, time_base: Fraction, tick: Fraction) -> None:
        self._time_base, self.tick = time_base, tick
        self._inside: deque[tuple[int, int]] = deque()  # (the encoder's, the video's), of frames inside the encoder
        self._first: int | None = None
        self._last = -1

    def given(self, pts: int) -> int:
        """The time of the next frame for the encoder."""
        self._first = pts if self._first is None else self._first
        self._last = max(self._last + 1, ticks((pts - self._first) * self._time_base, self.tick))
        self._inside.append((self._last, pts))
        return self._last

    def restored(self, packets: "list[Packet[Any]]") -> "list[Packet[Any]]":
        """The packets with the times of the video; without one where the order of frames has changed."""
        for packet in packets:
            given, pts = self._inside.popleft() if self._inside else (None, None)
            packet.pts = pts if packet.pts == given else None
            packet.time_base = self._time_base
        return packets


def _tick(encoder: Encoder, like: VideoInfo) -> Fraction:
    """Seconds a tick with which the encoder can work."""
    if encoder.name in _TICK_PER_FRAME:
        return (1 / like.rate).limit_denominator(_MOST_TICKS)
    return max(like.time_base, _FINEST_TICK)


def configure(context: av.VideoCodecContext, encoder: Encoder, like: VideoInfo) -> None:
    """Tell an encoder's context everything about the pictures; without B-frames, see `store`."""
    context.width, context.height = encoder.size_for(like.width, like.height)
    context.pix_fmt = encoder.pixel_format
    context.time_base, context.framerate = _tick(encoder, like), like.rate
    context.max_b_frames = 0
    if like.pixel_aspect is not None:
        context.sample_aspect_ratio = like.pixel_aspect
    colour = colour_for(encoder, like)
    context.colorspace, context.color_range = colour.matrix, colour.range
    context.color_primaries, context.color_trc = colour.primaries, colour.transfer
    if encoder.container.format in ("mp4", "mov") and context.codec.name.endswith(("265", "hevc_nvenc", "hevc_qsv")):
        context.codec_tag = _HEVC_TAG


def colour_for(encoder: Encoder, like: VideoInfo) -> VideoColour:
    """What the numbers of the copy mean."""
    colour = like.colour.as_yuv()
    if encoder.is_rgb:
        return replace(colour, matrix=_RGB_MATRIX, range=_FULL_RANGE)
    return replace(colour, range=_FULL_RANGE) if encoder.is_full_range else colour


def ticks(seconds: Fraction, time_base: Fraction) -> int:
    """The nearest number of ticks."""
    return round(seconds / time_base)


def _grown(pixels: Pixels, size: tuple[int, int]) -> Pixels:
    """(H, W, 3) with the last row and column repeated up to `size` (width, height); contiguous."""
    height, width = pixels.shape[:2]
    if size != (width, height):
        pixels = np.pad(pixels, ((0, size[1] - height), (0, size[0] - width), (0, 0)), mode="edge")
    return np.ascontiguousarray(pixels)
