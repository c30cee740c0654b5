"""Sources of frames besides plain files: which argument is what, and what each brings."""

import io
import os
import pty
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import suppress
from fractions import Fraction
from itertools import islice, pairwise
from pathlib import Path
from typing import Any

import av
import imageio.v3
import numpy as np
import pytest
from PIL import Image, features

from ssd_detect.arrays import Pixels
from ssd_detect.errors import PictureError, SettingError, VideoError
from ssd_detect.media.sources.inputs import SourceKind
from ssd_detect.media.video.frames import Frame, FrameSource
from ssd_detect.media.video.reader import VideoReader
from ssd_detect.media.video.sources.camera import CameraReader
from ssd_detect.media.video.sources.connection import Connection
from ssd_detect.media.video.sources.inputs import FoundVideos, VideoInput, find_videos
from ssd_detect.media.video.sources.iterables import frames_at_rate
from ssd_detect.media.video.sources.opening import open_source
from ssd_detect.media.video.sources.settings import SourceSettings
from ssd_detect.media.video.sources.timed import TimedWorker
from ssd_detect.media.video.writer import VideoWriter
from tests.clips import H264, SOUND, facts, ffmpeg, furthest, pictures
from tests.live_servers import (
    DROP,
    REFUSE,
    STALL,
    Plan,
    Plans,
    RtspServer,
    closed_port,
    endless_bytes,
    http_server,
    motion_jpeg,
    packets_to_a_port,
    redirect,
    silent_server,
    whole,
)

FILE, URL, STDIN, CAMERA, SEQUENCE = SourceKind

