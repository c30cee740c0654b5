"""Our videos in a real browser: they play to the end with sound, and seeking shows the right frame."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from ssd_detect.arrays import Pixels
from ssd_detect.media.video.reader import VideoReader
from ssd_detect.media.video.writer import VideoWriter
from tests.browser.chromium import browsing, find_browser
from tests.browser.server import Site, serving, wait_for
from tests.clips import H264, SOUND, ffmpeg

pytestmark = pytest.mark.slow

PATIENCE = 180  # seconds for all clips together; they take about 12
SECONDS = 2
SQUARE, TOP = 40, 20  # pixels: side of the green square, and its place
TOLERANCE = 3  # pixels: colour has half the resolution of brightness


def grey(size: str, rate: int = 30) -> str:
    return f"-f lavfi -i color=gray:s={size}:r={rate}:d={SECONDS}"


# Name -> what the clip is made of, its suffix, and how large a browser must show it.
CLIPS = {
    "plain": (f"{grey('320x240')} {SOUND} {H264} -c:a aac", ".mp4", (320, 240)),
    "turned": (f"{grey('320x240')} {SOUND} {H264} -c:a aac", ".mp4", (240, 320)),
    "odd": (f"{grey('321x181')} {SOUND} -c:v ffv1 -pix_fmt yuv444p -c:a aac", ".mkv", (322, 182)),
    "variable-rate": (
        f"{grey('320x240', 15)} {SOUND} {H264} -c:a aac -vf setpts='if(lt(N,20),N/20,1+(N-20)/10)/TB' -fps_mode vfr",
        ".mp4",
        (320, 240),
    ),
    "PCM": (f"{grey('320x240')} {SOUND} {H264} -c:a pcm_s16le", ".mkv", (320, 240)),
}


@dataclass(frozen=True)
class MadeClip:
    """An output of ours; for some of its frames a time in its middle, and the left side of its square."""

    path: Path
    seconds: list[float]
    lefts: list[int]


def left_of_square(seconds: float, width: int) -> int:
    return round(seconds / SECONDS * (width - SQUARE - 2))


def with_square(pixels: Pixels, left: int) -> Pixels:
    drawn: Pixels = pixels.copy()
    drawn[TOP : TOP + SQUARE, left : left + SQUARE] = (0, 255, 0)
    return drawn


def make(name: str, folder: Path) -> MadeClip:
    """As our program does: read, draw, write."""
    arguments, suffix, _ = CLIPS[name]
    source = ffmpeg(arguments, folder / f"{name}-in{suffix}")
    if name == "turned":
        source = ffmpeg(f"-display_rotation 90 -i {source} -c copy", folder / "turned-in-90.mp4")
    path, starts = folder / f"{name}.mp4", []
    with VideoReader(source) as reader, VideoWriter(path, like=reader.info) as writer:
        for frame in reader:
            starts.append(float(frame.time.start))
            writer.append(with_square(frame.pixels, left_of_square(starts[-1], reader.info.width)), frame.time)
    middles = [(start, (start + end) / 2) for start, end in pairwise(starts)]
    chosen = [middles[len(middles) * n // 8] for n in (7, 0, 4, 1, 6)]  # to and fro
    lefts = [left_of_square(start, reader.info.width) for start, _ in chosen]
    return MadeClip(path, [middle for _, middle in chosen], lefts)


@pytest.fixture(scope="module")
def browser() -> str:
    return find_browser()


@pytest.fixture(scope="module")
def made(browser: str, tmp_path_factory: pytest.TempPathFactory) -> dict[str, MadeClip]:
    folder = tmp_path_factory.mktemp("clips")
    return {name: make(name, folder) for name in CLIPS}


@pytest.fixture(scope="module")
def site(made: dict[str, MadeClip]) -> Iterator[Site]:
    with serving(Site({name: (clip.path, clip.seconds) for name, clip in made.items()})) as served:
        yield served


@pytest.fixture(scope="module")
def results(browser: str, site: Site, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What the browser saw of each clip."""
    folder = tmp_path_factory.mktemp("browser")
    with browsing(browser, site.url, folder) as process:
        found = wait_for(site, process, PATIENCE)
    if found is None:
        pytest.fail(f"nothing came back from {browser}; it said:\n{(folder / 'browser.log').read_text()[-2000:]}")
    return found


@pytest.fixture(params=CLIPS)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def seen(name: str, results: dict[str, Any]) -> dict[str, Any]:
    """What the browser saw of one clip."""
    assert name in results, results
    found: dict[str, Any] = results[name]
    assert "error" not in found, found
    return found


def test_size_and_length(name: str, seen: dict[str, Any]) -> None:
    assert (seen["width"], seen["height"]) == CLIPS[name][2]
    assert seen["duration"] == pytest.approx(SECONDS, abs=0.05)


def test_plays_to_the_end(seen: dict[str, Any]) -> None:
    times = seen["times"]
    assert times == sorted(times)
    assert len(set(times)) > 3
    assert times[-1] == pytest.approx(seen["duration"], abs=0.05)


def test_sound_is_decoded(seen: dict[str, Any]) -> None:
    assert seen["soundBytes"] > 1000


def test_seeking_shows_the_frame_of_that_time(name: str, seen: dict[str, Any], made: dict[str, MadeClip]) -> None:
    assert len(seen["boxes"]) == len(made[name].lefts) == 5
    for box, left in zip(seen["boxes"], made[name].lefts, strict=True):
        assert box == pytest.approx([left, TOP, left + SQUARE, TOP + SQUARE], abs=TOLERANCE)


def test_the_browser_seeks_by_ranges(results: dict[str, Any], site: Site) -> None:
    """The server of the test is the kind that a browser expects."""
    assert results
    assert site.ranges
    assert None not in site.ranges
