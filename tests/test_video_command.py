"""`ssd-detect video` from its arguments to its files."""

import hashlib
import os
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result

from ssd_detect.cli.main import program
from ssd_detect.errors import VideoError
from ssd_detect.stages import StageTimes
from tests.clips import H264, facts, ffmpeg
from tests.video_parts import StandIn, no_pipeline_is_left, read

pytestmark = pytest.mark.usefixtures("in_an_empty_folder")


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
