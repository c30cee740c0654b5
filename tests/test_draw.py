"""Boxes, labels, colours and lettering, measured in the pixels that they change."""

import io
import itertools
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor

import cv2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image, ImageFont

from ssd_detect.arrays import Flags, Floats, Pixels
from ssd_detect.classes import COCO80, VOC20
from ssd_detect.detections import Detections
from ssd_detect.errors import PictureError
from ssd_detect.media.drawing import draw, lettering
from ssd_detect.media.drawing.draw import annotated_png, draw_detections, draw_in_place
from ssd_detect.media.drawing.lettering import FONT_FILES, FONTS, draw_text, has_glyph, split_runs
from ssd_detect.media.drawing.palette import PALETTE, class_colour, text_colour
from ssd_detect.media.drawing.right_to_left import drawing_order, join_letters

GREY = 128  # no class colour, nor black or white
Box = tuple[float, float, float, float]
Item = tuple[str, float, Box]

WORDS = {
    "Latin": "bicycle",
    "Latin with accents": "Ångström-Žluťoučký",
    "Vietnamese": "xe đạp điện",
    "Greek": "σκύλος",
    "Cyrillic": "человек",
    "Armenian": "շուն",
    "Georgian": "ძაღლი",
    "Arabic": "شخص",
    "Persian": "دوچرخه پیاده",
    "Hebrew": "כלב",
    "Simplified Chinese": "自行车",
    "Traditional Chinese": "腳踏車",
    "Japanese": "ひと、イヌ・自転車",
    "Korean": "자전거",
    "Hindi": "कुत्ता",
    "Bengali": "নৌকা",
    "Thai": "หมาใหญ่",
    "Tamil": "நாய்",
    "Telugu": "కుక్క",
    "Gujarati": "કૂતરો",
    "Kannada": "ನಾಯಿ",
    "Malayalam": "നായ",
    "Punjabi": "ਕੁੱਤਾ",
    "Odia": "କୁକୁର",
    "Burmese": "ခွေး",
    "Amharic": "ውሻ",
}


def plain(width: int, height: int) -> Pixels:
    return np.full((height, width, 3), GREY, np.uint8)


def found(size: tuple[int, int], *items: Item) -> Detections:
    names = ("background", *dict.fromkeys(name for name, _, _ in items))
    boxes = np.array([box for _, _, box in items], np.float32).reshape(-1, 4)
    scores = np.array([score for _, score, _ in items], np.float32)
    return Detections(boxes, scores, np.array([names.index(name) for name, _, _ in items], np.int64), size, names)


def is_colour(picture: Pixels, colour: tuple[int, int, int]) -> Flags:
    mask: Flags = (picture == colour).all(axis=-1)
    return mask


def changed(picture: Pixels) -> Flags:
    return ~is_colour(picture, (GREY, GREY, GREY))


def ink(picture: Pixels, name: str = "person") -> Flags:
    """Where the text is in its full colour; lines have another colour, the ground too."""
    return is_colour(picture, text_colour(class_colour(name)))


def rows(mask: Flags) -> tuple[int, int]:
    """First and last row with something in it."""
    filled = np.flatnonzero(mask.any(axis=1))
    return int(filled[0]), int(filled[-1])


