"""What goes wrong with a conversion leaves nothing behind, and nothing is lost that was there."""

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ssd_detect.errors import OutputError, SettingError
from ssd_detect.model.conversion.convert import convert
from ssd_detect.model.conversion.settings import ConvertSettings, FileFormat, Precision, format_of
from ssd_detect.model.conversion.staging import give_names
from ssd_detect.model.manifest import checkpoints_folder
from ssd_detect.settings import CheckpointSettings

SHIPPED = checkpoints_folder() / "ssd_300_vgg_voc.int8.safetensors"
COMMAND = (
    "from ssd_detect.cli.checkpoints_convert import convert\n"
    "from ssd_detect.cli.main import program\n"
    "program.add_command(convert)\n"
    "program()\n"
)


def settings(target: Path, file_format: FileFormat, given: object = "ssd_300_vgg_voc", **extra: Any) -> ConvertSettings:
    return ConvertSettings(CheckpointSettings(str(given)), target, file_format, **extra)


def at_stage(stage: str, act: Callable[[], object]) -> Callable[[str], None]:
    """Do something when the conversion gets to a stage."""

    def on_stage(now: str) -> None:
        if now == stage:
            act()

    return on_stage


def damage(file: Path, how: str) -> None:
    content = bytearray(file.read_bytes())
    middle = len(content) // 2
    if how == "cut":
        content = content[:middle]
    elif how == "empty":
        content.clear()
    else:
        content[middle] ^= 0xFF
    file.write_bytes(content)


class TestFailedProof:
    @pytest.mark.parametrize(
        ("file_format", "name", "file", "how"),
        [
            (FileFormat.SAFETENSORS, "m.safetensors", "model.safetensors", "bit"),
            (FileFormat.SAFETENSORS, "m.safetensors", "model.safetensors", "cut"),
            (FileFormat.SAFETENSORS, "m.safetensors", "model.safetensors", "empty"),
            (FileFormat.ONNX, "m.onnx", "model.onnx", "bit"),
            (FileFormat.ONNX, "m.onnx", "model.onnx", "cut"),
            (FileFormat.TENSORFLOW, "m.ckpt", "model.ckpt.data-00000-of-00001", "bit"),
            (FileFormat.TENSORFLOW, "m.ckpt", "model.ckpt.index", "empty"),
            (FileFormat.SAVED_MODEL, "m", "model/saved_model.pb", "cut"),
            (FileFormat.SAVED_MODEL, "m", "model/variables/variables.data-00000-of-00001", "bit"),
        ],
    )
    def test_leaves_nothing(self, file_format: FileFormat, name: str, file: str, how: str, tmp_path: Path) -> None:
        def spoil() -> None:
            (stage,) = tmp_path.glob(".m*")
            damage(stage / file, how)

        with pytest.raises(OutputError, match=rf"{name}: the written file .*; nothing was kept"):
            convert(settings(tmp_path / name, file_format), at_stage("proving", spoil))
        assert list(tmp_path.iterdir()) == []

    def test_keeps_what_was_there(self, tmp_path: Path) -> None:
        target = tmp_path / "m.safetensors"
        target.write_bytes(b"old")

        def spoil() -> None:
            (stage,) = tmp_path.glob(".m*")
            damage(stage / "model.safetensors", "bit")

        with pytest.raises(OutputError, match="the written file holds another"):
            convert(settings(target, FileFormat.SAFETENSORS, overwrite=True), at_stage("proving", spoil))
        assert target.read_bytes() == b"old"
        assert list(tmp_path.iterdir()) == [target]


