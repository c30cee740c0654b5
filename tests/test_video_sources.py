"""Sources of frames besides plain files: which argument is what, and what each brings."""

import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any

import imageio.v3
import numpy as np
import pytest
from PIL import Image

from ssd_detect.arrays import Pixels
from ssd_detect.errors import PictureError, SettingError, VideoError
from ssd_detect.media.sources.inputs import SourceKind
from ssd_detect.media.video.frames import Frame, FrameSource
from ssd_detect.media.video.reader import VideoReader
from ssd_detect.media.video.sources.camera import CameraReader
from ssd_detect.media.video.sources.inputs import FoundVideos, VideoInput, find_videos
from ssd_detect.media.video.sources.iterables import frames_at_rate
from ssd_detect.media.video.sources.opening import open_source
from ssd_detect.media.video.sources.settings import SourceSettings
from ssd_detect.media.video.sources.timed import TimedWorker
from tests.clips import ffmpeg, pictures

FILE, URL, STDIN, CAMERA, SEQUENCE = SourceKind


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Each test in an empty current folder."""
    folder = tmp_path / "here"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


def make(*names: str) -> None:
    for name in names:
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).write_bytes(b"")


def only(argument: str) -> VideoInput:
    found = find_videos([argument], recursive=False)
    assert found.errors == ()
    (video,) = found.inputs
    return video


def opened(argument: str, **settings: Any) -> FrameSource:
    return open_source(only(argument), SourceSettings(**settings))


def read(argument: str, **settings: Any) -> tuple[list[Frame], str | None]:
    """All frames, and what was missing."""
    with opened(argument, **settings) as source:
        frames = list(source)
        assert all(f.pixels.shape == (source.info.height, source.info.width, 3) for f in frames)
        assert all(f.pixels.dtype == np.uint8 for f in frames)
        assert all(f.time.time_base == source.info.time_base for f in frames)
        assert all(after.time.pts > before.time.pts for before, after in pairwise(frames))
        return frames, source.losses


def starts(frames: list[Frame]) -> list[float]:
    return [float(frame.time.start) for frame in frames]


def colours(frames: list[Frame]) -> list[list[int]]:
    """The colour in the middle of each frame."""
    return [f.pixels[f.pixels.shape[0] // 2, f.pixels.shape[1] // 2].tolist() for f in frames]


def plain(size: tuple[int, int], *colour: int) -> Image.Image:
    return Image.new("RGB" if len(colour) == 3 else "RGBA", size, colour)


def names(*arguments: str, recursive: bool = False) -> list[str]:
    found = find_videos(arguments, recursive=recursive)
    assert found.errors == ()
    return [each.name for each in found.inputs]


class TestFindVideos:
    def test_nothing(self) -> None:
        assert find_videos([], recursive=False) == FoundVideos((), 0, ())

    @pytest.mark.parametrize(
        ("argument", "kind", "name", "key"),
        [
            ("-", STDIN, "-", "stdin"),
            ("0", CAMERA, "camera 0", "camera_0"),
            ("007", CAMERA, "camera 7", "camera_7"),
            ("frames/%05d.png", SEQUENCE, "frames/%05d.png", "frames"),
            ("frames/shot_%d.jpg", SEQUENCE, "frames/shot_%d.jpg", "shot"),
            ("%d.png", SEQUENCE, "%d.png", "here"),
            ("http://h/a/b.mp4?x=1", URL, "http://h/a/b.mp4?x=1", "b"),
            ("rtsp://me:secret@h:554/live", URL, "rtsp://h:554/live", "live"),
            ("rtsp://h/u=me&password=secret&x=1", URL, "rtsp://h/u=me&password=***&x=1", "u=me&password=___&x=1"),
            ("rtmp://h/app/stream", URL, "rtmp://h/app/stream", "stream"),
            ("udp://239.0.0.1:1234", URL, "udp://239.0.0.1:1234", "239.0.0.1_1234"),
            ("tcp://h:99", URL, "tcp://h:99", "h_99"),
            ("clip.xyz", FILE, "clip.xyz", "clip"),
            ("3", FILE, "3", "3"),
            ("%03d.png", FILE, "%03d.png", "%03d"),
        ],
    )  # fmt: skip
    def test_kinds(self, argument: str, kind: SourceKind, name: str, key: str) -> None:
        make("clip.xyz", "3", "%03d.png")
        video = only(argument)
        assert (video.kind, video.name, str(video.key)) == (kind, name, key)
        assert (video.path is None) == (kind not in (FILE, SEQUENCE))
        assert video.url == (argument if kind is URL else None)
        assert video.number == (int(argument) if kind is CAMERA else None)

    def test_a_folder_gives_its_videos(self) -> None:
        make("x/b.MKV", "x/a.mp4", "x/.c.mp4", "x/a.png", "x/noise.txt", "x/y/d.webm", "x/e.gif", "x/z.m2ts")
        assert names("x") == ["x/a.mp4", "x/b.MKV", "x/e.gif", "x/z.m2ts"]
        assert names("x", recursive=True) == ["x/a.mp4", "x/b.MKV", "x/e.gif", "x/y/d.webm", "x/z.m2ts"]
        assert find_videos(["x"], recursive=False).num_skipped == 3

    def test_globs_and_lists(self) -> None:
        make("a1.mp4", "a2.mov", "a3.jpg")
        Path("list.txt").write_text("# cameras\n0\nrtsp://h/live\na?.*\n-\n%d.png\n")
        assert names("@list.txt") == ["camera 0", "rtsp://h/live", "a1.mp4", "a2.mov", "-", "%d.png"]

    def test_each_once(self) -> None:
        make("a.mp4")
        assert names("a.mp4", "./a.mp4", "0", "00", "-", "-", "%d.png", "./%d.png") == [
            *("a.mp4", "camera 0", "-", "%d.png")
        ]

    def test_keys_never_collide(self) -> None:
        make("x/a.mp4", "y/a.mp4", "y/a.mkv", "camera_0.mp4")
        found = find_videos(["x/a.mp4", "y/a.mp4", "y/a.mkv", "camera_0.mp4", "0"], recursive=False)
        assert [str(each.key) for each in found.inputs] == ["x/a", "y/a_mp4", "y/a_mkv", "here/camera_0", "camera_0"]

    @pytest.mark.parametrize(
        ("argument", "message"),
        [
            ("", "an input has an empty name; expected a video, a folder, a URL or -"),
            ("gone.mp4", "gone.mp4: no such file"),
            ("12345", "12345: no such file"),
            ("%d_%d.png", "%d_%d.png: no such file"),
            ("%d/a.png", "%d/a.png: no such file"),
            ("*.mp4", "*.mp4: matches no file"),
            ("x/*", "x/*: matches no videos"),
            ("x", "x: holds no videos"),
            ("empty", "empty: is an empty folder, expected videos in it"),
            ("http://", "http://: is no valid address"),
            ("rtsp://me:se/cret@h/", "rtsp://h/: is no valid address"),
            (
                "file:///etc/passwd",
                "file:///etc/passwd: only http://, https://, rtsp://, rtsps://, rtmp://, rtmps://, rtmpt://, rtp://, "
                "srt://, udp://, tcp://, mms:// and mmsh:// addresses can be read",
            ),
        ],
    )
    def test_missing(self, argument: str, message: str) -> None:
        make("x/a.txt")
        Path("empty").mkdir()
        found = find_videos([argument], recursive=False)
        assert found.inputs == ()
        assert [str(error) for error in found.errors] == [message]

    def test_imports_nothing_heavy(self) -> None:
        code = (
            "import sys, ssd_detect.media.video.sources.inputs as i\n"
            "i.find_videos(['.', '-', 'http://h/a', '0', '%d.png'], recursive=True)\n"
            "heavy = {'numpy', 'cv2', 'tensorflow', 'PIL', 'av', 'ssl'} & set(sys.modules)\n"
            "assert not heavy, heavy"
        )
        subprocess.run([sys.executable, "-c", code], check=True)


class TestSettings:
    @pytest.mark.parametrize(
        "wrong",
        [
            {"timeout_seconds": 0.0},
            {"timeout_seconds": float("nan")},
            {"first_pause_seconds": -1.0},
            {"reconnects": -1},
            {"reconnects": 1001},
            {"sequence_rate": Fraction(0)},
            {"spool": Path("nowhere")},
        ],
    )
    def test_checked_when_made(self, wrong: dict[str, Any]) -> None:
        (name,) = wrong
        with pytest.raises(SettingError, match=f"^{name} is .*, expected "):
            SourceSettings(**wrong)

    def test_pauses_grow_and_end(self) -> None:
        settings = SourceSettings(first_pause_seconds=0.5, timeout_seconds=3)
        assert [settings.pause_before(n) for n in (0, 1, 2, 3, 999)] == [0.5, 1, 2, 3, 3]


class TestSequences:
    def test_in_the_order_of_their_numbers(self) -> None:
        for n in (10, 9, 11):
            plain((8, 6), n, 0, 0).save(f"a{n}.png")
        plain((8, 6), 0, 0, 0).save("a010.png")  # which %d never writes
        frames, losses = read("a%d.png", sequence_rate=Fraction(30000, 1001))
        assert [c[0] for c in colours(frames)] == [9, 10, 11]
        assert [f.time.pts for f in frames] == [0, 1, 2]
        assert frames[0].time.time_base == Fraction(1001, 30000)
        assert losses is None

    def test_what_is_known_before(self) -> None:
        for n in range(3):
            plain((8, 6), n, 0, 0).save(f"{n:03}.png")
        with opened("%03d.png", sequence_rate=Fraction(10)) as source:
            info = source.info
        assert (info.name, info.width, info.height, info.rate) == ("%03d.png", 8, 6, Fraction(10))
        assert (info.frame_count, info.companions, info.is_live) == (3, None, False)

    def test_gaps_and_damage_keep_the_times_of_the_others(self) -> None:
        for n in (3, 4, 7, 8, 9):
            plain((8, 6), n, 0, 0).save(f"{n:03}.png")
        make("003.png", "008.png")
        frames, losses = read("%03d.png", sequence_rate=Fraction(10))
        assert [c[0] for c in colours(frames)] == [4, 7, 9]
        assert starts(frames) == [0.1, 0.4, 0.6]
        assert losses == (
            "2 numbers between the first and the last have no picture; "
            "2 pictures cannot be read (003.png: is empty (0 bytes), expected a picture)"
        )

    def test_every_kind_of_picture_upright_and_of_the_first_one_s_size(self) -> None:
        exif = Image.Exif()
        exif[0x0112] = 6  # turned by a quarter
        plain((6, 8), 200, 0, 0).save("1.x", "JPEG", exif=exif, quality=95)
        plain((16, 12), 0, 200, 0, 0).save("2.x", "PNG")
        Image.fromarray(np.full((6, 8), 65535, np.uint16)).save("3.x", "PNG")
        frames, losses = read("%d.x")
        assert frames[0].pixels.shape == (6, 8, 3)
        assert colours(frames)[1:] == [[255, 255, 255]] * 2
        assert losses is None

    def test_read_one_by_one(self) -> None:
        for n in range(3):
            plain((8, 6), n, 0, 0).save(f"{n}.png")
        with opened("%d.png") as source:
            frames = iter(source)
            next(frames)
            plain((8, 6), 99, 0, 0).save("2.png")
            assert [c[0] for c in colours(list(frames))] == [1, 99]

    @pytest.mark.parametrize(
        ("argument", "message"),
        [
            ("empty/%d.png", "empty/%d.png: no file has such a name; its folder is empty"),
            ("gone/%d.png", "gone/%d.png: its folder cannot be read: No such file or directory"),
            ("x/%05d.png", "x/%05d.png: no file has such a name; its folder holds 1.png, 2.png, a.png and 1 more"),
            ("y/b[%d]+.png", "y/b[%d]+.png: no file has such a name; its folder holds b1.png"),
            (
                "x/%d.png",
                "x/%d.png: none of its 2 pictures can be read (x/1.png: is empty (0 bytes), expected a picture)",
            ),
        ],
    )
    def test_none(self, argument: str, message: str) -> None:
        Path("empty").mkdir()
        make("x/1.png", "x/2.png", "x/a.png", "x/b.png", "y/b1.png")
        with pytest.raises(VideoError) as caught:
            opened(argument)
        assert str(caught.value) == message


RED, GREEN, BLUE = (255, 0, 0), (0, 255, 0), (0, 0, 255)


class TestAnimations:
    @pytest.mark.parametrize("kind", ["GIF", "WEBP", "PNG", "AVIF"])
    def test_frames_durations_and_rate(self, kind: str) -> None:
        images = [plain((16, 12), *colour) for colour in (RED, GREEN, BLUE)]
        options: dict[str, dict[str, Any]] = {"WEBP": {"lossless": True}, "AVIF": {"quality": 100}}
        images[0].save(
            "a.x",
            kind,
            save_all=True,
            append_images=images[1:],
            duration=[100, 250, 50],
            loop=0,
            **options.get(kind, {}),
        )
        with opened("a.x") as source:
            assert (source.info.rate, source.info.time_base) == (Fraction(3000, 400), Fraction(1, 1000))
            assert (source.info.frame_count, source.info.is_live, source.losses) == (3, False, None)
        frames, losses = read("a.x")
        assert [(f.time.pts, f.time.duration) for f in frames] == [(0, 100), (100, 250), (350, 50)]
        assert np.abs(np.subtract(colours(frames), [RED, GREEN, BLUE])).max() <= 3
        assert losses is None

    def test_hasty_frames_last_as_in_a_browser(self) -> None:
        images = [plain((16, 12), *colour) for colour in (RED, GREEN, BLUE)]
        images[0].save("a.gif", save_all=True, append_images=images[1:], duration=[0, 10, 20])
        assert [f.time.duration for f in read("a.gif")[0]] == [100, 100, 20]

    @pytest.mark.parametrize("kind", ["GIF", "WEBP", "PNG"])
    def test_composited_on_white(self, kind: str) -> None:
        half = plain((16, 12), 255, 0, 0, 255)
        half.paste((0, 0, 0, 0), (6, 3, 10, 9))
        other = plain((16, 12), 0, 0, 0, 0)
        other.paste((0, 0, 255, 255), (6, 3, 10, 9))
        options: dict[str, Any] = {"WEBP": {"lossless": True}}.get(kind, {"disposal": 2 if kind == "GIF" else 1})
        half.save("a.x", kind, save_all=True, append_images=[other], duration=100, **options)
        first, second = (frame.pixels[6, [2, 8]].tolist() for frame in read("a.x")[0])
        assert first == [list(RED), [255, 255, 255]]
        assert second == [[255, 255, 255], list(BLUE)]

    def test_the_picture_for_other_programs_is_no_frame(self) -> None:
        images = [plain((16, 12), *colour) for colour in (RED, GREEN, BLUE)]
        images[0].save("a.png", save_all=True, append_images=images[1:], default_image=True, duration=100)
        frames, losses = read("a.png")
        assert colours(frames) == [list(GREEN), list(BLUE)]
        assert losses is None

    def test_a_damaged_end_is_told(self) -> None:
        noise = np.random.default_rng(0).integers(0, 255, (4, 48, 64, 3), np.uint8)
        first, *others = (Image.fromarray(picture) for picture in noise)
        first.save("a.png", save_all=True, append_images=others, duration=100)
        content = Path("a.png").read_bytes()
        Path("a.png").write_bytes(content[: len(content) * 6 // 10])
        frames, losses = read("a.png")
        assert len(frames) == 2
        assert losses == "only 2 of its 4 frames can be read; the file is damaged"

    def test_one_frame_only(self) -> None:
        plain((16, 12), *RED).save("a.png")
        with pytest.raises(VideoError, match=r"^a\.png: is a picture \(use ssd-detect image\)"):
            opened("a.png")


class TestCameras:
    """What `cv2.VideoCapture` opens is a file here, since there is no camera."""

    @pytest.fixture
    def film(self) -> str:
        return str(ffmpeg(f"{pictures(rate='20', seconds=0.5)} -c:v mjpeg -q:v 2", Path("film.avi")))

    def test_frames_in_rgb_by_the_clock(self, film: str) -> None:
        with CameraReader(film, "camera 0", SourceSettings(reconnects=0)) as camera:
            info = camera.info
            assert (info.name, info.width, info.height, info.rate, info.is_live) == (
                "camera 0",
                64,
                48,
                Fraction(20),
                True,
            )
            frames = []
            for frame in camera:
                frames.append(frame)
                time.sleep(0.01)
        assert len(frames) == 10
        assert frames[0].time.start == pytest.approx(0, abs=0.001)
        assert all(after.time.start - before.time.start > 0.009 for before, after in pairwise(frames))
        with VideoReader(film) as reader:
            for one, other in zip(frames, reader, strict=True):
                assert np.abs(one.pixels.astype(int) - other.pixels).mean() < 3
        assert camera.losses is not None
        assert camera.losses.startswith("the camera was lost after 0.")

    def test_opened_again_until_it_stays_away(self, film: str) -> None:
        settings = SourceSettings(reconnects=3, first_pause_seconds=0.01)
        with CameraReader(film, "camera 0", settings) as camera:
            frames = iter(camera)
            for _ in range(25):
                next(frames)
            Path(film).unlink()
            rest = list(frames)
            assert len(rest) == 5
            assert camera.losses is not None
            assert camera.losses.endswith(" s and did not come back in 3 tries; the camera was lost 2 times")

    def test_not_there(self, capfd: pytest.CaptureFixture[str]) -> None:
        begin = time.monotonic()
        with pytest.raises(VideoError) as caught:
            opened("7")
        assert str(caught.value) == "camera 7: cannot be opened; none answers"
        assert time.monotonic() - begin < 5
        assert capfd.readouterr() == ("", "")

    def test_a_call_that_hangs_is_left_behind(self) -> None:
        worker, release = TimedWorker(), threading.Event()
        assert worker.call(lambda: 1, 5) == 1
        with pytest.raises(ZeroDivisionError):
            worker.call(lambda: 1 // 0, 5)
        with pytest.raises(TimeoutError):
            worker.call(release.wait, 0.05)
        release.set()

    def test_closed_twice(self, film: str) -> None:
        camera = CameraReader(film, "camera 0", SourceSettings())
        camera.close()
        camera.close()
        assert len(list(camera)) == 1  # what had been read before


class TestIterables:
    def test_none(self) -> None:
        assert list(frames_at_rate([], 25)) == []

    def test_even_times(self) -> None:
        given = [np.full((4, 6, 3), n, np.uint8) for n in range(3)]
        frames = list(frames_at_rate(iter(given), 12.5))
        assert starts(frames) == [0, 0.08, 0.16]
        assert [float(f.time.end) for f in frames] == [0.08, 0.16, 0.24]
        assert all(frame.pixels is one for frame, one in zip(frames, given, strict=True))

    def test_what_imageio_reads(self) -> None:
        clip = ffmpeg(f"{pictures(seconds=0.5)} -c:v libx264 -pix_fmt yuv420p", Path("a.mp4"))
        frames = list(frames_at_rate(imageio.v3.imiter(clip, plugin="pyav"), Fraction(30000, 1001)))
        assert len(frames) == 15
        assert frames[-1].time.pts * frames[-1].time.time_base == Fraction(14 * 1001, 30000)
        assert frames[0].pixels.shape == (48, 64, 3)

    def test_taken_one_by_one(self) -> None:
        def endless() -> Iterator[Pixels]:
            while True:
                yield np.zeros((4, 6, 3), np.uint8)

        frames = frames_at_rate(endless(), 1)
        assert [next(frames).time.pts for _ in range(3)] == [0, 1, 2]

    @pytest.mark.parametrize("rate", [0, -1, float("nan"), float("inf"), Fraction(0)])
    def test_rates_that_make_no_sense(self, rate: float) -> None:
        with pytest.raises(SettingError, match="expected a number of frames a second above 0"):
            frames_at_rate([], rate)

    @pytest.mark.parametrize(
        ("second", "message"),
        [
            ("text", "picture 1 is str, expected a NumPy array: RGB, uint8, (height, width, 3)"),
            (np.zeros((4, 6, 3)), "picture 1 is float64 of shape (4, 6, 3), expected"),
            (np.zeros((4, 6), np.uint8), "picture 1 is uint8 of shape (4, 6), expected"),
            (np.zeros((4, 6, 4), np.uint8), "picture 1 is uint8 of shape (4, 6, 4), expected"),
            (np.zeros((0, 6, 3), np.uint8), "picture 1 is uint8 of shape (0, 6, 3), expected"),
            (np.zeros((6, 4, 3), np.uint8), "picture 1 is 4x6 pixels, expected 6x4 as the first"),
        ],
    )
    def test_no_pictures(self, second: Any, message: str) -> None:
        frames = frames_at_rate([np.zeros((4, 6, 3), np.uint8), second], 25)
        next(frames)
        with pytest.raises(PictureError) as caught:
            next(frames)
        assert str(caught.value).startswith(message)
