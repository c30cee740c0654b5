"""Which encoder writes which file: every codec in every container, qualities, key frames, clocks."""

import os
import subprocess
import sys
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest

from ssd_detect.arrays import Pixels
from ssd_detect.errors import OutputError, SettingError, SsdDetectError
from ssd_detect.media.video.clock import FrameTime
from ssd_detect.media.video.encoder import FrameEncoder
from ssd_detect.media.video.encoding import CODECS, CONTAINERS, choose_encoder
from ssd_detect.media.video.frames import VideoInfo
from ssd_detect.media.video.output import check_encoder
from ssd_detect.media.video.reader import VideoReader
from ssd_detect.media.video.writer import SEGMENT_FRAMES, VideoWriter
from ssd_detect.settings import EncodingSettings
from tests.clips import facts
from tests.video_parts import copy, read

pytestmark = pytest.mark.usefixtures("in_an_empty_folder")

CONTENTS = {"libx264": "h264", "libx265": "hevc", "libvpx-vp9": "vp9", "libsvtav1": "av1", "prores_ks": "prores"}
TAGS = {"h264": "avc1", "hevc": "hvc1", "vp9": "vp09", "av1": "av01", "mpeg4": "mp4v", "mjpeg": "mp4v", "ffv1": "FFV1"}
TAKEN = {
    ".mp4": {"h264", "hevc", "vp9", "av1", "mpeg4", "mjpeg", "ffv1"},
    ".mov": {"h264", "hevc", "mpeg4", "mjpeg", "prores"},
    ".mkv": {"h264", "hevc", "vp9", "av1", "mpeg4", "mjpeg", "ffv1", "prores"},
    ".webm": {"vp9", "av1"},
    ".avi": {"h264", "vp9", "av1", "mpeg4", "mjpeg", "ffv1"},
}
CLOCKS = [
    (Fraction(1, 15360), Fraction(30)),
    (Fraction(1, 90000), Fraction(30)),
    (Fraction(1, 1000), Fraction(19001, 317)),
    (Fraction(1, 1_000_000), Fraction(4320000, 180179)),
    (Fraction(1001, 30000), Fraction(30000, 1001)),
    (Fraction(1, 1_000_000_000), Fraction(7, 3)),
]


def info_of(clip: Path) -> VideoInfo:
    with VideoReader(clip) as reader:
        return replace(reader.info, companions=None)


def picture(number: int) -> Pixels:
    """64x48, another one for each number: a ramp that moves."""
    ramp = (np.arange(64) * 3 + number * 5) % 256
    return np.broadcast_to(ramp[np.newaxis, :, np.newaxis], (48, 64, 3)).astype(np.uint8)


def write(target: str, like: VideoInfo, count: int, **options: object) -> None:
    with VideoWriter(target, like=like, encoding=EncodingSettings(**options)) as writer:  # type: ignore[arg-type]
        for number in range(count):
            start = round(number / like.rate / like.time_base)
            writer.append(picture(number), FrameTime(start, round(1 / like.rate / like.time_base), like.time_base))


class TestEveryCodecInEveryContainer:
    @pytest.mark.parametrize("suffix", [*TAKEN])
    @pytest.mark.parametrize("codec", [*CODECS])
    def test_it_plays_or_is_refused_before_any_work(self, codec: str, suffix: str, clip: Path) -> None:
        content = CONTENTS.get(CODECS[codec], CODECS[codec])
        target = Path(f"out{suffix}")
        if content not in TAKEN[suffix]:
            with pytest.raises(OutputError, match=rf"^out{suffix}: {suffix} (does not take|cannot hold) what [\w-]+ "):
                VideoWriter(target, like=info_of(clip), encoding=EncodingSettings(codec)).__enter__()
            assert os.listdir() == []  # noqa: PTH208
            return
        write(str(target), info_of(clip), 12, codec=codec)
        new = facts(target)
        assert av.Codec(new.codec, "r").canonical_name == content
        assert (len(new.times), new.sizes, new.rate) == (12, {(64, 48)}, Fraction(30))
        assert np.abs(read(target)[5].pixels.astype(int) - picture(5)).mean() < 12
        if suffix == ".mp4":
            with av.open(str(target), "r") as container:
                assert container.streams.video[0].codec_context.codec_tag == TAGS[content]

    @pytest.mark.parametrize(("name", "suffix"), [("libvpx", ".mov"), ("rawvideo", ".mp4"), ("rawvideo", ".webm")])
    def test_encoders_by_their_own_names_are_tried_too(self, name: str, suffix: str, clip: Path) -> None:
        with pytest.raises(OutputError, match=rf"^out{suffix}: {suffix} (does not take|cannot hold) what {name} makes"):
            VideoWriter(f"out{suffix}", like=info_of(clip), encoding=EncodingSettings(name)).__enter__()
        assert os.listdir() == []  # noqa: PTH208

    def test_each_container_has_an_encoder_that_works(self, clip: Path) -> None:
        for suffix in CONTAINERS:
            path = Path(f"out{suffix}")
            check_encoder(path, choose_encoder(path, EncodingSettings()), info_of(clip))

    @pytest.mark.parametrize("size", [(1, 1), (2, 2), (3, 2), (16, 400)])
    @pytest.mark.parametrize("suffix", [*CONTAINERS])
    def test_small_and_tall_ones(self, size: tuple[int, int], suffix: str, clip: Path) -> None:
        like = replace(info_of(clip), width=size[0], height=size[1])
        with VideoWriter(f"out{suffix}", like=like) as writer:
            for number in range(3):
                writer.append(np.full((*size[::-1], 3), 90, np.uint8), FrameTime(512 * number, 512, like.time_base))
            grown = writer.size
        assert facts(Path(f"out{suffix}")).sizes == {grown}
        assert all(0 <= new - old <= 1 for new, old in zip(grown, size, strict=True))


