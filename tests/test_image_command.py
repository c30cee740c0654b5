"""`ssd-detect image` with the shipped checkpoint, through the real program."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result

from ssd_detect import __version__
from ssd_detect.cli.main import program
from ssd_detect.media.picture_files import save_picture
from ssd_detect.media.pictures import read_picture
from ssd_detect.model.manifest import manifest

pytestmark = pytest.mark.usefixtures("networks_kept_open")  # the tests in processes of their own open it


@pytest.fixture(autouse=True)
def _in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def image(*arguments: object) -> Result:
    return CliRunner().invoke(program, ["image", *map(str, arguments)])


class TestResults:
    def test_a_person_is_found_and_boxed(self, media: Path) -> None:
        result = image(media / "astronaut.png")
        assert (result.exit_code, result.stderr) == (0, "")
        *found, saved = result.stdout.splitlines()
        assert saved == "saved astronaut_detections.png"
        name, score, *box = found[0].split()
        assert name == "person"
        assert float(score) > 0.85
        x0, y0, x1, y1 = map(float, box)
        assert 0 <= x0 < 224 < x1 <= 512  # the face is at 224, 120
        assert 0 <= y0 < 120 < y1 <= 512
        before, after = read_picture(media / "astronaut.png"), read_picture("astronaut_detections.png")
        changed = np.argwhere((before != after).any(axis=2))
        assert changed[:, 0].max() <= y1 + 1
        assert 100 < len(changed) < before[..., 0].size / 5  # lines and a label, no more

    @pytest.mark.parametrize(
        ("name", "expected", "score"), [("chelsea.png", "cat", 0.95), ("astronaut.png", "person", 0.85)]
    )
    def test_pictures_of_the_checkpoints_readme(self, media: Path, name: str, expected: str, score: float) -> None:
        result = image(media / name, "--json", "-", "-q")
        (line,) = result.stdout.splitlines()
        best = json.loads(line)["detections"][0]
        assert best["class"] == expected
        assert best["score"] > score

    def test_json_lines(self, media: Path) -> None:
        result = image(media / "astronaut.png", "--json", "found.jsonl", "--nms-threshold", "0.4", "--top-k", 100)
        assert result.exit_code == 0
        (line,) = Path("found.jsonl").read_text().splitlines()
        record = json.loads(line)
        assert record["schema"] == "ssd-detect.detections/1"
        assert record["file"] == str(media / "astronaut.png")
        assert (record["width"], record["height"]) == (512, 512)
        assert record["tool"] == {"name": "ssd-detect", "version": __version__}
        assert record["checkpoint"] == {"name": "ssd_300_vgg_voc", "sha256": manifest()["ssd_300_vgg_voc"].sha256}
        assert record["thresholds"] == {
            "profile": "tutorial", "score": 0.5, "nms": 0.4, "top_k": 100, "max_detections": None,
            "class_agnostic": False,
        }  # fmt: skip
        best = record["detections"][0]
        assert (best["class"], best["class_id"]) == ("person", 15)
        assert best["score"] == round(best["score"], 6)
        assert all(0 <= v <= 512 for v in best["box"])

    def test_profile_and_its_limits(self, media: Path) -> None:
        result = image(
            media / "astronaut.png", "--json", "-", "-q", "--profile", "torchvision", "--score-threshold", "0"
        )
        record = json.loads(result.stdout)
        assert record["thresholds"] == {
            "profile": "torchvision", "score": 0, "nms": 0.45, "top_k": 400, "max_detections": 200,
            "class_agnostic": False,
        }  # fmt: skip
        assert 100 < len(record["detections"]) <= 200

    def test_standard_output_holds_json_alone(self, media: Path) -> None:
        result = image(media / "chelsea.png", media / "coffee.png", "--json", "-", "-o", "out")
        assert [json.loads(line)["file"] for line in result.stdout.splitlines()] == [
            str(media / "chelsea.png"), str(media / "coffee.png"),
        ]  # fmt: skip
        assert "saved out/chelsea_detections.png" in result.stderr
        assert sorted(p.name for p in Path("out").glob("[!.]*")) == ["chelsea_detections.png", "coffee_detections.png"]

    def test_nothing_found_is_a_result_too(self, media: Path) -> None:
        result = image(media / "astronaut.png", "--score-threshold", 1, "--json", "found.jsonl")
        assert result.exit_code == 0
        told, saved = result.stdout.splitlines()
        assert told.startswith("nothing scored above 1; best: person 0.9")
        assert saved == "saved astronaut_detections.png"
        assert json.loads(Path("found.jsonl").read_text())["detections"] == []
        np.testing.assert_array_equal(read_picture("astronaut_detections.png"), read_picture(media / "astronaut.png"))

    def test_only_wanted_classes(self, media: Path) -> None:
        result = image(media / "astronaut.png", "--class", "airplane", "--class", "Cat", "--score-threshold", "0.9")
        assert "nothing scored above 0.9; best: " in result.stdout
        assert "best: person" not in result.stdout
        result = image(media / "astronaut.png", "--exclude-class", "person", "--overwrite")
        assert "person" not in result.stdout

    def test_quiet_and_verbose(self, media: Path) -> None:
        quiet = image(media / "astronaut.png", "-q")
        assert (quiet.exit_code, quiet.output) == (0, "")
        verbose = image(media / "astronaut.png", "-v", "--overwrite", "--device", "cpu", "--threads", 1)
        assert "checkpoint ssd_300_vgg_voc (SHA-256 ff5417049bad…), SSD300, 20 classes, on CPU" in verbose.stderr
        times = verbose.stderr.splitlines()[-1]
        assert times.startswith("time: ")
        assert [part.split()[0] for part in times.removeprefix("time: ").split(", ")] == [
            "read", "resize", "network", "decode", "nms", "draw", "write",
        ]  # fmt: skip

    def test_no_labels_draws_less(self, media: Path) -> None:
        image(media / "astronaut.png", "-o", "with.png")
        image(media / "astronaut.png", "-o", "without.png", "--no-labels")
        original = read_picture(media / "astronaut.png")
        changed = [(read_picture(name) != original).any(axis=2).sum() for name in ("with.png", "without.png")]
        assert 0 < changed[1] < changed[0]

    def test_batches_over_different_sizes(self, media: Path) -> None:
        pictures = [media / n for n in ("astronaut.png", "chelsea.png", "coffee.png")]
        one = image(*pictures, "--batch-size", 1, "--json", "-", "-q")
        three = image(*pictures, "--batch-size", 3, "--json", "-", "-q", "--overwrite")
        for a, b in zip(one.stdout.splitlines(), three.stdout.splitlines(), strict=True):
            assert_near(json.loads(a), json.loads(b))

    @pytest.mark.slow
    def test_chatter_of_tensorflow_is_silenced(self, media: Path) -> None:
        command = [sys.executable, "-m", "ssd_detect", "image", str(media / "astronaut.png")]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        assert done.stderr == ""
        done = subprocess.run(
            [*command, "--overwrite", "--device", "cpu", "-v"], capture_output=True, text=True, check=True
        )
        assert "oneDNN" in done.stderr

    def test_checkpoint_outside_the_manifest(self, seeded_checkpoint: Any, media: Path) -> None:
        prefix = seeded_checkpoint(300)
        result = image(media / "coffee.png", "--checkpoint", f"{prefix}.index")
        assert result.exit_code == 0
        assert result.stderr.startswith("checkpoint ssd_300_vgg.ckpt: assumed anchors coco300 (--anchors)\n")
        result = image(media / "coffee.png", "--checkpoint", f"{prefix}.index", "--anchors", "voc300", "--overwrite")
        assert result.exit_code == 0
        assert "assumed" not in result.stderr


def assert_near(a: Any, b: Any) -> None:
    assert [d["class"] for d in a["detections"]] == [d["class"] for d in b["detections"]]
    for one, other in zip(a["detections"], b["detections"], strict=True):
        assert one["score"] == pytest.approx(other["score"], abs=1e-5)
        assert one["box"] == pytest.approx(other["box"], abs=0.05)


class TestFaults:
    def test_one_bad_file_does_not_stop_the_rest(self, media: Path) -> None:
        Path("text.jpg").write_text("no picture")
        Path("empty.png").touch()
        whole = (media / "chelsea.png").read_bytes()
        Path("half.png").write_bytes(whole[: len(whole) // 2])
        result = image("gone.jpg", "text.jpg", "empty.png", media / "astronaut.png", "half.png", "--json", "a.jsonl")
        assert result.exit_code == 3
        *errors, saved, summary = result.stderr.splitlines()
        for name, line in zip(["gone.jpg", "text.jpg", "empty.png", "half.png"], errors, strict=True):
            assert line.startswith(f"Error: {name}: ")
        assert saved == "saved a.jsonl"
        assert summary.startswith(
            "1 picture done, objects: person 1; 4 failed: gone.jpg, text.jpg, empty.png, half.png; "
        )
        assert len(Path("a.jsonl").read_text().splitlines()) == 1
        assert sorted(p.name for p in Path().glob("[!.]*")) == [
            "a.jsonl", "astronaut_detections.png", "empty.png", "half.png", "text.jpg",
        ]  # fmt: skip

    @pytest.mark.parametrize("name", ["gone.jpg", "folder"])
    def test_nothing_to_do_fails_without_tensorflow(self, name: str) -> None:
        Path("folder").mkdir()
        result = image(name)
        assert (result.exit_code, result.stdout) == (1, "")
        assert result.stderr.startswith(f"Error: {name}: ")
        assert result.stderr.count("\n") == 1

    def test_existing_output_is_kept(self, media: Path) -> None:
        Path("astronaut_detections.png").write_text("mine")
        result = image(media / "astronaut.png")
        assert result.exit_code == 1
        assert "exists already; name another output or use --overwrite" in result.stderr
        assert Path("astronaut_detections.png").read_text() == "mine"
        assert image(media / "astronaut.png", "--overwrite").exit_code == 0

    def test_existing_json_is_kept(self, media: Path) -> None:
        Path("found.jsonl").write_text("mine")
        result = image(media / "astronaut.png", "--json", "found.jsonl")
        assert result.exit_code == 1
        assert [p.name for p in Path().iterdir()] == ["found.jsonl"]

    @pytest.mark.parametrize("output", ["/proc/a.png", "file/a.png", "a.xyz"])
    def test_unwritable_output(self, media: Path, output: str) -> None:
        Path("file").touch()
        result = image(media / "astronaut.png", "-o", output)
        assert result.exit_code == 1
        assert result.stderr.startswith(f"Error: {output}: cannot ")
        assert result.stderr.count("\n") == 1
        assert [p.name for p in Path().iterdir()] == ["file"]

    def test_no_usable_checkpoint(self, media: Path) -> None:
        Path("notes.txt").write_text("hello")
        for given in ("gone.ckpt", "notes.txt", "."):
            result = image(media / "astronaut.png", "--checkpoint", given)
            assert result.exit_code == 4
            assert result.stderr.startswith("Error: ")
            assert "expected a name (ssd-detect checkpoints list tells them)" in result.stderr
            assert result.stderr.count("\n") == 1

    def test_class_file_of_another_length(self, media: Path) -> None:
        Path("names.txt").write_text("cat\ndog\n")
        result = image(media / "astronaut.png", "--classes-file", "names.txt")
        assert result.exit_code == 2
        assert "has 20 classes (without the background), its list of class names has 2" in result.stderr

    def test_unknown_class_of_an_outside_checkpoint(self, seeded_checkpoint: Any, media: Path) -> None:
        result = image(media / "coffee.png", "--checkpoint", seeded_checkpoint(300), "--class", "prson")
        assert result.exit_code == 2
        assert "did you mean person?" in result.stderr

    def test_no_class_is_left(self, media: Path) -> None:
        result = image(media / "astronaut.png", "--class", "person", "--exclude-class", "person")
        assert result.exit_code == 2
        assert "no class is left to look for" in result.stderr

    @pytest.mark.slow
    def test_closed_streams_are_not_mixed_up_with_the_results(self, media: Path) -> None:
        """With the error stream closed, TensorFlow's log must not land in the next file that is opened."""
        code = 'exec "$0" -m ssd_detect image "$1" --json r.jsonl -v >&- 2>&-'
        done = subprocess.run(["sh", "-c", code, sys.executable, str(media / "chelsea.png")], check=False)
        assert done.returncode == 0
        (line,) = Path("r.jsonl").read_text().splitlines()
        assert json.loads(line)["detections"][0]["class"] == "cat"

    def test_a_failing_write_is_told(self, media: Path) -> None:
        save_picture(Path("wide.png"), np.zeros((1, 17000, 3), np.uint8))
        result = image("wide.png", media / "chelsea.png", "-o", "out", "--json", "-")
        assert result.exit_code == 0
        result = image("wide.png", "-o", "wide.webp")
        assert result.exit_code == 1
        assert "cannot save the picture in this format" in result.stderr
        assert not Path("wide.webp").exists()
