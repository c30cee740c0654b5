"""From data sets and detections to tables: classes and pictures by name, kept outputs, saved predictions."""

import io
import json
import zipfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path, PurePosixPath
from time import process_time
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ssd_detect.arrays import Floats
from ssd_detect.boxes.anchors import make_anchors
from ssd_detect.boxes.outputs import OutputDecoder
from ssd_detect.boxes.profiles import resolved
from ssd_detect.classes import COCO80, COCO91, VOC20
from ssd_detect.conventions import AnchorClip, AnchorRounding, Arithmetic, ColourOrder, Profile
from ssd_detect.datasets.dataset import AnnotatedPicture
from ssd_detect.detections import Detection, Detections
from ssd_detect.errors import FormatError, OutputError, SettingError, UnknownClassError
from ssd_detect.evaluating.found import Found
from ssd_detect.evaluating.kept_outputs import found_in_outputs
from ssd_detect.evaluating.raw_file import RawHeader, RawPicture, encoded, open_raw, write_raw
from ssd_detect.evaluating.saved import found_in_predictions
from ssd_detect.evaluating.tables import PictureNumbers, PredictionRows, ids_by_name, truth_of
from ssd_detect.formats.names import WRITERS
from ssd_detect.formats.provenance import Provenance
from ssd_detect.formats.record import OutputSettings, PictureRecord
from ssd_detect.formats.rounding import rounded_rows
from ssd_detect.settings import CheckpointSettings, DetectionSettings
from ssd_detect.stages import StageTimes

NAMES = ("background", "cat", "dog")
ANY = CheckpointSettings("any")


def picture(
    name: str, objects: Sequence[tuple[int, tuple[float, ...]]] = (), size: Any = (100, 50)
) -> AnnotatedPicture:
    n = len(objects)
    boxes = np.array([box for _, box in objects], np.float64).reshape(-1, 4)
    flags = np.zeros(n, np.bool_)
    ids = np.array([class_id for class_id, _ in objects], np.int64)
    return AnnotatedPicture(Path(name), name, size, boxes, ids, flags, flags, flags, np.ones(n))


def detections(*found: tuple[int, float, tuple[float, ...]], names: Any = NAMES, size: Any = (100, 50)) -> Detections:
    ids, scores, boxes = zip(*found, strict=True) if found else ((), (), ())
    return Detections(
        np.array(boxes, np.float32).reshape(-1, 4), np.array(scores, np.float32), np.array(ids, np.int64), size, names
    )


def rounded_as_python_does(one: Detection, size: tuple[int, int]) -> tuple[float, list[float]]:
    """Score and box with their decimals; a side that this makes empty is 0.001 pixels long, inside the picture."""
    box = [round(v, 3) + 0.0 for v in one.box]
    for low, high, limit in ((0, 2, size[0]), (1, 3, size[1])):
        if box[low] == box[high] and box[low] + 0.001 <= limit:
            box[high] = round(box[low] + 0.001, 3)
        elif box[low] == box[high]:
            box[low] = round(box[low] - 0.001, 3)
    return round(one.score, 6) + 0.0, box


BOX = (10.0, 10.0, 20.0, 20.0)
SIZES = st.tuples(st.integers(1, 20_000), st.integers(1, 20_000))
ALL = np.array([False, True, True])


class TestClasses:
    @pytest.mark.parametrize(
        ("names", "known", "ids"),
        [
            (("background",), NAMES, [0]),
            (("background", "Dog", "bird", "cat"), NAMES, [0, 2, -1, 1]),
            (("background", "tv", "sofa"), VOC20, [0, 20, 18]),
            (("background", "background"), NAMES, [0, -1]),
            (VOC20, VOC20, list(range(21))),
        ],
    )
    def test_by_name(self, names: tuple[str, ...], known: tuple[str, ...], ids: list[int]) -> None:
        assert ids_by_name(names, known).tolist() == ids


