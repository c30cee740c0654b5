"""Converting data sets: there and back, what is lost and told, and what is refused."""

import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pycocotools.coco import COCO  # type: ignore[import-untyped]

from ssd_detect.classes import BACKGROUND, COCO80, VOC20
from ssd_detect.datasets.converting import PictureTransfer, convert
from ssd_detect.datasets.dataset import AnnotatedPicture, Dataset, DatasetKind
from ssd_detect.datasets.opening import open_dataset
from ssd_detect.errors import OutputError
from tests.made_datasets import coco, coco_object, picture, voc, voc_object, written, yolo

COPY, LINK = PictureTransfer.COPY, PictureTransfer.LINK
quick = settings(max_examples=25, deadline=None)


def annotated(path: Path, boxes: Any = (), **change: Any) -> AnnotatedPicture:
    """A picture of 100x50 with ordinary objects of class 1, 2, 1, ..."""
    corners = np.array(boxes, np.float64).reshape(-1, 4)
    n = len(corners)
    none = np.zeros(n, np.bool_)
    one = AnnotatedPicture(
        path,
        path.name,
        (100, 50),
        corners,
        1 + np.arange(n, dtype=np.int64) % 2,
        none,
        none,
        none,
        (corners[:, 2] - corners[:, 0]) * (corners[:, 3] - corners[:, 1]),
    )
    return replace(one, **change)


def dataset_of(root: Path, *pictures: AnnotatedPicture, split: str | None = None, **change: Any) -> Dataset:
    return replace(Dataset(root, DatasetKind.VOC, split, (BACKGROUND, "dog", "cat"), pictures, ()), **change)


def assert_same(back: Dataset, first: Dataset, decimals: int = 9) -> None:
    assert not [p for p in back.problems if p.kind != "box-thin"]  # a box of one pixel is told, and kept
    assert back.class_names == first.class_names
    assert [p.path.name for p in back.pictures] == [p.path.name for p in first.pictures]
    for one, other in zip(back.pictures, first.pictures, strict=True):
        assert one.size == other.size
        assert one.class_ids.tolist() == other.class_ids.tolist()
        assert np.allclose(one.boxes, other.boxes, rtol=0, atol=10.0**-decimals)


@st.composite
def objects(draw: st.DrawFn, *, whole: bool) -> dict[str, Any]:
    """Columns of one picture of 100x50: boxes in whole pixels or thousandths, each another one; any flags."""
    unit = 1 if whole else 1000
    sides = [st.integers(0, side * unit) for side in (100, 50)]
    pairs = [st.lists(side, min_size=2, max_size=2, unique=True).map(sorted) for side in sides]
    drawn = draw(st.lists(st.tuples(*pairs), max_size=5, unique_by=str))
    boxes = np.array([(x0, y0, x1, y1) for (x0, x1), (y0, y1) in drawn], np.float64).reshape(-1, 4) / unit
    n = len(boxes)
    flags = [np.array(draw(st.lists(st.booleans(), min_size=n, max_size=n)), np.bool_) for _ in range(3)]
    class_ids = np.array(draw(st.lists(st.integers(1, 2), min_size=n, max_size=n)), np.int64)
    area = np.array(draw(st.lists(st.integers(1, 5000), min_size=n, max_size=n)), np.float64)
    return dict(zip(("boxes", "class_ids", "difficult", "crowd", "truncated", "area"),
                    (boxes, class_ids, *flags, area), strict=True))  # fmt: skip


