"""Reading and writing picture files, and naming the copies."""

import io
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from ssd_detect.errors import OutputError, PictureError
from ssd_detect.files import check_target, whole_file
from ssd_detect.media.pictures import read_picture, write_picture
from ssd_detect.media.targets import plan_pictures

ORIENTATION = 0x0112


def gradient(height: int = 40, width: int = 100) -> Any:
    y, x = np.mgrid[0:height, 0:width]
    return np.stack([y * 255 // height, x * 255 // width, (x + y) % 256], axis=-1).astype(np.uint8)


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
        exif = Image.Exif()
        exif[ORIENTATION] = orientation
        Image.fromarray(gradient()).save(tmp_path / "a.png", exif=exif)
        plain = gradient()
        turned = {
            1: plain, 2: plain[:, ::-1], 3: plain[::-1, ::-1], 4: plain[::-1],
            5: plain.transpose(1, 0, 2), 6: np.rot90(plain, -1),
            7: np.rot90(plain, 2).transpose(1, 0, 2), 8: np.rot90(plain),
        }  # fmt: skip
        np.testing.assert_array_equal(read_picture(tmp_path / "a.png"), turned[orientation])

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


class TestWriting:
    @pytest.mark.parametrize(
        "name", ["a.png", "sub/sub/a.bmp", "фото ñ.TIFF", "a b'\"#%.png", "-a.png", "caf\udce9.png"]
    )
    def test_there_and_back(self, tmp_path: Path, name: str) -> None:
        write_picture(tmp_path / name, gradient())
        np.testing.assert_array_equal(read_picture(tmp_path / name), gradient())
        assert os.listdir((tmp_path / name).parent) == [Path(name).name]  # noqa: PTH208

    def test_jpeg_is_near(self, tmp_path: Path) -> None:
        smooth = np.broadcast_to(np.arange(0, 200, 2, dtype=np.uint8)[:, np.newaxis], (40, 100, 3)).copy()
        write_picture(tmp_path / "a.jpg", smooth)
        assert np.abs(read_picture(tmp_path / "a.jpg").astype(int) - smooth).mean() < 3

    def test_existing(self, tmp_path: Path) -> None:
        (tmp_path / "a.png").write_text("mine")
        with pytest.raises(OutputError, match="exists already; name another output or use --overwrite"):
            write_picture(tmp_path / "a.png", gradient())
        assert (tmp_path / "a.png").read_text() == "mine"
        write_picture(tmp_path / "a.png", gradient(), overwrite=True)
        assert read_picture(tmp_path / "a.png").shape == (40, 100, 3)

    @pytest.mark.parametrize("name", ["a.xyz", "a", "a.mp4"])
    def test_unknown_suffix(self, tmp_path: Path, name: str) -> None:
        with pytest.raises(OutputError, match="cannot save as"):
            write_picture(tmp_path / name, gradient())
        assert list(tmp_path.iterdir()) == []

    def test_format_with_a_limit(self, tmp_path: Path) -> None:
        with pytest.raises(OutputError, match="cannot save the picture in this format"):
            write_picture(tmp_path / "a.webp", np.zeros((1, 17000, 3), np.uint8))
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

    def test_the_system_refuses(self) -> None:
        with pytest.raises(OutputError, match=r"/proc/a\.png: cannot be written"):
            write_picture(Path("/proc/a.png"), gradient())


class TestPlan:
    def plan(self, folder: Path, *names: str, output: str | None = None, overwrite: bool = False) -> Any:
        for name in names:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).touch()
        target = None if output is None else folder / output
        jobs, errors = plan_pictures([folder / n for n in names], target, overwrite=overwrite)
        return [str(j.target.relative_to(folder) if target else j.target) for j in jobs], [str(e) for e in errors]

    @pytest.mark.parametrize(
        ("name", "target"),
        [
            ("a.jpg", "a_detections.jpg"),
            ("x/a.b.PNG", "a.b_detections.PNG"),
            ("a", "a_detections.png"),
            ("a.heic", "a_detections.png"),
        ],
    )
    def test_default_names(self, tmp_path: Path, name: str, target: str) -> None:
        assert self.plan(tmp_path, name) == ([target], [])

    def test_file_and_folder(self, tmp_path: Path) -> None:
        assert self.plan(tmp_path, "a.jpg", output="b.png") == (["b.png"], [])
        assert self.plan(tmp_path, "a.jpg", "b.jpg", output="out") == (
            ["out/a_detections.jpg", "out/b_detections.jpg"],
            [],
        )
        (tmp_path / "there").mkdir()
        assert self.plan(tmp_path, "a.jpg", output="there") == (["there/a_detections.jpg"], [])

    def test_same_picture_twice_counts_once(self, tmp_path: Path) -> None:
        (tmp_path / "a.jpg").touch()
        jobs, errors = plan_pictures([tmp_path / "a.jpg"] * 2, None, overwrite=False)
        assert (len(jobs), errors) == (1, [])

    def test_equal_names_never_replace_each_other(self, tmp_path: Path) -> None:
        targets, errors = self.plan(tmp_path, "x/a.jpg", "y/a.jpg", output="out")
        assert targets == ["out/a_detections.jpg"]
        assert len(errors) == 1
        assert "y/a.jpg: its copy would replace that of" in errors[0]

    def test_the_input_is_never_the_output(self, tmp_path: Path) -> None:
        (tmp_path / "link.png").symlink_to(tmp_path / "a.png")
        for output in ("a.png", "link.png"):
            targets, errors = self.plan(tmp_path, "a.png", output=output, overwrite=True)
            assert targets == []
            assert "is the input itself" in errors[0]

    def test_bad_output_suffix(self, tmp_path: Path) -> None:
        assert "cannot save as .xyz; use .png" in self.plan(tmp_path, "a.png", output="b.xyz")[1][0]
