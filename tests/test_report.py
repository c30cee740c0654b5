"""The report: all that it must show, the same numbers everywhere, odd names, whole files, life without matplotlib."""

import csv
import io
import json
import math
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image, ImageColor

from ssd_detect import __version__, formats
from ssd_detect.conventions import Arithmetic
from ssd_detect.errors import MissingPackageError, OutputError, SettingError
from ssd_detect.evaluation.error_kinds import error_kinds
from ssd_detect.evaluation.evaluate import EvaluationSettings
from ssd_detect.evaluation.findings import ErrorKind
from ssd_detect.evaluation.results import COCO_NUMBERS
from ssd_detect.evaluation.tables import PredictionTable, TruthTable
from ssd_detect.reporting.details import FindingSettings
from ssd_detect.reporting.example_pictures import LONGEST_SIDE, draw_example, part_around
from ssd_detect.reporting.examples import MOST_EXAMPLES, Example, worst_false_alarms, worst_missed
from ssd_detect.reporting.markup import Html, element, join, number, to_html
from ssd_detect.reporting.numbers import write_numbers
from ssd_detect.reporting.plotting import BLUE, ORANGE
from ssd_detect.reporting.report import PICTURE_FILES, check_report, write_report
from tests.evaluation_tables import NAMES, data_sets, truth_table
from tests.report_cases import CASES, FACTS, ODD_NAMES, SIZE, Case, class_names, made_rows, make, random_case
from tests.report_page import ReadPage, read_page

CHARTS = ("precision-recall", "scores", "calibration", "errors", "confusion", "sizes")
SCHEMA = json.loads((Path(formats.__file__).parent / "schema" / "metrics.schema.json").read_text(encoding="utf-8"))
KINDS = ("hit", "class", "location", "both", "duplicate", "background", "ignored")


class Written:
    """A case, and what `write_report` made of it."""

    def __init__(self, case: Case, folder: Path) -> None:
        self.case, self.folder = case, folder
        write_report(case.result, case.details, folder, overwrite=False)
        self.html = (folder / "index.html").read_bytes()
        self.page: ReadPage = read_page(self.html)
        self.metrics: dict[str, Any] = json.loads((folder / "metrics.json").read_bytes(), parse_constant=refuse)
        with (folder / "per_class.csv").open(encoding="utf-8", newline="") as lines:
            self.csv = list(csv.DictReader(lines))


def refuse(constant: str) -> None:
    raise AssertionError(f"{constant} is no JSON")


def encodable(name: str) -> str:
    return name.encode("utf-8", "replace").decode().replace("\0", "?")


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Written]:
    @cache
    def write(name: str) -> Written:
        folder = tmp_path_factory.mktemp("report")
        return Written(CASES[name](folder / "pictures"), folder / "out")

    return write


@pytest.fixture(params=CASES)
def report(request: pytest.FixtureRequest, written: Callable[[str], Written]) -> Written:
    return written(request.param)