class TestTruth:
    def test_nothing(self) -> None:
        truth = truth_of([], NAMES, NAMES, ALL)
        assert (len(truth.table), truth.table.num_pictures, list(truth.notes())) == (0, 0, [])

    def test_pictures_without_objects_count(self) -> None:
        truth = truth_of([picture("a"), picture("b", [(1, BOX)]), picture("c")], NAMES, NAMES, ALL)
        assert (truth.table.picture.tolist(), truth.table.num_pictures) == ([1], 3)

    def test_classes_are_numbered_as_the_checkpoint_does(self) -> None:
        of_set = ("background", "zebra", "Dog", "cat")
        pictures = [picture("a", [(1, BOX), (2, BOX)]), picture("b", [(3, BOX), (1, BOX)])]
        truth = truth_of(pictures, of_set, NAMES, ALL)
        assert truth.table.class_id.tolist() == [2, 1]
        assert list(truth.notes()) == ["Objects of classes that this checkpoint cannot find are left out: zebra 2."]

    def test_unwanted_classes(self) -> None:
        truth = truth_of([picture("a", [(1, BOX), (2, BOX)])], NAMES, NAMES, np.array([False, True, False]))
        assert truth.table.class_id.tolist() == [1]
        assert list(truth.notes()) == ["Objects of classes that were not asked for are left out: 1."]


class TestPictures:
    PICTURES = (picture("a.jpg"), picture("sub/b.jpg"), picture("other/b.jpg"))

    def rows(self, wanted: Any = ALL) -> PredictionRows:
        return PredictionRows(PictureNumbers(Path("set"), self.PICTURES), wanted)

    def test_nothing(self) -> None:
        assert len(self.rows().table(3)) == 0

    def test_names_and_rounding(self) -> None:
        rows = self.rows()
        rows.add("somewhere/other/b.png", detections())  # two of this name: not told apart
        rows.add("sub/b.jpg", detections((2, 0.1234567, (0, 0, 1.23456, 3)), (1, 0.1, BOX)))
        rows.add("elsewhere/a.png", detections((1, 0.75, BOX)))
        table = rows.table(3)
        assert table.picture.tolist() == [0, 1, 1]
        assert table.class_id.tolist() == [1, 2, 1]
        assert table.score.tolist() == [0.75, 0.123457, 0.1]
        assert table.boxes[1].tolist() == [0, 0, 1.235, 3]
        assert (rows.numbers, len(rows.foreign)) == ({0, 1}, 1)
        assert "fits 2 pictures" in rows.foreign[0].reason

    @settings(max_examples=200, deadline=None)
    @given(numbers=st.lists(st.tuples(*[st.floats(0, 1, width=32)] * 5), max_size=20), size=SIZES)
    def test_numbers_are_those_that_are_written(self, numbers: Any, size: tuple[int, int]) -> None:
        """Rounded all at once, they equal Python's own rounding of each."""
        scores, boxes = np.array([one[0] for one in numbers]), np.array([one[1:] for one in numbers]).reshape(-1, 2, 2)
        corners = np.sort(boxes * np.array(size), axis=1).reshape(-1, 4).astype(np.float32)
        has_area = (corners[:, :2] < corners[:, 2:]).all(axis=1)
        found = [(1, s, tuple(b)) for s, b in zip(scores[has_area], corners[has_area].tolist(), strict=True)]
        made = detections(*found, size=size)
        rows = PredictionRows(PictureNumbers(Path("set"), (picture("a.jpg", size=size),)), ALL)
        assert rows.add("a.jpg", made)
        table = rows.table(1)
        expected = [rounded_as_python_does(one, size) for one in made]
        assert list(zip(table.score.tolist(), table.boxes.tolist(), strict=True)) == expected
        assert [(row.score, list(row.box)) for row in rounded_rows(made)] == expected

    def test_a_million_rows_take_no_second(self) -> None:
        """Six before they were rounded all at once; process time, which other work does not lengthen."""
        n = 1000
        one = detections(*[(1, 0.123456789, (0.1234, 0.5678, 9.8765, 8.7654))] * n)
        rows = PredictionRows(PictureNumbers(Path("set"), [picture(f"{i}.jpg") for i in range(n)]), ALL)
        begin = process_time()
        for i in range(n):
            rows.add(f"{i}.jpg", one)
        assert len(rows.table(n)) == n * n
        assert process_time() - begin < 2

    def test_unwanted_classes(self) -> None:
        rows = self.rows(np.array([False, False, True]))
        rows.add("a.jpg", detections((1, 0.5, BOX), (2, 0.4, BOX)))
        assert rows.table(3).class_id.tolist() == [2]

    @pytest.mark.parametrize(
        ("second", "size", "message"),
        [
            ("a.jpg", (100, 50), "a.jpg: has detections twice"),
            ("x/a.jpg", (100, 50), "x/a.jpg: is the same picture of the data set as a.jpg: a.jpg"),
            ("sub/b.jpg", (50, 100), "of a picture of 50x100 pixels, the data set's is 100x50"),
        ],
    )
    def test_contradictions(self, second: str, size: Any, message: str) -> None:
        rows = self.rows()
        rows.add("a.jpg", detections())
        with pytest.raises(FormatError, match=message):
            rows.add(second, detections(size=size))


