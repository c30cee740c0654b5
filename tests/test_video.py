"""Videos in, videos out: every frame, its own time, the sound; and what happens when that cannot be."""

import hashlib
import os
import subprocess
import sys
import threading
import weakref
from collections.abc import Callable, Iterable, Iterator
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest
from click.testing import CliRunner, Result

from ssd_detect.arrays import Pixels
from ssd_detect.cli.main import program
from ssd_detect.cli.progress import told
from ssd_detect.detections import BestGuess, Detections
from ssd_detect.errors import OutputError, VideoError
from ssd_detect.media.video.clock import FrameTime
from ssd_detect.media.video.frames import Frame
from ssd_detect.media.video.orientation import Orientation
from ssd_detect.media.video.reader import VideoReader
from ssd_detect.media.video.run import DetectedFrame, VideoRun
from ssd_detect.media.video.selection import Chosen
from ssd_detect.media.video.writer import VideoWriter
from ssd_detect.settings import Selection
from ssd_detect.stages import StageTimes
from tests.clips import H264, SOUND, facts, ffmpeg, furthest, pictures, smooth_pictures

NAMES = ("background", "car", "person")
HDR = "colorspace=bt2020nc:color_primaries=bt2020:color_trc=smpte2084"
VFR = "-vf setpts='if(lt(N,30),N/30,1+(N-30)/10)/TB' -fps_mode vfr"