class TestChoosing:
    @pytest.mark.parametrize(
        ("codec", "suffix", "message"),
        [
            ("", ".mp4", None),
            ("H265", ".mp4", None),
            ("nope", ".mp4", "--codec nope: no such encoder in this build of FFmpeg; known are h264, h265, hevc, "),
            ("aac", ".mp4", "--codec aac: is for audio, expected an encoder for video; known are h264, "),
            ("gif", ".mkv", "--codec gif: takes only rgb8, "),
            ("h264", ".gif", "out.gif: a GIF has no codec and no quality to choose; leave --codec and --crf out"),
        ],
    )
    def test_names(self, codec: str, suffix: str, message: str | None) -> None:
        path = Path(f"out{suffix}")
        if message is None:
            assert choose_encoder(path, EncodingSettings(codec or None)).name in ("libx264", "libx265")
            return
        with pytest.raises(SettingError) as caught:
            choose_encoder(path, EncodingSettings(codec))
        assert str(caught.value).startswith(message)

    @pytest.mark.parametrize("name", ["h264_nvenc", "h264_qsv", "h264_v4l2m2m", "hevc_nvenc", "h264_amf"])
    def test_hardware_that_is_not_there(self, name: str, clip: Path) -> None:
        """Builds of FFmpeg differ in which of them they know; this computer has none of the devices."""
        before = clip.read_bytes()
        with pytest.raises(SsdDetectError) as caught:
            copy(clip, Path("out.mp4"), encoding=EncodingSettings(name))
        told = str(caught.value)
        unknown = f"--codec {name}: no such encoder in this build of FFmpeg"
        assert told.startswith((f"out.mp4: the encoder {name} does not work here with ", unknown))
        assert "\n" not in told
        assert os.listdir() == []  # noqa: PTH208
        assert clip.read_bytes() == before

    @pytest.mark.parametrize("codec", ["h264", "h265", "vp9", "av1", "mpeg4", "mjpeg"])
    def test_a_lower_crf_gives_a_larger_file(self, codec: str, clip: Path) -> None:
        noise = np.random.default_rng(1).integers(0, 256, (4, 48, 64, 3), np.uint8)
        for crf in (None, 2, 30):
            encoding = EncodingSettings(codec, crf)
            with VideoWriter(f"{crf}.mkv", like=info_of(clip), encoding=encoding) as writer:
                for number, pixels in enumerate(noise):
                    writer.append(pixels, FrameTime(512 * number, 512, Fraction(1, 15360)))
        sizes = {crf: Path(f"{crf}.mkv").stat().st_size for crf in (None, 2, 30)}
        assert sizes[2] > 1.2 * sizes[30]
        assert sizes[2] >= sizes[None] >= sizes[30]

    @pytest.mark.parametrize(
        ("codec", "crf", "limits"),
        [("h264", 52, "0 (best) to 51"), ("h265", 63, "0 (best) to 51"), ("mjpeg", 0, "1 (best) to 31")],
    )
    def test_a_crf_that_the_encoder_does_not_know(self, codec: str, crf: int, limits: str) -> None:
        with pytest.raises(SettingError) as caught:
            choose_encoder(Path("out.mkv"), EncodingSettings(codec, crf))
        assert str(caught.value) == f"--crf {crf}: expected {limits} for the encoder {CODECS[codec]}"

    @pytest.mark.parametrize("codec", ["vp9", "av1"])
    def test_the_last_crf(self, codec: str, clip: Path) -> None:
        write("out.mkv", info_of(clip), 3, codec=codec, crf=63)
        assert len(facts(Path("out.mkv")).times) == 3

    @pytest.mark.parametrize("codec", ["ffv1", "prores"])
    def test_crf_for_an_encoder_that_has_none(self, codec: str) -> None:
        with pytest.raises(SettingError, match=r"--crf is not for the encoder \w+; leave it out"):
            choose_encoder(Path("out.mkv"), EncodingSettings(codec, 20))