class TestTargets:
    @pytest.mark.parametrize(
        ("name", "expected"),
        [
            ("out", FileFormat.SAVED_MODEL),
            ("a.b/out", FileFormat.SAVED_MODEL),
            ("m.ckpt", FileFormat.TENSORFLOW),
            ("m.ONNX", FileFormat.ONNX),
            ("m.int8.safetensors", FileFormat.SAFETENSORS),
        ],
    )
    def test_the_name_tells_the_format(self, name: str, expected: FileFormat) -> None:
        assert format_of(Path(name)) is expected

    def test_a_name_that_tells_nothing(self) -> None:
        with pytest.raises(SettingError, match=r"m\.pb: the name does not tell the format; .*or use --to tensorflow"):
            format_of(Path("m.pb"))

    @pytest.mark.parametrize(
        ("file_format", "name", "there"),
        [
            (FileFormat.SAFETENSORS, "m.safetensors", "m.safetensors"),
            (FileFormat.ONNX, "m.onnx", "m.onnx"),
            (FileFormat.TENSORFLOW, "m.ckpt", "m.ckpt.index"),
            (FileFormat.TENSORFLOW, "m.ckpt", "m.ckpt.data-00000-of-00001"),
            (FileFormat.SAVED_MODEL, "m", "m/saved_model.pb"),
        ],
    )
    def test_existing_ones_are_refused_before_any_work(
        self, file_format: FileFormat, name: str, there: str, tmp_path: Path
    ) -> None:
        (tmp_path / there).parent.mkdir(exist_ok=True)
        (tmp_path / there).write_bytes(b"old")
        stages: list[str] = []
        with pytest.raises(OutputError, match="exists already; name another output or use --overwrite"):
            convert(settings(tmp_path / name, file_format), stages.append)
        assert stages == []
        assert (tmp_path / there).read_bytes() == b"old"

    @pytest.mark.parametrize(
        ("file_format", "content", "message"),
        [
            (FileFormat.SAVED_MODEL, "holiday.jpg", "a folder of other files, expected a new one or a SavedModel"),
            (FileFormat.SAFETENSORS, "holiday.jpg", "is a folder, expected the name of a file"),
        ],
    )
    def test_folders_of_other_files_stay(
        self, file_format: FileFormat, content: str, message: str, tmp_path: Path
    ) -> None:
        (tmp_path / "m").mkdir()
        (tmp_path / "m" / content).write_bytes(b"mine")
        with pytest.raises(OutputError, match=message):
            convert(settings(tmp_path / "m", file_format, overwrite=True))
        assert (tmp_path / "m" / content).read_bytes() == b"mine"

    def test_a_file_where_a_folder_is_to_be(self, tmp_path: Path) -> None:
        (tmp_path / "m").write_bytes(b"mine")
        with pytest.raises(OutputError, match="is a file, expected the name of a folder"):
            convert(settings(tmp_path / "m", FileFormat.SAVED_MODEL, overwrite=True))

    def test_never_the_input_itself(self, tmp_path: Path) -> None:
        target = Path(shutil.copy(SHIPPED, tmp_path / "m.safetensors"))
        link = tmp_path / "link.safetensors"
        link.symlink_to(target)
        for name in (target, link):
            with pytest.raises(OutputError, match="is the input itself; name another output"):
                convert(settings(name, FileFormat.SAFETENSORS, given=target, overwrite=True))
        assert target.read_bytes() == SHIPPED.read_bytes()

    def test_never_a_folder_around_the_input(self, tmp_path: Path) -> None:
        folder = tmp_path / "m"
        folder.mkdir()
        (folder / "saved_model.pb").write_bytes(b"old")
        source = shutil.copy(SHIPPED, folder / "m.safetensors")
        with pytest.raises(OutputError, match="holds the input itself; name another output"):
            convert(settings(folder, FileFormat.SAVED_MODEL, given=source, overwrite=True))

    def test_somebody_wrote_there_meanwhile(self, tmp_path: Path) -> None:
        target = tmp_path / "m.safetensors"
        with pytest.raises(OutputError, match="exists already"):
            convert(
                settings(target, FileFormat.SAFETENSORS, precision=Precision.INT8),
                at_stage("proving", lambda: target.write_bytes(b"theirs")),
            )
        assert target.read_bytes() == b"theirs"
        assert list(tmp_path.iterdir()) == [target]

    @pytest.mark.slow
    @pytest.mark.parametrize(
        ("file_format", "name", "old"),
        [
            (FileFormat.TENSORFLOW, "m.ckpt", ("m.ckpt.index", "m.ckpt.data-00000-of-00001")),
            (FileFormat.SAVED_MODEL, "m", ("m/saved_model.pb", "m/old.txt")),
        ],
    )
    def test_overwritten_as_a_whole(
        self, file_format: FileFormat, name: str, old: tuple[str, ...], tmp_path: Path
    ) -> None:
        for file in old:
            (tmp_path / file).parent.mkdir(exist_ok=True)
            (tmp_path / file).write_bytes(b"old")
        report = convert(settings(tmp_path / name, file_format, overwrite=True))
        assert sorted(tmp_path.iterdir()) == sorted(report.files)
        assert all(file.read_bytes() != b"old" for file in tmp_path.rglob("*") if file.is_file())
        assert not (tmp_path / "m" / "old.txt").exists()

    def test_an_old_folder_comes_back_when_the_new_one_fails(self, tmp_path: Path) -> None:
        old, stage = tmp_path / "m", tmp_path / ".stage"
        old.mkdir()
        stage.mkdir()
        (old / "saved_model.pb").write_bytes(b"old")
        with pytest.raises(OutputError, match="m: cannot be written: No such file"):
            give_names(stage / "never written", old, FileFormat.SAVED_MODEL, overwrite=True)
        assert (old / "saved_model.pb").read_bytes() == b"old"

    @pytest.mark.parametrize("there", ["m.ckpt.index", "m.ckpt.data-00000-of-00001"])
    def test_what_has_come_there_meanwhile_stays(self, there: str, tmp_path: Path) -> None:
        stage = tmp_path / ".stage"
        stage.mkdir()
        for file in ("m.ckpt.index", "m.ckpt.data-00000-of-00001"):
            (stage / file).write_bytes(b"new")
        (tmp_path / there).write_bytes(b"of another run")
        with pytest.raises(OutputError, match="exists already"):
            give_names(stage / "m.ckpt", tmp_path / "m.ckpt", FileFormat.TENSORFLOW, overwrite=False)
        assert [path.name for path in tmp_path.iterdir() if path.is_file()] == [there]
        assert (tmp_path / there).read_bytes() == b"of another run"

    @pytest.mark.slow
    def test_missing_folders_are_made(self, tmp_path: Path) -> None:
        target = tmp_path / "a" / "b" / "m.safetensors"
        convert(settings(target, FileFormat.SAFETENSORS, precision=Precision.INT8))
        assert target.is_file()


