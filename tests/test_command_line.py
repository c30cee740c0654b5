"""The program as a whole: imports, help, usage errors, exit statuses."""

import re
import subprocess
import sys
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

import ssd_detect
from ssd_detect.cli.main import program
from ssd_detect.errors import (
    CheckpointError,
    ClosedError,
    DeviceError,
    ExitStatus,
    FormatError,
    MissingPackageError,
    OutputError,
    PictureError,
    SettingError,
    SsdDetectError,
    UnknownClassError,
    VideoError,
)

HEAVY = ("tensorflow", "numpy", "cv2", "av", "moviepy", "imageio", "rich")
VERBS = ("image", "video", "explain", "eval", "dataset", "checkpoints", "benchmark", "doctor")


def run_python(code: str, *arguments: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=False)


# Runs the program and then prints which heavy modules it has imported.
WALK = f"""
import sys
from ssd_detect.cli.main import program
status = 0
try:
    program(sys.argv[1:], prog_name="ssd-detect")
except SystemExit as error:
    status = error.code
print("imported:", [m for m in {HEAVY!r} if m in sys.modules], "status:", int(status))
"""


class TestImports:
    @pytest.mark.parametrize(
        "arguments", [["--help"], ["--version"], *[[verb, "--help"] for verb in VERBS], ["eval", "compare", "--help"]]
    )
    def test_help_is_light(self, arguments: list[str]) -> None:
        done = run_python(WALK, *arguments)
        assert "imported: [] status: 0" in done.stdout, done.stdout + done.stderr

    @pytest.mark.parametrize(
        "arguments",
        [
            ["imge"],
            ["--nonsense"],
            ["image"],
            ["image", "a.jpg", "--score-threshold", "1.5"],
            ["image", "a.jpg", "--score-threshold", "much"],
            ["image", "a.jpg", "--nms-threshold", "-0.1"],
            ["image", "a.jpg", "--score-threshold", "nan"],
            ["image", "a.jpg", "--top-k", "0"],
            ["image", "a.jpg", "--device", "tpu"],
            ["image", "a.jpg", "--class", "prson"],
            ["image", "a.jpg", "--exclude-class", "prson"],
            ["image", "a.jpg", "--anchors", "voc301"],
            ["image", "a.jpg", "--anchor-rounding", "up"],
            ["image", "a.jpg", "--anchor-clip", "SIZE"],
            ["image", "a.jpg", "--resize", "cubic"],
            ["image", "a.jpg", "--colour-order", "gbr"],
            ["image", "a.jpg", "--class-list", "voc20"],
            ["image", "a.jpg", "--class-list", "voc", "--class", "zebra"],
            ["image", "a.jpg", "--profile", "yolo"],
            ["image", "a.jpg", "--classes-file", "gone.txt"],
            ["image", "a.jpg", "b.jpg", "-o", __file__],
            ["video", "a.mp4"],
            ["video"],
            ["video", "a.mp4", "b.mp4", "c.mp4"],
            ["video", "a.mp4", "b.mp4", "--batch-size", "0"],
            ["video", "a.mp4", "b.mp4", "--nonsense"],
            ["video", "a.mp4", "b.mp4", "--stride", "0"],
            ["video", "a.mp4", "b.mp4", "--stride", "2.5"],
            ["video", "a.mp4", "b.mp4", "--fps", "0"],
            ["video", "a.mp4", "b.mp4", "--fps", "1/0"],
            ["video", "a.mp4", "b.mp4", "--fps", "nan"],
            ["video", "a.mp4", "b.mp4", "--start", "-1"],
            ["video", "a.mp4", "b.mp4", "--start", "1:75"],
            ["video", "a.mp4", "b.mp4", "--start", "5", "--end", "0:05"],
            ["video", "a.mp4", "b.mp4", "--end", "0"],
            ["video", "a.mp4", "b.mp4", "--max-seconds", "0"],
            ["video", "a.mp4", "b.mp4", "--max-frames", "0"],
            ["video", "a.mp4", "b.mp4", "--between", "jump"],
            ["video", "a.mp4", "b.mp4", "--crf", "64"],
            ["video", "a.mp4", "b.mp4", "--blur", "prson"],
            ["video", "a.mp4", "b.mp4", "--snapshot-every", "0"],
            ["video", "a.mp4", "b.mp4", "--snapshots", "folder"],
            ["video", "a.mp4", "b.mp4", "--timeout", "0"],
            ["video", "a.mp4", "b.mp4", "--timeout", "nan"],
            ["video", "a.mp4", "b.mp4", "--reconnects", "-1"],
            ["video", "a.mp4", "b.mp4", "--jsonl", str(Path(__file__).parent)],
            ["video", "a.mp4", "-o", __file__],
            ["video", "a.mp4", "--crops", __file__, "--no-video"],
            ["video", "a.mp4", "--no-video"],
            ["video", "a.mp4", "-o", "out", "--no-video", "--csv", "x.csv"],
            ["video", "a.mp4", "/"],
            ["video", "a.mp4", "out/"],
            ["doctor", "--nonsense"],
            ["image", "a.jpg", "--thresholds", str(Path(__file__).parent)],
            ["eval"],
            ["eval", "voc", "--metric", "voc12"],
            ["eval", "voc", "--iou", "0"],
            ["eval", "voc", "--limit", "0"],
            ["eval", "voc", "--bootstrap", "99"],
            ["eval", "voc", "--target-precision", "0"],
            ["image", "a.jpg", "--engine", "torch"],
            ["image", "a.jpg", "--precision", "int4"],
            ["image", "a.jpg", "--precision", "int8"],
            ["image", "a.jpg", "--engine", "openvino", "--device", "gpu"],
            ["image", "a.jpg", "--engine", "auto", "--precision", "bf16", "--calibrate", "."],
            ["image", "a.jpg", "--calibrate", "gone"],
            ["video", "a.mp4", "b.mp4", "--engine", "opencv", "--precision", "fp16"],
            ["eval", "voc", "--fail-under", "101"],
            ["eval", "voc", "--fail-under", "0.7"],
            ["eval", "voc", "--resume"],
            ["eval", "voc", "--from-raw", "a", "--predictions", "b"],
            ["eval", "voc", "--from-raw", "a", "--device", "cpu"],
            ["eval", "voc", "--predictions", "a", "--score-threshold", "0.2"],
            ["eval", "compare", "a"],
            ["eval", "compare", "a", "b", "--metric", "coco"],
        ],
    )
    def test_usage_errors_are_light_and_one_line(self, arguments: list[str]) -> None:
        done = run_python(WALK, *arguments)
        if arguments == ["image"]:
            assert "Missing argument" in done.stderr
        assert "imported: [] status: 2" in done.stdout, done.stdout + done.stderr
        assert done.stderr.startswith("Error: ")
        assert done.stderr.count("\n") == 1

    def test_the_package_itself_is_light(self) -> None:
        done = run_python(f"import sys, ssd_detect; print([m for m in {HEAVY!r} if m in sys.modules])")
        assert done.stdout.strip() == "[]"

    def test_layers_import_from_their_left_only(self) -> None:
        """design.md: TensorFlow stays in model/ (and doctor's child), click in cli/."""
        package = Path(ssd_detect.__file__).parent
        for path in package.rglob("*.py"):
            room = path.relative_to(package).parts[0]
            imports = re.findall(r"^\s*(?:import|from) (\w+)", path.read_text(encoding="utf-8"), re.MULTILINE)
            assert "tensorflow" not in imports or room in ("model", "doctor"), path
            assert "click" not in imports or room == "cli", path
            inner = re.findall(r"^(?:import|from) ssd_detect\.(\w+)", path.read_text(encoding="utf-8"), re.MULTILINE)
            if room == "boxes":
                assert not {"model", "media", "detector", "cli"} & set(inner), path
            if room in ("model", "media", "formats"):
                assert not {"detector", "cli", "doctor"} & set(inner), path

    def test_public_names(self) -> None:
        from ssd_detect import Detections, Detector, draw_detections, read_picture

        assert all(map(callable, (Detector, Detections, draw_detections, read_picture)))
        assert set(ssd_detect.__all__) <= set(dir(ssd_detect))
        with pytest.raises(AttributeError, match="has no attribute 'Detektor'"):
            ssd_detect.Detektor  # noqa: B018


