"""Videos in, videos out: every frame, its own time, the sound."""

from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest

from ssd_detect.media.video.reader import VideoReader
from ssd_detect.media.video.writer import VideoWriter
from tests.clips import H264, SOUND, VFR, facts, ffmpeg, furthest, pictures, smooth_pictures
from tests.video_parts import copy, read

pytestmark = pytest.mark.usefixtures("in_an_empty_folder")


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
