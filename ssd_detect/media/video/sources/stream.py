"""Streams, which come once: from a server or from standard input."""

import threading
from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import chain
from typing import Any

from av.packet import Packet

from ssd_detect.errors import VideoError
from ssd_detect.media.video.frames import Frame, VideoInfo
from ssd_detect.media.video.shown import ShownFrames
from ssd_detect.media.video.sources.connection import FAILURES, Connection, TimedFrame
from ssd_detect.media.video.sources.settings import SourceSettings
from ssd_detect.media.video.sources.source import ClosedAtEnd, joined
from ssd_detect.media.video.sources.spool import SoundSpool
from ssd_detect.media.video.sources.stream_clock import StreamClock

_TOLERATED_GAP = 0.5  # seconds by which what is whole may end before the length that it claims


class StreamReader(ClosedAtEnd):
    """The frames of a stream, upright, all of the size of the first.

    A live stream (one without length and size) that is lost or stalls is connected to again; its times go on by the
    wall clock. What has an end is read to it. Either way the frames end without an error, and `losses` says what is
    missing. Sound goes into a file in the spool folder, on the clock of the frames, complete once the frames have ended
    or the reader is closed; it ends with the first connection.

    Args:
        name: for messages and records.
        connect: opens the stream; raises VideoError.
        explain: says in words why reading fails.
        settings: how long to wait, how often to try.
        may_be_live: False for what cannot be connected to again.

    Raises:
        VideoError: no connection, no video, or no first frame.
    """

    def __init__(
        self,
        name: str,
        connect: Callable[[], Connection],
        explain: Callable[[BaseException], str],
        settings: SourceSettings,
        *,
        may_be_live: bool,
    ) -> None:
        self._name, self._connect, self._explain, self._settings = name, connect, explain, settings
        self._closed = threading.Event()
        self._lost: str | None = None
        self._num_damaged = self._num_gaps = 0
        self._gap_seconds = 0.0
        self._spool: SoundSpool | None = None
        self._connection = connection = connect()
        try:
            self._is_live = may_be_live and connection.is_endless
            self._clock = StreamClock(connection.time_base, connection.start, is_live=self._is_live)
            self._spool = self._new_spool()
            first = self._first_frame(self._spool.write if self._spool is not None else None)
            self._shown = ShownFrames(first.frame, connection.video)
            self.info = self._describe()
            self._frames = chain([self._frame(first)], map(self._frame, self._rest))
        except BaseException:
            self.close()
            raise

    def _new_spool(self) -> SoundSpool | None:
        if self._settings.spool is None or not self._connection.audio:
            return None
        return SoundSpool(self._settings.spool, self._connection.audio, self._clock.origin)

    def _first_frame(self, on_sound: "Callable[[Packet[Any]], None] | None") -> TimedFrame:
        # Threads that each decode a frame of their own hold frames back, which a live stream must not.
        self._connection.video.thread_type = "SLICE" if self._is_live else "AUTO"
        self._rest = self._connection.frames(on_sound)
        try:
            first = self._take_first()
        except FAILURES as error:
            # A file that has been opened and yet cannot be read on: MP4 whose server cannot go back to the frames.
            hint = "; its index may stand behind them, so download the file" if self._connection.seconds else ""
            message = f"{self._name}: no frame of it can be read: {self._explain(error)}{hint}"
            raise VideoError(message) from None  # PyAV's error holds the whole address
        if first is None:
            raise VideoError(f"{self._name}: no frame of its video track can be read; it is damaged or empty")
        return first

    def _take_first(self) -> TimedFrame | None:
        first = next(self._rest, None)
        if first is not None and self._is_live and first.frame.pts is None and self._connection.has_own_times:
            return next(self._rest, first)  # FFmpeg gives the first frame of RTSP no time, and counts from the second
        return first

    def _describe(self) -> VideoInfo:
        connection, shown = self._connection, self._shown
        count = connection.video.frames or round((connection.seconds or 0) * connection.rate)
        spool = self._spool
        return VideoInfo(
            name=self._name,
            width=shown.width,
            height=shown.height,
            rate=connection.rate,
            time_base=self._clock.time_base,
            frame_count=None if self._is_live else count or None,
            pixel_aspect=shown.pixel_aspect,
            colour=shown.colour,
            companions=spool.path if spool is not None and spool.failure is None else None,
            is_live=self._is_live,
            notes=shown.notes,
        )

    def _frame(self, timed: TimedFrame) -> Frame:
        time = self._clock.time_of(timed.time, is_told=self._connection.has_own_times)
        return Frame(self._shown.pixels(timed.frame), time)

    def __iter__(self) -> Iterator[Frame]:
        while True:
            failure: BaseException | None = None
            try:
                yield from self._frames
            except FAILURES as error:
                failure = error
            self._lost = None if self._is_live else self._about_end(failure)
            self._end_connection()
            if not self._is_live or not self._is_connected_again():
                return

    def _about_end(self, failure: BaseException | None) -> str | None:
        """What is missing behind the last frame of what is not live."""
        end, claimed = self._connection.end, self._connection.seconds
        if failure is not None:
            return f"it broke off after {float(end):.1f} s: {self._explain(failure)}"
        start = min(Fraction(0), self._connection.start)  # a file counts its length from 0 or from its start
        if claimed is not None and claimed - (end - start) > _TOLERATED_GAP:
            return f"it ends after {float(end - start):.1f} of {float(claimed):.1f} seconds; it is cut off"
        return None

    def _is_connected_again(self) -> bool:
        seconds, tries = self._clock.seconds, self._settings.reconnects
        for attempt in range(tries):
            if self._closed.wait(self._settings.pause_before(attempt)):
                return False
            if self._is_connected():
                self._num_gaps += 1
                return True
        ending = f" and could not be made again in {tries} tries" if tries else ""
        self._lost = f"the connection was lost after {seconds:.1f} s{ending}"
        return False

    def _is_connected(self) -> bool:
        try:
            self._connection = self._connect()
            first = self._first_frame(on_sound=None)
        except VideoError:
            self._connection.close()
            return False
        if self._spool is not None:
            self._spool.end()
        before = self._clock.seconds
        self._clock.restart()
        frame = self._frame(first)
        self._gap_seconds += frame.time.start - before
        self._frames = chain([frame], map(self._frame, self._rest))
        return True

    def _end_connection(self) -> None:
        self._num_damaged += self._connection.num_damaged
        self._connection.close()
        if self._spool is not None:
            self._spool.close()

    @property
    def losses(self) -> str | None:
        """What was missing, in words, once it is read to its end; None when nothing was."""
        gaps, damaged = self._num_gaps, self._num_damaged
        return joined(
            (
                self._lost,
                f"the connection was lost {gaps} times, {self._gap_seconds:.1f} s are missing" if gaps else None,
                f"{damaged} damaged packets were left out" if damaged else None,
                self._spool.failure if self._spool is not None else None,
            )
        )

    def close(self) -> None:
        """Free everything and complete the file of the sound; a second call does nothing."""
        self._closed.set()
        self._connection.close()
        if self._spool is not None:
            self._spool.close()
