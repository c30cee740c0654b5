"""`ssd-detect eval` from end to end, with the shipped checkpoint on a small data set of our own."""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from click.testing import CliRunner, Result

from ssd_detect import formats
from ssd_detect.batch.journal import JOURNAL_NAME
from ssd_detect.cli.eval_run import leading_mean
from ssd_detect.cli.eval_table import is_below, percent_below
from ssd_detect.cli.main import program
from ssd_detect.detector import Detector
from ssd_detect.errors import OutputError, SsdDetectError
from ssd_detect.evaluating.network import EvalHooks
from ssd_detect.evaluating.run import Evaluated, Evaluation
from ssd_detect.evaluating.settings import EvalSettings
from ssd_detect.evaluation.results import CocoResult, EvaluationResult
from ssd_detect.formats.thresholds import read_thresholds
from ssd_detect.settings import CheckpointSettings, DetectionSettings
from ssd_detect.stages import StageTimes
from tests.made_dataset import OBJECTS, made_voc

pytestmark = pytest.mark.usefixtures("networks_kept_open")

SHIPPED = "ssd_300_vgg_voc"
FILES = {"index.html", "metrics.json", "per_class.csv", "detections.jsonl", "compared.npz", JOURNAL_NAME}


@pytest.fixture(scope="module")
def voc(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made_voc(tmp_path_factory.mktemp("set") / "voc")


class First:
    """What the first run of the network left, for all tests."""

    def __init__(self, folder: Path, voc: Path) -> None:
        self.report, self.raw, self.thresholds = folder / "report", folder / "raw.npz", folder / "thresholds.json"
        self.options = ["-o", self.report, "--keep-raw", self.raw, "--write-thresholds", self.thresholds]
        self.options += ["--iou", "0.4", "--bootstrap", "100"]
        self.result = evaluate(voc, *self.options)
        self.lines = (self.report / "detections.jsonl").read_bytes()


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory, voc: Path) -> First:
    return First(tmp_path_factory.mktemp("first"), voc)


def evaluate(*arguments: object) -> Result:
    return CliRunner().invoke(program, ["eval", *map(str, arguments)])


def numbers(*arguments: object) -> Any:
    """What `--json -` says."""
    done = evaluate(*arguments, "--json", "-")
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


def only_numbers(metrics: Any) -> Any:
    """Without what tells of the run."""
    return {name: metrics[name] for name in ("num_pictures", "num_objects", "num_detections", "voc", "coco")}


class TestNetwork:
    def test_what_it_prints(self, first: First) -> None:
        assert first.result.exit_code == 0, first.result.output
        out = first.result.stdout.splitlines()
        assert out[0].split() == [
            *("class", "objects", "difficult", "detections", "voc07@0.4", "voc10@0.4", "coco", "coco50")
        ]  # fmt: skip
        rows = {line.split()[0]: line.split()[1:] for line in out[1:21]}
        assert rows["cat"][0] == "1"
        assert rows["cat"][3:5] == ["100.00", "100.00"]
        assert rows["sheep"][3:] == ["n/a"] * 4
        assert out[22].startswith("3 pictures, 4 objects, ")
        assert out[23].startswith("mean voc07 at IoU 0.4: ")
        assert "(95 % interval " in out[23]
        assert out[23].endswith("of 3 classes")
        assert out[25].startswith("mean coco: AP ")
        assert "- Objects of classes that this checkpoint cannot find are left out: Cup 1." in out
        told = first.result.stderr.splitlines()
        assert told.pop(2).startswith("not in it, since no threshold reaches a precision of 0.9: aeroplane, ")
        assert told == [f"saved {path}" for path in (first.raw, first.thresholds, first.report / "index.html")]

    def test_what_it_writes(self, first: First, voc: Path) -> None:
        names = {path.name for path in first.report.iterdir() if path.suffix != ".png"}
        assert names == FILES
        metrics = json.loads((first.report / "metrics.json").read_text())
        schema = json.loads((Path(formats.__file__).parent / "schema" / "metrics.schema.json").read_text())
        jsonschema.Draft202012Validator(schema).validate(metrics)
        assert metrics["checkpoint"]["name"] == SHIPPED
        assert metrics["thresholds"]["score"] == 0.01
        assert metrics["command"].startswith(f"ssd-detect eval {voc} -o ")
        assert metrics["dataset"] == {"name": str(voc), "kind": "voc", "split": None}

    def test_nothing_is_overwritten(self, first: First, voc: Path) -> None:
        for option, path in (("-o", first.report), ("--keep-raw", first.raw), ("--json", first.raw)):
            done = evaluate(voc, option, path)
            assert (done.exit_code, done.stdout) == (1, "")
            assert "exists already" in done.stderr

    def test_the_same_command_goes_on(self, first: First, voc: Path) -> None:
        """Here with nothing left to do."""
        before = json.loads((first.report / "metrics.json").read_text())
        done = evaluate(voc, *first.options, "--resume")
        assert (done.exit_code, done.stdout) == (0, first.result.stdout)
        after = json.loads((first.report / "metrics.json").read_text())
        assert only_numbers(after) == only_numbers(before)
        assert (first.report / "detections.jsonl").read_bytes() == first.lines

    def test_limit_and_json_file(self, voc: Path, tmp_path: Path) -> None:
        done = evaluate(voc, "--limit", "1", "--metric", "coco", "--json", tmp_path / "x.json", "-q")
        assert (done.exit_code, done.output) == (0, "")
        found = json.loads((tmp_path / "x.json").read_text())
        assert (found["num_pictures"], found["voc"]) == (1, [])
        assert "Only the first picture counts; 2 more are there." in found["notes"]


