"""`ssd-detect checkpoints convert`: what it says, and what it refuses."""

import subprocess
import sys
from pathlib import Path

import click
import pytest
from click.testing import CliRunner, Result
from safetensors import safe_open

from ssd_detect.cli.checkpoints_convert import convert
from ssd_detect.cli.main import Program
from ssd_detect.conventions import AnchorClip, AnchorRounding, ColourOrder, ResizeRule
from ssd_detect.errors import ExitStatus
from ssd_detect.model.conversion.settings import FileFormat
from ssd_detect.settings import CheckpointSettings

pytestmark = pytest.mark.usefixtures("source_kept_open")


@pytest.fixture(scope="module")
def program() -> click.Group:
    return Program("ssd-detect", commands={"convert": convert})


def run(program: click.Group, *arguments: object) -> Result:
    return CliRunner().invoke(program, ["convert", *map(str, arguments)])


@pytest.fixture(scope="module")
def result(program: click.Group, tmp_path_factory: pytest.TempPathFactory) -> tuple[Result, Path]:
    target = tmp_path_factory.mktemp("out") / "m.safetensors"
    options = ("--precision", "int8", "--anchors", "voc300", "-v")
    return run(program, "ssd_300_vgg_voc", target, *options), target


class TestResult:
    def test_what_was_written_and_proved(self, result: tuple[Result, Path]) -> None:
        told, target = result
        assert told.exit_code == ExitStatus.DONE, told.output
        written, proved = told.stdout.splitlines()
        assert written == f"wrote {target}: 26.4 MB"
        assert proved.startswith("proved in ssd-detect on 4 pictures; largest differences: scores ")

    def test_its_steps(self, result: tuple[Result, Path]) -> None:
        lines = result[0].stderr.splitlines()
        assert [line for line in lines if line.endswith("…")] == ["reading …", "writing …", "proving …"]

    def test_what_the_user_settles_travels(self, result: tuple[Result, Path]) -> None:
        with safe_open(result[1], framework="numpy") as file:
            assert file.metadata()["anchors"] == "voc300"

    def test_quiet(self, program: click.Group, tmp_path: Path) -> None:
        told = run(program, "ssd_300_vgg_voc", tmp_path / "m.safetensors", "--precision", "int8", "-q")
        assert (told.exit_code, told.output) == (ExitStatus.DONE, "")


