"""Colours of videos: all matrices and ranges, deep and grey pixels, HDR as ordinary pictures, transparency on white."""

from fractions import Fraction
from pathlib import Path

import av
import numpy as np
import pytest
from numpy.typing import NDArray

from ssd_detect.arrays import Pixels
from ssd_detect.media.video import hdr
from ssd_detect.media.video.alpha import on_background
from ssd_detect.media.video.colour import WRITES_BT2020, ColourConverter, VideoColour, colour_notes
from ssd_detect.media.video.frames import Frame
from ssd_detect.media.video.reader import VideoReader
from ssd_detect.media.video.writer import VideoWriter
from tests.clips import H264, facts, ffmpeg, pictures

needs_bt2020 = pytest.mark.skipif(not WRITES_BT2020, reason="PyAV 17 cannot write by the matrix of BT.2020")
MATRICES = [1, 2, 5, 6, pytest.param(9, marks=needs_bt2020)]
PQ = "-vf setparams=colorspace=bt2020nc:color_primaries=bt2020:color_trc=smpte2084:range=tv"
HLG = PQ.replace("smpte2084", "arib-std-b67")
HDR_NOTE = "HDR (PQ, BT.2020) is shown as SDR: tone-mapped to BT.709"
ON_WHITE = "transparent parts are shown on white"
RAMP = "-f lavfi -i nullsrc=s=64x48:r=10:d=0.3,format=gbrp,geq=r='X*255/63':g='Y*255/47':b='255-X*255/63'"
GREY_RAMP = RAMP.replace("g='Y*255/47':b='255-X*255/63'", "g='X*255/63':b='X*255/63'")
# Four columns from clear to opaque; ten frames, so that B-frames and delays show.
SHADES = "-f lavfi -i nullsrc=s=64x48:r=10:d=1,format=gbrap,geq=r=200:g=40:b=90:a='85*floor(X/16)'"


def copy(source: Path, target: Path) -> None:
    with VideoReader(source) as reader, VideoWriter(target, like=reader.info) as writer:
        for frame in reader:
            writer.append(frame.pixels, frame.time)


def read(path: Path) -> list[Frame]:
    with VideoReader(path) as reader:
        return list(reader)


def notes(path: Path) -> tuple[str, ...]:
    with VideoReader(path) as reader:
        return reader.info.notes


class TestColour:
    @pytest.mark.parametrize("matrix", MATRICES)
    @pytest.mark.parametrize("colour_range", [0, 1, 2])
    def test_there_and_back(self, matrix: int, colour_range: int) -> None:
        converter = ColourConverter(VideoColour(matrix, colour_range))
        picture = _smooth_picture()
        frame = converter.from_rgb(picture)
        frame.colorspace, frame.color_range = matrix, colour_range
        back = converter.to_rgb(frame, 128, 96)
        assert np.abs(back.astype(int) - picture).max() <= 6  # chroma has half the resolution

    @pytest.mark.parametrize(
        ("matrix", "red", "blue"),
        [(1, 0.2126, 0.0722), (5, 0.299, 0.114), pytest.param(9, 0.2627, 0.0593, marks=needs_bt2020)],
    )
    @pytest.mark.parametrize("full", [False, True])
    def test_luma_by_the_standard(self, matrix: int, red: float, blue: float, full: bool) -> None:
        """ITU-R BT.709, BT.601 and BT.2020: Y = Kr R + Kg G + Kb B, in 16-235 or 0-255."""
        picture = _smooth_picture()
        luma = picture / 255 @ np.array([red, 1 - red - blue, blue])
        luma = luma * 255 if full else 16 + 219 * luma
        frame = ColourConverter(VideoColour(matrix, 2 if full else 1)).from_rgb(picture)
        assert np.abs(np.asarray(frame.to_ndarray(), np.float64)[:96] - luma).max() < 1

    @pytest.mark.parametrize(
        ("source", "expected"),
        [
            ("yuv420p -vf setparams=colorspace=bt709:color_primaries=bt709:color_trc=bt709:range=tv", (1, 1, 1, 1)),
            ("yuvj420p -vf scale=out_range=full,setparams=colorspace=smpte170m:range=pc", (6, 2, 2, 2)),
            (f"yuv420p10le {PQ}", (1, 1, 1, 1)),
            (f"yuv420p10le {HLG}", (1, 1, 1, 1)),
            (
                f"yuv420p10le {PQ.replace('smpte2084', 'bt2020-10')}",
                (9 if WRITES_BT2020 else 1, 1, 9, 14),
            ),  # wide, no HDR
            ("yuv420p", (2, 0, 2, 2)),
            ("rgb24 -c:v libx264rgb", (1, 1, 2, 2)),
        ],
    )
    def test_what_the_copy_tells(self, source: str, expected: tuple[int, int, int, int], tmp_path: Path) -> None:
        ffmpeg(f"{pictures(seconds=0.3)} -c:v libx264 -pix_fmt {source}", tmp_path / "in.mp4")
        copy(tmp_path / "in.mp4", tmp_path / "out.mp4")
        assert facts(tmp_path / "out.mp4").colour == expected
        old, new = read(tmp_path / "in.mp4"), read(tmp_path / "out.mp4")
        assert np.abs(old[0].pixels.mean(axis=(0, 1)) - new[0].pixels.mean(axis=(0, 1))).max() < 2


