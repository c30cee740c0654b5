"""Blurring: what is inside the boxes is gone, what is outside is not."""

from pathlib import Path

import cv2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ssd_detect.arrays import Floats, Pixels
from ssd_detect.detections import Detections
from ssd_detect.errors import PictureError
from ssd_detect.media.decoding.origin import PictureOrigin
from ssd_detect.media.picture_files import save_picture
from ssd_detect.media.pictures import open_picture, read_picture
from ssd_detect.media.privacy import blur_objects, origin_without_previews
from tests.made_pictures import exif, saved

Box = tuple[float, float, float, float]


def noise(width: int, height: int) -> Pixels:
    return np.random.default_rng(0).integers(0, 256, (height, width, 3), np.uint8)


def found(size: tuple[int, int], *boxes: Box) -> Detections:
    coordinates: Floats = np.array(boxes, np.float32).reshape(-1, 4)
    n = len(boxes)
    return Detections(coordinates, np.full(n, 0.9, np.float32), np.ones(n, np.int64), size, ("background", "person"))


def detail(region: Pixels) -> float:
    """How much neighbours differ, on average."""
    grey = region.astype(float).mean(axis=2)
    return float(np.abs(np.diff(grey, axis=0)).mean() + np.abs(np.diff(grey, axis=1)).mean())


class TestRegions:
    def test_nothing_to_hide(self) -> None:
        picture = noise(60, 40)
        blurred = blur_objects(picture, found((60, 40)))
        np.testing.assert_array_equal(blurred, picture)
        assert not np.shares_memory(blurred, picture)

    @pytest.mark.parametrize("box", [
        (10, 5, 50, 35), (0, 0, 60, 40), (0, 0, 20, 40), (40, 20, 60, 40), (10.4, 5.6, 30.2, 30.9), (3, 3, 4, 4),
        (59.5, 39.5, 60, 40), (0, 0, 0.1, 0.1), (0, 10, 60, 11), (30, 0, 31, 40),
    ])  # fmt: skip
    def test_all_inside_changes_and_nothing_outside(self, box: Box) -> None:
        picture = noise(60, 40)
        before = picture.copy()
        picture.flags.writeable = False
        blurred = blur_objects(picture, found((60, 40), box))
        left, top, right, bottom = np.floor(box[:2]).astype(int).tolist() + np.ceil(box[2:]).astype(int).tolist()
        inside = np.zeros((40, 60), bool)
        inside[top:bottom, left:right] = True
        np.testing.assert_array_equal(blurred[~inside], before[~inside])
        np.testing.assert_array_equal(picture, before)
        if inside.sum() > 60:
            assert (blurred[inside] != before[inside]).any(axis=1).mean() > 0.9

    def test_a_small_object_becomes_one_colour(self) -> None:
        picture = noise(60, 40)
        for size in (1, 2, 5, 8):
            region = blur_objects(picture, found((60, 40), (20, 10, 20 + size, 10 + size)))[
                10 : 10 + size, 20 : 20 + size
            ]
            assert (region == region[0, 0]).all()
            mean = picture[10 : 10 + size, 20 : 20 + size].reshape(-1, 3).mean(axis=0)
            assert np.abs(region[0, 0] - mean).max() <= 1

    def test_of_another_picture(self) -> None:
        with pytest.raises(PictureError, match="expected the RGB picture of the detections"):
            blur_objects(noise(60, 41), found((60, 40)))

    def test_any_memory_layout(self) -> None:
        picture = noise(60, 40)
        detections = found((60, 40), (5, 5, 50, 30))
        expected = blur_objects(picture[:, ::-1].copy(), detections)
        np.testing.assert_array_equal(blur_objects(picture[:, ::-1], detections), expected)

    def test_a_very_wide_picture(self) -> None:
        picture = noise(70_000, 3)
        assert detail(blur_objects(picture, found((70_000, 3), (0, 0, 70_000, 3)))) < 1


