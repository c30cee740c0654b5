"""Damaged and cut videos: all that is good, with true times, and what was lost."""

from pathlib import Path

import pytest

from ssd_detect.errors import VideoError
from tests.clips import facts, ffmpeg, furthest, pictures
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
