"""What travels beside the pictures into the copy of a video: sound, subtitles, chapters, metadata, covers."""

from collections import Counter
from collections.abc import Generator, Iterable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from fractions import Fraction
from io import BytesIO
from pathlib import Path

import av
from av.audio.stream import AudioStream
from av.container import InputContainer, OutputContainer
from av.stream import Stream
from av.subtitles.stream import SubtitleStream

from ssd_detect.errors import VideoError
from ssd_detect.media.video.container import LOCAL_ONLY, READ_OPTIONS
from ssd_detect.media.video.facts import carry_covers, carry_facts, is_film
from ssd_detect.media.video.sound import sound_track
from ssd_detect.media.video.subtitles import subtitle_track
from ssd_detect.media.video.tracks import SUFFIXES, AnyPacket, Span, Track, codec_name

_TITLES_OF_CHAPTERS = "bin_data"  # FFmpeg's name for the track in which an MP4 keeps them
_WORDS = {"audio": "sound", "subtitle": "subtitles"}
# What a container says of a packet that makes no sense: FFmpeg's "invalid data", "invalid argument", "patch welcome".
# All else, such as a full disk, is trouble with the copy itself.
_REFUSED = (ValueError, av.error.PatchWelcomeError)
_MAX_UNREADABLE = 100  # errors of the container on end before its rest is given up
_WAY_OUT = 60  # seconds after a source's claimed end at which a time stamp must be wrong
_INDEXED = {"mp4", "matroska"}  # containers in which FFmpeg finds a time exactly
_RUN_UP = 60  # seconds before a cut from which is read: the longest that a subtitle may be shown already
_OUT_OF_STEP = 10  # seconds by which the tracks of a file may be stored apart


@dataclass(frozen=True)
class CompanionSettings:
    """What to carry over.

    Args:
        audio: the sound too.
        covers: the cover picture too, which may show what is hidden in the frames.
        start: seconds on the source's clock: what lies before is left out, and everything is moved by -start.
        end: seconds on the source's clock: what begins then or later is left out; chapters and subtitles are cut.
    """

    audio: bool = True
    covers: bool = True
    start: Fraction | None = None
    end: Fraction | None = None


class Companions:
    """All that goes beside the pictures, added to `output` when made, then written in step with its frames.

    The source is a container of its own, so that only what is due is in memory, however a file orders sound and frames.

    Raises:
        VideoError: a sound track can be neither copied nor encoded.
    """

    def __init__(
        self, path: Path, source: InputContainer, output: OutputContainer, settings: CompanionSettings
    ) -> None:
        self._path, self._source, self._output = path, source, output
        self._span = Span(settings.start, settings.end)
        self._notes: list[str] = []
        self._damaged: Counter[str] = Counter()
        self._tracks: dict[int, Track] = {}
        self._streams: list[Stream] = []  # those of `_tracks`
        self._covers = carry_covers(source, output) if settings.covers else []
        if output.format.name != "gif":
            carry_facts(source, output, self._span)
        if output.format.name in ("avi", "gif") and source.chapters():
            self._notes.append(f"chapters are left out: {SUFFIXES[output.format.name]} does not take them")
        for stream in source.streams:
            self._add(stream, settings)
        _skip_to(source, self._span.start)
        self._packets = self._read()
        self._next = next(self._packets, None)

    @property
    def notes(self) -> tuple[str, ...]:
        """What does not stay as it is, each a short clause; known from the beginning."""
        return tuple(self._notes)

    @property
    def losses(self) -> str | None:
        """What was damaged, in words, once all is written; None when nothing was."""
        kinds = [f"{n} damaged packet{'s' * (n > 1)} of {kind}" for kind, n in sorted(self._damaged.items())]
        verb = "was" if self._damaged.total() == 1 else "were"
        return f"{' and '.join(kinds)} {verb} left out" if kinds else None

    def write_until(self, seconds: Fraction | None) -> None:
        """Write what is due up to this time of the copy's clock; None: all that is left, and it is the last call."""
        self._output.mux(self._covers)
        self._covers = []
        while self._next is not None and (seconds is None or self._is_due(self._next, seconds)):
            packet, self._next = self._next, next(self._packets, None)
            self._write(packet.stream, self._tracks[packet.stream.index].packets(packet))
        if seconds is None:
            for stream in self._streams:
                self._write(stream, self._tracks[stream.index].rest())

    def close(self) -> None:
        """Read no further."""
        self._packets.close()

    def _add(self, stream: Stream, settings: CompanionSettings) -> None:
        if isinstance(stream, AudioStream):
            if settings.audio:
                self._add_track(stream, *self._sound(stream))
        elif isinstance(stream, SubtitleStream):
            self._add_track(stream, *self._subtitles(stream))
        elif self._is_missed(stream):
            kind = "another video" if stream.type == "video" else "a data"
            self._notes.append(f"{kind} track ({codec_name(stream)}) is left out")

    def _add_track(self, stream: Stream, track: Track | None, note: str | None) -> None:
        if track is not None:
            self._tracks[stream.index] = track
            self._streams.append(stream)
        if note is not None and note not in self._notes:
            self._notes.append(note)

    def _sound(self, stream: AudioStream) -> tuple[Track | None, str | None]:
        if self._output.format.name == "gif":
            return None, "a GIF has no sound"
        if getattr(stream, "codec_context", None) is None:
            return None, f"sound ({codec_name(stream)}) is left out: this build of PyAV cannot read it"
        begin = _begin(self._path, stream, self._span) if self._output.format.name == "avi" else None
        try:
            return sound_track(stream, self._output, self._span, begin)
        except (av.FFmpegError, ValueError) as error:
            raise VideoError(f"{self._path}: its sound cannot be kept ({error}); use --no-audio") from error

    def _subtitles(self, stream: SubtitleStream) -> tuple[Track | None, str | None]:
        if getattr(stream, "codec_context", None) is None:
            return None, f"subtitles ({codec_name(stream)}) are left out: this build of PyAV cannot read them"
        return subtitle_track(stream, self._output, self._span)

    def _is_missed(self, stream: Stream) -> bool:
        if stream.type == "data":
            return not (stream.name == _TITLES_OF_CHAPTERS and self._source.chapters())
        return is_film(stream) and stream != next(filter(is_film, self._source.streams.video))

    def _read(self) -> Generator[AnyPacket, None, None]:
        """The packets of all tracks; after an error of the container it goes on behind it, if there is more."""
        num_failed = 0  # tries on end
        while self._streams and num_failed < _MAX_UNREADABLE:
            try:
                for packet in self._source.demux(*self._streams):
                    num_failed = 0
                    if self._is_behind(packet):
                        return
                    if packet.is_corrupt:  # such as the last one of a file that is cut off
                        self._damaged[_WORDS[packet.stream.type]] += 1
                    elif packet.size:
                        yield self._believable(packet)
                return
            except av.FFmpegError:
                self._damaged["the file"] += num_failed == 0
                num_failed += 1

    def _is_behind(self, packet: AnyPacket) -> bool:
        """Whether nothing that is wanted can follow."""
        told, end = packet.dts, self._span.end
        return end is not None and told is not None and told * packet.time_base > end + _OUT_OF_STEP

    def _believable(self, packet: AnyPacket) -> AnyPacket:
        """The packet, without its time stamps if they are far behind the end of the file."""
        length = self._source.duration
        if length and packet.dts is not None:
            claimed_end = Fraction((self._source.start_time or 0) + length, av.time_base)
            if packet.dts * packet.time_base > claimed_end + _WAY_OUT:
                packet.pts = packet.dts = None
        return packet

    def _is_due(self, packet: AnyPacket, seconds: Fraction) -> bool:
        return packet.dts is None or packet.dts * packet.time_base - self._span.shift <= seconds

    def _write(self, stream: Stream, packets: Iterable[AnyPacket]) -> None:
        for packet in self._undamaged(stream, packets):
            try:
                self._output.mux(packet)
            except _REFUSED:
                self._damaged[_WORDS[stream.type]] += 1

    def _undamaged(self, stream: Stream, packets: Iterable[AnyPacket]) -> Iterator[AnyPacket]:
        try:
            yield from packets
        except av.FFmpegError:
            self._damaged[_WORDS[stream.type]] += 1


