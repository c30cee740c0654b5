"""Output formats: exact files, there and back, other people's readers, refusals, damage."""

import csv
import json
import math
import os
import resource
import subprocess
import sys
import tempfile
import tracemalloc
import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from io import StringIO
from pathlib import Path, PurePosixPath
from typing import Any

import jsonschema
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pycocotools.coco import COCO  # type: ignore[import-untyped]
from pycocotools.cocoeval import COCOeval  # type: ignore[import-untyped]

from ssd_detect import __version__, formats
from ssd_detect.boxes.profiles import resolved
from ssd_detect.classes import COCO80, COCO91, VOC20
from ssd_detect.conventions import Arithmetic, Profile
from ssd_detect.detections import Detections
from ssd_detect.errors import FormatError, OutputError, SettingError
from ssd_detect.formats.coco import coco_category_ids
from ssd_detect.formats.coco_images import check_coco_images
from ssd_detect.formats.jsonl import (
    JsonLinesStream,
    open_json_lines,
    read_json_lines_file,
    record_from_dict,
    record_to_dict,
)
from ssd_detect.formats.names import READERS, WRITERS
from ssd_detect.formats.provenance import Provenance
from ssd_detect.formats.reading import ReadRecord, ReadSettings
from ssd_detect.formats.record import OutputSettings, PictureRecord
from ssd_detect.formats.rounding import rounded_rows
from ssd_detect.formats.voc import VocObject, parse_voc
from ssd_detect.settings import DetectionSettings

PROVENANCE = Provenance("ssd_300_vgg_voc", "ab" * 32, resolved(DetectionSettings(), Profile.CAFFE))
INFO = {
    "tool": {"name": "ssd-detect", "version": __version__},
    "checkpoint": {"name": "ssd_300_vgg_voc", "sha256": "ab" * 32},
    "thresholds": {
        "profile": "caffe",
        "score": 0.5,
        "nms": 0.45,
        "top_k": 400,
        "max_detections": 200,
        "class_agnostic": False,
    },
}
SHARED = {"jsonl": "detections.jsonl", "csv": "detections.csv", "coco": "detections.coco.json", "yolo": "classes.txt"}
OWN = {"json": ".json", "voc": ".xml", "yolo": ".txt"}

Rows = Sequence[tuple[int, float, tuple[float, float, float, float]]]


def detections(size: tuple[int, int], rows: Rows = (), class_names: Sequence[str] = VOC20) -> Detections:
    """From (class id, score, box) rows."""
    return Detections(
        boxes=np.array([box for _, _, box in rows], np.float32).reshape(-1, 4),
        scores=np.array([score for _, score, _ in rows], np.float32),
        class_ids=np.array([class_id for class_id, _, _ in rows], np.int64),
        size=size,
        class_names=tuple(class_names),
    )


def record(key: str, found: Detections, file: str | None = None, sha256: str | None = None) -> PictureRecord:
    return PictureRecord(f"{key}.jpg" if file is None else file, PurePosixPath(key), found, sha256)


NOTHING = record("in/empty", detections((640, 424)))
TWO = record(
    "in/two",
    detections((640, 424), [(15, 0.98, (10.5, 20.0, 110.0625, 220.25)), (12, 0.6, (0.0, 0.0, 640.0, 424.0))]),
    sha256="cd" * 32,
)


def write(
    name: str,
    folder: Path,
    records: Sequence[PictureRecord],
    class_names: tuple[str, ...] | None = None,
    provenance: Provenance = PROVENANCE,
    overwrite: bool = False,
    coco_images: Path | None = None,
) -> None:
    names = class_names or (records[0].detections.class_names if records else VOC20)
    with WRITERS[name](OutputSettings(folder, names, provenance, overwrite, coco_images)) as writer:
        for one in records:
            writer.append(one)


def read(name: str, folder: Path, records: Sequence[PictureRecord], **chosen: Any) -> list[ReadRecord]:
    """What stands in `folder`, where `records` were written."""
    sizes = {one.key: one.detections.size for one in records}
    class_names = records[0].detections.class_names if records else VOC20
    return list(READERS[name](ReadSettings(folder, class_names, sizes.__getitem__, **chosen)))


def contents(folder: Path) -> dict[str, bytes]:
    """All files below `folder`, hidden ones too."""
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def strict_json(content: bytes | str) -> Any:
    def refuse(constant: str) -> None:
        raise AssertionError(f"{constant} is not JSON")

    return json.loads(content, parse_constant=refuse)


EMPTY_JSON = {
    "schema": "ssd-detect.detections/1",
    "file": "in/empty.jpg",
    "width": 640,
    "height": 424,
    "detections": [],
    **INFO,
}
TWO_JSON = {
    "schema": "ssd-detect.detections/1", "file": "in/two.jpg", "sha256": "cd" * 32, "width": 640, "height": 424,
    "detections": [
        {"class": "person", "class_id": 15, "score": 0.98, "box": [10.5, 20.0, 110.062, 220.25]},
        {"class": "dog", "class_id": 12, "score": 0.6, "box": [0.0, 0.0, 640.0, 424.0]},
    ], **INFO,
}  # fmt: skip
HEADER = "file,width,height,class,class_id,score,x0,y0,x1,y1\n"
EMPTY_ROW = "in/empty.jpg,640,424,,,,,,,\n"
TWO_ROWS = (
    "in/two.jpg,640,424,person,15,0.980000,10.500,20.000,110.062,220.250\n"
    "in/two.jpg,640,424,dog,12,0.600000,0.000,0.000,640.000,424.000\n"
)
VOC_HEAD = """<?xml version='1.0' encoding='utf-8'?>
<annotation>
  <folder>in</folder>
  <filename>NAME.jpg</filename>
  <path>in/NAME.jpg</path>
  <source>
    <database>ssd-detect</database>
  </source>
  <size>
    <width>640</width>
    <height>424</height>
    <depth>3</depth>
  </size>
  <segmented>0</segmented>
"""
VOC_OBJECT = """  <object>
    <name>{}</name>
    <pose>Unspecified</pose>
    <truncated>{}</truncated>
    <difficult>0</difficult>
    <bndbox>
      <xmin>{}</xmin>
      <ymin>{}</ymin>
      <xmax>{}</xmax>
      <ymax>{}</ymax>
    </bndbox>
    <score>{}</score>
  </object>
"""
CLASSES = "".join(f"{name}\n" for name in VOC20[1:])