needs_avif = pytest.mark.skipif("avif" not in features.modules, reason="this Pillow has no AVIF")


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
    @pytest.mark.parametrize("kind", ["GIF", "WEBP", "PNG", pytest.param("AVIF", marks=needs_avif)])
    def test_frames_durations_and_rate(self, kind: str) -> None:
        images = [plain((16, 12), *colour) for colour in (RED, GREEN, BLUE)]
        exact: dict[str, dict[str, Any]] = {"WEBP": {"lossless": True}, "AVIF": {"quality": 100}}
        images[0].save(
            "a.x", kind, save_all=True, append_images=images[1:], duration=[100, 250, 50], loop=0, **exact.get(kind, {})
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
        assert float(frames[0].time.start) == pytest.approx(0, abs=0.001)
        assert all(float(after.time.start) - float(before.time.start) > 0.009 for before, after in pairwise(frames))
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

    def test_one_that_hangs_when_opened(self) -> None:
        os.mkfifo("pipe.avi")
        begin = time.monotonic()
        with pytest.raises(VideoError, match=r"^camera 0: sends no picture within 0\.3 s$"):
            CameraReader("pipe.avi", "camera 0", SourceSettings(timeout_seconds=0.3))
        assert time.monotonic() - begin < 2
        os.close(os.open("pipe.avi", os.O_WRONLY))  # lets the thread that was left behind end

    def test_one_that_hangs_in_the_middle(self) -> None:
        film = ffmpeg(f"{pictures(rate='20', seconds=5)} -c:v mjpeg", Path("film.avi"))  # OpenCV reads ahead
        os.mkfifo("pipe.avi")
        content, stopped = film.read_bytes(), threading.Event()

        def write() -> None:
            with suppress(BrokenPipeError), Path("pipe.avi").open("wb") as pipe:
                pipe.write(content[: len(content) * 2 // 3])
                pipe.flush()
                stopped.wait(10)

        threading.Thread(target=write, daemon=True).start()
        begin = time.monotonic()
        try:
            with CameraReader("pipe.avi", "camera 0", SourceSettings(timeout_seconds=0.7, reconnects=0)) as camera:
                assert 20 < len(list(camera)) < 90
                assert camera.losses is not None
                assert camera.losses.startswith("the camera was lost after 0.")
        finally:
            stopped.set()  # lets the thread that was left behind end
        assert time.monotonic() - begin < 5

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


QUICK: dict[str, Any] = {"timeout_seconds": 0.7, "first_pause_seconds": 0.05, "reconnects": 2}


@pytest.fixture(scope="module")
def clips(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """Two seconds at 30 frames/s with sound, as several files; and a raw stream for RTSP."""
    folder = tmp_path_factory.mktemp("clips")
    both = f"{pictures()} {SOUND} {H264} -c:a aac"
    raw = f"{pictures('64x48', '25')} -c:v libx264 -preset ultrafast -tune zerolatency -x264-params slices=1:keyint=5"
    made = {
        "end.mp4": both,
        "front.mp4": f"{both} -movflags faststart",
        "a.ts": both,
        "a.mkv": both,
        "silent.mp4": f"{pictures()} {H264} -movflags faststart",
        "big.mp4": f"{pictures('320x240')} {SOUND} -c:v mjpeg -q:v 1 -c:a aac",
        "odd.flv": f"{pictures()} -f lavfi -i sine=d=2:r=22050 -c:v flv -c:a nellymoser",
        "sound.mp3": "-f lavfi -i sine=d=2",
        "raw.h264": f"{raw} -pix_fmt yuv420p -f h264",
    }
    return {name: ffmpeg(arguments, folder / name).read_bytes() for name, arguments in made.items()}


@pytest.fixture(scope="module")
def jpegs() -> list[bytes]:
    """Thirty grey pictures, each brighter than the one before."""
    files = [io.BytesIO() for _ in range(30)]
    for n, file in enumerate(files):
        plain((64, 48), *[n * 8] * 3).save(file, "JPEG", quality=90)
    return [file.getvalue() for file in files]


def heard(path: Path) -> tuple[list[bytes], list[Fraction]]:
    """The packets of the only audio track of a file, and their times."""
    with av.open(str(path), "r") as container:
        (track,) = container.streams.audio
        packets = [packet for packet in container.demux(track) if packet.size]
        times = [packet.pts * packet.time_base for packet in packets if packet.pts is not None]
        return [bytes(packet) for packet in packets], times


def message(argument: str, **settings: Any) -> str:
    """The error with which it cannot be opened; nothing takes long."""
    begin = time.monotonic()
    with pytest.raises(VideoError) as caught:
        opened(argument, **{**QUICK, **settings})
    assert time.monotonic() - begin < 5
    assert "\n" not in str(caught.value)
    assert "secret" not in "".join(traceback.format_exception(caught.value)).replace(argument, "")
    return str(caught.value)


class TestWholeFilesOnServers:
    @pytest.mark.parametrize("parts", [False, True])
    @pytest.mark.parametrize("name", ["front.mp4", "end.mp4", "a.ts", "a.mkv", "silent.mp4"])
    def test_every_frame_and_the_sound(
        self, name: str, parts: bool, clips: dict[str, bytes], tmp_path: Path, capfd: pytest.CaptureFixture[str]
    ) -> None:
        make("spool/x")
        Path(name).write_bytes(clips[name])
        with http_server({"/v": whole(clips[name], parts=parts)}) as server:
            source = opened(f"{server}/v", spool=Path("spool"), **QUICK)
            with source, VideoReader(name) as reader:
                info, expected = source.info, reader.info
                assert (info.is_live, info.time_base, info.rate) == (False, expected.time_base, expected.rate)
                frames, local = list(source), list(reader)
        assert [frame.time for frame in frames] == [frame.time for frame in local]
        assert all((a.pixels == b.pixels).all() for a, b in zip(frames, local, strict=True))
        assert source.losses is None
        if name == "silent.mp4":
            assert info.companions is None
        else:
            assert info.companions is not None
            (sound, times), (before, times_before) = heard(info.companions), heard(Path(name))
            assert len(sound) == len(before)
            assert furthest(times, times_before) < 0.001
        assert capfd.readouterr() == ("", "")

    def test_an_index_at_the_end_needs_parts(self, clips: dict[str, bytes]) -> None:
        with http_server({"/v": whole(clips["big.mp4"], parts=True), "/w": whole(clips["big.mp4"])}) as server:
            assert len(read(f"{server}/v", **QUICK)[0]) == 60
            assert message(f"{server}/w").endswith("; its index may stand behind them, so download the file")

    def test_without_a_spool_there_is_no_sound(self, clips: dict[str, bytes]) -> None:
        with http_server({"/v": whole(clips["a.ts"])}) as server, opened(f"{server}/v", **QUICK) as source:
            assert source.info.companions is None
            assert len(list(source)) == 60

    def test_the_spooled_sound_fits_the_copy(self, clips: dict[str, bytes]) -> None:
        make("spool/x")
        answers = {"/v": whole(clips["a.ts"])}
        with http_server(answers) as server, opened(f"{server}/v", spool=Path("spool"), **QUICK) as source:
            frames = list(source)
        with VideoWriter("out.mp4", like=source.info) as writer:
            for frame in frames:
                writer.append(frame.pixels, frame.time)
        made = facts(Path("out.mp4"))
        assert [track.codec for track in made.sound] == ["aac"]
        assert len(made.sound[0].packets) > 80
        assert abs(made.sound[0].times[0] - made.times[0]) < 0.1

    def test_sound_that_cannot_be_spooled_is_given_up(self, clips: dict[str, bytes]) -> None:
        make("spool/x")
        answers = {"/v": whole(clips["odd.flv"])}
        with http_server(answers) as server, opened(f"{server}/v", spool=Path("spool"), **QUICK) as source:
            assert source.info.companions is None
            assert len(list(source)) == 60
        assert source.losses is not None
        assert source.losses.startswith("its sound is missing from 0.0 s on (")

    @pytest.mark.parametrize("name", ["front.mp4", "a.mkv", "a.ts"])
    def test_what_breaks_off_ends_with_a_word(self, name: str, clips: dict[str, bytes]) -> None:
        content = clips[name]
        with http_server({"/v": whole(content, cut=len(content) // 3)}) as server:
            frames, losses = read(f"{server}/v", **QUICK)
        assert 5 < len(frames) < 60
        assert losses is not None
        assert losses.startswith(("it broke off after ", "it ends after "))

    def test_the_rest_is_asked_for(self, clips: dict[str, bytes]) -> None:
        content = clips["big.mp4"]
        answers = iter([whole(content, parts=True, cut=len(content) // 2)])

        def answer(handler: Any) -> None:
            next(answers, whole(content, parts=True))(handler)

        with http_server({"/v": answer}) as server:
            frames, losses = read(f"{server}/v", **QUICK)
        assert (len(frames), losses) == (60, None)

    def test_what_stalls_ends_with_a_word(self, clips: dict[str, bytes]) -> None:
        def answer(handler: Any) -> None:
            whole(clips["a.ts"], cut=len(clips["a.ts"]) // 2)(handler)
            stopped.wait(10)

        stopped = threading.Event()
        begin = time.monotonic()
        with http_server({"/v": answer}, stopped) as server:
            frames, losses = read(f"{server}/v", **QUICK)
        assert 5 < len(frames) < 60
        assert losses is not None
        assert losses.endswith(" s: no answer within 0.7 s")
        assert time.monotonic() - begin < 5


class TestWrongAnswers:
    def test_nobody_there(self) -> None:
        port = closed_port()
        for scheme in ("http", "rtsp", "rtmp", "tcp"):
            url = f"{scheme}://me:secret@127.0.0.1:{port}/v?token=secret"
            assert message(url) == f"{scheme}://127.0.0.1:{port}/v?token=*** : cannot be read".replace(" :", ":") + (
                " (Connection refused)"
            )

    def test_unknown_host(self) -> None:
        url = "rtsp://me:secret@host.invalid/v"
        assert message(url) == "rtsp://host.invalid/v: its host cannot be found; check the address and the network"

    @pytest.mark.parametrize("scheme", ["http", "rtsp", "rtmp", "tcp"])
    def test_never_a_word(self, scheme: str) -> None:
        with silent_server() as port:
            url = f"{scheme}://127.0.0.1:{port}/v"
            assert message(url) == f"{url}: no answer within 0.7 s"

    def test_answers_that_are_no_video(self, clips: dict[str, bytes]) -> None:
        page = b"<!DOCTYPE html><html><body>hello</body></html>" * 50
        picture = io.BytesIO()
        plain((64, 48), *RED).save(picture, "PNG")
        answers = {
            "/page": whole(page, "text/html"),
            "/picture": whole(picture.getvalue(), "image/png"),
            "/empty": whole(b""),
            "/noise": whole(bytes(range(256)) * 40),
            "/a.txt": whole(b"hello there\n" * 500, "text/plain"),
            "/song": whole(clips["sound.mp3"]),
        }
        with http_server(answers) as server:
            for path in ("/page", "/noise", "/empty"):
                assert message(server + path).startswith(f"{server}{path}: is no video that can be read; give the ")
            assert message(f"{server}/gone") == f"{server}/gone: cannot be read (Server returned 404 Not Found)"
            assert message(f"{server}/picture").endswith(
                ": is a picture (use ssd-detect image), expected a video file such as .mp4, .mov or .mkv"
            )
            assert message(f"{server}/a.txt").endswith(": is a text, expected a video file such as .mp4, .mov or .mkv")
            assert message(f"{server}/song").endswith(": has no video track (found: audio)")

    def test_files_of_this_computer_stay_out_of_reach(self, clips: dict[str, bytes]) -> None:
        local = Path("a.ts").absolute()
        local.write_bytes(clips["a.ts"])
        playlist = f"#EXTM3U\n#EXT-X-TARGETDURATION:2\n#EXTINF:2,\nfile://{local}\n#EXT-X-ENDLIST\n"
        kind = "application/vnd.apple.mpegurl"
        answers = {"/a.m3u8": whole(playlist.encode(), kind), "/b.ts": redirect(f"file://{local}")}
        with http_server(answers) as server:
            message(f"{server}/a.m3u8")
            message(f"{server}/b.ts")

    def test_a_playlist_on_the_server(self, clips: dict[str, bytes]) -> None:
        playlist = "#EXTM3U\n#EXT-X-TARGETDURATION:2\n#EXTINF:2,\na.ts\n#EXT-X-ENDLIST\n"
        kind = "application/vnd.apple.mpegurl"
        answers = {"/a.m3u8": whole(playlist.encode(), kind), "/a.ts": whole(clips["a.ts"])}
        with http_server(answers) as server:
            frames, losses = read(f"{server}/a.m3u8", **QUICK)
        assert (len(frames), losses) == (60, None)


class TestLiveStreams:
    def test_motion_jpeg_that_never_ends(self, jpegs: list[bytes]) -> None:
        plans = Plans([Plan(pause=0.05)])
        answers = {"/v": motion_jpeg(jpegs, plans)}
        with http_server(answers, plans.stopped) as server, opened(f"{server}/v", **QUICK) as source:
            assert (source.info.is_live, source.info.frame_count) == (True, None)
            frames = list(islice(source, 20))
        assert [f.pixels[0, 0, 0] for f in frames] == pytest.approx([n * 8 for n in range(20)], abs=3)
        assert starts(frames)[0] == pytest.approx(0, abs=0.01)
        assert 0.5 < starts(frames)[-1] < 3  # by the clock: as FFmpeg counts it, it would be 0.76
        assert source.losses is None
        assert plans.num_connections == 1

    def test_one_that_comes_back(self, jpegs: list[bytes]) -> None:
        plans = Plans([Plan(5), Plan(ending=REFUSE), Plan(4), Plan(3), Plan(ending=REFUSE)])
        with http_server({"/v": motion_jpeg(jpegs, plans)}, plans.stopped) as server:
            frames, losses = read(f"{server}/v", **QUICK)
        assert [round(int(f.pixels[0, 0, 0]) / 8) for f in frames] == [*range(5), *range(4), *range(3)]
        assert losses is not None
        assert losses.startswith("the connection was lost after ")
        assert " s and could not be made again in 2 tries; the connection was lost 2 times, 0." in losses
        assert losses.endswith(" s are missing")
        assert plans.num_connections == 6
        assert starts(frames)[5] - starts(frames)[4] > 0.14  # two pauses, 0.05 and 0.1 s

    def test_one_that_stalls(self, jpegs: list[bytes]) -> None:
        plans = Plans([Plan(5, STALL)])
        begin = time.monotonic()
        with http_server({"/v": motion_jpeg(jpegs, plans)}, plans.stopped) as server:
            frames, losses = read(f"{server}/v", **{**QUICK, "reconnects": 0})
        assert len(frames) == 5
        assert losses is not None
        assert losses.startswith("the connection was lost after 0.")
        assert losses.endswith(" s")
        assert 0.6 < time.monotonic() - begin < 4

    def test_one_that_stalls_and_comes_back(self, jpegs: list[bytes]) -> None:
        plans = Plans([Plan(5, STALL), Plan(5, STALL), Plan(ending=REFUSE)])
        with http_server({"/v": motion_jpeg(jpegs, plans)}, plans.stopped) as server:
            frames, _ = read(f"{server}/v", **QUICK)
        assert len(frames) == 10
        assert 0.6 < starts(frames)[5] - starts(frames)[4] < 3

    @pytest.mark.parametrize("ending", [STALL, DROP])
    def test_one_without_a_first_picture(self, ending: str, jpegs: list[bytes]) -> None:
        plans = Plans([Plan(0, ending)])
        with http_server({"/v": motion_jpeg(jpegs, plans)}, plans.stopped) as server:
            assert message(f"{server}/v").startswith(f"{server}/v: ")

    def test_transport_stream_with_sound(self, clips: dict[str, bytes]) -> None:
        make("spool/x")
        plans = Plans([Plan(pause=0.001), Plan(ending=REFUSE)])
        with http_server({"/v": endless_bytes(clips["a.ts"], plans)}, plans.stopped) as server:
            source = opened(f"{server}/v", spool=Path("spool"), **QUICK)
            with source:
                assert source.info.is_live
                frames = list(source)
        assert len(frames) == 60
        assert starts(frames) == pytest.approx([starts(frames)[0] + n / 30 for n in range(60)], abs=0.001)
        assert source.losses == "the connection was lost after 2.0 s and could not be made again in 2 tries"
        Path("a.ts").write_bytes(clips["a.ts"])
        old, companions = facts(Path("a.ts")), source.info.companions
        assert companions is not None
        sound, times = heard(companions)
        assert len(sound) >= len(old.sound[0].packets) - 2
        late = old.sound[0].times[0] - old.times[0]
        assert float(times[0]) - starts(frames)[0] == pytest.approx(float(late), abs=0.002)

    def test_times_go_on_where_a_stream_begins_anew(self, clips: dict[str, bytes]) -> None:
        make("spool/x")
        plans = Plans([Plan(15), Plan(pause=0.001), Plan(ending=REFUSE)])
        with http_server({"/v": endless_bytes(clips["a.ts"], plans)}, plans.stopped) as server:
            frames, losses = read(f"{server}/v", spool=Path("spool"), **QUICK)
        assert 65 < len(frames) < 120
        gaps = [after - before for before, after in pairwise(starts(frames))]
        assert 0.03 < min(gaps) < 0.04 < max(gaps) < 3
        assert starts(frames)[-1] < 5
        assert losses is not None
        assert "; its sound is missing from " in losses

    def test_packets_without_a_connection(self, clips: dict[str, bytes]) -> None:
        with packets_to_a_port(clips["a.ts"]) as port, opened(f"udp://127.0.0.1:{port}", **QUICK) as source:
            assert source.info.is_live
            frames = list(islice(source, 40))
        assert starts(frames)[-1] - starts(frames)[0] == pytest.approx(39 / 30, abs=0.01)

    def test_closed_while_waiting(self, jpegs: list[bytes]) -> None:
        plans = Plans([Plan(5), Plan(ending=REFUSE)])
        with http_server({"/v": motion_jpeg(jpegs, plans)}, plans.stopped) as server:
            source = opened(f"{server}/v", timeout_seconds=5, first_pause_seconds=5)
            threading.Timer(0.3, source.close).start()
            begin = time.monotonic()
            assert len(list(source)) == 5
            assert time.monotonic() - begin < 3
            source.close()


class TestRtsp:
    def test_frames_and_times(self, clips: dict[str, bytes]) -> None:
        plans = Plans([Plan()])
        server = RtspServer(clips["raw.h264"], plans)
        with server.running() as place, opened(f"rtsp://{place}/live", **QUICK) as source:
            assert source.info.is_live
            frames = list(islice(source, 60))
        gaps = {round(after - before, 3) for before, after in pairwise(starts(frames))}
        assert gaps == {0.04}
        assert frames[0].pixels.std() > 30

    def test_password(self, clips: dict[str, bytes]) -> None:
        plans = Plans([Plan()])
        with RtspServer(clips["raw.h264"], plans, login="me:secret").running() as place:
            with opened(f"rtsp://me:secret@{place}/live", **QUICK) as source:
                assert source.info.name == f"rtsp://{place}/live"
                next(iter(source))
            assert "401" in message(f"rtsp://me:other@{place}/live")

    @pytest.mark.parametrize("ending", [STALL, DROP])
    def test_lost_and_found(self, ending: str, clips: dict[str, bytes], capfd: pytest.CaptureFixture[str]) -> None:
        plans = Plans([Plan(40, ending), Plan(40, ending), Plan(ending=REFUSE)])
        with RtspServer(clips["raw.h264"], plans).running() as place:
            frames, losses = read(f"rtsp://{place}/live", **QUICK)
        assert len(frames) > 70
        assert min(after - before for before, after in pairwise(starts(frames))) > 0.03
        assert losses is not None
        assert " s and could not be made again in 2 tries; the connection was lost 1 times, " in losses
        assert capfd.readouterr() == ("", "")


class TestStandardInput:
    @pytest.fixture
    def pipe_in(self, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[bytes], None]]:
        """Put bytes on standard input, through a real pipe."""
        keyboard = sys.stdin

        def put(content: bytes) -> None:
            reading, writing = os.pipe()

            def write() -> None:
                with os.fdopen(writing, "wb") as pipe, suppress(BrokenPipeError):
                    pipe.write(content)

            threading.Thread(target=write, daemon=True).start()
            monkeypatch.setattr(sys, "stdin", os.fdopen(reading))

        yield put
        if sys.stdin is not keyboard:
            sys.stdin.close()

    @pytest.mark.parametrize("name", ["front.mp4", "end.mp4", "a.ts", "a.mkv", "silent.mp4"])
    def test_every_frame_and_the_sound(
        self, name: str, clips: dict[str, bytes], pipe_in: Callable[[bytes], None]
    ) -> None:
        Path("spool").mkdir()
        Path(name).write_bytes(clips[name])
        pipe_in(clips[name])
        with opened("-", spool=Path("spool")) as source, VideoReader(name) as reader:
            assert (source.info.name, source.info.is_live) == ("-", False)
            frames, local = list(source), list(reader)
            assert [frame.time for frame in frames] == [frame.time for frame in local]
            assert all((a.pixels == b.pixels).all() for a, b in zip(frames, local, strict=True))
            assert source.losses is None
            sound = source.info.companions
            assert (sound is None) == (name == "silent.mp4")
        if sound is not None:  # it is wanted when the source is closed
            assert len(heard(sound)[0]) == len(heard(Path(name))[0])

    def test_an_animation(self, pipe_in: Callable[[bytes], None]) -> None:
        file = io.BytesIO()
        plain((16, 12), *RED).save(file, "GIF", save_all=True, append_images=[plain((16, 12), *BLUE)], duration=100)
        pipe_in(file.getvalue())
        frames, losses = read("-")
        assert (colours(frames), losses) == ([list(RED), list(BLUE)], None)

    def test_a_cut_off_video(self, clips: dict[str, bytes], pipe_in: Callable[[bytes], None]) -> None:
        pipe_in(clips["front.mp4"][: -len(clips["front.mp4"]) // 3])
        frames, losses = read("-")
        assert 5 < len(frames) < 60
        assert losses is not None
        assert "it ends after " in losses or "it broke off after " in losses

    @pytest.mark.parametrize(
        ("content", "expected"),
        [
            (b"", "standard input is empty (0 bytes), expected a video"),
            (b"hello " * 100, "standard input: cannot be read (Invalid data found when processing input), expected"),
            (b"\0\0\0\x08mdat" + bytes(50), "standard input: cannot be read ("),
            (b"\x89PNG\r\n\x1a\n", "standard input: is a picture (use ssd-detect image), expected"),
        ],
    )
    def test_no_video(self, content: bytes, expected: str, pipe_in: Callable[[bytes], None]) -> None:
        pipe_in(content)
        with pytest.raises(VideoError) as caught:
            opened("-")
        assert str(caught.value).startswith(expected)

    def test_a_terminal_or_nothing_at_all(self, monkeypatch: pytest.MonkeyPatch) -> None:
        ours, theirs = pty.openpty()
        with os.fdopen(theirs) as terminal:
            monkeypatch.setattr(sys, "stdin", terminal)
            with pytest.raises(VideoError, match=r"^standard input is a terminal; pipe a video into it$"):
                opened("-")
        os.close(ours)
        monkeypatch.setattr(sys, "stdin", None)
        with pytest.raises(VideoError, match=r"^standard input is closed; pipe a video into it$"):
            opened("-")

    def test_read_while_it_comes(self, clips: dict[str, bytes]) -> None:
        code = (
            "import sys\n"
            "from ssd_detect.media.video.sources.inputs import find_videos\n"
            "from ssd_detect.media.video.sources.opening import open_source\n"
            "from ssd_detect.media.video.sources.settings import SourceSettings\n"
            "with open_source(find_videos(['-'], recursive=False).inputs[0], SourceSettings()) as source:\n"
            "    for frame in source: print(frame.time.pts, flush=True)\n"
        )
        child = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert child.stdin is not None
        assert child.stdout is not None
        with child:
            child.stdin.write(clips["a.ts"][: len(clips["a.ts"]) // 2])
            child.stdin.flush()
            child.stdout.readline()  # comes before the rest is there
            child.stdin.write(clips["a.ts"][len(clips["a.ts"]) // 2 :])
            child.stdin.close()
            assert len(child.stdout.readlines()) == 59


def test_a_raw_stream_has_the_rate_that_its_codec_tells(tmp_path: Path) -> None:
    """As in a file; its container would say 25."""
    raw = ffmpeg(f"{pictures(seconds=0.5)} {H264} -f h264", tmp_path / "raw.h264")
    with av.open(str(raw), "r") as container:
        assert Connection(container, "raw").rate == 30
