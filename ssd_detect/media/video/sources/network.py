"""Streams and videos from servers, by FFmpeg's protocols."""

import socket
import time

import av

from ssd_detect.errors import PictureError, VideoError
from ssd_detect.media.sources.urls import shown_url, split_url
from ssd_detect.media.video.container import READ_OPTIONS
from ssd_detect.media.video.sources.connection import FAILURES, Connection
from ssd_detect.media.video.sources.inputs import STREAM_SCHEMES
from ssd_detect.media.video.sources.protocols import network_options
from ssd_detect.media.video.sources.settings import SourceSettings
from ssd_detect.media.video.sources.stream import StreamReader

_FRAME_WAITS = 2  # time-outs; a stream that is joined waits for a whole picture, which come every few seconds


def open_network(url: str, settings: SourceSettings) -> StreamReader:
    """The video at an address of one of `STREAM_SCHEMES`. A user name and password in it are sent to its host alone.

    Raises:
        VideoError: no such host, nobody answers, another answer than a video, or no answer in time.
    """
    server = _Server(url, settings)
    return StreamReader(server.name, server.connect, server.explain, settings, may_be_live=True)


class _Server:
    """Where to connect to, as often as needed."""

    def __init__(self, url: str, settings: SourceSettings) -> None:
        self.name = shown_url(url)
        self._url, self._settings = url, settings
        try:
            self._parts = split_url(url, STREAM_SCHEMES)
        except PictureError as error:
            raise VideoError(str(error)) from error

    def connect(self) -> Connection:
        """Connect, and find out what is sent."""
        limit = self._settings.timeout_seconds
        began = time.monotonic()
        try:
            socket.getaddrinfo(self._parts.hostname, self._parts.port)  # FFmpeg does not say that a host is unknown
            options = network_options(self._parts.scheme)
            container = av.open(self._url, "r", options=options, timeout=(limit, limit), **READ_OPTIONS)
        except FAILURES as error:
            # FFmpeg's RTSP calls an answer that did not come in time damaged.
            late = TimeoutError() if time.monotonic() - began >= limit else error
            raise VideoError(f"{self.name}: {self.explain(late)}") from None  # PyAV's error holds the whole address
        return Connection(container, self.name, _FRAME_WAITS * limit)

    def explain(self, error: BaseException) -> str:
        """Why it cannot be read, without anything that the server sent."""
        if isinstance(error, socket.gaierror):
            return "its host cannot be found; check the address and the network"
        if isinstance(error, av.ExitError | TimeoutError):
            return f"no answer within {self._settings.timeout_seconds:g} s"
        if isinstance(error, av.InvalidDataError):
            return "is no video that can be read; give the address of the video itself, not of a page around it"
        if isinstance(error, av.ProtocolNotFoundError):
            return f"this build of PyAV does not know {self._parts.scheme}://, or a redirect leads elsewhere"
        return f"cannot be read ({getattr(error, 'strerror', None) or error})"
