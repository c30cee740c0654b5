"""Objects cut out of pictures, and the names of their files."""

import numpy as np
import pytest

from ssd_detect.arrays import Floats, Pixels
from ssd_detect.detections import Detections
from ssd_detect.errors import PictureError
from ssd_detect.media.crops import Crop, crop_detections, crop_name

NAMES = ("background", "person", "traffic light", "traffic/light", "Person", "собака")


def picture(width: int = 60, height: int = 40) -> Pixels:
    """Every pixel differs from the others."""
    y, x = np.mgrid[0:height, 0:width]
    return np.stack([x, y, (x + y) % 256], axis=-1).astype(np.uint8)


def found(*items: tuple[int, tuple[float, float, float, float]], size: tuple[int, int] = (60, 40)) -> Detections:
    boxes: Floats = np.array([box for _, box in items], np.float32).reshape(-1, 4)
    ids = np.array([i for i, _ in items], np.int64)
    return Detections(boxes, np.full(len(items), 0.9, np.float32), ids, size, NAMES)


class TestPixels:
    def test_nothing_found(self) -> None:
        assert list(crop_detections(picture(), found())) == []

    @pytest.mark.parametrize(("box", "rows", "columns"), [
        ((10, 5, 20, 15), (5, 15), (10, 20)),  # whole numbers: just these pixels
        ((10.2, 5.9, 19.1, 14.0), (5, 14), (10, 20)),  # every pixel that the box touches
        ((0, 0, 60, 40), (0, 40), (0, 60)),
        ((59.5, 39.5, 60, 40), (39, 40), (59, 60)),  # at the corner
        ((0, 0, 0.1, 0.1), (0, 1), (0, 1)),
        ((30.25, 20.25, 30.75, 20.75), (20, 21), (30, 31)),  # smaller than a pixel
        ((29.999, 3, 30.001, 4), (3, 4), (29, 31)),
    ])  # fmt: skip
    def test_equal_the_source(
        self, box: tuple[float, float, float, float], rows: tuple[int, int], columns: tuple[int, int]
    ) -> None:
        (crop,) = crop_detections(picture(), found((1, box)))
        np.testing.assert_array_equal(crop.pixels, picture()[slice(*rows), slice(*columns)])
        assert crop.pixels.flags.c_contiguous

    def test_have_their_own_memory(self) -> None:
        source = picture()
        (crop,) = crop_detections(source, found((1, (10, 5, 20, 15))))
        source[:] = 0
        np.testing.assert_array_equal(crop.pixels, picture()[5:15, 10:20])

    def test_of_another_picture(self) -> None:
        with pytest.raises(PictureError, match=r"expected the RGB picture of the detections, uint8 \(40, 60, 3\)"):
            list(crop_detections(picture(61, 40), found((1, (0, 0, 9, 9)))))


class TestNames:
    def test_numbers_count_within_the_class(self) -> None:
        box = (10, 5, 20, 15)
        crops = list(crop_detections(picture(), found((1, box), (5, box), (1, box), (5, box), (1, box))))
        assert [(crop.class_name, crop.number) for crop in crops] == [
            ("person", 1), ("собака", 1), ("person", 2), ("собака", 2), ("person", 3),
        ]  # fmt: skip

    def test_no_two_crops_share_a_name(self) -> None:
        box = (10, 5, 20, 15)
        crops = list(crop_detections(picture(), found((2, box), (3, box), (1, box), (4, box), (2, box))))
        names = [crop_name("a", crop) for crop in crops]
        assert names == [
            "a_traffic_light_1.png", "a_traffic_light_2.png", "a_person_1.png", "a_Person_2.png",
            "a_traffic_light_3.png",
        ]  # fmt: skip
        assert len({name.casefold() for name in names}) == 5

    @pytest.mark.parametrize(("class_name", "part"), [
        ("person", "person"), ("traffic light", "traffic_light"), ("tv/monitor", "tv_monitor"), ("..", "object"),
        ("", "object"), ('a\\b:c*d?e"f<g>h|i', "a_b_c_d_e_f_g_h_i"), ("line\nbreak\0", "line_break"),
        ("кот", "кот"), ("कुत्ता", "कुत्ता"), ("../../etc/passwd", "etc_passwd"), ("\udce9t", "t"), ("a.b", "a.b"),
        ("犬" * 100, "犬" * 26),
    ])  # fmt: skip
    def test_class_names_that_a_file_system_may_forbid(self, class_name: str, part: str) -> None:
        crop = Crop(class_name, 7, np.zeros((1, 1, 3), np.uint8))
        assert crop_name("a b", crop, ".jpg") == f"a b_{part}_7.jpg"