class TestRefused:
    @pytest.mark.parametrize(
        ("arguments", "status", "message"),
        [
            ((), ExitStatus.USAGE, "Missing argument 'SOURCE'"),
            (("a",), ExitStatus.USAGE, "Missing argument 'TARGET'"),
            (
                ("a", "b", "--to", "caffe"),
                ExitStatus.USAGE,
                "'caffe' is not one of 'tensorflow', 'safetensors', 'onnx'",
            ),
            (("a", "b.pb"), ExitStatus.USAGE, "b.pb: the name does not tell the format"),
            (("a", "b.onnx", "--precision", "int8"), ExitStatus.USAGE, "precision int8 is for .safetensors files only"),
            (("a", "b", "--classes-file", "gone.txt"), ExitStatus.USAGE, "gone.txt"),
            (("", "b.ckpt"), ExitStatus.USAGE, "'SOURCE': empty name"),
            (("a", ""), ExitStatus.USAGE, "'TARGET': empty name"),
            (("a", "-"), ExitStatus.USAGE, "- is a stream, expected the name of a file"),
            (
                ("a", "b.safetensors", "--to", "onnx"),
                ExitStatus.USAGE,
                "b.safetensors: .safetensors is what files of another format end in, expected onnx; name another",
            ),
            (("a", "b.PTH", "--to", "tensorflow"), ExitStatus.USAGE, ".pth is what files of another format end in"),
            (("gone.ckpt", "b.ckpt"), ExitStatus.NO_CHECKPOINT, "gone.ckpt: no such checkpoint"),
        ],
    )
    @pytest.mark.usefixtures("in_an_empty_folder")
    def test_in_one_line(
        self, arguments: tuple[str, ...], status: ExitStatus, message: str, program: click.Group
    ) -> None:
        result = run(program, *arguments)
        assert result.exit_code == status
        (line,) = result.stderr.splitlines()
        assert message in line
        assert list(Path().iterdir()) == []

    def test_a_checkpoint_onto_itself(self, program: click.Group, tmp_path: Path) -> None:
        for suffix in (".index", ".data-00000-of-00001"):
            (tmp_path / f"s.ckpt{suffix}").write_bytes(b"x")
        for overwrite in ((), ("--overwrite",)):
            result = run(program, tmp_path / "s.ckpt", tmp_path / "s.ckpt", *overwrite)
            assert result.exit_code == ExitStatus.FAILED
            assert result.stderr == f"Error: {tmp_path / 's.ckpt'}: is the input itself; name another output\n"

    def test_targets_are_checked_first(self, tmp_path: Path) -> None:
        """TensorFlow takes seconds to import."""
        (tmp_path / "b.onnx").write_bytes(b"x")
        script = (
            "import sys\n"
            "from ssd_detect.cli.checkpoints_convert import convert\n"
            f"try:\n    convert(['ssd_300_vgg_voc', {str(tmp_path / 'b.onnx')!r}], standalone_mode=False)\n"
            "except Exception as error:\n    print(type(error).__name__)\n"
            "print(sorted({'numpy', 'tensorflow', 'cv2', 'onnx'} & set(sys.modules)))\n"
        )
        done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
        assert done.stdout == "OutputError\n[]\n"

    def test_usage_errors_import_nothing_heavy(self) -> None:
        script = (
            "import sys\n"
            "from ssd_detect.cli.checkpoints_convert import convert\n"
            "try:\n    convert(['a', 'b.pb'], standalone_mode=False)\n"
            "except Exception as error:\n    print(type(error).__name__)\n"
            "print(sorted({'numpy', 'tensorflow', 'cv2', 'onnx'} & set(sys.modules)))\n"
        )
        done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
        assert done.stdout == "SettingError\n[]\n"


class TestOptions:
    """Each option reaches the settings; what is not given stays open."""

    @pytest.mark.parametrize(
        ("arguments", "expected"),
        [
            ((), CheckpointSettings("a")),
            (("--anchors", "voc512"), CheckpointSettings("a", anchors="voc512")),
            (("--anchor-rounding", "int"), CheckpointSettings("a", anchor_rounding=AnchorRounding.INT)),
            (("--anchor-clip", "cxcywh"), CheckpointSettings("a", anchor_clip=AnchorClip.CENTRE_AND_SIZE)),
            (("--resize", "opencv"), CheckpointSettings("a", resize=ResizeRule.OPENCV)),
            (("--colour-order", "bgr"), CheckpointSettings("a", colour_order=ColourOrder.BGR)),
            (("--class-list", "voc"), CheckpointSettings("a", class_list="voc20")),
            (("--class-list", "coco"), CheckpointSettings("a", class_list="coco80")),
        ],
    )
    def test_facts(self, arguments: tuple[str, ...], expected: CheckpointSettings) -> None:
        from ssd_detect.cli.checkpoint_facts import checkpoint_settings, fact_options

        taken = []
        command = click.command()(fact_options(lambda **facts: taken.append(checkpoint_settings("a", **facts))))
        command.main(list(arguments), standalone_mode=False)
        assert taken == [expected]

    def test_a_class_file(self, tmp_path: Path) -> None:
        from ssd_detect.cli.checkpoint_facts import checkpoint_settings

        (tmp_path / "names.txt").write_text("cat\ndog\n")
        settings = checkpoint_settings("a", classes_file=tmp_path / "names.txt", class_list=None)
        assert settings.class_names == ("background", "cat", "dog")

    def test_every_format_can_be_named(self, program: click.Group) -> None:
        text = run(program, "--help").output
        assert all(file_format.value in text for file_format in FileFormat)
