"""Reading and writing picture files, and naming the copies. B01 to B13 are rows of the user reports."""

import io
import os
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import ExifTags, Image, features

from ssd_detect.errors import OutputError, PictureError
from ssd_detect.files import check_target, whole_file
from ssd_detect.media.decoding.origin import PictureOrigin
from ssd_detect.media.decoding.quiet import without_warnings
from ssd_detect.media.picture_files import save_picture
from ssd_detect.media.pictures import Picture, open_picture, read_picture
from tests.made_pictures import (
    INKS_LAB,
    chunk,
    cmyk,
    cmyk_profile,
    exif,
    lab_to_srgb,
    png,
    rgb_profile,
    saved,
    tiff,
    ycck_jpeg,
)

ORIENTATION = 0x0112
ROOT = Path(__file__).parent.parent

HAS_AVIF = "avif" in features.modules and features.check("avif")
needs_avif = pytest.mark.skipif(not HAS_AVIF, reason="this Pillow has no AVIF")
LOSSY = ["JPEG", pytest.param("AVIF", marks=needs_avif), "HEIF"]


def gradient(height: int = 40, width: int = 100) -> Any:
    y, x = np.mgrid[0:height, 0:width]
    return np.stack([y * 255 // height, x * 255 // width, (x + y) % 256], axis=-1).astype(np.uint8)


def read(content: bytes, **options: Any) -> Picture:
    return open_picture(content, name="a", **options)


def turned(stored: Any, orientation: int) -> Any:
    """As a viewer shows it, by the table of EXIF 3.0, 4.6.5: where row 0 and column 0 of the stored picture are."""
    return {
        1: stored, 2: stored[:, ::-1], 3: stored[::-1, ::-1], 4: stored[::-1],
        5: stored.transpose(1, 0, 2), 6: np.rot90(stored, -1),
        7: np.rot90(stored, 2).transpose(1, 0, 2), 8: np.rot90(stored),
    }[orientation]  # fmt: skip


def corner() -> Any:
    """Grey, with a red corner at the top left and a blue one at the top right."""
    pixels = np.full((40, 96, 3), 128, np.uint8)
    pixels[:16, :32], pixels[:8, 80:] = (255, 0, 0), (0, 0, 255)
    return pixels


def file_of(pixels: Any, kind: str, **options: Any) -> bytes:
    """A file of `kind`, as exact as the format allows."""
    if kind == "HEIF":
        pillow_heif = pytest.importorskip("pillow_heif")
        file = io.BytesIO()
        pillow_heif.from_pillow(Image.fromarray(pixels)).save(file, quality=-1, chroma=444, **options)
        return file.getvalue()
    exact: dict[str, dict[str, Any]] = {
        "JPEG": {"quality": 100, "subsampling": 0},
        "WEBP": {"lossless": True},
        "AVIF": {"quality": 100, "subsampling": "4:4:4"},
    }
    return saved(pixels, kind, **exact.get(kind, {}), **options)


class TestReading:
    @pytest.mark.parametrize("suffix", ["png", "bmp", "tiff", "webp", "PNG"])
    def test_lossless_formats(self, tmp_path: Path, suffix: str) -> None:
        Image.fromarray(gradient()).save(tmp_path / f"a.{suffix}", lossless=True)
        picture = read_picture(tmp_path / f"a.{suffix}")
        np.testing.assert_array_equal(picture, gradient())
        assert picture.dtype == np.uint8

    def test_real_photograph(self, media: Path) -> None:
        assert read_picture(str(media / "astronaut.png")).shape == (512, 512, 3)

    @pytest.mark.parametrize("orientation", range(1, 9))
    def test_upright(self, tmp_path: Path, orientation: int) -> None:
        (tmp_path / "a.png").write_bytes(saved(gradient(), "PNG", exif=exif(orientation)))
        np.testing.assert_array_equal(read_picture(tmp_path / "a.png"), turned(gradient(), orientation))

    @pytest.mark.parametrize("mode", ["L", "1", "P", "LA"])
    def test_equals_the_same_picture_in_rgb(self, tmp_path: Path, mode: str) -> None:
        image = Image.fromarray(gradient()).convert("L").convert(mode)
        image.save(tmp_path / "a.png")
        np.testing.assert_array_equal(read_picture(tmp_path / "a.png"), np.array(image.convert("RGB")))

    def test_transparent_pixels_show_white(self, tmp_path: Path) -> None:
        pixels = np.dstack([gradient(), np.full((40, 100), 0, np.uint8)])
        pixels[10:20, 10:20, 3] = 255
        Image.fromarray(pixels).save(tmp_path / "a.png")
        picture = read_picture(tmp_path / "a.png")
        assert (picture[0] == 255).all()
        np.testing.assert_array_equal(picture[10:20, 10:20], gradient()[10:20, 10:20])

    @pytest.mark.parametrize("full", [4095, 65535])
    def test_sixteen_bits_are_scaled_by_their_depth(self, tmp_path: Path, full: int) -> None:
        ramp = np.tile(np.linspace(0, full, 256).astype(np.uint16), (5, 1))
        Image.fromarray(ramp).save(tmp_path / "a.png")
        picture = read_picture(tmp_path / "a.png")
        assert (picture[0, 0].tolist(), picture[0, -1].tolist()) == ([0] * 3, [255] * 3)
        assert np.abs(picture[0, :, 0].astype(int) - np.arange(256)).max() <= 1

    @pytest.mark.parametrize(
        ("name", "content", "message"),
        [
            ("empty.jpg", b"", "is empty \\(0 bytes\\), expected a picture"),
            ("text.jpg", b"not a picture at all\n" * 20, "is no picture that can be read; expected JPEG, PNG"),
            ("half.jpg", None, "the picture is damaged"),
        ],
    )
    def test_faults(self, tmp_path: Path, name: str, content: bytes | None, message: str) -> None:
        if content is None:
            whole = io.BytesIO()
            Image.fromarray(np.random.RandomState(0).randint(0, 256, (90, 90, 3), np.uint8)).save(whole, "JPEG")
            content = whole.getvalue()[: len(whole.getvalue()) // 2]
        (tmp_path / name).write_bytes(content)
        with pytest.raises(PictureError, match=f"{name}: {message}"):
            read_picture(tmp_path / name)

    def test_missing_and_folders(self, tmp_path: Path) -> None:
        with pytest.raises(PictureError, match=r"gone\.jpg: no such file"):
            read_picture(tmp_path / "gone.jpg")
        with pytest.raises(PictureError, match="is a folder with no picture files in it"):
            read_picture(tmp_path)
        (tmp_path / "a.JPG").touch()
        with pytest.raises(PictureError, match="is a folder with 1 picture files in it"):
            read_picture(tmp_path)


class TestB01Exif:
    """Phone pictures: boxes rotated or missed, because one reader turns the picture and another does not."""

    @pytest.mark.parametrize("orientation", range(1, 9))
    @pytest.mark.parametrize("kind", ["PNG", "WEBP", "TIFF", *LOSSY])
    def test_every_format_is_upright(self, kind: str, orientation: int) -> None:
        picture = read(file_of(corner(), kind, exif=exif(orientation)))
        expected = turned(corner(), orientation)
        assert picture.pixels.shape == expected.shape
        assert picture.size == expected.shape[1::-1]
        assert np.abs(picture.pixels.astype(int) - expected).max() <= 4
        assert picture.pixels.flags.c_contiguous
        assert picture.notes == ()

    @pytest.mark.parametrize("order", ["<", ">"])
    @pytest.mark.parametrize("orientation", range(1, 9))
    def test_deep_colours_too(self, order: str, orientation: int) -> None:
        deep = (corner().astype(np.uint16) * 257)[..., :3]
        expected = turned(corner(), orientation)
        tags = {ORIENTATION: (orientation,)}
        np.testing.assert_array_equal(read(tiff(deep, order=order, tags=tags)).pixels, expected)
        np.testing.assert_array_equal(
            read(tiff(deep.astype(np.float32) / 65535, order=order, tags=tags)).pixels, expected
        )
        in_png = png(deep, extra=chunk(b"eXIf", exif(orientation, order=order)[6:]))
        np.testing.assert_array_equal(read(in_png).pixels, expected)

    @pytest.mark.parametrize("orientation", [0, 9, 65535])
    def test_numbers_that_mean_nothing(self, orientation: int) -> None:
        np.testing.assert_array_equal(read(saved(corner(), "PNG", exif=exif(orientation))).pixels, corner())
        np.testing.assert_array_equal(read(tiff(corner(), tags={ORIENTATION: (orientation,)})).pixels, corner())

    @pytest.mark.parametrize("kind", ["JPEG", "PNG", "WEBP"])
    @pytest.mark.parametrize("broken", [
        b"Exif\0\0garbage", b"Exif\0\0II*\0", b"Exif\0\0II*\0\xff\xff\0\0", b"Exif\0\0MM\0*\0\0\0\x08\xff\xff",
    ])  # fmt: skip
    def test_a_broken_block(self, kind: str, broken: bytes) -> None:
        picture = read(file_of(corner(), kind, exif=broken))
        assert np.abs(picture.pixels.astype(int) - corner()).max() <= 4
        assert picture.notes == ("EXIF block damaged, orientation unknown",)
        assert picture.origin.exif is None

    @pytest.mark.parametrize("kind", ["JPEG", "PNG", "WEBP"])
    def test_a_block_cut_behind_the_orientation(self, kind: str) -> None:
        cut = exif(6)[:60]
        picture = read(file_of(corner(), kind, exif=cut))
        assert picture.size == (40, 96)
        assert picture.notes == ()

    def test_exif_as_text_of_imagemagick(self) -> None:
        digits = exif(6).hex()
        text = f"\nexif\n{len(digits) // 2:8}\n" + "\n".join(digits[i : i + 72] for i in range(0, len(digits), 72))
        body = chunk(b"tEXt", b"Raw profile type exif\0" + text.encode())
        np.testing.assert_array_equal(read(png(corner(), extra=body)).pixels, turned(corner(), 6))

    @pytest.mark.parametrize("kind", ["jpg", "png", "webp", "tiff", pytest.param("avif", marks=needs_avif)])
    def test_the_copy_is_upright_for_every_reader(self, tmp_path: Path, kind: str) -> None:
        for orientation in range(1, 9):
            picture = read(file_of(corner(), "JPEG", exif=exif(orientation)))
            target = tmp_path / f"a.{kind}"
            save_picture(target, picture.pixels, picture.origin, overwrite=True)
            with Image.open(target) as copy:
                assert copy.getexif().get(ORIENTATION) is None
                assert np.abs(np.asarray(copy).astype(int) - turned(corner(), orientation)).mean() < 2
                assert copy.getexif()[ExifTags.Base.Make].rstrip("\0") == "ACME"
            assert b"small picture of before" not in target.read_bytes()


class TestB03Channels:
    """Grayscale pictures fail with a broadcast or feed-shape error."""

    @pytest.mark.parametrize(("mode", "kinds"), [
        ("L", "PNG TIFF JPEG GIF BMP WEBP PPM JPEG2000"), ("1", "PNG TIFF JPEG GIF BMP PPM"), ("P", "PNG TIFF GIF BMP"),
        ("LA", "PNG TIFF GIF JPEG2000"), ("RGBA", "PNG TIFF WEBP BMP GIF JPEG2000"), ("PA", "TIFF"),
        ("CMYK", "JPEG TIFF"), ("YCbCr", "JPEG"), ("I;16", "PNG TIFF JPEG2000"), ("I", "TIFF"), ("F", "TIFF"),
    ])  # fmt: skip
    def test_any_channel_count_gives_the_picture_stored_as_rgb(self, mode: str, kinds: str) -> None:
        levels = np.array([[0, 255], [255, 0]], np.uint8).repeat(16, axis=0).repeat(16, axis=1)
        image = {
            "I;16": Image.fromarray(levels.astype(np.uint16) * 257),
            "I": Image.fromarray(levels.astype(np.int32) * 257),
            "F": Image.fromarray(levels.astype(np.float32)),
            "PA": Image.fromarray(levels).convert("P").convert("PA"),
            "CMYK": Image.fromarray(levels).convert("RGB").convert("CMYK"),
            "YCbCr": Image.fromarray(levels).convert("RGB").convert("YCbCr"),
        }.get(mode) or Image.fromarray(levels).convert(mode)
        for kind in kinds.split():
            pixels = read(saved(image, kind)).pixels
            assert (pixels.shape, str(pixels.dtype)) == ((32, 32, 3), "uint8")
            assert np.abs(pixels.astype(int) - levels[..., np.newaxis]).max() <= 3, kind

    def test_grey_jpeg_equals_its_rgb(self, media: Path) -> None:
        grey = np.asarray(Image.open(media / "astronaut.png").convert("L"))
        picture = read(saved(grey, "JPEG"))
        with Image.open(io.BytesIO(saved(grey, "JPEG"))) as file:
            np.testing.assert_array_equal(picture.pixels, np.asarray(file.convert("RGB")))


class TestB05Alpha:
    """The hidden colour under transparent pixels is detected on."""

    @pytest.mark.parametrize("kind", ["PNG", "TIFF", "WEBP"])
    def test_green_under_alpha_0_is_white(self, kind: str) -> None:
        pixels = np.full((40, 60, 4), (0, 255, 0, 0), np.uint8)
        pixels[10:20, 10:20] = (200, 100, 50, 255)
        expected = np.full((40, 60, 3), 255, np.uint8)
        expected[10:20, 10:20] = (200, 100, 50)
        picture = read(saved(pixels, kind, **({"lossless": True, "exact": True} if kind == "WEBP" else {})))
        np.testing.assert_array_equal(picture.pixels, expected)
        assert picture.notes == ("transparent parts shown on white",)

    def test_half_transparent(self) -> None:
        rng = np.random.default_rng(0)
        pixels = rng.integers(0, 256, (50, 60, 4), np.uint8)
        share = pixels[..., 3:].astype(float) / 255
        expected = pixels[..., :3] * share + 255 * (1 - share)
        assert np.abs(read(png(pixels)).pixels - expected).max() <= 1
        grey = pixels[..., 2:]
        assert np.abs(read(png(grey)).pixels - (grey[..., :1] * share + 255 * (1 - share))).max() <= 1

    @pytest.mark.parametrize("channels", [2, 4])
    def test_sixteen_bits(self, channels: int) -> None:
        pixels = np.random.default_rng(0).integers(0, 65536, (50, 60, channels), np.uint16)
        share = pixels[..., -1:] / 65535
        picture = read(png(pixels))
        expected = pixels[..., :-1] / 257 * share + 255 * (1 - share)
        assert np.abs(picture.pixels - expected).max() <= 1.5  # it is rounded twice
        assert picture.notes == ("16-bit values scaled to 8 bits", "transparent parts shown on white")
        if channels == 4:
            np.testing.assert_array_equal(read(tiff(pixels)).pixels, picture.pixels)

    @pytest.mark.parametrize("transparency", [1, bytes([255, 0, 128])])
    def test_palette(self, transparency: int | bytes) -> None:
        image = Image.fromarray(np.repeat(np.array([[0, 1, 2]], np.uint8), 10, axis=0))
        image.putpalette([10, 20, 30, 40, 50, 60, 70, 80, 90])
        picture = read(saved(image, "PNG", transparency=transparency))
        third = [163, 168, 173] if isinstance(transparency, bytes) else [70, 80, 90]
        assert np.abs(picture.pixels[0].astype(int) - [[10, 20, 30], [255, 255, 255], third]).max() <= 1
        assert picture.notes == ("transparent parts shown on white",)

    @pytest.mark.parametrize(("values", "key"), [
        (np.array([[[9], [7]]], np.uint8), 7), (np.array([[[40000], [50000]]], np.uint16), 50000),
        (np.array([[[9, 9, 9], [1, 2, 3]]], np.uint8), (1, 2, 3)),
        (np.array([[[9, 9, 9], [513, 2, 3]]], np.uint16), (513, 2, 3)),
    ])  # fmt: skip
    def test_one_transparent_colour(self, values: Any, key: Any) -> None:
        body = chunk(b"tRNS", np.atleast_1d(np.array(key, ">u2")).tobytes())
        picture = read(png(values, extra=body))
        assert picture.pixels[0, 1].tolist() == [255, 255, 255]
        assert picture.pixels[0, 0].max() < 255
        assert picture.notes[-1] == "transparent parts shown on white"

    def test_transparency_without_use_is_no_news(self) -> None:
        opaque = np.dstack([gradient(), np.full((40, 100), 255, np.uint8)])
        picture = read(png(opaque))
        np.testing.assert_array_equal(picture.pixels, gradient())
        assert picture.notes == ()
        image = Image.fromarray(np.zeros((4, 4), np.uint8))
        image.putpalette([10, 20, 30, 40, 50, 60])
        assert read(saved(image, "GIF", transparency=1)).notes == ()


class TestB06SixteenBits:
    """16-bit pictures look black or white and give no detections."""

    @pytest.mark.parametrize("channels", [1, 3])
    @pytest.mark.parametrize(("full", "note"), [
        (4095, "12-bit values (none above 4095) scaled to 8 bits"), (65535, "16-bit values scaled to 8 bits"),
    ])  # fmt: skip
    def test_ramps(self, channels: int, full: int, note: str) -> None:
        ramp = np.tile(np.linspace(0, full, 300).astype(np.uint16)[:, np.newaxis], (4, 1, channels))
        expected = np.broadcast_to(np.rint(ramp * (255 / full)), (4, 300, 3))
        for content in (png(ramp), *(tiff(ramp, order=order, big=big) for order in "<>" for big in (False, True))):
            picture = read(content)
            np.testing.assert_array_equal(picture.pixels, expected)
            assert picture.notes == (note,)

    def test_compressed_tiff_in_strips(self) -> None:
        cv2 = pytest.importorskip("cv2")
        colours = np.random.default_rng(0).integers(0, 65536, (300, 200, 3), np.uint16)
        content = cv2.imencode(".tiff", np.ascontiguousarray(colours[..., ::-1]))[1].tobytes()
        np.testing.assert_array_equal(read(content).pixels, np.rint(colours / 257))

    def test_twelve_bit_colours_under_full_alpha(self) -> None:
        colours = np.random.default_rng(0).integers(0, 4096, (20, 20, 4), np.uint16)
        colours[..., 3] = 65535
        picture = read(png(colours))
        np.testing.assert_array_equal(picture.pixels, np.rint(colours[..., :3] * (255 / 4095)))
        assert picture.notes == ("12-bit values (none above 4095) scaled to 8 bits",)

    @pytest.mark.parametrize("channels", [1, 3])
    @pytest.mark.parametrize(("low", "high", "black", "white", "note"), [
        (0, 1, 0, 1, "floating-point values from 0 to 1 scaled to 8 bits"),
        (0.2, 0.6, 0, 1, "floating-point values from 0 to 1 scaled to 8 bits"),
        (0, 200, 0, 255, "floating-point values from 0 to 255 scaled to 8 bits"),
        (-2, 511, -2, 511, "floating-point values from -2 to 511 scaled to 8 bits"),
    ])  # fmt: skip
    def test_floating_point(
        self, channels: int, low: float, high: float, black: float, white: float, note: str
    ) -> None:
        ramp = np.tile(np.linspace(low, high, 100, dtype=np.float32)[:, np.newaxis], (4, 1, channels))
        picture = read(tiff(ramp))
        expected = (ramp.astype(float) - black) * (255 / (white - black))
        assert np.abs(picture.pixels - expected).max() <= 0.5001
        assert picture.notes == (note,)

    @pytest.mark.parametrize("channels", [1, 3])
    def test_floating_point_that_is_no_number(self, channels: int) -> None:
        values = np.array([[0.0, np.nan, np.inf, -np.inf, 1.0]], np.float32)[..., np.newaxis].repeat(channels, axis=2)
        picture = read(tiff(values))
        assert picture.pixels[0, :, 0].tolist() == [0, 0, 255, 0, 255]
        nothing = read(tiff(np.full((3, 3, channels), np.nan, np.float32)))
        assert not nothing.pixels.any()
        assert not read(tiff(np.full((3, 3, channels), 1e9, np.float32))).pixels.any()

    def test_whole_numbers_of_32_bits(self) -> None:
        values = np.array([[[0], [500_000], [1_000_000]]], np.int32)
        picture = read(tiff(values))
        assert picture.pixels[0, :, 0].tolist() == [0, 128, 255]
        assert picture.notes == ("values up to 1000000 scaled to 8 bits",)
        assert read(tiff(np.array([[[-5], [4095]]], np.int16))).pixels[0, :, 0].tolist() == [0, 255]

    @pytest.mark.parametrize("values", [np.zeros((4, 4, 2), np.uint16), np.zeros((4, 4, 3), np.float16)])
    def test_what_nobody_can_read_says_so(self, values: Any) -> None:
        with pytest.raises(PictureError, match=r"^a: cannot be read as TIFF: "):
            read(tiff(values))


class TestColours:
    def test_cmyk_through_its_profile(self) -> None:
        for mixture, lab in INKS_LAB.items():
            inks = cmyk(np.full((16, 16, 4), np.array(mixture, np.uint8) * 255))
            for content in (
                saved(inks, "JPEG", quality=100, icc_profile=cmyk_profile()),
                saved(inks, "TIFF", icc_profile=cmyk_profile()),
            ):
                picture = read(content)
                assert np.abs(picture.pixels - lab_to_srgb(*lab)).max() <= 3
                assert picture.notes == ()
                assert picture.origin.icc_profile is None  # it fits CMYK, and this is RGB

    @pytest.mark.parametrize(("profile", "note"), [
        (None, "CMYK colours converted without a colour profile"),
        (rgb_profile(), "CMYK colours converted without a colour profile"),
        (cmyk_profile()[:200], "CMYK colours converted without the colour profile, which is damaged"),
    ])  # fmt: skip
    def test_cmyk_without_one(self, profile: bytes | None, note: str) -> None:
        inks = np.random.default_rng(0).integers(0, 256, (3, 4, 4), np.uint8).repeat(16, axis=0).repeat(16, axis=1)
        expected = 255 - np.minimum(
            255, inks[..., :3].astype(int) * (255 - inks[..., 3:].astype(int)) // 255 + inks[..., 3:]
        )
        picture = read(saved(cmyk(inks), "JPEG", quality=100, icc_profile=profile))
        assert np.abs(picture.pixels - expected).max() <= 4
        assert picture.notes == (note,)

    def test_ycck(self) -> None:
        inks = np.random.default_rng(0).integers(0, 256, (3, 4, 4), np.uint8).repeat(16, axis=0).repeat(16, axis=1)
        plain = read(saved(cmyk(inks), "JPEG", quality=100)).pixels.astype(int)
        assert np.abs(read(ycck_jpeg(inks)).pixels - plain).max() <= 5

    def test_lab_tiff(self) -> None:
        lab = Image.new("LAB", (8, 8))
        values = [(200, 128, 128), (150, 150, 100), (100, 128, 190)]
        for stored in values:
            lab.paste(stored, (0, 0, 8, 8))
            lightness, a, b = np.asarray(lab)[0, 0].astype(float)
            signed = [v - 256 if v > 127 else v for v in (a, b)]
            expected = lab_to_srgb(lightness * 100 / 255, *signed)
            assert np.abs(read(saved(lab, "TIFF")).pixels[0, 0] - expected).max() <= 4

    @pytest.mark.parametrize("kind", ["PNG", "WEBP", "TIFF"])
    def test_numbers_of_rgb_stay_and_the_profile_comes_along(self, kind: str) -> None:
        picture = read(file_of(gradient(), kind, icc_profile=rgb_profile()))
        np.testing.assert_array_equal(picture.pixels, gradient())
        assert picture.origin.icc_profile == rgb_profile()

    def test_a_profile_of_grey_stays_behind(self) -> None:
        profile = bytearray(rgb_profile())
        profile[16:20] = b"GRAY"
        picture = read(saved(gradient()[..., 0], "PNG", icc_profile=bytes(profile)))
        np.testing.assert_array_equal(picture.pixels[..., 2], gradient()[..., 0])
        assert picture.origin.icc_profile is None


class TestB08Paths:
    """A path with accents, Cyrillic, Chinese or Hebrew is not read or not written, without an error."""

    @pytest.mark.parametrize("name", [
        "фото ñ 测试/a b.png", "תמונה.jpg", "-a.png", "a'\"`$%#&.png", "trailing..png", "caf\udce9.png",
        "x" * 240 + ".png",
    ])  # fmt: skip
    def test_there_and_back(self, tmp_path: Path, name: str) -> None:
        path = tmp_path / name
        save_picture(path, gradient())
        assert open_picture(path, name=name).size == (100, 40)
        with pytest.raises(PictureError, match="no such file"):
            open_picture(path.with_name("gone" + path.name[5:]), name=name)

    def test_content_counts_not_the_suffix(self, tmp_path: Path) -> None:
        for name, kind in (("a.jpg", "PNG"), ("b.png", "WEBP"), ("c", "GIF"), ("d.TXT", "BMP"), ("e.mp4", "TIFF")):
            (tmp_path / name).write_bytes(saved(gradient(), kind))
            assert open_picture(tmp_path / name, name=name).origin.format == kind


class TestB10Damage:
    """One damaged file ends a run over thousands of pictures: here each gives one clear line."""

    @pytest.mark.parametrize(("content", "message"), [
        (b"", "a: is empty (0 bytes), expected a picture"),
        (b"not a picture at all\n" * 20, "a: is no picture that can be read; expected JPEG, PNG, WebP, AVIF, HEIC, "),
        (b"%PDF-1.4\n", "a: is no picture that can be read; "),
        (b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n", "a: is no picture that can be read; "),
        (b"\0\0\0\x20ftypisom\0\0\0\0isomavc1", "a: is no picture that can be read; "),
        (b"\xff\xd8\xff", "a: cannot be read as JPEG: "),
        (b"BM", "a: cannot be read as BMP: "),
        (b"RIFF\x04\0\0\0WEBP", "a: cannot be read as WebP: "),
        (b"\x89PNG\r\n\x1a\n", "a: cannot be read as PNG: "),
        (b"II*\0\xff\xff\xff\xff", "a: cannot be read as TIFF: "),
    ])  # fmt: skip
    def test_one_line_each(self, content: bytes, message: str) -> None:
        with pytest.raises(PictureError) as raised:
            read(content)
        assert str(raised.value).startswith(message)
        assert "\n" not in str(raised.value)

    def test_a_picture_of_no_pixels(self) -> None:
        with pytest.raises(PictureError, match=r"^a: cannot be read as GIF: "):
            read(b"GIF89a" + bytes(7))

    def test_files_that_are_none(self, tmp_path: Path) -> None:
        with pytest.raises(PictureError, match=r"^x: is a device, expected a picture file"):
            open_picture(Path("/dev/null"), name="x")
        with pytest.raises(PictureError, match=r"^x: cannot be read: .*null"):
            open_picture(Path("a\0b"), name="x")
        with pytest.raises(PictureError, match=r"^x: cannot be read: File name too long"):
            open_picture(tmp_path / ("x" * 300), name="x")
        with pytest.raises(PictureError, match=r"^x: no such file"):
            open_picture(Path(__file__) / "a.png", name="x")

    def test_a_pipe(self, tmp_path: Path) -> None:
        os.mkfifo(tmp_path / "pipe")
        writer = threading.Thread(target=(tmp_path / "pipe").write_bytes, args=(saved(gradient(), "PNG"),))
        writer.start()
        assert open_picture(tmp_path / "pipe", name="pipe").size == (100, 40)
        writer.join()

    @pytest.mark.slow
    def test_a_short_fuzz_run(self) -> None:
        command = [sys.executable, str(ROOT / "scripts" / "fuzz_pictures.py"), "--count", "200", "--seed", "1"]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
        assert (done.returncode, done.stderr) == (0, "")
        assert "200 damaged files" in done.stdout
        assert " 0 faults" in done.stdout


class TestB11Truncation:
    """A truncated JPEG is decoded with a flat lower part and detected on as if whole."""

    KINDS = ("JPEG", "PNG", "GIF", "BMP", "TIFF", "WEBP", pytest.param("AVIF", marks=needs_avif), "JPEG2000", "HEIF")

    def noise(self, kind: str) -> bytes:
        pixels = np.random.default_rng(0).integers(0, 256, (90, 120, 3), np.uint8)
        return file_of(pixels, kind)

    @pytest.mark.parametrize("kind", KINDS)
    @pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
    def test_a_part_of_the_file(self, kind: str, share: float) -> None:
        if kind == "TIFF":  # its directory comes first here, as in most files
            content = tiff(np.random.default_rng(0).integers(0, 256, (90, 120, 3), np.uint8))
        else:
            content = self.noise(kind)
        with pytest.raises(PictureError, match=r"^a: (the picture is damaged|cannot be read as .*): "):
            read(content[: int(len(content) * share)])

    def test_progressive_jpeg(self) -> None:
        pixels = np.random.default_rng(0).integers(0, 256, (90, 120, 3), np.uint8)
        content = saved(pixels, "JPEG", progressive=True)
        for share in (0.5, 0.9):
            with pytest.raises(PictureError, match=r"^a: the picture is damaged: "):
                read(content[: int(len(content) * share)])

    def test_the_last_two_bytes(self) -> None:
        """Without its end mark a JPEG may lack pixels; the last two bytes of a PNG are a checksum of nothing."""
        with pytest.raises(PictureError, match=r"^a: the picture is damaged: image file is truncated"):
            read(self.noise("JPEG")[:-2])
        np.testing.assert_array_equal(read(self.noise("PNG")[:-2]).pixels, read(self.noise("PNG")).pixels)

    @pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "JPEG2000"])  # whose boxes know no end
    def test_bytes_behind_the_picture_do_not_matter(self, kind: str) -> None:
        content = self.noise(kind)
        for junk in (b"\0" * 100, b"junk" * 1000, content[:500]):
            np.testing.assert_array_equal(read(content + junk).pixels, read(content).pixels)

    @pytest.mark.parametrize("values", [gradient(), gradient().astype(np.uint16) * 257], ids=["8 bits", "16 bits"])
    def test_a_flipped_bit_in_a_png(self, values: Any) -> None:
        whole = png(values)
        start = whole.index(b"IDAT") + 4
        for place in range(start, whole.index(b"IEND") - 4, 13):
            content = bytearray(whole)
            content[place] ^= 4
            with pytest.raises(PictureError, match=r"^a: the picture is damaged: "):
                read(bytes(content))


class TestB13Animations:
    """Animations are read as None or only frame 1; HEIC from phones not at all."""

    @pytest.mark.parametrize(("kind", "note"), [
        ("GIF", "first of 3 frames; ssd-detect video reads them all"),
        ("PNG", "first of 3 frames; ssd-detect video reads them all"),
        ("WEBP", "first of 3 frames"),
        pytest.param("AVIF", "first of 3 frames", marks=needs_avif),
        ("TIFF", "page 1 of 3"),
    ])  # fmt: skip
    def test_the_first_frame_and_a_note(self, kind: str, note: str) -> None:
        frames = [Image.new("RGB", (60, 40), colour) for colour in ("red", "lime", "blue")]
        options = {"lossless": True} if kind == "WEBP" else {"quality": 100} if kind == "AVIF" else {}
        content = saved(frames[0], kind, save_all=True, append_images=frames[1:], **options)
        picture = read(content)
        assert np.abs(picture.pixels.astype(int) - (255, 0, 0)).max() <= 2
        assert picture.notes == (note,)

    def test_a_later_page_that_is_damaged(self) -> None:
        frames = [Image.new("RGB", (60, 40), colour) for colour in ("red", "lime", "blue")]
        content = saved(frames[0], "TIFF", save_all=True, append_images=frames[1:])
        picture = read(content[: len(content) - 60 * 40 * 3])
        assert picture.pixels[0, 0].tolist() == [255, 0, 0]
        assert picture.notes == ("page 1 of 3",)

    def test_a_later_frame_that_is_damaged(self) -> None:
        frames = [Image.effect_noise((60, 40), 90).convert("P") for _ in range(3)]
        content = saved(frames[0], "GIF", save_all=True, append_images=frames[1:])
        whole, cut = read(content), read(content[: len(content) // 2])
        np.testing.assert_array_equal(whole.pixels, cut.pixels)
        assert whole.notes == ("first of 3 frames; ssd-detect video reads them all",)
        assert cut.notes[0].startswith("first of ")

    def test_further_pictures_behind_a_jpeg(self) -> None:
        frames = [Image.new("RGB", (64, 48), colour) for colour in ("red", "lime")]
        picture = read(saved(frames[0], "MPO", save_all=True, append_images=frames[1:]))
        assert (picture.origin.format, picture.notes) == ("JPEG", ())

    @pytest.mark.parametrize("head", [
        b"\0\0\0\x18ftypheic\0\0\0\0mif1heic", b"\0\0\0\x18ftypmif1\0\0\0\0mif1heic", b"....ftypheic",
    ])  # fmt: skip
    def test_heic_without_the_extra(self, monkeypatch: pytest.MonkeyPatch, head: bytes) -> None:
        monkeypatch.setitem(sys.modules, "pillow_heif", None)
        with pytest.raises(PictureError) as raised:
            read(head)
        assert str(raised.value) == "a: is a HEIC picture; type: pip install 'ssd-detect[heic]'"

    def test_heic_with_it(self) -> None:
        picture = read(file_of(corner(), "HEIF"))
        assert (picture.origin.format, picture.origin.lossless, picture.notes) == ("HEIF", False, ())
        with pytest.raises(PictureError, match=r"^a: cannot be read as HEIC: "):
            read(b"\0\0\0\x18ftypheic\0\0\0\0mif1heic")

    def test_the_extra_is_loaded_for_heic_alone(self, media: Path) -> None:
        code = (
            "import sys; from ssd_detect.media.pictures import read_picture; read_picture(sys.argv[1]); "
            "assert 'pillow_heif' not in sys.modules"
        )
        subprocess.run([sys.executable, "-c", code, media / "astronaut.png"], check=True, cwd=ROOT)


class TestPixelLimit:
    def test_says_size_limit_and_switch(self) -> None:
        with pytest.raises(PictureError) as raised:
            read(saved(gradient(), "PNG"), max_pixels=3999)
        assert str(raised.value) == (
            "a: is 100x40 pixels, 4,000 in all, more than the limit of 3,999; --max-pixels raises it"
        )
        assert read(saved(gradient(), "PNG"), max_pixels=4000).size == (100, 40)

    @pytest.mark.parametrize(
        "kind",
        [
            "JPEG",
            "PNG",
            "GIF",
            "BMP",
            "TIFF",
            "WEBP",
            "JPEG2000",
            "PPM",
            pytest.param("AVIF", marks=needs_avif),
            "HEIF",
        ],
    )
    def test_every_format(self, kind: str) -> None:
        with pytest.raises(PictureError, match="--max-pixels raises it"):
            read(file_of(corner(), kind), max_pixels=1000)

    def test_deep_tiff(self) -> None:
        with pytest.raises(PictureError, match="--max-pixels raises it"):
            read(tiff(np.zeros((40, 100, 3), np.float32)), max_pixels=1000)

    @pytest.mark.parametrize("content", [
        png(np.zeros((1, 1, 3), np.uint8)).replace(b"\0\0\0\x01\0\0\0\x01\x08", b"\x7f\xff\xff\xff" * 2 + b"\x08"),
        b"RIFF\x16\0\0\0WEBPVP8X\x0a\0\0\0\x10\0\0\0\xff\xff\xff\xff\xff\0",
        b"GIF89a\xff\xff\xff\xff\0\0\0,\0\0\0\0\xff\xff\xff\xff\0\x08",
    ], ids=["PNG", "WebP", "GIF"])  # fmt: skip
    def test_claims_are_refused_before_they_cost_anything(self, content: bytes) -> None:
        start = time.process_time()
        with pytest.raises(PictureError, match="--max-pixels raises it"):
            read(content)
        assert time.process_time() - start < 1

    @pytest.mark.parametrize("kind", ["PNG", "TIFF", "GIF"])
    def test_pillows_own_limit_does_not_count_and_stays(self, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
        monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 100)
        picture = read(saved(gradient(), kind))
        assert picture.size == (100, 40)
        assert Image.MAX_IMAGE_PIXELS == 100

    @pytest.mark.slow
    @pytest.mark.parametrize(("suffix", "per_pixel"), [("png", 8), ("jpg", 8), ("tif", 11)])
    def test_memory_for_reading_drawing_and_saving(self, tmp_path: Path, suffix: str, per_pixel: float) -> None:
        """Pillow needs 4 bytes a pixel, the array 3, the file its own size (3 in TIFF): nothing on top of that.

        Whatever the way it is turned.
        """
        side = 6000
        Image.new("RGB", (side, side), "grey").save(tmp_path / f"a.{suffix}", exif=exif(6 if suffix == "jpg" else None))
        code = (
            "import sys; import numpy as np; from pathlib import Path\n"
            "from ssd_detect.media.pictures import open_picture\n"
            "from ssd_detect.media.picture_files import save_picture\n"
            "from ssd_detect.media.drawing.draw import draw_in_place\n"
            "from ssd_detect.detections import Detections\n"
            "from ssd_detect.benchmark.memory import peak_bytes\n"
            "path = Path(sys.argv[1]); base = peak_bytes()\n"
            "picture = open_picture(path, name='a')\n"
            "found = Detections([[9, 9, 5000, 5000]], [0.9], [1], picture.size, ('background', 'person'))\n"
            "draw_in_place(picture.pixels, found)\n"
            "save_picture(path.with_name('b' + path.suffix), picture.pixels, picture.origin)\n"
            "print((peak_bytes() - base) / (picture.size[0] * picture.size[1]))\n"
        )
        command = [sys.executable, "-c", code, str(tmp_path / f"a.{suffix}")]
        done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT)
        assert float(done.stdout) < per_pixel + 0.5  # a part of the picture at a time


class TestQuiet:
    def test_warnings_stay_inside_and_in_this_thread(self) -> None:
        def other() -> None:
            warnings.warn("from another thread", stacklevel=1)

        with without_warnings():
            warnings.warn("inside", stacklevel=1)
            with without_warnings():
                warnings.warn("deeper", stacklevel=1)
            warnings.warn("still inside", stacklevel=1)
            with ThreadPoolExecutor(1) as pool, pytest.raises(UserWarning, match="from another thread"):
                pool.submit(other).result()
        with pytest.raises(UserWarning, match="outside"):
            warnings.warn("outside", stacklevel=1)

    def test_the_callers_filters_work_on(self) -> None:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            with without_warnings():
                warnings.warn("inside", stacklevel=1)
            warnings.warn("outside", stacklevel=1)
        assert [str(w.message) for w in caught] == ["outside"]

    def test_many_threads_read(self) -> None:
        damaged = file_of(corner(), "JPEG", exif=b"Exif\0\0II*\0\x08\0\0\0\x09\0\x12\x01\3\0\1\0\0\0\6\0\0\0")
        with ThreadPoolExecutor(8) as pool:
            sizes = {picture.size for picture in pool.map(read, [damaged] * 200)}
        assert sizes == {(40, 96)}

    def test_an_absurd_tiff_is_not_logged(self, caplog: pytest.LogCaptureFixture) -> None:
        with pytest.raises(PictureError):
            read(tiff(np.zeros((2, 2, 3), np.uint8), tags={277: (2048,)}))
        assert caplog.records == []


class TestWriting:
    @pytest.mark.parametrize(
        "name", ["a.png", "sub/sub/a.bmp", "фото ñ.TIFF", "a b'\"#%.png", "-a.png", "caf\udce9.png"]
    )
    def test_there_and_back(self, tmp_path: Path, name: str) -> None:
        save_picture(tmp_path / name, gradient())
        np.testing.assert_array_equal(read_picture(tmp_path / name), gradient())
        assert os.listdir((tmp_path / name).parent) == [Path(name).name]  # noqa: PTH208

    def test_jpeg_is_near(self, tmp_path: Path) -> None:
        smooth = np.broadcast_to(np.arange(0, 200, 2, dtype=np.uint8)[:, np.newaxis], (40, 100, 3)).copy()
        save_picture(tmp_path / "a.jpg", smooth)
        assert np.abs(read_picture(tmp_path / "a.jpg").astype(int) - smooth).mean() < 3

    def test_existing(self, tmp_path: Path) -> None:
        (tmp_path / "a.png").write_text("mine")
        with pytest.raises(OutputError, match="exists already; name another output or use --overwrite"):
            save_picture(tmp_path / "a.png", gradient())
        assert (tmp_path / "a.png").read_text() == "mine"
        save_picture(tmp_path / "a.png", gradient(), overwrite=True)
        assert read_picture(tmp_path / "a.png").shape == (40, 100, 3)

    @pytest.mark.parametrize("name", ["a.xyz", "a", "a.mp4"])
    def test_unknown_suffix(self, tmp_path: Path, name: str) -> None:
        with pytest.raises(OutputError, match="cannot save as"):
            save_picture(tmp_path / name, gradient())
        assert list(tmp_path.iterdir()) == []

    def test_format_with_a_limit(self, tmp_path: Path) -> None:
        with pytest.raises(OutputError, match="cannot save the picture in this format"):
            save_picture(tmp_path / "a.webp", np.zeros((1, 17000, 3), np.uint8))
        assert list(tmp_path.iterdir()) == []

    @pytest.mark.parametrize("suffix", ["jpg", "JPEG", "png", "webp", "tif", pytest.param("AVIF", marks=needs_avif)])
    def test_profile_and_exif_come_along(self, tmp_path: Path, suffix: str) -> None:
        note = b"the camera's own"
        origin = read(file_of(gradient(), "JPEG", exif=exif(1, more={0x9286: note}), icc_profile=rgb_profile())).origin
        save_picture(tmp_path / f"a.{suffix}", gradient(), origin)
        again = open_picture(tmp_path / f"a.{suffix}", name="a").origin
        assert again.icc_profile == rgb_profile()
        with Image.open(tmp_path / f"a.{suffix}") as copy:
            assert copy.getexif()[ExifTags.Base.Make].rstrip("\0") == "ACME"
            inner = copy.getexif().get_ifd(ExifTags.IFD.Exif)
            assert inner[0x9286] == note
            assert 0xA002 not in inner

    def test_exif_of_a_tiff_comes_along(self, tmp_path: Path) -> None:
        picture = read(saved(gradient(), "TIFF", exif=exif(8, more={0x9286: b"note"})))
        for suffix in ("jpg", "tif"):
            save_picture(tmp_path / f"a.{suffix}", picture.pixels, picture.origin)
            with Image.open(tmp_path / f"a.{suffix}") as copy:
                assert copy.size == (40, 100)
                assert copy.getexif()[ExifTags.Base.Make].rstrip("\0") == "ACME"
                inner = copy.getexif().get_ifd(ExifTags.IFD.Exif)
                assert 0x9286 in inner
                assert 0xA002 not in inner
                assert ORIENTATION not in copy.getexif()

    @pytest.mark.parametrize("quality", [30, 75, 100])
    @pytest.mark.parametrize("subsampling", [0, 1, 2])
    def test_a_jpeg_is_coded_as_it_was(self, tmp_path: Path, media: Path, quality: int, subsampling: int) -> None:
        (tmp_path / "a.jpg").write_bytes(
            saved(Image.open(media / "astronaut.png"), "JPEG", quality=quality, subsampling=subsampling)
        )
        picture = open_picture(tmp_path / "a.jpg", name="a")
        save_picture(tmp_path / "b.jpg", picture.pixels, picture.origin)
        with Image.open(tmp_path / "a.jpg") as before, Image.open(tmp_path / "b.jpg") as after:
            for one, other in zip(after.layer, before.layer, strict=True):
                assert one[1:3] == other[1:3]
                assert after.quantization[one[3]] == before.quantization[other[3]]
        loss = np.abs(read_picture(tmp_path / "b.jpg").astype(int) - picture.pixels).mean()
        assert loss < 1.5

    @pytest.mark.parametrize("mode", ["L", "CMYK"])
    def test_a_jpeg_of_other_colours(self, tmp_path: Path, mode: str) -> None:
        content = saved(Image.fromarray(gradient()).convert(mode), "JPEG", quality=80)
        picture = read(content)
        save_picture(tmp_path / "b.jpg", picture.pixels, picture.origin)
        with Image.open(io.BytesIO(content)) as before, Image.open(tmp_path / "b.jpg") as after:
            assert set(map(tuple, after.quantization.values())) == {tuple(before.quantization[0])}
            assert after.layer[0][1:3] == (1, 1)

    def test_any_other_picture_becomes_a_good_jpeg(self, tmp_path: Path) -> None:
        for origin in (None, read(saved(gradient(), "PNG")).origin):
            save_picture(tmp_path / "a.jpg", gradient(), origin, overwrite=True)
            with Image.open(tmp_path / "a.jpg") as copy:
                assert copy.layer[0][1:3] == (1, 1)
                assert max(copy.quantization[0]) < 15

    @pytest.mark.parametrize(("kind", "options", "lossless"), [
        ("PNG", {}, True), ("BMP", {}, True), ("GIF", {}, True), ("TIFF", {}, True), ("PPM", {}, True),
        ("TIFF", {"compression": "jpeg"}, False), ("JPEG", {}, False),
        ("WEBP", {}, False), ("WEBP", {"lossless": True}, True),
        ("WEBP", {"exif": b"Exif\0\0" + bytes(9), "lossless": True}, True), ("WEBP", {"icc_profile": b"x" * 11}, False),
        ("WEBP", {"save_all": True, "append_images": [Image.new("RGB", (100, 40))], "lossless": True}, True),
    ])  # fmt: skip
    def test_webp_is_lossless_when_the_original_was(
        self, tmp_path: Path, kind: str, options: dict[str, Any], lossless: bool
    ) -> None:
        picture = read(saved(gradient(), kind, **options))
        assert picture.origin.lossless == lossless
        save_picture(tmp_path / "b.webp", picture.pixels, picture.origin)
        same = np.array_equal(read_picture(tmp_path / "b.webp"), picture.pixels)
        assert same == lossless

    @needs_avif
    def test_avif_is_good(self, tmp_path: Path, media: Path) -> None:
        pixels = read_picture(media / "astronaut.png")
        save_picture(tmp_path / "a.avif", pixels)
        assert np.abs(read_picture(tmp_path / "a.avif").astype(int) - pixels).mean() < 2

    def test_exif_too_long_for_jpeg_stays_behind(self, tmp_path: Path) -> None:
        origin = PictureOrigin("PNG", lossless=True, exif=exif(1, more={0x9286: b"x" * 70000}))
        save_picture(tmp_path / "a.jpg", gradient(), origin)
        assert open_picture(tmp_path / "a.jpg", name="a").origin.exif is None

    @pytest.mark.parametrize(
        ("name", "shape"), [("a.jpg", (1, 70000, 3)), ("a.webp", (17000, 1, 3)), ("a.gif", (1, 70000, 3))]
    )
    def test_sides_that_a_format_cannot_hold(self, tmp_path: Path, name: str, shape: tuple[int, ...]) -> None:
        with pytest.raises(OutputError, match=r"holds at most [0-9]+ pixels a side, this is .*; use \.png"):
            save_picture(tmp_path / name, np.zeros(shape, np.uint8))
        assert list(tmp_path.iterdir()) == []


class TestWholeFiles:
    def test_a_failure_leaves_what_was_there(self, tmp_path: Path) -> None:
        target = tmp_path / "a.txt"
        target.write_text("old")
        with pytest.raises(KeyError), whole_file(target, overwrite=True) as temporary:
            temporary.write_text("new")
            raise KeyError
        assert [p.name for p in tmp_path.iterdir()] == ["a.txt"]
        assert target.read_text() == "old"

    def test_written_by_somebody_meanwhile(self, tmp_path: Path) -> None:
        target = tmp_path / "a.txt"
        with pytest.raises(OutputError, match="exists already"), whole_file(target, overwrite=False) as temporary:
            temporary.write_text("mine")
            target.write_text("theirs")
        assert target.read_text() == "theirs"

    def test_a_folder_in_the_way(self, tmp_path: Path) -> None:
        (tmp_path / "file").touch()
        with pytest.raises(OutputError, match="is a folder, expected the name of a file"):
            check_target(tmp_path, overwrite=True)
        with pytest.raises(OutputError, match="file is no folder"):
            check_target(tmp_path / "file" / "a.png", overwrite=False)

    def test_no_permission(self) -> None:
        """In a process of its own, which gives up root's rights first where it has them."""
        code = (
            "import os, sys\n"
            "from pathlib import Path\n"
            "from ssd_detect.files import check_target\n"
            "os.geteuid() or os.setuid(65534)\n"
            "check_target(Path(sys.argv[1]) / 'a.png', overwrite=False)\n"
        )
        with tempfile.TemporaryDirectory() as folder:
            Path(folder).chmod(0o555)
            command = [sys.executable, "-c", code, folder]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert f"OutputError: {folder}/a.png: cannot be written: no permission to write in {folder}" in done.stderr

    def test_a_disk_that_takes_only_a_part(self, tmp_path: Path) -> None:
        """A limit on the size of files, met inside the one write of a small JPEG: no file, one clear error."""
        code = (
            "import resource, signal, sys\n"
            "import numpy as np\n"
            "from pathlib import Path\n"
            "from ssd_detect.media.picture_files import save_picture\n"
            "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
            "resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))\n"
            "noise = np.random.RandomState(0).randint(0, 256, (100, 100, 3), np.uint8)\n"
            "save_picture(Path(sys.argv[1]), noise)\n"
        )
        done = subprocess.run(
            [sys.executable, "-c", code, str(tmp_path / "a.jpg")], capture_output=True, text=True, check=False
        )
        assert "OutputError" in done.stderr
        assert "a.jpg: cannot be written" in done.stderr
        assert list(tmp_path.iterdir()) == []

    def test_the_system_refuses(self) -> None:
        with pytest.raises(OutputError, match=r"/proc/a\.png: cannot be written"):
            save_picture(Path("/proc/a.png"), gradient())
