"""Live sources through the whole command: a server of pictures, a stand-in network that takes its time."""

import time
from collections.abc import Iterator
from fractions import Fraction
from itertools import pairwise
from pathlib import Path

import pytest

from ssd_detect.stages import StageTimes
from tests.clips import facts, ffmpeg, pictures
from tests.live_servers import Plan, Plans, http_server, motion_jpeg
from tests.video_runs import Looker, lines_of, video

pytestmark = pytest.mark.usefixtures("in_an_empty_folder")


@pytest.fixture
def camera(tmp_path: Path) -> Iterator[str]:
    """Fifty pictures a second, for as long as somebody looks."""
    (tmp_path / "jpegs").mkdir()
    ffmpeg(f"{pictures(seconds=1)} -q:v 3", tmp_path / "jpegs/%02d.jpg")
    jpegs = [path.read_bytes() for path in sorted((tmp_path / "jpegs").iterdir())]
    plans = Plans([Plan(pause=0.02)])
    with http_server({"/v": motion_jpeg(jpegs, plans)}, plans.stopped) as server:
        yield f"{server}/v"


@pytest.mark.parametrize("stride", ["1", "auto"])
def test_what_comes_while_the_network_is_loaded_does_not_count(
    stride: str, camera: str, looker: Looker, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The wish for half a second is for half a second after that, and the copy begins with its first frame."""
    real = looker.open

    def slow(run: object, times: StageTimes) -> Looker:
        time.sleep(1)
        return real(run, times)

    monkeypatch.setattr("ssd_detect.cli.startup.open_detector", slow)
    options = ("--stride", stride, "--max-seconds", "0.5", "--jsonl", "frames.jsonl")
    result = video(camera, "out.mp4", *options)
    assert result.exit_code == 0, result.output
    times = [float(line["time"]) for line in lines_of("frames.jsonl")]
    assert len(times) > 5
    assert times[0] == 0
    assert 0.2 < times[-1] < 0.5
    assert max(after - before for before, after in pairwise(times)) < 0.45
    shown = facts(Path("out.mp4")).times
    assert shown[0] == 0
    assert [float(seconds) for seconds in shown] == pytest.approx(times, abs=0.001)


def test_stride_auto_looks_when_it_can_and_writes_every_frame(camera: str, looker: Looker) -> None:
    looker.before = lambda number: time.sleep(0.2)
    result = video(camera, "out.mp4", "--stride", "auto", "--max-frames", 40, "--jsonl", "frames.jsonl")
    assert result.exit_code == 0, result.output
    assert len(lines_of("frames.jsonl")) == len(facts(Path("out.mp4")).times) == 40
    assert 1 < looker.num_seen < 20


def test_without_it_frames_are_dropped(camera: str, looker: Looker) -> None:
    looker.before = lambda number: time.sleep(0.2)
    result = video(camera, "out.mp4", "--max-frames", 5)
    assert result.exit_code == 0, result.output
    shown = facts(Path("out.mp4")).times
    assert (len(shown), looker.num_seen) == (5, 5)
    assert shown[-1] - shown[0] > Fraction(6, 10)  # four pauses, in each of which others came
