"""`ssd-detect checkpoints info`: its lines and its JSON for files of ours, of others, and of no network at all."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest
from click.testing import CliRunner, Result
from safetensors.numpy import save_file

from ssd_detect.cli.checkpoints_info import info
from ssd_detect.cli.main import Program
from ssd_detect.inspection.tensors import count_kinds

SHIPPED = "ssd_300_vgg_voc"
SCHEMA = Path(__file__).parent.parent / "ssd_detect" / "formats" / "schema" / "checkpoint.schema.json"


def run(*arguments: object) -> Result:
    program = Program("ssd-detect")
    program.add_command(info)
    return CliRunner().invoke(program, ["info", *map(str, arguments)])


def document(*arguments: object, status: int = 0) -> dict[str, Any]:
    result = run(*arguments, "--json")
    assert result.exit_code == status, result.stderr
    made: dict[str, Any] = json.loads(result.stdout)
    jsonschema.validate(made, json.loads(SCHEMA.read_text()))
    return made


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A seeded network with 3 classes and what a training leaves beside it."""
    import seeded

    variables = seeded.seeded_variables(300, 4)
    name = "ssd_300_vgg/conv6/biases"
    extra = {
        f"{name}/Adam": np.zeros(1024, np.float32),
        f"{name}/Adam_1": np.zeros(1024, np.float32),
        "beta1_power": np.float32(0.9) * np.ones(1, np.float32),
        f"{name}/ExponentialMovingAverage": np.zeros(1024, np.float32),
        "global_step": np.array(120000, np.int64),
        "mystery": np.array([np.nan, 1], np.float32),
    }
    path = tmp_path_factory.mktemp("info") / "mine.safetensors"
    save_file(variables | extra, path)
    return path


@pytest.mark.parametrize(
    ("names", "counts"),
    [
        ([], {}),
        (["a/Adam", "a/Adam_1", "beta1_power", "beta2_power", "x/beta1_power"], {"Adam": 5}),
        (["a/Momentum", "a/RMSProp", "a/RMSProp_1"], {"Momentum": 1, "RMSProp": 2}),
        (["Adam", "a/Adamant", "momentum", "global_step/x"], {"others": 4}),
        (["a/ExponentialMovingAverage", "global_step", "s/global_step"], {"moving averages": 1, "step": 2}),
    ],
)
def test_kinds(names: list[str], counts: dict[str, int]) -> None:
    assert count_kinds(names) == counts


class TestShipped:
    def test_lines(self) -> None:
        result = run(SHIPPED)
        assert (result.exit_code, result.stderr) == (0, "")
        assert "SSD300-VGG, 26,285,486 parameters, names as of tensorflow" in result.stdout
        assert "coco300                 told by the manifest" in result.stdout
        assert "to be settled" not in result.stdout

    def test_origin_and_licence_are_told(self) -> None:
        lines = run(SHIPPED).stdout
        assert "licence          Apache-2.0; VGG16 convolutions" in lines
        assert max(map(len, lines.splitlines())) <= 100
        assert document(SHIPPED)["network"]["about"]["licence"].endswith("CC BY 4.0")

    def test_json(self) -> None:
        made = document(SHIPPED)
        network = made["network"]
        assert (made["variables"], made["guess"], made["problem"], made["extra"]) == (None, None, None, {})
        assert (network["name"], network["size"], len(network["classes"])) == (SHIPPED, 300, 21)
        assert network["facts"]["mean_rgb"]["value"] == [123, 117, 104]
        assert {fact["sure"] for fact in network["facts"].values()} == {True}

    def test_what_the_user_says_is_the_users(self) -> None:
        facts = document(SHIPPED, "--anchors", "voc300", "--colour-order", "bgr")["network"]["facts"]
        assert facts["anchors"] == {"value": "voc300", "told_by": "option", "sure": True}
        assert facts["colour_order"] == {"value": "bgr", "told_by": "option", "sure": True}
        assert facts["resize"]["told_by"] == "manifest"

    def test_variables(self) -> None:
        variables = {v["name"]: v for v in document(SHIPPED, "--variables")["variables"]}
        kernel = variables["ssd_300_vgg/conv7/weights"]
        assert (kernel["shape"], kernel["dtype"]) == ([1, 1, 1024, 1024], "int8")
        assert (kernel["minimum"], kernel["maximum"]) == (-127, 127)
        assert variables["ssd_300_vgg/conv7/biases"]["mean_magnitude"] == pytest.approx(0.0273, rel=0.01)
        assert list(variables) == sorted(variables)

    def test_lines_are_under_100_columns(self) -> None:
        lines = run(SHIPPED, "--variables").stdout.splitlines()
        assert max(map(len, lines[1:])) < 100  # the first one is the file's path
        assert len(lines) > 106


