"""From the command line's arguments to videos. Imports nothing heavy: what is wrong here is said at once.

An argument is, in this order: `-` (standard input), a URL, a file or folder of exactly that name, a camera's number
(digits only), numbered pictures (a last name with one `%d` or `%05d`), `@LIST`, or a glob. `./` in front makes a file
name of anything.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from ssd_detect.errors import SsdDetectError, VideoError
from ssd_detect.media.sources.folders import Medium, exists
from ssd_detect.media.sources.inputs import ArgumentSearch, Source, SourceKind, stream_source
from ssd_detect.media.sources.keys import Place

STREAM_SCHEMES = (
    *("http", "https", "rtsp", "rtsps", "rtmp", "rtmps", "rtmpt", "rtp", "srt"),
    *("udp", "tcp", "mms", "mmsh"),
)
"""Addresses of these schemes are handed to FFmpeg."""

VIDEO_SUFFIXES = (
    *(".mp4", ".m4v", ".mov", ".mkv", ".webm", ".avi", ".mpg", ".mpeg", ".ts", ".m2ts", ".mts", ".wmv", ".flv"),
    *(".3gp", ".ogv", ".gif"),
)
"""What counts as a video in a folder or behind a glob."""

NUMBER_PATTERN = re.compile(r"%(?:0([1-9]\d?))?d")
"""Stands for the number in the name of a picture; group 1 is how many digits it has at least, zeros in front."""


@dataclass(frozen=True)
class VideoInput:
    """One video to be read.

    Args:
        kind: what it is; tells which of the fields below is set.
        name: as results record it: the path as found, the URL without what is secret in it, `camera 0`, or `-`.
        key: place of its results below the output folder, without suffix; see `media.sources.keys`.
        path: of a file; of numbered pictures, with the pattern as last name.
        url: of a stream, as given.
        number: of a camera.
    """

    kind: SourceKind
    name: str
    key: PurePosixPath
    path: Path | None = None
    url: str | None = None
    number: int | None = None


@dataclass(frozen=True)
class FoundVideos:
    """What the arguments have brought.

    Args:
        inputs: in the order of the arguments; sorted within a folder and a glob; each once.
        num_skipped: hidden files and files that are no videos, in folders and among the matches of globs.
        errors: what could not be found, one line each.
    """

    inputs: tuple[VideoInput, ...]
    num_skipped: int
    errors: tuple[SsdDetectError, ...]


def find_videos(arguments: Sequence[str], *, recursive: bool) -> FoundVideos:
    """Find every video that the arguments name; the rules for files, folders, globs and lists are `find_inputs`'s.

    Args:
        arguments: as the shell hands them over.
        recursive: of folders, read their sub-folders too.
    """
    search = ArgumentSearch(recursive, _VIDEOS, _source_of)
    for argument in arguments:
        search.add(argument)
    inputs = tuple(_input(source, key) for source, key in search.keyed_sources())
    return FoundVideos(inputs, search.num_skipped, search.errors)


def _is_video_suffix(suffix: str) -> bool:
    return suffix.lower() in VIDEO_SUFFIXES


_VIDEOS = Medium("video", VideoError, _is_video_suffix)


def _input(source: Source, key: PurePosixPath) -> VideoInput:
    number = int(source.name.split()[-1]) if source.kind is SourceKind.CAMERA else None
    return VideoInput(source.kind, source.name, key, source.path, source.url, number)


def _source_of(argument: str) -> Source | None:
    """What is no plain file, folder, list or glob."""
    if source := stream_source(argument, STREAM_SCHEMES):
        return source
    if not argument or exists(Path(argument)):
        return None
    if re.fullmatch(r"[0-9]{1,4}", argument):
        number = int(argument)
        return Source(SourceKind.CAMERA, f"camera {number}", Place(f"camera {number}", (), f"camera_{number}"))
    if len(NUMBER_PATTERN.findall(Path(argument).name)) == 1:
        return _sequence_source(Path(argument))
    return None


def _sequence_source(pattern: Path) -> Source:
    """Named after what stands around the number, or else after the folder."""
    full = pattern.absolute()
    around = NUMBER_PATTERN.sub("", pattern.stem).strip("_-. ")
    place = Place(str(full), full.parts[1:-1], around or full.parent.name or "sequence", full.suffix)
    return Source(SourceKind.SEQUENCE, str(pattern), place, pattern)
