"""`ssd-detect dataset`: what it prints, where, and its statuses."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from ssd_detect.boxes.anchors import ANCHOR_PRESETS
from ssd_detect.cli.dataset import dataset
from ssd_detect.cli.main import Program
from ssd_detect.datasets.rules import RULES
from tests.made_datasets import coco, coco_object, picture, voc, voc_object, written, yolo
from tests.test_command_line import run_python


def run(*arguments: object) -> Result:
    program = Program("ssd-detect", commands={"dataset": dataset})
    return CliRunner().invoke(program, ["dataset", *map(str, arguments)])


class TestCheck:
    def test_nothing_wrong(self, tmp_path: Path) -> None:
        done = run("check", voc(tmp_path, voc_object(), voc_object("cat")))
        assert (done.exit_code, done.stderr) == (0, "")
        assert done.stdout == "VOC: 1 picture with 2 objects of 20 classes; problems: none\n"

    def test_each_problem_is_told_with_its_rule(self, tmp_path: Path) -> None:
        voc(tmp_path, voc_object("cat", (30, 1, 10, 9)), voc_object(corners=(200, 1, 210, 9)))
        done = run("check", tmp_path)
        path = tmp_path / "Annotations/a.xml"
        assert done.exit_code == 1
        lines = [" ".join(line.split()) for line in done.stdout.splitlines()]
        assert lines == [
            f"{path}, object 1: box-inverted, mended: a.jpg: corners 30, 1, 10, 9 are swapped",
            f"{path}, object 2: box-outside, dropped: a.jpg: box 199, 0, 210, 9 lies outside the picture of 100x50",
            "",
            "box-inverted 1 mended swapped corners are swapped back",
            "box-outside 1 dropped a box wholly outside the picture is left out",
            "VOC: 1 picture with 1 object of 20 classes; problems: 1 mended, 1 dropped",
        ]

    @pytest.mark.parametrize("as_json", [False, True])
    def test_nothing_there(self, tmp_path: Path, as_json: bool) -> None:
        chosen = ["--json"] if as_json else []
        empty = coco(tmp_path / "coco", images=[])
        yolo(tmp_path / "yolo")
        (tmp_path / "yolo/images/a.jpg").unlink()
        yaml = written(tmp_path / "yolo/data.yaml", "train: images\nnames: [dog]\n")
        written(voc(tmp_path / "voc", voc_object()) / "ImageSets/Main/test.txt", "")
        splits = [(empty, []), (yaml, []), (tmp_path / "voc", ["--split", "test"])]
        for kind, (path, split) in zip(("COCO", "YOLO", "VOC"), splits, strict=True):
            done = run("check", path, *split, *chosen)
            where = " in the split 'test'" if split else ""
            assert done.exit_code == 1
            assert done.stderr.startswith(f"Error: {path}: is a {kind} data set without a picture{where}, expected one")
            assert done.stderr.count("\n") == 1
            assert (json.loads(done.stdout)["pictures"] == 0) if as_json else ("none" not in done.stdout)

    def test_what_is_mended_or_kept_is_all_used(self, tmp_path: Path) -> None:
        assert run("check", voc(tmp_path, voc_object(corners=(30, 1, 10, 9)), size=(9, 9))).exit_code == 0

    def test_a_folder_of_six_with_each_fault_of_f14(self, tmp_path: Path) -> None:
        """A picture without annotation, an annotation without picture, a duplicate, two of one name, an odd tag."""
        for name in ("good", "alone", "twice", "odd"):
            picture(tmp_path / f"JPEGImages/{name}.jpg")
        picture(tmp_path / "JPEGImages/odd.png")
        for name, content in {
            "good": voc_object(more="<brightness>3</brightness>"),
            "twice": voc_object() * 2,
            "odd": voc_object(more="<difficult>Unspecified</difficult>"),
            "ghost": voc_object(),
        }.items():
            written(tmp_path / f"Annotations/{name}.xml", f"<annotation verified='yes'>{content}</annotation>")
        report = json.loads(run("check", tmp_path, "--json").stdout)
        told = {(Path(p["file"]).stem, p["kind"]) for p in report["problems"] if p["kind"] != "size-missing"}
        assert told == {
            ("alone", "annotation-missing"),
            ("ghost", "picture-missing"),
            ("odd", "flag-odd"),
            ("odd", "picture-ambiguous"),
            ("twice", "object-twice"),
        }

    def test_json(self, tmp_path: Path) -> None:
        done = run("check", coco(tmp_path, coco_object(), coco_object(bbox=[0, 0, 0, 5])), "--json")
        report = json.loads(done.stdout)
        assert (done.exit_code, done.stderr) == (1, "")
        assert report["schema"] == "ssd-detect.dataset-check/1"
        assert (report["kind"], report["pictures"], report["objects"]) == ("coco", 1, 1)
        assert report["treatments"] == {"mended": 0, "dropped": 1, "skipped": 0, "kept": 0}
        assert report["kinds"] == [
            {"kind": "box-empty", "count": 1, "treatment": "dropped", "rule": RULES["box-empty"].text}
        ]
        (problem,) = report["problems"]
        assert (problem["object"], problem["kind"]) == (2, "box-empty")

    def test_classes_of_a_file(self, tmp_path: Path) -> None:
        voc(tmp_path / "set", voc_object("prson"), voc_object(" DOG\n"))
        names = written(tmp_path / "names.txt", "person\ndog\n")
        done = run("check", tmp_path / "set", "--classes-file", names)
        assert done.exit_code == 1
        assert "class-unknown, dropped: a.jpg: class 'prson' is not in the list; did you mean person?" in done.stdout

    def test_a_name_that_would_drive_the_terminal(self, tmp_path: Path) -> None:
        voc(tmp_path, voc_object("a&#10;b"), voc_object("a&#10;b"))
        done = run("check", tmp_path)
        assert all(ord(c) >= 32 or c == "\n" for c in done.stdout)

    @pytest.mark.parametrize("switch", ["--one-based", "--zero-based"])
    def test_counting(self, tmp_path: Path, switch: str) -> None:
        voc(tmp_path, voc_object(corners=(0, 0, 9, 9)))
        assert ("box-cut" in run("check", tmp_path, switch).stdout) == (switch == "--one-based")


class TestStats:
    def test_text(self, tmp_path: Path) -> None:
        done = run("stats", voc(tmp_path, voc_object()), "--anchors", "coco300")
        assert (done.exit_code, done.stderr) == (0, "")
        assert "size of pictures: 100x50 to 100x50, median 100x50" in done.stdout
        assert "COCO's sizes: small 1, medium 0, large 0" in done.stdout
        (dog,) = [line.split() for line in done.stdout.splitlines() if line.startswith("dog ")]
        assert dog[:5] == ["dog", "1", "1", "0", "0"]
        assert "anchors coco300: best overlap that any anchor reaches" in done.stdout

    def test_without_objects(self, tmp_path: Path) -> None:
        done = run("stats", yolo(tmp_path), "--anchors", "voc512")
        assert done.exit_code == 0
        assert "YOLO: 1 picture with 0 objects of 2 classes" in done.stdout

    @pytest.mark.parametrize("anchors", [None, *ANCHOR_PRESETS])
    def test_json(self, tmp_path: Path, anchors: str | None) -> None:
        chosen = ["--anchors", anchors] if anchors else []
        done = run("stats", voc(tmp_path, voc_object()), "--json", *chosen)
        report = json.loads(done.stdout)
        assert report["schema"] == "ssd-detect.dataset-stats/1"
        assert (report["pictures"], report["objects"], report["coco_sizes"]["small"]) == (1, 1, 1)
        assert ("coverage" in report) == (anchors is not None)
        if anchors:
            coverage = report["coverage"]
            assert (coverage["anchors"], coverage["overall"]["objects"]) == (anchors, 1)
            assert len(coverage["by_size_and_ratio"]) == len(coverage["by_size"]) * len(coverage["by_ratio"])
            assert coverage["by_size"][-1]["side_below"] is None

    def test_unknown_classes(self, tmp_path: Path) -> None:
        voc(tmp_path / "set", voc_object("feng"), voc_object("dog"))
        names = written(tmp_path / "names.txt", "dog\n")
        done = run("stats", tmp_path / "set", "--classes-file", names)
        assert (done.exit_code, done.stdout) == (2, "")
        assert "'feng' (1 object)" in done.stderr
        assert run("stats", tmp_path / "set", "--classes-file", names, "--ignore-unknown").exit_code == 0


class TestConvert:
    @pytest.mark.parametrize("kind", ["voc", "coco", "yolo"])
    @pytest.mark.parametrize("switch", ["--copy-pictures", "--link-pictures"])
    def test_to_each_layout(self, tmp_path: Path, kind: str, switch: str) -> None:
        source = voc(tmp_path / "s", voc_object())
        done = run("convert", source, tmp_path / "t", "--to", kind, switch)
        assert (done.exit_code, done.stderr) == (0, "")
        opened_by, _, told = done.stdout.partition(": ")
        assert told == "1 picture, 1 object\n"
        assert run("check", opened_by).exit_code == 0
        assert any(p.is_symlink() for p in (tmp_path / "t").rglob("a.jpg")) == (switch == "--link-pictures")

    def test_losses_are_told(self, tmp_path: Path) -> None:
        objects = voc_object(more="<difficult>1</difficult>"), voc_object(corners=(1, 1, "NaN", 2))
        source = voc(tmp_path / "s", *objects)
        done = run("convert", source, tmp_path / "t", "--to", "yolo")
        assert done.stderr.splitlines() == [
            "1 object of the source is left out; see ssd-detect dataset check",
            "1 difficult objects are objects like any other: YOLO cannot say it",
            "the pictures stay where they are: put them into images, beside labels, to open the new data set",
        ]
        assert run("convert", source, tmp_path / "t2", "--to", "coco", "-q").output == ""

    @pytest.mark.parametrize(
        ("dropped", "skipped", "told"),
        [
            (1, 0, "1 object of the source is left out"),
            (0, 1, "1 picture or annotation of the source is left out"),
            (2, 0, "2 objects of the source are left out"),
            (0, 2, "2 pictures or annotations of the source are left out"),
            (1, 2, "1 object and 2 pictures or annotations of the source are left out"),
        ],
    )
    def test_what_is_left_out_is_counted(self, tmp_path: Path, dropped: int, skipped: int, told: str) -> None:
        source = voc(tmp_path / "s", voc_object(), *[voc_object("cat", (200 + i, 1, 210, 9)) for i in range(dropped)])
        for i in range(skipped):
            picture(source / f"JPEGImages/b{i}.jpg")
        done = run("convert", source, tmp_path / "t", "--to", "coco", "--copy-pictures")
        assert done.stderr == f"{told}; see ssd-detect dataset check\n"

    def test_nothing_is_replaced_unasked(self, tmp_path: Path) -> None:
        source = voc(tmp_path / "s", voc_object())
        again = ("convert", source, tmp_path / "t", "--to", "coco")
        assert [run(*again).exit_code for _ in range(2)] == [0, 1]
        assert "exists already; name another output or use --overwrite" in run(*again).stderr
        assert run(*again, "--overwrite").exit_code == 0


class TestUsage:
    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            (["check"], "Missing argument 'DATASET'"),
            (["check", "gone"], "gone: no such file or folder; expected a VOC folder"),
            (["check", ".", "--classes-file", "gone"], "gone: cannot read the class file"),
            (["stats", ".", "--anchors", "x"], "'x' is not one of 'voc300'"),
            (["convert", "."], "Missing argument 'TARGET'"),
            (["convert", ".", "t"], "Missing option '--to'. Choose from: voc, coco, yolo (see ssd-detect dataset conv"),
            (
                ["convert", ".", "t", "--to", "voc", "--copy-pictures", "--link-pictures"],
                "-pictures exclude each other",
            ),
            (["convert", ".", "t", "--to", "x"], "'x' is not one of 'voc', 'coco', 'yolo'"),
            (["chek"], "No such command 'chek'"),
        ],
    )
    def test_errors(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], message: str) -> None:
        monkeypatch.chdir(tmp_path)
        done = run(*arguments)
        assert (done.exit_code, done.stdout) == (2, "")
        assert message in done.stderr
        assert done.stderr.count("\n") == 1

    def test_no_data_set(self, tmp_path: Path) -> None:
        done = run("check", tmp_path)
        assert (done.exit_code, done.stdout) == (1, "")
        assert done.stderr.startswith(f"Error: {tmp_path}: holds no data set; looked for a VOC folder")

    def test_help_is_light(self) -> None:
        code = (
            "import sys\nfrom ssd_detect.cli.dataset import dataset\n"
            "for verb in ([], ['check'], ['stats'], ['convert']):\n"
            "    dataset([*verb, '--help'], standalone_mode=False)\n"
            "print([m for m in ('numpy', 'PIL', 'cv2', 'tensorflow') if m in sys.modules])"
        )
        assert run_python(code).stdout.splitlines()[-1] == "[]"
