"""Animated GIFs: 256 colours a picture, each picture with a palette of its own."""

from collections.abc import Iterable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import cast

import av
from av.filter import Graph

_TICKS = 100  # a second: GIF counts in hundredths
_SHORTEST = 2  # ticks; browsers show anything below as ten


def write_gif(target: Path, pictures: Iterable[tuple[bytes, Fraction]], size: tuple[int, int], last: Fraction) -> None:
    """Write an animation that is repeated for ever.

    Args:
        target: the file to write.
        pictures: each as a PNG file, with the second at which it appears; seconds grow.
        size: width and height in pixels.
        last: seconds for which the last one stays.

    Raises:
        av.FFmpegError, OSError: the system refuses.
    """
    options = {"loop": "0", "final_delay": str(max(_SHORTEST, round(last * _TICKS)))}
    with av.open(str(target.absolute()), "w", format="gif", options=options) as output:
        stream = output.add_stream("gif", _TICKS)
        stream.width, stream.height = size
        stream.pix_fmt = "pal8"
        stream.codec_context.time_base = Fraction(1, _TICKS)
        for frame in _with_palettes(_decoded(pictures), size):
            output.mux(stream.encode(frame))
        output.mux(stream.encode(None))


def _decoded(pictures: Iterable[tuple[bytes, Fraction]]) -> Iterator[av.VideoFrame]:
    before = -_SHORTEST
    for png, seconds in pictures:
        decoder = av.CodecContext.create("png", "r")  # for each: a second picture would be added to the first
        (frame,) = decoder.decode(av.Packet(png))
        before = frame.pts = max(before + _SHORTEST, round(seconds * _TICKS))
        frame.time_base = Fraction(1, _TICKS)
        yield frame


def _with_palettes(frames: Iterator[av.VideoFrame], size: tuple[int, int]) -> Iterator[av.VideoFrame]:
    graph = Graph()
    source = graph.add_buffer(
        width=size[0], height=size[1], format=av.VideoFormat("rgb24"), time_base=Fraction(1, _TICKS)
    )
    split, palette, use = (
        graph.add("split"),
        graph.add("palettegen", "stats_mode=single"),
        graph.add("paletteuse", "new=1"),
    )
    sink = graph.add("buffersink")
    source.link_to(split)
    split.link_to(palette, output_idx=1)
    split.link_to(use)
    palette.link_to(use, input_idx=1)
    use.link_to(sink)
    graph.configure()
    for frame in frames:
        graph.push(frame)
        yield cast(av.VideoFrame, graph.pull())
