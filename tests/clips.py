"""Small clips for tests, made by the ffmpeg that comes with imageio-ffmpeg; and what is inside a clip."""

import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import av
import imageio_ffmpeg  # type: ignore[import-untyped]

SOUND = "-f lavfi -i sine=d=2"
H264 = "-c:v libx264 -preset ultrafast -bf 2 -pix_fmt yuv420p"
VFR = "-vf setpts='if(lt(N,30),N/30,1+(N-30)/10)/TB' -fps_mode vfr"


def pictures(size: str = "64x48", rate: str = "30", seconds: float = 2) -> str:
    """Arguments for a moving test picture; `testsrc2` makes odd sizes even, `testsrc` keeps them."""
    return f"-f lavfi -i testsrc=s={size}:r={rate}:d={seconds}"


def smooth_pictures(size: str) -> str:
    """Arguments for five frames of a colour gradient, which loses little in any encoder."""
    return f"-f lavfi -i nullsrc=s={size}:r=10:d=0.5,format=rgb24,geq=r='X*255/W':g='Y*255/H':b='128+64*N/5'"


def ffmpeg(arguments: str, target: Path) -> Path:
    """Run ffmpeg; paths in the arguments must hold no blanks."""
    command = [imageio_ffmpeg.get_ffmpeg_exe(), "-v", "error", "-nostdin", "-y", *arguments.split(), str(target)]
    subprocess.run(command, check=True, capture_output=True, timeout=60)
    return target


@dataclass(frozen=True)
class SoundFacts:
    """One audio track: its codec and its packets with their times."""

    codec: str
    language: str
    packets: list[bytes]
    times: list[Fraction]


@dataclass(frozen=True)
class ClipFacts:
    """What a clip holds. Frames are decoded, packets are read as they are."""

    codec: str
    pixel_format: str
    sizes: set[tuple[int, int]]
    rate: Fraction | None
    times: list[Fraction]
    is_turned: bool
    pixel_aspect: Fraction | None
    colour: tuple[int, int, int, int]  # matrix, range, primaries, transfer
    seconds: float
    sound: list[SoundFacts]


def facts(path: Path) -> ClipFacts:
    """Everything that a copy must keep."""
    with av.open(str(path), "r") as container:
        stream = container.streams.video[0]
        frames = list(container.decode(stream))
        context = stream.codec_context
        return ClipFacts(
            codec=context.name,
            pixel_format=str(context.pix_fmt),
            sizes={(frame.width, frame.height) for frame in frames},
            rate=stream.average_rate and Fraction(stream.average_rate),
            times=[frame.pts * frame.time_base for frame in frames if frame.pts is not None and frame.time_base],
            is_turned=any("DISPLAYMATRIX" in frame.side_data for frame in frames),
            pixel_aspect=stream.sample_aspect_ratio and Fraction(stream.sample_aspect_ratio),
            colour=(context.colorspace, context.color_range, context.color_primaries, context.color_trc),
            seconds=(container.duration or 0) / 1_000_000,
            sound=_sound(path),
        )


def _sound(path: Path) -> list[SoundFacts]:
    with av.open(str(path), "r") as container:
        tracks = container.streams.audio
        packets = [p for p in container.demux(*tracks) if p.size] if tracks else []
        found = []
        for track in tracks:
            own = [p for p in packets if p.stream.index == track.index]
            times = [p.pts * p.time_base for p in own if p.pts is not None]
            language = track.metadata.get("language", "und")
            found.append(SoundFacts(track.codec_context.name, language, [bytes(p) for p in own], times))
        return found


def furthest(one: Iterable[Fraction], other: Iterable[Fraction]) -> float:
    """The largest difference of two lists of times, in seconds."""
    return float(max(abs(a - b) for a, b in zip(one, other, strict=True)))