class TestExactFiles:
    @pytest.mark.parametrize(
        ("records", "expected"),
        [
            ([], HEADER),
            ([NOTHING], HEADER + EMPTY_ROW),
            ([NOTHING, TWO], HEADER + EMPTY_ROW + TWO_ROWS),
        ],
    )
    def test_csv(self, tmp_path: Path, records: list[PictureRecord], expected: str) -> None:
        write("csv", tmp_path, records)
        assert contents(tmp_path) == {"detections.csv": expected.encode()}

    @pytest.mark.parametrize(
        ("records", "expected"),
        [([], []), ([NOTHING], [EMPTY_JSON]), ([TWO, NOTHING], [TWO_JSON, EMPTY_JSON])],
    )
    def test_json_lines(self, tmp_path: Path, records: list[PictureRecord], expected: list[Any]) -> None:
        write("jsonl", tmp_path, records)
        text = contents(tmp_path)["detections.jsonl"].decode()
        assert text == "".join(json.dumps(value) + "\n" for value in expected)

    @pytest.mark.parametrize(
        ("records", "expected"),
        [
            ([], {}),
            ([NOTHING], {"in/empty.json": EMPTY_JSON}),
            ([TWO, NOTHING], {"in/two.json": TWO_JSON, "in/empty.json": EMPTY_JSON}),
        ],
    )
    def test_json(self, tmp_path: Path, records: list[PictureRecord], expected: dict[str, Any]) -> None:
        write("json", tmp_path, records)
        assert contents(tmp_path) == {
            name: (json.dumps(value, indent=2) + "\n").encode() for name, value in expected.items()
        }

    @pytest.mark.parametrize(
        ("records", "expected"),
        [
            ([], {"classes.txt": CLASSES}),
            ([NOTHING], {"classes.txt": CLASSES, "in/empty.txt": ""}),
            (
                [TWO],
                {
                    "classes.txt": CLASSES,
                    "in/two.txt": "14 0.094189 0.283314 0.155566 0.472288 0.980000\n"
                    "11 0.500000 0.500000 1.000000 1.000000 0.600000\n",
                },
            ),
        ],
    )
    def test_yolo(self, tmp_path: Path, records: list[PictureRecord], expected: dict[str, str]) -> None:
        write("yolo", tmp_path, records)
        assert contents(tmp_path) == {name: text.encode() for name, text in expected.items()}

    @pytest.mark.parametrize(
        ("records", "expected"),
        [
            ([], {}),
            ([NOTHING], {"in/empty.xml": VOC_HEAD.replace("NAME", "empty") + "</annotation>\n"}),
            (
                [TWO],
                {
                    "in/two.xml": VOC_HEAD.replace("NAME", "two")
                    + VOC_OBJECT.format("person", 0, 11, 21, 111, 221, "0.980000")
                    + VOC_OBJECT.format("dog", 1, 1, 1, 640, 424, "0.600000")
                    + "</annotation>\n"
                },
            ),
        ],
    )
    def test_voc(self, tmp_path: Path, records: list[PictureRecord], expected: dict[str, str]) -> None:
        write("voc", tmp_path, records)
        assert contents(tmp_path) == {name: text.encode() for name, text in expected.items()}

    @pytest.mark.parametrize(
        ("records", "pictures", "annotations"),
        [
            ([], [], []),
            ([NOTHING], [{"id": 1, "file_name": "in/empty.jpg", "width": 640, "height": 424}], []),
            (
                [NOTHING, TWO],
                [
                    {"id": 1, "file_name": "in/empty.jpg", "width": 640, "height": 424},
                    {"id": 2, "file_name": "in/two.jpg", "width": 640, "height": 424, "sha256": "cd" * 32},
                ],
                [
                    {
                        "id": 1, "image_id": 2, "category_id": 15, "bbox": [10.5, 20.0, 99.562, 200.25],
                        "score": 0.98, "area": 19937.2905, "iscrowd": 0,
                    },
                    {
                        "id": 2, "image_id": 2, "category_id": 12, "bbox": [0.0, 0.0, 640.0, 424.0],
                        "score": 0.6, "area": 271360.0, "iscrowd": 0,
                    },
                ],
            ),
        ],
    )  # fmt: skip
    def test_coco(self, tmp_path: Path, records: list[PictureRecord], pictures: Any, annotations: Any) -> None:
        write("coco", tmp_path, records)
        (content,) = contents(tmp_path).values()
        assert strict_json(content) == {
            "info": {"description": "Detections of ssd-detect", **INFO},
            "categories": [{"id": i, "name": name} for i, name in enumerate(VOC20) if i],
            "annotations": annotations,
            "images": pictures,
        }


text = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=8)
awkward = st.sampled_from(
    ['a"b', "a,b", "a\nb", "a\rb", "\r\n", "<&>", "]]>", "été", "猫", " ", "bytes:x", "'", "\x01"]
)
files = st.binary(min_size=1, max_size=12).filter(lambda name: b"\0" not in name).map(os.fsdecode)
awkward_files = st.sampled_from(["bytes:a.jpg", "-", "http://a/b.jpg?c=1", "a\rb", "\x01", "a b/ü.png", ' "q",.jpg'])


@st.composite
def sides(draw: st.DrawFn, length: int) -> tuple[float, float]:
    """Two ends in 0 to `length`; near ones are frequent."""
    low = draw(st.floats(0, length, width=32))
    near = [float(np.nextafter(np.float32(low), np.float32(length))), min(low + 0.001, length), length]
    high = draw(st.one_of(st.floats(0, length, width=32), st.sampled_from(near)))
    low, high = float(np.float32(min(low, high))), float(np.float32(max(low, high)))
    return (low, high) if low < high else (0.0, float(length))


@st.composite
def runs(draw: st.DrawFn) -> list[PictureRecord]:
    """Records of one run: one class list, each picture once."""
    names = draw(st.lists(st.one_of(text, awkward), min_size=1, max_size=5, unique_by=as_xml))
    class_names = ("background", *(name for name in names if name != "background"), "last")
    found = []
    for number, file in enumerate(draw(st.lists(st.one_of(files, awkward_files), max_size=4, unique=True))):
        size = draw(st.tuples(st.integers(1, 20_000), st.integers(1, 20_000)))
        rows = []
        for _ in range(draw(st.integers(0, 4))):
            (x0, x1), (y0, y1) = draw(sides(size[0])), draw(sides(size[1]))
            class_id = draw(st.integers(1, len(class_names) - 1))
            rows.append((class_id, draw(st.floats(0, 1, width=32)), (x0, y0, x1, y1)))
        sha256 = draw(st.sampled_from([None, "ef" * 32]))
        found.append(record(f"{number % 2}/{number}", detections(size, rows, class_names), file, sha256))
    return found


def as_xml(name: str) -> str:
    """A class name as it comes out of an XML file, where some characters cannot stand."""
    kept = "".join(c if c in "\t\n\r" or 0x20 <= ord(c) < 0xFFFE or ord(c) > 0xFFFF else "\ufffd" for c in name)
    return kept.replace("\r\n", "\n").replace("\r", "\n")


@contextmanager
def scratch() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as folder:
        yield Path(folder)


def sorted_by_key(records: Sequence[PictureRecord]) -> list[PictureRecord]:
    return sorted(records, key=lambda one: one.key)


quick = settings(deadline=None, max_examples=50)


class TestThereAndBack:
    @pytest.mark.parametrize("name", ["jsonl", "json", "csv", "coco"])
    @quick
    @given(records=runs())
    def test_to_the_stated_precision(self, name: str, records: list[PictureRecord]) -> None:
        with scratch() as folder:
            write(name, folder, records)
            back = read(name, folder, records)
        expected = sorted_by_key(records) if name == "json" else records
        assert [one.file for one in back] == [one.file for one in expected]
        assert [one.sha256 for one in back] == [None if name == "csv" else one.sha256 for one in expected]
        if name == "json":
            assert [one.key for one in back] == [one.key for one in expected]
        for one, other in zip(back, expected, strict=True):
            assert_same(one.detections, other.detections, box_tolerance=0.0005)

    @quick
    @given(records=runs())
    def test_voc_to_whole_pixels(self, records: list[PictureRecord]) -> None:
        with scratch() as folder:
            write("voc", folder, records)
            back = read("voc", folder, records)
        for one, other in zip(back, sorted_by_key(records), strict=True):
            assert (one.file, one.key, one.warnings) == (other.file, other.key, ())
            rounded = np.array([row.box for row in rounded_rows(other.detections)]).reshape(-1, 4)
            np.testing.assert_array_equal(one.detections.boxes[:, :2], np.floor(rounded[:, :2]))
            np.testing.assert_array_equal(one.detections.boxes[:, 2:], np.ceil(rounded[:, 2:]))
            assert_same(one.detections, other.detections, box_tolerance=1.0005)

    @quick
    @given(records=runs())
    def test_yolo_to_a_millionth_of_the_side(self, records: list[PictureRecord]) -> None:
        with scratch() as folder:
            write("yolo", folder, records)
            back = read("yolo", folder, records)
        for one, other in zip(back, sorted_by_key(records), strict=True):
            assert (one.file, one.key) == (str(other.key), other.key)
            assert_same(one.detections, other.detections, box_tolerance=0.0005 + 1.5e-6 * max(other.detections.size))

    @pytest.mark.parametrize("name", ["jsonl", "json", "csv", "coco", "voc"])
    @quick
    @given(records=runs())
    def test_read_and_written_again_is_the_same_file(self, name: str, records: list[PictureRecord]) -> None:
        keys = {one.file: one.key for one in records}
        with scratch() as first, scratch() as second:
            write(name, first, records)
            back = [PictureRecord(r.file, keys[r.file], r.detections, r.sha256) for r in read(name, first, records)]
            write(name, second, back)
            assert contents(second) == contents(first)

    @quick
    @given(records=runs())
    def test_a_record_from_its_dictionary_writes_the_same_files(self, records: list[PictureRecord]) -> None:
        """So that a resumed run, which takes finished pictures from its journal, ends like an uninterrupted one."""
        again = []
        for one in records:
            values = strict_json(json.dumps(record_to_dict(one)))
            again.append(record_from_dict(values, one.detections.class_names, one.key))
        with scratch() as first, scratch() as second:
            for folder, written in ((first, records), (second, again)):
                for name in WRITERS:
                    write(name, folder, written)
            assert contents(second) == contents(first)

    @pytest.mark.parametrize("name", WRITERS)
    def test_all_formats_in_one_folder(self, tmp_path: Path, name: str) -> None:
        for each in WRITERS:
            write(each, tmp_path, [NOTHING, TWO])
        back = read(name, tmp_path, [NOTHING, TWO])
        assert [len(one.detections) for one in back] == [0, 2]

    @pytest.mark.parametrize("name", OWN)
    def test_what_a_killed_run_left_is_no_result(self, tmp_path: Path, name: str) -> None:
        write(name, tmp_path, [TWO])
        (tmp_path / "in" / f".two.0123abcd{OWN[name]}").write_text("ha")
        assert [one.key for one in read(name, tmp_path, [TWO])] == [TWO.key]


