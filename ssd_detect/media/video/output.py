"""The files that videos are written into: opening them, and trying out whether an encoder fits."""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from io import BytesIO
from pathlib import Path

import av
import numpy as np
from av.container import OutputContainer
from av.video.stream import VideoStream

from ssd_detect.errors import OutputError
from ssd_detect.media.video.encoder import FrameEncoder, configure, ticks
from ssd_detect.media.video.encoding import GIF, Encoder, error_text
from ssd_detect.media.video.frames import VideoInfo

_FAILURES = (av.FFmpegError, OSError, ValueError)


@contextmanager
def open_output(target: Path | BytesIO, encoder: Encoder) -> Iterator[OutputContainer]:
    """The container to fill; when the block fails, it is closed without a word: the file goes anyway."""
    options = dict(encoder.container.options)
    file = str(target.absolute()) if isinstance(target, Path) else target
    if not isinstance(target, Path):
        options.pop("movflags", None)  # moving the index to the front needs a file
    container = av.open(file, "w", format=encoder.container.format, container_options=options)
    try:
        yield container
    finally:
        with suppress(av.FFmpegError, OSError):
            container.close()


def add_video(container: OutputContainer, encoder: Encoder, like: VideoInfo) -> VideoStream:
    """The stream for packets that `FrameEncoder` made: its encoder only tells what stands in the file's head."""
    stream = container.add_stream(encoder.name, like.rate, options=dict(encoder.options))
    assert isinstance(stream, VideoStream)
    configure(stream.codec_context, encoder, like)
    stream.codec_context.open()
    # The encoder's may be coarser; an AVI takes it for the length of a frame.
    stream.time_base = 1 / like.rate if encoder.container.fixed_rate else like.time_base
    return stream


def check_encoder(path: Path, encoder: Encoder, like: VideoInfo) -> None:
    """Write one black frame into memory and read it back, so that what does not work is known before any work is done.

    Raises:
        OutputError: the encoder does not start, or the container does not take what it makes.
    """
    _check_container(path, encoder)
    pixels = np.zeros((like.height, like.width, 3), np.uint8)
    try:
        frames = FrameEncoder(encoder, like, 1)
        packets = [*frames.encode(pixels, 0, key=True), *frames.flush()]
    except _FAILURES as error:
        size = f"{like.width}x{like.height} pixels"
        message = f"{path}: the encoder {encoder.name} does not work here with {size} ({error_text(error)})"
        raise OutputError(message) from error
    if len(packets) != 1:
        size = f"{like.width}x{like.height}"
        raise OutputError(f"{path}: the encoder {encoder.name} gives {len(packets)} packets for a frame of {size}")
    if encoder.container.format != GIF and not _plays(packets[0], encoder, like):
        raise OutputError(f"{path}: {path.suffix} cannot hold what {encoder.name} makes; use another --codec")


def _check_container(path: Path, encoder: Encoder) -> None:
    if encoder.container.format == GIF:
        return
    with open_output(Path(os.devnull), encoder) as container:
        try:
            container.add_stream(encoder.name, 25)
        except ValueError as error:
            raise OutputError(f"{path}: {path.suffix} does not take what {encoder.name} makes") from error


def _plays(packet: "av.Packet[VideoStream]", encoder: Encoder, like: VideoInfo) -> bool:
    """Whether a frame comes out of a file with just this packet."""
    file = BytesIO()
    try:
        with open_output(file, encoder) as container:
            packet.stream = add_video(container, encoder, like)
            packet.dts, packet.duration = packet.pts, ticks(1 / like.rate, like.time_base)
            container.mux(packet)
            container.close()
        file.seek(0)
        with av.open(file, "r") as written:
            return next(written.decode(video=0), None) is not None
    except _FAILURES:
        return False
