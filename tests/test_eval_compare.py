"""`ssd-detect eval compare`: two evaluations on the same pictures."""

import io
import json
import zipfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result

from ssd_detect.cli.main import program
from ssd_detect.errors import FormatError, OutputError
from ssd_detect.evaluating import compared_file
from ssd_detect.evaluating.compared_file import COMPARED_FILE, read_compared, write_compared
from ssd_detect.evaluating.network import EvalHooks
from ssd_detect.evaluating.run import Evaluation
from ssd_detect.evaluating.settings import EvalSettings
from ssd_detect.settings import CheckpointSettings, DetectionSettings
from tests.made_dataset import OBJECTS, SIZES, Objects, made_voc

CATS = ("background", "cat", "person", "diningtable", "cup")


def compare(*arguments: object) -> Result:
    return CliRunner().invoke(program, ["eval", "compare", *map(str, arguments)])


def found(folder: Path, boxes: Mapping[str, Objects], class_names: tuple[str, ...] = CATS) -> Path:
    """Saved detections, all of score 0.5, in the three pictures."""
    lines = []
    for stem, (width, height) in SIZES.items():
        rows = [
            {"class": name, "class_id": class_names.index(name), "score": 0.5, "box": [x0 - 1, y0 - 1, x1, y1]}
            for name, (x0, y0, x1, y1) in boxes.get(stem, ())
        ]
        head = {"schema": "ssd-detect.detections/1", "file": f"{stem}.png", "width": width, "height": height}
        thresholds = {"score": 0.01, "nms": 0.45, "class_agnostic": False}
        tail = {"checkpoint": {"name": "made", "sha256": "ab" * 32}, "thresholds": thresholds}
        lines.append(json.dumps({**head, "detections": rows, **tail}) + "\n")
    folder.mkdir(exist_ok=True)
    (folder / "detections.jsonl").write_text("".join(lines))
    return folder / "detections.jsonl"


def evaluated(folder: Path, voc: Path, boxes: Mapping[str, Objects], **chosen: Any) -> Path:
    """The folder of an evaluation, with what is compared in it."""
    names = chosen.pop("names", CATS)
    settings = EvalSettings(
        dataset=voc,
        checkpoint=CheckpointSettings("made", class_names=names),
        detection=DetectionSettings(),
        batch_size=1,
        predictions=found(folder, boxes, names),
        **chosen,
    )
    outcome = Evaluation.of(settings).run(EvalHooks(None))  # type: ignore[arg-type]  # no network runs
    assert outcome is not None
    write_compared(outcome.details, folder, overwrite=False)
    return folder


ALL = {stem: [(name.lower(), box) for name, box in objects] for stem, objects in OBJECTS.items()}
NO_CAT = {**ALL, "chelsea": ()}