def assert_same(one: Detections, other: Detections, *, box_tolerance: float) -> None:
    assert (one.size, one.class_names) == (other.size, other.class_names)
    np.testing.assert_array_equal(one.class_ids, other.class_ids)
    np.testing.assert_allclose(one.scores, other.scores, rtol=0, atol=0.6e-6)
    thin = (other.boxes[:, 2:] - other.boxes[:, :2]).min(axis=1, initial=np.inf) < 0.001  # may have been widened
    bound = box_tolerance + 0.001 * thin[:, np.newaxis] + 1.2e-7 * other.boxes  # and what float32 cannot hold
    assert (np.abs(one.boxes.astype(np.float64) - other.boxes) <= bound).all()


class TestNumbers:
    @quick
    @given(records=runs())
    def test_rounded_boxes_have_an_area_inside_the_picture(self, records: list[PictureRecord]) -> None:
        for one in records:
            for row in rounded_rows(one.detections):
                x0, y0, x1, y1 = row.box
                assert 0 <= x0 < x1 <= one.detections.size[0]
                assert 0 <= y0 < y1 <= one.detections.size[1]
                assert [round(v, 3) for v in row.box] == list(row.box)
                assert round(row.score, 6) == row.score

    @pytest.mark.parametrize(
        ("box", "expected"),
        [
            ((1.0001, 2.0, 1.0002, 3.0), (1.0, 2.0, 1.001, 3.0)),
            ((9.9999, 2.0, 10.0, 3.0), (9.999, 2.0, 10.0, 3.0)),
            ((-0.0, 2.0, 5.0, 3.0), (0.0, 2.0, 5.0, 3.0)),
        ],
    )
    def test_thin_boxes(self, box: tuple[float, float, float, float], expected: tuple[float, ...]) -> None:
        (row,) = rounded_rows(detections((10, 10), [(1, 1.0, box)]))
        assert row.box == expected
        assert math.copysign(1, row.box[0]) == 1

    def test_small_scores_are_plain_decimals_in_tables(self, tmp_path: Path) -> None:
        found = record("a", detections((10, 10), [(1, 1e-6, (1, 1, 2, 2))]))
        write("csv", tmp_path, [found])
        assert ",0.000001," in (tmp_path / "detections.csv").read_text()

    @pytest.mark.parametrize("name", WRITERS)
    def test_no_nan_from_settings(self, tmp_path: Path, name: str) -> None:
        broken = DetectionSettings()
        object.__setattr__(broken, "score_threshold", math.nan)
        run = OutputSettings(tmp_path, VOC20, replace(PROVENANCE, settings=broken))
        if name in ("csv", "voc", "yolo"):  # these hold no thresholds
            with WRITERS[name](run) as writer:
                writer.append(TWO)
            return
        with pytest.raises(ValueError, match="not JSON compliant"), WRITERS[name](run) as writer:
            writer.append(TWO)
        assert contents(tmp_path) == {}


class TestSchema:
    schema = json.loads((Path(formats.__file__).parent / "schema" / "detections.schema.json").read_text())
    validator = jsonschema.Draft202012Validator(schema)

    def test_is_a_schema(self) -> None:
        jsonschema.Draft202012Validator.check_schema(self.schema)
        assert self.schema["$id"] == EMPTY_JSON["schema"]

    @pytest.mark.parametrize("profile", Profile)
    @pytest.mark.parametrize("name", ["detections", "frames", "video-summary"])
    def test_thresholds_of_every_profile_fit(self, name: str, profile: Profile) -> None:
        whole = json.loads((Path(formats.__file__).parent / "schema" / f"{name}.schema.json").read_text())
        schema = (whole["$defs"] if name == "frames" else whole["properties"])["thresholds"]
        run = replace(PROVENANCE, settings=resolved(DetectionSettings(class_thresholds=(("dog", 0.7),)), profile))
        thresholds = strict_json(json.dumps(run.to_dict()["thresholds"]))
        jsonschema.Draft202012Validator(schema).validate(thresholds)
        assert {*thresholds} == {*schema["properties"]}

    @pytest.mark.parametrize("name", ["detections", "frames", "video-summary", "explanation", "metrics"])
    def test_every_arithmetic_fits(self, name: str) -> None:
        whole = json.loads((Path(formats.__file__).parent / "schema" / f"{name}.schema.json").read_text())
        schema = (whole["$defs"] if name == "frames" else whole["properties"])["arithmetic"]
        assert "arithmetic" not in PROVENANCE.to_dict()  # float32
        told = {replace(PROVENANCE, precision=one).to_dict().get("arithmetic") for one in Arithmetic}
        assert told == {None, *schema["enum"]}

    @quick
    @given(records=runs())
    def test_every_line_and_every_file_fits(self, records: list[PictureRecord]) -> None:
        with scratch() as folder:
            write("jsonl", folder, records)
            write("json", folder, records)
            lines = (folder / "detections.jsonl").read_text().splitlines()
            values = [strict_json(p.read_bytes()) for p in folder.glob("*/*.json")]
        assert len(lines) == len(values) == len(records)
        for value in [*map(strict_json, lines), *values]:
            self.validator.validate(value)
            assert {*value} - {"sha256"} == {*self.schema["required"]}

    @pytest.mark.parametrize(
        ("place", "value"),
        [
            (["schema"], "ssd-detect.detections/2"),
            (["file"], None),
            (["width"], 0),
            (["height"], 1.5),
            (["sha256"], "xyz"),
            (["tool", "version"], ""),
            (["checkpoint", "sha256"], "AB" * 32),
            (["thresholds", "score"], 2),
            (["detections", 0, "class_id"], 0),
            (["detections", 0, "score"], -0.1),
            (["detections", 0, "box"], [1, 2, 3]),
            (["detections", 0, "box"], [-1, 2, 3, 4]),
        ],
    )
    def test_what_does_not_fit(self, place: list[Any], value: Any) -> None:
        broken = json.loads(json.dumps(TWO_JSON))
        self.validator.validate(broken)
        inner = broken
        for step in place[:-1]:
            inner = inner[step]
        inner[place[-1]] = value
        assert not self.validator.is_valid(broken)