class TestPage:
    def test_every_chart_and_every_example_is_there_as_a_file_too(self, report: Written) -> None:
        pngs = {path.name: path.read_bytes() for path in report.folder.glob("*.png")}
        assert {f"{name}.png" for name in CHARTS} <= {*pngs} <= {*PICTURE_FILES}
        assert sorted(report.page.pngs) == sorted(pngs.values())

    def test_pictures_are_whole_and_as_sharp_as_a_fine_screen(self, report: Written) -> None:
        for name in CHARTS:
            content = (report.folder / f"{name}.png").read_bytes()
            attributes = report.page.images[report.page.pngs.index(content)]
            with Image.open(report.folder / f"{name}.png") as image:
                image.load()
                shown = 2 * int(attributes["width"]), 2 * int(attributes["height"])
                assert all(0 <= b - a <= 1 for a, b in zip(image.size, shown, strict=True))  # odd numbers of pixels
                assert image.width <= 2 * 1040

    def test_every_picture_is_told_in_words(self, report: Written) -> None:
        assert all(len(image["alt"]) > 20 for image in report.page.images)

    def test_every_section_has_a_link(self, report: Written) -> None:
        assert len(report.page.links) == 10
        assert {link.removeprefix("#") for link in report.page.links} <= {*report.page.ids}
        assert len({*report.page.ids}) == len(report.page.ids)

    def test_headers_of_tables_say_what_they_head(self, report: Written) -> None:
        assert {*report.page.scopes} == {"col", "row"}
        assert {*report.page.tables} == {
            "means", "classes", "errors", "confusions", "sizes", "calibration", "thresholds",
        }  # fmt: skip

    def test_needs_nothing_from_elsewhere(self, report: Written) -> None:
        assert all(image["src"].startswith("data:image/png;base64,") for image in report.page.images)
        assert not {"script", "link", "iframe", "object", "base"} & report.page.tags
        assert b"url(" not in report.html
        assert b"@import" not in report.html
        assert b"default-src &#x27;none&#x27;;" in report.html

    def test_tells_where_the_numbers_come_from(self, report: Written) -> None:
        for fact in (
            FACTS.dataset, "split test", "ssd_300_vgg", "ab" * 32, "score above 0.01", "suppression at IoU 0.45",
            "at most 400 candidates", "profile tutorial", "2026-03-04 05:06 UTC", __version__, FACTS.command,
            *report.case.result.notes,
        ):  # fmt: skip
            assert fact in report.page.text

    def test_says_when_there_are_no_examples(self, written: Callable[[str], Written]) -> None:
        assert written("nothing").page.text.count("None.") == 2
        assert written("no objects").page.text.count("None.") == 1
        assert written("20 classes").page.text.count("None.") == 0