class TestTrained:
    def test_json(self, trained: Path) -> None:
        made = document(trained, "--variables")
        assert made["extra"] == {"Adam": 3, "moving averages": 1, "step": 1, "others": 1}
        assert made["network"]["step"] == 120000
        assert made["network"]["facts"]["class_names"] == {"value": None, "told_by": "assumed", "sure": False}
        assert made["network"]["facts"]["anchors"] == {"value": "coco300", "told_by": "assumed", "sure": False}
        assert any("--anchors" in words for words in made["network"]["assumed"])
        unknown = next(v for v in made["variables"] if v["name"] == "mystery")
        assert (unknown["minimum"], unknown["mean_magnitude"]) == (None, None)

    def test_lines(self, trained: Path) -> None:
        output = run(trained, "--variables").stdout
        assert "training step    120,000" in output
        assert "anchors          coco300                 not sure: nobody told" in output
        assert "not needed       3 Adam, 1 moving averages, 1 step, 1 others" in output
        assert "class names      no list of ours" in output


class TestOthers:
    def test_another_network_is_told_and_ends_with_status_4(self, tmp_path: Path) -> None:
        save_file({"layer1.0.conv.weight": np.zeros((2, 3), np.float16)}, tmp_path / "m.safetensors")
        made = document(tmp_path / "m.safetensors", "--variables", status=4)
        assert (made["network"], made["tensors"], made["numbers"], made["extra"]) == (None, 1, 6, {"others": 1})
        assert made["variables"][0]["dtype"] == "float16"
        assert str(tmp_path / "m.safetensors") in made["problem"]
        result = run(tmp_path / "m.safetensors")
        assert result.exit_code == 4
        assert "of these         1 others" in result.stdout
        assert len(result.stderr.splitlines()) == 1

    def test_no_checkpoint_at_all(self, tmp_path: Path) -> None:
        (tmp_path / "page.pth").write_text("<!doctype html><html></html>")
        result = run(tmp_path / "page.pth")
        assert (result.exit_code, result.stdout) == (4, "")
        assert len(result.stderr.splitlines()) == 1

    @pytest.mark.skipif(sys.platform == "win32", reason="no such pipes there")
    def test_a_picture_that_is_a_pipe(self, tmp_path: Path) -> None:
        os.mkfifo(tmp_path / "p.jpg")
        result = run(SHIPPED, "--guess", tmp_path / "p.jpg")
        assert (result.exit_code, result.stdout) == (1, "")
        assert result.stderr == f"Error: {tmp_path / 'p.jpg'}: is a pipe, expected a picture's file\n"


def test_help_imports_nothing_heavy() -> None:
    code = (
        "import sys; from click.testing import CliRunner; from ssd_detect.cli.checkpoints_info import info; "
        "assert CliRunner().invoke(info, ['--help']).exit_code == 0; "
        "print(sorted({'numpy', 'cv2', 'tensorflow', 'h5py'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.slow
def test_guess(media: Path) -> None:
    guess = document(SHIPPED, "--guess", media / "astronaut.png")["guess"]
    assert guess["pictures"] == 1
    assert len(guess["trials"]) == 4
    assert guess["things"] > 0
    assert not guess["colour_order"]["sure"]


class TestGuessLines:
    """What is said of a guess, without a network."""

    def lines(self, anchors: float, colours: float) -> list[str]:
        from ssd_detect.cli.checkpoint_lines import guess_lines
        from ssd_detect.inspection.trial import Guess, Judgement, Trial

        trials = (Trial("voc300", "rgb", 0.061, 12.0), Trial("coco300", "rgb", None, 0.0))
        guess = Guess(Judgement("voc300", anchors, 10), Judgement("bgr", colours, 10), trials, 10, 12)
        return list(guess_lines(guess, Path("folder/m.caffemodel")))

    def test_sure_of_both(self) -> None:
        lines = self.lines(2.5, 2.1)
        assert any("--anchors voc300" in line for line in lines)
        assert lines[-3:] == [
            "or for every run, in m.caffemodel.toml beside the checkpoint:",
            '    anchors = "voc300"',
            '    colour_order = "bgr"',
        ]

    def test_sure_of_one(self) -> None:
        lines = self.lines(1.9, 2.1)
        assert not any("--anchors" in line or "anchors =" in line for line in lines)
        assert any("--colour-order bgr" in line for line in lines)
        assert lines[-1].endswith("with several large objects")

    def test_the_toml_settles_the_fact(self, trained: Path) -> None:
        toml = trained.with_name(trained.name + ".toml")
        toml.write_text("\n".join(line.strip() for line in self.lines(3.0, 0.0) if "=" in line))
        try:
            facts = document(trained)["network"]["facts"]
        finally:
            toml.unlink()
        assert facts["anchors"] == {"value": "voc300", "told_by": "your TOML", "sure": True}


class TestNotHere:
    NAME = "ssd300_vgg16_coco"

    def test_what_the_manifest_tells_is_told(self) -> None:
        result = run(self.NAME)
        assert result.exit_code == 4
        assert "anchors          coco300\n" in result.stdout
        assert "published        mAP 25.1 (coco)" in result.stdout
        assert max(map(len, result.stdout.splitlines())) <= 100
        assert "is not here; type ssd-detect checkpoints pull ssd300_vgg16_coco" in result.stderr

    def test_json(self) -> None:
        (entry,) = json.loads(run(self.NAME, "--json").stdout)
        assert (entry["name"], entry["where"], entry["anchor_clip"]) == (self.NAME, "not here", "wh")
