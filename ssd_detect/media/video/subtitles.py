"""Subtitles on their way into another file: as they are where the container takes them, else as its kind of text."""

from collections.abc import Iterable, Iterator
from fractions import Fraction

import av
from av.container import OutputContainer
from av.subtitles.codeccontext import SubtitleCodecContext
from av.subtitles.stream import SubtitleStream

from ssd_detect.media.video.tracks import SUFFIXES, AnyPacket, Span, Track, codec_name, copy_names, is_among

_MOV_TEXT = "mov_text"
# Container format -> what goes in as it is; the first is what other texts become.
_TAKEN = {
    "mp4": (_MOV_TEXT,),
    "mov": (_MOV_TEXT,),
    "matroska": ("subrip", "ass", "webvtt", "hdmv_pgs_subtitle", "dvd_subtitle", "dvb_subtitle"),
    "webm": ("webvtt",),
}
_EMPTY = b"\0\0"  # a 16-bit length of 0, and no text: a gap in a track of 3GPP timed text (TS 26.245, 5.16)

_TICK = Fraction(1, 90_000)  # seconds: MPEG's clock, of which Matroska's milliseconds are multiples
_MOMENT = Fraction(1, 1000)  # seconds: what a subtitle counts as that does not tell how long it is shown


class _Cues:
    """Where subtitles are placed: each keeps what the span leaves of it.

    One that is shown when the span begins is shown from there.
    """

    def __init__(self, target: SubtitleStream, span: Span) -> None:
        self._target, self._span = target, span

    def placed(self, packet: AnyPacket, source: AnyPacket) -> Iterator[AnyPacket]:
        """`packet` with the times of `source`, cut and moved."""
        pts = source.dts if source.pts is None else source.pts
        begin = (pts or 0) * source.time_base
        length = (source.duration or 0) * source.time_base
        cut = self._span.cut(begin, begin + (length or _MOMENT))
        if cut is not None:
            packet.time_base, packet.stream = _TICK, self._target
            packet.pts = packet.dts = round(cut[0] / _TICK)
            packet.duration = round((cut[1] - cut[0]) / _TICK) if length else 0
            yield packet


class _CopiedSubtitles:
    def __init__(self, track: SubtitleStream, output: OutputContainer, span: Span) -> None:
        self._is_mov_text = is_among(track, [_MOV_TEXT])
        target = output.add_stream_from_template(track, opaque=True)
        copy_names(track, target, output.format.name)
        self._cues = _Cues(target, span)

    def packets(self, packet: AnyPacket) -> Iterator[AnyPacket]:
        if not (self._is_mov_text and bytes(packet) == _EMPTY):  # the muxer makes gaps of its own
            yield from self._cues.placed(packet, packet)

    def rest(self) -> Iterable[AnyPacket]:
        return ()


class _ConvertedSubtitles:
    def __init__(self, track: SubtitleStream, output: OutputContainer, span: Span) -> None:
        name = _TAKEN[output.format.name][0]
        self._decoder = track.codec_context
        self._decoder.open(strict=False)
        trial = av.CodecContext.create(name, "w")
        assert isinstance(trial, SubtitleCodecContext)
        _open(trial, self._decoder)  # fails here if it must, before there is a track
        target = output.add_stream(name)
        assert isinstance(target, SubtitleStream)
        self._encoder = target.codec_context
        _open(self._encoder, self._decoder)
        copy_names(track, target, output.format.name)
        self._cues = _Cues(target, span)

    def packets(self, packet: AnyPacket) -> Iterator[AnyPacket]:
        subtitle = self._decoder.decode2(packet)
        if subtitle is not None and len(subtitle):
            yield from self._cues.placed(self._encoder.encode_subtitle(subtitle), packet)

    def rest(self) -> Iterable[AnyPacket]:
        return ()


def _open(encoder: SubtitleCodecContext, decoder: SubtitleCodecContext) -> None:
    encoder.subtitle_header = decoder.subtitle_header  # the styles
    encoder.open()


def subtitle_track(track: SubtitleStream, output: OutputContainer, span: Span) -> tuple[Track | None, str | None]:
    """The track, added to the output if that can be, and a note when it does not stay as it is."""
    container, name = output.format.name, codec_name(track)
    taken = _TAKEN.get(container, ())
    if is_among(track, taken):
        return _CopiedSubtitles(track, output, span), None
    if not taken or not track.codec_context.codec.text_sub:
        return None, f"subtitles ({name}) are left out: {SUFFIXES[container]} does not take them"
    try:
        return _ConvertedSubtitles(track, output, span), f"subtitles ({name}) become {taken[0]}"
    except (av.FFmpegError, ValueError) as error:
        return None, f"subtitles ({name}) are left out: this build of PyAV cannot convert them ({error})"
