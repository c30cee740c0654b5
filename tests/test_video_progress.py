"""`ssd-detect video` while it works: the bar on a terminal, and memory that stays flat."""

import os
import sys
from pathlib import Path

import pytest

from tests.clips import H264, ffmpeg, pictures
from tests.video_runs import Child, lines_of

pytestmark = [
    pytest.mark.usefixtures("in_an_empty_folder"),
    pytest.mark.skipif(sys.platform == "win32", reason="no pseudo-terminals there"),
]


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """150 frames: a whole segment and a short one."""
    return ffmpeg(f"{pictures(rate='25', seconds=6)} {H264}", tmp_path_factory.mktemp("clips") / "in.mp4")


def shown(*arguments: object) -> str:
    """What stands on the terminal, all of it, until the end of the run."""
    import pty

    ours, theirs = pty.openpty()
    child = Child(*arguments, stderr=theirs)
    os.close(theirs)
    parts = []
    while True:
        try:
            parts.append(os.read(ours, 100_000))
        except OSError:  # Linux's end of a terminal
            break
        if not parts[-1]:
            break
    os.close(ours)
    status, _, _ = child.end()
    assert status in (0, 3)
    return b"".join(parts).decode()


@pytest.mark.parametrize(
    ("options", "last"),
    [
        ("", "150/150 frames"),
        ("--start 2", "100/100 frames"),
        ("--start 2 --end 3", "25/25 frames"),
        ("--end 99", "150/150 frames"),
        ("--max-frames 7", "7/7 frames"),
        ("--max-seconds 1", "25/25 frames"),
        ("--fps 10 --stride 3", "61/61 frames"),  # the last frame is nearest to the tick behind it
    ],
)
def test_the_total_is_that_of_the_frames_asked_for(options: str, last: str, source: Path) -> None:
    text = shown(source, "out.mp4", *options.split())
    assert last in text
    assert "0:00:00 left" in text


def test_a_run_that_goes_on_counts_what_is_left(source: Path) -> None:
    seal = "ssd_detect.media.video.store:SegmentStore.seal"
    assert Child(source, "out.mp4", kill=seal, after=True).end()[0] == -9
    text = shown(source, "out.mp4", "--resume")
    assert "50/50 frames" in text
    assert "/150" not in text


def test_a_length_that_nobody_knows(source: Path) -> None:
    raw = ffmpeg(f"-i {source} -c copy", Path("in.h264"))
    text = shown(raw, "out.mp4")
    assert "150 frames" in text
    assert "left" not in text


def test_a_length_that_is_a_lie(source: Path) -> None:
    """Matroska tells its length in front, where it stays when the end is cut off."""
    whole = ffmpeg(f"-i {source} -c copy", Path("whole.mkv"))
    Path("cut.mkv").write_bytes(whole.read_bytes()[: whole.stat().st_size // 2])
    text = shown("cut.mkv", "out.mp4", "--jsonl", "frames.jsonl")
    assert f"{len(lines_of('frames.jsonl'))}/150 frames" in text


def test_quiet(source: Path) -> None:
    assert shown(source, "out.mp4", "-q") == ""


@pytest.mark.slow
def test_memory_stays_flat(tmp_path: Path) -> None:
    """Over 20,000 frames with everything that is counted and put aside, and while the file is put together."""
    clip = ffmpeg(f"{pictures('64x48', '100', 200)} {H264} -g 500", tmp_path / "long.mp4")
    outputs = ("--jsonl", "a.jsonl", "--csv", "b.csv", "--summary", "c.json")
    status, out, err = Child(clip, "out.mp4", *outputs, memory_at=2000).end()
    assert (status, err) == (0, "")
    assert out.startswith("long.mp4: 20000 frames, 200.0 s, ")
    early, late = map(float, Path("memory").read_text().split())
    assert late - early < 30