class TestNumbers:
    """The page and the CSV file against metrics.json, and metrics.json against the evaluation."""

    def test_metrics_are_those_of_the_evaluation(self, report: Written) -> None:
        assert {name: report.metrics[name] for name in report.case.result.to_dict()} == report.case.result.to_dict()

    def test_means(self, report: Written) -> None:
        voc, coco = report.metrics["voc"], report.metrics["coco"]["numbers"]
        expected = [one["mean_ap"] for one in voc] + [coco[name] for name in COCO_NUMBERS]
        assert report.page.column("means", 1) == expected
        lows = [one["interval"] and one["interval"]["low"] for one in voc]
        assert report.page.column("means", 2)[:2] == lows
        assert report.page.tiles == [mean for mean in (*expected[:2], coco["AP"]) if mean is not None]

    def test_classes(self, report: Written) -> None:
        (voc07, voc10), coco = report.metrics["voc"], report.metrics["coco"]
        lists = (
            *([one[key] for one in voc07["classes"]] for key in ("num_objects", "num_difficult", "num_detections")),
            *([one["ap"] for one in voc["classes"]] for voc in (voc07, voc10)),
            *([one[key] for one in coco["classes"]] for key in ("ap", "ap50", "ap75", "ar100")),
        )
        for i, values in enumerate(lists, 1):
            assert report.page.column("classes", i) == values
        shown = report.page.tables["classes"][1:]
        assert [row[4].text == "n/a" for row in shown] == [one["ap"] is None for one in voc07["classes"]]

    def test_errors(self, report: Written) -> None:
        total = report.metrics["errors"]["total"]
        assert report.page.first_column("errors") == [*KINDS, "missed"]
        assert report.page.column("errors", 1) == [total[kind] for kind in (*KINDS, "missed")]

    def test_sizes(self, report: Written) -> None:
        sizes = report.metrics["sizes"]
        for i, size in enumerate(sizes, 1):
            assert report.page.column("sizes", i) == [size["num_objects"], size["mean_ap"], *size["classes"]]

    def test_calibration(self, report: Written) -> None:
        for i, key in enumerate(("count", "mean_score", "precision"), 1):
            assert report.page.column("calibration", i) == report.metrics["calibration"][key]

    def test_thresholds(self, report: Written) -> None:
        found = report.metrics["class_thresholds"]
        assert found["wanted_precision"] == 0.9
        for i, key in enumerate(("threshold", "precision", "recall"), 1):
            assert report.page.column("thresholds", i) == [one[key] for one in found["for_precision"]]
        for i, key in enumerate(("threshold", "f1"), 4):
            assert report.page.column("thresholds", i) == [one[key] for one in found["for_f1"]]

    def test_confusions(self, report: Written) -> None:
        counts = np.array(report.metrics["confusion"]["counts"])
        wrong = sorted(counts[~np.eye(len(counts), dtype=bool)], reverse=True)
        assert report.page.column("confusions", 2) == [n for n in wrong if n][:20]

    def test_per_class_file(self, report: Written) -> None:
        voc07, voc10 = report.metrics["voc"]
        columns = {
            "voc07_ap_0.5": [one["ap"] for one in voc07["classes"]],
            "voc10_ap_0.5": [one["ap"] for one in voc10["classes"]],
            "class_id": [one["class_id"] for one in voc07["classes"]],
            "objects": [one["num_objects"] for one in voc07["classes"]],
            "detections": [one["num_detections"] for one in voc07["classes"]],
            "coco_ar100": [one["ar100"] for one in report.metrics["coco"]["classes"]],
            "ap_medium": report.metrics["sizes"][1]["classes"],
            "threshold": [one["threshold"] for one in report.metrics["class_thresholds"]["for_precision"]],
            **{f"detections_{kind}": [one[kind] for one in report.metrics["errors"]["classes"]] for kind in KINDS},
            "objects_missed": [one["missed"] for one in report.metrics["errors"]["classes"]],
        }
        assert [row["class"] for row in report.csv] == [encodable(one["name"]) for one in voc07["classes"]]
        for name, values in columns.items():
            found = [None if row[name] == "" else float(row[name]) for row in report.csv]
            assert found == [None if value is None else pytest.approx(value, abs=1e-6) for value in values], name

    def test_voc_alone(self, tmp_path: Path) -> None:
        settings = EvaluationSettings(metrics=("voc10",), iou_thresholds=(0.5, 0.75), coco=False)
        written = Written(make(tmp_path, *made_rows(3, 4, 1), settings=settings), tmp_path / "out")
        assert written.page.first_column("means") == ["VOC10 AP at IoU\u00a00.5", "VOC10 AP at IoU\u00a00.75"]
        assert written.metrics["coco"] is None
        assert {"voc10_ap_0.5", "voc10_ap_0.75"} < {*written.csv[0]}
        assert "coco_ap" not in written.csv[0]

    def test_coco_alone(self, tmp_path: Path) -> None:
        settings = EvaluationSettings(metrics=(), coco=True)
        written = Written(make(tmp_path, *made_rows(3, 4, 1), settings=settings), tmp_path / "out")
        assert written.page.first_column("means") == [f"COCO {name}" for name in COCO_NUMBERS]
        assert [row["class"] for row in written.csv] == [*class_names(3)[1:]]

    def test_predictions_that_do_not_tell_their_checkpoint(self, tmp_path: Path) -> None:
        facts = replace(FACTS, provenance=None, predictions="old.jsonl", not_read=tuple(f"{n}.jpg" for n in range(25)))
        written = Written(make(tmp_path, [], [], facts=facts), tmp_path / "out")
        assert (written.metrics["checkpoint"], written.metrics["thresholds"]) == (None, None)
        assert written.metrics["predictions"] == "old.jsonl"
        assert len(written.metrics["not_read"]) == 25
        for text in ("old.jsonl", "25 pictures: 0.jpg, 1.jpg", "19.jpg and 5 more", "not told by the predictions"):
            assert text in written.page.text
        jsonschema.Draft202012Validator(SCHEMA).validate(written.metrics)

    def test_other_arithmetic_than_float32_is_told(self, tmp_path: Path) -> None:
        assert FACTS.provenance is not None
        facts = replace(FACTS, provenance=replace(FACTS.provenance, precision=Arithmetic.BF16))
        written = Written(make(tmp_path, [], [], facts=facts), tmp_path / "out")
        assert written.metrics["arithmetic"] == "bf16"
        assert "bf16" in written.page.text
        jsonschema.Draft202012Validator(SCHEMA).validate(written.metrics)


