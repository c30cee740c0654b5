"""One track of a file on its way into another: how it is cut and moved in time, named, and copied packet by packet."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from math import ceil
from typing import Any, Protocol, TypeAlias, cast

import av
from av.packet import Packet
from av.stream import Disposition, Stream

AnyPacket: TypeAlias = "Packet[Any]"

SUFFIXES = {"mp4": ".mp4", "mov": ".mov", "matroska": ".mkv", "webm": ".webm", "avi": ".avi", "gif": ".gif"}
"""Container format -> how messages call it."""

_FINEST_TICK = Fraction(1, 10_000)  # seconds: coarser clocks (an AVI's tick is a frame) are refined before a move
# What belongs to one copy of a track, not to the track: written anew, or wrong after the change.
_NOT_KEPT = {"encoder", "duration", "rotate", "vendor_id", "timecode", "name"}
_STATISTICS = ("bps", "number_of_", "_statistics_")  # of mkvmerge
_MADE_UP_HANDLERS = ("VideoHandler", "SoundHandler", "SubtitleHandler")  # FFmpeg's words for "no name"
# QuickTime numbers its languages; FFmpeg finds them by these codes, not by those of ISO 639-2/T (movenc's table).
_QUICKTIME_LANGUAGES = {
    **{"deu": "ger", "ell": "gre", "hye": "arm", "isl": "ice", "kat": "geo", "mkd": "mac", "nld": "dut", "sqi": "alb"},
    **{"swe": "sve", "zho": "chi"},
}


@dataclass(frozen=True)
class Span:
    """The part of a source that is kept: seconds on its clock from `start` up to, not including, `end`."""

    start: Fraction | None = None
    end: Fraction | None = None

    @property
    def shift(self) -> Fraction:
        """Seconds by which everything comes earlier in the copy."""
        return self.start or Fraction(0)

    def holds(self, seconds: Fraction) -> bool:
        """Whether what begins then is kept."""
        return (self.start is None or seconds >= self.start) and (self.end is None or seconds < self.end)

    def cut(self, begin: Fraction, end: Fraction) -> tuple[Fraction, Fraction] | None:
        """What is left of [begin, end), on the clock of the copy; None when nothing is."""
        left = begin if self.start is None else max(begin, self.start)
        right = end if self.end is None else min(end, self.end)
        return (left - self.shift, right - self.shift) if left < right else None

    def move(self, packet: AnyPacket) -> None:
        """Put the packet on the clock of the copy."""
        if not self.shift:
            return
        parts = ceil(packet.time_base / _FINEST_TICK)
        shift = round(self.shift / packet.time_base * parts)
        pts, dts, duration = packet.pts, packet.dts, packet.duration
        packet.time_base /= parts
        packet.pts = None if pts is None else pts * parts - shift
        packet.dts = None if dts is None else dts * parts - shift
        packet.duration = (duration or 0) * parts


class Track(Protocol):
    """One track on its way."""

    def packets(self, packet: AnyPacket) -> Iterable[AnyPacket]:
        """What to write for a packet as read, on the clock of the copy; av.FFmpegError: it is damaged."""

    def rest(self) -> Iterable[AnyPacket]:
        """What to write after the last packet."""


class PacketClock:
    """Gives packets of one track time stamps that grow: one that is missing or does not grow follows the one before."""

    def __init__(self) -> None:
        self._last: int | None = None
        self._end = 0

    def mend(self, packet: AnyPacket) -> None:
        """Set both time stamps of the track's next packet."""
        told = packet.pts if packet.dts is None else packet.dts
        if told is None or (self._last is not None and told <= self._last):
            packet.pts = packet.dts = told = self._end
        elif packet.dts is None or packet.pts is None:
            packet.pts = packet.dts = told
        self._last, self._end = told, told + (packet.duration or 1)


class CopiedTrack:
    """A track whose packets stay as they are, bit for bit: those that begin inside the span."""

    def __init__(self, target: Stream, span: Span) -> None:
        self._target, self._span, self._clock = target, span, PacketClock()

    def packets(self, packet: AnyPacket) -> Iterator[AnyPacket]:
        """The packet itself, when it is inside."""
        self._clock.mend(packet)
        if packet.pts is not None and self._span.holds(packet.pts * packet.time_base):
            self._span.move(packet)
            packet.stream = self._target
            yield packet

    def rest(self) -> Iterable[AnyPacket]:
        """Nothing."""
        return ()


def copy_names(source: Stream, target: Stream, container_format: str) -> None:
    """Carry over language, title, what else is told of a track, and what it is for (`default`, `forced`, ...)."""
    told = kept_metadata(source.metadata)
    if "name" in source.metadata:  # so FFmpeg calls the title of a track in an MP4 when it reads, not when it writes
        told.setdefault("title", source.metadata["name"])
    handler = told.pop("handler_name", None)
    if container_format in ("mp4", "mov"):  # where many players show the handler's name for a title
        told["handler_name"] = handler if handler and handler not in _MADE_UP_HANDLERS else told.get("title", "")
    if container_format == "mov" and "language" in told:
        told["language"] = _QUICKTIME_LANGUAGES.get(told["language"], told["language"])
    target.metadata.update({key: text for key, text in told.items() if text})
    set_disposition(target, source.disposition)


def set_disposition(target: Stream, disposition: Disposition) -> None:
    """Say what a track is for; PyAV before 17 wants the number."""
    target.disposition = cast(Disposition, disposition.value)


def kept_metadata(metadata: dict[str, str]) -> dict[str, str]:
    """What is true of a copy too; a text that is told for one language and for all is kept once."""
    keys = {key.lower() for key in metadata}
    return {key: text for key, text in metadata.items() if _is_kept(key.lower(), keys)}


def _is_kept(key: str, keys: set[str]) -> bool:
    stem, dash, language = key.rpartition("-")
    is_of_language = bool(dash) and len(language) == 3
    what = stem if is_of_language else key
    return what not in _NOT_KEPT and not what.startswith(_STATISTICS) and not (is_of_language and what in keys)


def codec_name(track: Stream) -> str:
    """The name of a codec, whatever its decoder is called ("mp3", not "mp3float"); else its track's name."""
    context = getattr(track, "codec_context", None)
    if context is not None:
        return str(context.codec.canonical_name)
    return track.metadata.get("handler_name", "").strip() or getattr(track, "name", None) or "unknown"


def is_among(track: Stream, names: Iterable[str]) -> bool:
    """Whether the track's codec is one of these; compared by number, since one codec has decoders of many names."""
    return track.codec_context.codec.id in {_codec_number(name) for name in names}


def _codec_number(name: str) -> int:
    for mode in ("r", "w"):
        try:
            return av.Codec(name, mode).id
        except ValueError:
            continue
    return -1
