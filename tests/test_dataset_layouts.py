"""Layouts of data sets: what is recognised, which pictures are found, how boxes are counted, refusals."""

import json
import os
import re
import shutil
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ssd_detect.boxes.geometry import pairwise_iou
from ssd_detect.classes import COCO80, VOC20
from ssd_detect.datasets.dataset import Dataset
from ssd_detect.datasets.opening import open_dataset
from ssd_detect.errors import FormatError, PictureError, SettingError, UnknownClassError
from ssd_detect.formats.fitting import inside
from ssd_detect.media.pictures import open_picture, picture_size
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
from tests.made_pictures import exif

DOG = voc_object("dog", (11, 21, 30, 40))
DOG_BOX = [10.0, 20.0, 30.0, 40.0]


def names(dataset: Dataset) -> list[str]:
    return [p.name for p in dataset.pictures]


def all_boxes(dataset: Dataset) -> list[list[float]]:
    return [box for p in dataset.pictures for box in p.boxes.tolist()]


def moved(root: Path, *moves: tuple[str, str]) -> None:
    for source, target in moves:
        (root / target).parent.mkdir(parents=True, exist_ok=True)
        (root / source).rename(root / target)


class TestVoc:
    @pytest.mark.parametrize(
        ("moves", "opened"),
        [
            ([], "."),
            ([], "Annotations"),
            ([("JPEGImages", "images"), ("Annotations", "annotations")], "."),
            ([("JPEGImages/a.jpg", "a.jpg"), ("Annotations/a.xml", "a.xml")], "."),
            ([("JPEGImages/a.jpg", "JPEGImages/x/y/a.jpg"), ("Annotations/a.xml", "Annotations/x/y/a.xml")], "."),
            ([("JPEGImages", "VOC2007/JPEGImages"), ("Annotations", "VOC2007/Annotations")], "."),
            ([("JPEGImages", "VOCdevkit/2012/JPEGImages"), ("Annotations", "VOCdevkit/2012/Annotations")], "."),
            ([("JPEGImages", "VOCdevkit/2012/JPEGImages"), ("Annotations", "VOCdevkit/2012/Annotations")], "VOCdevkit"),
        ],
    )
    def test_places(self, tmp_path: Path, moves: list[tuple[str, str]], opened: str) -> None:
        voc(tmp_path, DOG)
        moved(tmp_path, *moves)
        dataset = open_dataset(tmp_path / opened)
        assert (dataset.kind, dataset.problems, dataset.class_names) == ("voc", (), VOC20)
        assert all_boxes(dataset) == [DOG_BOX]
        assert names(dataset) == ["x/y/a.jpg" if any("x/y" in target for _, target in moves) else "a.jpg"]

    @pytest.mark.parametrize("name", ["a.png", "a.JPG", "a.bmp", "a.tif", "a.webp", "b, c.d.jpg", "ä.jpeg"])
    def test_suffixes_and_names(self, tmp_path: Path, name: str) -> None:
        picture(tmp_path / "JPEGImages" / name)
        stem = name.rpartition(".")[0]
        written(tmp_path / "Annotations" / f"{stem}.xml", voc_xml(DOG, file=name))
        dataset = open_dataset(tmp_path)
        assert (names(dataset), dataset.problems) == ([name], ())

    def test_a_renamed_annotation_finds_its_picture_by_filename(self, tmp_path: Path) -> None:
        voc(tmp_path, DOG, file="C:\\photos\\a.jpg")
        moved(tmp_path, ("Annotations/a.xml", "Annotations/renamed.xml"))
        dataset = open_dataset(tmp_path)
        assert (names(dataset), dataset.problems) == (["a.jpg"], ())

    def test_pictures_elsewhere(self, tmp_path: Path) -> None:
        voc(tmp_path / "set", DOG)
        moved(tmp_path, ("set/JPEGImages", "photos"))
        with pytest.raises(FormatError, match=r"none of its 1 annotated pictures can be used \(a.xml: no picture in "):
            open_dataset(tmp_path / "set")
        assert all_boxes(open_dataset(tmp_path / "set", pictures=tmp_path / "photos")) == [DOG_BOX]

    def test_splits(self, tmp_path: Path) -> None:
        voc(tmp_path, DOG)
        for split in ("val", "aeroplane_val"):
            written(tmp_path / f"ImageSets/Main/{split}.txt", "a -1\n")
            assert names(open_dataset(tmp_path, split=split)) == ["a.jpg"]
        with pytest.raises(SettingError, match="no split 'test'; there are val, aeroplane_val"):
            open_dataset(tmp_path, split="test")

    def test_folders_as_splits(self, tmp_path: Path) -> None:
        for split in ("train", "valid"):
            voc(tmp_path / split, DOG)
            moved(tmp_path / split, ("JPEGImages/a.jpg", f"{split}.jpg"), ("Annotations/a.xml", f"{split}.xml"))
        assert names(open_dataset(tmp_path, split="valid")) == ["valid.jpg"]
        with pytest.raises(FormatError, match="holds 2 VOC data sets: train, valid; name the folder of one"):
            open_dataset(tmp_path)

    @pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "latin-1", "gbk"])
    def test_encodings(self, tmp_path: Path, encoding: str) -> None:
        name = "狗" if encoding == "gbk" else "été"
        declared = "" if encoding in ("utf-8-sig", "utf-16") else f"<?xml version='1.0' encoding='{encoding}'?>"
        written(voc(tmp_path) / "Annotations/a.xml", (declared + voc_xml(voc_object(name))).encode(encoding))
        dataset = open_dataset(tmp_path)
        assert (dataset.class_names, dataset.problems) == (("background", name), ())

    def test_parts_have_boxes_of_their_own(self, tmp_path: Path) -> None:
        part = voc_object("head", (12, 22, 15, 25)).replace("object", "part")
        voc(tmp_path, voc_object("person", more=part))
        assert all_boxes(open_dataset(tmp_path)) == [DOG_BOX]

    def test_flags(self, tmp_path: Path) -> None:
        voc(tmp_path, voc_object(more="<difficult>1</difficult><truncated>0</truncated>"),
            voc_object("cat", more="<truncated> 1 </truncated>"))  # fmt: skip
        (one,) = open_dataset(tmp_path).pictures
        assert (one.difficult.tolist(), one.truncated.tolist()) == ([True, False], [False, True])
        assert one.area.tolist() == [400.0, 400.0]

    def test_own_classes_are_what_the_annotations_name(self, tmp_path: Path) -> None:
        objects = [voc_object(name, (1, 1, 5 + i, 9)) for i, name in enumerate(["Lamp", "lamp", "lamp", "hat"])]
        dataset = open_dataset(voc(tmp_path, *objects))
        assert dataset.class_names == ("background", "hat", "lamp")
        assert dataset.pictures[0].class_ids.tolist() == [2, 2, 2, 1]