class TestSchema:
    validator = jsonschema.Draft202012Validator(SCHEMA)

    def test_is_a_schema(self) -> None:
        jsonschema.Draft202012Validator.check_schema(SCHEMA)
        assert SCHEMA["$id"] == "ssd-detect.metrics/1"

    def test_every_report_fits(self, report: Written) -> None:
        self.validator.validate(report.metrics)
        assert {*report.metrics} == {*SCHEMA["required"]} == {*SCHEMA["properties"]} - {"arithmetic"}
        assert report.metrics["schema"] == SCHEMA["$id"]

    @pytest.mark.parametrize(
        ("place", "value"),
        [
            (["schema"], "ssd-detect.metrics/2"),
            (["checkpoint", "sha256"], "AB" * 32),
            (["dataset", "name"], None),
            (["num_pictures"], -1),
            (["voc", 0, "metric"], "voc12"),
            (["voc", 0, "mean_ap"], 1.5),
            (["voc", 0, "classes", 0, "ap"], "0.5"),
            (["voc", 0, "interval", "low"], None),
            (["coco", "numbers", "AP50"], -1),
            (["errors", "total", "missed"], 0.5),
            (["confusion", "counts", 0, 0], -1),
            (["sizes", 0, "name"], "tiny"),
            (["class_thresholds", "for_f1", 0, "threshold"], 2),
            (["class_names"], []),
        ],
    )
    def test_refuses(self, written: Callable[[str], Written], place: list[Any], value: Any) -> None:
        metrics = json.loads(json.dumps(written("20 classes").metrics))
        *way, last = place
        inner = metrics
        for step in way:
            inner = inner[step]
        inner[last] = value
        with pytest.raises(jsonschema.ValidationError):
            self.validator.validate(metrics)


class TestOddNames:
    def test_stay_text(self, written: Callable[[str], Written]) -> None:
        page = written("odd names").page
        assert "script" not in page.tags
        assert not [name for name in page.attributes if name.startswith("on")]
        assert len(page.images) == len(page.pngs) == len(CHARTS) + 2 * MOST_EXAMPLES
        assert {name for name in ODD_NAMES if name.isprintable()} <= {*page.names}
        assert "a\ufffdb\nc\ufffd[31m" in page.names
        assert "\ufffd lone \ufffd" in page.names
        assert any(name.endswith("<i>&.png") for name in page.names)

    def test_are_kept_in_metrics(self, written: Callable[[str], Written]) -> None:
        assert tuple(written("odd names").metrics["class_names"][1:]) == ODD_NAMES

    def test_are_kept_in_csv_but_for_what_is_no_text(self, written: Callable[[str], Written]) -> None:
        found = [row["class"] for row in written("odd names").csv]
        assert found == [encodable(name) for name in ODD_NAMES]

    @given(st.text())
    def test_any_text_comes_back(self, name: str) -> None:
        kept = "".join(c for c in name if c.isprintable())
        page = read_page(element("table", element("tr", element("td", element("bdi", kept))), id=kept).encode())
        assert page.names == [kept]
        assert page.ids == [kept]

    def test_what_is_html_already_is_not_escaped_again(self) -> None:
        assert join(["<", Html("<b>"), "&"]) == "&lt;<b>&amp;"
        assert to_html("\x00\x7f\ud800\ufffe\t\n") == "\ufffd\ufffd\ufffd\ufffd\t\n"

    @pytest.mark.parametrize(
        ("value", "text"), [(None, "n/a"), (0.0, "0.000"), (1 / 3, "0.333"), (0.9996, "1.000"), (1234.5, "1,234.500")]
    )
    def test_numbers_are_rounded_to_be_read_and_whole_to_be_copied(self, value: float | None, text: str) -> None:
        shown = number(value)
        assert f">{text}<" in shown
        assert value is None or f'value="{value!r}"' in shown