@contextmanager
def companions_of(path: Path, output: OutputContainer, settings: CompanionSettings) -> Iterator[Companions]:
    """The companions of the file `path`, added to `output`, whose header is not written yet; closed at the block's end.

    Raises:
        VideoError: `path` cannot be read; a sound track can be neither copied nor encoded.
    """
    with _opened(path) as source, closing(Companions(path, source, output, settings)) as companions:
        yield companions


def check_companions(path: Path, container_format: str, settings: CompanionSettings) -> tuple[str, ...]:
    """The notes that `companions_of` will have for a container such as "mp4", found without writing anything.

    Raises:
        VideoError: as `companions_of`, or the container refuses.
    """
    output = av.open(BytesIO(), "w", format=container_format)
    try:
        with companions_of(path, output, settings) as companions:
            if len(output.streams):
                output.start_encoding()
            return companions.notes
    except av.FFmpegError as error:
        why = f"{SUFFIXES[container_format]} refuses its sound or subtitles"
        raise VideoError(f"{path}: {why} ({error.strerror}); use --no-audio, or write another kind of file") from error
    finally:
        with suppress(av.FFmpegError):
            output.close()


@contextmanager
def _opened(path: Path) -> Iterator[InputContainer]:
    try:
        source = av.open(str(path.absolute()), "r", options=dict(LOCAL_ONLY), **READ_OPTIONS)
    except (av.FFmpegError, OSError) as error:
        raise VideoError(f"{path}: cannot be read ({error.strerror}), expected a video file") from error
    with source:
        yield source


def _begin(path: Path, stream: Stream, span: Span) -> Fraction:
    """When the first packet of a track that is kept begins, in seconds on the clock of the copy."""
    with _opened(path) as source, suppress(av.FFmpegError):  # which `_read` will meet again, and count
        _skip_to(source, span.start)
        for packet in source.demux(source.streams[stream.index]):
            if packet.pts is not None and span.holds(packet.pts * packet.time_base):
                return packet.pts * packet.time_base - span.shift
    return Fraction(0)


def _skip_to(source: InputContainer, start: Fraction | None) -> None:
    """Pass over what lies long before a cut, where that is safe."""
    if start is not None and start > _RUN_UP and _INDEXED & set(source.format.name.split(",")):
        with suppress(av.FFmpegError):
            source.seek(int((start - _RUN_UP) * av.time_base))