class TestStrength:
    @pytest.mark.parametrize("scale", [1, 2, 4, 8])
    def test_writing_of_a_plate_cannot_be_told_from_another(self, scale: int) -> None:
        """A plate is a fifth of its car: two of them look alike after, and quite different before."""
        pictures = []
        for text in ("AB 1234", "XY 5678"):
            picture = np.full((75 * scale, 100 * scale, 3), 90, np.uint8)
            picture[50 * scale : 56 * scale, 40 * scale : 60 * scale] = 230
            cv2.putText(picture, text, (41 * scale, 55 * scale), cv2.FONT_HERSHEY_SIMPLEX, 0.14 * scale, (0, 0, 0), 1)
            pictures.append(picture)
        size = 100 * scale, 75 * scale
        car = found(size, (5 * scale, 5 * scale, 95 * scale, 70 * scale))
        first, second = (blur_objects(picture, car).astype(int) for picture in pictures)
        assert np.abs(pictures[0].astype(int) - pictures[1]).max() > 80
        assert np.abs(first - second).max() <= 6

    def test_a_face_keeps_no_detail(self, media: Path) -> None:
        picture = read_picture(media / "astronaut.png")
        face = (slice(70, 180), slice(170, 280))
        for box in ((100, 0, 400, 512), (170, 60, 280, 190)):  # the person; the face alone
            blurred = blur_objects(picture, found((512, 512), box))
            assert detail(picture[face]) > 15
            assert detail(blurred[face]) < 4

    def test_it_hardly_depends_on_the_size_of_the_picture(self) -> None:
        small = noise(80, 60)
        large = small.repeat(6, axis=0).repeat(6, axis=1)
        hidden = blur_objects(large, found((480, 360), (60, 60, 420, 300)))[60:300, 60:420]
        few = cv2.resize(hidden, (8, 5), interpolation=cv2.INTER_AREA)
        back = cv2.resize(few, (360, 240), interpolation=cv2.INTER_CUBIC)
        assert np.abs(hidden.astype(int) - back).mean() < 12  # eight by five colours tell it all

    def test_where_boxes_overlap_it_is_blurred_at_least_as_much(self) -> None:
        picture = noise(200, 150)
        large, small = (10.0, 10.0, 190.0, 140.0), (80.0, 60.0, 100.0, 80.0)
        both = blur_objects(picture, found((200, 150), small, large))
        np.testing.assert_array_equal(both, blur_objects(picture, found((200, 150), large, small)))
        alone = blur_objects(picture, found((200, 150), large))
        assert detail(both[60:80, 80:100]) <= detail(alone[60:80, 80:100]) + 0.1


@settings(deadline=None, max_examples=100)
@given(st.data())
def test_any_boxes(data: st.DataObject) -> None:
    width, height = data.draw(st.integers(1, 90)), data.draw(st.integers(1, 90))
    boxes = []
    for _ in range(data.draw(st.integers(0, 4))):
        x0, x1 = sorted(data.draw(st.floats(0, width, width=32)) for _ in range(2))
        y0, y1 = sorted(data.draw(st.floats(0, height, width=32)) for _ in range(2))
        if x0 < x1 and y0 < y1:
            boxes.append((x0, y0, x1, y1))
    picture = noise(width, height)
    blurred = blur_objects(picture, found((width, height), *boxes))
    assert blurred.shape == picture.shape
    assert blurred.dtype == np.uint8


class TestPreviews:
    def test_the_cameras_private_data_goes(self, tmp_path: Path) -> None:
        block = exif(6, more={0x927C: b"private data with a preview", 0x9286: b"a comment"})
        origin = open_picture(saved(noise(60, 40), "JPEG", exif=block), name="a").origin
        assert origin.exif is not None
        assert b"private data" in origin.exif
        save_picture(tmp_path / "a.jpg", noise(60, 40), origin_without_previews(origin))
        content = (tmp_path / "a.jpg").read_bytes()
        assert b"private data" not in content
        assert b"small picture of before" not in content
        assert b"a comment" in content
        assert b"ACME" in content

    def test_without_exif(self) -> None:
        origin = PictureOrigin("PNG", lossless=True)
        assert origin_without_previews(origin) == origin