class TestCounting:
    """VOC counts from 1; tools that count from 0 are told by where boxes begin."""

    @pytest.mark.parametrize(
        ("corners", "one_based", "expected"),
        [
            ([(1, 1, 100, 50)], None, [[0, 0, 100, 50]]),
            ([(1, 1, 1, 1)], None, [[0, 0, 1, 1]]),
            ([(11, 21, 30, 40)], None, [[10, 20, 30, 40]]),
            ([(0, 0, 99, 49)], None, [[0, 0, 100, 50]]),
            ([(0, 0, 100, 50)], None, [[0, 0, 100, 50]]),
            ([(0, 0, 100, 9), (11, 21, 30, 40)], None, [[0, 0, 100, 9], [11, 21, 30, 40]]),
            ([(0, 5, 9, 50), (11, 21, 30, 40)], None, [[0, 5, 9, 50], [11, 21, 30, 40]]),
            ([(0, 5, 9.5, 9), (11, 21, 30, 40)], None, [[0, 5, 9.5, 9], [11, 21, 30, 40]]),
            ([(0, 5, 9, 9), (11, 21, 30, 40)], None, [[0, 5, 10, 10], [11, 21, 31, 41]]),
            ([(0, 5, 9, 9), (1, 1, 9, 9)], None, [[0, 4, 9, 9], [0, 0, 9, 9]]),
            ([(11, 21, 30, 40)], False, [[11, 21, 31, 41]]),
            ([(0, 21, 30, 40)], True, [[0, 20, 30, 40]]),
            ([(1.5, 2.25, 30.75, 40)], None, [[0.5, 1.25, 30.75, 40]]),
        ],
    )
    def test_boxes(self, tmp_path: Path, corners: Any, one_based: bool | None, expected: Any) -> None:
        voc(tmp_path, *[voc_object(corners=c) for c in corners])
        assert all_boxes(open_dataset(tmp_path, one_based=one_based)) == expected

    def test_all_pictures_of_a_set_count_alike(self, tmp_path: Path) -> None:
        voc(tmp_path, voc_object(corners=(0, 0, 9, 9)))
        picture(tmp_path / "JPEGImages/b.jpg")
        written(tmp_path / "Annotations/b.xml", voc_xml(DOG, file="b.jpg"))
        assert all_boxes(open_dataset(tmp_path)) == [[0, 0, 10, 10], [11, 21, 31, 41]]

    @given(st.tuples(*[st.integers(1, 100)] * 4))
    def test_equal_boxes_overlap_wholly(self, corners: tuple[int, int, int, int]) -> None:
        x0, y0, x1, y1 = corners
        box = inside((min(x0, x1) - 1, min(y0, y1) - 1, max(x0, x1), max(y0, y1)), (100, 100), lambda *_: None)
        assert box is not None
        boxes = np.array([box], np.float32)
        assert pairwise_iou(boxes, boxes).tolist() == [[1.0]]

    @given(st.tuples(*[st.floats(-50, 150)] * 4))
    def test_what_is_left_of_a_box_lies_inside(self, box: tuple[float, float, float, float]) -> None:
        cut = inside(box, (100, 50), lambda *_: None)
        overlaps = box[0] < box[2] and box[1] < box[3] and box[0] < 100 and box[1] < 50 and box[2] > 0 and box[3] > 0
        assert (cut is not None) == overlaps
        if cut is not None:
            assert 0 <= cut[0] < cut[2] <= 100
            assert 0 <= cut[1] < cut[3] <= 50