class TestOtherSources:
    """Kept outputs and saved detections give the very numbers of the run."""

    def test_raw(self, first: First, voc: Path, tmp_path: Path) -> None:
        run = json.loads((first.report / "metrics.json").read_text())
        options = ["--iou", "0.4", "--bootstrap", "100"]
        again = numbers(voc, "--from-raw", first.raw, "-o", tmp_path / "again", *options)
        assert only_numbers(again) == only_numbers(run)
        assert (tmp_path / "again" / "detections.jsonl").read_bytes() == first.lines
        assert again["checkpoint"] == run["checkpoint"]
        assert again["predictions"] == str(first.raw)

    @pytest.mark.parametrize("name", ["jsonl", "coco"])
    def test_predictions(self, first: First, voc: Path, tmp_path: Path, name: str) -> None:
        run = json.loads((first.report / "metrics.json").read_text())
        saved = tmp_path / ("detections.jsonl" if name == "jsonl" else "detections.coco.json")
        arguments = [voc / "JPEGImages", "-f", name, "-o", tmp_path, "--score-threshold", "0.01"]
        done = CliRunner().invoke(program, ["image", *map(str, arguments)])
        assert done.exit_code == 0, done.output
        again = numbers(voc, "--predictions", saved, "--iou", "0.4", "--bootstrap", "100")
        assert only_numbers(again) == only_numbers(run)

    def test_predictions_of_a_high_threshold(self, first: First, voc: Path, tmp_path: Path) -> None:
        note = "The detections were saved with score threshold {}: what scored less is missing"
        lines = [json.loads(line) for line in first.lines.decode().splitlines()]
        for change, told in (({}, None), ({"score": 0.5}, "0.5"), ({"classes": {"cat": 0.7}}, "0.7")):
            lines[-1]["thresholds"] = {**lines[0]["thresholds"], **change}
            (tmp_path / "x.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
            notes = numbers(voc, "--predictions", tmp_path / "x.jsonl")["notes"]
            assert any("were saved with" in one for one in notes) == (told is not None)
            assert told is None or any(one.startswith(note.format(told)) for one in notes)
        arguments = [voc / "JPEGImages", "-f", "coco", "-o", tmp_path, "--score-threshold", "0.3"]
        assert CliRunner().invoke(program, ["image", *map(str, arguments)]).exit_code == 0
        notes = numbers(voc, "--predictions", tmp_path / "detections.coco.json")["notes"]
        assert any(one.startswith(note.format("0.3")) for one in notes)

    def test_other_settings(self, first: First, voc: Path) -> None:
        few = numbers(voc, "--from-raw", first.raw, "--score-threshold", "0.5", "--profile", "caffe")
        assert 0 < few["num_detections"] < 10
        assert few["thresholds"]["profile"] == "caffe"
        cats = numbers(voc, "--from-raw", first.raw, "--class", "cat")
        assert (cats["num_objects"], {one["ap"] for one in cats["voc"][0]["classes"]}) == (1, {1.0, None})
        cats_of_all = numbers(voc, "--predictions", first.report / "detections.jsonl", "--class", "cat")
        assert only_numbers(cats_of_all) == only_numbers(cats)

    def test_pictures_that_are_missing_and_foreign(self, first: First, voc: Path, tmp_path: Path) -> None:
        lines = first.lines.decode().splitlines(keepends=True)
        (tmp_path / "x.jsonl").write_text(lines[0] + lines[1].replace("chelsea", "another"))
        notes = numbers(voc, "--predictions", tmp_path / "x.jsonl")["notes"]
        assert "Pictures that the detections do not name, and that count as pictures without any: 2." in notes
        assert any(note.startswith("Pictures whose detections are left out: 1; the first: another") for note in notes)
        (tmp_path / "y.jsonl").write_text(lines[1].replace("chelsea", "another"))
        done = evaluate(voc, "--predictions", tmp_path / "y.jsonl")
        assert done.exit_code == 1
        assert "no picture of the detections is one of the data set: another" in done.stderr

    @pytest.mark.parametrize("option", ["--from-raw", "--predictions"])
    def test_pictures_beyond_the_limit(self, first: First, voc: Path, option: str) -> None:
        """They are left out without a word."""
        source = first.raw if option == "--from-raw" else first.report / "detections.jsonl"
        for limit, told in ((1, "picture counts; 2 more are there."), (2, "2 pictures count; 1 more is there.")):
            found = numbers(voc, option, source, "--limit", limit)
            assert found["num_pictures"] == limit
            assert f"Only the first {told}" in found["notes"]
            assert not any("left out: 1" in note or "left out: 2" in note for note in found["notes"])
            assert not any("has no picture" in note or "do not name" in note for note in found["notes"])

    def test_lines_that_an_editor_has_saved(self, first: First, voc: Path, tmp_path: Path) -> None:
        """With a mark of byte order and other line ends; and one of them twice."""
        run = json.loads((first.report / "metrics.json").read_text())
        (tmp_path / "x.jsonl").write_bytes(b"\xef\xbb\xbf" + first.lines.replace(b"\n", b"\r\n"))
        options = ["--iou", "0.4", "--bootstrap", "100"]
        assert only_numbers(numbers(voc, "--predictions", tmp_path / "x.jsonl", *options)) == only_numbers(run)
        (tmp_path / "y.jsonl").write_bytes(first.lines + first.lines.splitlines(keepends=True)[0])
        done = evaluate(voc, "--predictions", tmp_path / "y.jsonl")
        message = f"Error: {tmp_path / 'y.jsonl'}: astronaut.png: has detections twice, expected once\n"
        assert (done.exit_code, done.stderr) == (1, message)

    @pytest.mark.parametrize(
        ("lines", "status", "told"),
        [
            (b"", 1, "has no picture that can be used in the split 'test'; see ssd-detect dataset check"),
            (
                b"\xef\xbb\xbfghost\r\n",
                1,
                "name the folder of the pictures with --pictures, which ssd-detect dataset has",
            ),
            (b"\xef\xbb\xbfastronaut\r\nastronaut\r\n", 0, "1 picture, 2 objects, "),
            (b"chelsea\r", 0, "of 1 class\n"),
            (
                "chelsea".encode("utf-16"),
                0,
                "astronaut.png: {voc} has no picture of this name; only its split 'test' counts",
            ),
        ],
    )
    def test_splits(self, first: First, tmp_path: Path, lines: bytes, status: int, told: str) -> None:
        voc = made_voc(tmp_path / "voc")
        (voc / "ImageSets" / "Main").mkdir(parents=True)
        (voc / "ImageSets" / "Main" / "test.txt").write_bytes(lines)
        done = evaluate(voc, "--split", "test", "--from-raw", first.raw)
        assert done.exit_code == status, done.output
        assert told.format(voc=voc) in done.output

    def test_only_what_counts_is_written(self, first: First, voc: Path, tmp_path: Path) -> None:
        """Of kept outputs neither those beyond the limit nor those that the data set does not have."""
        lines = first.lines.splitlines(keepends=True)
        assert numbers(voc, "--from-raw", first.raw, "--limit", "2", "-o", tmp_path / "two")["num_pictures"] == 2
        assert (tmp_path / "two" / "detections.jsonl").read_bytes() == b"".join(lines[:2])
        fewer = made_voc(tmp_path / "voc", {name: OBJECTS[name] for name in ("astronaut", "coffee")})
        numbers(fewer, "--from-raw", first.raw, "-o", tmp_path / "fewer")
        written = (tmp_path / "fewer" / "detections.jsonl").read_bytes()
        assert written == b"".join(line for line in lines if b"chelsea" not in line)
        other = made_voc(tmp_path / "other", {"astronaut": OBJECTS["astronaut"]})
        (other / "Annotations" / "astronaut.xml").rename(other / "Annotations" / "x.xml")
        (other / "JPEGImages" / "astronaut.png").rename(other / "JPEGImages" / "x.png")
        assert evaluate(other, "--from-raw", first.raw, "-o", tmp_path / "none").exit_code == 1
        assert not (tmp_path / "none" / "detections.jsonl").exists()

    @pytest.mark.parametrize("option", ["--from-raw", "--predictions"])
    def test_pictures_whose_annotation_cannot_be_read(self, first: First, tmp_path: Path, option: str) -> None:
        voc = made_voc(tmp_path / "voc")
        (voc / "Annotations" / "coffee.xml").write_text("<annotation>")
        source = first.raw if option == "--from-raw" else first.report / "detections.jsonl"
        done = evaluate(voc, option, source)
        assert done.exit_code == 3, done.output
        note = next(line for line in done.stdout.splitlines() if "whose detections are left out: 1" in line)
        assert "coffee.png: reading the data set left it out: " in note
        assert "has no picture of this name" not in note

    def test_neither_imports_tensorflow(self, first: First, voc: Path, tmp_path: Path) -> None:
        code = (
            "import sys\nfrom ssd_detect.cli.main import program\n"
            "try: program(sys.argv[1:])\nexcept SystemExit as end: print(end.code, 'tensorflow' in sys.modules)"
        )
        raw = ["--from-raw", first.raw, "-o", tmp_path]
        for source in (raw, ["--predictions", first.report / "detections.jsonl"]):
            arguments = ["eval", voc, *source]
            command = [sys.executable, "-c", code, *map(str, arguments)]
            done = subprocess.run(command, capture_output=True, text=True, check=True)
            assert done.stdout.splitlines()[-1] == "0 False", done.stderr


class TestThresholds:
    def test_reach_their_precision(self, first: First, voc: Path, tmp_path: Path) -> None:
        thresholds = read_thresholds(first.thresholds)
        assert thresholds.checkpoint_name == SHIPPED
        assert {"cat", "person"} <= set(thresholds.classes) <= {"cat", "person", "diningtable"}
        assert thresholds.chosen["precision"] == 0.9
        options = ["--thresholds", first.thresholds, "--class", "cat", "--class", "person"]
        kept = numbers(voc, "--from-raw", first.raw, *options, "--iou", "0.4")
        assert kept["thresholds"]["classes"] == dict(thresholds.classes)
        hits = {one["name"]: one["num_detections"] for one in kept["voc"][0]["classes"]}
        assert (hits["cat"], hits["person"]) == (1, 1)
        assert "sheep" in thresholds.chosen["never_reached"]

    @pytest.mark.parametrize("source", ["network", "raw"])
    def test_of_another_checkpoint(self, first: First, voc: Path, tmp_path: Path, source: str) -> None:
        told = json.loads(first.thresholds.read_text())
        told["checkpoint"] = {"name": "other", "sha256": "ab" * 32}
        (tmp_path / "t.json").write_text(json.dumps(told))
        options = ["--from-raw", first.raw] if source == "raw" else ["--limit", "1"]
        done = evaluate(voc, *options, "--thresholds", tmp_path / "t.json")
        warning = (
            f"the score thresholds were chosen for checkpoint other (SHA-256 abababababab), this one is {SHIPPED}; "
        )
        assert done.stderr.count(warning) == 1, done.output
        if source == "raw":
            assert warning not in evaluate(voc, *options, "--thresholds", first.thresholds).stderr
            assert warning not in evaluate(voc, *options).stderr


class TestStatus:
    @pytest.mark.parametrize(("floor", "status"), [("0", 0), ("30", 0), ("99", 1)])
    def test_floor(self, first: First, voc: Path, floor: str, status: int) -> None:
        done = evaluate(voc, "--from-raw", first.raw, "--fail-under", floor)
        assert done.exit_code == status
        assert ("Error: mean voc07 is " in done.stderr) == (status == 1)
        assert "mean voc07" in done.stdout

    def test_a_mean_just_below_the_floor_reads_so(self, first: First, voc: Path) -> None:
        found = numbers(voc, "--from-raw", first.raw, "--metric", "coco")
        mean = 100 * found["coco"]["numbers"]["AP"]
        floor = f"{mean + 1e-5:.6f}"
        done = evaluate(voc, "--from-raw", first.raw, "--metric", "coco", "--fail-under", floor)
        assert done.exit_code == 1
        told = done.stderr.splitlines()[-1].removeprefix("Error: mean coco is ").split(", expected at least ")
        assert float(told[0]) < float(told[1])

    @pytest.mark.parametrize(
        ("value", "floor", "expected"),
        [(0.5, 50.29, "50.00"), (0.502857, 50.29, "50.286"), (0.5028999, 50.29, "50.28999"), (0.29, 29.0, None),
         (0.57, 57.0, None), (0.0, 2.0, "0.00")],
    )  # fmt: skip
    def test_decimals_below(self, value: float, floor: float, expected: str | None) -> None:
        assert is_below(value, floor) == (expected is not None)
        if expected is not None:
            assert percent_below(value, floor) == expected

    def test_no_objects_reach_no_floor(self, tmp_path: Path, first: First) -> None:
        empty = made_voc(tmp_path / "voc", dict.fromkeys(OBJECTS, ()))
        assert evaluate(empty, "--from-raw", first.raw).exit_code == 0
        done = evaluate(empty, "--from-raw", first.raw, "--fail-under", "0")
        assert (done.exit_code, done.stderr) == (1, "Error: mean voc07 is n/a, expected at least 0\n")

    def test_the_first_metric_counts(self) -> None:
        coco = CocoResult({"AP": 0.25}, ())
        result = EvaluationResult(1, 1, 1, (), coco, ())
        assert leading_mean(result, ("coco", "voc07")) == 0.25

    def test_pictures_that_cannot_be_read(self, tmp_path: Path) -> None:
        """One whose header is gone is left out of the data set; one that breaks off counts as without detections."""
        voc = made_voc(tmp_path / "voc")
        pictures = voc / "JPEGImages"
        (pictures / "astronaut.png").write_bytes(b"no picture")
        whole = (pictures / "chelsea.png").read_bytes()
        (pictures / "chelsea.png").write_bytes(whole[:200])
        done = evaluate(voc, "--json", "-", "-o", tmp_path / "out")
        assert done.exit_code == 3, done.output
        found = json.loads(done.stdout)
        assert found["num_pictures"] == 2
        assert len(found["not_read"]) == 2
        for name in ("astronaut", "chelsea"):
            assert any(line.startswith("Error: ") and name in line for line in done.stderr.splitlines())
        assert "Pictures that cannot be read, and count as pictures without detections: 1." in found["notes"]
        (cat,) = (one for one in found["voc"][0]["classes"] if one["name"] == "cat")
        assert (cat["num_objects"], cat["ap"]) == (1, 0.0)

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            (["--fail-under", "0.7"], "--fail-under is 0.7 percent, expected percent such as 70"),
            (["--from-raw", "a", "--predictions", "b"], "--from-raw and --predictions exclude each other"),
            (["--from-raw", "a", "--keep-raw", "b"], "--keep-raw is for runs of the network"),
            (["--predictions", "a", "--resume", "-o", "x"], "--resume is for runs of the network"),
            (["--resume"], "name it with -o"),
            (["--from-raw", "a", "--checkpoint", SHIPPED], "--checkpoint: without effect with --from-raw"),
            (["--predictions", "a", "--nms-threshold", "0.4"], "--nms-threshold: without effect with --predictions"),
            (["--json", "a", "--keep-raw", "a"], "have the same name"),
            (["--json", "a", "--write-thresholds", "b/../a"], "have the same name"),
            (["--json", "r/metrics.json", "-o", "r"], "r/metrics.json: two files that are to be written have the same"),
            (["--keep-raw", "r/index.html", "-o", "r"], "have the same name"),
            (["--split", "train"], "train"),
            (["--iou", "0"], "--iou"),
            (["--fail-under", "nan"], "--fail-under is nan percent, expected percent such as 70"),
            (["--iou", "nan", "--checkpoint", "gone"], "IoU threshold is nan"),
            (["--target-precision", "nan", "--checkpoint", "gone"], "precision is nan"),
        ],
    )
    def test_usage(self, voc: Path, options: list[str], message: str) -> None:
        done = evaluate(voc, *options)
        assert (done.exit_code, done.stdout) == (2, ""), done.output
        assert message in done.stderr
        assert done.stderr.count("\n") == 1

    def test_no_input_is_written_over(self, first: First, tmp_path: Path) -> None:
        """Whatever is read, for every option that writes, also with --overwrite and under another name."""
        voc = made_voc(tmp_path / "voc")
        lines, weights = tmp_path / "x.jsonl", tmp_path / "raw.npz"
        lines.write_bytes(first.lines)
        weights.write_bytes(first.raw.read_bytes())
        thresholds = tmp_path / "t.json"
        thresholds.write_bytes(first.thresholds.read_bytes())
        (tmp_path / "link").hardlink_to(lines)
        itself, of_set = "is the input itself; name another output", f"is a file of the data set {voc}; name another"
        cases: list[tuple[list[object], Path, str]] = [
            (["--from-raw", weights], weights, itself),
            (["--predictions", lines], lines, itself),
            (["--predictions", lines], tmp_path / "link", itself),
            (["--from-raw", weights, "--thresholds", thresholds], thresholds, itself),
            (["--predictions", lines], voc / "JPEGImages" / "coffee.png", itself),
            (["--predictions", lines], voc / "Annotations" / "coffee.xml", of_set),
        ]
        for source, target, message in cases:
            before = target.read_bytes()
            for option in ("--json", "--write-thresholds"):
                done = evaluate(voc, *source, option, target, "--overwrite")
                assert (done.exit_code, done.stdout) == (1, ""), done.output
                assert f"Error: {target}: {message}" in done.stderr
            assert target.read_bytes() == before
        for target in (voc / "JPEGImages" / "coffee.png", voc / "Annotations" / "coffee.xml"):
            done = evaluate(voc, "--keep-raw", target, "--overwrite")
            assert (done.exit_code, "name another output" in done.stderr) == (1, True), done.output
        for _ in range(2):  # what an evaluation has written there may be replaced
            options = ("--json", voc / "n.json", "--write-thresholds", voc / "t.json", "--overwrite")
            assert evaluate(voc, "--predictions", lines, *options).exit_code == 0

    def test_no_data_set(self, tmp_path: Path) -> None:
        assert evaluate(tmp_path / "gone").exit_code == 2
        done = evaluate(tmp_path)
        assert (done.exit_code, done.stderr.count("\n")) == (1, 1)

    def test_without_matplotlib(self, first: First, voc: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(sys.modules, "matplotlib", None)  # as import finds it where it is not installed
        done = evaluate(voc, "--from-raw", first.raw, "-o", tmp_path / "out")
        assert done.exit_code == 0, done.output
        assert "ssd-detect[eval]" in done.stderr
        names = {path.name for path in (tmp_path / "out").iterdir()}
        assert names == FILES - {"index.html", JOURNAL_NAME}


def settings_for(voc: Path, **chosen: Any) -> EvalSettings:
    detection = DetectionSettings(score_threshold=0.01)
    return EvalSettings(
        dataset=voc, checkpoint=CheckpointSettings(SHIPPED), detection=detection, batch_size=1, **chosen
    )


def run(settings: EvalSettings, *, stop_after: int | None = None) -> Evaluated | None:
    """Run, with Ctrl-C heard when so many pictures have been through the network."""
    asked: list[None] = []

    @contextmanager
    def load(times: StageTimes, on_outputs: Any) -> Iterator[Detector]:
        chosen = {"settings": settings.detection, "batch_size": 1, "times": times, "on_outputs": on_outputs}
        with Detector(settings.checkpoint, **chosen) as detector:
            yield detector

    def fail(name: str, error: SsdDetectError) -> None:
        raise error

    def should_stop() -> bool:
        asked.append(None)  # after each picture
        return stop_after is not None and len(asked) >= stop_after

    hooks = EvalHooks(load, lambda: None, fail, should_stop)
    return Evaluation.of(settings).run(hooks)


class TestResume:
    @pytest.mark.slow
    def test_is_as_one_run(self, voc: Path, tmp_path: Path) -> None:
        one = settings_for(voc, folder=tmp_path / "one", keep_raw=tmp_path / "one.npz", iou_thresholds=(0.4,))
        at_once = run(one)
        assert at_once is not None
        settings = settings_for(voc, folder=tmp_path / "out", keep_raw=tmp_path / "raw.npz", iou_thresholds=(0.4,))
        assert run(settings, stop_after=1) is None
        assert not (tmp_path / "raw.npz").exists()
        with pytest.raises(OutputError, match=r"exists already|go on with --resume"):
            run(settings)
        with pytest.raises(OutputError, match="had another checkpoint, other thresholds"):
            run(replace(settings, resume=True, detection=DetectionSettings(score_threshold=0.02)))
        before = {one.name: one.stat().st_mtime_ns for one in (tmp_path / "out" / ".ssd-detect-raw").iterdir()}
        assert len(before) == 1
        evaluated = run(replace(settings, resume=True))
        assert evaluated is not None
        assert evaluated.result.to_dict() == at_once.result.to_dict()
        for name in ("detections.jsonl", JOURNAL_NAME):
            lines = [
                (tmp_path / folder / name).read_text().splitlines()[name == JOURNAL_NAME :] for folder in ("out", "one")
            ]
            assert lines[0] == lines[1]
        assert (tmp_path / "raw.npz").read_bytes() == (tmp_path / "one.npz").read_bytes()
        assert sorted(one.name for one in (tmp_path / "out").iterdir()) == sorted([JOURNAL_NAME, "detections.jsonl"])
        again = run(replace(settings, resume=True))
        assert again is not None
        assert again.result.to_dict() == evaluated.result.to_dict()

    def test_other_options_are_refused(self, first: First, voc: Path, tmp_path: Path) -> None:
        """Before anything of the finished report is replaced."""
        before = {path: path.read_bytes() for path in first.report.iterdir()}
        plain = ["-o", first.report, "--iou", "0.4", "--bootstrap", "100"]
        same = [*plain, "--keep-raw", first.raw]
        others: list[list[object]] = [
            [*same, "--limit", "1"],
            [*same, "--limit", "2"],
            plain,
            [*plain, "--keep-raw", tmp_path / "other.npz"],
            [*same, "--metric", "coco"],
            [*same, "--iou", "0.5"],
            [*same, "--target-precision", "0.5"],
            ["-o", first.report, "--iou", "0.4", "--keep-raw", first.raw],
            [*same, "--profile", "caffe"],
        ]
        for options in others:
            done = evaluate(voc, *options, "--resume")
            assert (done.exit_code, done.stdout) == (1, ""), options
            assert "the run to resume had another checkpoint, other thresholds, other" in done.stderr
            assert done.stderr.count("\n") == 1
        assert {path: path.read_bytes() for path in first.report.iterdir()} == before
        assert not (tmp_path / "other.npz").exists()

    def test_a_report_without_a_run_is_not_replaced(self, first: First, voc: Path, tmp_path: Path) -> None:
        assert evaluate(voc, "--from-raw", first.raw, "-o", tmp_path / "out").exit_code == 0
        before = (tmp_path / "out" / "metrics.json").read_bytes()
        done = evaluate(voc, "-o", tmp_path / "out", "--resume", "--limit", "1")
        assert (done.exit_code, done.stdout) == (1, "")
        assert "exists already" in done.stderr
        assert (tmp_path / "out" / "metrics.json").read_bytes() == before

    def test_other_pictures_in_the_raw_file(self, voc: Path, tmp_path: Path) -> None:
        settings = settings_for(voc, folder=tmp_path / "out", keep_raw=tmp_path / "raw.npz", limit=1)
        assert run(settings) is not None
        with pytest.raises(OutputError, match="holds outputs of other pictures"):
            run(replace(settings, resume=True, limit=2))
