"""Opening video files with FFmpeg, and finding the track that is to be seen."""

from pathlib import Path
from typing import Any

import av
from av.container import InputContainer
from av.stream import Disposition
from av.video.stream import VideoStream

from ssd_detect.errors import VideoError

LOCAL_ONLY = {"protocol_whitelist": "file"}
"""For files: a playlist among them must not open connections, see FFmpeg's documentation of protocols."""

READ_OPTIONS: dict[str, Any] = {"metadata_errors": "replace"} if int(av.__version__.split(".")[0]) < 19 else {}
"""For every reading `av.open`: metadata that is no UTF-8 must not end it; from 19 on PyAV sees to that itself."""

_EXPECTED = "expected a video file such as .mp4, .mov or .mkv"
_TEXT = "tty"  # FFmpeg films the words of any .txt
_PICTURE = "image2"  # and names that end in _pipe, such as png_pipe


def open_file(path: Path) -> InputContainer:
    """Open a file.

    Raises:
        VideoError: no such file, or not a video.
    """
    _check_source(path)
    try:
        container: InputContainer = av.open(str(path.absolute()), "r", options=dict(LOCAL_ONLY), **READ_OPTIONS)
    except (av.FFmpegError, OSError) as error:
        raise VideoError(
            f"{path}: cannot be read ({error.strerror}), {_EXPECTED}; "
            "a recording or download that was broken off may lack its index"
        ) from error
    try:
        check_kind(container, str(path))
    except VideoError:
        container.close()
        raise
    return container


def check_kind(container: InputContainer, name: str) -> None:
    """Refuse what FFmpeg takes for a video of its own making.

    Raises:
        VideoError: a text, of which it films the words, or a picture.
    """
    kind = container.format.name
    if kind == _TEXT:
        raise VideoError(f"{name}: is a text, {_EXPECTED}")
    if kind == _PICTURE or kind.endswith("_pipe"):
        raise VideoError(f"{name}: is a picture (use ssd-detect image), {_EXPECTED}")


def _check_source(path: Path) -> None:
    if not path.exists():
        raise VideoError(f"{path}: no such file")
    if path.is_dir():
        raise VideoError(f"{path}: is a folder, expected a video file")
    if path.is_file() and path.stat().st_size == 0:
        raise VideoError(f"{path}: is empty (0 bytes), expected a video file")


def video_stream(container: InputContainer, name: str) -> VideoStream:
    """The first video track that is no cover picture.

    Args:
        container: opened.
        name: of the source, for errors.

    Raises:
        VideoError: there is none, or no decoder for it.
    """
    for stream in container.streams.video:
        if stream.disposition & Disposition.attached_pic:
            continue
        if getattr(stream, "codec_context", None) is None:
            raise VideoError(f"{name}: PyAV has no decoder for its video track; convert it to H.264 with ffmpeg first")
        return stream
    kinds = ", ".join(sorted({stream.type for stream in container.streams})) or "nothing"
    raise VideoError(f"{name}: has no video track (found: {kinds})")