class TestJsonLines:
    def test_to_a_stream_that_stays_open(self) -> None:
        stream = StringIO()
        writer = JsonLinesStream(stream, PROVENANCE)
        writer.append(NOTHING)
        assert strict_json(stream.getvalue()) == EMPTY_JSON
        writer.append(TWO)
        assert [strict_json(line) for line in stream.getvalue().splitlines()] == [EMPTY_JSON, TWO_JSON]

    def test_to_any_file(self, tmp_path: Path) -> None:
        path = tmp_path / "new" / "found.jsonl"
        with open_json_lines(path, PROVENANCE, overwrite=False) as writer:
            writer.append(TWO)
            assert not path.exists()
        assert [len(one.detections) for one in read_json_lines_file(path, VOC20)] == [2]

    def test_unknown_members_are_passed_over(self, tmp_path: Path) -> None:
        path = tmp_path / "a.jsonl"
        path.write_text(json.dumps({**TWO_JSON, "later": [1]}) + "\n")
        (back,) = read_json_lines_file(path, VOC20)
        assert back.file == "in/two.jpg"

    @pytest.mark.parametrize(
        ("change", "message"),
        [
            ({"file": None}, "'file' is null, expected a string"),
            ({"width": 0}, "the picture's size is 0x424"),
            ({"width": True}, "'width' is true, expected a whole number"),
            ({"detections": {}}, "'detections' is an object, expected a list"),
            ({"detections": ["a"]}, "found a string, expected an object"),
        ],
    )
    def test_damaged_values(self, change: dict[str, Any], message: str) -> None:
        with pytest.raises(FormatError, match=f"^the results of a/b: .*{message}"):
            record_from_dict(TWO_JSON | change, VOC20, PurePosixPath("a/b"))


class TestFileNames:
    name = os.fsdecode(b'in/caf\xe9 \x01,".jpg')

    @pytest.mark.parametrize("form", WRITERS)
    def test_bytes_that_are_no_utf8(self, tmp_path: Path, form: str) -> None:
        found = PictureRecord(self.name, PurePosixPath(self.name.removesuffix(".jpg")), TWO.detections)
        write(form, tmp_path, [found])
        for content in contents(tmp_path).values():
            content.decode("utf-8")
        (back,) = read(form, tmp_path, [found])
        assert back.file == (str(found.key) if form == "yolo" else self.name)
        if form in OWN:
            assert back.key == found.key
            assert (os.fsencode(tmp_path) + b'/in/caf\xe9 \x01,"' + OWN[form].encode()) in [
                os.fsencode(p) for p in (tmp_path / "in").iterdir()
            ]

    @pytest.mark.parametrize(
        ("file", "in_csv", "in_xml"),
        [
            ("a.jpg", "a.jpg", "a.jpg"),
            ("é %41.jpg", "é %41.jpg", "é %41.jpg"),
            (os.fsdecode(b"d/\xe9.jpg"), "bytes:d/%E9.jpg", "bytes:d/%E9.jpg"),
            ("bytes:x", "bytes:bytes%3Ax", "bytes:bytes%3Ax"),
            ("\x01", "\x01", "bytes:%01"),
            ("a\rb", "a\rb", "bytes:a%0Db"),
        ],
    )
    def test_as_stated(self, tmp_path: Path, file: str, in_csv: str, in_xml: str) -> None:
        for form in ("csv", "voc"):
            write(form, tmp_path, [record("k", TWO.detections, file)])
        with (tmp_path / "detections.csv").open(newline="", encoding="utf-8") as lines:
            assert {row["file"] for row in csv.DictReader(lines)} == {in_csv}
        assert ET.parse(tmp_path / "k.xml").findtext("path") == in_xml

    @pytest.mark.parametrize("key", ["a.b", ".hidden", "x/a.tar", "A"])
    def test_keys_keep_their_dots(self, tmp_path: Path, key: str) -> None:
        for form, suffix in OWN.items():
            write(form, tmp_path, [record(key, TWO.detections)], overwrite=True)
            assert (tmp_path / f"{key}{suffix}").is_file()


class TestRefusals:
    @pytest.mark.parametrize("name", WRITERS)
    def test_targets_are_what_is_written(self, tmp_path: Path, name: str) -> None:
        writer = WRITERS[name](OutputSettings(tmp_path, VOC20, PROVENANCE))
        write(name, tmp_path, [NOTHING, TWO])
        told = writer.shared_targets() + writer.own_targets(NOTHING.key) + writer.own_targets(TWO.key)
        assert sorted(told) == sorted(tmp_path / path for path in contents(tmp_path))

    @pytest.mark.parametrize("name", WRITERS)
    def test_existing_files_are_kept_or_replaced(self, tmp_path: Path, name: str) -> None:
        writer = WRITERS[name](OutputSettings(tmp_path, VOC20, PROVENANCE))
        targets = writer.shared_targets() + writer.own_targets(TWO.key)
        for target in targets:
            target.parent.mkdir(exist_ok=True)
            target.write_text("mine")
            with pytest.raises(OutputError, match="exists already; name another output or use --overwrite"):
                write(name, tmp_path, [TWO])
            assert target.read_text() == "mine"
            assert all(p == target or p.suffix == OWN.get(name) for p in tmp_path.rglob("*") if p.is_file())
            for path in contents(tmp_path):
                (tmp_path / path).unlink()
        for target in targets:
            target.write_text("old")
        write(name, tmp_path, [TWO], overwrite=True)
        assert all(target.read_text() != "old" for target in targets)

    @pytest.mark.parametrize("name", SHARED)
    def test_an_error_within_leaves_no_shared_file(self, tmp_path: Path, name: str) -> None:
        writer = WRITERS[name](OutputSettings(tmp_path, VOC20, PROVENANCE))
        with pytest.raises(KeyError), writer:
            writer.append(TWO)
            raise KeyError
        assert [*contents(tmp_path)] == (["in/two.txt"] if name == "yolo" else [])

    @pytest.mark.parametrize("name", ["jsonl", "csv", "coco"])
    def test_append_outside_the_block(self, tmp_path: Path, name: str) -> None:
        writer = WRITERS[name](OutputSettings(tmp_path, VOC20, PROVENANCE))
        with pytest.raises(OutputError, match="is not open; append inside a with block"):
            writer.append(TWO)
        with writer:
            writer.append(TWO)
        with pytest.raises(OutputError, match="is not open"):
            writer.append(TWO)

    @pytest.mark.parametrize("name", WRITERS)
    def test_a_place_that_cannot_be(self, tmp_path: Path, name: str) -> None:
        (tmp_path / "file").touch()
        with pytest.raises(OutputError, match="cannot be written"):
            write(name, tmp_path / "file", [TWO])

    @pytest.mark.parametrize("name", WRITERS)
    def test_a_full_disk_takes_a_picture_wholly_or_not_at_all(self, tmp_path: Path, name: str) -> None:
        """The second of three does not fit; what is written is what the other two alone give."""
        many = record("in/many", detections((640, 424), [(7, 0.5, (1, 2, 3, 4))] * 300))
        writer = WRITERS[name](OutputSettings(tmp_path / "full", VOC20, PROVENANCE))
        with writer:
            writer.append(TWO)
            room = 500 if name in OWN else (next((tmp_path / "full").iterdir())).stat().st_size + 500
            with files_up_to(room), pytest.raises(OutputError, match="cannot be written: File too large"):
                writer.append(many)
            writer.append(NOTHING)
        write(name, tmp_path / "plenty", [TWO, NOTHING])
        assert contents(tmp_path / "full") == contents(tmp_path / "plenty")

    @pytest.mark.parametrize("name", ["jsonl", "csv", "coco"])
    def test_memory_stays_flat(self, tmp_path: Path, name: str) -> None:
        writer = WRITERS[name](OutputSettings(tmp_path, VOC20, PROVENANCE))
        with writer:
            for number in range(3000):
                if number == 100:
                    tracemalloc.start()
                writer.append(replace(TWO, file=f"a folder/with a picture {number}.jpg"))
            _, peak = tracemalloc.get_traced_memory()
            tracemalloc.stop()
        assert writer.shared_targets()[0].stat().st_size > 400_000
        assert peak < 200_000


