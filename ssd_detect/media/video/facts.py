"""What is told of a video as a whole: metadata, chapters, covers; and their way into a copy."""

from collections.abc import Iterator
from fractions import Fraction
from typing import TYPE_CHECKING

from av.container import InputContainer, OutputContainer
from av.packet import Packet
from av.stream import Disposition, Stream
from av.video.stream import VideoStream

from ssd_detect.media.video.tracks import AnyPacket, Span, copy_names, kept_metadata, set_disposition

if TYPE_CHECKING:
    from av.container.core import Chapter

_CHAPTER_TICK = Fraction(1, 1_000_000)  # seconds
_OF_THE_CONTAINER = ("major_brand", "minor_version", "compatible_brands")
# What an MP4 takes as a cover (its atom "covr"), and as what a Matroska file attaches it.
_COVERS = {"mjpeg": ("cover.jpg", "image/jpeg"), "png": ("cover.png", "image/png")}
_TYPES_OF_FONTS = ("font", "opentype", "truetype")  # inside "font/ttf", "application/x-truetype-font", ...


def carry_facts(source: InputContainer, output: OutputContainer, span: Span) -> None:
    """Carry over the metadata of the file and of its video track, the chapters, and the fonts of its subtitles."""
    told = kept_metadata(source.metadata)
    output.metadata.update({key: text for key, text in told.items() if key not in _OF_THE_CONTAINER})
    output.set_chapters([*_chapters(source, span)])
    old, new = (next(filter(is_film, container.streams.video), None) for container in (source, output))
    if old is not None and new is not None:
        copy_names(old, new, output.format.name)
    if output.format.name == "matroska":
        _attach_fonts(source, output)


def _chapters(source: InputContainer, span: Span) -> "Iterator[Chapter]":
    for number, chapter in enumerate(source.chapters(), start=1):
        tick = chapter["time_base"] or _CHAPTER_TICK
        left = span.cut(chapter["start"] * tick, chapter["end"] * tick)
        if left is not None:
            begin, end = (round(seconds / _CHAPTER_TICK) for seconds in left)
            metadata = dict(chapter["metadata"])
            yield {"id": number, "start": begin, "end": end, "time_base": _CHAPTER_TICK, "metadata": metadata}


def _attach_fonts(source: InputContainer, output: OutputContainer) -> None:
    for font in source.streams.attachments:
        kind, name = font.mimetype or "", font.metadata.get("filename")
        if name and any(word in kind for word in _TYPES_OF_FONTS):
            output.add_attachment(name, kind, bytes(font.data))


def is_film(stream: Stream) -> bool:
    """Whether a video track is one that plays; a cover is a video track too."""
    return stream.type == "video" and not stream.disposition & Disposition.attached_pic


def carry_covers(source: InputContainer, output: OutputContainer) -> list[AnyPacket]:
    """Add the covers of a file before anything else is read of it; what to write of them once the header is there."""
    covers = [s for s in source.streams.video if not is_film(s) and s.codec_context is not None]
    return [packet for cover in covers for packet in _carry_cover(cover, source, output)]


def _carry_cover(cover: VideoStream, source: InputContainer, output: OutputContainer) -> Iterator[AnyPacket]:
    codec, container = cover.codec_context.codec.canonical_name, output.format.name
    if codec not in _COVERS or container not in ("mp4", "matroska"):
        return
    picture = next((packet for packet in source.demux(cover) if packet.size), None)  # FFmpeg gives covers first
    if picture is None:
        return
    if container == "matroska":
        output.add_attachment(*_COVERS[codec], bytes(picture))
        return
    target = output.add_stream_from_template(cover, opaque=True)
    set_disposition(target, Disposition.attached_pic)
    packet = Packet(bytes(picture))
    packet.stream, packet.pts, packet.dts, packet.time_base = target, 0, 0, Fraction(1, 1000)
    yield packet
