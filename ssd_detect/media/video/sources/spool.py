"""The sound of a stream, which cannot be opened a second time: copied into a file while the frames are read."""

import os
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
from av.audio.stream import AudioStream
from av.packet import Packet

_OPTIONS = {"avoid_negative_ts": "disabled"}  # else all sound comes later when it starts before 0


class SoundSpool:
    """A Matroska file with all audio tracks of a stream, complete once it is closed.

    Sound that cannot be copied is given up; the frames go on.

    Args:
        folder: where the file is made.
        tracks: of the stream, at least one.
        origin: seconds on the clock of the stream that become 0.
    """

    def __init__(self, folder: Path, tracks: Sequence[AudioStream], origin: Fraction) -> None:
        number, name = tempfile.mkstemp(suffix=".mka", dir=folder)
        os.close(number)
        self.path = Path(name)
        self._origin = origin
        self._end = Fraction(0)
        self._failure: str | None = None
        self._container = av.open(name, "w", format="matroska", container_options=dict(_OPTIONS))
        try:
            self._targets = {track.index: self._container.add_stream_from_template(track) for track in tracks}
            self._container.start_encoding()
        except (av.FFmpegError, ValueError) as error:
            self._give_up(getattr(error, "strerror", None) or str(error))

    @property
    def failure(self) -> str | None:
        """Why sound is missing, in words; None when it is complete so far."""
        return self._failure

    def write(self, packet: "Packet[Any]") -> None:
        """Add a packet of one of the tracks."""
        if self._failure is not None or packet.size == 0:
            return
        base = packet.time_base
        shift = round(self._origin / base)
        packet.pts = None if packet.pts is None else packet.pts - shift
        packet.dts = None if packet.dts is None else packet.dts - shift
        end = ((packet.pts or 0) + (packet.duration or 0)) * base
        packet.stream = self._targets[packet.stream.index]
        try:
            self._container.mux(packet)
            self._end = max(self._end, end)
        except av.FFmpegError as error:
            self._give_up(error.strerror or str(error))

    def end(self) -> None:
        """Take no more sound: what comes now is on another clock."""
        self._give_up("the connection was lost")

    def _give_up(self, reason: str) -> None:
        if self._failure is None:
            self._failure = f"its sound is missing from {float(self._end):.1f} s on ({reason})"
            self.close()

    def close(self) -> None:
        """Complete the file; a second call does nothing."""
        with suppress(av.FFmpegError):  # of a full disk or a codec that Matroska does not take: told already
            self._container.close()