def encoded(name: str, count: int, clock: tuple[Fraction, Fraction], clip: Path) -> "list[av.Packet[Any]]":
    """Packets of `count` pictures with a key frame wanted every 100; a bystander counts those inside the encoder."""
    time_base, rate = clock
    like = replace(info_of(clip), time_base=time_base, rate=rate)
    frames = FrameEncoder(choose_encoder(Path("out.mkv"), EncodingSettings(name)), like, SEGMENT_FRAMES)
    packets: list[av.Packet[Any]] = []
    for number in range(count):
        pts = round(number / rate / time_base)
        packets += frames.encode(picture(number), pts, key=number % SEGMENT_FRAMES == 0)
        assert number + 1 - len(packets) <= 60  # frames inside the encoder: memory stays flat
    packets += frames.flush()
    return packets


class TestFrameEncoder:
    @pytest.mark.parametrize("codec", [*sorted({*CODECS} - {"hevc"}), "libx264rgb", "libvpx", "mpeg2video"])
    def test_one_packet_a_frame_and_a_real_key_frame_every_hundred(self, codec: str, clip: Path) -> None:
        packets = encoded(codec, 230, CLOCKS[0], clip)
        assert [packet.pts for packet in packets] == [512 * number for number in range(230)]
        assert all(packets[number].is_keyframe for number in (0, 100, 200))

    @pytest.mark.parametrize("codec", [*sorted({*CODECS} - {"hevc"})])
    def test_decoding_may_begin_at_each_segment(self, codec: str, clip: Path) -> None:
        """The packets of each segment, put into a file of their own, are that segment's pictures."""
        suffix = ".mkv"
        write(f"out{suffix}", info_of(clip), 130, codec=codec)
        with av.open(f"out{suffix}", "r") as container, av.open("end.mkv", "w") as end:
            source = container.streams.video[0]
            target = end.add_stream_from_template(source, opaque=True)
            for number, packet in enumerate(p for p in container.demux(source) if p.size):
                if number >= 100:
                    packet.stream = target
                    end.mux(packet)
        pictures = [frame.pixels for frame in read(Path("end.mkv"))]
        assert len(pictures) == 30
        assert np.abs(pictures[0].astype(int) - picture(100)).mean() < 12
        assert np.abs(pictures[29].astype(int) - picture(129)).mean() < 12

    @pytest.mark.parametrize("clock", CLOCKS[1:], ids=lambda clock: f"{clock[0]} at {clock[1]}")
    @pytest.mark.parametrize("codec", ["h264", "h265", "vp9", "av1", "mpeg4", "mjpeg", "libvpx"])
    def test_times_on_any_clock(self, codec: str, clock: tuple[Fraction, Fraction], clip: Path) -> None:
        time_base, rate = clock
        packets = encoded(codec, 12, clock, clip)
        assert [packet.pts for packet in packets] == [round(number / rate / time_base) for number in range(12)]
        assert {packet.time_base for packet in packets} == {time_base}

    @pytest.mark.parametrize("codec", ["mpeg4", "mpeg2video"])
    def test_uneven_times_in_the_file(self, codec: str, clip: Path) -> None:
        """Encoders that count frames still give files with the frames' own times, also far from zero."""
        like = replace(info_of(clip), time_base=Fraction(1, 90000))
        starts = [90000 * 7 + tick for tick in (0, 3000, 3001, 9000, 90000, 90100)]
        with VideoWriter("out.mp4", like=like, encoding=EncodingSettings(codec)) as writer:
            for number, start in enumerate(starts):
                writer.append(picture(number), FrameTime(start, 100, like.time_base))
        assert facts(Path("out.mp4")).times == [Fraction(start, 90000) for start in starts]


def test_encoders_are_silent(clip: Path) -> None:
    """SVT-AV1 writes a dozen lines to the error stream of the process unless it is told not to."""
    code = (
        "import sys; sys.path.insert(0, sys.argv[3])\n"
        "import ssd_detect.cli.startup as startup\n"
        "from tests.video_parts import StandIn\n"
        "startup.open_detector = lambda run, times: StandIn()\n"
        "from ssd_detect.cli.main import program\n"
        "program(['video', sys.argv[1], sys.argv[2], '--codec', 'av1', '--max-frames', '3'])\n"
    )
    command = [sys.executable, "-c", code, str(clip), "out.mp4", str(Path(__file__).parent.parent)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    assert done.stderr == ""
    assert len(facts(Path("out.mp4")).times) == 3