class TestPicture:
    def test_without_detections_an_equal_copy(self) -> None:
        picture = plain(30, 20)
        drawn = draw_detections(picture, found((30, 20)))
        np.testing.assert_array_equal(drawn, picture)
        assert not np.shares_memory(drawn, picture)

    @pytest.mark.parametrize("count", [0, 1])
    def test_the_callers_picture_never_changes(self, count: int) -> None:
        picture = plain(90, 60)
        draw_detections(picture, found((90, 60), *[("person", 0.9, (5, 5, 80, 50))] * count))
        assert not changed(picture).any()

    def test_in_place_gives_the_same_without_a_copy(self) -> None:
        picture, detections = plain(90, 60), found((90, 60), ("person", 0.9, (5, 20, 80, 50)))
        expected = draw_detections(picture, detections)
        draw_in_place(picture, detections)
        np.testing.assert_array_equal(picture, expected)
        with pytest.raises(PictureError, match="expected the RGB picture of the detections"):
            draw_in_place(plain(60, 90), detections)

    @pytest.mark.parametrize(
        "view",
        [
            lambda p: np.asfortranarray(p),
            lambda p: p[::-1][::-1].copy()[:, ::-1][:, ::-1],
            lambda p: np.repeat(p, 2, axis=1)[:, ::2],
            lambda p: p[:, :, ::-1],
            lambda p: np.broadcast_to(p[:1, :1], p.shape),
        ],
        ids=["fortran", "turned", "strided", "bgr", "broadcast"],
    )
    def test_any_memory_layout(self, view: Callable[[Pixels], Pixels]) -> None:
        picture = view(plain(90, 60))
        picture.flags.writeable = False
        detections = found((90, 60), ("person", 0.9, (5, 20, 80, 50)))
        drawn = draw_detections(picture, detections)
        np.testing.assert_array_equal(drawn, draw_detections(plain(90, 60), detections))
        assert drawn.flags.writeable
        assert drawn.flags.c_contiguous

    @pytest.mark.parametrize(
        "picture",
        [
            np.zeros((30, 20, 3), np.uint8),
            np.zeros((20, 30), np.uint8),
            np.zeros((20, 30, 4), np.uint8),
            np.zeros((20, 30, 3), np.float32),
        ],
        ids=["turned", "grey", "alpha", "float"],
    )
    @pytest.mark.parametrize("function", [draw_detections, annotated_png])
    def test_another_picture_is_refused(self, picture: Pixels, function: Callable[..., object]) -> None:
        with pytest.raises(PictureError, match=r"expected the RGB picture of the detections, uint8 \(20, 30, 3\), got"):
            function(picture, found((30, 20)))


