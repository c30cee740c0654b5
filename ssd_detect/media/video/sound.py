"""Sound on its way into another file: packet by packet where the container takes the codec, else encoded anew."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, TypeAlias

import av
import numpy as np
from av.audio.frame import AudioFrame
from av.audio.stream import AudioStream
from av.container import OutputContainer

from ssd_detect.media.video.tracks import (
    SUFFIXES,
    AnyPacket,
    CopiedTrack,
    Span,
    Track,
    codec_name,
    copy_names,
    is_among,
)

Samples: TypeAlias = "np.ndarray[Any, np.dtype[np.float32]]"  # (channels, n)

# What players expect inside these containers; a container without a list gets what its format allows.
_PLAYABLE = {
    "mp4": ("aac", "mp3", "ac3", "eac3", "alac", "flac", "opus"),
    "mov": ("aac", "mp3", "ac3", "eac3", "alac", "pcm_s16le", "pcm_s16be", "pcm_s24le", "pcm_s24be", "pcm_f32le"),
    "webm": ("opus", "vorbis"),
    "avi": ("mp3", "ac3", "aac", "pcm_s16le"),
}
_BITS_PER_CHANNEL = 96_000
_PREROLL = Fraction(1)  # seconds before a cut that a decoder gets, so that the first sample kept is right
_LATE = Fraction(5, 1000)  # seconds: a shorter gap is an inaccurate time stamp; Matroska counts in milliseconds
_EARLY = Fraction(1, 10)  # seconds by which sound may run ahead of its time stamps before samples are left out
_AVI_TOLERANCE = Fraction(1, 1000)  # seconds
_AC3_BIT_RATE = 448_000  # for the header of an AVI, where a file tells none
# Samples by which libmp3lame's packets come early: LAME's encoder delay, 576, and a decoder's, 528 + 1.
_LAME_DELAY = 576 + 528 + 1
_LAME_FRAME = 1152


@dataclass(frozen=True)
class _Encoding:
    """How sound is encoded: FFmpeg's encoder, the rates that it takes (the first for any other), its layouts."""

    encoder: str
    word: str
    rates: tuple[int, ...]
    layouts: dict[int, str]
    options: dict[str, str] = field(default_factory=dict)


_AAC = _Encoding(
    "aac",
    "AAC",
    (48_000, 44_100, 96_000, 88_200, 64_000, 32_000, 24_000, 22_050, 16_000, 12_000, 11_025, 8_000, 7_350),
    {1: "mono", 2: "stereo", 3: "3.0", 4: "4.0", 5: "5.0", 6: "5.1", 8: "7.1"},
)
# The layouts are those of RFC 7845, section 5.1.1.2.
_OPUS = _Encoding(
    "libopus",
    "Opus",
    (48_000,),
    {1: "mono", 2: "stereo", 3: "3.0", 4: "quad", 5: "5.0", 6: "5.1", 7: "6.1", 8: "7.1"},
)
# Without the reservoir no packet needs the one before, so that the first can be left out.
_MP3 = _Encoding("libmp3lame", "MP3", (48_000, 44_100, 32_000), {1: "mono", 2: "stereo"}, options={"reservoir": "0"})
_ENCODINGS = {"webm": _OPUS, "avi": _MP3}


class EncodedSound:
    """An audio track that is decoded and encoded: one stretch without gaps, cut at the sample.

    Raises:
        ValueError, av.FFmpegError: this build of PyAV lacks the encoder, or it refuses.
    """

    def __init__(self, track: AudioStream, output: OutputContainer, span: Span) -> None:
        name = output.format.name
        self._source, self._span, self._is_avi = track, span, name == "avi"
        encoding = _ENCODINGS.get(name, _AAC)
        rate = track.rate if track.rate in encoding.rates else encoding.rates[0]
        target = output.add_stream(encoding.encoder, rate, options=dict(encoding.options))
        assert isinstance(target, AudioStream)
        self._target = target
        self._target.layout = _layout(track, encoding)
        self._target.bit_rate = _BITS_PER_CHANNEL * self._target.channels
        self._target.codec_context.open()  # fails here if it must
        copy_names(track, self._target, name)
        self._timeline = _Timeline(rate, span, from_zero=self._is_avi)
        self._converter = _Converter(rate, self._target.layout.name)

    def packets(self, packet: AnyPacket) -> Iterator[AnyPacket]:
        """What the encoder gives for a packet as read."""
        end = None if packet.pts is None else (packet.pts + (packet.duration or 0)) * packet.time_base
        if self._span.start is None or end is None or end > self._span.start - _PREROLL:
            for frame in self._source.decode(packet):
                yield from self._encoded(frame)

    def rest(self) -> Iterator[AnyPacket]:
        """What decoder and encoder still hold."""
        for frame in self._source.decode(None):
            yield from self._encoded(frame)
        for part in self._converter.rest():
            yield from self._placed(part)
        yield from self._written(self._target.encode(None))

    def _encoded(self, frame: AudioFrame) -> Iterator[AnyPacket]:
        for part in self._converter.converted(frame):
            yield from self._placed(part)

    def _placed(self, part: AudioFrame) -> Iterator[AnyPacket]:
        told = None if part.pts is None or part.time_base is None else part.pts * part.time_base
        for position, samples in self._timeline.placed(told, np.asarray(part.to_ndarray(), np.float32)):
            frame = AudioFrame.from_ndarray(np.ascontiguousarray(samples), "fltp", self._target.layout.name)
            frame.sample_rate, frame.pts = self._target.rate, position
            frame.time_base = Fraction(1, self._target.rate)
            yield from self._written(self._target.encode(frame))

    def _written(self, packets: Iterable[AnyPacket]) -> Iterator[AnyPacket]:
        """In an AVI the first packet counts as the beginning, so that what lies before 0 must go."""
        return (packet for packet in packets if not (self._is_avi and (packet.pts or 0) < 0))


