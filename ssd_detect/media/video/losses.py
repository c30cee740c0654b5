"""How many frames of a video are missing though its packets are there."""

from typing import Any

import av
from av.packet import Packet

# Decoders of these pass over pictures without a word when what they refer to is damaged. In them a packet is a picture
# that is shown; in others a packet may be one that is not.
_QUIET = ("h264", "hevc")


class LostFrames:
    """Compares the time stamps of packets with those of frames.

    What comes before the first frame does not count: recordings of broadcasts begin with pictures that refer to
    earlier ones. Neither do pairs of fields, of which each may have a packet and a time.

    Args:
        codec: FFmpeg's name of it.
    """

    def __init__(self, codec: str) -> None:
        self._is_able = codec in _QUIET
        self._waiting: set[int] = set()
        self._first: int | None = None
        self._last: int | None = None

    def note_packet(self, packet: "Packet[Any]") -> None:
        """A packet goes to the decoder."""
        if self._is_able and packet.size and packet.pts is not None and not packet.is_discard:
            self._waiting.add(packet.pts)

    def note_frame(self, frame: av.VideoFrame) -> None:
        """A frame came out."""
        if frame.pts is None or frame.interlaced_frame:
            self._is_able = False
        if not self._is_able or frame.pts is None:
            return
        self._waiting.discard(frame.pts)
        self._first = frame.pts if self._first is None else self._first
        self._last = frame.pts if self._last is None else max(self._last, frame.pts)

    @property
    def count(self) -> int:
        """How many are missing between the first frame and the last one."""
        if not self._is_able or self._first is None or self._last is None:
            return 0
        return sum(self._first < pts < self._last for pts in self._waiting)
