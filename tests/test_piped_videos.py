"""`ssd-detect video -`: what is piped in comes out as if it were a file; a stand-in in place of the network."""

from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result

from ssd_detect.arrays import Pixels
from ssd_detect.boxes.profiles import resolved
from ssd_detect.cli.main import program
from ssd_detect.conventions import Profile
from ssd_detect.detections import BestGuess, Detections
from ssd_detect.settings import DetectionSettings
from ssd_detect.stages import StageTimes
from tests.clips import H264, SOUND, facts, ffmpeg, pictures

NAMES = ("background", "person")
FORMATS = {
    "end.mp4": "-c:a aac",  # its index stands behind the frames
    "front.mp4": "-c:a aac -movflags faststart",
    "pieces.mp4": "-c:a aac -movflags frag_keyframe+empty_moov",
    "end.mov": "-c:a pcm_s16le",
    "a.mkv": "-c:a libopus -b:a 32k",
    "a.ts": "-c:a aac",
}


class Nobody:
    """A detector that finds nothing."""

    checkpoint_name, checkpoint_sha256, class_names = "stand-in", "0" * 64, NAMES
    settings = resolved(DetectionSettings(), Profile.TUTORIAL)

    def __init__(self) -> None:
        self.times = StageTimes()

    def __enter__(self) -> "Nobody":
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def __call__(self, batch: list[Pixels]) -> list[Detections]:
        return [
            Detections(
                boxes=np.empty((0, 4), np.float32),
                scores=np.empty(0, np.float32),
                class_ids=np.empty(0, np.int64),
                size=(picture.shape[1], picture.shape[0]),
                class_names=NAMES,
                best_guess=BestGuess("person", 0.25),
            )
            for picture in batch
        ]


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("ssd_detect.cli.startup.open_detector", lambda run, times: Nobody())


def video(piped: bytes, *arguments: str) -> Result:
    return CliRunner().invoke(program, ["video", *arguments], input=piped)


def left() -> list[str]:
    return sorted(path.name for path in Path().iterdir())


@pytest.mark.parametrize("name", FORMATS)
def test_it_is_as_from_a_file(name: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    source = ffmpeg(f"{pictures(seconds=1)} {SOUND} -t 1 {H264} {FORMATS[name]}", tmp_path_factory.mktemp("in") / name)
    assert video(b"", str(source), "file.mkv").exit_code == 0
    result = video(source.read_bytes(), "-", "piped.mkv")
    assert (result.exit_code, result.stderr) == (0, "")
    piped, file = facts(Path("piped.mkv")), facts(Path("file.mkv"))
    assert len(piped.times) == 30
    assert piped.times == file.times
    assert [track.packets for track in piped.sound] == [track.packets for track in file.sound]
    assert left() == ["file.mkv", "piped.mkv"]


def test_an_animation(tmp_path_factory: pytest.TempPathFactory) -> None:
    source = ffmpeg(pictures(rate="10", seconds=0.5), tmp_path_factory.mktemp("in") / "a.gif")
    assert video(source.read_bytes(), "-", "out.mp4").exit_code == 0
    assert len(facts(Path("out.mp4")).times) == 5
    assert left() == ["out.mp4"]


@pytest.mark.parametrize("content", [b"", b"hello " * 100, b"\0\0\0\x08mdat" + bytes(50)])
def test_nothing_is_left_of_what_is_no_video(content: bytes) -> None:
    result = video(content, "-", "out.mp4")
    assert result.exit_code == 1
    assert result.stderr.startswith("Error: standard input")
    assert left() == []


def test_the_copy_goes_when_its_video_is_done(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Another input fails, so that the records are kept for another run; what was piped in would be large."""
    source = ffmpeg(f"{pictures(seconds=0.5)} {H264}", tmp_path_factory.mktemp("in") / "end.mp4")
    result = video(source.read_bytes(), "-", "nothing.mp4", "-o", "out", "--jsonl", "frames.jsonl")
    assert result.exit_code == 3
    (store,) = (path for path in Path("out").iterdir() if path.is_dir())
    assert sorted(path.name for path in store.iterdir()) == ["000000.jsonl", "end.json", "partial.json", "run.json"]


def test_where_pictures_went_is_said(tmp_path_factory: pytest.TempPathFactory) -> None:
    """A folder that nothing went into is not named."""
    source = ffmpeg(f"{pictures(seconds=0.2)} {H264}", tmp_path_factory.mktemp("in") / "in.mp4")
    result = video(b"", str(source), "out.mp4", "--snapshot-every", "5", "--crops", "crops")
    assert result.stdout.splitlines()[1:] == ["saved out.mp4", "saved pictures in snapshots"]
    assert left() == ["out.mp4", "snapshots"]
