"""Videos of every kind, copied into every container: frames, times, rate, size, sound."""

from collections.abc import Iterable
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from pathlib import Path

import pytest

from ssd_detect.media.video.frames import VideoInfo
from ssd_detect.media.video.reader import VideoReader
from ssd_detect.media.video.selection import Chosen, rate_time_base
from ssd_detect.media.video.writer import VideoWriter
from ssd_detect.settings import Selection
from tests.clips import SOUND, VFR, ClipFacts, facts, ffmpeg, furthest, pictures

H264 = "-c:v libx264 -preset ultrafast -bf 3 -g 30 -pix_fmt yuv420p"
HEVC = "-c:v libx265 -preset ultrafast -x265-params log-level=none"
VP9 = "-c:v libvpx-vp9 -cpu-used 8 -deadline realtime"
ONE = f"{pictures(seconds=1)} -f lavfi -i sine=d=1"
TURNED = f"{ONE} {H264} -c:a aac"
SOURCES = {
    "one frame.ts": f"{pictures(seconds=0.03)} {H264}",
    "one frame.avi": f"{pictures(seconds=0.03)} {H264}",
    "one frame.mkv": f"{pictures(seconds=0.03)} {H264}",
    "23.976.mkv": f"{pictures(rate='24000/1001')} {SOUND} {H264} -c:a aac",
    "23.976.ts": f"{pictures(rate='24000/1001')} {SOUND} {H264} -c:a aac",
    "23.976 with B-frames.avi": f"{pictures(rate='24000/1001')} {SOUND} {H264} -c:a libmp3lame",
    "59.94.mp4": f"{pictures(rate='60000/1001')} {SOUND} {H264} -c:a aac",
    "59.94.ts": f"{pictures(rate='60000/1001')} {SOUND} {H264} -c:a aac",
    "variable rate.webm": f"{pictures()} {SOUND} {VP9} -c:a libopus {VFR}",
    "variable rate.mov": f"{pictures()} {SOUND} {H264} -c:a aac {VFR}",
    "from before 0.mkv": f"-itsoffset -0.5 {pictures()} -itsoffset -0.5 {SOUND} {H264} -c:a aac"
    " -avoid_negative_ts disabled",
    "from 5 s.mp4": f"{ONE} {H264} -c:a aac -output_ts_offset 5",
    "interlaced.ts": f"{pictures('64x64')} -c:v libx264 -flags +ildct+ilme -x264-params tff=1 -pix_fmt yuv420p",
    "hidden frames.webm": f"{pictures()} -c:v libvpx-vp9 -cpu-used 8 -auto-alt-ref 1 -lag-in-frames 16 -b:v 100k",
    "HEVC.mp4": f"{ONE} {HEVC} -c:a aac -tag:v hvc1",
    "ten bits.mkv": f"{ONE} {HEVC} -pix_fmt yuv420p10le -c:a aac",
    "AV1.mkv": f"{pictures(seconds=0.5)} -c:v libsvtav1 -preset 12",
    "MPEG-2.mpg": f"{ONE} -c:v mpeg2video -bf 2 -c:a mp2",
    "fragments.mp4": f"{ONE} {H264} -c:a aac -movflags frag_keyframe+empty_moov",
    "phone.3gp": f"{pictures('176x144')} -c:v h263",
    "Theora.ogv": f"{ONE} -c:v libtheora -c:a libvorbis",
    "Windows.wmv": f"{ONE} -c:v wmv2 -c:a wmav2",
    "raw.h264": f"{pictures()} {H264}",
    "raw.hevc": f"{pictures()} {HEVC}",
    "tape.dv": f"{pictures('720x576', '25', 0.2)} -c:v dvvideo -pix_fmt yuv420p",
    "odd.mp4": f"{pictures('321x181', '10', 0.5)} -c:v libx264 -pix_fmt yuv444p",
    "tiny.mkv": f"{pictures('1x1', '10', 0.5)} -c:v ffv1 -pix_fmt bgr0",
    "tall.mp4": f"{pictures('16x400', '10', 0.5)} {H264}",
}
RATES = {"23.976": Fraction(24000, 1001), "59.94": Fraction(60000, 1001), "tape": Fraction(25), "raw": Fraction(30)}
EXACT = (".mp4", ".mov")  # a container with a clock as fine as the source's
COPIED = {".mp4": {"aac"}, ".mkv": {"aac", "mp2", "opus", "vorbis", "mp3float"}, ".webm": {"opus", "vorbis"}}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("kinds")


def source_of(name: str, folder: Path) -> Path:
    target = folder / name.replace(" ", "_")
    return target if target.exists() else ffmpeg(SOURCES[name], target)