def header(**change: Any) -> RawHeader:
    whole = RawHeader(
        "made", "ab" * 32, VOC20, "voc300", AnchorRounding.FLOAT, AnchorClip.NONE, Profile.TUTORIAL, 0.005,
        (RawPicture("a.jpg", 500, 375), RawPicture("b.jpg", 100, 50)),
    )  # fmt: skip
    return replace(whole, **change)


def softmax_outputs(seed: int, num_classes: int = 21) -> tuple[Floats, Floats]:
    """Scores and offsets as of an SSD300: nearly all anchors see background."""
    random = np.random.default_rng(seed)
    logits = random.normal(0, 2, (8732, num_classes))
    logits[:, 0] += random.choice([0, 9, 12], 8732, p=[0.01, 0.39, 0.6])
    scores = np.exp(logits)
    scores /= scores.sum(axis=1, keepdims=True)
    return scores.astype(np.float32), random.normal(0, 1, (8732, 4)).astype(np.float32)


def written(folder: Path, of_file: RawHeader, *outputs: tuple[Floats, Floats]) -> Path:
    arrays = [folder / f"{i}.npy" for i in range(len(outputs))]
    for path, (scores, offsets) in zip(arrays, outputs, strict=True):
        path.write_bytes(encoded(scores, offsets, of_file.floor))
    write_raw(folder / "raw.npz", of_file, arrays, overwrite=True)
    return folder / "raw.npz"


def decoded(path: Path, checkpoint: CheckpointSettings = ANY, **chosen: Any) -> tuple[Found, list[Detections]]:
    with open_raw(path) as raw:
        found = found_in_outputs(raw, checkpoint, DetectionSettings(**{"score_threshold": 0.01, **chosen}))
        return found, [one for _, one in found.pictures]


