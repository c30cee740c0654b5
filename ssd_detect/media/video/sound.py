"""The sound of a file, carried into another one: packet by packet where the container takes the codec, else as AAC."""

from collections.abc import Generator, Iterator
from contextlib import closing, contextmanager
from fractions import Fraction
from pathlib import Path
from typing import Any, Protocol

import av
from av.audio.stream import AudioStream
from av.container import InputContainer, OutputContainer
from av.packet import Packet

from ssd_detect.errors import VideoError

# What players expect inside these containers; a container without a list gets what its format allows.
_PLAYABLE = {
    "mp4": ("aac", "mp3", "ac3", "eac3", "alac", "flac", "opus"),
    "mov": ("aac", "mp3", "ac3", "eac3", "alac", "pcm_s16le", "pcm_s16be", "pcm_s24le", "pcm_s24be", "pcm_f32le"),
}
_AAC_BITS_PER_CHANNEL = 96_000
_AAC_RATES = (48_000, 44_100, 96_000, 88_200, 64_000, 32_000, 24_000, 22_050, 16_000, 12_000, 11_025, 8_000, 7_350)
_LAYOUTS = {1: "mono", 2: "stereo", 3: "3.0", 4: "4.0", 5: "5.0", 6: "5.1", 8: "7.1"}


class _Track(Protocol):
    """One audio track on its way."""

    def packets(self, packet: "Packet[Any]") -> "list[Packet[Any]]":
        """What to write for a packet as read; the last one read is empty."""


class _CopiedTrack:
    def __init__(self, track: AudioStream, output: OutputContainer) -> None:
        self._target = output.add_stream_from_template(track)
        _copy_names(track, self._target)

    def packets(self, packet: "Packet[Any]") -> "list[Packet[Any]]":
        if packet.size == 0:
            return []
        packet.stream = self._target
        return [packet]


class _EncodedTrack:
    def __init__(self, track: AudioStream, output: OutputContainer) -> None:
        self._source = track
        self._target = output.add_stream("aac", track.rate if track.rate in _AAC_RATES else _AAC_RATES[0])
        self._target.layout = _usual_layout(track)
        self._target.bit_rate = _AAC_BITS_PER_CHANNEL * track.channels
        self._target.codec_context.open()  # fails here if it must
        _copy_names(track, self._target)

    def packets(self, packet: "Packet[Any]") -> "list[Packet[Any]]":
        encoded = [done for frame in self._source.decode(packet) for done in self._target.encode(frame)]
        return encoded if packet.size else [*encoded, *self._target.encode(None)]


class SoundTracks:
    """All audio tracks of `source`, added to `output` when made, then written in step with its frames.

    The source is a container of its own, so that only what is due is in memory, however a file orders sound and frames.

    Raises:
        VideoError: a track can be neither copied nor encoded; while writing: damaged sound.
    """

    def __init__(self, path: Path, source: InputContainer, output: OutputContainer) -> None:
        self._path, self._output = path, output
        self._tracks = {track.index: self._add(track) for track in source.streams.audio}
        self._packets = self._read(source)
        self._next = next(self._packets, None)

    def _add(self, track: AudioStream) -> _Track:
        try:
            kind = _CopiedTrack if _fits(track, self._output) else _EncodedTrack
            return kind(track, self._output)
        except (av.FFmpegError, ValueError, AttributeError) as error:
            raise VideoError(f"{self._path}: its sound cannot be kept ({error}); use --no-audio") from error

    def _read(self, source: InputContainer) -> "Generator[Packet[Any], None, None]":
        try:
            yield from source.demux(*source.streams.audio) if source.streams.audio else ()
        except av.FFmpegError as error:
            raise VideoError(f"{self._path}: its sound is damaged ({error.strerror}); use --no-audio") from error

    def write_until(self, seconds: Fraction | None) -> None:
        """Write all sound that is due up to this time of the file's clock; None: all that is left."""
        while self._next is not None and (seconds is None or _is_due(self._next, seconds)):
            packet, self._next = self._next, next(self._packets, None)
            self._output.mux(self._converted(packet))

    def _converted(self, packet: "Packet[Any]") -> "list[Packet[Any]]":
        try:
            return self._tracks[packet.stream.index].packets(packet)
        except av.FFmpegError as error:
            raise VideoError(f"{self._path}: its sound is damaged ({error.strerror}); use --no-audio") from error

    def close(self) -> None:
        """Read no further."""
        self._packets.close()


@contextmanager
def sound_of(path: Path, output: OutputContainer) -> Iterator[SoundTracks]:
    """The `SoundTracks` of the file `path`, which is closed at the block's end."""
    with av.open(str(path.absolute()), "r") as source, closing(SoundTracks(path, source, output)) as tracks:
        yield tracks


def _is_due(packet: "Packet[Any]", seconds: Fraction) -> bool:
    return packet.dts is None or packet.dts * packet.time_base <= seconds


def _fits(track: AudioStream, output: OutputContainer) -> bool:
    """Whether the codec may go into the container; compared by number, since one codec has decoders of many names."""
    codec = track.codec_context.codec.id
    names = _PLAYABLE.get(output.format.name, output.supported_codecs)
    return codec in {_codec_number(name) for name in names}


def _codec_number(name: str) -> int:
    for mode in ("r", "w"):
        try:
            return av.Codec(name, mode).id
        except ValueError:
            continue
    return -1


def _copy_names(source: AudioStream, target: AudioStream) -> None:
    """The language and the title, by which a player lets one choose a track."""
    target.metadata.update({name: text for name, text in source.metadata.items() if name in ("language", "title")})


def _usual_layout(track: AudioStream) -> str:
    """The track's channels by a name that AAC knows; raw sound often tells only their number."""
    name = track.layout.name
    return _LAYOUTS.get(track.channels, "stereo") if " " in name else name