class TestCoco:
    @pytest.mark.parametrize(
        ("moves", "opened"),
        [
            ([], "annotations/instances_val.json"),
            ([], "."),
            ([("images/a.jpg", "val/a.jpg")], "."),
            ([("images/a.jpg", "images/val/a.jpg")], "annotations"),
            ([("images/a.jpg", "annotations/a.jpg")], "annotations"),
            ([("images/a.jpg", "a.jpg")], "annotations/instances_val.json"),
            ([("annotations/instances_val.json", "images/_annotations.coco.json")], "images"),
            ([("annotations/instances_val.json", "images/_annotations.coco.json")], "."),
        ],
    )
    def test_places(self, tmp_path: Path, moves: list[tuple[str, str]], opened: str) -> None:
        coco(tmp_path, coco_object())
        moved(tmp_path, *moves)
        dataset = open_dataset(tmp_path / opened)
        assert (dataset.kind, dataset.problems) == ("coco", ())
        assert dataset.class_names == ("background", "dog", "cat")
        assert (names(dataset), all_boxes(dataset)) == (["a.jpg"], [DOG_BOX])

    @pytest.mark.parametrize(
        "file_name", ["./a.jpg", "sub/a.jpg", "C:\\x\\a.jpg", "/gone/a.jpg", "http://example.com/val/a.jpg?x=1"]
    )
    def test_names_of_other_computers(self, tmp_path: Path, file_name: str) -> None:
        coco(tmp_path, coco_object(), images=[{"id": 7, "file_name": file_name, "width": 100, "height": 50}])
        assert open_dataset(tmp_path).pictures[0].path == tmp_path / "images/a.jpg"

    def test_pictures_elsewhere(self, tmp_path: Path) -> None:
        path = coco(tmp_path, coco_object())
        moved(tmp_path, ("images", "photos"))
        with pytest.raises(FormatError, match=r"none of its 1 annotated pictures .* is not there\); looked in"):
            open_dataset(path)
        assert all_boxes(open_dataset(path, pictures=tmp_path / "photos")) == [DOG_BOX]
        with pytest.raises(SettingError, match="gone: is no folder"):
            open_dataset(path, pictures=tmp_path / "gone")

    def test_splits(self, tmp_path: Path) -> None:
        path = coco(tmp_path, coco_object())
        for name in ("instances_train2017.json", "captions_val.json"):
            written(path.with_name(name), path.read_bytes())
        for split in ("val", "train", "train2017"):
            assert open_dataset(tmp_path, split=split).split == split
        with pytest.raises(FormatError, match=r"holds 2 COCO files, expected one of .*instances_val.json; name the"):
            open_dataset(tmp_path)
        with pytest.raises(FormatError, match="holds no COCO files of the split 'test'"):
            open_dataset(tmp_path, split="test")
        with pytest.raises(SettingError, match="is not of the split 'train' by its name"):
            open_dataset(path, split="train")

    def test_what_only_coco_has(self, tmp_path: Path) -> None:
        crowd = coco_object(iscrowd=1, area=12.5, category_id=90, segmentation={"counts": [1], "size": [1, 1]})
        coco(
            tmp_path,
            coco_object(area=300),
            crowd,
            coco_object(bbox=[0, 0, 9, 9], difficult=1, truncated=True, area=None),
        )
        (one,) = open_dataset(tmp_path).pictures
        assert one.crowd.tolist() == [False, True, False]
        assert one.area.tolist() == [300.0, 12.5, 81.0]
        assert one.class_ids.tolist() == [1, 2, 1]
        assert (one.difficult.tolist(), one.truncated.tolist()) == ([False, False, True],) * 2
        assert one.picture_id == 7

    def test_picture_ids_may_be_texts(self, tmp_path: Path) -> None:
        coco(
            tmp_path, coco_object(image_id="x"), images=[{"id": "x", "file_name": "a.jpg", "width": 100, "height": 50}]
        )
        assert [(p.picture_id, len(p)) for p in open_dataset(tmp_path).pictures] == [("x", 1)]

    def test_categories_are_found_by_name_in_another_list(self, tmp_path: Path) -> None:
        path = coco(tmp_path, coco_object(), coco_object(category_id=90))
        assert open_dataset(path, class_names=VOC20).pictures[0].class_ids.tolist() == [12, 8]
        assert open_dataset(path, class_names=COCO80).pictures[0].class_ids.tolist() == [17, 16]

    def test_a_mark_of_byte_order(self, tmp_path: Path) -> None:
        path = coco(tmp_path, coco_object())
        path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
        assert all_boxes(open_dataset(path)) == [DOG_BOX]

    def test_names_that_no_file_can_have(self, tmp_path: Path) -> None:
        images = [{"id": i, "file_name": name} for i, name in enumerate(["x" * 5000, "a\0b.jpg", "a.jpg"])]
        dataset = open_dataset(coco(tmp_path, images=images))
        assert names(dataset) == ["a.jpg"]
        assert [p.kind for p in dataset.problems] == ["picture-missing", "picture-missing", "size-missing"]

    def test_half_a_character_in_a_class_name(self, tmp_path: Path) -> None:
        path = coco(tmp_path, categories=[{"id": 1, "name": "\ud800x"}])
        assert open_dataset(path).class_names == ("background", "?x")

    def test_no_pictures_at_all(self, tmp_path: Path) -> None:
        assert len(open_dataset(coco(tmp_path, images=[])).pictures) == 0