class TestStatus:
    @pytest.mark.parametrize(
        ("error", "status"),
        [
            (SsdDetectError("x"), 1),
            (PictureError("x"), 1),
            (VideoError("x"), 1),
            (OutputError("x"), 1),
            (FormatError("x"), 1),
            (DeviceError("x"), 1),
            (ClosedError("x"), 1),
            (MissingPackageError("x"), 1),
            (SettingError("x"), 2),
            (UnknownClassError("x"), 2),
            (click.UsageError("x"), 2),
            (click.FileError("x"), 1),
            (ImportError("No module named 'cv2'"), 1),
            (OSError(28, "No space left on device"), 1),
            (CheckpointError("x"), 4),
            (KeyboardInterrupt(), 130),
            (click.Abort(), 130),
        ],
    )
    def test_each_error_has_its_status_and_one_line(
        self, error: BaseException, status: int, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def fail() -> None:
            raise error

        monkeypatch.setitem(program.commands, "fail", click.Command("fail", callback=fail))
        result = CliRunner().invoke(program, ["fail"])
        assert result.exit_code == status
        assert result.stdout == ""
        assert len(result.stderr.split("\n")) - result.stderr.startswith("\n") == 2  # click ends the ^C line first

    def test_statuses(self) -> None:
        assert {s.name: s.value for s in ExitStatus} == {
            "DONE": 0, "FAILED": 1, "USAGE": 2, "SOME_FAILED": 3, "NO_CHECKPOINT": 4, "INTERRUPTED": 130,
        }  # fmt: skip

    @pytest.mark.skipif(not Path("/dev/full").exists(), reason="no such device there")
    @pytest.mark.parametrize("arguments", [["--help"], ["checkpoints", "list"]])
    def test_a_full_standard_output_is_named(self, arguments: list[str]) -> None:
        with Path("/dev/full").open("w") as full:
            done = subprocess.run(
                [sys.executable, "-m", "ssd_detect", *arguments], stdout=full, stderr=subprocess.PIPE, text=True
            )
        assert done.stderr == "Error: standard output: cannot be written: No space left on device\n"
        assert done.returncode == ExitStatus.FAILED

    def test_no_verb_shows_the_help(self) -> None:
        result = CliRunner().invoke(program, [])
        assert result.exit_code == 2
        assert "Commands:" in result.output

    def test_module_runs_too(self) -> None:
        command = [sys.executable, "-m", "ssd_detect", "--version"]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        assert done.stdout == f"ssd-detect, version {ssd_detect.__version__}\n"
