"""Reading videos: what is known of them, frames upright, and what is no video."""

from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from ssd_detect.errors import VideoError
from ssd_detect.media.video.clock import FrameTime
from ssd_detect.media.video.orientation import Orientation
from ssd_detect.media.video.reader import VideoReader
from tests.clips import H264, SOUND, facts, ffmpeg, pictures
from tests.video_parts import copy, read

pytestmark = pytest.mark.usefixtures("in_an_empty_folder")


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