class TestWholeFiles:
    def test_nothing_is_overwritten_by_itself(self, tmp_path: Path) -> None:
        case = make(tmp_path / "pictures", [], [])
        for name in ("metrics.json", "per_class.csv", "index.html", "scores.png", "missed-12.png"):
            folder = tmp_path / name
            folder.mkdir()
            (folder / name).write_text("mine")
            with pytest.raises(OutputError, match=f"{name}: exists already; .* --overwrite"):
                check_report(folder, overwrite=False)
            with pytest.raises(OutputError, match="exists already"):
                write_report(case.result, case.details, folder, overwrite=False)
            assert [path.name for path in folder.iterdir()] == [name]
            assert (folder / name).read_text() == "mine"

    def test_an_earlier_report_is_replaced_wholly(self, tmp_path: Path) -> None:
        many, none = random_case(tmp_path / "pictures", 3, 8), make(tmp_path / "pictures", [], [])
        folder = tmp_path / "out"
        write_report(many.result, many.details, folder, overwrite=False)
        (folder / "missed-99.png").write_text("mine")
        assert len([*folder.glob("missed-*.png"), *folder.glob("false-alarm-*.png")]) > 5
        check_report(folder, overwrite=True)
        write_report(none.result, none.details, folder, overwrite=True)
        assert {path.name for path in folder.iterdir()} == {
            "index.html", "metrics.json", "per_class.csv", "missed-99.png", *(f"{name}.png" for name in CHARTS),
        }  # fmt: skip

    def test_the_page_is_the_last_file(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        case = make(tmp_path / "pictures", [], [])
        monkeypatch.setattr(Path, "replace", lambda self, target: fail(target) if target.suffix == ".png" else None)
        with pytest.raises(OutputError, match=r"precision-recall\.png: cannot be written: no space"):
            write_report(case.result, case.details, tmp_path / "out", overwrite=False)
        assert list((tmp_path / "out").iterdir()) == []

    def test_a_file_in_the_place_of_the_folder(self, tmp_path: Path) -> None:
        (tmp_path / "out").write_text("mine")
        with pytest.raises(OutputError, match="is no folder"):
            check_report(tmp_path / "out", overwrite=True)


def fail(target: Path) -> None:
    raise OSError(28, "no space")


class TestMatplotlib:
    def test_its_absence_is_told_and_costs_the_page_only(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
        case = make(tmp_path / "pictures", [], [])
        told = r'matplotlib.*pip install "ssd-detect\[eval\]".*metrics.json and per_class.csv'
        with pytest.raises(MissingPackageError, match=told):
            check_report(tmp_path / "out", overwrite=False)
        with pytest.raises(MissingPackageError, match=told):
            write_report(case.result, case.details, tmp_path / "out", overwrite=False)
        assert {path.name for path in (tmp_path / "out").iterdir()} == {"metrics.json", "per_class.csv"}

    def test_numbers_need_it_not(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(sys.modules, "matplotlib", None)
        case = make(tmp_path / "pictures", [], [])
        write_numbers(case.result, case.details, tmp_path / "out", overwrite=False)
        assert {path.name for path in (tmp_path / "out").iterdir()} == {"metrics.json", "per_class.csv"}

    def test_is_loaded_on_use_and_pyplot_never(self) -> None:
        script = (
            "import sys, tempfile, pathlib; from ssd_detect.reporting.report import write_report; "
            "from tests.report_cases import make; assert 'matplotlib' not in sys.modules; "
            "folder = pathlib.Path(tempfile.mkdtemp()); case = make(folder, [], []); "
            "write_report(case.result, case.details, folder / 'out', overwrite=False); "
            "assert 'matplotlib' in sys.modules; assert 'matplotlib.pyplot' not in sys.modules; "
            "assert 'tensorflow' not in sys.modules"
        )
        root = Path(__file__).parent.parent
        subprocess.run([sys.executable, "-W", "error", "-c", script], check=True, cwd=root)

    def test_the_users_own_style_is_neither_used_nor_changed(
        self, tmp_path: Path, written: Callable[[str], Written]
    ) -> None:
        import matplotlib
        from matplotlib import style

        usual = written("nothing")
        with style.context(["dark_background", {"font.size": 30}]):
            before = dict(matplotlib.rcParams)
            dark = Written(usual.case, tmp_path / "out")
            assert dict(matplotlib.rcParams) == before
        assert dark.page.pngs == usual.page.pngs

    def test_the_same_report_twice_is_the_same(self, tmp_path: Path, written: Callable[[str], Written]) -> None:
        first = written("one class, one picture")
        assert Written(first.case, tmp_path / "out").html == first.html


class TestExamples:
    @given(data_sets())
    def test_are_the_worst_and_come_from_many_pictures(self, tables: tuple[TruthTable, PredictionTable]) -> None:
        truth, predictions = tables
        errors = error_kinds(truth, predictions, NAMES, score_threshold=0.2)
        alarms, missed = worst_false_alarms(predictions, errors), worst_missed(truth, errors)
        bad = [row for row, kind in enumerate(errors.kind) if kind > 0 and kind != ErrorKind.IGNORED]
        check_choice(alarms, bad, predictions.picture, predictions.score)
        check_choice(missed, np.flatnonzero(errors.missed).tolist(), truth.picture, truth.area)
        assert [one.kind for one in alarms] == [errors.kind[one.row] for one in alarms]
        assert {one.kind for one in missed} <= {None}

    def test_a_picture_comes_twice_only_after_all_others(self) -> None:
        scores = np.linspace(0.99, 0.6, 15)
        picture = np.array([0] * 13 + [1, 2])
        predictions = PredictionTable(picture, np.ones(15, np.int64), np.tile([0.0, 0, 9, 9], (15, 1)), scores, 3)
        truth = truth_table([], 3)
        chosen = worst_false_alarms(predictions, error_kinds(truth, predictions, NAMES))
        assert [one.row for one in chosen] == [*range(10), 13, 14]

    def test_a_picture_that_has_gone_is_said_to_be(self, tmp_path: Path) -> None:
        case = random_case(tmp_path / "pictures", 3, 4)
        case.details.pictures[0].path.write_bytes(b"no picture")
        written = Written(case, tmp_path / "out")
        assert written.page.text.count("The picture cannot be read.") > 0
        assert len(list((tmp_path / "out").glob("missed-*.png"))) > 0

    @pytest.mark.parametrize("missed", [False, True])
    def test_the_box_in_question_is_drawn_in_its_colour(self, tmp_path: Path, missed: bool) -> None:
        box = (40.0, 30.0, 120.0, 110.0)
        case = make(tmp_path, [(0, 1, box)] if missed else [], [] if missed else [(0, 1, box, 0.9)], num_pictures=1)
        png, size = draw_example(Example(0, 0, None if missed else ErrorKind.BACKGROUND), case.details, 0.5)
        with Image.open(io.BytesIO(png)) as image:
            pixels = np.asarray(image.convert("RGB"))
        assert max(size) == LONGEST_SIDE
        assert pixels.shape == (size[1], size[0], 3)
        scale = LONGEST_SIDE / SIZE[0]  # three times the box is more than the picture, so that all of it is shown
        ys, xs = np.nonzero((pixels == ImageColor.getrgb(BLUE if missed else ORANGE)).all(axis=2))
        found = [xs.min(), ys.min(), xs.max() + 1, ys.max() + 1]
        assert found == pytest.approx([scale * v for v in box], abs=3)

    @pytest.mark.parametrize("size", [(1, 1), (2000, 1), (1, 900)])
    def test_pictures_of_odd_shape(self, tmp_path: Path, size: tuple[int, int]) -> None:
        details = make(tmp_path, [], [(0, 1, (0.0, 0.0, float(size[0]), float(size[1])), 0.9)], num_pictures=1).details
        Image.new("RGB", size).save(details.pictures[0].path)
        details = replace(details, pictures=[replace(details.pictures[0], size=size)])
        png, shown = draw_example(Example(0, 0, ErrorKind.BACKGROUND), details, 0.5)
        with Image.open(io.BytesIO(png)) as image:
            assert image.size == shown
        assert max(shown) == LONGEST_SIDE

    @given(
        st.tuples(st.integers(1, 2000), st.integers(1, 2000)),
        st.tuples(*[st.floats(0, 1) for _ in range(4)]),
    )
    def test_the_part_shown_has_the_box_in_it_and_lies_in_the_picture(
        self, size: tuple[int, int], shares: tuple[float, float, float, float]
    ) -> None:
        (x0, x1), (y0, y1) = sorted(shares[:2]), sorted(shares[2:])
        box = np.array([x0, y0, x1, y1]) * np.tile(size, 2)
        left, top, right, bottom = part_around(box, size)
        tiny = 1e-6 * max(size)
        assert 0 <= left < right <= size[0] + tiny
        assert 0 <= top < bottom <= size[1] + tiny
        assert (np.array([left, top]) <= box[:2] + tiny).all()
        assert (np.array([right, bottom]) >= box[2:] - tiny).all()


def check_choice(chosen: list[Example], rows: list[int], picture: Any, weight: Any) -> None:
    """As many as there may be, no other rows, the worst first; every picture is there that has one."""
    assert len(chosen) == min(len(rows), MOST_EXAMPLES)
    assert {one.row for one in chosen} <= {*rows}
    assert [one.picture for one in chosen] == [picture[one.row] for one in chosen]
    weights = [weight[one.row] for one in chosen]
    assert weights == sorted(weights, reverse=True)
    assert {one.picture for one in chosen} == {*picture[rows].tolist()}


class TestDetails:
    @pytest.mark.parametrize(
        ("field", "value"),
        [
            ("score_threshold", -0.1), ("score_threshold", 1.1), ("score_threshold", math.nan),
            ("iou_threshold", 0.0), ("iou_threshold", math.inf), ("precision", 0.0), ("precision", 1.01),
        ],
    )  # fmt: skip
    def test_settings_out_of_range(self, field: str, value: float) -> None:
        with pytest.raises(SettingError, match=f"{field} is "):
            FindingSettings(**{field: value})

    def test_settings_decide(self, tmp_path: Path) -> None:
        case = random_case(tmp_path, 3, 8)
        details = replace(case.details, settings=FindingSettings(0.1, 0.3, 0.5))
        write_numbers(case.result, details, tmp_path / "out", overwrite=False)
        metrics = json.loads((tmp_path / "out" / "metrics.json").read_bytes())
        for name in ("errors", "confusion"):
            assert (metrics[name]["score_threshold"], metrics[name]["iou_threshold"]) == (0.1, 0.3)
        assert metrics["class_thresholds"]["wanted_precision"] == 0.5
        expected = error_kinds(
            details.truth, details.predictions, details.class_names, score_threshold=0.1, iou_threshold=0.3
        )
        assert metrics["errors"] == expected.to_dict()

    def test_another_number_of_pictures(self, tmp_path: Path) -> None:
        details = make(tmp_path, [], []).details
        with pytest.raises(ValueError, match=r"expected one number of pictures, found \[3, 4\]"):
            replace(details, pictures=details.pictures[:3])