DEEP_10, DEEP_12, DEEP_16 = (f"{bits} bits a channel become 8" for bits in (10, 12, 16))


class TestPixelFormats:
    @pytest.mark.parametrize(
        ("codec", "suffix", "expected"),
        [
            ("ffv1 -pix_fmt bgr0", ".mkv", ()),
            ("ffv1 -pix_fmt gbrp10le", ".mkv", (DEEP_10,)),
            ("png -pix_fmt rgb24", ".mov", ()),
            ("png -pix_fmt rgb48be", ".mov", (DEEP_16,)),
            ("ffv1 -pix_fmt yuv444p", ".mkv", ()),
            ("ffv1 -pix_fmt yuv444p12le", ".mkv", (DEEP_12,)),
            ("ffv1 -pix_fmt yuv422p10le", ".mkv", (DEEP_10,)),
            ("v210", ".mov", (DEEP_10,)),
            ("libx265 -crf 1 -pix_fmt yuv420p10le -x265-params log-level=none", ".mp4", (DEEP_10,)),
            ("libx264 -qp 1 -pix_fmt yuv420p", ".mp4", ()),
            ("mjpeg -q:v 1 -pix_fmt yuvj420p", ".avi", ()),
            ("rawvideo -pix_fmt uyvy422", ".avi", ()),
            ("rawvideo -pix_fmt nv12", ".avi", ()),
        ],
    )
    def test_colours(self, codec: str, suffix: str, expected: tuple[str, ...], tmp_path: Path) -> None:
        source = ffmpeg(f"{RAMP} -c:v {codec}", tmp_path / f"in{suffix}")
        x, y = np.arange(64) * 255 / 63, np.arange(48) * 255 / 47
        ramp = np.stack(np.broadcast_arrays(x, y[:, np.newaxis], 255 - x), axis=-1)
        frames = read(source)
        assert np.abs(frames[-1].pixels - ramp).max() <= 10  # chroma has half the resolution
        assert np.abs((frames[-1].pixels - ramp).mean(axis=(0, 1))).max() <= 3
        assert notes(source) == expected

    @pytest.mark.parametrize(
        ("codec", "suffix", "expected"),
        [
            ("ffv1 -pix_fmt gray", ".mkv", ()),
            ("ffv1 -pix_fmt gray10le", ".mkv", (DEEP_10,)),
            ("ffv1 -pix_fmt gray16le", ".mkv", (DEEP_16,)),
            ("libx265 -crf 1 -pix_fmt gray -x265-params log-level=none", ".mp4", ()),
            ("libx264 -qp 1 -pix_fmt yuvj420p", ".mp4", ()),
            ("ffv1 -pix_fmt yuv420p12le", ".mkv", (DEEP_12,)),
        ],
    )
    def test_grey(self, codec: str, suffix: str, expected: tuple[str, ...], tmp_path: Path) -> None:
        source = ffmpeg(f"{GREY_RAMP} -c:v {codec}", tmp_path / f"in{suffix}")
        pixels = read(source)[-1].pixels
        assert np.abs(pixels - (np.arange(64) * 255 / 63)[:, np.newaxis]).max() <= 3
        assert notes(source) == expected

    @pytest.mark.parametrize("bits", [8, 10, 12])
    def test_white_is_white_and_the_mean_stays(self, bits: int) -> None:
        """Deep YUV in swscale's quick way has a white of 253."""
        step = 1 << (bits - 8)
        luma = np.linspace(16 * step, 235 * step, 128).round()
        frame = _yuv_frame("yuv420p" + (f"{bits}le" if bits > 8 else ""), luma, np.full(64, 128 * step))
        pixels = ColourConverter(VideoColour(1, 1)).to_rgb(frame, 128, 96)
        assert pixels[0, 0].tolist() == [0, 0, 0]
        assert pixels[0, -1].tolist() == [255, 255, 255]
        error = pixels[0] - ((luma / step - 16) / 219 * 255)[:, np.newaxis]
        assert np.abs(error).max() < 1
        assert abs(error.mean()) < (0.6 if bits == 8 else 0.05)

    @pytest.mark.parametrize("bits", [8, 10])
    def test_colours_stay_where_they_are(self, bits: int) -> None:
        """A ramp of the red-difference on even luma; its samples lie on the left pixel of each pair, as in H.264."""
        step = 1 << (bits - 8)
        chroma = 128 * step + (np.arange(64) * 2 - 64) * 0.5 * step  # grey is at pixel 64
        frame = _yuv_frame("yuv420p" + (f"{bits}le" if bits > 8 else ""), np.full(128, 126 * step), chroma.round())
        red, green, _ = ColourConverter(VideoColour(1, 1)).to_rgb(frame, 128, 96)[48, 16:112].T.astype(float)
        slope, difference = np.polyfit(np.arange(16, 112), red - green, 1)
        assert -difference / slope == pytest.approx(64, abs=1)