@contextmanager
def files_up_to(size: int) -> Iterator[None]:
    """No file of this process can grow beyond `size` bytes."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


class TestCoco:
    def test_category_ids(self) -> None:
        assert coco_category_ids(VOC20) == {i: i for i in range(1, 21)}
        sparse = coco_category_ids(COCO80)
        assert [sparse[i] for i in (1, 12, 63, 80)] == [1, 13, 72, 90]
        assert {COCO80[k]: i for k, i in sparse.items()} == {COCO91[i]: i for i in sparse.values()}
        assert coco_category_ids(COCO91) == {i: i for i in sparse.values()}
        assert coco_category_ids([n.upper().replace("AIRPLANE", "aeroplane") for n in COCO80]) == sparse
        assert coco_category_ids(("background", *map(str, range(80)))) == {i: i for i in range(1, 81)}
        assert coco_category_ids(("background", "television", *COCO80[2:])) == {i: i for i in range(1, 81)}

    @pytest.mark.parametrize("names", [COCO80, COCO91])
    def test_names_of_the_categories(self, tmp_path: Path, names: tuple[str, ...]) -> None:
        tv = names.index("tv")
        write("coco", tmp_path, [record("a", detections((10, 10), [(tv, 0.5, (1, 2, 3, 4))], names))])
        value = strict_json((tmp_path / "detections.coco.json").read_bytes())
        assert len(value["categories"]) == 80
        assert {"id": 72, "name": "tv"} in value["categories"]
        assert value["annotations"][0]["category_id"] == 72
        assert read("coco", tmp_path, [record("a", detections((10, 10), [], names))])[0].detections.class_ids == [tv]

    def test_pycocotools_opens_the_object(self, tmp_path: Path) -> None:
        write("coco", tmp_path, [NOTHING, TWO])
        opened = COCO(str(tmp_path / "detections.coco.json"))
        assert opened.getImgIds() == [1, 2]
        assert opened.getCatIds(["person"]) == [15]
        (person,) = opened.loadAnns(opened.getAnnIds([2], [15]))
        assert person["bbox"] == [10.5, 20.0, 99.562, 200.25]

    def test_pycocotools_finds_perfect_results_perfect(self, tmp_path: Path) -> None:
        """Results with the ids of an annotation file that has other ids and COCO's names for the classes."""
        names = {"person": 1, "tv": 72, "dining table": 67, "dog": 18}
        rows: dict[str, Rows] = {
            "a/000123.jpg": [(15, 0.9, (10, 10, 60, 90)), (20, 0.8, (100, 100, 180, 200))],
            "b/000456.jpg": [(11, 0.7, (0, 0, 320, 240)), (12, 0.6, (5.5, 6.5, 70.25, 80.125))],
            "b/000789.jpg": [],
        }
        annotations = annotation_file(tmp_path, [(123, "000123.jpg"), (456, "000456.png"), (789, "000789.jpg")], names)
        truth = json.loads(annotations.read_text())
        ids = {15: 1, 20: 72, 11: 67, 12: 18}
        for picture_id, found in zip((123, 456, 789), rows.values(), strict=True):
            for class_id, _, (x0, y0, x1, y1) in found:
                truth["annotations"].append(
                    {
                        "id": len(truth["annotations"]) + 1, "image_id": picture_id, "category_id": ids[class_id],
                        "bbox": [x0, y0, x1 - x0, y1 - y0], "area": (x1 - x0) * (y1 - y0), "iscrowd": 0,
                    }
                )  # fmt: skip
        annotations.write_text(json.dumps(truth))
        records = [record(file[:-4], detections((320, 240), found), file) for file, found in rows.items()]
        write("coco", tmp_path, records, coco_images=annotations, provenance=only("person", "tv", "diningtable", "dog"))
        results = tmp_path / "detections.coco.json"
        assert strict_json(results.read_bytes())[0] == {
            "image_id": 123, "category_id": 1, "bbox": [10.0, 10.0, 50.0, 80.0], "score": 0.9,
        }  # fmt: skip
        expected = COCO(str(annotations))
        judged = COCOeval(expected, expected.loadRes(str(results)), "bbox")
        judged.evaluate()
        judged.accumulate()
        judged.summarize()
        assert judged.stats[0] == pytest.approx(1.0)
        back = read("coco", tmp_path, records, coco_images=annotations)
        assert [one.file for one in back] == ["000123.jpg", "000456.png", "000789.jpg"]
        for one, other in zip(back, records, strict=True):
            assert_same(one.detections, other.detections, box_tolerance=1e-6)

    def test_a_list_without_results(self, tmp_path: Path) -> None:
        annotations = annotation_file(tmp_path, [("a", "in/empty.jpg")], {n: i for i, n in enumerate(VOC20) if i})
        write("coco", tmp_path, [NOTHING], coco_images=annotations)
        assert strict_json((tmp_path / "detections.coco.json").read_bytes()) == []
        assert [len(one.detections) for one in read("coco", tmp_path, [NOTHING], coco_images=annotations)] == [0]
        with pytest.raises(FormatError, match="is a list of results; its pictures are in the annotation file"):
            read("coco", tmp_path, [NOTHING])

    @pytest.mark.parametrize(
        ("file", "expected"),
        [
            ("in/a.jpg", 1),  # the whole name wins over equal base names
            ("elsewhere/b.jpg", 3),
            ("b.png", 3),
            ("https://example.org/x/b.jpg?size=1", 3),
            ("other/a.jpg", "fits 2 pictures in .*: ids 1, 2$"),
            ("a.png", "fits 2 pictures"),
            ("B.jpg", "has no picture of this name$"),
        ],
    )
    def test_which_picture_is_meant(self, tmp_path: Path, file: str, expected: int | str) -> None:
        names = {n: i for i, n in enumerate(VOC20) if i}
        annotations = annotation_file(tmp_path, [(1, "in/a.jpg"), (2, "out/a.jpg"), (3, "b.jpg")], names)
        one = replace(TWO, file=file)
        if isinstance(expected, str):
            with pytest.raises(OutputError, match=expected):
                write("coco", tmp_path, [one], coco_images=annotations)
            with pytest.raises(SettingError, match=r"1 of 2 inputs match; .*" + expected):
                check_coco_images(annotations, ["b.jpg", file])
        else:
            write("coco", tmp_path, [one], coco_images=annotations)
            results = strict_json((tmp_path / "detections.coco.json").read_bytes())
            assert {result["image_id"] for result in results} == {expected}
            check_coco_images(annotations, [file])

    def test_two_inputs_for_one_picture(self, tmp_path: Path) -> None:
        annotations = annotation_file(tmp_path, [(1, "a.jpg")], {n: i for i, n in enumerate(VOC20) if i})
        twice = [replace(TWO, file="x/a.jpg"), replace(TWO, file="y/a.jpg")]
        with pytest.raises(OutputError, match=r"y/a.jpg: is the same picture in .* as x/a.jpg"):
            write("coco", tmp_path, twice, coco_images=annotations)
        with pytest.raises(SettingError, match=r"1 of 2 inputs match; y/a.jpg: is the same picture there as x/a.jpg"):
            check_coco_images(annotations, ["x/a.jpg", "y/a.jpg"])

    def test_many_unmatched_inputs_are_not_all_named(self, tmp_path: Path) -> None:
        annotations = annotation_file(tmp_path, [(1, "a.jpg")], {})
        with pytest.raises(SettingError, match=r"0 of 9 inputs match; .*and 4 more$"):
            check_coco_images(annotations, [f"{n}.jpg" for n in range(9)])

    def test_classes_without_a_category(self, tmp_path: Path) -> None:
        annotations = annotation_file(tmp_path, [(1, "in/two.jpg")], {"Person": 5, "dog": 7})
        with pytest.raises(
            SettingError, match=r"2 of 20 classes have a category there, .*: aeroplane, .* and 13 more;"
        ):
            write("coco", tmp_path, [TWO], coco_images=annotations)
        write("coco", tmp_path, [TWO], coco_images=annotations, provenance=only("person", "dog"))
        results = strict_json((tmp_path / "detections.coco.json").read_bytes())
        assert [result["category_id"] for result in results] == [5, 7]
        unwanted = DetectionSettings(classes=("person", "cat"), exclude_classes=("cat",))
        with pytest.raises(OutputError, match="has no category for the class 'dog'"):
            write(
                "coco",
                tmp_path / "2",
                [TWO],
                coco_images=annotations,
                provenance=replace(PROVENANCE, settings=unwanted),
            )

    def test_the_very_name_wins(self, tmp_path: Path) -> None:
        annotations = annotation_file(tmp_path, [(1, "in/two.jpg")], {"PERSON": 1, "person": 2, "dog": 3})
        write("coco", tmp_path, [TWO], coco_images=annotations, provenance=only("person", "dog"))
        results = strict_json((tmp_path / "detections.coco.json").read_bytes())
        assert [result["category_id"] for result in results] == [2, 3]

    def test_two_categories_of_one_name(self, tmp_path: Path) -> None:
        annotations = annotation_file(tmp_path, [], {"dog": 1})
        value = json.loads(annotations.read_text())
        value["categories"].append({"id": 9, "name": "dog"})
        annotations.write_text(json.dumps(value))
        with pytest.raises(SettingError, match="has 2 categories 'dog': ids 1, 9"):
            write("coco", tmp_path, [TWO], coco_images=annotations, provenance=only("dog"))

    @pytest.mark.parametrize(
        ("content", "message"),
        [
            ("", "not JSON"),
            ("[]", "found a list, expected an object with 'images'"),
            ('{"images": 1}', "'images' is 1, expected a list"),
            ('{"images": [{"id": null, "file_name": "a"}], "categories": []}', "'id' is None, expected a whole number"),
            ('{"images": [{"id": 1}], "categories": []}', "'file_name' is missing"),
            ('{"images": [{"id": 1, "file_name": "\\ud800"}], "categories": []}', "cannot be a file name"),
            ('{"images": [{"id": 1, "file_name": "a"}, {"id": 1, "file_name": "b"}], "categories": []}', "same id"),
            ('{"images": [], "categories": [{"id": "1", "name": "a"}]}', "'id' is \"1\", expected a whole number"),
        ],
    )
    def test_damaged_annotation_files(self, tmp_path: Path, content: str, message: str) -> None:
        path = tmp_path / "annotations.json"
        path.write_text(content)
        with pytest.raises(FormatError, match=f"^{path}: .*{message}"):
            check_coco_images(path, [])

    def test_missing_annotation_file(self, tmp_path: Path) -> None:
        with pytest.raises(FormatError, match=r"gone.json: cannot be read: No such file"):
            write("coco", tmp_path, [TWO], coco_images=tmp_path / "gone.json")


