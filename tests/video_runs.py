"""Runs of `ssd-detect video` with a stand-in network: in this process, and in one that can be stopped and killed."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result

from ssd_detect.arrays import Pixels
from ssd_detect.boxes.profiles import resolved
from ssd_detect.cli.main import program
from ssd_detect.conventions import Profile
from ssd_detect.detections import Detections
from ssd_detect.media.video.reader import VideoReader
from ssd_detect.stages import StageTimes
from tests.clips import facts

ROOT = Path(__file__).parent.parent
NAMES = ("background", *(f"class {number}" for number in range(1, 15)), "person", "car")
_PATIENCE = 60.0  # seconds after which a child that does nothing is an error


def seen(picture: Pixels) -> Detections:
    """Two boxes that tell the picture: they move with its mean brightness, alone and in any batch."""
    height, width = picture.shape[:2]
    share = float(picture[::2, ::2].mean()) / 256
    boxes = np.array([[0, 0, 1 + share * (width - 1), height], [share, share, width, height]], np.float32)
    scores = np.array([0.5 + share / 2, 0.99 - share / 4], np.float32)
    return Detections(boxes, scores, np.array([15, 16], np.int64), (width, height), NAMES)


class Looker:
    """What `open_detector` gives: it looks at every picture, and knows how many it has seen."""

    checkpoint_name, checkpoint_sha256, class_names = "stand-in", "0" * 64, NAMES

    def __init__(self) -> None:
        self.times = StageTimes()
        self.num_loaded = 0
        self.num_seen = 0
        self.before: Callable[[int], None] = lambda number: None
        """Called with the number of each picture, from 0, before it is looked at."""
        self.look: Callable[[Pixels], Detections] = seen
        self.settings: Any = None
        """Of the last run."""

    def open(self, run: Any, times: StageTimes) -> "Looker":
        """In the place of `open_detector`."""
        self.times, self.settings = times, resolved(run.detection, Profile.TUTORIAL)
        self.num_loaded += 1
        return self

    def __enter__(self) -> "Looker":
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def __call__(self, batch: list[Pixels]) -> list[Detections]:
        found = []
        for picture in batch:
            self.before(self.num_seen)
            self.num_seen += 1
            wanted = self.settings
            seen_here = self.look(picture)
            above = seen_here[np.flatnonzero(seen_here.scores > wanted.score_threshold)]
            found.append(above.filter(classes=wanted.classes, exclude_classes=wanted.exclude_classes))
        return found


def video(*arguments: object, stdin: bytes | None = None) -> Result:
    """Run the command in this process."""
    return CliRunner().invoke(program, ["video", *map(str, arguments)], input=stdin)


class Child:
    """A run in a process of its own, as `video_child` says.

    Args:
        arguments: of the command.
        stdout, stderr: where its streams go.
        plan: what happens to it, see `video_child`.
    """

    def __init__(
        self, *arguments: object, stdout: Any = subprocess.PIPE, stderr: Any = subprocess.PIPE, **plan: Any
    ) -> None:
        command = [sys.executable, "-m", "tests.video_child", json.dumps(plan), *map(str, arguments)]
        environment = os.environ | {"PYTHONPATH": str(ROOT), "TMPDIR": str(Path.cwd())}  # to see what is left
        self.process = subprocess.Popen(command, stdout=stdout, stderr=stderr, text=True, env=environment)

    def wait_until_it_waits(self) -> None:
        """Until the run has come to the place of its plan at which it waits."""
        self._wait_for(Path("waiting").exists)

    def interrupt(self, number: int) -> None:
        """Send a signal, wait until it is heard, let the run go on."""
        self.process.send_signal(number)
        assert self.process.stderr is not None
        heard = (line for line in self.process.stderr if line.startswith("Stopping; finishing what is in hand."))
        assert next(heard, None), "it ended without a word"
        self.go_on()

    def go_on(self) -> None:
        """Let it go on."""
        Path("go").touch()

    def end(self) -> tuple[int, str, str]:
        """Its status, and what it still said."""
        out, err = self.process.communicate(timeout=_PATIENCE)
        for name in ("waiting", "go"):
            Path(name).unlink(missing_ok=True)
        if self.process.returncode == -signal.SIGKILL:  # nobody was there to remove it; the next run would
            for lock in Path().glob("ssd-detect-*.lock"):
                lock.unlink()
        return self.process.returncode, out, err

    def _wait_for(self, come: Callable[[], bool]) -> None:
        deadline = time.monotonic() + _PATIENCE
        while not come():
            assert self.process.poll() is None, self.process.communicate()
            assert time.monotonic() < deadline
            time.sleep(0.01)


def left(folder: Path | str = ".") -> list[str]:
    """All files and folders, hidden ones too."""
    return sorted(str(path.relative_to(folder)) for path in Path(folder).rglob("*"))


def lines_of(path: Path | str) -> list[dict[str, Any]]:
    """The frames in a file of JSON lines."""
    values = [json.loads(line) for line in Path(path).read_text().splitlines()]
    return [value for value in values if value["kind"] == "frame"]


def results(folder: Path | str = ".") -> dict[str, Any]:
    """File name -> its bytes; of a video its times, its sound, and how bright each frame is."""
    found: dict[str, Any] = {}
    for path in sorted(path for path in Path(folder).rglob("*") if path.is_file()):
        is_video = path.suffix in (".mp4", ".mkv", ".avi", ".gif")
        found[str(path.relative_to(folder))] = _of_video(path) if is_video else path.read_bytes()
    return found


def _of_video(path: Path) -> tuple[Any, ...]:
    clip = facts(path)
    with VideoReader(path) as reader:
        pixels = [float(frame.pixels.mean()) for frame in reader]
    sound = [(track.packets, track.times) for track in clip.sound]
    return clip.times, clip.rate, sound, clip.seconds, pixels


def undisturbed_run(folder: Path, *arguments: object) -> dict[str, Any]:
    """What a run leaves that nothing disturbs."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setattr("ssd_detect.cli.startup.open_detector", Looker().open)
        result = video(*arguments)
    assert result.exit_code == 0, result.output
    return results(folder)


def are_alike(expected: dict[str, Any], found: dict[str, Any]) -> None:
    """All equal, but for what an encoder that begins anew at a segment does to the colours."""
    assert set(found) == set(expected)
    for name, value in expected.items():
        if isinstance(value, tuple):
            assert found[name][:-1] == value[:-1], name
            assert found[name][-1] == pytest.approx(value[-1], abs=2), name
        else:
            assert found[name] == value, name