@pytest.fixture(scope="module")
def raw(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file of two pictures' outputs."""
    return written(tmp_path_factory.mktemp("raw"), header(), softmax_outputs(1), softmax_outputs(2))


class TestKeptOutputs:
    @pytest.mark.parametrize("precision", Arithmetic)
    def test_tell_what_the_network_computed_with(self, tmp_path: Path, precision: Arithmetic) -> None:
        path = written(tmp_path, header(precision=precision, pictures=()))
        found, _ = decoded(path)
        assert found.provenance is not None
        assert found.provenance.precision is precision

    @pytest.mark.parametrize("profile", Profile)
    @pytest.mark.parametrize(
        "chosen",
        [
            {},
            {"score_threshold": 0.005, "nms_threshold": 0.6, "top_k": 50},
            {"score_threshold": 0.5, "class_thresholds": (("person", 0.01), ("dog", 0.9))},
            {"class_agnostic": True, "classes": ("person", "dog"), "max_detections": 7},
        ],
    )
    def test_give_what_the_network_gave(self, raw: Path, profile: Profile, chosen: dict[str, Any]) -> None:
        """For every profile and setting the detections are those of all outputs."""
        found, there = decoded(raw, profile=profile, **chosen)
        assert (found.class_names, found.provenance and found.provenance.checkpoint_name) == (VOC20, "made")
        wanted = resolved(
            DetectionSettings(**{"score_threshold": 0.01, "profile": profile, **chosen}), Profile.TUTORIAL
        )
        decode = OutputDecoder(VOC20, wanted, StageTimes())
        for seed, one, size in zip((1, 2), there, ((500, 375), (100, 50)), strict=True):
            assert one == decode(*softmax_outputs(seed), make_anchors("voc300"), size)
            assert len(one) > 0

    def test_the_file_is_a_zip_of_arrays(self, raw: Path) -> None:
        with np.load(raw) as file:
            assert sorted(file.files) == ["000000", "000001", "header.json"]
            rows = file["000000"]
        scores, offsets = softmax_outputs(1)
        assert (rows["scores"][:, 1:].max(axis=1) >= np.float32(0.005)).all()
        assert np.array_equal(rows["scores"], scores[rows["anchor"]])
        assert np.array_equal(rows["offsets"], offsets[rows["anchor"]])
        with zipfile.ZipFile(raw) as archive:
            told = json.loads(archive.read("header.json"))
        assert (told["schema"], told["floor"], told["class_names"]) == ("ssd-detect.raw/1", 0.005, list(VOC20))
        assert told["pictures"][0] == {"name": "a.jpg", "width": 500, "height": 375, "rows": len(rows)}

    def test_the_same_outputs_make_the_same_file(self, raw: Path, tmp_path: Path) -> None:
        assert written(tmp_path, header(), softmax_outputs(1), softmax_outputs(2)).read_bytes() == raw.read_bytes()

    @settings(max_examples=20, deadline=None)
    @given(seed=st.integers(0, 2**32 - 1))
    def test_there_and_back(self, seed: int, tmp_path_factory: pytest.TempPathFactory) -> None:
        random = np.random.default_rng(seed)
        scores = random.choice(np.array([0, 0.004, 0.005, 0.9, np.nan], np.float32), (9, 3))
        offsets = random.normal(size=(9, 4)).astype(np.float32)
        num_kept = int((scores[:, 1:] >= np.float32(0.005)).any(axis=1).sum())
        one = header(class_names=NAMES, pictures=(RawPicture("a\udc80.jpg", 5, 4, num_kept),))
        with open_raw(written(tmp_path_factory.mktemp("raw"), one, (scores, offsets))) as raw:
            back = raw.outputs(0)
            assert raw.header == one
        kept = [i for i in range(9) if (scores[i, 1:] >= np.float32(0.005)).any()]
        assert back.anchors.tolist() == kept
        assert np.array_equal(back.scores, scores[kept], equal_nan=True)
        assert np.array_equal(back.offsets, offsets[kept])

    @pytest.mark.parametrize(
        "chosen",
        [{"score_threshold": 0.004}, {"score_threshold": 0.5, "class_thresholds": (("dog", 0.001),)}],
    )
    def test_nothing_below_the_floor(self, raw: Path, chosen: Any) -> None:
        with pytest.raises(SettingError, match=r"holds what scores 0\.005 or more, the score threshold is 0\.00"):
            decoded(raw, **chosen)

    def test_unwanted_classes_have_no_floor(self, raw: Path) -> None:
        decoded(raw, classes=("person",), class_thresholds=(("dog", 0.001),))

    @pytest.mark.parametrize(("names", "least"), [(COCO80, 0.007143), (COCO91, 0.007692)])
    def test_class_list(self, tmp_path: Path, names: tuple[str, ...], least: float) -> None:
        """Cutting classes out is a softmax over those that stay; what the floor left out stays below the limit."""
        scores, offsets = softmax_outputs(3, len(names))
        path = written(tmp_path, header(class_names=names, pictures=header().pictures[:1]), (scores, offsets))
        with pytest.raises(SettingError, match=f"holds what scores {least:.4g} or more"):
            decoded(path, CheckpointSettings("any", class_list="voc20"), score_threshold=least - 1e-5)
        found, (one,) = decoded(path, CheckpointSettings("any", class_list="voc20"), score_threshold=0.01)
        assert found.class_names == VOC20
        cut = [0, *ids_by_name(VOC20, names)[1:]]
        kept = scores[:, cut] / scores[:, cut].sum(axis=1, keepdims=True)
        decode = OutputDecoder(VOC20, resolved(DetectionSettings(score_threshold=0.01), Profile.TUTORIAL), StageTimes())
        expected = decode(kept, offsets, make_anchors("voc300"), (500, 375))
        assert np.array_equal(one.class_ids, expected.class_ids)
        np.testing.assert_allclose(one.scores, expected.scores, rtol=1e-6)
        np.testing.assert_allclose(one.boxes, expected.boxes, atol=1e-3)

    @pytest.mark.parametrize(
        ("change", "message"),
        [
            ({"class_names": NAMES}, "has 20 classes .* the list of class names has 2"),
            ({"class_list": "coco80"}, "class list coco80 cannot be cut out"),
            ({"colour_order": ColourOrder.BGR}, "resize rule and colour order come before"),
        ],
    )
    def test_choices_that_do_not_fit(self, raw: Path, change: Any, message: str) -> None:
        with pytest.raises(SettingError, match=message):
            decoded(raw, replace(ANY, **change))

    def test_classes_under_other_names(self, raw: Path) -> None:
        names = ("background", *(f"class {i}" for i in range(1, 21)))
        found, _ = decoded(raw, replace(ANY, class_names=names))
        assert found.class_names == names
        with pytest.raises(UnknownClassError):
            decoded(raw, replace(ANY, class_names=names), classes=("dog",))

    def test_anchors_of_another_network(self, tmp_path: Path) -> None:
        scores, offsets = (np.full((9000, columns), 0.5, np.float32) for columns in (21, 4))
        with pytest.raises(FormatError, match=r"b\.jpg: its anchors are not those of an SSD of 8732 anchors"):
            decoded(written(tmp_path, header(), softmax_outputs(1), (scores, offsets)))

    def damaged(self, raw: Path, path: Path, damage: Any) -> Path:
        """A copy with the header's values, or an array's bytes, changed."""
        with zipfile.ZipFile(raw) as old, zipfile.ZipFile(path, "w") as new:
            told = json.loads(old.read("header.json"))
            array = old.read("000000.npy")
            changed = damage(told, array)
            new.writestr("header.json", json.dumps(told))
            if changed is not None:
                new.writestr("000000.npy", changed)
        return path

    @pytest.mark.parametrize(
        ("damage", "message"),
        [
            (lambda told, array: told.pop("floor") and None, "'floor' is missing"),
            (lambda told, array: told.update(schema="x/1"), "its schema is 'x/1'"),
            (lambda told, array: told.update(class_names=["a"]), "no list of at least two names"),
            (lambda told, array: told.update(profile="yolo"), "'yolo' is not a valid Profile"),
            (lambda told, array: told.update(pictures=[{"name": "a"}]), "'width' is missing"),
            (lambda told, array: None, "a.jpg: is damaged .* no item named '000000.npy'"),
            (lambda told, array: array[:-1], "a.jpg: "),
            (lambda told, array: b"", "a.jpg: "),
            (lambda told, array: _npy(np.zeros((3, 2))), "a.jpg: its outputs are float64"),
            (lambda told, array: _npy(np.array([None], object)), "a.jpg: "),
            (lambda told, array: array + array[-4 * 26 :], "a.jpg: it holds .* rows of outputs, expected"),
            (lambda told, array: array[:6] + b"\2" + array[7:], "a.jpg: its outputs are of version"),
            (lambda told, array: array[:-84] + np.full(21, np.inf, "<f4").tobytes(), "a.jpg: holds the score inf"),
            (lambda told, array: told["pictures"][0].update(width=0), "the size of a.jpg is 0x375"),
            (
                lambda told, array: array[:-84] + np.full(21, -0.5, "<f4").tobytes(),
                "a.jpg: holds the score -0.5 of anc",
            ),
            (
                lambda told, array: array[:-84] + np.full(21, 1.5, "<f4").tobytes(),
                "holds the score 1.5 of anchor 8726, expected a number",
            ),
            (
                lambda told, array: array[:-84] + np.full(21, np.nan, "<f4").tobytes(),
                "a.jpg: holds the score nan of anc",
            ),
            (
                lambda told, array: _with(array, "offsets", np.nan),
                r"a.jpg: holds the offset nan of anchor \d+, expected a finite number",
            ),
            (lambda told, array: _with(array, "offsets", -np.inf), "a.jpg: holds the offset -inf of anchor"),
            (lambda told, array: told.update(floor=-1) or array, "'floor' is -1, expected a number from 0 to 1"),
            (lambda told, array: told.update(floor=1.5) or array, "'floor' is 1.5, expected a number from 0 to 1"),
            (lambda told, array: _with(array, "anchor", -1), "its anchors are not those of an SSD of 8732"),
            (lambda told, array: _with(array, "anchor", 8732), "its anchors are not those of an SSD of 8732"),
            (lambda told, array: _with(array, "anchor", 0), "its anchors are not ascending"),
            (
                lambda told, array: _npy(np.load(io.BytesIO(array))[:-1]),
                "a.jpg: it holds .* rows .*header.json tells of",
            ),
            (
                lambda told, array: told["pictures"][0].update(rows=3) or array,
                "rows of outputs, header.json tells of 3",
            ),
            (lambda told, array: told["pictures"][0].update(rows=-1), "'rows' is -1"),
            (lambda told, array: told["pictures"][0].pop("rows") and None, "'rows' is missing"),
        ],
    )
    def test_damage(self, raw: Path, tmp_path: Path, damage: Any, message: str) -> None:
        with pytest.raises(FormatError, match=f"^{tmp_path}.*{message}"):
            decoded(self.damaged(raw, tmp_path / "x.npz", damage))

    def test_what_could_take_any_amount_of_memory(self, raw: Path, tmp_path: Path) -> None:
        """A header that promises too many rows, and members that are compressed."""
        scores, offsets = softmax_outputs(1)
        array = encoded(scores, offsets, 0.005)
        rows = int(np.load(io.BytesIO(array)).shape[0])
        huge = array.replace(b"(%d,), }" % rows + b" " * 10, b"(%d,), }" % (rows * 10**10))
        assert len(huge) == len(array)
        with pytest.raises(FormatError, match=rf"a\.jpg: it holds {rows} rows of outputs, expected {rows}0000000000"):
            decoded(self.damaged(raw, tmp_path / "x.npz", lambda told, _: huge))
        with zipfile.ZipFile(raw) as old, zipfile.ZipFile(tmp_path / "y.npz", "w", zipfile.ZIP_DEFLATED) as new:
            for name in old.namelist():
                new.writestr(name, old.read(name))
        with pytest.raises(FormatError, match=r"header\.json is compressed or encrypted there, expected neither"):
            decoded(tmp_path / "y.npz")

    def test_flips_are_one_clear_error_or_change_nothing(self, raw: Path, tmp_path: Path) -> None:
        """Of the lists of members too, where flags say what is compressed and encrypted."""
        content, random = raw.read_bytes(), np.random.default_rng(0)
        path = tmp_path / "x.npz"
        _, whole = decoded(raw)
        places = [*range(64), *random.integers(0, len(content), 20).tolist(), *range(len(content) - 130, len(content))]
        for place in places:
            flipped = bytearray(content)
            flipped[place] ^= 1 << int(random.integers(8))
            path.write_bytes(flipped)
            try:
                assert decoded(path)[1] == whole
            except FormatError as error:
                assert str(error).startswith(str(path))  # noqa: PT017

    def test_every_cut_is_one_clear_error(self, raw: Path, tmp_path: Path) -> None:
        content = raw.read_bytes()
        path = tmp_path / "x.npz"
        for end in (0, 1, 100, len(content) // 2, len(content) - 1):
            path.write_bytes(content[:end])
            with pytest.raises(FormatError, match=f"^{path}"):
                decoded(path)
        with pytest.raises(FormatError, match="cannot be read"):
            decoded(tmp_path / "gone.npz")


def _with(array: bytes, field: str, number: float) -> bytes:
    """The same with another number in a field of the last row."""
    rows = np.load(io.BytesIO(array))
    rows[field][-1] = number
    return _npy(rows)


def _npy(values: Any) -> bytes:
    content = io.BytesIO()
    np.save(content, values, allow_pickle=True)
    return content.getvalue()


TWO = (detections((1, 0.9, BOX), (2, 0.25, (0, 0, 50, 50))), detections())
CHOSEN = resolved(DetectionSettings(class_thresholds=(("dog", 0.5),)), Profile.CAFFE)
PROVENANCE = Provenance("made", "ab" * 32, CHOSEN, Arithmetic.INT8)


def saved(folder: Path, name: str, coco_images: Path | None = None) -> Path:
    """Both pictures, as `image` writes them."""
    with WRITERS[name](OutputSettings(folder, NAMES, PROVENANCE, False, coco_images)) as writer:
        for file, found in zip(("x/a.jpg", "x/b.jpg"), TWO, strict=True):
            writer.append(PictureRecord(file, PurePosixPath(file), found))
    (path,) = writer.shared_targets()
    return path


def read(path: Path, **chosen: Any) -> Found:
    return found_in_predictions(
        path, **{"class_names": None, "dataset_names": ("background", "cat", "zebra"), "coco_images": None, **chosen}
    )


class TestSavedPredictions:
    @pytest.mark.parametrize("name", ["jsonl", "coco"])
    def test_there_and_back(self, tmp_path: Path, name: str) -> None:
        found = read(saved(tmp_path, name), class_names=NAMES)
        assert found.class_names == NAMES
        assert [(file, list(one)) for file, one in found.pictures] == [
            ("x/a.jpg", list(TWO[0])), ("x/b.jpg", list(TWO[1])),
        ]  # fmt: skip
        assert found.provenance == (PROVENANCE if name == "jsonl" else None)

    def test_classes_of_lines_are_those_that_occur_and_the_data_sets(self, tmp_path: Path) -> None:
        found = read(saved(tmp_path, "jsonl"))
        assert found.class_names == ("background", "cat", "dog", "zebra")
        assert len(list(found.pictures)) == 2

    def test_classes_of_lines_in_another_spelling_are_those_of_the_data_set(self, tmp_path: Path) -> None:
        found = read(saved(tmp_path, "jsonl"), dataset_names=("background", "Dog", "zebra"))
        assert found.class_names == ("background", "cat", "dog", "zebra")

    def test_classes_of_lines_of_a_known_checkpoint(self, tmp_path: Path) -> None:
        path = saved(tmp_path, "jsonl")
        path.write_text(path.read_text().replace('"name": "made"', '"name": "ssd_300_vgg_voc"').splitlines()[1] + "\n")
        assert read(path).class_names == VOC20

    def test_coco_tells_its_classes(self, tmp_path: Path) -> None:
        found = read(saved(tmp_path, "coco"))
        assert found.class_names == NAMES
        assert [len(one) for _, one in found.pictures] == [2, 0]

    def test_coco_list_of_results(self, tmp_path: Path) -> None:
        images = [{"id": i, "file_name": name, "width": 100, "height": 50} for i, name in ((7, "b.jpg"), (9, "a.jpg"))]
        categories = [{"id": 18, "name": "dog"}, {"id": 17, "name": "cat"}, {"id": 3, "name": "car"}]
        value = {"images": images, "categories": categories, "annotations": []}
        (tmp_path / "truth.json").write_text(json.dumps(value))
        path = saved(tmp_path, "coco", tmp_path / "truth.json")
        with pytest.raises(FormatError, match="is a list of results; its pictures are in the annotation file"):
            read(path)
        found = read(path, coco_images=tmp_path / "truth.json")
        assert found.class_names == ("background", "car", "cat", "dog")
        there = {file: [(d.class_name, d.box) for d in one] for file, one in found.pictures}
        assert there == {"b.jpg": [], "a.jpg": [("cat", BOX), ("dog", (0, 0, 50, 50))]}

    @pytest.mark.parametrize(
        ("content", "message"),
        [
            ("", "holds no detections"),
            ("\n", "holds no detections"),
            ("no json\n", "not JSON"),
            ("[]\n", "is a list of results"),
            ('{"schema": "ssd-detect.frames/1"}\n', "'images' is missing"),
            ('{"schema": "ssd-detect.detections/1"}\n', "'detections' is missing"),
        ],
    )
    def test_other_files(self, tmp_path: Path, content: str, message: str) -> None:
        (tmp_path / "x").write_text(content)
        with pytest.raises(FormatError, match=f"^{tmp_path / 'x'}.*{message}"):
            list(read(tmp_path / "x").pictures)

    @pytest.mark.parametrize(
        ("place", "change", "message"),
        [
            (0, {"score": float("nan")}, "holds NaN"),
            (1, {"score": float("inf")}, "holds Infinity"),
            (1, {"score": 1.25}, "a score of 1.25, expected 0 to 1"),
            (0, {"score": -0.25}, "a score of -0.25, expected 0 to 1"),
            (1, {"box": [10, 10, 20, float("-inf")]}, "holds -Infinity"),
            (0, {"box": [20, 10, 10, 20]}, "a box of 20, 10, 10, 20, expected one that has an area and lies inside"),
            (
                1,
                {"box": [10, 10, 101, 20]},
                "a box of 10, 10, 101, 20, expected .* inside the picture of 100x50 pixels",
            ),
            (0, {"class_id": 0}, "class number 0, expected 1 to"),
            (1, {"class_id": 10**9}, "class number 1000000000, expected 1 to 100000"),
            (1, {"class": "cow"}, "class 1 is 'cow', and 'cat' before"),
            (1, {"class_id": 5}, "class 'cat' has number 5, and 1 before"),
        ],
    )
    def test_lines_changed_by_hand(self, tmp_path: Path, place: int, change: Any, message: str) -> None:
        """Of a checkpoint that the manifest does not know, so that only the lines tell the classes."""
        path = saved(tmp_path, "jsonl")
        lines = [json.loads(path.read_text().splitlines()[0]) for _ in range(2)]
        lines[1]["file"] = "x/b.jpg"
        lines[place]["detections"][0].update(change)
        path.write_text("".join(json.dumps(one) + "\n" for one in lines))
        with pytest.raises(FormatError, match=rf"^{path}, line {place + 1}: {message}"):
            list(read(path).pictures)

    @pytest.mark.parametrize(
        ("change", "message"),
        [
            ({"score": float("nan")}, "'score' is NaN, expected a number"),
            ({"score": 1.25}, "a score of 1.25, expected 0 to 1"),
            ({"bbox": [0, 0, float("inf"), 1]}, "'bbox' is Infinity, expected a number"),
            ({"bbox": [0, 0, 0, 1]}, "a box of 0, 0, 0, 1, expected one that has an area"),
            ({"category_id": 3}, "category 3 is none of the classes"),
        ],
    )
    def test_coco_changed_by_hand(self, tmp_path: Path, change: Any, message: str) -> None:
        path = saved(tmp_path, "coco")
        value = json.loads(path.read_text())
        value["annotations"][1].update(change)
        path.write_text(json.dumps(value))
        with pytest.raises(FormatError, match=rf"^{path}: x/a.jpg: {message}"):
            read(path)

    def test_coco_categories_of_one_number(self, tmp_path: Path) -> None:
        path = saved(tmp_path, "coco")
        value = json.loads(path.read_text())
        value["categories"][1]["id"] = 1
        path.write_text(json.dumps(value))
        with pytest.raises(FormatError, match=rf"^{path}: category 1 is both 'cat' and 'dog'"):
            read(path)

    def test_classes_that_nothing_knows_are_told(self, tmp_path: Path) -> None:
        assert read(saved(tmp_path, "jsonl")).unknown_classes == ("dog",)
        assert read(saved(tmp_path / "b", "jsonl"), dataset_names=("background", "Cat", "Dog")).unknown_classes == ()
        assert read(saved(tmp_path / "c", "jsonl"), class_names=NAMES).unknown_classes == ()

    @pytest.mark.parametrize("name", ["checkpoint", "thresholds"])
    def test_lines_that_do_not_tell_where_they_come_from(self, tmp_path: Path, name: str) -> None:
        path = saved(tmp_path, "jsonl")
        first, *rest = map(json.loads, path.read_text().splitlines())
        del first[name]
        path.write_text("".join(json.dumps(one) + "\n" for one in (first, *rest)))
        with pytest.raises(FormatError, match=f"line 1: '{name}' is missing"):
            read(path)

    @pytest.mark.parametrize(
        "thresholds",
        [None, [], {"classes": None}, {"classes": [1]}, {"top_k": "x"}, {"top_k": 1.5}, {"profile": []}, {"score": 7}],
    )
    def test_lines_whose_thresholds_are_none(self, tmp_path: Path, thresholds: Any) -> None:
        path = saved(tmp_path, "jsonl")
        first, *rest = map(json.loads, path.read_text().splitlines())
        first["thresholds"] = {**first["thresholds"], **thresholds} if isinstance(thresholds, dict) else thresholds
        path.write_text("".join(json.dumps(one) + "\n" for one in (first, *rest)))
        with pytest.raises(FormatError, match="line 1: "):
            read(path)


def test_a_raw_file_is_not_overwritten(tmp_path: Path) -> None:
    (tmp_path / "raw.npz").write_bytes(b"mine")
    with pytest.raises(OutputError, match="exists already"):
        write_raw(tmp_path / "raw.npz", header(pictures=()), [], overwrite=False)
    assert (tmp_path / "raw.npz").read_bytes() == b"mine"
