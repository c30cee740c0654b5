"""Damaged and cut videos: all that is good, with true times, and what was lost."""

import subprocess
from pathlib import Path

import av
import imageio_ffmpeg  # type: ignore[import-untyped]
import pytest

from ssd_detect.errors import VideoError
from ssd_detect.media.video.reader import VideoReader
from tests.clips import SOUND, facts, ffmpeg, furthest, pictures
from tests.video_parts import copy, read

pytestmark = pytest.mark.usefixtures("in_an_empty_folder")


class TestDamage:
    @pytest.mark.parametrize(("options", "suffix"), [("-movflags faststart", ".mp4"), ("", ".mkv")])
    def test_a_cut_file_gives_what_it_has_and_says_so(
        self, options: str, suffix: str, clip: Path, tmp_path: Path
    ) -> None:
        whole = ffmpeg(f"-i {clip} -c copy {options}", tmp_path / f"whole{suffix}")
        cut = tmp_path / f"cut{suffix}"
        cut.write_bytes(whole.read_bytes()[: whole.stat().st_size // 2])
        losses = copy(cut, tmp_path / "out.mp4")
        assert losses
        assert "seconds; the file is cut off" in losses
        old, new = facts(whole), facts(tmp_path / "out.mp4")
        assert 20 < len(new.times) < 40
        assert furthest(old.times[: len(new.times)], new.times) <= 0.0005

    def test_damaged_packets_are_left_out_and_the_rest_keeps_its_times(self, clip: Path, tmp_path: Path) -> None:
        source = ffmpeg(f"-i {clip} -c copy -bsf:v noise=amount='eq(n,20)*20'", tmp_path / "in.mp4")
        losses = copy(source, tmp_path / "out.mp4")
        times = facts(tmp_path / "out.mp4").times
        assert set(times) <= set(facts(clip).times)
        assert 50 < len(times) <= 60
        assert losses == (
            "1 frame could not be decoded and is left out" if len(times) == 59 else "1 frame is damaged in part"
        )

    def test_garbage_from_some_place_on_is_an_error(self, tmp_path: Path) -> None:
        whole = ffmpeg(f"{pictures(rate='60', seconds=4)} -c:v mjpeg", tmp_path / "whole.avi")
        source = ffmpeg(f"-i {whole} -c copy -bsf:v noise=amount=gte(n\\,5)", tmp_path / "in.avi")
        with pytest.raises(VideoError, match=r"in.avi: damaged after frame 5 \("):
            read(source)


VIDEOS = {
    "h264": f"{pictures(seconds=6)} -f lavfi -i sine=d=6 -c:v libx264 -preset ultrafast -bf 2 -g 30 -pix_fmt yuv420p",
    "hevc": f"{pictures(seconds=6)} -c:v libx265 -preset ultrafast -x265-params log-level=none:keyint=30",
    "mpeg4": f"{pictures(seconds=6)} -c:v mpeg4 -g 30 -bf 2",
    "mjpeg": f"{pictures(seconds=6)} -c:v mjpeg",
    "vp9": f"{pictures(seconds=6)} -c:v libvpx-vp9 -cpu-used 8 -deadline realtime -g 30",
}
TAKES = {
    ".mp4": ("h264", "hevc", "mpeg4", "vp9"),
    ".mkv": ("h264", "hevc", "mpeg4", "mjpeg", "vp9"),
    ".avi": ("h264", "mpeg4", "mjpeg"),
    ".ts": ("h264", "hevc"),
}
PAIRS = [(codec, suffix) for suffix, codecs in TAKES.items() for codec in codecs]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("damage")


def whole(codec: str, suffix: str, folder: Path) -> Path:
    target = folder / f"{codec}{suffix}"
    faststart = "-movflags faststart" if suffix == ".mp4" else ""
    return target if target.exists() else ffmpeg(f"{VIDEOS[codec]} {faststart}", target)


def num_frames_for_ffmpeg(path: Path) -> int:
    """How many frames ffmpeg itself gets out of a file."""
    command = [imageio_ffmpeg.get_ffmpeg_exe(), "-nostdin", "-v", "quiet", "-i", str(path), "-map", "0:v:0"]
    command += ["-fps_mode", "passthrough", "-f", "framecrc", "-"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    return sum(not line.startswith("#") for line in done.stdout.splitlines())


def times_and_losses(path: Path) -> tuple[list[float], str | None]:
    with VideoReader(path) as reader:
        return [float(frame.time.start) for frame in reader], reader.losses


class TestCut:
    @pytest.mark.parametrize("percent", [40, 55, 73])
    @pytest.mark.parametrize(("codec", "suffix"), PAIRS)
    def test_all_frames_that_are_there(self, codec: str, suffix: str, percent: int, folder: Path) -> None:
        source = whole(codec, suffix, folder)
        cut = Path(f"cut{suffix}")
        cut.write_bytes(source.read_bytes()[: source.stat().st_size * percent // 100])
        times, losses = times_and_losses(cut)
        expected, nothing = times_and_losses(source)
        assert nothing is None
        assert len(times) == num_frames_for_ffmpeg(cut)
        assert len(times) < 180
        assert times == sorted(set(times))
        # Of the last ones some are not there that are shown before others that are.
        assert set(map(_rounded, times)) <= {*map(_rounded, expected)}
        assert times[:-5] == pytest.approx(expected[: len(times) - 5], abs=0.0006)
        if suffix != ".ts":  # which tells its length nowhere
            assert losses is not None
            assert losses.endswith(" of 6.0 seconds; the file is cut off")

    @pytest.mark.parametrize("count", [1, 2, 3, 5])
    @pytest.mark.parametrize("codec", ["h264", "hevc", "mpeg4"])
    def test_so_few_that_a_decoder_with_threads_keeps_them_all(self, codec: str, count: int, folder: Path) -> None:
        source = whole(codec, ".mp4", folder)
        with av.open(str(source), "r") as container:
            places = sorted(packet.pos or 0 for packet in container.demux(video=0) if packet.size)
        cut = Path("cut.mp4")
        cut.write_bytes(source.read_bytes()[: (places[count] + places[count + 1]) // 2])
        times, losses = times_and_losses(cut)
        assert len(times) == num_frames_for_ffmpeg(cut) > 0
        assert losses is not None

    @pytest.mark.parametrize(("codec", "suffix"), [pair for pair in PAIRS if pair[1] != ".ts"])
    def test_the_last_byte(self, codec: str, suffix: str, folder: Path) -> None:
        """Next to nothing is missing, and all frames but at most one are there."""
        source = whole(codec, suffix, folder)
        cut = Path(f"cut{suffix}")
        cut.write_bytes(source.read_bytes()[:-1])
        assert len(times_and_losses(cut)[0]) == num_frames_for_ffmpeg(cut) >= 179


class TestNoise:
    """Packets with noise in them. A lost frame is one that ffmpeg does not show either."""

    @pytest.mark.parametrize("num_bad", [1, 40])
    @pytest.mark.parametrize(("codec", "suffix"), [pair for pair in PAIRS if pair[1] != ".ts"])
    def test_packets_in_a_row(self, codec: str, suffix: str, num_bad: int, folder: Path) -> None:
        source = whole(codec, suffix, folder)
        noise = f"noise=amount='gte(n,60)*lt(n,{60 + num_bad})*2'"
        bad = ffmpeg(f"-i {source} -c copy -bsf:v {noise}", Path(f"bad{suffix}").absolute())
        times, losses = times_and_losses(bad)
        assert len(times) == num_frames_for_ffmpeg(bad) < 180
        assert set(map(_rounded, times)) <= {*map(_rounded, times_and_losses(source)[0])}
        assert times == sorted(set(times))
        assert losses is not None
        if codec in ("h264", "hevc", "mjpeg"):
            lost = 180 - len(times)
            assert losses.startswith(
                "1 frame could not be decoded and is left out"
                if lost == 1
                else f"{lost} frames could not be decoded and are left out"
            )

    @pytest.mark.parametrize(("codec", "suffix"), [("hevc", ".ts"), ("h264", ".ts")])
    def test_frames_that_a_decoder_passes_over_in_silence_are_counted(
        self, codec: str, suffix: str, folder: Path
    ) -> None:
        """What refers to a lost picture is lost too; no packet of a transport stream is refused for it."""
        source = whole(codec, suffix, folder)
        noise = "noise=amount='eq(mod(n\\,17)\\,5)*50'"
        bad = ffmpeg(f"-i {source} -c copy -bsf:v {noise}", Path(f"bad{suffix}").absolute())
        times, losses = times_and_losses(bad)
        assert len(times) == num_frames_for_ffmpeg(bad) < 180
        assert losses is not None

    @pytest.mark.parametrize(
        "arguments",
        [
            f"{pictures('64x64')} -c:v libx264 -g 20 -flags +ildct+ilme -x264-params tff=1 -pix_fmt yuv420p",
            f"{pictures()} -c:v libx264 -preset ultrafast -x264-params open-gop=1:keyint=20 -bf 3 -pix_fmt yuv420p",
            f"{pictures()} -c:v libx265 -preset ultrafast -x265-params log-level=none:keyint=20:open-gop=1",
        ],
    )
    @pytest.mark.parametrize("suffix", [".ts", ".mp4"])
    def test_nothing_is_lost_in_whole_files(self, arguments: str, suffix: str, tmp_path: Path) -> None:
        """Neither fields nor pictures that refer to what lies before the beginning of a recording."""
        source = ffmpeg(f"{SOUND} {arguments}", tmp_path / f"whole{suffix}")
        assert times_and_losses(source)[1] is None
        tail = tmp_path / "tail.ts"
        if suffix == ".ts":  # a recording that begins somewhere
            packets = source.read_bytes()
            tail.write_bytes(packets[len(packets) // 188 // 3 * 188 :])
            times, losses = times_and_losses(tail)
            assert 10 < len(times) < 50
            assert losses is None

    def test_over_a_hundred_on_end(self, folder: Path) -> None:
        """Up to there they are stepped over; then it is an error with the place."""
        source = whole("mjpeg", ".avi", folder)
        for count, is_error in ((100, False), (101, True)):
            noise = f"noise=amount='gte(n,20)*lt(n,{20 + count})'"
            bad = ffmpeg(f"-i {source} -c copy -bsf:v {noise}", Path("bad.avi").absolute())
            if is_error:
                with pytest.raises(VideoError, match=r"bad.avi: damaged after frame 20 \("):
                    read(bad)
            else:
                assert len(read(bad)) == 80


def _rounded(seconds: float) -> int:
    return round(seconds * 1000)