LINE = "0 0.2 0.6 0.2 0.4"
YAML = "path: .\ntrain: images\nval: images\nnc: 2\nnames: ['dog', 'cat']\n"


class TestYolo:
    @pytest.mark.parametrize(
        ("moves", "yaml", "opened"),
        [
            ([], "", "."),
            ([("classes.txt", "labels/classes.txt")], "", "."),
            ([("classes.txt", "old.txt")], YAML, "."),
            ([("classes.txt", "old.txt")], YAML, "data.yaml"),
            ([("images/a.jpg", "a.jpg"), ("labels/a.txt", "a.txt")], "", "."),
            ([("images/a.jpg", "images/val/a.jpg"), ("labels/a.txt", "labels/val/a.txt")], "", "."),
            ([("images/a.jpg", "val/images/a.jpg"), ("labels/a.txt", "val/labels/a.txt")], "", "."),
            ([("images/a.jpg", "val/images/a.jpg"), ("labels/a.txt", "val/labels/a.txt")],
             "val: ../val/images\nnames: {0: dog, 1: cat}\n", "."),
            ([], "path: /gone/on/another/computer\nval: images\nnames:\n  0: dog\n  1: cat\n", "data.yaml"),
        ],
    )  # fmt: skip
    def test_places(self, tmp_path: Path, moves: list[tuple[str, str]], yaml: str, opened: str) -> None:
        yolo(tmp_path, LINE)
        moved(tmp_path, *moves)
        if yaml:
            written(tmp_path / "data.yaml", yaml)
        dataset = open_dataset(tmp_path / opened)
        assert (dataset.kind, dataset.problems) == ("yolo", ())
        assert dataset.class_names == ("background", "dog", "cat")
        assert np.allclose(all_boxes(dataset), [DOG_BOX])
        assert names(dataset) == ["val/a.jpg" if any("val/" in target for _, target in moves) else "a.jpg"]

    @pytest.mark.parametrize("yaml", [True, False])
    def test_splits(self, tmp_path: Path, yaml: bool) -> None:
        for split in ("train", "val"):
            yolo(tmp_path, LINE)
            moved(
                tmp_path,
                ("images/a.jpg", f"images/{split}/{split}.jpg"),
                ("labels/a.txt", f"labels/{split}/{split}.txt"),
            )
        if yaml:
            written(tmp_path / "data.yaml", "train: images/train\nval: images/val\ntest:\nnames: [dog, cat]\n")
        assert names(open_dataset(tmp_path)) == ["train/train.jpg", "val/val.jpg"]
        for split in ("val", "valid"):
            assert names(open_dataset(tmp_path, split=split)) == ["val/val.jpg"]
        with pytest.raises(SettingError, match="no split 'test'; there are train, val"):
            open_dataset(tmp_path, split="test")

    def test_yaml_of_another_encoding_is_told_once(self, tmp_path: Path) -> None:
        yolo(tmp_path, LINE)
        written(tmp_path / "data.yaml", "val: images\nnames: [é, cat]\n".encode("latin-1"))
        dataset = open_dataset(tmp_path)
        assert dataset.class_names == ("background", "é", "cat")
        assert [(p.file.name, p.kind) for p in dataset.problems] == [("data.yaml", "encoding")]

    def test_several_yaml_files(self, tmp_path: Path) -> None:
        yolo(tmp_path, LINE)
        for name in ("a.yaml", "b.yml"):
            written(tmp_path / name, YAML)
        written(tmp_path / "hyperparameters.yaml", "lr0: 0.01\n")
        with pytest.raises(FormatError, match=r"holds 2 YAML files of YOLO data sets: a.yaml, b.yml; name one of them"):
            open_dataset(tmp_path)
        assert names(open_dataset(tmp_path / "b.yml")) == ["a.jpg"]
        written(tmp_path / "data.yaml", YAML)
        assert open_dataset(tmp_path).problems == ()

    def test_lists_of_pictures(self, tmp_path: Path) -> None:
        yolo(tmp_path, LINE)
        picture(tmp_path / "images/b.jpg")
        written(tmp_path / "labels/b.txt", "")
        written(tmp_path / "val.txt", "./images/a.jpg\n\n./images/gone.jpg\n")
        written(tmp_path / "data.yaml", "val: val.txt\ntrain: [gone, also/gone]\nnames: [dog]\n")
        dataset = open_dataset(tmp_path)
        assert (names(dataset), [p.kind for p in dataset.problems]) == (["a.jpg"], ["picture-missing"])

    def test_a_picture_that_a_list_names_twice_counts_once(self, tmp_path: Path) -> None:
        yolo(tmp_path, LINE)
        written(tmp_path / "val.txt", "./images/a.jpg\r\n\r\nimages/a.jpg\r\n")
        written(tmp_path / "data.yaml", "val: val.txt\nnames: [dog]\n")
        dataset = open_dataset(tmp_path)
        assert names(dataset) == ["a.jpg"]
        (problem,) = dataset.problems
        assert (problem.kind, problem.file, problem.object_number) == ("split-twice", tmp_path / "val.txt", 3)

    def test_polygons_become_their_boxes(self, tmp_path: Path) -> None:
        yolo(tmp_path, "0 .1 .4 .3 .5 .2 .8", "1 .1 .4 .3 .4 .3 .8 .1 .8")
        assert np.allclose(all_boxes(open_dataset(tmp_path)), [DOG_BOX, DOG_BOX])

    def test_without_names_the_list_that_was_given_holds(self, tmp_path: Path) -> None:
        yolo(tmp_path, "14 .5 .5 .5 .5", names="")
        dataset = open_dataset(tmp_path, class_names=VOC20)
        assert (dataset.pictures[0].class_ids.tolist(), dataset.problems) == ([15], ())

    def test_names_that_no_file_can_have(self, tmp_path: Path) -> None:
        yolo(tmp_path, LINE)
        written(tmp_path / "val.txt", f"{'y' * 5000}\n\0.jpg\nimages/a.jpg\n")
        written(tmp_path / "data.yaml", f"val: val.txt\ntrain: {'z' * 5000}\nnames: [dog]\n")
        dataset = open_dataset(tmp_path)
        assert (names(dataset), [p.kind for p in dataset.problems]) == (["a.jpg"], ["picture-missing"] * 2)

    @pytest.mark.parametrize(
        ("yaml", "error", "message"),
        [
            ("val: gone\nnames: [dog]\n", FormatError, "none of gone is there; looked below"),
            ("val: images\nnames: dog\n", FormatError, "names is neither a list nor a mapping"),
            ("val: images\nnames: {0: dog, 0: cat}\n", FormatError, "line 2: the key '0' stands there twice"),
            ("val: images\nnames: {0: dog, 00: cat}\n", FormatError, "names has a class number twice"),
            ("val: images\nnames: {dog: 0}\n", FormatError, "names is neither a list nor a mapping"),
            ("val: images\nnames: [dog\n", FormatError, "line 2: expected one pair of brackets"),
            ("val: &x images\nnames: [dog]\n", FormatError, "line 1: '&x images' is of a form that is not understood"),
        ],
    )
    def test_damaged_yaml(self, tmp_path: Path, yaml: str, error: type[Exception], message: str) -> None:
        path = written(yolo(tmp_path, LINE) / "data.yaml", yaml)
        with pytest.raises(error, match=f"{path}: {message}"):
            open_dataset(tmp_path)

    @pytest.mark.parametrize(
        ("yaml", "reason"),
        [
            ("", "is empty"),
            ("train: images\n", "has no names"),
            ("nc: 2\n", "has no names and no train, val or test"),
            ("names: [dog]\n", "has no train, val or test"),
            ("train: &x images\n", "line 1: '&x images' is of a form"),
            ("'names': !!seq [dog]\n", "line 1: '!!seq .*' is of a form"),
            (b"\x00\x93\xff", "line 1: '.*', expected a key"),
        ],
    )
    def test_odd_yaml_is_told_with_the_reason(self, tmp_path: Path, yaml: str | bytes, reason: str) -> None:
        path = written(yolo(tmp_path, LINE, names="") / "data.yaml", yaml)
        (problem,) = [p for p in open_dataset(tmp_path).problems if p.kind != "encoding"]
        assert (problem.kind, problem.file) == ("class-nameless", path)
        assert re.match(f"does not name the 1 class: {reason}", problem.text)
        with pytest.raises(FormatError, match=f"^{path}: is no data set: {reason}.*; expected names, and train"):
            open_dataset(path)

    @pytest.mark.parametrize("entry", ["../../../../../../../../../../", "..", "/", "images/../../", "{above}", "up"])
    @pytest.mark.parametrize("start", ["", "path: ..\n", "path: /\n"])
    def test_a_folder_above_the_data_set_is_never_walked(self, tmp_path: Path, entry: str, start: str) -> None:
        root = yolo(tmp_path / "all/set", LINE)
        (root / "up").symlink_to(tmp_path)
        entry = entry.format(above=tmp_path)
        path = written(root / "data.yaml", f"{start}train: {entry}\nnames: [dog]\n")
        with pytest.raises(
            FormatError, match=rf"^{path}: '.*' leads to /.*, which holds more than this data set; name"
        ):
            open_dataset(path)

    @pytest.mark.parametrize("entry", [".", "images", "../set/images", "../other", "here"])
    def test_other_folders_are(self, tmp_path: Path, entry: str) -> None:
        root = yolo(tmp_path / "set", LINE)
        picture(tmp_path / "other/a.jpg")
        (root / "here").symlink_to(root)
        assert len(open_dataset(written(root / "data.yaml", f"train: {entry}\nnames: [dog]\n")).pictures) == 1

    def test_walks_end(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        root = yolo(tmp_path / "set", LINE)
        monkeypatch.setattr("ssd_detect.datasets.listing.MOST_FOLDERS", 3)
        for name in ("b", "c", "d"):
            (root / "images" / name).mkdir()
        with pytest.raises(FormatError, match=r"images: has more than 3 folders below it, too many for a data set"):
            open_dataset(root)
        shutil.rmtree(root / "images")
        (root / "images").symlink_to("/")
        with pytest.raises(FormatError, match="images: leads to /, which holds more than a data set"):
            open_dataset(root)

    def test_pipes_and_devices_are_never_read(self, tmp_path: Path) -> None:
        root = yolo(tmp_path / "set", LINE, names="")
        os.mkfifo(root / "val.txt")
        written(root / "data.yaml", "val: val.txt\nnames: [dog]\n")
        with pytest.raises(FormatError, match=r"val\.txt: cannot be read: is a pipe, expected a file$"):
            open_dataset(root)
        for name in ("a.json", "a.yaml"):
            os.mkfifo(tmp_path / name)
            with pytest.raises(FormatError, match=f"{name}: is a pipe, expected a VOC folder"):
                open_dataset(tmp_path / name)
        os.mkfifo(written(voc(tmp_path / "voc", DOG) / "ImageSets/Main/a.txt", "a").with_name("test.txt"))
        with pytest.raises(FormatError, match=r"test\.txt: cannot be read: is a pipe"):
            open_dataset(tmp_path / "voc", split="test")

    def test_odd_yaml_beside_nothing_else(self, tmp_path: Path) -> None:
        path = written(tmp_path / "data.yaml", "names: [dog]\n")
        with pytest.raises(FormatError, match=f"^{path}: is no data set: has no train, val or test; expected names"):
            open_dataset(tmp_path)
        path.unlink()
        os.mkfifo(path)
        with pytest.raises(FormatError, match=f"^{path}: is no data set: is a pipe"):
            open_dataset(tmp_path)
        assert open_dataset(voc(tmp_path, DOG)).kind == "voc"

    def test_broken_links_beside_are_passed_over(self, tmp_path: Path) -> None:
        for name in ("labels/b.txt", "labels/b.xml", "b.json", "b.yaml"):
            (yolo(tmp_path, LINE) / name).symlink_to("gone")
        assert open_dataset(tmp_path).problems == ()

    def test_pictures_cannot_be_elsewhere(self, tmp_path: Path) -> None:
        with pytest.raises(SettingError, match="leave --pictures out"):
            open_dataset(yolo(tmp_path, LINE), pictures=tmp_path)


class TestRefusals:
    def test_nothing_there(self, tmp_path: Path) -> None:
        with pytest.raises(SettingError, match=r"gone: no such file or folder; expected a VOC folder .* a COCO file"):
            open_dataset(tmp_path / "gone")

    @pytest.mark.parametrize(
        "name", ["photo.jpg", "Annotations/a.xml", "JPEGImages/photo.jpg", "notes.txt", "a.json", "x.yaml"]
    )
    def test_no_data_set(self, tmp_path: Path, name: str) -> None:
        path = picture(tmp_path / name) if name.endswith("jpg") else written(tmp_path / name, "{}")
        for one in (tmp_path, path):
            with pytest.raises(
                FormatError,
                match=f"^{one}: (holds|is) no data set(; (looked for|expected) a VOC folder|: line 1: '{{}}')",
            ):
                open_dataset(one)

    def test_more_than_one(self, tmp_path: Path) -> None:
        voc(tmp_path, DOG)
        coco(tmp_path, coco_object())
        moved(tmp_path, ("annotations/instances_val.json", "val.json"))
        with pytest.raises(
            FormatError, match=r"may be VOC \(XML files in .*\) or COCO \(val.json\); name the folder of"
        ):
            open_dataset(tmp_path)
        assert open_dataset(tmp_path / "Annotations").kind == "voc"
        assert open_dataset(tmp_path / "val.json").kind == "coco"

    def test_unknown_classes_are_all_told(self, tmp_path: Path) -> None:
        objects = [
            voc_object(name, (1, 1, 9 + i, 9)) for i, name in enumerate(["prson", "feng", "feng", "dog", "Dog "])
        ]
        with pytest.raises(
            UnknownClassError,
            match=r"has classes that are not in the list of 20: 'feng' \(2 objects\), 'prson' \(1 object; did you mean "
            r"person\?\); name all classes with --classes-file, or leave these out with --ignore-unknown$",
        ):
            open_dataset(voc(tmp_path, *objects), class_names=VOC20)

    def test_many_unknown_classes_are_cut_short(self, tmp_path: Path) -> None:
        objects = [voc_object(f"thing {i}") for i in range(30)]
        with pytest.raises(UnknownClassError, match="and 20 more; name all"):
            open_dataset(voc(tmp_path, *objects), class_names=VOC20)


class TestPictureSizes:
    @pytest.mark.parametrize("suffix", ["jpg", "png", "webp", "gif", "bmp", "tif", "jp2", "ppm", "avif", "heic"])
    @pytest.mark.parametrize("orientation", [None, 1, 3, 6, 8])
    def test_equals_that_of_the_decoded_picture(self, tmp_path: Path, suffix: str, orientation: int | None) -> None:
        options: dict[str, Any] = {} if orientation is None or suffix in ("bmp", "ppm", "gif", "jp2") else {
            "exif": exif(orientation)
        }  # fmt: skip
        path = picture(tmp_path / f"a.{suffix}", (60, 40), **options)
        size = picture_size(path, name="a")
        assert size == open_picture(path, name="a").size
        assert sorted(size) == [40, 60]

    def test_turned_pictures_count_as_a_person_sees_them(self, tmp_path: Path) -> None:
        picture(tmp_path / "JPEGImages/a.jpg", (50, 100), exif=exif(6))
        written(tmp_path / "Annotations/a.xml", voc_xml(DOG))
        dataset = open_dataset(tmp_path)
        assert (dataset.pictures[0].size, dataset.problems) == ((100, 50), ())

    def test_nothing_is_decoded(self, tmp_path: Path) -> None:
        whole = picture(tmp_path / "a.png", (60, 40)).read_bytes()
        written(tmp_path / "b.png", whole[:45])
        assert picture_size(tmp_path / "b.png", name="b") == (60, 40)

    @pytest.mark.parametrize(
        ("content", "message"),
        [(b"", "is empty"), (b"no", "is no picture"), (b"\xff\xd8\xff\xe0", "cannot be read as JPEG")],
    )
    def test_damage(self, tmp_path: Path, content: bytes, message: str) -> None:
        with pytest.raises(PictureError, match=f"^a: {message}"):
            picture_size(written(tmp_path / "a", content), name="a")

    def test_too_many_pixels(self, tmp_path: Path) -> None:
        with pytest.raises(PictureError, match="more than the limit of 100"):
            picture_size(picture(tmp_path / "a.png"), name="a", max_pixels=100)


def test_five_thousand_pictures_read_in_a_few_seconds(tmp_path: Path) -> None:
    first = picture(tmp_path / "images/0.jpg")
    for i in range(1, 5000):
        os.link(first, tmp_path / f"images/{i}.jpg")
    images = [{"id": i, "file_name": f"{i}.jpg", "width": 100, "height": 50} for i in range(5000)]
    annotations = [coco_object(image_id=i, bbox=[k, 0, 9, 9]) for i in range(5000) for k in range(8)]
    path = written(
        tmp_path / "annotations/instances_val.json", json.dumps(coco_value(images=images, annotations=annotations))
    )
    begin = process_time()
    dataset = open_dataset(path)
    assert process_time() - begin < 20  # about 3 on one core of 2024
    assert (len(dataset.pictures), dataset.problems) == (5000, ())


def test_links_to_folders_are_followed(tmp_path: Path) -> None:
    voc(tmp_path / "set", DOG)
    moved(tmp_path, ("set/JPEGImages", "photos"))
    (tmp_path / "set/JPEGImages").symlink_to(tmp_path / "photos")
    assert all_boxes(open_dataset(tmp_path / "set")) == [DOG_BOX]
