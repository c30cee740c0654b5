"""Each kind of problem, on data sets that have just that: what is told, and what is done."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ssd_detect.datasets.dataset import Dataset, Treatment
from ssd_detect.datasets.opening import open_dataset
from ssd_detect.datasets.rules import RULES, loses_something
from ssd_detect.errors import FormatError
from tests.made_datasets import (
    coco,
    coco_object,
    coco_value,
    picture,
    voc,
    voc_object,
    voc_xml,
    written,
    yolo,
)

Build = Callable[[Path], Path]
GOOD = voc_object("cat", (1, 1, 10, 10))


def opened(path: Path, **options: Any) -> Dataset:
    return open_dataset(path, ignore_unknown=True, **options)


def told(dataset: Dataset) -> list[str]:
    return [problem.kind for problem in dataset.problems]


def voc_with(**files: str | bytes) -> Build:
    """A sound picture `a`, and further XML files."""

    def build(root: Path) -> Path:
        for name, content in files.items():
            written(voc(root, GOOD) / "Annotations" / f"{name}.xml", content)
        return root

    return build


def voc_of(*objects: str, **options: Any) -> Build:
    return lambda root: voc(root, *objects, **options)


def coco_of(*annotations: Any, **more: Any) -> Build:
    return lambda root: coco(root, *annotations, **more)


def yolo_of(*lines: str, **options: Any) -> Build:
    return lambda root: yolo(root, *lines, **options)


def then(build: Build, *more: Callable[[Path], object]) -> Build:
    def all_of_it(root: Path) -> Path:
        path = build(root)
        for step in more:
            step(root)
        return path

    return all_of_it


BOMB = (
    '<?xml version="1.0"?><!DOCTYPE annotation [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;">]>'
    "<annotation><filename>&b;</filename></annotation>"
)
LATIN_1 = voc_xml(voc_object("été")).encode("latin-1")
IMAGE = {"id": 7, "file_name": "a.jpg", "width": 100, "height": 50}
SPLIT = "ImageSets/Main/test.txt"

# What is wrong, a builder, the kinds told, objects left in `a`.
CASES: list[tuple[str, Build, list[str], int]] = [
    ("nothing", voc_of(), [], 0),
    ("nothing, COCO", coco_of(), [], 0),
    ("nothing, YOLO", yolo_of("", ""), [], 0),
    # Files and pictures.
    ("no XML", then(voc_of(GOOD), lambda r: picture(r / "JPEGImages/b.png")), ["annotation-missing"], 1),
    ("0 bytes", then(voc_with(b=b""), lambda r: picture(r / "JPEGImages/b.png")), ["annotation-empty"], 1),
    ("cut off", voc_with(b=voc_xml(GOOD)[:-20]), ["annotation-damaged"], 1),
    ("entities", voc_with(b=BOMB), ["annotation-damaged"], 1),
    ("no such encoding", voc_with(b="<?xml version='1.0' encoding='none'?><annotation/>"), ["annotation-damaged"], 1),
    ("other XML", voc_with(b="<html/>"), ["annotation-foreign"], 1),
    ("XML without picture", voc_with(b=voc_xml(GOOD, file="b.jpg")), ["picture-missing"], 1),
    ("picture is text", then(voc_with(b=voc_xml(file="b.jpg")), lambda r: written(r / "JPEGImages/b.jpg", "no")),
     ["picture-unreadable"], 1),
    ("picture of 0 bytes", then(voc_with(b=voc_xml(file="b.jpg")), lambda r: written(r / "JPEGImages/b.jpg", "")),
     ["picture-unreadable"], 1),
    ("two XML of one picture", voc_with(b=voc_xml(GOOD, file="a.jpg")), ["picture-twice"], 1),
    ("two XML of one stem", then(voc_of(GOOD), lambda r: written(r / "Annotations/a.XML", voc_xml())),
     ["picture-twice"], 0),
    ("two pictures of a stem", then(voc_of(GOOD, file="c.jpg"), lambda r: picture(r / "JPEGImages/a.png")),
     ["picture-ambiguous", "picture-name"], 1),
    ("two, and one is named", then(voc_of(GOOD, file="a.png"), lambda r: picture(r / "JPEGImages/a.png")), [], 1),
    ("other file name", voc_of(GOOD, file="b.jpg"), ["picture-name"], 1),
    ("no file name", voc_of(GOOD, file=""), [], 1),
    ("file name without suffix", voc_of(GOOD, file="a"), [], 1),
    ("no size", voc_of(GOOD, size=None), ["size-missing"], 1),
    ("size 0", voc_of(GOOD, size=(0, 0)), ["size-missing"], 1),
    ("size turned", voc_of(GOOD, size=(50, 100)), ["size-turned"], 1),
    ("size wrong", voc_of(GOOD, size=(200, 100)), ["size-wrong"], 1),
    ("size wrong, COCO", coco_of(coco_object(), images=[IMAGE | {"width": 99}]), ["size-wrong"], 1),
    ("no size, COCO", coco_of(coco_object(), images=[{"id": 7, "file_name": "a.jpg"}]), ["size-missing"], 1),
    ("picture gone, COCO", coco_of(coco_object(image_id=8), coco_object(),
                                   images=[IMAGE, IMAGE | {"id": 8, "file_name": "b.jpg"}]), ["picture-missing"], 1),
    ("an id twice", then(coco_of(coco_object(), images=[IMAGE, IMAGE | {"file_name": "b.jpg"}]),
                         lambda r: picture(r / "images/b.jpg")), ["picture-twice"], 1),
    ("a file name twice", coco_of(coco_object(), images=[IMAGE, IMAGE | {"id": 8}]), ["picture-twice"], 1),
    ("odd images", coco_of(coco_object(), images=[IMAGE, None, {"id": 9}, {"id": True, "file_name": "a.jpg"},
                                               IMAGE | {"id": 8, "file_name": "\ud800"}]), ["picture-entry"] * 4, 1),
    ("no labels", then(yolo_of("0 .5 .5 .1 .1"), lambda r: picture(r / "images/b.jpg")), ["labels-missing"], 1),
    ("labels are a folder", then(yolo_of("0 .5 .5 .1 .1"), lambda r: picture(r / "images/b.jpg"),
                                 lambda r: (r / "labels/b.txt").mkdir()), ["labels-damaged"], 1),
    ("XML is a pipe", then(voc_of(GOOD), lambda r: os.mkfifo(r / "Annotations/A.xml")), ["annotation-damaged"], 1),
    ("picture is a pipe", then(voc_with(b=voc_xml(file="b.jpg")), lambda r: os.mkfifo(r / "JPEGImages/b.jpg")),
     ["picture-unreadable"], 1),
    ("picture is a device", then(yolo_of("0 .5 .5 .1 .1"), lambda r: (r / "images/b.jpg").symlink_to("/dev/zero")),
     ["picture-unreadable"], 1),
    ("picture is a pipe, COCO", then(coco_of(coco_object(), images=[IMAGE, {"id": 8, "file_name": "b.jpg"}]),
                                     lambda r: os.mkfifo(r / "images/b.jpg")), ["picture-missing"], 1),
    ("JSON beside is a pipe", then(coco_of(coco_object()), lambda r: os.mkfifo(r / "annotations/b.json")), [], 1),
    ("labels are a pipe", then(yolo_of("0 .5 .5 .1 .1"), lambda r: picture(r / "images/b.jpg"),
                               lambda r: os.mkfifo(r / "labels/b.txt")), ["labels-damaged"], 1),
    ("labels of no picture are a pipe", then(yolo_of("0 .5 .5 .1 .1"), lambda r: os.mkfifo(r / "labels/b.txt")),
     ["labels-damaged"], 1),
    ("YAML is a pipe", then(yolo_of("0 .5 .5 .1 .1", names=""), lambda r: os.mkfifo(r / "data.yaml")),
     ["class-nameless"], 1),
    ("labels without picture", then(yolo_of("0 .5 .5 .1 .1"), lambda r: written(r / "labels/b.txt", "0 1 1 1 1")),
     ["picture-missing"], 1),
    ("labels in common", then(yolo_of("0 .5 .5 .1 .1"), lambda r: picture(r / "images/a.png")), ["picture-twice"], 1),
    ("UTF-8", voc_of(GOOD, voc_object("été")), [], 2),
    ("Latin-1", then(voc_of(), lambda r: written(r / "Annotations/a.xml", LATIN_1)), ["encoding"], 1),
    # Boxes.
    ("no corner", voc_of(GOOD, voc_object(corners=(1, None, 3, 4))), ["box-missing"], 1),
    ("empty corner", voc_of(GOOD, voc_object(corners=(1, "", 3, 4))), ["box-missing"], 1),
    ("three numbers", coco_of(coco_object(), coco_object(bbox=[1, 2, 3])), ["box-missing"], 1),
    ("no box", coco_of(coco_object(), {"image_id": 7, "category_id": 1}), ["box-missing"], 1),
    ("NaN", voc_of(GOOD, voc_object(corners=(1, "NaN", 3, 4))), ["box-not-numbers"], 1),
    ("text", voc_of(GOOD, voc_object(corners=("12,5", 2, 30, 4))), ["box-not-numbers"], 1),
    ("huge", voc_of(GOOD, voc_object(corners=(1, 2, "1e300", 4))), ["box-not-numbers"], 1),
    ("NaN, COCO", coco_of(coco_object(), coco_object(bbox=[float("nan"), 1, 2, 3])), ["box-not-numbers"], 1),
    ("infinity, COCO", coco_of(coco_object(), coco_object(bbox=[1, 1, float("inf"), 3])), ["box-not-numbers"], 1),
    ("strings, COCO", coco_of(coco_object(), coco_object(bbox=["1", "2", "3", "4"])), ["box-not-numbers"], 1),
    ("truth values", coco_of(coco_object(), coco_object(bbox=[True, 2, 3, 4])), ["box-not-numbers"], 1),
    ("NaN, YOLO", yolo_of("1 .5 .5 nan .5", "0 .5 .5 .1 .1"), ["box-not-numbers"], 1),
    ("pixels", yolo_of("1 50 25 10 10", "0 .5 .5 .1 .1"), ["box-not-shares"], 1),
    ("swapped in x", voc_of(voc_object(corners=(30, 21, 11, 40))), ["box-inverted"], 1),
    ("swapped in y", voc_of(voc_object(corners=(11, 40, 30, 21))), ["box-inverted"], 1),
    ("negative width", coco_of(coco_object(bbox=[30, 20, -20, 20])), ["box-inverted"], 1),
    ("negative height", yolo_of("0 .5 .5 .1 -.1"), ["box-inverted"], 1),
    ("no width", coco_of(coco_object(bbox=[1, 2, 0, 4])), ["box-empty"], 0),
    ("no height", yolo_of("0 .5 .5 .1 0"), ["box-empty"], 0),
    ("one pixel wide", voc_of(voc_object(corners=(11, 21, 11, 40))), ["box-thin"], 1),
    ("outside", voc_of(voc_object(corners=(101, 1, 120, 10))), ["box-outside"], 0),
    ("outside, YOLO", yolo_of("0 1.5 .5 .1 .1"), ["box-outside"], 0),
    ("over the edge", voc_of(voc_object(corners=(90, 1, 120, 10))), ["box-cut"], 1),
    ("over the edge, COCO", coco_of(coco_object(bbox=[-2, 0, 10, 10])), ["box-cut"], 1),
    ("rounding", coco_of(coco_object(bbox=[-0.4, 0, 100.8, 10])), [], 1),
    # Classes.
    ("no name", voc_of(GOOD, voc_object("")), ["class-missing"], 1),
    ("blank name", voc_of(GOOD, voc_object(" \n")), ["class-missing"], 1),
    ("no such category", coco_of(coco_object(), coco_object(category_id=2)), ["class-number"], 1),
    ("category as text", coco_of(coco_object(), coco_object(category_id="1")), ["class-number"], 1),
    ("category as truth value", coco_of(coco_object(), coco_object(category_id=True)), ["class-number"], 1),
    ("category as list", coco_of(coco_object(), coco_object(category_id=[1])), ["class-number"], 1),
    ("no such number", yolo_of("2 .5 .5 .1 .1", "0 .5 .5 .1 .1"), ["class-number"], 1),
    ("mistyped", voc_of(*[voc_object("person", (1, 1, 10 + i, 9)) for i in range(20)], voc_object("prson")),
     ["class-near"], 21),
    ("categories of one name", coco_of(coco_object(category_id=2), categories=[
        {"id": 1, "name": "dog"}, {"id": 2, "name": " dog\n"}]), ["class-twice"], 1),
    ("names twice", yolo_of("1 .5 .5 .1 .1", names="dog\ndog\n"), ["class-twice"], 1),
    ("nc", then(yolo_of("0 .5 .5 .1 .1", names=""),
                lambda r: written(r / "data.yaml", "train: images\nnc: 3\nnames: [dog, cat]\n")), ["class-count"], 1),
    ("no names", yolo_of("3 .5 .5 .1 .1", names=""), ["class-nameless"], 1),
    # Flags, areas, lines.
    ("Unspecified", voc_of(voc_object(more="<difficult>Unspecified</difficult>")), ["flag-odd"], 1),
    ("2", voc_of(voc_object(more="<truncated>2</truncated>")), ["flag-odd"], 1),
    ("true", voc_of(voc_object(more="<difficult>true</difficult>")), ["flag-odd"], 1),
    ("empty tags", voc_of(voc_object(more="<difficult/><truncated/><pose/>")), [], 1),
    ("no tags", voc_of(voc_object(more="")), [], 1),
    ("iscrowd", coco_of(coco_object(iscrowd="no")), ["flag-odd"], 1),
    ("area", coco_of(coco_object(area=float("nan"))), ["area-odd"], 1),
    ("area 0", coco_of(coco_object(area=0)), ["area-odd"], 1),
    ("area as text", coco_of(coco_object(area="300")), ["area-odd"], 1),
    ("twice", voc_of(voc_object(), GOOD, voc_object("Dog")), ["object-twice"], 2),
    ("line twice", yolo_of("0 .5 .5 .1 .1", "0 .5 .5 .1 .1"), ["object-twice"], 1),
    ("no such picture", coco_of(coco_object(), coco_object(image_id=9)), ["object-homeless"], 1),
    ("picture as list", coco_of(coco_object(), coco_object(image_id=[7])), ["object-homeless"], 1),
    ("no object", coco_of(coco_object(), None), ["object-odd"], 1),
    ("four numbers", yolo_of("0 .5 .5 .1", "0 .5 .5 .1 .1"), ["line-odd"], 1),
    ("a word", yolo_of("dog .5 .5 .1 .1", "0 .5 .5 .1 .1"), ["line-odd"], 1),
    ("half a class", yolo_of("0.5 .5 .5 .1 .1", "0 .5 .5 .1 .1"), ["line-odd"], 1),
    ("a class far too high", yolo_of("1e15 .5 .5 .1 .1", "0 .5 .5 .1 .1"), ["line-odd"], 1),
    ("a class too high without names", yolo_of("100000 .5 .5 .1 .1", "0 .5 .5 .1 .1", names=""),
     ["class-nameless", "line-odd"], 1),
    ("negative class", yolo_of("-1 .5 .5 .1 .1", "0 .5 .5 .1 .1"), ["line-odd"], 1),
    ("a score", yolo_of("0 .5 .5 .1 .1 .9"), ["line-score"], 1),
    ("counted from 0", voc_of(voc_object(corners=(0, 0, 9, 9))), ["counted-from"], 1),
    ("a stray 0", voc_of(GOOD, voc_object(corners=(0, 21, 30, 40))), ["counted-from", "box-cut"], 2),
]  # fmt: skip


@pytest.mark.parametrize(("build", "kinds", "objects"), [c[1:] for c in CASES], ids=[c[0] for c in CASES])
def test_a_fault_is_told_and_treated(tmp_path: Path, build: Build, kinds: list[str], objects: int) -> None:
    dataset = opened(build(tmp_path))
    assert sorted(told(dataset)) == sorted(kinds)
    (first,) = [p for p in dataset.pictures if p.path.stem == "a"]
    assert len(first) == objects
    for problem in dataset.problems:
        assert problem.treatment is RULES[problem.kind].treatment
        assert problem.file.is_relative_to(tmp_path)
        assert "\n" not in problem.text
    lost = {Treatment.DROPPED, Treatment.SKIPPED} & {RULES[kind].treatment for kind in kinds}
    assert loses_something(dataset.problems) == bool(lost)


@pytest.mark.parametrize(
    ("lines", "kinds"),
    [
        ("", []),
        ("a\n\n a \n", ["split-twice"]),
        ("a 1\n", []),
        ("a -1\nb  0\n", []),
        ("a 2\n", ["split-line"]),
        ("a b c\n", ["split-line"]),
        ("a.jpg\n", []),
        ("a.jpg 1\n", []),
        ("a\nghost\n", ["picture-missing"]),
    ],
)
def test_splits(tmp_path: Path, lines: str, kinds: list[str]) -> None:
    voc(tmp_path, GOOD)
    picture(tmp_path / "JPEGImages/b.jpg")
    written(tmp_path / "Annotations/b.xml", voc_xml(file="b.jpg"))
    written(tmp_path / SPLIT, b"\xef\xbb\xbf" + lines.encode())
    dataset = opened(tmp_path, split="test")
    assert told(dataset) == kinds
    names = dict.fromkeys(word.removesuffix(".jpg") for line in lines.splitlines() for word in line.split()[:1])
    assert [p.path.stem for p in dataset.pictures] == [name for name in names if name != "ghost"]


def test_a_member_that_stands_twice_in_a_json_is_refused(tmp_path: Path) -> None:
    """Else the second would count in silence: here a data set without annotations."""
    coco_of(coco_object())(tmp_path)
    (path,) = tmp_path.glob("**/*.json")
    path.write_text(path.read_text().rstrip().removesuffix("}") + ', "annotations": []}')
    with pytest.raises(FormatError, match=f"^{path}: 'annotations' stands twice in one object; leave one out$"):
        opened(tmp_path)


def test_objects_of_an_id_that_pictures_share_are_told_with_the_first(tmp_path: Path) -> None:
    path = coco_of(coco_object(bbox=[500, 1, 2, 2]), images=[IMAGE, IMAGE | {"file_name": "b.jpg"}])(tmp_path)
    picture(tmp_path / "images/b.jpg")
    told_of = {p.kind: p.text for p in opened(path).problems}
    assert told_of["box-outside"].startswith("a.jpg: ")
    assert told_of["picture-twice"].endswith("b.jpg, is one of several with id 7")


def test_unknown_classes_of_a_list_are_dropped_when_ignored(tmp_path: Path) -> None:
    path = voc(tmp_path, GOOD, voc_object("prson"), voc_object(" Airplane\n", (1, 1, 5, 5)))
    dataset = opened(path, class_names=("background", "person", "cat", "aeroplane"))
    (problem,) = dataset.problems
    assert (problem.kind, problem.object_number) == ("class-unknown", 2)
    assert problem.text == "a.jpg: class 'prson' is not in the list; did you mean person?"
    assert dataset.pictures[0].class_ids.tolist() == [2, 3]


def test_each_rule_has_a_case() -> None:
    tried = {kind for _, _, kinds, _ in CASES for kind in kinds} | {"class-unknown", "split-line", "split-twice"}
    assert tried == set(RULES)


def test_an_xml_file_that_is_too_large(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ssd_detect.formats.xml_text.MOST_XML_BYTES", 2000)
    dataset = opened(voc_with(b=voc_xml(*[voc_object()] * 50))(tmp_path))
    assert told(dataset) == ["annotation-damaged"]
    assert "expected at most 2,000" in dataset.problems[0].text


def test_problems_come_by_file_and_object(tmp_path: Path) -> None:
    objects = [voc_object(corners=(1, 2, "NaN", 4)), voc_object(""), voc_object(corners=(200, 1, 210, 9))]
    voc(tmp_path, *objects, size=(1, 1))
    for name in ("b", "c"):
        picture(tmp_path / f"JPEGImages/{name}.jpg")
        written(tmp_path / f"Annotations/{name}.xml", voc_xml(*objects, file=f"{name}.jpg"))
    places = [(p.file.stem, p.object_number) for p in opened(tmp_path).problems]
    assert places == [("a", None), *[(name, i) for name in "abc" for i in (1, 2, 3)]]


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("", "no data set"),
        ("[]", "no data set"),
        ('{"images": [', "not JSON"),
        (json.dumps(coco_value()).replace('"categories"', '"cats"'), "'categories' is missing"),
        (json.dumps(coco_value(categories={})), "'categories' is an object, expected a list"),
        (json.dumps(coco_value(categories=[{"id": "1", "name": "dog"}])), "'id' is \"1\", expected a whole number"),
        (json.dumps(coco_value(categories=[{"id": 1, "name": "a"}, {"id": 1, "name": "b"}])), "is both 'a' and 'b'"),
        ('{"images": [], "annotations": ' + "[" * 100_000, "nested too deeply"),
    ],
)
def test_json_that_is_damaged_as_a_whole(tmp_path: Path, value: str, message: str) -> None:
    path = written(tmp_path / "a.json", value)
    with pytest.raises(FormatError, match=f"^{path}: .*{message}"):
        opened(path)
