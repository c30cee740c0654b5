"""Sources of frames besides plain files: which argument is what, and what each brings."""

import subprocess
import sys
from pathlib import Path

import pytest

from ssd_detect.media.sources.inputs import SourceKind
from ssd_detect.media.video.sources.inputs import FoundVideos, VideoInput, find_videos

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