def _yuv_frame(name: str, luma: NDArray[np.float64], red_difference: NDArray[np.float64]) -> av.VideoFrame:
    """A frame of 128x96 in limited range: every row is `luma` (128,), with Cr (64,) and a neutral Cb."""
    neutral = np.full(64, 128 << (10 if "10" in name else 12 if "12" in name else 8) - 8)
    frame = av.VideoFrame(128, 96, name)
    for plane, row in zip(frame.planes, (luma, neutral, red_difference), strict=True):
        depth = np.dtype(np.uint8 if name == "yuv420p" else np.uint16)
        padded = np.zeros((plane.height, plane.line_size // depth.itemsize), depth)
        padded[:, : len(row)] = row
        plane.update(padded.tobytes())
    frame.colorspace, frame.color_range = 1, 1
    return frame


def _smooth_picture() -> Pixels:
    y, x = np.mgrid[0:96, 0:128]
    return np.stack([x * 2, y * 255 // 95, 255 - x * 2], axis=-1).clip(0, 255).astype(np.uint8)


# Written anew from the standards, with their printed numbers, so as not to test formulas with themselves.
TO_BT2020 = np.array([[0.6274, 0.3293, 0.0433], [0.0691, 0.9195, 0.0114], [0.0164, 0.0880, 0.8956]])  # BT.2087-0
LUMA_2020 = np.array([0.2627, 0.6780, 0.0593])


def pq(light: NDArray[np.float64]) -> NDArray[np.float64]:
    """Numbers for cd/m2: the inverse EOTF of BT.2100-2."""
    power = (light / 10_000) ** 0.1593017578125
    coded: NDArray[np.float64] = ((0.8359375 + 18.8515625 * power) / (1 + 18.6875 * power)) ** 78.84375
    return coded


def hlg(light: NDArray[np.float64]) -> NDArray[np.float64]:
    """Numbers for cd/m2 on a screen of 1000: the inverse OOTF and the OETF of BT.2100-2."""
    luminance = np.maximum(light @ LUMA_2020, 1e-9)[..., np.newaxis] / 1000
    scene = luminance ** (1 / 1.2 - 1) * light / 1000
    logarithm = 0.17883277 * np.log(np.maximum(12 * scene - 0.28466892, 1e-9)) + 0.55991073
    return np.asarray(np.where(scene <= 1 / 12, np.sqrt(3 * scene), logarithm), np.float64)


CURVES = {hdr.PQ: pq, hdr.HLG: hlg}


def sdr_light(levels: NDArray[np.uint8]) -> NDArray[np.float64]:
    """cd/m2 of BT.2020 lights for an SDR picture whose white is 203 cd/m2, by BT.1886."""
    return np.asarray((levels / 255) ** 2.4 * 203 @ TO_BT2020.T, np.float64)


def mapped(light: list[float], transfer: int) -> NDArray[np.float64]:
    """0-255 for the cd/m2 of three BT.2020 lights."""
    return hdr.to_sdr(CURVES[transfer](np.array(light)), transfer, 9) * 255


class TestToSdr:
    """The formulas."""

    @pytest.mark.parametrize(
        ("cd", "lowest", "highest"),
        [
            (0, 0, 0),
            (1, 27, 29),  # (1 / 203) ** (1 / 2.4)
            (0.18 * 203, 124, 126),  # grey card
            (100, 189, 191),  # up to about here nothing changes
            (203, 220, 235),  # white, not grey
            (1000, 245, 255),
            (4000, 252, 255),
            (10_000, 254.99, 255),
        ],
    )
    def test_grey_pq(self, cd: float, lowest: float, highest: float) -> None:
        shown = mapped([cd, cd, cd], hdr.PQ)
        assert np.ptp(shown) < 0.05
        assert lowest <= shown[0] <= highest

    @pytest.mark.parametrize(("cd", "lowest", "highest"), [(0, 0, 0), (36.54, 124, 126), (203, 220, 235), (1000, 254.99, 255)])  # fmt: skip  # noqa: E501
    def test_grey_hlg(self, cd: float, lowest: float, highest: float) -> None:
        shown = mapped([cd, cd, cd], hdr.HLG)
        assert np.ptp(shown) < 0.05
        assert lowest <= shown[0] <= highest

    def test_both_have_white_where_bt2408_has_it(self) -> None:
        """ITU-R BT.2408, table 1: white is 58 % of PQ and 75 % of HLG."""
        for number, transfer in ((0.58, hdr.PQ), (0.75, hdr.HLG)):
            assert 220 <= hdr.to_sdr(np.full(3, number), transfer, 9)[0] * 255 <= 235

    @pytest.mark.parametrize("transfer", [hdr.PQ, hdr.HLG])
    @pytest.mark.parametrize("primaries", [1, 2, 9, 12])
    def test_brighter_is_brighter_and_everything_is_a_colour(self, transfer: int, primaries: int) -> None:
        axis = np.linspace(0, 1, 17)
        shown = hdr.to_sdr(np.stack(np.meshgrid(axis, axis, axis), axis=-1), transfer, primaries)
        assert np.isfinite(shown).all()
        assert shown.min() == 0
        assert shown.max() == pytest.approx(1)
        greys = hdr.to_sdr(np.linspace(0, 1, 1024)[:, np.newaxis].repeat(3, axis=1), transfer, primaries)
        assert (np.diff(greys, axis=0) > 0).all()
        assert np.ptp(greys, axis=1).max() < 0.001

    @pytest.mark.parametrize("transfer", [hdr.PQ, hdr.HLG])
    @pytest.mark.parametrize("light", [(1, 0, 0), (0, 1, 0), (0, 0, 1), (1, 1, 0), (0, 1, 1), (1, 0, 1)])
    def test_colours_of_bt709_stay(self, transfer: int, light: tuple[int, int, int]) -> None:
        at_100 = mapped(list(TO_BT2020 @ light * 100), transfer)
        np.testing.assert_allclose(at_100, np.array(light) * 189.9, atol=9)  # the matrix has four digits
        at_900 = mapped(list(TO_BT2020 @ light * 900), transfer)
        np.testing.assert_allclose(at_900, np.array(light) * 250, atol=12)

    @pytest.mark.parametrize("cd", [50, 203, 1000])
    def test_colours_beyond_bt709_keep_their_kind(self, cd: float) -> None:
        for strongest, light in enumerate(np.eye(3) * cd):
            shown = mapped(light.tolist(), hdr.PQ)
            assert shown.argmax() == strongest
            assert np.sort(shown)[1] < 0.65 * shown.max()  # strong still

    def test_and_their_luminance(self) -> None:
        for light in np.eye(3) * 50:  # below the knee
            shown = (mapped(light.tolist(), hdr.PQ) / 255) ** 2.4 * 203
            assert shown @ [0.2126, 0.7152, 0.0722] == pytest.approx(light @ LUMA_2020, rel=0.01)

    def test_primaries_that_are_bt709_need_no_conversion(self) -> None:
        red = hdr.to_sdr(pq(np.array([100.0, 0, 0])), hdr.PQ, 1) * 255
        np.testing.assert_allclose(red, [189.9, 0, 0], atol=0.1)


class TestToneMapper:
    """The table agrees with the formulas."""

    @pytest.mark.parametrize("transfer", [hdr.PQ, hdr.HLG])
    def test_grey(self, transfer: int) -> None:
        ramp = np.linspace(0, 65535, 4096).round().astype(np.uint16).reshape(32, 128, 1).repeat(3, axis=2)
        shown = hdr.ToneMapper(transfer, 9).pixels(av.VideoFrame.from_ndarray(ramp, hdr.FORMAT)).astype(int)
        assert np.ptp(shown, axis=2).max() == 0
        assert np.abs(shown - hdr.to_sdr(ramp / 65535, transfer, 9) * 255).max() <= 1
        assert (np.diff(shown[..., 0].ravel()) >= 0).all()
        assert (shown.min(), shown.max()) == (0, 255)

    @pytest.mark.parametrize("transfer", [hdr.PQ, hdr.HLG])
    def test_photograph(self, transfer: int, media: Path) -> None:
        numbers = CURVES[transfer](sdr_light(_photograph(media)))
        deep = np.rint(numbers * 65535).astype(np.uint16)
        shown = hdr.ToneMapper(transfer, 9).pixels(av.VideoFrame.from_ndarray(deep, hdr.FORMAT))
        error = np.abs(shown - hdr.to_sdr(deep / 65535, transfer, 9) * 255)
        assert error.mean() < 0.6
        assert np.quantile(error, 0.99) < 5

    def test_it_takes_frames_of_any_size_and_leaves_no_files(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
        mapper = hdr.ToneMapper(hdr.PQ, 9)
        for width, height in ((1, 1), (64, 48), (65, 47), (64, 48)):
            frame = av.VideoFrame.from_ndarray(np.zeros((height, width, 3), np.uint16), hdr.FORMAT)
            assert mapper.pixels(frame).shape == (height, width, 3)
        assert list(tmp_path.iterdir()) == []

    def test_white_may_be_below_the_top(self) -> None:
        """swscale gives YUV's white in 16 bits as 255 << 8."""
        numbers = np.linspace(0, 1, 128).reshape(8, 16, 1).repeat(3, axis=2)
        deep = av.VideoFrame.from_ndarray(np.rint(numbers * 0xFF00).astype(np.uint16), hdr.FORMAT)
        shown = hdr.ToneMapper(hdr.HLG, 9, white=0xFF00 / 0xFFFF).pixels(deep)
        assert np.abs(shown - hdr.to_sdr(numbers, hdr.HLG, 9) * 255).max() < 0.9


def _photograph(media: Path) -> Pixels:
    """A detailed photograph, smoothed for the chroma of half resolution: (128, 128, 3)."""
    with av.open(str(media / "astronaut.png"), "r") as container:
        frame = next(container.decode(video=0)).reformat(128, 128, "rgb24")
    return np.asarray(frame.to_ndarray(), np.uint8)


def _chroma(numbers: NDArray[np.float64]) -> NDArray[np.float64]:
    """Cb and Cr (2, H, W), -0.5 to 0.5, of R'G'B' (H, W, 3): BT.2020, table 4."""
    luma = numbers @ LUMA_2020
    return np.stack([(numbers[..., 2] - luma) / 1.8814, (numbers[..., 0] - luma) / 1.4746])


def _hdr_clip(levels: Pixels, transfer: int, target: Path, tags: str) -> Path:
    """An H.265 clip of two frames of an SDR picture, as a maker of HDR would render it."""
    numbers = CURVES[transfer](sdr_light(levels))  # (H, W, 3)
    luma = numbers @ LUMA_2020
    height, width = luma.shape
    halved = _chroma(numbers).reshape(2, height // 2, 2, width // 2, 2).mean(axis=(2, 4))
    planes = [64 + 876 * luma.ravel(), 512 + 896 * halved.ravel()]
    raw = target.with_suffix(".raw")
    raw.write_bytes(np.rint(np.concatenate(planes)).astype("<u2").tobytes() * 2)
    source = f"-f rawvideo -pix_fmt yuv420p10le -s {width}x{height} -i {raw}"
    return ffmpeg(f"{source} -c:v libx265 -crf 4 -x265-params log-level=none {tags}", target)


class TestHdrVideo:
    """From a file to pixels, and to a copy."""

    @pytest.mark.parametrize(("transfer", "tags"), [(hdr.PQ, PQ), (hdr.HLG, HLG)])
    def test_an_sdr_picture_comes_back(self, transfer: int, tags: str, tmp_path: Path) -> None:
        picture = _smooth_picture() // 2 + 50  # 50 to 177: no strong colours, no highlights, so nothing changes
        source = _hdr_clip(picture, transfer, tmp_path / "in.mp4", tags)
        copy(source, tmp_path / "out.mp4")
        for path, mean_error in ((source, 0.8), (tmp_path / "out.mp4", 2)):  # the copy has 8 bits
            error = read(path)[0].pixels.astype(int) - picture
            assert np.abs(error.mean(axis=(0, 1))).max() < mean_error
            assert np.quantile(np.abs(error), 0.99) <= 5
        assert facts(tmp_path / "out.mp4").colour == (1, 1, 1, 1)
        untold = tags.replace("smpte2084", "bt709").replace("arib-std-b67", "bt709")
        plain = read(_hdr_clip(picture, transfer, tmp_path / "plain.mp4", untold))[0].pixels
        assert np.abs(plain.astype(int) - picture).mean() > 12

    @pytest.mark.parametrize(("transfer", "tags"), [(hdr.PQ, PQ), (hdr.HLG, HLG)])
    def test_a_photograph_looks_alike(self, transfer: int, tags: str, media: Path, tmp_path: Path) -> None:
        picture = _photograph(media)
        shown = read(_hdr_clip(picture, transfer, tmp_path / "in.mp4", tags))[0].pixels.astype(int)
        assert np.abs(shown - picture).mean() < 7
        whitest = picture.min(axis=2) > 245
        assert whitest.any()
        assert 205 <= np.median(shown[whitest]) <= 240

    def test_a_matrix_that_is_not_told_is_that_of_bt2020(self) -> None:
        frame = _yuv_frame("yuv420p10le", np.linspace(64, 940, 128).round(), np.linspace(400, 624, 64).round())
        shown = [ColourConverter(VideoColour(matrix, 1, 9, hdr.PQ)).to_rgb(frame, 128, 96) for matrix in (9, 2, 1)]
        np.testing.assert_array_equal(shown[1], shown[0])
        assert (shown[2] != shown[0]).any()

    def test_rgb_and_full_range(self, tmp_path: Path) -> None:
        picture = _smooth_picture() // 2 + 50
        numbers = pq(sdr_light(picture))
        full = np.concatenate([[numbers @ LUMA_2020], _chroma(numbers) + 0.5])  # (3, 96, 128)
        for values, bits, name, told in (
            (numbers, 16, "rgb48le", "range=pc"),
            (full, 12, "yuv444p12le", "range=pc:colorspace=bt2020nc"),
        ):
            (tmp_path / "in.raw").write_bytes(np.rint(values * ((1 << bits) - 1)).astype("<u2").tobytes())
            raw = f"-f rawvideo -pix_fmt {name} -s 128x96 -i {tmp_path / 'in.raw'}"
            told = f"-vf setparams=color_primaries=bt2020:color_trc=smpte2084:{told}"
            source = ffmpeg(f"{raw} {told} -c:v ffv1", tmp_path / f"{name}.mkv")
            assert notes(source) == (HDR_NOTE,)
            assert np.abs((read(source)[0].pixels.astype(int) - picture).mean(axis=(0, 1))).max() < 0.3

    @pytest.mark.parametrize(
        ("colour", "expected"),
        [
            (VideoColour(9, 1, 9, 16), HDR_NOTE),
            (VideoColour(9, 1, 9, 18), HDR_NOTE.replace("PQ", "HLG")),
            (VideoColour(9, 1, 12, 16), HDR_NOTE.replace("BT.2020", "Display P3")),
            (VideoColour(2, 0, 2, 16), HDR_NOTE.replace(", BT.2020", "")),
        ],
    )
    def test_notes(self, colour: VideoColour, expected: str) -> None:
        assert colour_notes(av.VideoFrame(16, 16, "yuv420p10le"), colour) == (expected,)
        assert colour_notes(av.VideoFrame(16, 16, "yuv420p"), colour) == (expected,)
        assert colour_notes(av.VideoFrame(16, 16, "yuva444p10le"), colour) == (expected, ON_WHITE)


class TestTransparency:
    @pytest.mark.parametrize(
        ("codec", "suffix", "before"),
        [
            ("qtrle -pix_fmt argb", ".mov", ()),
            ("png -pix_fmt rgba", ".mov", ()),
            ("png -pix_fmt rgba64be", ".mov", (DEEP_16,)),
            ("prores_ks -profile:v 4 -pix_fmt yuva444p10le", ".mov", (DEEP_12,)),  # FFmpeg decodes it so
            ("ffv1 -pix_fmt bgra", ".mkv", ()),
            ("ffv1 -pix_fmt yuva420p", ".mkv", ()),
            ("ffv1 -pix_fmt yuva444p10le", ".mkv", (DEEP_10,)),
            ("libvpx-vp9 -b:v 1M -pix_fmt yuva420p", ".webm", ()),
            ("libvpx-vp9 -b:v 1M -pix_fmt yuva420p", ".mkv", ()),
            ("libvpx -b:v 1M -auto-alt-ref 0 -pix_fmt yuva420p", ".webm", ()),
        ],
    )
    def test_it_is_shown_on_white(self, codec: str, suffix: str, before: tuple[str, ...], tmp_path: Path) -> None:
        source = ffmpeg(f"{SHADES} -c:v {codec}", tmp_path / f"in{suffix}")
        frames = read(source)
        assert len(frames) == 10
        for column in range(4):
            expected = 255 + (np.array([200, 40, 90]) - 255) * column / 3
            shown = frames[-1].pixels[4:-4, 16 * column + 4 : 16 * column + 12].mean(axis=(0, 1))
            np.testing.assert_allclose(shown, expected, atol=3)
        assert notes(source) == (*before, ON_WHITE)
        assert [float(frame.time.start) for frame in frames] == pytest.approx([n / 10 for n in range(10)], abs=0.001)

    def test_every_number_is_rounded_well(self) -> None:
        colours, alpha = np.meshgrid(np.arange(256, dtype=np.uint8), np.arange(256, dtype=np.uint8))
        mixed = on_background(colours[..., np.newaxis].repeat(3, axis=2), alpha)
        exact = 255 + (colours.astype(float) - 255) * alpha / 255
        assert np.abs(mixed - exact[..., np.newaxis]).max() <= 0.5

    def test_grey_with_alpha(self, tmp_path: Path) -> None:
        frames = read(ffmpeg(f"{SHADES} -c:v png -pix_fmt ya8", tmp_path / "in.mov"))
        grey = 0.299 * 200 + 0.587 * 40 + 0.114 * 90
        shown = frames[0].pixels[24, [8, 24, 40, 56]].mean(axis=1)
        np.testing.assert_allclose(shown, 255 + (grey - 255) * np.arange(4) / 3, atol=2)

    def test_a_webm_without_alpha_keeps_its_decoder(self, tmp_path: Path) -> None:
        source = ffmpeg(f"{RAMP} -c:v libvpx-vp9 -pix_fmt yuv420p", tmp_path / "in.webm")
        assert notes(source) == ()
        assert len(read(source)) == 3

    def test_the_container_may_tell_the_colours(self, tmp_path: Path) -> None:
        tags = "-vf setparams=colorspace=bt709:color_primaries=bt709:color_trc=bt709:range=tv"
        source = ffmpeg(f"{SHADES} -c:v libvpx-vp9 -b:v 1M -pix_fmt yuva420p {tags}", tmp_path / "in.webm")
        copy(source, tmp_path / "out.mp4")
        old, new = facts(source), facts(tmp_path / "out.mp4")
        assert new.colour == (1, 1, 1, 1)
        assert new.times == old.times

    def test_straight_alpha_over_a_copy(self, tmp_path: Path) -> None:
        source = ffmpeg(f"{SHADES} -c:v qtrle -pix_fmt argb", tmp_path / "in.mov")
        copy(source, tmp_path / "out.mp4")
        old, new = (read(path)[0].pixels[24, [8, 24, 40, 56]] for path in (source, tmp_path / "out.mp4"))
        np.testing.assert_allclose(new.astype(int), old, atol=6)
        assert facts(tmp_path / "out.mp4").times == [Fraction(n, 10) for n in range(10)]


def test_an_ordinary_video_has_no_notes(tmp_path: Path) -> None:
    assert notes(ffmpeg(f"{pictures(seconds=0.1)} {H264}", tmp_path / "in.mp4")) == ()
