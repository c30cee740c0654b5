"""Class lists, aliases, suggestions, class files; and the settings' ranges."""

from pathlib import Path

import pytest

from ssd_detect.classes import COCO80, COCO91, VOC20, class_list_for, find_class_ids, read_class_file
from ssd_detect.errors import SettingError, UnknownClassError
from ssd_detect.settings import DetectionSettings, Device, SessionSettings


class TestLists:
    def test_lengths(self) -> None:
        assert [len(names) for names in (VOC20, COCO80, COCO91)] == [21, 81, 91]

    def test_known_places(self) -> None:
        assert (VOC20[15], COCO80[63], COCO91[72], COCO91[90], COCO91[12]) == (
            "person", "tv", "tv", "toothbrush", "unused 12",
        )  # fmt: skip

    @pytest.mark.parametrize("names", [VOC20, COCO80, COCO91])
    def test_names_are_unique(self, names: tuple[str, ...]) -> None:
        assert len(set(names)) == len(names)

    def test_by_count(self) -> None:
        assert class_list_for(21) is VOC20
        assert class_list_for(3) == ("background", "class 1", "class 2")


class TestFinding:
    @pytest.mark.parametrize(
        ("name", "class_id"),
        [
            ("person", 15), ("PERSON", 15), ("airplane", 1), ("plane", 1), ("diningTable", 11), ("dining table", 11),
            ("potted-plant", 16), ("TV", 20), ("tv monitor", 20), ("couch", 18), ("motorcycle", 14), ("bike", 2),
        ],
    )  # fmt: skip
    def test_aliases_of_voc(self, name: str, class_id: int) -> None:
        assert find_class_ids([name], VOC20) == (class_id,)

    def test_aliases_work_the_other_way_round(self) -> None:
        found = find_class_ids(["aeroplane", "sofa", "tvmonitor", "diningtable"], COCO80)
        assert [COCO80[i] for i in found] == ["airplane", "couch", "tv", "dining table"]

    def test_none(self) -> None:
        assert find_class_ids([], VOC20) == ()

    @pytest.mark.parametrize(
        ("name", "message"),
        [
            ("prson", "unknown class 'prson'; did you mean person\\?"),
            ("airplan", "did you mean aeroplane\\?"),
            ("zebra", "this checkpoint knows aeroplane, bicycle"),
            ("background", "unknown class"),
            ("", "unknown class ''"),
        ],
    )
    def test_unknown(self, name: str, message: str) -> None:
        with pytest.raises(UnknownClassError, match=message):
            find_class_ids(["person", name], VOC20)


class TestClassFile:
    @pytest.mark.parametrize(
        "content", ["cat\ndog\n", "background\ncat\ndog", "none\n\n cat \r\ndog\r\n", "\ufeffcat\ndog\n\n"]
    )
    def test_reading(self, tmp_path: Path, content: str) -> None:
        (tmp_path / "names.txt").write_text(content, encoding="utf-8", newline="")
        assert read_class_file(tmp_path / "names.txt") == ("background", "cat", "dog")

    @pytest.mark.parametrize(
        ("content", "message"),
        [
            (b"", "holds no class name"),
            (b"background\n", "holds no class name"),
            (b"cat\ncat\n", "'cat' stands there twice"),
            (b"\xff\xfe\x00", "expected UTF-8 text"),
        ],
    )
    def test_faults(self, tmp_path: Path, content: bytes, message: str) -> None:
        (tmp_path / "names.txt").write_bytes(content)
        with pytest.raises(SettingError, match=message):
            read_class_file(tmp_path / "names.txt")

    def test_missing(self, tmp_path: Path) -> None:
        with pytest.raises(SettingError, match="cannot read the class file"):
            read_class_file(tmp_path / "gone.txt")


class TestSettings:
    @pytest.mark.parametrize("value", [-0.1, 1.5, float("nan"), float("inf")])
    @pytest.mark.parametrize("name", ["score_threshold", "nms_threshold"])
    def test_shares(self, name: str, value: float) -> None:
        with pytest.raises(SettingError, match=f"{name} is .*expected a number from 0 to 1"):
            DetectionSettings(**{name: value})  # type: ignore[arg-type]

    @pytest.mark.parametrize("name", ["top_k", "max_detections"])
    def test_counts(self, name: str) -> None:
        with pytest.raises(SettingError, match=f"{name} is 0"):
            DetectionSettings(**{name: 0})  # type: ignore[arg-type]
        assert getattr(DetectionSettings(), name) is None

    def test_threads(self) -> None:
        with pytest.raises(SettingError, match="intra_op_threads is 0"):
            SessionSettings(intra_op_threads=0)

    @pytest.mark.parametrize(
        ("text", "device"),
        [("auto", Device("auto")), ("cpu", Device("cpu")), ("gpu", Device("gpu", 0)), ("gpu:3", Device("gpu", 3))],
    )
    def test_device(self, text: str, device: Device) -> None:
        assert Device.parse(text) == device
        assert Device.parse(str(device)) == device

    @pytest.mark.parametrize("text", ["", "GPU", "gpu:", "gpu:-1", "gpu:x", "cuda:0", "tpu"])
    def test_device_faults(self, text: str) -> None:
        with pytest.raises(SettingError, match="expected auto, cpu or gpu:N"):
            Device.parse(text)
