"""A beep and a white frame at the same moment of the source are so in the copy too, to a millisecond."""

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
import pytest
from numpy.typing import NDArray

from ssd_detect.media.video.encoding import container_of
from ssd_detect.media.video.reader import VideoReader
from ssd_detect.media.video.selection import Chosen, rate_time_base
from ssd_detect.media.video.writer import VideoWriter
from ssd_detect.settings import Selection
from tests.clips import VFR, ffmpeg

# White from the second 1 on, and a loud tone that begins there at its crest.
WHITE = "-f lavfi -i color=black:s=64x48:r=30:d=2.5,drawbox=c=white:t=fill:enable='gte(t,0.995)'"
BEEP = "-f lavfi -i aevalsrc='if(lt(t\\,1)\\,0\\,0.9*cos(6283*(t-1)))':d=2.5:s=48000"
H264 = "-c:v libx264 -preset ultrafast -bf 3 -pix_fmt yuv420p"
PLAIN = f"{WHITE} {BEEP} {H264}"
VP8 = "-c:v libvpx -cpu-used 8 -deadline realtime"
SOURCES = {
    "AAC.mp4": f"{PLAIN} -c:a aac",
    "PCM.mov": f"{PLAIN} -c:a pcm_s16le",
    "AAC.mkv": f"{PLAIN} -c:a aac",
    "MP3.mkv": f"{PLAIN} -c:a libmp3lame",
    "Opus.webm": f"{WHITE} {BEEP} {VP8} -c:a libopus",
    "AAC.ts": f"{PLAIN} -c:a aac",
    "PCM with B-frames.avi": f"{PLAIN} -c:a pcm_s16le",
    "MP3 with B-frames.avi": f"{PLAIN} -c:a libmp3lame",
    "MPEG-4 with B-frames.avi": f"{WHITE} {BEEP} -c:v mpeg4 -bf 2 -c:a pcm_s16le",
    "from 5 s.mkv": f"{PLAIN} -c:a aac -output_ts_offset 5",
    "from 5 s.mp4": f"{PLAIN} -c:a aac -output_ts_offset 5",
    "from before 0.mkv": f"-itsoffset -0.5 {WHITE} -itsoffset -0.5 {BEEP} {H264} -c:a aac -avoid_negative_ts disabled",
    "late video.mp4": f"-itsoffset 0.4 {WHITE} {BEEP} {H264} -c:a aac",
    "late sound.mp4": f"{WHITE} -itsoffset 0.4 {BEEP} {H264} -c:a aac",
    "late sound.mkv": f"{WHITE} -itsoffset 0.4 {BEEP} {H264} -c:a aac",
    "variable rate.mp4": f"{PLAIN} -c:a aac {VFR}",
    "variable rate.mkv": f"{PLAIN} -c:a aac {VFR}",
    "29.97.ts": f"{PLAIN.replace('r=30', 'r=30000/1001')} -c:a aac",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("sync")


def source_of(name: str, folder: Path) -> Path:
    target = folder / name.replace(" ", "_")
    return target if target.exists() else ffmpeg(SOURCES[name], target)


def white_at(path: Path) -> Fraction:
    """When the first white frame begins."""
    with VideoReader(path) as reader:
        return next(frame.time.start for frame in reader if frame.pixels.mean() > 150)


def beep_at(path: Path) -> Fraction:
    """When the tone begins; told by the packet's own time, for the first ones of a file have guessed times."""
    with av.open(str(path), "r") as container:
        for frame in container.decode(container.streams.audio[0]):
            loud = np.flatnonzero(np.abs(_samples(frame)) > 0.2)
            if loud.size and frame.pts is not None and frame.time_base is not None:
                return Fraction(frame.pts * frame.time_base) + Fraction(int(loud[0]), frame.sample_rate)
    raise AssertionError("no beep")


def _samples(frame: av.AudioFrame) -> NDArray[np.float64]:
    """Of the first channel, from -1 to 1."""
    step = 1 if frame.format.is_planar else frame.layout.nb_channels
    samples = np.atleast_2d(frame.to_ndarray())[0, ::step].astype(np.float64)
    return samples if frame.format.name.startswith("flt") else samples / 32768


def copy(source: Path, target: Path) -> None:
    """As the command does it: an .avi has a constant rate."""
    with VideoReader(source) as reader:
        like, selection = reader.info, Selection()
        if container_of(target).fixed_rate:
            selection = Selection(rate=like.rate)
            like = replace(like, time_base=rate_time_base(like.rate))
        with VideoWriter(target, like=like) as writer:
            for chosen in Chosen(reader, selection, begin=like.begin):
                writer.append(chosen.frame.pixels, chosen.frame.time)


class TestSync:
    @pytest.mark.parametrize("suffix", [".mp4", ".mov", ".mkv", ".webm", ".avi"])
    @pytest.mark.parametrize("name", SOURCES)
    def test_a_beep_and_a_white_frame(self, name: str, suffix: str, folder: Path, tmp_path: Path) -> None:
        source = source_of(name, folder)
        copy(source, tmp_path / f"out{suffix}")
        old = beep_at(source) - white_at(source)
        new = beep_at(tmp_path / f"out{suffix}") - white_at(tmp_path / f"out{suffix}")
        assert float(abs(new - old)) <= _limit(name, suffix)

    def test_the_sources_are_what_they_say(self, folder: Path) -> None:
        """Else the copies could be wrong in the same way."""
        told = {name: float(beep_at(path) - white_at(path)) for name, path in _made(folder)}
        assert told["AAC.mp4"] == told["PCM.mov"] == pytest.approx(0, abs=0.0005)
        assert told["late sound.mp4"] == pytest.approx(0.4, abs=0.0005)
        assert told["late video.mp4"] == pytest.approx(-0.4, abs=0.0005)


def _limit(name: str, suffix: str) -> float:
    if suffix == ".avi" and "variable" in name:
        return 0.034  # half a frame of the average rate: uneven times go to the nearest place that there is
    if suffix == ".webm" and "before 0" in name:
        return 0.01  # encoded anew from its first time stamp; before 0 FFmpeg can only guess those of Matroska
    return 0.0011  # Matroska counts frames and sound in milliseconds, each half a one off


def _made(folder: Path) -> Iterator[tuple[str, Path]]:
    return ((name, source_of(name, folder)) for name in ("AAC.mp4", "PCM.mov", "late sound.mp4", "late video.mp4"))