def there_and_back(kind: DatasetKind, columns: dict[str, Any], check: Callable[[Dataset, Dataset], None]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        pictures = [
            annotated(picture(root / "source" / f"{name}.png"), **(columns if name == "a" else {})) for name in "ab"
        ]
        # A second name keeps VOC from taking the classes for its own 20.
        first = dataset_of(root / "source", *pictures)
        convert(first, root / "target", kind, transfer=COPY)
        check(open_dataset(root / "target", class_names=first.class_names), first)


class TestThereAndBack:
    @quick
    @given(objects(whole=True))
    def test_voc_in_whole_pixels(self, columns: dict[str, Any]) -> None:
        def check(back: Dataset, first: Dataset) -> None:
            assert_same(back, first)
            for one, other in zip(back.pictures, first.pictures, strict=True):
                assert one.truncated.tolist() == other.truncated.tolist()
                assert one.difficult.tolist() == (other.difficult | other.crowd).tolist()

        there_and_back(DatasetKind.VOC, columns, check)

    @quick
    @given(objects(whole=False))
    def test_coco(self, columns: dict[str, Any]) -> None:
        def check(back: Dataset, first: Dataset) -> None:
            assert_same(back, first)
            for one, other in zip(back.pictures, first.pictures, strict=True):
                for name in ("difficult", "crowd", "truncated", "area"):
                    assert getattr(one, name).tolist() == getattr(other, name).tolist()

        there_and_back(DatasetKind.COCO, columns, check)

    @quick
    @given(objects(whole=False))
    def test_yolo(self, columns: dict[str, Any]) -> None:
        columns["crowd"][:] = False
        there_and_back(DatasetKind.YOLO, columns, lambda back, first: assert_same(back, first, decimals=5))

    def test_voc_keeps_parts_of_pixels(self, tmp_path: Path) -> None:
        first = dataset_of(tmp_path / "s", annotated(picture(tmp_path / "s/a.jpg"), [(0.125, 1, 30.5, 40)]))
        convert(first, tmp_path / "t", DatasetKind.VOC, transfer=COPY)
        text = (tmp_path / "t/Annotations/a.xml").read_text()
        assert "<xmin>1.125</xmin>" in text
        assert "<ymin>2</ymin>" in text
        assert open_dataset(tmp_path / "t").pictures[0].boxes.tolist() == [[0.125, 1, 30.5, 40]]

    @pytest.mark.parametrize("names", [VOC20, COCO80])
    @pytest.mark.parametrize("kind", DatasetKind)
    def test_class_lists(self, tmp_path: Path, names: tuple[str, ...], kind: DatasetKind) -> None:
        class_ids = np.arange(1, len(names), dtype=np.int64)
        boxes = [(k % 10, k // 10, k % 10 + 5, k // 10 + 5) for k in class_ids]
        one = annotated(picture(tmp_path / "s/a.jpg"), boxes, class_ids=class_ids)
        first = dataset_of(tmp_path / "s", one, class_names=names)
        convert(first, tmp_path / "t", kind, transfer=COPY)
        back = open_dataset(tmp_path / "t", class_names=names if kind is DatasetKind.VOC else None)
        assert_same(back, first, decimals=5)

    @pytest.mark.parametrize("kind", DatasetKind)
    def test_folders_splits_and_pictures_without_objects(self, tmp_path: Path, kind: DatasetKind) -> None:
        places = [picture(tmp_path / f"s/{name}.jpg") for name in ("x/a", "y/a", "ä, b.c")]
        pictures = [annotated(p, name=p.relative_to(tmp_path / "s").as_posix()) for p in places]
        first = dataset_of(tmp_path / "s", *pictures, split="test")
        done = convert(first, tmp_path / "t", kind, transfer=LINK)
        back = open_dataset(tmp_path / "t", split="test", class_names=first.class_names)
        assert sorted(p.name.removeprefix("test/") for p in back.pictures) == ["x/a.jpg", "y/a.jpg", "ä, b.c.jpg"]
        assert (back.problems, done.pictures, done.objects) == ((), 3, 0)
        assert all(p.path.is_symlink() for p in back.pictures)
        assert open_dataset(done.opened_by, class_names=first.class_names).kind is kind

    @pytest.mark.parametrize("name", ["a.b.png", "a.jpg.png", "a b.png", "a -1.png"])
    def test_names_with_dots_and_blanks_in_a_split(self, tmp_path: Path, name: str) -> None:
        first = dataset_of(tmp_path / "set", annotated(picture(tmp_path / "set" / name), [(0, 0, 9, 9)]), split="val")
        convert(first, tmp_path / "out", DatasetKind.VOC, transfer=COPY)
        assert [p.name for p in open_dataset(tmp_path / "out", split="val").pictures] == [name]

    @pytest.mark.parametrize("kind", [DatasetKind.VOC, DatasetKind.COCO])
    def test_pictures_may_stay(self, tmp_path: Path, kind: DatasetKind) -> None:
        first = open_dataset(voc(tmp_path / "s", voc_object()))
        convert(first, tmp_path / "t", kind)
        back = open_dataset(tmp_path / "t", pictures=tmp_path / "s/JPEGImages")
        assert back.pictures[0].path == first.pictures[0].path

    def test_pycocotools_reads_it(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        first = open_dataset(coco(tmp_path / "s", coco_object(), coco_object(category_id=90, iscrowd=1, area=5)))
        done = convert(first, tmp_path / "t", DatasetKind.COCO, transfer=COPY)
        theirs = COCO(str(done.opened_by))
        assert [(a["image_id"], a["bbox"], a["area"], a["iscrowd"]) for a in theirs.loadAnns(theirs.getAnnIds())] == [
            (7, [10, 20, 20, 20], 300, 0),
            (7, [10, 20, 20, 20], 5, 1),
        ]
        assert [c["name"] for c in theirs.loadCats(theirs.getCatIds())] == ["dog", "cat"]


class TestLosses:
    def of(self, tmp_path: Path, kind: DatasetKind) -> tuple[int, tuple[str, ...]]:
        boxes = [(0, 0, 9, 9), (1, 1, 9, 9), (2, 2, 9, 9)]
        one = annotated(picture(tmp_path / "s/a.jpg"), boxes, difficult=np.array([True, False, False]),
                        crowd=np.array([False, True, False]), truncated=np.array([False, False, True]))  # fmt: skip
        done = convert(dataset_of(tmp_path / "s", one, kind=DatasetKind.COCO), tmp_path / "t", kind)
        return done.objects, done.losses

    def test_coco_holds_all(self, tmp_path: Path) -> None:
        assert self.of(tmp_path, DatasetKind.COCO) == (3, ())

    def test_voc(self, tmp_path: Path) -> None:
        objects, losses = self.of(tmp_path, DatasetKind.VOC)
        assert objects == 3
        assert losses == (
            "1 regions of crowds are objects with difficult 1: VOC has no crowds",
            "areas of segments and COCO's ids are not written: VOC has none",
        )

    def test_yolo(self, tmp_path: Path) -> None:
        objects, losses = self.of(tmp_path, DatasetKind.YOLO)
        assert objects == 2
        assert [loss.split(":")[0] for loss in losses] == [
            "1 regions of crowds are left out",
            "1 difficult objects are objects like any other",
            "1 objects are truncated, which YOLO cannot say",
            "areas of segments and COCO's ids are not written",
        ]


class TestRefusals:
    def test_nothing_is_replaced_unasked(self, tmp_path: Path) -> None:
        first = open_dataset(voc(tmp_path / "s", voc_object()))
        written(tmp_path / "t/ImageSets/Main/all.txt", "mine")
        with pytest.raises(OutputError, match=r"all.txt: exists already"):
            convert(first, tmp_path / "t", DatasetKind.VOC, transfer=COPY)
        assert [p.name for p in (tmp_path / "t").rglob("*") if p.is_file()] == ["all.txt"]
        convert(first, tmp_path / "t", DatasetKind.VOC, transfer=COPY, overwrite=True)
        convert(first, tmp_path / "t", DatasetKind.VOC, transfer=LINK, overwrite=True)
        convert(first, tmp_path / "t", DatasetKind.VOC, transfer=LINK, overwrite=True)
        assert (tmp_path / "t/ImageSets/Main/all.txt").read_text() == "a\n"

    @pytest.mark.parametrize("kind", DatasetKind)
    @pytest.mark.parametrize("below", ["", "new"])
    def test_the_source_is_never_written_to(self, tmp_path: Path, kind: DatasetKind, below: str) -> None:
        first = open_dataset(voc(tmp_path, voc_object()))
        with pytest.raises(OutputError, match="lies in the data set"):
            convert(first, tmp_path / below, kind, transfer=COPY, overwrite=True)

    def test_not_even_from_above(self, tmp_path: Path) -> None:
        path = coco(tmp_path, coco_object())
        path = path.rename(path.with_name("instances_all.json"))
        before = path.read_bytes()
        for transfer in PictureTransfer:
            with pytest.raises(OutputError, match="belongs to the data set itself"):
                convert(open_dataset(path), tmp_path, DatasetKind.COCO, transfer=transfer, overwrite=True)
        with pytest.raises(OutputError, match=r"a.jpg: belongs to the data set itself"):
            convert(open_dataset(path), tmp_path, DatasetKind.YOLO, transfer=LINK, overwrite=True)
        assert path.read_bytes() == before

    @pytest.mark.parametrize("kind", DatasetKind)
    @pytest.mark.parametrize("there", DatasetKind)
    @pytest.mark.parametrize("transfer", [PictureTransfer.NONE, COPY])
    def test_no_layout_beside_another(
        self, tmp_path: Path, kind: DatasetKind, there: DatasetKind, transfer: PictureTransfer
    ) -> None:
        first = open_dataset(voc(tmp_path / "s", voc_object()))
        convert(first, tmp_path / "t", there, transfer=transfer)
        before = sorted((tmp_path / "t").rglob("*"))
        if kind is there:
            convert(first, tmp_path / "t", kind, transfer=transfer, overwrite=True)
        else:
            with pytest.raises(OutputError, match=f"t: holds a {there.value.upper()} data set already; name another"):
                convert(first, tmp_path / "t", kind, transfer=transfer, overwrite=True)
        assert sorted((tmp_path / "t").rglob("*")) == before

    @pytest.mark.parametrize("kind", DatasetKind)
    def test_names_that_meet(self, tmp_path: Path, kind: DatasetKind) -> None:
        pictures = [annotated(picture(tmp_path / "s" / name)) for name in ("a.jpg", "A.jpg")]
        with pytest.raises(OutputError, match="two pictures of the data set would have this name"):
            convert(dataset_of(tmp_path / "s", *pictures), tmp_path / "t", kind, transfer=COPY)
        assert not (tmp_path / "t").exists()

    @pytest.mark.parametrize("kind", [DatasetKind.VOC, DatasetKind.YOLO])
    def test_annotations_that_meet(self, tmp_path: Path, kind: DatasetKind) -> None:
        pictures = [annotated(picture(tmp_path / "s" / name)) for name in ("a.jpg", "a.png")]
        with pytest.raises(OutputError, match="two pictures of the data set would have this annotation"):
            convert(dataset_of(tmp_path / "s", *pictures), tmp_path / "t", kind)

    def test_names_that_lead_elsewhere_stay_below(self, tmp_path: Path) -> None:
        one = annotated(picture(tmp_path / "s/a.jpg"), name="../../a.jpg")
        other = annotated(picture(tmp_path / "s/b.jpg"), name="/etc/b.jpg")
        convert(dataset_of(tmp_path / "s", one, other), tmp_path / "t", DatasetKind.YOLO, transfer=COPY)
        assert (tmp_path / "t/images/a.jpg").exists()
        assert (tmp_path / "t/images/etc/b.jpg").exists()


def test_all_ways_around(tmp_path: Path) -> None:
    """YOLO, VOC, COCO and YOLO again: nothing changes that all of them hold."""
    first = open_dataset(yolo(tmp_path / "0", "0 0.205 0.6 0.19 0.4", "1 0.5 0.5 1 1"))
    dataset = first
    for number, kind in enumerate((DatasetKind.VOC, DatasetKind.COCO, DatasetKind.YOLO), 1):
        convert(dataset, tmp_path / str(number), kind, transfer=COPY)
        dataset = open_dataset(tmp_path / str(number), class_names=first.class_names)
    assert_same(dataset, first, decimals=5)
