"""`ssd-detect explain` with the shipped checkpoint, through the real program."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest
from click.testing import CliRunner, Result

from ssd_detect.cli.explain import explain as verb
from ssd_detect.cli.image import image
from ssd_detect.cli.main import Program
from ssd_detect.detector import Detector
from ssd_detect.media.pictures import read_picture
from tests.test_command_line import HEAVY
from tests.test_explain import SCHEMA

pytestmark = pytest.mark.usefixtures("networks_kept_open")

ROOT = Path(__file__).parents[1]
PROGRAM = Program("ssd-detect", commands=[verb, image])

# Runs the verb in a process of its own and then prints which heavy modules it has imported.
WALK = f"""
import sys
from ssd_detect.cli.explain import explain
from ssd_detect.cli.main import Program
try:
    Program("ssd-detect", commands=[explain])(sys.argv[1:], prog_name="ssd-detect")
except SystemExit as error:
    print("imported:", [m for m in {HEAVY!r} if m in sys.modules], "status:", int(error.code))
"""


def run(*arguments: object) -> Result:
    return CliRunner().invoke(PROGRAM, [*map(str, arguments)])


def explain(*arguments: object) -> Result:
    return run("explain", *arguments)


@pytest.fixture(autouse=True)
def _in_an_empty_folder(in_an_empty_folder: None) -> None:
    pass


class TestResults:
    def test_a_detection(self, media: Path, detector: Detector) -> None:
        picture = media / "astronaut.png"
        result = explain(picture, "--box", 1, "--json", "why.json", "-o", "why.png")
        assert result.exit_code == 0, result.output
        assert result.stderr == "saved why.json, why.png\n"
        first, printed, *_ = result.stdout.splitlines()
        assert first == f"{picture}: 512x512 pixels, 1 detection"
        assert printed.split(maxsplit=1)[1] == run("image", picture).stdout.splitlines()[0]
        value = read_json(Path("why.json").read_text())
        (found,) = value["explained"]
        assert (found["class"], found["number"], value["spot"], value["region"]) == ("person", 1, None, None)
        assert value["detections"] == [
            {**entry, "box": pytest.approx(entry["box"], abs=0.05), "score": pytest.approx(entry["score"], abs=1e-4)}
            for entry in detector(read_picture(picture)).to_dict()["detections"]
        ]
        assert len(found["removed"]) == found["num_removed"] > 0
        assert found["outcome"]["margin"] == pytest.approx(found["score"] - 0.5, abs=1e-6)
        assert read_picture("why.png").shape[1] == 1024  # the small picture, twice as large

    def test_a_missed_spot(self, media: Path) -> None:
        result = explain(media / "coffee.png", "--at", "300,200", "--json", "-", "--top", 3)
        assert (result.exit_code, result.stdout[0]) == (0, "{")
        value = read_json(result.stdout)
        assert (value["detections"], value["explained"]) == ([], [])
        spot = value["spot"]
        assert (spot["point"], len(spot["classes"]), len(spot["cells"])) == ([300.0, 200.0], 3, 6)
        assert spot["classes"][0]["score"] == max(entry["score"] for entry in spot["classes"])
        assert "in no detection" not in result.stdout
        assert "  inside    no detection\n" in result.stderr
        assert "below the threshold 0.5 by" in result.stderr

    def test_detection_options_count(self, media: Path) -> None:
        low = ("--score-threshold", "0.05", "--exclude-class", "chair", "--profile", "caffe", "--top", 20)
        value = read_json(explain(media / "coffee.png", "--at", "300,200", "--json", "-", *low).stdout)
        assert value["thresholds"]["profile"] == "caffe"
        reasons = {entry["class"]: entry["outcome"]["reason"] for entry in value["spot"]["classes"]}
        assert reasons["chair"] == "class-excluded"
        assert "detected" in reasons.values()

    def test_thresholds_of_classes(self, media: Path) -> None:
        Path("chosen.json").write_text('{"schema": "ssd-detect.thresholds/1", "classes": {"chair": 0.25}}')
        result = explain(media / "coffee.png", "--at", "300,200", "--json", "-", "--thresholds", "chosen.json")
        value = read_json(result.stdout)
        assert value["thresholds"]["classes"] == {"chair": 0.25}
        (found,) = value["detections"]
        assert found["class"] == "chair"
        assert value["explained"][0]["outcome"]["threshold"] == 0.25
        assert " passes 0.25 by " in result.stderr

    def test_a_region_alone(self, media: Path) -> None:
        result = explain(media / "coffee.png", "--region", "300,200,310,210")
        assert result.exit_code == 0
        assert "  ceiling   best anchor: IoU 0." in result.stdout

    def test_from_standard_input(self, media: Path) -> None:
        content = (media / "astronaut.png").read_bytes()
        result = CliRunner().invoke(PROGRAM, ["explain", "-", "--box", "1", "-q"], input=content)
        assert (result.exit_code, result.output) == (0, "")


def read_json(content: str) -> Any:
    value = json.loads(content)
    jsonschema.Draft202012Validator(SCHEMA).validate(value)
    return value


class TestRefusals:
    @pytest.mark.parametrize(
        ("arguments", "status", "words"),
        [
            (["--box", 2], 2, "there is no detection 2, expected a number from 1 to 1"),
            (["--box", 1, "--score-threshold", 1], 2, "there is no detection 1: nothing was detected"),
            (["--at", "512.5,3"], 2, "the point 512.5,3 is outside the picture of 512x512 pixels"),
            (["--region", "600,0,700,9"], 2, "the region 600,0,700,9 is outside the picture"),
        ],
    )
    def test_one_line(self, arguments: list[object], status: int, words: str, media: Path) -> None:
        result = explain(media / "astronaut.png", *arguments, "--json", "x.json")
        assert (result.exit_code, result.stdout) == (status, "")
        assert result.stderr.startswith(f"Error: {words}")
        assert result.stderr.count("\n") == 1
        assert not Path("x.json").exists()

    @pytest.mark.parametrize(
        ("picture", "arguments", "status", "words"),
        [
            ("gone.png", [], 1, "gone.png: no such file"),
            ("empty", [], 1, "empty: is an empty folder, expected pictures in it"),
            (".", [], 1, ".: brings 2 pictures, expected the name of one picture file"),
            ("a.txt", [], 1, "a.txt: is no picture that can be read"),
            ("a.txt", ["-o", "a.txt"], 1, "a.txt: is the input itself"),
            ("a.txt", ["-o", "b.txt"], 1, "b.txt: cannot save as .txt"),
            ("a.txt", ["--json", "there.json"], 1, "there.json: exists already; name another output or use --over"),
            ("a.txt", ["-o", "x.png", "--json", "x.png"], 2, "x.png: is asked for twice, by --json and by -o"),
        ],
    )
    def test_before_the_work(self, picture: str, arguments: list[str], status: int, words: str) -> None:
        Path("a.txt").write_text("no picture")
        Path("there.json").write_text("")
        Path("empty").mkdir()
        for name in ("1.png", "2.png"):
            Path(name).write_bytes(b"")
        result = explain(picture, "--box", 1, *arguments)
        assert (result.exit_code, result.stdout) == (status, "")
        assert result.stderr.startswith(f"Error: {words}")
        assert result.stderr.count("\n") == 1

    def test_overwrite(self, media: Path) -> None:
        Path("why.png").write_bytes(b"")
        assert explain(media / "astronaut.png", "--box", 1, "-o", "why.png", "--overwrite").exit_code == 0
        assert np.ptp(read_picture("why.png")) > 0


class TestLight:
    @pytest.mark.parametrize(
        ("arguments", "status", "words"),
        [
            (["--help"], 0, ""),
            (["a.png"], 2, "nothing to explain; give --at X,Y or --box N or --region"),
            (["a.png", "--at", "1,2", "--box", "1"], 2, "both a detection and a point are given"),
            (["a.png", "--at", "1"], 2, "'1' is not two numbers X,Y, in pixels"),
            (["a.png", "--at", "nan,1"], 2, "'nan,1' is not two numbers"),
            (["a.png", "--at", "a,b"], 2, "'a,b' is not two numbers"),
            (["a.png", "--region", "1,2,3"], 2, "'1,2,3' is not four numbers X0,Y0,X1,Y1"),
            (["a.png", "--region", "3,2,1,4"], 2, "region is 3,2,1,4, expected left, top, right, bottom with an area"),
            (["a.png", "--box", "0"], 2, "0 is not in the range x>=1"),
            (["a.png", "--box", "1", "--top", "0"], 2, "0 is not in the range"),
            ([], 2, "Missing argument 'IMAGE'"),
            (["a.png", "--box", "1", "--class", "prson"], 2, "did you mean person?"),
        ],
    )
    def test_help_and_usage_errors(self, arguments: list[str], status: int, words: str) -> None:
        command = [sys.executable, "-W", "error", "-c", WALK, "explain", *arguments]
        done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
        assert f"imported: [] status: {status}" in done.stdout, done.stdout + done.stderr
        assert words in done.stderr
        assert done.stderr.count("\n") == (1 if status else 0)