class TestBoxes:
    def test_lines_alone_without_labels(self) -> None:
        drawn = draw_detections(plain(640, 480), found((640, 480), ("person", 0.9, (100, 50, 300, 200))), labels=False)
        expected = plain(640, 480)
        expected[50:200, 100:300] = class_colour("person")
        expected[52:198, 102:298] = GREY
        np.testing.assert_array_equal(drawn, expected)

    @pytest.mark.parametrize(
        ("width", "height", "line"), [(200, 150, 1), (640, 480, 2), (1280, 720, 3), (4000, 3000, 9)]
    )
    def test_lines_grow_with_the_picture(self, width: int, height: int, line: int) -> None:
        box = (width * 0.1, height * 0.1, width * 0.9, height * 0.9)
        drawn = draw_detections(plain(width, height), found((width, height), ("person", 0.9, box)), labels=False)
        assert changed(drawn)[:, width // 2].sum() == 2 * line

    @pytest.mark.parametrize("size", [(1, 1), (2, 7), (640, 480), (3000, 20), (20, 3000)])
    def test_a_box_along_the_border_shows_on_all_sides(self, size: tuple[int, int]) -> None:
        drawn = draw_detections(plain(*size), found(size, ("person", 0.9, (0, 0, *size))), labels=False)
        border = is_colour(drawn, class_colour("person"))
        for side in (border[0], border[-1], border[:, 0], border[:, -1]):
            assert side.all()

    @pytest.mark.parametrize("corner", [(0, 0), (0, 149.8), (199.7, 0), (199.7, 149.8), (99.1, 99.1)])
    def test_a_box_of_less_than_a_pixel_shows(self, corner: tuple[float, float]) -> None:
        x, y = corner
        drawn = draw_detections(
            plain(200, 150), found((200, 150), ("car", 0.9, (x, y, x + 0.2, y + 0.2))), labels=False
        )
        assert changed(drawn).sum() == 1

    def test_a_small_object_is_not_hidden_by_its_own_box(self) -> None:
        drawn = draw_detections(plain(4000, 3000), found((4000, 3000), ("bird", 0.9, (50, 50, 62, 62))), labels=False)
        assert not changed(drawn)[53:59, 53:59].any()

    def test_the_best_box_is_on_top(self) -> None:
        boxes = [("person", 0.5, (10, 20, 80, 50)), ("car", 0.9, (10, 20, 80, 50)), ("dog", 0.7, (10, 20, 80, 50))]
        for order in itertools.permutations(boxes):
            drawn = draw_detections(plain(90, 60), found((90, 60), *order), labels=False)
            assert is_colour(drawn, class_colour("car")).sum() == changed(drawn).sum()


class TestLabels:
    def test_stands_on_the_box_where_there_is_room(self) -> None:
        drawn = draw_detections(plain(640, 480), found((640, 480), ("person", 0.93, (100, 200, 300, 400))))
        above = changed(drawn)[:200]
        first, last = rows(above)
        assert (first, last) == (200 - draw._label_patch("person 0.93", 14, class_colour("person")).shape[0], 199)
        assert np.flatnonzero(above.any(axis=0))[0] == 100
        assert rows(ink(drawn))[1] < 200

    def test_inside_at_the_upper_border(self) -> None:
        drawn = draw_detections(plain(640, 480), found((640, 480), ("person", 0.93, (100, 4, 300, 400))))
        assert 4 < rows(ink(drawn))[0] < 12
        assert rows(ink(drawn))[1] < 30

    def test_below_a_small_object_at_the_upper_border(self) -> None:
        drawn = draw_detections(plain(640, 480), found((640, 480), ("bird", 0.93, (100, 0, 110, 10))))
        assert rows(ink(drawn, "bird"))[0] >= 10

    @pytest.mark.parametrize("top", range(20))
    def test_wholly_inside_a_picture_hardly_higher(self, top: int) -> None:
        size = (300, 20)
        alone = ink(draw_detections(plain(*size), found(size, ("person", 0.93, (0, 0, 300, 20)))))
        drawn = draw_detections(plain(*size), found(size, ("person", 0.93, (10, top, 290, min(20, top + 4)))))
        assert ink(drawn).sum() == alone.sum() > 0

    @pytest.mark.parametrize("size", [(200, 150), (640, 480), (2000, 1500)])
    @pytest.mark.parametrize("corner", [(0, 0), (0, 1), (1, 0), (1, 1)])
    @pytest.mark.parametrize("share", [0.02, 0.3, 1.0])
    def test_wholly_inside_the_picture_at_its_corners(
        self, size: tuple[int, int], corner: tuple[int, int], share: float
    ) -> None:
        width, height = size
        x, y = (side * at * (1 - share) for side, at in zip(size, corner, strict=True))
        box = (x, y, min(width, x + width * share), min(height, y + height * share))
        drawn = draw_detections(plain(*size), found(size, ("person", 0.93, box)))
        in_the_middle = draw_detections(
            plain(*size), found(size, ("person", 0.93, (width * 0.3, height * 0.4, width * 0.7, height * 0.8)))
        )
        assert ink(drawn).sum() == ink(in_the_middle).sum() > 0

    def test_labels_move_apart(self) -> None:
        size = (640, 480)
        boxes = [("person", 0.9, (100, 200, 300, 400)), ("person", 0.8, (105, 203, 305, 400))]
        alone = sum(ink(draw_detections(plain(*size), found(size, one))).sum() for one in boxes)
        assert ink(draw_detections(plain(*size), found(size, *boxes))).sum() == alone

    def test_the_best_label_is_on_top_where_they_cannot(self) -> None:
        size = (120, 40)
        boxes: list[Item] = [("person", 0.9 - i / 100, (i, 20, 100 + i, 40)) for i in range(9)]
        best = ink(draw_detections(plain(*size), found(size, boxes[0])))
        drawn = ink(draw_detections(plain(*size), found(size, *boxes[::-1])))
        first, last = rows(best)
        columns = np.flatnonzero(best.any(axis=0))
        at = np.s_[first : last + 1, columns[0] : columns[-1] + 1]
        np.testing.assert_array_equal(drawn[at], best[at])

    @pytest.mark.parametrize(("width", "height", "low", "high"), [
        (200, 150, 7, 9), (640, 480, 9, 12), (1280, 720, 13, 18), (8000, 6000, 65, 90),
    ])  # fmt: skip
    def test_readable_at_any_size(self, width: int, height: int, low: int, high: int) -> None:
        box = (width * 0.2, height * 0.3, width * 0.8, height * 0.8)
        drawn = draw_detections(plain(width, height), found((width, height), ("car", 0.11, box)))
        text = ink(drawn, "car")  # letters and digits without descenders: the height of a digit
        first, last = rows(text)
        assert low <= last - first + 1 <= high
        columns = np.flatnonzero(text.any(axis=0))
        assert 3 * low <= columns[-1] - columns[0] <= width * 0.4

    @pytest.mark.parametrize(("size", "shown"), [
        ((1, 1), False), ((2, 7), False), ((20, 3000), False), ((300, 8), False),
        ((3000, 20), True), ((45, 40), True), ((90, 16), True), ((20000, 20), True),
    ])  # fmt: skip
    def test_odd_sizes(self, size: tuple[int, int], shown: bool) -> None:
        detections = found(size, ("person", 0.93, (0, 0, *size)))
        drawn = draw_detections(plain(*size), detections)
        bare = draw_detections(plain(*size), detections, labels=False)
        assert drawn.shape == (size[1], size[0], 3)
        assert (not np.array_equal(drawn, bare)) == shown

    @pytest.mark.parametrize(("name", "shown"), [
        ("", ""), ("   ", ""), ("a\nb\tc", "a b c"), ("zero\0byte", "zero byte"), ("lone \ud800 half", "lone half"),
        ("x" * 60, "x" * 60), ("x" * 61, "x" * 59 + "…"), ("می‌خواهم", "می‌خواهم"),
    ])  # fmt: skip
    def test_names_that_are_no_words(self, name: str, shown: str) -> None:
        assert draw._printable(name) == shown
        size = (1000, 100)
        assert ink(draw_detections(plain(*size), found(size, (name, 0.5, (1, 50, 990, 90)))), name).any()

    def test_a_label_is_rendered_once(self) -> None:
        size = (640, 480)
        detections = found(size, ("once upon a time", 0.931, (10, 100, 300, 400)))
        first = draw_detections(plain(*size), detections)
        misses = draw._label_patch.cache_info().misses
        again = draw_detections(plain(*size), found(size, ("once upon a time", 0.929, (10, 100, 300, 400))))
        assert draw._label_patch.cache_info().misses == misses
        np.testing.assert_array_equal(again, first)

    def test_threads(self) -> None:
        def drawn(word: str) -> Pixels:
            return draw_detections(plain(400, 300), found((400, 300), (word, 0.5, (10, 100, 300, 290))))

        words = [f"{word} {i}" for i in range(4) for word in WORDS.values()]
        draw._label_patch.cache_clear()
        with ThreadPoolExecutor(8) as pool:
            together = list(pool.map(drawn, words))
        draw._label_patch.cache_clear()
        for at_once, alone in zip(together, map(drawn, words), strict=True):
            np.testing.assert_array_equal(at_once, alone)


sides = st.integers(1, 70) | st.sampled_from([1, 2, 500, 2000])


@st.composite
def any_detections(draw_from: st.DrawFn) -> Detections:
    size = draw_from(st.tuples(sides, sides))
    unit = st.floats(0, 1, width=32)
    items: list[Item] = []
    for name, score, a, b, c, d in draw_from(
        st.lists(st.tuples(st.text(max_size=70), unit, unit, unit, unit, unit), max_size=6)
    ):
        x0, x1 = np.sort(np.array([a, b], np.float32) * np.float32(size[0]))
        y0, y1 = np.sort(np.array([c, d], np.float32) * np.float32(size[1]))
        if x0 < x1 and y0 < y1:
            items.append((name, score, (float(x0), float(y0), float(x1), float(y1))))
    return found(size, *items)


@settings(deadline=None, max_examples=150)
@given(any_detections())
def test_any_boxes_and_names_can_be_drawn(detections: Detections) -> None:
    width, height = detections.size
    picture = plain(width, height)
    drawn = draw_detections(picture, detections)
    assert drawn.shape == picture.shape
    assert changed(drawn).any() == (len(detections) > 0)
    assert not changed(picture).any()
    with Image.open(io.BytesIO(annotated_png(picture, detections))) as png:
        assert max(png.size) == min(max(width, height), 1280)


class TestPng:
    def test_small_pictures_keep_every_pixel(self) -> None:
        detections = found((640, 480), ("dog", 0.8, (20, 50, 300, 400)))
        with Image.open(io.BytesIO(annotated_png(plain(640, 480), detections))) as png:
            assert png.format == "PNG"
            np.testing.assert_array_equal(np.asarray(png), draw_detections(plain(640, 480), detections))

    @pytest.mark.parametrize(("size", "reduced"), [
        ((1281, 10), (1280, 10)), ((4000, 3000), (1280, 960)), ((1500, 3000), (640, 1280)), ((3000, 1), (1280, 1)),
    ])  # fmt: skip
    def test_large_pictures_are_reduced(self, size: tuple[int, int], reduced: tuple[int, int]) -> None:
        picture = plain(*size)
        picture.flags.writeable = False
        with Image.open(io.BytesIO(annotated_png(picture[:, ::-1], found(size)))) as png:
            assert png.size == reduced

    def test_boxes_are_reduced_too(self) -> None:
        detections = found((2560, 1920), ("dog", 0.8, (200, 400, 1000, 1200)))
        with Image.open(io.BytesIO(annotated_png(plain(2560, 1920), detections))) as png:
            line = is_colour(np.asarray(png), class_colour("dog"))
        assert np.flatnonzero(line[590, :])[[0, -1]].tolist() == [100, 499]
        assert rows(line[:, 400:])[0] == 200
        assert rows(line)[1] == 599


class TestColours:
    @pytest.mark.parametrize(("name", "colour"), [
        ("person", 0xFC463C), ("car", 0xFBC031), ("toothbrush", 0xFC78E1), ("widget", 0x69C1FC), ("человек", 0x19AFFE),
    ])  # fmt: skip
    def test_never_change(self, name: str, colour: int) -> None:
        assert bytes(class_colour(name)) == colour.to_bytes(3, "big")

    def test_do_not_depend_on_the_other_classes(self) -> None:
        box = (5, 20, 80, 50)
        first = draw_detections(plain(90, 60), found((90, 60), ("widget", 0.9, box)))
        many = found((90, 60), *[(f"class {i}", 0.1, box) for i in range(30)], ("widget", 0.9, box))
        np.testing.assert_array_equal(draw_detections(plain(90, 60), many[[30]]), first)

    @pytest.mark.parametrize(("names", "apart"), [(VOC20[1:], 18), (COCO80[1:], 9)])
    def test_are_well_apart(self, names: tuple[str, ...], apart: float) -> None:
        lab = lab_of([class_colour(name) for name in names])
        distances = np.linalg.norm(lab[:, np.newaxis] - lab, axis=-1) + np.eye(len(names)) * 1e9
        assert distances.min() > apart

    def test_text_has_contrast(self) -> None:
        for colour, lightness in zip(PALETTE, lab_of(PALETTE)[:, 0], strict=True):
            luminance = ((lightness + 16) / 116) ** 3
            of_text = sum(text_colour(colour)) / 765
            ratio = (max(luminance, of_text) + 0.05) / (min(luminance, of_text) + 0.05)
            assert ratio >= 4.5


def lab_of(colours: Sequence[tuple[int, int, int]]) -> Floats:
    """(n, 3) CIE L*a*b*, by OpenCV."""
    lab: Floats = np.asarray(cv2.cvtColor(np.array([colours], np.float32) / 255, cv2.COLOR_RGB2LAB), np.float32)
    return lab.reshape(-1, 3)


@pytest.fixture
def without_fribidi(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A Pillow that puts one glyph after the other, as on most computers."""
    caches = (lettering._font, lettering._latin_box, draw._label_patch)
    monkeypatch.setattr(ImageFont.core, "HAVE_RAQM", False)
    for cache in caches:
        cache.cache_clear()
    yield
    for cache in caches:
        cache.cache_clear()


class TestLettering:
    @pytest.mark.parametrize("script", WORDS)
    def test_every_script_has_its_glyphs(self, script: str) -> None:
        word = WORDS[script]
        for run, file in split_runs(word):
            assert all(has_glyph(file, character) for character in run)
        boxes = draw_text("\U0010ffff" * len(word), 30)
        assert draw_text(word, 30).max() == 255
        assert not np.array_equal(draw_text(word, 30), boxes)

    @pytest.mark.parametrize("script", WORDS)
    @pytest.mark.usefixtures("without_fribidi")
    def test_every_script_without_fribidi(self, script: str) -> None:
        joined = drawing_order(WORDS[script])
        for run, file in split_runs(joined):
            assert all(has_glyph(file, character) for character in run)
        assert draw_text(WORDS[script], 30).max() == 255

    @pytest.mark.parametrize(("text", "runs"), [
        ("", []),
        ("person 0.93", [("person 0.93", 0)]),
        ("人 0.93", [("人 ", 1), ("0.93", 0)]),
        ("A人B", [("A", 0), ("人", 1), ("B", 0)]),
        ("क्‍ष 0.5", [("क्‍ष ", 2), ("0.5", 0)]),
        ("\U0010ffff", [("\U0010ffff", 0)]),
    ])  # fmt: skip
    def test_each_run_takes_the_first_font_that_knows_it(self, text: str, runs: list[tuple[str, int]]) -> None:
        assert split_runs(text) == [(run, FONT_FILES[font]) for run, font in runs]

    def test_missing_characters_show_as_a_box(self) -> None:
        one, two = draw_text("\U0010ffff", 30), draw_text("\U0010ffff\U0010fffe", 30)
        assert one.max() == 255
        assert two.shape[1] > 1.5 * one.shape[1]

    def test_lines_of_latin_text_are_equally_high(self) -> None:
        assert len({draw_text(text, 20).shape[0] for text in ("", "x", "dog", "TV", "0.93", "jgpqy")}) == 1

    @pytest.mark.parametrize("text", ["Ấ", "ญู", "कुत्ता"])
    def test_high_and_deep_letters_are_not_cut(self, text: str) -> None:
        line = draw_text(text, 40)
        assert line.shape[0] > draw_text("A", 40).shape[0]
        assert line[[0, -1]].any()

    def test_fonts_are_small_and_have_their_licences(self) -> None:
        assert {path.name for path in FONTS.glob("*.ttf")} == set(FONT_FILES)
        assert sum(path.stat().st_size for path in FONTS.iterdir()) < 7_000_000
        for family, words in (("DejaVu", "Bitstream"), ("Droid", "Apache License"), ("Noto", "SIL OPEN FONT LICENSE")):
            assert words in (FONTS / f"LICENSE-{family}.txt").read_text(encoding="utf-8")


class TestRightToLeft:
    @pytest.mark.parametrize(("text", "drawn"), [
        ("", ""),
        ("person 0.93", "person 0.93"),
        ("אבג", "גבא"),
        ("אבג 0.93", "0.93 גבא"),
        ("אבג 2 0.93", "0.93 2 גבא"),
        ("אב גד", "דג בא"),
        ("אב (גד) 0.5", "0.5 (דג) בא"),
        ("אב car 2 0.9", "car 2 0.9 בא"),
        ("car אבג 0.93", "car גבא 0.93"),
        ("0.93 אבג", "גבא 0.93"),
    ])  # fmt: skip
    def test_order(self, text: str, drawn: str) -> None:
        assert drawing_order(text) == drawn

    @pytest.mark.parametrize(("letters", "joined"), [
        ("", ""),
        ("abc", "abc"),
        ("ب", "\ufe8f"),
        ("ببب", "\ufe91\ufe92\ufe90"),
        ("دار", "\ufea9\ufe8d\ufead"),  # letters that join to the right only
        ("بَب", "\ufe91\u064e\ufe90"),  # a mark does not part them
        ("ب ب", "\ufe8f \ufe8f"),
        ("ب‌ب", "\ufe8f\u200c\ufe8f"),  # zero-width non-joiner
        ("بـ", "\ufe91ـ"),
        ("لا", "\ufefb"),
        ("سلام", "\ufeb3\ufefc\ufee1"),
        ("پژگ", "\ufb58\ufb8b\ufb92"),
    ])  # fmt: skip
    def test_arabic_letters_join(self, letters: str, joined: str) -> None:
        assert join_letters(letters) == joined

    @pytest.mark.skipif(not lettering._shapes_text(), reason="this Pillow finds no FriBiDi library to compare with")
    @pytest.mark.parametrize(
        "text", ["شخص 0.93", "دراجة نارية 0.50", "سگ پیاده 2 0.75", "שלום (גדול) 0.5", "سلام car 2 0.9"]
    )
    def test_looks_as_fribidi_and_harfbuzz_draw_it(self, text: str, request: pytest.FixtureRequest) -> None:
        theirs = draw_text(text, 40)
        request.getfixturevalue("without_fribidi")
        ours = draw_text(text, 40)
        width = min(ours.shape[1], theirs.shape[1])
        assert abs(ours.shape[1] - theirs.shape[1]) <= 4  # kerning
        assert ours.shape[0] == theirs.shape[0]
        assert likeness(ours[:, :width], theirs[:, :width]) > 0.85
        assert likeness(ours[:, :width], theirs[:, width - 1 :: -1]) < 0.7


def likeness(first: lettering.Grey, second: lettering.Grey) -> float:
    """1 for pictures that are the same but for a pixel or two of shift; about 0 for unlike ones."""
    a, b = (cv2.GaussianBlur(text.astype(np.float32), (0, 0), 3).ravel() for text in (first, second))
    a, b = a - a.mean(), b - b.mean()
    return float(a @ b / np.sqrt((a @ a) * (b @ b)))
