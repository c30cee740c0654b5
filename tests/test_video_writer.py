"""Writing videos: targets that cannot be, and what a failure leaves behind."""

import os
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from ssd_detect.arrays import Pixels
from ssd_detect.errors import OutputError, VideoError
from ssd_detect.media.video.clock import FrameTime
from ssd_detect.media.video.reader import VideoReader
from ssd_detect.media.video.writer import VideoWriter
from tests.clips import facts
from tests.video_parts import copy

pytestmark = pytest.mark.usefixtures("in_an_empty_folder")


class TestWriter:
    @pytest.mark.parametrize(
        ("name", "message"),
        [
            ("out.xyz", "out.xyz: cannot write .xyz; use .mp4, .m4v, .mov, .mkv, .webm, .avi, .gif"),
            ("out", "out: cannot write a file without suffix; use .mp4, .m4v, .mov, .mkv, .webm, .avi, .gif"),
            ("folder.mp4", "folder.mp4: is a folder"),
            ("there.mp4", "there.mp4: exists already; name another output or use --overwrite"),
            ("there.mp4/out.mp4", "there.mp4/out.mp4: cannot be written"),
        ],
    )
    def test_targets_that_cannot_be(self, name: str, message: str, clip: Path, tmp_path: Path) -> None:
        (tmp_path / "folder.mp4").mkdir()
        (tmp_path / "there.mp4").write_bytes(b"precious")
        with VideoReader(clip) as reader, pytest.raises(OutputError) as caught:
            VideoWriter(name, like=reader.info).__enter__()
        assert str(caught.value).startswith(message)
        assert sorted(os.listdir()) == ["folder.mp4", "there.mp4"]  # noqa: PTH208
        assert (tmp_path / "there.mp4").read_bytes() == b"precious"

    @pytest.mark.parametrize("how", ["same", "relative", "symbolic link", "hard link"])
    def test_the_input_is_never_the_output(self, how: str, clip: Path, tmp_path: Path) -> None:
        source = tmp_path / "in.mp4"
        source.write_bytes(clip.read_bytes())
        target = {"same": source, "relative": Path("../") / tmp_path.name / "in.mp4"}.get(how, tmp_path / "link.mp4")
        if how == "symbolic link":
            target.symlink_to(source)
        if how == "hard link":
            target.hardlink_to(source)
        with pytest.raises(OutputError, match="is the input itself"):
            copy(source, target, overwrite=True)
        assert source.read_bytes() == clip.read_bytes()

    def test_missing_folders_are_made(self, clip: Path) -> None:
        copy(clip, Path("new/folder/out.mp4"))
        assert len(facts(Path("new/folder/out.mp4")).times) == 60

    @pytest.mark.parametrize("num_frames", [0, 1, 50])
    @pytest.mark.parametrize("error", [ValueError("odd"), KeyboardInterrupt()])
    def test_an_error_leaves_nothing_and_the_old_file(
        self, num_frames: int, error: BaseException, clip: Path, tmp_path: Path
    ) -> None:
        (tmp_path / "out.mp4").write_bytes(b"precious")

        def fail() -> None:
            with VideoReader(clip) as reader, VideoWriter("out.mp4", like=reader.info, overwrite=True) as writer:
                for _, frame in zip(range(num_frames), reader, strict=False):
                    writer.append(frame.pixels, frame.time)
                raise error

        with pytest.raises(type(error)) as caught:
            fail()
        assert caught.value is error
        assert os.listdir() == ["out.mp4"]  # noqa: PTH208
        assert (tmp_path / "out.mp4").read_bytes() == b"precious"

    def test_it_is_whole_before_it_has_its_name(self, clip: Path, tmp_path: Path) -> None:
        with VideoReader(clip) as reader, VideoWriter("out.mp4", like=reader.info) as writer:
            for frame in reader:
                writer.append(frame.pixels, frame.time)
                assert not (tmp_path / "out.mp4").exists()
        assert os.listdir() == ["out.mp4"]  # noqa: PTH208

    def test_a_file_that_appears_meanwhile_is_kept(self, clip: Path, tmp_path: Path) -> None:
        def lose_the_race() -> None:
            with VideoReader(clip) as reader, VideoWriter("out.mp4", like=reader.info) as writer:
                for frame in reader:
                    writer.append(frame.pixels, frame.time)
                (tmp_path / "out.mp4").write_bytes(b"precious")

        with pytest.raises(OutputError, match="exists already"):
            lose_the_race()
        assert os.listdir() == ["out.mp4"]  # noqa: PTH208
        assert (tmp_path / "out.mp4").read_bytes() == b"precious"

    def test_frames_of_another_size_and_no_frames(self, clip: Path) -> None:
        def write(pixels: Pixels | None) -> None:
            with VideoReader(clip) as reader, VideoWriter("out.mp4", like=reader.info) as writer:
                if pixels is not None:
                    writer.append(pixels, FrameTime(0, 1, Fraction(1, 30)))

        with pytest.raises(VideoError, match="got a frame of 48x64 pixels, expected 64x48"):
            write(np.zeros((64, 48, 3), np.uint8))
        with pytest.raises(VideoError, match="got no frames"):
            write(None)
        assert os.listdir() == []  # noqa: PTH208

    @pytest.mark.skipif(sys.platform == "win32", reason="no limit on file sizes there")
    def test_a_full_disk(self, clip: Path, tmp_path: Path) -> None:
        """A limit on the size of files fails as a full disk does: in the middle of writing."""
        code = (
            "import resource, signal, sys; sys.path.insert(0, sys.argv[3])\n"
            "from pathlib import Path\n"
            "from ssd_detect.errors import OutputError\nfrom tests.video_parts import copy\n"
            "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
            "before = resource.getrlimit(resource.RLIMIT_FSIZE)\n"
            "resource.setrlimit(resource.RLIMIT_FSIZE, (9000, before[1]))\n"
            "try:\n    copy(Path(sys.argv[1]), Path(sys.argv[2]))\n"
            "except OutputError as error:\n    print(error)\n"
            "resource.setrlimit(resource.RLIMIT_FSIZE, before)\n"  # coverage wants to write too
        )
        root = Path(__file__).parent.parent
        command = [sys.executable, "-c", code, str(clip), "out.mp4", str(root)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
        assert done.stdout.startswith("out.mp4: cannot be written: "), done.stderr
        assert not list(Path().glob("*out*"))