def child(*arguments: str, first: str = "") -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-W", "error", "-c", first + COMMAND, "convert", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


class TestSystem:
    @pytest.mark.slow
    @pytest.mark.parametrize("name", ["m.safetensors", "m.ckpt", "m.onnx", "m"])
    def test_full_disk(self, name: str, tmp_path: Path) -> None:
        limit = (
            "import atexit, resource\n"
            "before = resource.getrlimit(resource.RLIMIT_FSIZE)\n"
            "atexit.register(resource.setrlimit, resource.RLIMIT_FSIZE, before)\n"  # coverage wants to write at the end
            "resource.setrlimit(resource.RLIMIT_FSIZE, (1000000, before[1]))\n"
        )
        process = child("ssd_300_vgg_voc", str(tmp_path / name), first=limit)
        _, errors = process.communicate()
        (line,) = errors.splitlines()
        assert line.startswith(f"Error: {tmp_path / name}: cannot be written: "), errors
        assert process.returncode == 1
        assert list(tmp_path.iterdir()) == []

    @pytest.mark.slow
    @pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
    def test_interrupted(self, number: signal.Signals, status: int, tmp_path: Path) -> None:
        process = child("ssd_300_vgg_voc", str(tmp_path / "m.safetensors"), "-v")
        assert process.stderr
        for line in process.stderr:
            if line.startswith("writing"):
                os.kill(process.pid, number)
                break
        process.communicate()
        assert process.returncode == status
        assert list(tmp_path.iterdir()) == []

    def test_without_onnx(self, tmp_path: Path) -> None:
        missing = (
            "import sys\n"
            "class Missing:\n"
            "    def find_spec(self, name, path=None, target=None):\n"
            "        if name.split('.')[0] == 'onnx':\n"
            "            raise ModuleNotFoundError(\"No module named 'onnx'\", name='onnx')\n"
            "sys.meta_path.insert(0, Missing())\n"
        )
        process = child("ssd_300_vgg_voc", str(tmp_path / "m.onnx"), first=missing)
        _, errors = process.communicate()
        assert process.returncode == 1
        assert errors == (
            "Error: ONNX files need the package onnx (No module named 'onnx'): pip install \"ssd-detect[onnx]\"\n"
        )