class _Converter:
    """Decoded sound as 32-bit float at one rate and layout, whatever it changes to on the way."""

    def __init__(self, rate: int, layout: str) -> None:
        self._rate, self._layout = rate, layout
        self._kind: tuple[str, str, int] | None = None
        self._resampler = self._new()

    def _new(self) -> av.AudioResampler:
        return av.AudioResampler("fltp", self._layout, self._rate)

    def converted(self, frame: AudioFrame) -> Iterator[AudioFrame]:
        """What is ready of a frame and of those before."""
        kind = (frame.format.name, frame.layout.name, frame.sample_rate)
        if self._kind not in (None, kind):
            yield from self.rest()
            self._resampler = self._new()
        self._kind = kind
        yield from self._resampler.resample(frame)

    def rest(self) -> Iterator[AudioFrame]:
        """What the filter holds back."""
        return (part for part in self._resampler.resample(None) if part is not None)


class _Timeline:
    """Puts pieces of sound one behind the other where their times say: silence in gaps, nothing twice.

    Args:
        rate: samples a second.
        span: what is kept of the source.
        from_zero: begin at 0 on the clock of the copy, and so that one of libmp3lame's packets begins there too.
    """

    def __init__(self, rate: int, span: Span, *, from_zero: bool) -> None:
        self._rate, self._shift = rate, span.shift
        self._floor = 0 if from_zero or span.start is not None else None
        self._end = None if span.end is None else round((span.end - span.shift) * rate)
        self._position = -(-_LAME_DELAY % _LAME_FRAME) if from_zero else None  # of what comes next
        self._has_begun = False
        self._last_told: Fraction | None = None

    def placed(self, told: Fraction | None, samples: Samples) -> Iterator[tuple[int, Samples]]:
        """(position, samples) of the next piece, which begins at `told` seconds of the source if that is known."""
        begin = self._begin(told)
        if not self._has_begun:
            floor = self._floor if self._floor is not None else begin or 0
            samples = samples[:, max(0, floor - (begin or 0)) :]
            begin = max(floor, begin or 0)
        if samples.size:
            yield from self._joined(begin, samples)

    def _begin(self, told: Fraction | None) -> int | None:
        """Where the piece belongs; None when its time is not known or goes back."""
        if told is None or (self._last_told is not None and told <= self._last_told):
            return None
        self._last_told = told
        return round((told - self._shift) * self._rate)

    def _joined(self, begin: int | None, samples: Samples) -> Iterator[tuple[int, Samples]]:
        if self._position is None:
            self._position = begin or 0
        gap = 0 if begin is None else begin - self._position
        if gap > (_LATE * self._rate if self._has_begun else 0):
            yield from self._silence(gap, len(samples))
        elif gap < -_EARLY * self._rate:
            samples = samples[:, -gap:]
        self._has_begun = True
        yield from self._kept(samples)

    def _silence(self, length: int, num_channels: int) -> Iterator[tuple[int, Samples]]:
        for done in range(0, length, self._rate):
            yield from self._kept(np.zeros((num_channels, min(self._rate, length - done)), np.float32))

    def _kept(self, samples: Samples) -> Iterator[tuple[int, Samples]]:
        position = self._position or 0
        samples = samples if self._end is None else samples[:, : max(0, self._end - position)]
        self._position = position + samples.shape[1]
        if samples.size:
            yield position, samples


def sound_track(
    track: AudioStream, output: OutputContainer, span: Span, begin: Fraction | None
) -> tuple[Track | None, str | None]:
    """The track, added to the output if that can be, and a note when its sound does not stay as it is.

    Args:
        begin: seconds on the clock of the copy at which the track's first packet begins; only an AVI needs it.

    Raises:
        ValueError, av.FFmpegError: it should be encoded, which fails.
    """
    container, name = output.format.name, codec_name(track)
    fits = is_among(track, _PLAYABLE.get(container, output.supported_codecs)) and not (
        container == "avi" and _is_adts(track)
    )
    if fits and (begin is None or abs(begin) <= _AVI_TOLERANCE):
        return CopiedTrack(_copy_of(track, output), span), None
    if "ambisonic" in track.layout.name:  # FFmpeg has no conversion from that to the channels of loudspeakers
        return None, f"sound ({name}, {track.layout.name}) is left out: {SUFFIXES[container]} does not take it"
    word = _ENCODINGS.get(container, _AAC).word
    why = f"is encoded as {word}: an .avi cannot say when a track begins" if fits else f"becomes {word}"
    return EncodedSound(track, output, span), f"sound ({name}) {why}"


def _is_adts(track: AudioStream) -> bool:
    """Whether it is AAC with a head in each packet, as in MPEG-TS; FFmpeg rewrites that for others than AVI."""
    return is_among(track, ["aac"]) and not track.codec_context.extradata


def _copy_of(track: AudioStream, output: OutputContainer) -> AudioStream:
    """A track of the output for the packets of this one."""
    if output.format.name == "avi" and is_among(track, ["ac3"]):
        # A template from an AVI would bring along the size of its blocks, with which FFmpeg writes no times.
        target = output.add_stream("ac3", track.rate)
        target.layout, target.bit_rate = track.layout, track.bit_rate or _AC3_BIT_RATE
    else:
        target = output.add_stream_from_template(track, opaque=True)
    copy_names(track, target, output.format.name)
    return target


def _layout(track: AudioStream, encoding: _Encoding) -> str:
    """The track's channels by a name that the encoder knows; raw sound often tells only their number."""
    name = track.layout.name
    if encoding is _AAC and " " not in name:
        return name
    return encoding.layouts.get(track.channels, "stereo")