@pytest.fixture(scope="module")
def voc(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made_voc(tmp_path_factory.mktemp("set") / "voc")


@pytest.fixture(scope="module")
def best(tmp_path_factory: pytest.TempPathFactory, voc: Path) -> Path:
    """An evaluation in which all is found."""
    return evaluated(tmp_path_factory.mktemp("best"), voc, ALL)


def test_with_itself(best: Path) -> None:
    done = compare(best, best / COMPARED_FILE)
    assert done.exit_code == 0, done.output
    assert done.stdout.splitlines()[0] == f"A: {best}: voc10 at IoU 0.5: 100.00 %"
    assert "no more than chance" in done.stdout


def test_json(best: Path, voc: Path, tmp_path: Path) -> None:
    other = evaluated(tmp_path / "b", voc, NO_CAT)
    done = compare(best, other, "--json", "-", "--metric", "voc07", "--bootstrap", "200")
    assert done.exit_code == 0, done.output
    value = json.loads(done.stdout)
    assert (value["metric"], value["num_resamples"], value["a"]) == ("voc07", 200, str(best))
    assert value["difference"] == pytest.approx(1 / 4)
    assert f"B: {other}: voc07 at IoU 0.5: 75.00 %" in done.stderr
    assert compare(best, other, "--json", tmp_path / "c.json").exit_code == 0
    assert json.loads((tmp_path / "c.json").read_text())["mean_ap_b"] == 0.75
    done = compare(best, other, "--json", tmp_path / "c.json")
    assert (done.exit_code, done.stdout) == (1, "")  # told before anything is counted
    done = compare(best, other, "--json", "-", "--iou", "nan")
    assert (done.exit_code, done.stdout) == (2, "")
    assert "IoU threshold is nan, expected a number above 0, at most 1" in done.stderr
    assert compare(best, other, "--json", tmp_path / "c.json", "--overwrite").exit_code == 0


def test_classes_that_only_one_checkpoint_knows_do_not_count(best: Path, voc: Path, tmp_path: Path) -> None:
    names = ("background", "Dining table", "person", "zebra", "cat")
    renamed = {stem: [(_renamed(name), box) for name, box in rows if name != "cup"] for stem, rows in NO_CAT.items()}
    other = evaluated(tmp_path / "b", voc, renamed, names=names)
    done = compare(best, other)
    assert f"B: {other}: voc10 at IoU 0.5: {200 / 3:.2f} %" in done.stdout
    alien = evaluated(tmp_path / "c", voc, {}, names=("background", "zebra"))
    done = compare(best, alien)
    assert (done.exit_code, "have no class in common" in done.stderr) == (2, True)


def _renamed(name: str) -> str:
    return "Dining table" if name == "diningtable" else name


def test_other_pictures(best: Path, voc: Path, tmp_path: Path) -> None:
    done = compare(best, evaluated(tmp_path / "two", voc, ALL, limit=2))
    assert done.exit_code == 2
    assert "are of different pictures (3 and 2, for example coffee" in done.stderr


@pytest.mark.parametrize("objects", [(), (("diningtable", (1, 1, 599, 400)), ("cup", (130, 60, 450, 360)))])
def test_other_objects(best: Path, tmp_path: Path, objects: Objects) -> None:
    other = made_voc(tmp_path / "voc", {**OBJECTS, "coffee": objects})
    done = compare(best, evaluated(tmp_path / "other", other, ALL))
    assert (done.exit_code, "are of different objects" in done.stderr) == (2, True)


def test_there_and_back(best: Path) -> None:
    read = read_compared(best)
    assert read.class_names == CATS
    assert len(read.pictures) == read.truth.num_pictures == read.predictions.num_pictures == 3
    assert (len(read.truth), len(read.predictions)) == (5, 5)


class TestDamage:
    @pytest.mark.parametrize("content", [b"", b"PK", b"no zip at all"])
    def test_no_archive(self, best: Path, tmp_path: Path, content: bytes) -> None:
        (tmp_path / COMPARED_FILE).write_bytes(content)
        done = compare(best, tmp_path)
        assert (done.exit_code, done.stdout) == (1, "")
        assert done.stderr.startswith(f"Error: {tmp_path / COMPARED_FILE}: ")
        assert done.stderr.count("\n") == 1

    def test_another_archive(self, best: Path, tmp_path: Path) -> None:
        np.savez(tmp_path / COMPARED_FILE, pictures=np.zeros(3))
        assert "is no file of an evaluation; name a folder that eval -o has written" in compare(tmp_path, best).stderr
        assert "gone: cannot be read" in compare(best, tmp_path / "gone").stderr

    def test_too_large(self, best: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(compared_file, "MOST_BYTES", 1000)
        assert "bytes, expected at most 1,000" in compare(best, best).stderr

    def test_more_rows_promised_than_there_are(self, best: Path, tmp_path: Path) -> None:
        content = io.BytesIO()
        told = {"descr": "<f8", "fortran_order": False, "shape": (2**50,)}
        np.lib.format.write_array_header_1_0(content, told)
        with zipfile.ZipFile(tmp_path / COMPARED_FILE, "w") as archive:
            archive.writestr("truth.area.npy", content.getvalue())
        self.is_one_clear_error(compare(tmp_path, best))

    def test_flips(self, best: Path, tmp_path: Path) -> None:
        """Everywhere: packed bytes, and the flags that say what is encrypted."""
        content, path = (best / COMPARED_FILE).read_bytes(), tmp_path / COMPARED_FILE
        random = np.random.default_rng(0)
        for place in random.permutation(len(content))[:300].tolist():
            flipped = bytearray(content)
            flipped[place] ^= 1 << int(random.integers(8))
            path.write_bytes(flipped)
            with suppress(FormatError):
                read_compared(path)

    def is_one_clear_error(self, done: Result) -> None:
        assert (done.exit_code, done.stdout, done.stderr.count("\n")) == (1, "", 1), done.output

    @pytest.mark.parametrize(
        ("name", "value", "message"),
        [
            ("predictions.score", np.nan, "holds the score nan, expected a number from 0 to 1"),
            ("predictions.score", 1.5, "holds the score 1.5, expected a number from 0 to 1"),
            ("predictions.boxes", np.inf, "a box of its predictions is not finite"),
            ("truth.boxes", np.nan, "a box of its truth is not finite"),
        ],
    )
    def test_numbers_that_are_none(self, best: Path, tmp_path: Path, name: str, value: float, message: str) -> None:
        with np.load(best / COMPARED_FILE) as file:
            columns = dict(file)
        columns[name].flat[-1] = value
        np.savez(tmp_path / COMPARED_FILE, **columns)
        done = compare(tmp_path, best)
        self.is_one_clear_error(done)
        assert f"Error: {tmp_path / COMPARED_FILE}: {message}" in done.stderr

    @pytest.mark.parametrize(
        "change",
        [{"class_names": np.array(["background"])}, {"pictures": np.array(["a"])}, {"truth.boxes": np.zeros((5, 3))}],
    )
    def test_columns_that_contradict_each_other(self, best: Path, tmp_path: Path, change: Any) -> None:
        with np.load(best / COMPARED_FILE) as file:
            np.savez(tmp_path / COMPARED_FILE, **{**file, **change})
        done = compare(best, tmp_path)
        assert (done.exit_code, done.stderr.count("\n")) == (1, 1), done.output


def test_nothing_is_overwritten(best: Path, voc: Path, tmp_path: Path) -> None:
    folder = evaluated(tmp_path / "x", voc, {})
    with pytest.raises(OutputError, match="exists already"):
        evaluated(folder, voc, ALL)


@pytest.mark.parametrize("name", [COMPARED_FILE, "detections.jsonl", "metrics.json"])
@pytest.mark.parametrize("as_folder", [True, False])
def test_its_inputs_stay(best: Path, voc: Path, tmp_path: Path, name: str, as_folder: bool) -> None:
    folder = evaluated(tmp_path / "x", voc, {})
    (folder / "metrics.json").touch()
    before = (folder / name).read_bytes()
    (tmp_path / "link").symlink_to(folder)
    given = folder if as_folder else folder / COMPARED_FILE
    for a, b in ((given, best), (best, given)):
        for target in (folder / name, tmp_path / "link" / name):
            done = compare(a, b, "--json", target, "--overwrite")
            assert (done.exit_code, done.stdout) == (1, "")
            assert done.stderr == f"Error: {target}: is the input itself; name another output\n"
    assert (folder / name).read_bytes() == before


def test_help() -> None:
    done = compare("--help")
    assert (done.exit_code, "more than chance" in done.stdout) == (0, True)
    assert " eval compare [OPTIONS] A B" in done.stdout
    assert " eval [OPTIONS] DATASET" in CliRunner().invoke(program, ["eval", "--help"]).stdout