@pytest.fixture(scope="module")
def clip(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two seconds of 64x48 at 30 frames/s with AAC sound."""
    return ffmpeg(f"{pictures()} {SOUND} {H264} -c:a aac", tmp_path_factory.mktemp("clips") / "clip.mp4")


@pytest.fixture(autouse=True)
def _in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def copy(source: Path, target: Path, **options: Any) -> str | None:
    """Through reader and writer, nothing drawn; what the reader found missing."""
    with VideoReader(source) as reader:
        with VideoWriter(target, like=reader.info, **options) as writer:
            for frame in reader:
                writer.append(frame.pixels, frame.time)
        return reader.losses


def read(path: Path) -> list[Frame]:
    with VideoReader(path) as reader:
        return list(reader)


CLIPS = {
    "plain": f"{pictures()} {SOUND} {H264} -c:a aac",
    "silent": f"{pictures()} {H264}",
    "29.97": f"{pictures(rate='30000/1001', seconds=4)} {H264}",
    "12.5": f"{pictures(rate='25/2')} {SOUND} {H264} -c:a aac",
    "one frame a second": f"{pictures(rate='1', seconds=30)} -f lavfi -i sine=d=30 {H264} -c:a aac",
    "one frame": f"{pictures(seconds=0.03)} {H264}",
    "variable rate": f"{pictures()} {SOUND} {H264} -c:a aac {VFR}",
    "two audio tracks": f"{pictures()} {SOUND} -f lavfi -i sine=f=880:d=2 {H264} -map 0 -map 1 -map 2 -c:a aac"
    " -metadata:s:a:0 language=spa -metadata:s:a:1 language=fra",
    "longer sound": f"{pictures(seconds=1)} -f lavfi -i sine=d=3 {H264} -c:a aac",
    "shorter sound": f"{pictures()} -f lavfi -i sine=d=0.5 {H264} -c:a aac",
    "late sound": f"{pictures()} -itsoffset 0.5 {SOUND} {H264} -c:a aac",
    "late video": f"-itsoffset 0.5 {pictures()} {SOUND} {H264} -c:a aac",
    "MP3": f"{pictures()} {SOUND} {H264} -c:a libmp3lame",
    "wide pixels": f"{pictures()} {H264} -vf setsar=4/3",
}


class TestCopy:
    """The copy of a clip has the clip's frames, times and sound."""

    @pytest.mark.parametrize("suffix", [".mp4", ".mov", ".mkv"])
    @pytest.mark.parametrize("name", CLIPS)
    def test_frames_times_and_sound_are_kept(self, name: str, suffix: str, tmp_path: Path) -> None:
        source = ffmpeg(CLIPS[name], tmp_path / "in.mp4")
        before = source.read_bytes()
        assert copy(source, tmp_path / f"out{suffix}") is None
        assert source.read_bytes() == before
        old, new = facts(source), facts(tmp_path / f"out{suffix}")
        assert (new.codec, new.pixel_format) == ("h264", "yuv420p")
        assert new.sizes == old.sizes
        # Matroska counts in milliseconds.
        assert furthest(old.times, new.times) <= (0.0005 if suffix == ".mkv" else 0)
        if name != "variable rate":  # it has none: each library divides another way
            assert old.rate
            assert new.rate == pytest.approx(old.rate, rel=1e-3) if suffix == ".mkv" else new.rate == old.rate
        if name == "variable rate":  # ffmpeg takes the last frames in the order in which they are stored
            assert new.seconds == pytest.approx(4, abs=0.001)
        else:
            assert new.seconds == pytest.approx(old.seconds, abs=0.3 if suffix == ".mkv" else 0.05)
        assert new.pixel_aspect == old.pixel_aspect
        assert [track.packets for track in new.sound] == [track.packets for track in old.sound]
        assert [track.language for track in new.sound] == [track.language for track in old.sound]
        for one, other in zip(old.sound, new.sound, strict=True):
            assert furthest(one.times, other.times) <= 0.0006

    @pytest.mark.parametrize(
        ("sound", "source", "target", "codec"),
        [
            ("libopus", "in.mkv", "out.mp4", "opus"),
            ("libopus", "in.mkv", "out.mkv", "opus"),
            ("libvorbis", "in.mkv", "out.mkv", "vorbis"),
            ("pcm_s16le", "in.mov", "out.mov", "pcm_s16le"),
            ("pcm_s16le", "in.mov", "out.mkv", "pcm_s16le"),
            ("flac", "in.mkv", "out.mp4", "flac"),
        ],
    )
    def test_other_sound_is_copied_too(self, sound: str, source: str, target: str, codec: str, tmp_path: Path) -> None:
        ffmpeg(f"{pictures()} {SOUND} {H264} -c:a {sound}", tmp_path / source)
        copy(tmp_path / source, tmp_path / target)
        (old,), (new,) = facts(tmp_path / source).sound, facts(tmp_path / target).sound
        assert new.codec == codec
        assert new.packets == old.packets

    @pytest.mark.parametrize(
        ("arguments", "source", "target"),
        [
            (f"{pictures()} {SOUND} {H264} -c:a pcm_s16le", "in.mov", "out.mp4"),
            (f"{pictures()} -itsoffset 0.5 {SOUND} {H264} -c:a pcm_s16le", "in.mov", "out.mp4"),
            (f"{pictures()} {SOUND} {H264} -c:a libvorbis", "in.mkv", "out.mp4"),
            (f"{pictures()} {SOUND} {H264} -c:a libopus", "in.mkv", "out.mov"),
            (f"{pictures()} -f lavfi -i sine=d=2:r=11000 -c:v mjpeg -c:a pcm_u8", "in.avi", "out.mp4"),
            (f"{pictures()} {SOUND} -ac 6 {H264} -c:a pcm_s16le", "in.mov", "out.mp4"),
        ],
    )
    def test_sound_that_the_container_does_not_take_becomes_aac(
        self, arguments: str, source: str, target: str, tmp_path: Path
    ) -> None:
        ffmpeg(arguments, tmp_path / source)
        copy(tmp_path / source, tmp_path / target)
        old, new = _heard(tmp_path / source), _heard(tmp_path / target)
        assert facts(tmp_path / target).sound[0].codec == "aac"
        assert new["begin"] == pytest.approx(old["begin"], abs=0.005)
        assert new["end"] == pytest.approx(old["end"], abs=0.005)
        assert new["level"] == pytest.approx(old["level"], rel=0.1)
        assert new["channels"] == old["channels"]

    def test_no_audio(self, clip: Path, tmp_path: Path) -> None:
        copy(clip, tmp_path / "out.mp4", audio=False)
        assert facts(tmp_path / "out.mp4").sound == []
        assert facts(tmp_path / "out.mp4").times == facts(clip).times

    def test_matroska_in(self, clip: Path, tmp_path: Path) -> None:
        source = ffmpeg(f"-i {clip} -c copy", tmp_path / "in.mkv")
        assert copy(source, tmp_path / "out.mp4") is None
        old, new = facts(source), facts(tmp_path / "out.mp4")
        assert new.times == old.times
        assert new.rate == old.rate
        assert new.sound[0].packets == old.sound[0].packets

    def test_a_start_far_from_zero_is_kept(self, clip: Path, tmp_path: Path) -> None:
        source = ffmpeg(f"-i {clip} -c copy -output_ts_offset 5", tmp_path / "in.mkv")
        assert copy(source, tmp_path / "out.mp4") is None
        old, new = facts(source), facts(tmp_path / "out.mp4")
        assert old.times[0] == 5
        assert new.times == old.times
        assert furthest(new.sound[0].times, old.sound[0].times) < 0.001

    def test_an_edit_list_shows_what_it_shows(self, clip: Path, tmp_path: Path) -> None:
        source = ffmpeg(f"-ss 0.7 -i {clip} -c copy", tmp_path / "in.mp4")  # begins between two key frames
        assert copy(source, tmp_path / "out.mp4") is None
        old, new = facts(source), facts(tmp_path / "out.mp4")
        assert len(old.times) == 39
        assert new.times == old.times

    @pytest.mark.parametrize("codec", ["libx264 -bf 2", "mpeg4 -bf 2", "mjpeg"])
    def test_avi_has_even_times(self, codec: str, tmp_path: Path) -> None:
        source = ffmpeg(f"{pictures()} -c:v {codec} -pix_fmt yuvj420p", tmp_path / "in.avi")
        copy(source, tmp_path / "out.mp4")
        assert facts(tmp_path / "out.mp4").times == [Fraction(n, 30) for n in range(60)]

    def test_a_raw_stream_gets_times(self, clip: Path, tmp_path: Path) -> None:
        source = ffmpeg(f"-i {clip} -c:v copy -an", tmp_path / "in.h264")
        with VideoReader(source) as reader:
            assert reader.info.frame_count is None
            times = [frame.time for frame in reader]
        gaps = {after.pts - before.pts for before, after in pairwise(times)}
        assert (len(times), len(gaps)) == (60, 1)

    def test_players_get_the_index_first_and_sound_beside_the_frames(self, clip: Path, tmp_path: Path) -> None:
        copy(clip, tmp_path / "out.mp4")
        data = (tmp_path / "out.mp4").read_bytes()
        assert data.index(b"moov") < data.index(b"mdat")
        with av.open(str(tmp_path / "out.mp4"), "r") as container:
            stored = sorted((p for p in container.demux() if p.size), key=lambda p: p.pos or 0)
            times = [p.dts * p.time_base for p in stored if p.dts is not None]
        assert max(before - after for before, after in pairwise(times)) < 0.2

    @pytest.mark.parametrize("size", ["321x181", "64x47", "63x48", "1x1"])
    def test_odd_sides_grow_by_a_copy_of_the_last_pixels(self, size: str, tmp_path: Path) -> None:
        width, height = map(int, size.split("x"))
        source = ffmpeg(f"{smooth_pictures(size)} -c:v ffv1 -pix_fmt bgr0", tmp_path / "in.mkv")
        copy(source, tmp_path / "out.mp4")
        old, new = read(source), read(tmp_path / "out.mp4")
        assert old[0].pixels.shape == (height, width, 3)
        assert new[0].pixels.shape == (height + height % 2, width + width % 2, 3)
        padded = np.pad(old[0].pixels, ((0, height % 2), (0, width % 2), (0, 0)), mode="edge")
        assert np.abs(new[0].pixels.astype(int) - padded).max() < 16
        assert [f.time.start for f in new] == [f.time.start for f in old]

    def test_nothing_is_rescaled(self, tmp_path: Path) -> None:
        """A one-pixel chequerboard, 322 wide, stays sharp: multiples of 16 are none of our business."""
        board = np.indices((180, 322)).sum(axis=0) % 2 * 255
        source = ffmpeg(f"{pictures('322x180', '10', 0.3)} {H264}", tmp_path / "in.mp4")
        with VideoReader(source) as reader, VideoWriter("out.mp4", like=reader.info) as writer:
            for frame in reader:
                writer.append(np.repeat(board[..., np.newaxis].astype(np.uint8), 3, axis=2), frame.time)
        assert np.abs(read(Path("out.mp4"))[0].pixels[..., 1].astype(int) - board).mean() < 8


def _heard(path: Path) -> dict[str, float]:
    """When the first audio track is first and last heard, in seconds, how loud it is, and on how many channels."""
    with av.open(str(path), "r") as container:
        frames = list(container.decode(container.streams.audio[0]))
    resampler = av.AudioResampler("flt", "mono", 8000)
    heard = np.concatenate([_samples(part) for frame in frames for part in resampler.resample(frame)])
    begin = frames[0].time or 0.0
    loud = np.flatnonzero(np.abs(heard) > 0.02)
    return {
        "begin": begin + loud[0] / 8000,
        "end": begin + loud[-1] / 8000,
        "level": float(np.sqrt(np.mean(heard[loud[0] : loud[-1]] ** 2))),
        "channels": frames[0].layout.nb_channels,
    }


def _samples(frame: av.AudioFrame) -> np.ndarray[Any, np.dtype[np.float32]]:
    return np.asarray(frame.to_ndarray(), np.float32).ravel()


class TestOrientation:
    @pytest.mark.parametrize(("degrees", "turns"), [(90, 1), (180, 2), (270, 3), (-90, 3)])
    def test_frames_and_copy_are_upright(self, degrees: int, turns: int, clip: Path, tmp_path: Path) -> None:
        """ffmpeg's -display_rotation counts anti-clockwise, as np.rot90 does."""
        source = ffmpeg(f"-display_rotation {degrees} -i {clip} -c copy", tmp_path / "in.mp4")
        plain, turned = read(clip), read(source)
        assert len(turned) == len(plain)
        for before, after in zip(plain, turned, strict=True):
            np.testing.assert_array_equal(after.pixels, np.rot90(before.pixels, turns))
        copy(source, tmp_path / "out.mp4")
        assert facts(source).is_turned
        new = facts(tmp_path / "out.mp4")
        assert not new.is_turned
        assert new.sizes == {(48, 64)} if turns % 2 else {(64, 48)}
        assert np.abs(read(tmp_path / "out.mp4")[0].pixels.astype(int) - turned[0].pixels).mean() < 12

    def test_a_mirrored_clip(self, clip: Path, tmp_path: Path) -> None:
        source = ffmpeg(f"-display_hflip -i {clip} -c copy", tmp_path / "in.mp4")
        np.testing.assert_array_equal(read(source)[0].pixels, read(clip)[0].pixels[:, ::-1])

    def test_wide_pixels_become_tall_ones(self, tmp_path: Path) -> None:
        flat = ffmpeg(f"{pictures()} {H264} -vf setsar=4/3", tmp_path / "flat.mp4")
        source = ffmpeg(f"-display_rotation 90 -i {flat} -c copy", tmp_path / "in.mp4")
        copy(source, tmp_path / "out.mp4")
        assert facts(tmp_path / "out.mp4").pixel_aspect == Fraction(3, 4)

    @pytest.mark.parametrize("matrix", [(a, b, c, d) for a in (1, 0, -1) for b in (1, 0, -1) for c in (1, 0, -1) for d in (1, 0, -1) if abs(a * d - b * c) == 1 and abs(a) + abs(b) == 1 == abs(c) + abs(d)])  # fmt: skip  # noqa: E501
    def test_all_eight(self, matrix: tuple[int, int, int, int]) -> None:
        """Every pixel lands where the matrix sends it."""
        picture = np.arange(5 * 3 * 3, dtype=np.uint8).reshape(5, 3, 3)
        turned = Orientation(*matrix).upright(picture)
        a, b, c, d = matrix
        places = {(a * x + c * y, b * x + d * y): picture[y, x] for y in range(5) for x in range(3)}
        left, top = min(x for x, _ in places), min(y for _, y in places)
        for (x, y), pixel in places.items():
            np.testing.assert_array_equal(turned[y - top, x - left], pixel)


class TestReader:
    def test_what_it_knows(self, clip: Path) -> None:
        with VideoReader(str(clip)) as reader:
            info = reader.info
            assert (info.width, info.height, info.rate, info.frame_count) == (64, 48, Fraction(30), 60)
            assert info.companions == clip
            frames = list(reader)
        assert {f.pixels.shape for f in frames} == {(48, 64, 3)}
        assert {f.pixels.dtype for f in frames} == {np.dtype(np.uint8)}
        assert frames[1].time == FrameTime(512, frames[1].time.duration, Fraction(1, 15360))
        assert frames[-1].time.end == pytest.approx(2.0)
        reader.close()

    def test_matroska_tells_a_length_only(self, clip: Path, tmp_path: Path) -> None:
        with VideoReader(ffmpeg(f"-i {clip} -an -c copy", tmp_path / "in.mkv")) as reader:
            assert reader.info.frame_count == 60

    def test_it_may_be_left_early(self, clip: Path) -> None:
        with VideoReader(clip) as reader:
            for _, frame in zip(range(3), reader, strict=False):
                assert frame.pixels.any()

    def test_cover_of_a_song_is_no_video(self, tmp_path: Path) -> None:
        cover = ffmpeg(f"{pictures(seconds=0.03)} -frames:v 1", tmp_path / "cover.png")
        song = ffmpeg(
            f"{SOUND} -i {cover} -map 0 -map 1 -c:a libmp3lame -c:v copy -disposition:v attached_pic",
            tmp_path / "song.mp3",
        )
        with pytest.raises(VideoError, match=r"song.mp3: has no video track \(found: audio, video\)"):
            VideoReader(song)

    @pytest.mark.parametrize(
        ("name", "content", "message"),
        [
            ("gone.mp4", None, "gone.mp4: no such file"),
            ("empty.mp4", b"", "empty.mp4: is empty (0 bytes), expected a video file"),
            ("words.mp4", b"hello " * 100, "words.mp4: cannot be read (Invalid data found when processing input), "),
            ("words.txt", b"hello " * 100, "words.txt: is a text, expected a video file"),
        ],
    )
    def test_not_a_video(self, name: str, content: bytes | None, message: str) -> None:
        if content is not None:
            Path(name).write_bytes(content)
        with pytest.raises(VideoError) as caught:
            VideoReader(name)
        assert str(caught.value).startswith(message)
        assert "\n" not in str(caught.value)

    def test_a_picture(self, media: Path) -> None:
        with pytest.raises(VideoError, match=r"is a picture \(use ssd-detect image\), expected a video file"):
            VideoReader(media / "chelsea.png")

    def test_a_folder(self, tmp_path: Path) -> None:
        with pytest.raises(VideoError, match="is a folder, expected a video file"):
            VideoReader(tmp_path)

    def test_sound_alone(self, tmp_path: Path) -> None:
        song = ffmpeg(f"{SOUND} -c:a aac", tmp_path / "song.mp4")
        with pytest.raises(VideoError, match=r"song.mp4: has no video track \(found: audio\)"):
            VideoReader(song)

    def test_half_a_recording(self, clip: Path) -> None:
        """Without -movflags faststart the index is at the end, and gone."""
        Path("half.mp4").write_bytes(clip.read_bytes()[: clip.stat().st_size // 2])
        with pytest.raises(VideoError, match="broken off may lack its index"):
            VideoReader("half.mp4")


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


class TestWriter:
    @pytest.mark.parametrize(
        ("name", "message"),
        [
            ("out.xyz", "out.xyz: cannot write .xyz; use .mp4, .m4v, .mov, .mkv, .webm, .avi, .gif"),
            ("out", "out: cannot write a file without suffix; use .mp4, .m4v, .mov, .mkv, .webm, .avi, .gif"),
            ("folder.mp4", "folder.mp4: is a folder"),
            ("there.mp4", "there.mp4: exists already; name another output or use --overwrite"),
            ("there.mp4/out.mp4", "there.mp4/out.mp4: cannot be written"),
        ],
    )
    def test_targets_that_cannot_be(self, name: str, message: str, clip: Path, tmp_path: Path) -> None:
        (tmp_path / "folder.mp4").mkdir()
        (tmp_path / "there.mp4").write_bytes(b"precious")
        with VideoReader(clip) as reader, pytest.raises(OutputError) as caught:
            VideoWriter(name, like=reader.info).__enter__()
        assert str(caught.value).startswith(message)
        assert sorted(os.listdir()) == ["folder.mp4", "there.mp4"]  # noqa: PTH208
        assert (tmp_path / "there.mp4").read_bytes() == b"precious"

    @pytest.mark.parametrize("how", ["same", "relative", "symbolic link", "hard link"])
    def test_the_input_is_never_the_output(self, how: str, clip: Path, tmp_path: Path) -> None:
        source = tmp_path / "in.mp4"
        source.write_bytes(clip.read_bytes())
        target = {"same": source, "relative": Path("../") / tmp_path.name / "in.mp4"}.get(how, tmp_path / "link.mp4")
        if how == "symbolic link":
            target.symlink_to(source)
        if how == "hard link":
            target.hardlink_to(source)
        with pytest.raises(OutputError, match="is the input itself"):
            copy(source, target, overwrite=True)
        assert source.read_bytes() == clip.read_bytes()

    def test_missing_folders_are_made(self, clip: Path) -> None:
        copy(clip, Path("new/folder/out.mp4"))
        assert len(facts(Path("new/folder/out.mp4")).times) == 60

    @pytest.mark.parametrize("num_frames", [0, 1, 50])
    @pytest.mark.parametrize("error", [ValueError("odd"), KeyboardInterrupt()])
    def test_an_error_leaves_nothing_and_the_old_file(
        self, num_frames: int, error: BaseException, clip: Path, tmp_path: Path
    ) -> None:
        (tmp_path / "out.mp4").write_bytes(b"precious")

        def fail() -> None:
            with VideoReader(clip) as reader, VideoWriter("out.mp4", like=reader.info, overwrite=True) as writer:
                for _, frame in zip(range(num_frames), reader, strict=False):
                    writer.append(frame.pixels, frame.time)
                raise error

        with pytest.raises(type(error)) as caught:
            fail()
        assert caught.value is error
        assert os.listdir() == ["out.mp4"]  # noqa: PTH208
        assert (tmp_path / "out.mp4").read_bytes() == b"precious"

    def test_it_is_whole_before_it_has_its_name(self, clip: Path, tmp_path: Path) -> None:
        with VideoReader(clip) as reader, VideoWriter("out.mp4", like=reader.info) as writer:
            for frame in reader:
                writer.append(frame.pixels, frame.time)
                assert not (tmp_path / "out.mp4").exists()
        assert os.listdir() == ["out.mp4"]  # noqa: PTH208

    def test_a_file_that_appears_meanwhile_is_kept(self, clip: Path, tmp_path: Path) -> None:
        def lose_the_race() -> None:
            with VideoReader(clip) as reader, VideoWriter("out.mp4", like=reader.info) as writer:
                for frame in reader:
                    writer.append(frame.pixels, frame.time)
                (tmp_path / "out.mp4").write_bytes(b"precious")

        with pytest.raises(OutputError, match="exists already"):
            lose_the_race()
        assert os.listdir() == ["out.mp4"]  # noqa: PTH208
        assert (tmp_path / "out.mp4").read_bytes() == b"precious"

    def test_frames_of_another_size_and_no_frames(self, clip: Path) -> None:
        def write(pixels: Pixels | None) -> None:
            with VideoReader(clip) as reader, VideoWriter("out.mp4", like=reader.info) as writer:
                if pixels is not None:
                    writer.append(pixels, FrameTime(0, 1, Fraction(1, 30)))

        with pytest.raises(VideoError, match="got a frame of 48x64 pixels, expected 64x48"):
            write(np.zeros((64, 48, 3), np.uint8))
        with pytest.raises(VideoError, match="got no frames"):
            write(None)
        assert os.listdir() == []  # noqa: PTH208

    @pytest.mark.skipif(sys.platform == "win32", reason="no limit on file sizes there")
    def test_a_full_disk(self, clip: Path, tmp_path: Path) -> None:
        """A limit on the size of files fails as a full disk does: in the middle of writing."""
        code = (
            "import resource, signal, sys; sys.path.insert(0, sys.argv[3])\n"
            "from pathlib import Path\n"
            "from tests.test_video import OutputError, copy\n"
            "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
            "before = resource.getrlimit(resource.RLIMIT_FSIZE)\n"
            "resource.setrlimit(resource.RLIMIT_FSIZE, (9000, before[1]))\n"
            "try:\n    copy(Path(sys.argv[1]), Path(sys.argv[2]))\n"
            "except OutputError as error:\n    print(error)\n"
            "resource.setrlimit(resource.RLIMIT_FSIZE, before)\n"  # coverage wants to write too
        )
        root = Path(__file__).parent.parent
        command = [sys.executable, "-c", code, str(clip), "out.mp4", str(root)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
        assert done.stdout.startswith("out.mp4: cannot be written: "), done.stderr
        assert not list(Path().glob("*out*"))


def found(picture: Pixels, class_ids: tuple[int, ...] = (1,)) -> Detections:
    """A stand-in for the network: the same boxes in every picture."""
    height, width = picture.shape[:2]
    boxes = np.array([[0, 0, width, height]] * len(class_ids), np.float32).reshape(-1, 4)
    scores = np.full(len(class_ids), 0.9, np.float32)
    guess = None if class_ids else BestGuess("person", 0.25)
    return Detections(boxes, scores, np.array(class_ids, np.int64), (width, height), NAMES, best_guess=guess)


def frames_of(count: int, pixels: Callable[[], Pixels] | None = None) -> Iterator[Frame]:
    for number in range(count):
        picture = pixels() if pixels else np.full((4, 6, 3), number % 256, np.uint8)
        yield Frame(picture, FrameTime(10 + number, 1, Fraction(1, 10)))


def every_frame(stride: int = 1) -> Callable[[Iterable[Frame]], Chosen]:
    return lambda frames: Chosen(frames, Selection(stride=stride))


def video_run(batch_size: int = 4, **parts: Any) -> VideoRun:
    defaults: dict[str, Any] = {
        "detect": lambda batch: [found(picture) for picture in batch],
        "choose": every_frame(),
        "times": StageTimes(),
    }
    return VideoRun(batch_size=batch_size, **(defaults | parts))


def no_pipeline_is_left() -> bool:
    return not any("pipeline" in thread.name for thread in threading.enumerate())


class TestVideoRun:
    @pytest.mark.parametrize("count", [0, 1, 4, 5, 8, 30])
    @pytest.mark.parametrize("batch_size", [1, 4])
    def test_each_frame_once_in_order_in_batches(self, count: int, batch_size: int) -> None:
        batches: list[int] = []
        written: list[DetectedFrame] = []

        def detect(batch: list[Pixels]) -> list[Detections]:
            batches.append(len(batch))
            return [found(picture) for picture in batch]

        run = video_run(batch_size, detect=detect)
        run.do(frames_of(count), written.append)
        assert [(w.number, int(w.frame.pixels[0, 0, 0])) for w in written] == [(n, n) for n in range(count)]
        assert [w.frame.time for w in written] == [FrameTime(10 + n, 1, Fraction(1, 10)) for n in range(count)]
        assert all(w.is_detected and len(w.detections) == 1 for w in written)
        assert max(batches, default=0) <= batch_size
        assert len(batches) == -(-count // batch_size)
        assert no_pipeline_is_left()
        assert set(run.times.seconds()) == {"read"}

    @pytest.mark.parametrize("stage", ["read", "choose", "detect", "write"])
    @pytest.mark.parametrize("place", [0, 3, 20])
    def test_the_first_error_of_any_stage_ends_the_run(self, stage: str, place: int) -> None:
        calls = dict.fromkeys(("read", "choose", "detect", "write"), 0)

        def at(name: str, value: Any = None) -> Any:
            if name == stage and calls[name] == place:
                raise OSError(f"{name} broke")
            calls[name] += 1
            return value

        run = video_run(
            2,
            choose=lambda frames: (at("choose", frame) for frame in every_frame()(frames)),
            detect=lambda batch: at("detect", [found(picture) for picture in batch]),
        )
        frames = (at("read", frame) for frame in frames_of(10_000))
        with pytest.raises(OSError, match=f"{stage} broke"):
            run.do(frames, lambda _: at("write"))
        assert no_pipeline_is_left()
        assert calls["read"] < 100

    def test_ctrl_c_in_the_network(self) -> None:
        def interrupt(_: list[Pixels]) -> list[Detections]:
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            video_run(detect=interrupt).do(frames_of(1000), lambda _: None)
        assert no_pipeline_is_left()

    @pytest.mark.parametrize("batch_size", [1, 4])
    @pytest.mark.parametrize("stride", [1, 5])
    def test_memory_is_flat(self, batch_size: int, stride: int) -> None:
        alive: set[int] = set()
        most = 0

        def pixels() -> Pixels:
            nonlocal most
            picture = np.zeros((4, 6, 3), np.uint8)
            alive.add(id(picture))
            weakref.finalize(picture, alive.discard, id(picture))
            most = max(most, len(alive))
            return picture

        video_run(batch_size, choose=every_frame(stride)).do(frames_of(400, pixels), lambda _: None)
        assert most <= 3 * batch_size * stride + 6

    def test_leaving_the_detections_early_ends_the_reader(self) -> None:
        detected = video_run().detected(frames_of(1000))
        first = next(detected)
        assert (first.frame.time.pts, len(first.detections)) == (10, 1)
        detected.close()
        assert no_pipeline_is_left()


class TestProgress:
    @pytest.mark.parametrize(
        ("done", "total", "rate", "text"),
        [
            (1, None, None, "1 frames"),
            (9, 60, None, "9/60 frames"),
            (9, None, 3.14, "9 frames, 3.1/s"),
            (9, 60, 3.1, "9/60 frames, 3.1/s, 0:00:16 left"),
            (60, 60, 3.1, "60/60 frames, 3.1/s, 0:00:00 left"),
            (1, 1_000_000, 3.0, "1/1000000 frames, 3.0/s, 3 days, 20:35:33 left"),
        ],
    )
    def test_beside_the_bar(self, done: int, total: int | None, rate: float | None, text: str) -> None:
        assert told(done, total, "frames", rate) == text

    @pytest.mark.skipif(sys.platform == "win32", reason="no pseudo-terminals there")
    @pytest.mark.parametrize("total", [5, None, 3])
    def test_the_bar_on_a_terminal(self, total: int | None) -> None:
        import pty

        code = (
            "from ssd_detect.cli.progress import counted_progress\n"
            "from ssd_detect.cli.talk import Talk\n"
            f"with counted_progress({total}, 'frames', Talk()) as advance:\n"
            "    for _ in range(5): advance()\n"
        )
        ours, theirs = pty.openpty()
        done = subprocess.run(
            [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=theirs, check=True, timeout=60
        )
        shown = os.read(ours, 100_000).decode()
        os.close(ours)
        os.close(theirs)
        assert done.stdout == b""
        assert ("5/5 frames" if total == 5 else "5 frames") in shown


class StandIn:
    """What `open_detector` gives, without a network."""

    def __init__(self, class_ids: tuple[int, ...] = (1, 2, 2), error: BaseException | None = None) -> None:
        self.times = StageTimes()
        self.class_ids, self.error = class_ids, error
        self.checkpoint_name, self.checkpoint_sha256, self.class_names = "stand-in", "0" * 64, NAMES

    def __enter__(self) -> "StandIn":
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def __call__(self, batch: list[Pixels]) -> list[Detections]:
        if self.error is not None:
            raise self.error
        return [found(picture, self.class_ids) for picture in batch]


def video(*arguments: object) -> Result:
    return CliRunner().invoke(program, ["video", *map(str, arguments)])


class TestCommand:
    @pytest.fixture(autouse=True)
    def stand_in(self, monkeypatch: pytest.MonkeyPatch) -> StandIn:
        detector = StandIn()

        def open_detector(run: object, times: StageTimes) -> StandIn:
            detector.times = times
            return detector

        monkeypatch.setattr("ssd_detect.cli.startup.open_detector", open_detector)
        return detector

    def test_done(self, clip: Path) -> None:
        before = hashlib.sha256(clip.read_bytes()).digest()
        result = video(clip, "out.mp4")
        assert (result.exit_code, result.stderr) == (0, "")
        assert result.stdout == "clip.mp4: 60 frames, 2.0 s, objects: person 120, car 60\nsaved out.mp4\n"
        old, new = facts(clip), facts(Path("out.mp4"))
        assert new.times == old.times
        assert new.sound[0].packets == old.sound[0].packets
        assert hashlib.sha256(clip.read_bytes()).digest() == before
        assert os.listdir() == ["out.mp4"]  # noqa: PTH208

    def test_nothing_found(self, clip: Path, stand_in: StandIn) -> None:
        stand_in.class_ids = ()
        result = video(clip, "out.mp4", "--score-threshold", 0.3)
        assert result.exit_code == 0
        assert result.stdout.startswith("clip.mp4: 60 frames, 2.0 s, objects: none above 0.3 (best: person 0.250)\n")

    def test_boxes_are_drawn_and_labels_can_be_left_out(self, tmp_path: Path) -> None:
        source = ffmpeg(f"-f lavfi -i color=gray:s=320x240:r=10:d=0.5 {H264}", tmp_path / "in.mp4")
        assert video(source, "labels.mp4").exit_code == 0
        assert video(source, "boxes.mp4", "--no-labels").exit_code == 0
        plain, labels, boxes = (read(Path(n))[2].pixels.astype(int) for n in ("in.mp4", "labels.mp4", "boxes.mp4"))
        changed = [np.count_nonzero(np.abs(p - plain).max(axis=2) > 40) for p in (boxes, labels)]
        assert 300 < changed[0] < changed[1]

    def test_no_audio(self, clip: Path) -> None:
        assert video(clip, "out.mp4", "--no-audio").exit_code == 0
        assert facts(Path("out.mp4")).sound == []

    def test_quiet(self, clip: Path) -> None:
        result = video(clip, "out.mp4", "--quiet")
        assert (result.exit_code, result.output) == (0, "")

    def test_verbose_tells_the_stages(self, clip: Path) -> None:
        result = video(clip, "out.mp4", "--verbose")
        assert result.stdout.endswith("saved out.mp4\n")
        (times,) = [line for line in result.stderr.splitlines() if line.startswith("time: ")]
        assert [part.split()[0] for part in times.removeprefix("time: ").split(", ")] == [
            "read",
            "draw",
            "encode",
            "finish",
        ]

    @pytest.mark.parametrize("name", ["gone.mp4", "empty.mp4", "words.mp4"])
    def test_bad_input(self, name: str) -> None:
        Path("empty.mp4").touch()
        Path("words.mp4").write_text("hello")
        result = video(name, "out.mp4")
        assert (result.exit_code, result.stdout) == (1, "")
        assert result.stderr.startswith(f"Error: {name}: ")
        assert result.stderr.count("\n") == 1
        assert not Path("out.mp4").exists()

    @pytest.mark.parametrize("name", ["out.xyz", "there.mp4", "out"])
    def test_bad_output(self, name: str, clip: Path) -> None:
        Path("there.mp4").write_bytes(b"precious")
        result = video(clip, name)
        assert (result.exit_code, result.stdout) == (1, "")
        assert result.stderr.startswith(f"Error: {name}: ")
        assert Path("there.mp4").read_bytes() == b"precious"
        assert video(clip, "there.mp4", "--overwrite").exit_code == 0

    def test_a_cut_file_ends_with_status_3(self, clip: Path, tmp_path: Path) -> None:
        whole = ffmpeg(f"-i {clip} -c copy", tmp_path / "whole.mkv")
        Path("cut.mkv").write_bytes(whole.read_bytes()[: whole.stat().st_size // 2])
        result = video("cut.mkv", "out.mp4")
        assert result.exit_code == 3
        assert result.stdout.endswith("saved out.mp4\n")
        assert result.stderr.startswith("Error: cut.mkv: it ends after ")
        assert result.stderr.endswith("; all that could be read is done\n")

    @pytest.mark.parametrize(
        ("error", "status", "said"),
        [(KeyboardInterrupt(), 130, "Interrupted.\n"), (OSError("gone"), 1, "gone"), (VideoError("odd"), 1, "odd\n")],
    )
    def test_a_failed_run_leaves_nothing(
        self, error: BaseException, status: int, said: str, clip: Path, stand_in: StandIn
    ) -> None:
        stand_in.error = error
        result = video(clip, "out.mp4")
        assert (result.exit_code, result.stdout) == (status, "")
        assert said in result.stderr
        assert os.listdir() == []  # noqa: PTH208
        assert no_pipeline_is_left()

    @pytest.mark.parametrize("arguments", [["gone.mp4", "out.mp4"], ["in.mp4", "out.xyz"], ["in.mp4", "in.mp4"]])
    def test_what_can_be_known_before_is_said_before_tensorflow_starts(self, arguments: list[str], clip: Path) -> None:
        Path("in.mp4").write_bytes(clip.read_bytes())
        code = (
            "import sys\nfrom ssd_detect.cli.main import program\n"
            "try:\n    program(sys.argv[1:])\n"
            "except SystemExit as error:\n    print(error.code, 'tensorflow' in sys.modules)\n"
        )
        command = [sys.executable, "-c", code, "video", *arguments]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        assert done.stdout == "1 False\n", done.stderr


def test_the_shipped_checkpoint_on_a_real_clip(media: Path, tmp_path: Path) -> None:
    """From end to end: a person is boxed in every frame, and the sound survives."""
    still = f"-loop 1 -framerate 30000/1001 -i {media / 'astronaut.png'}"
    source = ffmpeg(f"{still} -f lavfi -i sine=d=0.2 -frames:v 6 {H264} -crf 18 -c:a aac", tmp_path / "astronaut.mp4")
    result = video(source, "out.mp4", "--batch-size", 4, "--class", "person", "--score-threshold", 0.8)
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout == "astronaut.mp4: 6 frames, 0.2 s, objects: person 6\nsaved out.mp4\n"
    old, new = facts(source), facts(Path("out.mp4"))
    assert (new.times, new.rate, new.sizes) == (old.times, Fraction(30000, 1001), {(512, 512)})
    assert new.sound[0].packets == old.sound[0].packets
    for before, after in zip(read(source), read(Path("out.mp4")), strict=True):
        changed = np.argwhere(np.abs(before.pixels.astype(int) - after.pixels).max(axis=2) > 60)
        (top, left), (bottom, right) = changed.min(axis=0), changed.max(axis=0)
        assert left < 224 < right  # the face is at 224, 120
        assert top < 120 < bottom
        assert len(changed) < 512 * 512 / 10  # lines and a label, no more