def copy(source: Path, target: Path) -> tuple[VideoInfo, list[Fraction]]:
    """What was read, and the times of the frames; into an .avi at a constant rate, as the command does it."""
    with VideoReader(source) as reader:
        like, selection = reader.info, Selection()
        if target.suffix == ".avi":
            like, selection = replace(like, time_base=rate_time_base(like.rate)), Selection(rate=like.rate)
        times = []
        with VideoWriter(target, like=like) as writer:
            for chosen in Chosen(reader, selection, begin=like.begin):
                times.append(chosen.frame.time.start)
                writer.append(chosen.frame.pixels, chosen.frame.time)
        assert reader.losses is None
    return like, times


def grown(size: tuple[int, int]) -> tuple[int, int]:
    return size[0] + size[0] % 2, size[1] + size[1] % 2


def moved(times: Iterable[Fraction], begin: Fraction) -> list[Fraction]:
    return [time - begin for time in times]


class TestKinds:
    @pytest.mark.parametrize("suffix", [".mp4", ".mkv", ".webm"])
    @pytest.mark.parametrize("name", SOURCES)
    def test_a_copy_has_the_same_times(self, name: str, suffix: str, folder: Path, tmp_path: Path) -> None:
        source, target = source_of(name, folder), tmp_path / f"out{suffix}"
        info, times = copy(source, target)
        old, new = facts(source), facts(target)
        assert len(new.times) == len(times) == _num_frames(old, name)
        assert furthest(times, new.times) <= (0 if suffix in EXACT else 0.0005)
        assert new.sizes == {grown((info.width, info.height))}
        assert len(new.sound) == len(old.sound)
        assert new.codec == ("vp9" if suffix == ".webm" else "h264")
        assert new.pixel_format == "yuv420p"
        rate = RATES.get(name.rsplit(".", 1)[0].split(" ")[0])
        if suffix in EXACT and rate is not None:
            # An average of times that a coarser clock has rounded differs a little.
            assert new.rate == (rate if source.suffix in (".mp4", ".avi", ".dv") else pytest.approx(rate, rel=0.001))
        for one, other in zip(old.sound, new.sound, strict=True):
            # ADTS of a transport stream gets another head; the times of Matroska before 0 are FFmpeg's guess.
            if one.codec in COPIED.get(suffix, set()) and source.suffix not in (".ts",) and "before 0" not in name:
                assert other.packets == one.packets
                assert furthest(one.times, other.times) <= 0.001

    @pytest.mark.parametrize("name", SOURCES)
    def test_an_avi_has_a_frame_for_each(self, name: str, folder: Path, tmp_path: Path) -> None:
        """Constant, from 0 on; a video of a constant rate keeps each frame once."""
        source, target = source_of(name, folder), tmp_path / "out.avi"
        info, times = copy(source, target)
        with VideoReader(target) as reader:
            assert reader.info.rate == info.rate
            new = [frame.time for frame in reader]
        assert furthest(moved(times, times[0]), [time.start for time in new]) == 0
        assert {after.start - before.start for before, after in pairwise(new)} <= {1 / info.rate}
        if "variable" not in name:
            assert len(new) == _num_frames(facts(source), name)

    @pytest.mark.parametrize("name", ["one frame.ts", "59.94.mp4", "variable rate.mov", "from 5 s.mp4", "tiny.mkv"])
    def test_a_gif_plays(self, name: str, folder: Path, tmp_path: Path) -> None:
        source, target = source_of(name, folder), tmp_path / "out.gif"
        info, times = copy(source, target)
        new = facts(target)
        assert len(new.times) == len(times)
        assert new.sizes == {(info.width, info.height)}
        if info.rate <= 50:  # a GIF shows no frame for less than two hundredths of a second
            assert furthest(moved(times, times[0]), new.times) <= 0.021

    @pytest.mark.parametrize("suffix", [".mp4", ".mkv", ".webm", ".avi"])
    @pytest.mark.parametrize("turn", ["-display_rotation 90", "-display_rotation 270", "-display_hflip"])
    def test_turned_ones(self, turn: str, suffix: str, folder: Path, tmp_path: Path) -> None:
        plain = folder / "plain.mp4"
        source = ffmpeg(f"{turn} -i {plain if plain.exists() else ffmpeg(TURNED, plain)} -c copy", tmp_path / "in.mp4")
        _, times = copy(source, tmp_path / f"out{suffix}")
        new = facts(tmp_path / f"out{suffix}")
        assert len(new.times) == len(times) == 30
        assert new.sizes == {(64, 48) if "flip" in turn else (48, 64)}
        assert not new.is_turned

    @pytest.mark.parametrize("suffix", [".mp4", ".mov", ".m4v"])
    def test_the_index_is_in_front(self, suffix: str, folder: Path, tmp_path: Path) -> None:
        copy(source_of("23.976.ts", folder), tmp_path / f"out{suffix}")
        data = (tmp_path / f"out{suffix}").read_bytes()
        assert data.index(b"moov") < data.index(b"mdat")


def _num_frames(old: ClipFacts, name: str) -> int:
    return 60 if name.startswith("raw") else len(old.times)  # a raw stream has no times
