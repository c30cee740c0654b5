"""Videos from Python: the README's example, the loop that reads ahead, and the names of the package."""

import re
import runpy
import threading
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import imageio.v3
import numpy as np
import pytest

import ssd_detect
from ssd_detect.arrays import Pixels
from ssd_detect.detections import Detections
from ssd_detect.errors import PictureError, SettingError, VideoError
from ssd_detect.media.video.clock import FrameTime
from ssd_detect.media.video.frames import Frame
from tests.clips import H264, SOUND, facts, ffmpeg, pictures

README = (Path(__file__).parent.parent / "README.md").read_text(encoding="utf-8")


def mean_red(batch: list[Pixels]) -> list[Detections]:
    """One box a picture, whose score tells which picture it was."""
    return [
        Detections(
            boxes=np.array([[0, 0, 2, 2]], np.float32),
            scores=np.array([picture[..., 0].mean() / 255], np.float32),
            class_ids=np.array([1]),
            size=(picture.shape[1], picture.shape[0]),
            class_names=("background", "person"),
        )
        for picture in batch
    ]


def plain(red: int) -> Pixels:
    return np.full((4, 6, 3), red, np.uint8)


class TestDetectFrames:
    @pytest.mark.parametrize("count", [0, 1, 3, 4, 5, 9])
    @pytest.mark.parametrize("batch_size", [1, 4, 100])
    def test_every_frame_has_its_own_objects(self, count: int, batch_size: int) -> None:
        frames = ssd_detect.frames_at_rate(map(plain, range(count)), 10)
        found = list(ssd_detect.detect_frames(mean_red, frames, batch_size=batch_size))
        assert [f.number for f in found] == list(range(count))
        assert [round(255 * float(f.detections.scores[0])) for f in found] == list(range(count))
        assert [f.frame.time.start for f in found] == [Fraction(i, 10) for i in range(count)]
        assert all(f.is_detected for f in found)

    def test_batches_are_as_large_as_asked_for(self) -> None:
        sizes = []

        def detect(batch: list[Pixels]) -> list[Detections]:
            sizes.append(len(batch))
            return mean_red(batch)

        list(ssd_detect.detect_frames(detect, ssd_detect.frames_at_rate(map(plain, range(10)), 25)))
        assert sizes == [4, 4, 2]

    @pytest.mark.parametrize("batch_size", [0, -1])
    def test_a_size_that_makes_no_sense_is_refused_at_once(self, batch_size: int) -> None:
        with pytest.raises(SettingError, match=f"batch_size is {batch_size}, expected a whole number of at least 1"):
            ssd_detect.detect_frames(mean_red, [], batch_size=batch_size)

    def test_an_error_of_the_source_comes_behind_the_frames_before_it(self) -> None:
        def broken() -> Iterator[Frame]:
            yield Frame(plain(7), FrameTime(0, 1, Fraction(1, 25)))
            raise VideoError("in.mp4: is broken")

        found = ssd_detect.detect_frames(mean_red, broken(), batch_size=1)
        assert next(found).number == 0
        with pytest.raises(VideoError, match=r"in\.mp4: is broken"):
            next(found)

    def test_leaving_early_ends_the_reading(self) -> None:
        ended = threading.Event()

        def endless() -> Iterator[Pixels]:
            try:
                while True:
                    yield plain(1)
            finally:
                ended.set()

        found = ssd_detect.detect_frames(mean_red, ssd_detect.frames_at_rate(endless(), 25))
        assert next(found).number == 0
        found.close()
        assert ended.wait(10)

    def test_a_frame_is_given_before_the_next_one_is_read(self) -> None:
        """Else a camera that shows one frame a minute would lag by that."""
        given = threading.Event()

        def one_and_then_another() -> Iterator[Pixels]:
            yield plain(1)
            assert given.wait(10)
            yield plain(2)

        found = ssd_detect.detect_frames(mean_red, ssd_detect.frames_at_rate(one_and_then_another(), 25), batch_size=1)
        assert next(found).number == 0
        given.set()
        assert [f.number for f in found] == [1]

    def test_pictures_of_imageio_become_a_video(self, tmp_path: Path) -> None:
        clip = ffmpeg(f"{pictures(seconds=0.5)} {H264}", tmp_path / "in.mp4")
        frames = ssd_detect.frames_at_rate(imageio.v3.imiter(clip, plugin="pyav"), 30)
        info = ssd_detect.VideoInfo("made", 64, 48, rate=Fraction(30), time_base=Fraction(1, 30))
        with ssd_detect.VideoWriter(tmp_path / "out.mp4", like=info) as writer:
            for found in ssd_detect.detect_frames(mean_red, frames):
                drawn = ssd_detect.draw_detections(found.frame.pixels, found.detections)
                writer.append(drawn, found.frame.time)
        assert facts(tmp_path / "out.mp4").times == facts(clip).times


def test_arrays_are_no_frames() -> None:
    with pytest.raises(PictureError, match=r"expected frames, got ndarray; frames_at_rate\(pictures, 25\) makes them"):
        next(ssd_detect.detect_frames(lambda batch: [], [np.zeros((4, 4, 3), np.uint8)]))  # type: ignore[list-item]


@pytest.mark.slow
def test_the_readmes_example(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the real detector; frames, times and sound stay."""
    (code,) = [code for code in re.findall(r"```python\n(.*?)```", README, re.DOTALL) if "VideoReader" in code]
    monkeypatch.chdir(tmp_path)
    given = ffmpeg(f"{pictures(rate='30000/1001', seconds=0.3)} {SOUND} {H264} -c:a aac -t 0.3", Path("input.mp4"))
    Path("example.py").write_text(code)
    names = runpy.run_path("example.py")
    copy, source = facts(Path("boxed.mp4")), facts(given)
    assert copy.times == source.times
    assert copy.sound == source.sound
    assert names["found"].number == len(source.times) - 1


def test_public_names_are_loaded_when_used() -> None:
    for name in ssd_detect.__all__:
        assert getattr(ssd_detect, name) is not None
    with pytest.raises(AttributeError, match="has no attribute 'VideoPlayer'"):
        _ = ssd_detect.VideoPlayer
