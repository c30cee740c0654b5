"""A video that is piped in."""

import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from io import BufferedReader
from pathlib import Path
from typing import cast

import av

from ssd_detect.errors import VideoError
from ssd_detect.media.decoding.kinds import HEAD_BYTES, kind_of
from ssd_detect.media.sources.inputs import STDIN
from ssd_detect.media.video.container import READ_OPTIONS
from ssd_detect.media.video.frames import Frame, FrameSource
from ssd_detect.media.video.sources.connection import FAILURES, Connection
from ssd_detect.media.video.sources.protocols import PIPE_OPTIONS
from ssd_detect.media.video.sources.settings import SourceSettings
from ssd_detect.media.video.sources.source import ClosedAtEnd
from ssd_detect.media.video.sources.stream import StreamReader

_NAME = "standard input"
# Boxes with which MP4 and older QuickTime files begin (ISO 14496-12; QuickTime File Format, "Overview").
_BOXES = (b"ftyp", b"moov", b"mdat", b"free", b"skip", b"wide", b"pnot", b"moof", b"styp", b"sidx")
_MAX_HEAD_BYTES = 1 << 20


def open_standard_input(settings: SourceSettings, open_file: Callable[[Path], FrameSource]) -> FrameSource:
    """The video on standard input, read while it comes where its format allows that.

    A picture, and an MP4 whose index stands behind its frames, are first copied into a temporary file.

    Args:
        settings: `spool` takes the copy or the sound.
        open_file: opens the copy.

    Raises:
        VideoError: a terminal, nothing, or no video.
    """
    if sys.stdin is None or sys.stdin.closed:
        raise VideoError(f"{_NAME} is closed; pipe a video into it")
    if sys.stdin.isatty():
        raise VideoError(f"{_NAME} is a terminal; pipe a video into it")
    pipe = _Pipe(cast(BufferedReader, sys.stdin.buffer))
    if not pipe.head(1):
        raise VideoError(f"{_NAME} is empty (0 bytes), expected a video")
    if kind_of(pipe.head(HEAD_BYTES)) is not None or _needs_seeking(pipe):
        return _Copied(pipe, settings, open_file)
    return StreamReader(STDIN, lambda: _connected(pipe), _explain, settings, may_be_live=False)


class _Pipe:
    """A stream whose first bytes can be looked at before they are read. PyAV sees that it cannot seek."""

    def __init__(self, stream: BufferedReader) -> None:
        self._stream = stream
        self._head = b""

    def head(self, size: int) -> bytes:
        """The first `size` bytes, fewer at the end of the stream; they will be read again."""
        while len(self._head) < size and (more := self._stream.read1(size - len(self._head))):
            self._head += more
        return self._head[:size]

    def read(self, size: int = -1) -> bytes:
        """What is there, up to `size` bytes; waits for the first."""
        if self._head:
            given, self._head = (self._head[:size], self._head[size:]) if size >= 0 else (self._head, b"")
            return given
        return self._stream.read1(size)


def _needs_seeking(pipe: _Pipe) -> bool:
    """Whether it is an MP4 or MOV whose frames (`mdat`) come before its index (`moov`), or that leaves it open."""
    place = 0
    while place + 16 <= _MAX_HEAD_BYTES:
        box = pipe.head(place + 16)[place:]
        size, kind = int.from_bytes(box[:4], "big"), box[4:8]
        if kind not in _BOXES:
            return place > 0
        if kind in (b"moov", b"mdat"):
            return kind == b"mdat"
        if size < 8:  # 1: its length follows in 64 bits; 0: it reaches to the end
            return True
        place += size
    return True


def _connected(pipe: _Pipe) -> Connection:
    try:
        return Connection(av.open(pipe, "r", options=dict(PIPE_OPTIONS), **READ_OPTIONS), _NAME)
    except FAILURES as error:
        raise VideoError(f"{_NAME}: {_explain(error)}, expected a video such as MP4, MPEG-TS or Matroska") from error


def _explain(error: BaseException) -> str:
    return f"cannot be read ({getattr(error, 'strerror', None) or error})"


class _Copied(ClosedAtEnd):
    """A source of frames on a copy of what was piped in.

    In a spool the copy stays, since sound and all else are read from it later; else it goes when the source is closed.
    """

    def __init__(self, pipe: _Pipe, settings: SourceSettings, open_file: Callable[[Path], FrameSource]) -> None:
        with ExitStack() as stack:
            copy = _folder(settings.spool, stack) / "video"
            _copy(pipe, copy)
            try:
                self._source = stack.enter_context(open_file(copy))
            except VideoError as error:
                raise VideoError(str(error).replace(str(copy), _NAME)) from error
            self.info = replace(self._source.info, name=STDIN)
            self._opened = stack.pop_all()

    def __iter__(self) -> Iterator[Frame]:
        return iter(self._source)

    @property
    def losses(self) -> str | None:
        """What the copy was missing."""
        return self._source.losses

    def close(self) -> None:
        """Close the copy; a second call does nothing."""
        self._opened.close()


def _folder(spool: Path | None, stack: ExitStack) -> Path:
    """A new folder; one that is in no spool is deleted with the stack."""
    if spool is not None:
        return Path(tempfile.mkdtemp(prefix="standard-input-", dir=spool))
    return Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="ssd-detect-")))


def _copy(pipe: _Pipe, target: Path) -> None:
    try:
        with target.open("wb") as file:
            shutil.copyfileobj(pipe, file)
    except OSError as error:
        raise VideoError(f"{_NAME}: cannot be copied to {target.parent}: {error.strerror}") from error