def annotation_file(folder: Path, pictures: Sequence[tuple[int | str, str]], categories: dict[str, int]) -> Path:
    path = folder / "annotations.json"
    images = [{"id": i, "file_name": name, "width": 320, "height": 240} for i, name in pictures]
    listed = [{"id": i, "name": name} for name, i in categories.items()]
    path.write_text(json.dumps({"info": {}, "images": images, "categories": listed, "annotations": []}))
    return path


def only(*classes: str) -> Provenance:
    return replace(PROVENANCE, settings=DetectionSettings(classes=classes))


def open_like_labelimg(path: Path) -> list[tuple[str, tuple[int, int, int, int], bool]]:
    """What a labelling tool takes: label, corners, difficult. It reads nothing else and forgives nothing."""
    found = []
    for element in ET.parse(path).getroot().findall("object"):
        label, box, difficult = element.find("name"), element.find("bndbox"), element.find("difficult")
        assert label is not None
        assert label.text is not None
        assert box is not None
        assert difficult is not None
        corners = [int(box.findtext(tag, "")) for tag in ("xmin", "ymin", "xmax", "ymax")]
        found.append((label.text, (corners[0], corners[1], corners[2], corners[3]), bool(int(difficult.text or ""))))
    return found


class TestVoc:
    @quick
    @given(records=runs())
    def test_a_labelling_tool_opens_it(self, records: list[PictureRecord]) -> None:
        with scratch() as folder:
            write("voc", folder, records)
            for one in records:
                opened = open_like_labelimg(folder / f"{one.key}.xml")
                names = one.detections.class_names
                assert [label for label, _, _ in opened] == [as_xml(names[i]) for i in one.detections.class_ids]
                for _, (xmin, ymin, xmax, ymax), difficult in opened:
                    assert 1 <= xmin <= xmax <= one.detections.size[0]
                    assert 1 <= ymin <= ymax <= one.detections.size[1]
                    assert not difficult

    @pytest.mark.parametrize(
        ("box", "corners", "truncated"),
        [
            ((0, 0, 10, 8), (1, 1, 10, 8), "1"),
            ((1, 1, 2, 2), (2, 2, 2, 2), "0"),
            ((1.999, 1.001, 2.001, 6.999), (2, 2, 3, 7), "0"),
            ((0.5, 2, 3, 4), (1, 3, 3, 4), "1"),
            ((2, 2, 9.5, 4), (3, 3, 10, 4), "1"),
        ],
    )
    def test_rounding(self, tmp_path: Path, box: Any, corners: Any, truncated: str) -> None:
        write("voc", tmp_path, [record("a", detections((10, 8), [(1, 0.5, box)]))])
        assert open_like_labelimg(tmp_path / "a.xml") == [("aeroplane", corners, False)]
        assert ET.parse(tmp_path / "a.xml").findtext("object/truncated") == truncated

    @pytest.mark.parametrize(
        ("change", "expected", "warning"),
        [
            (lambda t: t, VocObject("dog", (10, 20, 30, 40), 0.5, True, False), None),
            (lambda t: t.replace("<score>0.5</score>", ""), VocObject("dog", (10, 20, 30, 40), 1.0, True), None),
            (
                lambda t: t.replace("<truncated>1</truncated>", "<truncated/>"),
                VocObject("dog", (10, 20, 30, 40), 0.5),
                None,
            ),
            (lambda t: t.replace("<difficult>0</difficult>", ""), VocObject("dog", (10, 20, 30, 40), 0.5, True), None),
            (lambda t: t.replace("<pose>x</pose>", ""), VocObject("dog", (10, 20, 30, 40), 0.5, True), None),
            (
                lambda t: t.replace("<difficult>0", "<difficult>Unspecified"),
                VocObject("dog", (10, 20, 30, 40), 0.5, True),
                "object 1: difficult is 'Unspecified', expected 0 or 1; taken for 0",
            ),
            (
                lambda t: t.replace("<truncated>1", "<truncated>true"),
                VocObject("dog", (10, 20, 30, 40), 0.5, True),
                "object 1: truncated is 'true', expected 0 or 1; taken for 1",
            ),
            (
                lambda t: t.replace("<score>0.5", "<score>nan"),
                VocObject("dog", (10, 20, 30, 40), 1.0, True),
                "object 1: score is 'nan', expected a number from 0 to 1; taken for 1",
            ),
            (
                lambda t: t.replace(">11<", ">3<").replace(">30<", ">11<").replace(">3<", ">30<"),
                VocObject("dog", (10, 20, 30, 40), 0.5, True),
                "object 1: corners 30, 21, 11, 40 are swapped; swapped back",
            ),
            (
                lambda t: t.replace(">11<", ">0<"),
                VocObject("dog", (0, 20, 30, 40), 0.5, True),
                "object 1: box -1, 20, 30, 40 reaches outside the picture of 100x50; cut off at its border",
            ),
            (lambda t: t.replace(">30<", ">11<"), VocObject("dog", (10, 20, 11, 40), 0.5, True), None),
            (lambda t: t.replace(">11<", ">NaN<"), None, "object 1: its box is 'NaN', '21', '30', '40'; left out"),
            (lambda t: t.replace(">11<", ">1e10<"), None, "object 1: its box is '1e10', '21', '30', '40'; left out"),
            (lambda t: t.replace("<ymin>21</ymin>", ""), None, "object 1: has no ymin in <bndbox>; left out"),
            (
                lambda t: t.replace(">11<", ">101<").replace(">30<", ">120<"),
                None,
                "object 1: box 100, 20, 120, 40 lies outside the picture of 100x50; left out",
            ),
            (lambda t: t.replace("<name>dog</name>", ""), None, "object 1: has no <name>; left out"),
        ],
    )
    def test_files_of_other_tools(
        self, tmp_path: Path, change: Callable[[str], str], expected: VocObject | None, warning: str | None
    ) -> None:
        path = tmp_path / "a.xml"
        path.write_text(change(OF_A_TOOL))
        opened = parse_voc(path)
        assert opened.objects == (() if expected is None else (expected,))
        assert opened.warnings == (() if warning is None else (warning,))
        back = read("voc", tmp_path, [record("a", detections((100, 50)))])
        assert [(len(one.detections), one.warnings) for one in back] == [(len(opened.objects), opened.warnings)]

    @pytest.mark.parametrize(
        ("size", "known", "expected", "warnings"),
        [
            ("<size><width>100</width><height>50</height></size>", None, (100, 50), ()),
            ("", (100, 50), (100, 50), ()),
            ("<size><width>0</width><height>0</height></size>", (100, 50), (100, 50), ()),
            (
                "<size><width>50</width><height>100</height><depth/></size>", (100, 50), (100, 50),
                ("says 50x100, the picture has 100x50",),
            ),
        ],
    )  # fmt: skip
    def test_sizes(self, tmp_path: Path, size: str, known: Any, expected: Any, warnings: Any) -> None:
        path = tmp_path / "a.xml"
        path.write_text(f"<annotation>{size}</annotation>")
        opened = parse_voc(path, size=known)
        assert (opened.size, opened.warnings, opened.file) == (expected, warnings, "")

    def test_files_that_count_from_0(self, tmp_path: Path) -> None:
        path = tmp_path / "a.xml"
        path.write_text(OF_A_TOOL.replace(">11<", ">0<"))
        opened = parse_voc(path, counted_from=0)
        assert (opened.objects[0].box, opened.warnings) == ((0, 21, 31, 41), ())

    def test_known_spellings_of_classes(self, tmp_path: Path) -> None:
        (tmp_path / "a.xml").write_text(OF_A_TOOL.replace(">dog<", "> Airplane\n<"))
        (back,) = read("voc", tmp_path, [record("a", detections((100, 50)))])
        assert [one.class_name for one in back.detections] == ["aeroplane"]
        assert back.file == "a.jpg"

    @pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "latin-1", "gbk"])
    def test_encodings(self, tmp_path: Path, encoding: str) -> None:
        path, name = tmp_path / "a.xml", "狗" if encoding == "gbk" else "été"
        declared = f"<?xml version='1.0' encoding='{encoding}'?>" if encoding in ("latin-1", "gbk") else ""
        path.write_bytes((declared + OF_A_TOOL.replace(">dog<", f">{name}<")).encode(encoding))
        assert parse_voc(path).objects[0].name == name

    def test_what_takes_any_amount_of_memory_or_time(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """As a data set's files, results may not declare entities, be a pipe, or be too large."""
        path = tmp_path / "a.xml"
        path.write_text(f"<!DOCTYPE a [<!ENTITY x 'dog'>]>{OF_A_TOOL.replace('>dog<', '>&x;<')}")
        with pytest.raises(FormatError, match=f"^{path}: declares the entity 'x', which no annotation needs$"):
            parse_voc(path)
        os.mkfifo(tmp_path / "pipe.xml")
        with pytest.raises(FormatError, match=r"pipe.xml: cannot be read: is a pipe, expected a file$"):
            parse_voc(tmp_path / "pipe.xml")
        path.write_text(OF_A_TOOL)
        monkeypatch.setattr("ssd_detect.formats.voc_annotation.MOST_XML_BYTES", 99)
        monkeypatch.setattr("ssd_detect.formats.xml_text.MOST_XML_BYTES", 99)
        with pytest.raises(FormatError, match=f"^{path}: is too large, expected at most 99 bytes$"):
            parse_voc(path)


OF_A_TOOL = (
    "<annotation verified='yes'><filename>a.jpg</filename><size><width>100</width><height>50</height></size>"
    "<object><name>dog</name><pose>x</pose><truncated>1</truncated><difficult>0</difficult><score>0.5</score>"
    "<bndbox><xmin>11</xmin><ymin>21</ymin><xmax>30</xmax><ymax>40</ymax></bndbox></object></annotation>"
)


class TestYolo:
    @quick
    @given(records=runs())
    def test_numbers_are_shares_of_the_picture(self, records: list[PictureRecord]) -> None:
        with scratch() as folder:
            write("yolo", folder, records)
            for one in records:
                lines = (folder / f"{one.key}.txt").read_text().splitlines()
                for line, class_id in zip(lines, one.detections.class_ids, strict=True):
                    fields = line.split(" ")
                    assert int(fields[0]) == class_id - 1
                    assert all(0 <= float(field) <= 1 and len(field) == 8 for field in fields[1:])
                    assert min(map(float, fields[3:5])) > 0
                if records:
                    assert (folder / "classes.txt").read_text().count("\n") == len(one.detections.class_names) - 1

    @pytest.mark.parametrize("key", ["classes", "Classes"])
    def test_a_picture_called_classes(self, tmp_path: Path, key: str) -> None:
        with pytest.raises(OutputError, match=r"its results would stand in classes.txt"):
            write("yolo", tmp_path, [record(key, TWO.detections)])
        write("yolo", tmp_path, [record(f"below/{key}", TWO.detections)])

    def test_labels_without_scores(self, tmp_path: Path) -> None:
        (tmp_path / "a.txt").write_text("14 0.5 0.5 0.5 0.25\n")
        (back,) = read("yolo", tmp_path, [record("a", detections((100, 40)))])
        (found,) = back.detections
        assert found == ("person", 1.0, (25.0, 15.0, 75.0, 25.0))

    def test_without_sizes(self, tmp_path: Path) -> None:
        write("yolo", tmp_path, [TWO])
        with pytest.raises(FormatError, match="do not hold the picture's size"):
            list(READERS["yolo"](ReadSettings(tmp_path, VOC20)))

    @pytest.mark.parametrize("listed", ["", "cat\ndog\n", CLASSES.replace("dog", "hound"), CLASSES + "\n"])
    def test_other_classes(self, tmp_path: Path, listed: str) -> None:
        write("yolo", tmp_path, [TWO])
        (tmp_path / "classes.txt").write_text(listed)
        with pytest.raises(FormatError, match=r"classes.txt: names other classes than the class list"):
            read("yolo", tmp_path, [TWO])


def line(**change: Any) -> str:
    return json.dumps(TWO_JSON | change) + "\n"


def one_detection(**change: Any) -> list[Any]:
    return [{"class": "dog", "class_id": 12, "score": 0.5, "box": [1, 2, 3, 4]} | change]


DAMAGE = [
    ("jsonl", "\n", "line 1: not JSON"),
    ("jsonl", line() + line()[:-30], "line 2: not JSON"),
    ("jsonl", "[]\n", "line 1: found a list, expected an object with 'schema'"),
    ("jsonl", line(schema="other/1"), "line 1: its schema is 'other/1', expected 'ssd-detect.detections/1'"),
    ("jsonl", line().replace('"width": 640, ', ""), "line 1: 'width' is missing"),
    ("jsonl", line(width=10**400), "line 1: 'width' is 1000.*, expected a whole number"),
    ("jsonl", line(file="\ud800"), "line 1: 'file' is .* cannot be a file name"),
    ("jsonl", line().replace("0.98", "NaN"), "line 1: holds NaN, which JSON does not know"),
    ("jsonl", line().replace("0.98", "1e999"), "line 1: 'score' is Infinity, expected a number"),
    ("jsonl", "[" * 100_000 + "\n", "line 1: nested too deeply"),
    ("jsonl", line(detections=one_detection(score=1.5)), "a score of 1.5, expected 0 to 1"),
    ("jsonl", line(detections=one_detection(score="0.5")), "'score' is \"0.5\", expected a number"),
    ("jsonl", line(detections=one_detection(class_id=21)), "class number 21, expected 1 to 20"),
    ("jsonl", line(detections=one_detection(class_id=0)), "class number 0, expected 1 to 20"),
    ("jsonl", line(detections=one_detection(class_id=7)), "class 7 is 'dog', in the class list it is 'car'"),
    ("jsonl", line(detections=one_detection(box=[1, 2, 3])), "'box' has 3 numbers, expected 4"),
    ("jsonl", line(detections=one_detection(box=[1, 2, 3, 1e300])), "'box' is 1e\\+300, expected a number"),
    ("jsonl", line(detections=one_detection(box=[3, 2, 3, 4])), "a box of 3, 2, 3, 4, expected one that has an area"),
    (
        "jsonl",
        line().replace('"score": 0.98', '"score": 0.98, "score": 0.5', 1),
        "line 1: 'score' stands twice in one obj",
    ),
    ("json", line().replace('"width": 640', '"width": 640, "width": 64'), "'width' stands twice in one object; leave"),
    ("coco", '{"images": [], "images": []}', "'images' stands twice in one object"),
    ("jsonl", line(detections=one_detection(box=[1, 2, 641, 4])), "inside the picture of 640x424"),
    ("jsonl", b"\xff\n", "is not UTF-8 text"),
    ("json", "", "not JSON"),
    ("json", b"\xff", "is not UTF-8 text"),
    ("csv", "", "does not begin with the header"),
    ("csv", "a,b\n", "does not begin with the header file,width"),
    ("csv", HEADER + "a.jpg,640,424\n", "line 2 has 3 fields, expected 10"),
    ("csv", HEADER + '"a.jpg,640', "line 2: unexpected end of data"),
    ("csv", HEADER + "a.jpg,-1,424,,,,,,,\n", "a.jpg: found '-1', expected a whole number"),
    ("csv", HEADER + TWO_ROWS.replace("15", "x"), "found 'x', expected a whole number"),
    ("csv", HEADER + TWO_ROWS.replace("0.98", "nan"), "could not convert|expected a number"),
    ("csv", HEADER + TWO_ROWS.replace("0.980000", "nan"), "found 'nan', expected a number"),
    ("csv", HEADER.encode() + b"\xff,1,1,,,,,,,\n", "is not UTF-8 text"),
    ("coco", "", "not JSON"),
    ("coco", '{"images": [], "categories": []}', "'annotations' is missing"),
    ("voc", "", "holds nothing"),
    ("voc", "<annotation><a></annotation>", "not XML"),
    ("voc", "<annotation>a & b</annotation>", "not XML"),
    ("voc", "<?xml version='1.0' encoding='no-such'?><annotation/>", "not XML"),
    (
        "voc",
        OF_A_TOOL.replace("dog", "été").encode("latin-1"),
        "byte .* is no UTF-8, and the file does not say what it is",
    ),
    ("voc", "<html/>", "its outermost element is 'html', expected annotation"),
    ("voc", OF_A_TOOL.replace("dog", "prson"), "unknown class 'prson'; did you mean person"),
    ("yolo", "14 0.5 0.5 0.5\n", "line 1: has 4 fields, expected 5 or 6"),
    ("yolo", "14 0.5 0.5 0.5 0.5 0.5\nx 0.5 0.5 0.5 0.5\n", "line 2: invalid literal"),
    ("yolo", "20 0.5 0.5 0.5 0.5\n", "line 1: has the class 20, expected 0 to 19"),
    ("yolo", "-1 0.5 0.5 0.5 0.5\n", "line 1: has the class -1"),
    ("yolo", "1 0.5 0.5 1.5 0.5\n", "line 1: has a box from -0.25 to 1.25, expected one within 0 to 1"),
    ("yolo", "1 0.5 0.5 nan 0.5\n", "line 1: has a box from nan"),
    ("yolo", "1 0.5 0.5 0 0.5\n", "line 1: has a box from 0.5 to 0.5"),
    ("yolo", "1 0.5 0.5 0.1 0.5 nan\n", "a score of nan, expected 0 to 1"),
    ("yolo", b"\xff", "is not UTF-8 text"),
]


class TestDamage:
    @pytest.mark.parametrize(("name", "content", "message"), DAMAGE)
    def test_is_one_clear_error(self, tmp_path: Path, name: str, content: str | bytes, message: str) -> None:
        path = tmp_path / SHARED[name] if name not in OWN else tmp_path / f"a{OWN[name]}"
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        with pytest.raises(FormatError, match=f"^{path}.*{message}") as caught:
            read(name, tmp_path, [record("a", detections((100, 50)))])
        assert "\n" not in str(caught.value)

    @pytest.mark.parametrize(
        ("change", "message"),
        [
            (lambda v: v["annotations"][0].update(image_id=9), "1 of 2 results are of pictures that .* the first of 9"),
            (lambda v: v["annotations"][0].update(image_id=[]), r"'image_id' is \[\], expected a whole number"),
            (lambda v: v["annotations"][0].update(category_id=99), "in/two.jpg: category 99 is none of the classes"),
            (
                lambda v: v["annotations"][0].update(bbox=[1, 2, -3, 4]),
                "in/two.jpg: a box of 1, 2, -2, 6, expected one that has an",
            ),
            (lambda v: v["images"][0].pop("width"), "in/two.jpg: 'width' is missing"),
        ],
    )
    def test_coco_objects(self, tmp_path: Path, change: Callable[[Any], None], message: str) -> None:
        write("coco", tmp_path, [TWO])
        path = tmp_path / "detections.coco.json"
        value = json.loads(path.read_text())
        change(value)
        path.write_text(json.dumps(value))
        with pytest.raises(FormatError, match=f"^{path}: {message}"):
            read("coco", tmp_path, [TWO])

    def test_annotations_without_scores_are_certain(self, tmp_path: Path) -> None:
        write("coco", tmp_path, [TWO])
        path = tmp_path / "detections.coco.json"
        path.write_text(path.read_text().replace('"score": 0.98, ', ""))
        (back,) = read("coco", tmp_path, [TWO])
        assert back.detections.scores.tolist() == [1.0, pytest.approx(0.6)]

    @pytest.mark.parametrize("name", READERS)
    def test_nothing_there(self, tmp_path: Path, name: str) -> None:
        with pytest.raises(FormatError, match="gone"):
            read(name, tmp_path / "gone", [])

    @pytest.mark.parametrize("name", OWN)
    def test_an_empty_folder_holds_no_pictures(self, tmp_path: Path, name: str) -> None:
        assert read(name, tmp_path, []) == []

    def test_results_of_another_checkpoint(self, tmp_path: Path) -> None:
        other = record("a", detections((10, 10), [(1, 0.5, (1, 2, 3, 4))], ("background", "lamp")))
        for name in WRITERS:
            write(name, tmp_path, [other])
            with pytest.raises(FormatError, match=r"lamp|other classes|none of the classes"):
                read(name, tmp_path, [record("a", detections((10, 10)))])


def test_names_load_nothing_heavy() -> None:
    code = (
        "import sys, ssd_detect.formats.names, ssd_detect.formats.coco_images\n"
        "print([m for m in ('numpy', 'tensorflow', 'PIL') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
