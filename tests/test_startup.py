"""The start of the program: what it imports, what happens at the same time, and that it can be stopped."""

import gc
import json
import os
import signal
import subprocess
import sys
import tracemalloc
import zipfile
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from ssd_detect.cli.main import program
from ssd_detect.detector import Detector
from ssd_detect.engines.converted import key_of
from ssd_detect.environment import for_quiet_child, quick_imports
from ssd_detect.errors import CheckpointError
from ssd_detect.model.checkpoint import load_checkpoint, loaded_ahead
from ssd_detect.settings import CheckpointSettings
from tests.tensorflow_files import write_v2

SHIPPED = CheckpointSettings("ssd_300_vgg_voc")
VERBS = ["benchmark", "checkpoints", "dataset", "doctor", "eval", "explain", "image", "video"]

# Runs a whole command line, then tells which of all modules it has imported, and what has become of the process.
WALK = """
import gc, json, os, sys
from ssd_detect.cli.main import main
sys.argv[0] = "ssd-detect"
try:
    main()
except SystemExit as end:
    status = end.code
told = {"status": status, "modules": sorted(sys.modules), "legacy": os.environ.get("TF_USE_LEGACY_KERAS"),
        "collects": gc.isenabled()}
print(json.dumps(told))
"""


def walk(*arguments: str, **variables: str) -> dict[str, Any]:
    command = [sys.executable, "-c", WALK, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ, **variables})
    assert done.returncode == 0, done.stderr
    told: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return told | {"stderr": done.stderr}


class TestVerbs:
    def test_one_verb_does_not_import_the_others(self) -> None:
        told = walk("image", "--help")
        verbs = {f"ssd_detect.cli.{verb}" for verb in VERBS}
        assert (told["status"], verbs & set(told["modules"])) == (0, {"ssd_detect.cli.image"})
        assert not [module for module in told["modules"] if module.startswith("ssd_detect.doctor")]

    def test_all_are_listed(self) -> None:
        lines = CliRunner().invoke(program, ["--help"]).stdout.partition("Commands:\n")[2].splitlines()
        assert [line.split()[0] for line in lines] == VERBS
        assert all(len(line.split()) > 2 for line in lines)  # each has its short help

    def test_a_misspelt_one_finds_its_likeness(self) -> None:
        done = subprocess.run(
            [sys.executable, "-m", "ssd_detect", "doctr"], capture_output=True, text=True, check=False
        )
        assert done.returncode == 2
        assert "doctor" in done.stderr


@pytest.fixture(scope="module")
def told(media: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Of a run with TensorFlow."""
    output = tmp_path_factory.mktemp("walk") / "out.png"
    return walk("image", str(media / "astronaut.png"), "-o", str(output))


class TestImports:
    def test_of_tensorflow_no_more_than_is_needed(self, told: dict[str, Any]) -> None:
        unwanted = {"keras", "tf_keras", "matplotlib", "onnx", "onnxruntime", "openvino", "av", "rich"}
        unwanted |= {"moviepy", "imageio", "jsonschema"}
        assert (told["status"], unwanted & set(told["modules"])) == (0, set())
        assert "tensorflow" in told["modules"]

    @pytest.mark.slow  # the first run converts the network
    @pytest.mark.parametrize("engine", ["onnxruntime", "openvino", "opencv"])
    def test_of_another_engine_no_tensorflow(self, engine: str, media: Path, tmp_path: Path) -> None:
        for name in ("first.png", "second.png"):
            told = walk("image", str(media / "astronaut.png"), "-o", str(tmp_path / name), "--engine", engine)
        unwanted = {"tensorflow", "keras", "h5py", "google.protobuf", "onnx", "matplotlib", "av", "rich", "requests"}
        unwanted |= {"PIL.DdsImagePlugin"}  # one of those that nobody needs here
        others = {"onnxruntime", "openvino"} - {engine}
        assert (told["status"], (unwanted | others) & set(told["modules"])) == (0, set())
        assert (tmp_path / "second.png").is_file()

    @pytest.mark.parametrize(
        ("fault", "found"),
        [
            ("SystemExit(0)", "TensorFlow does not start (SystemExit: 0)"),
            ("OSError(28, 'No space left on device')", "TensorFlow does not start (OSError: [Errno 28] No space left"),
            ("ImportError('libfoo.so')", "a package cannot be loaded (libfoo.so)"),
        ],
    )
    def test_a_broken_tensorflow(self, fault: str, found: str, media: Path, tmp_path: Path) -> None:
        (tmp_path / "tensorflow.py").write_text(f"raise {fault}")
        path = os.pathsep.join([str(tmp_path), *sys.path])
        told = walk("image", str(media / "astronaut.png"), "-o", str(tmp_path / "out.png"), PYTHONPATH=path)
        assert told["status"] == 1
        assert told["stderr"].startswith(f"Error: {found}")
        assert told["stderr"].endswith("; type ssd-detect doctor to find out why\n")

    def test_the_collector_works_again(self, told: dict[str, Any]) -> None:
        assert told["collects"]

    def test_what_the_user_says_of_keras_counts(self, media: Path, tmp_path: Path) -> None:
        output = str(tmp_path / "out.png")
        told = walk("image", str(media / "astronaut.png"), "-o", output, TF_USE_LEGACY_KERAS="0")
        assert (told["status"], told["legacy"]) == (0, "0")

    @pytest.mark.parametrize(("own", "expected"), [(None, "1"), ("0", "0")])
    def test_child_processes_do_without_keras_too(
        self, own: str | None, expected: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.delenv("TF_USE_LEGACY_KERAS", raising=False)
        if own is not None:
            monkeypatch.setenv("TF_USE_LEGACY_KERAS", own)
        assert for_quiet_child(without_gpus=True)["TF_USE_LEGACY_KERAS"] == expected
        assert os.environ.get("TF_USE_LEGACY_KERAS") == own

    def test_the_library_leaves_the_process_alone(self) -> None:
        code = (
            "import gc, os\n"
            "before = dict(os.environ)\n"
            "from ssd_detect import Detector\n"
            "with Detector(): pass\n"
            "assert 'TF_USE_LEGACY_KERAS' not in os.environ or before.get('TF_USE_LEGACY_KERAS')\n"
            "assert gc.isenabled() and gc.get_freeze_count() == 0\n"
        )
        subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)

    @pytest.mark.parametrize("raises", [False, True])
    def test_nothing_is_collected_meanwhile(self, raises: bool) -> None:
        frozen = gc.get_freeze_count()
        try:
            with quick_imports():
                assert not gc.isenabled()
                if raises:
                    raise ImportError("gone")
        except ImportError:
            assert raises
        assert gc.isenabled()
        assert gc.get_freeze_count() > frozen
        gc.unfreeze()


@pytest.fixture
def checkpoint(seeded_variables: dict[str, Any], tmp_path: Path) -> Path:
    return write_v2(tmp_path / "m.ckpt", seeded_variables)


def damage(prefix: Path) -> None:
    with Path(f"{prefix}.data-00000-of-00001").open("r+b") as file:
        file.seek(50_000_000)
        file.write(b"damage")


class TestLoadedAhead:
    def test_it_is_loaded_once(self) -> None:
        with loaded_ahead(SHIPPED, numbers=False) as ahead:
            assert ahead() is ahead()
            assert (ahead().name, ahead().spec.anchors) == ("ssd_300_vgg_voc", "coco300")

    def test_a_detector_takes_it(self) -> None:
        with loaded_ahead(SHIPPED, numbers=True) as ahead, Detector(ahead()) as detector:
            assert (detector.checkpoint_name, detector.spec) == (ahead().name, ahead().spec)

    def test_the_numbers_too(self, checkpoint: Path) -> None:
        """They are there when the block ends: then nobody looks into the file any more."""
        with loaded_ahead(CheckpointSettings(str(checkpoint)), numbers=True) as ahead:
            pass
        damage(checkpoint)
        ahead().read()

    def test_the_key_of_a_converted_network_takes_hardly_any_numbers(self) -> None:
        load_checkpoint(SHIPPED)  # the manifest stays in memory
        tracemalloc.start()
        key_of(load_checkpoint(SHIPPED))
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert most < 4e6

    def test_not_the_numbers(self, checkpoint: Path) -> None:
        damage(checkpoint)
        with loaded_ahead(CheckpointSettings(str(checkpoint)), numbers=False) as ahead:
            ahead()

    def test_what_is_wrong_is_said_to_who_asks(self, tmp_path: Path, checkpoint: Path) -> None:
        gone, damaged = CheckpointSettings(str(tmp_path / "gone.ckpt")), CheckpointSettings(str(checkpoint))
        with (
            loaded_ahead(gone, numbers=True) as ahead,
            pytest.raises(CheckpointError, match=r"gone\.ckpt: no such checkpoint"),
        ):
            ahead()
        with loaded_ahead(gone, numbers=True):
            pass  # nobody has asked
        damage(checkpoint)
        with loaded_ahead(damaged, numbers=True) as ahead:
            loaded = ahead()
            with pytest.raises(CheckpointError, match="wrong checksum"):
                loaded.read()

    def test_an_error_in_the_block_is_the_blocks(self) -> None:
        with pytest.raises(KeyboardInterrupt), loaded_ahead(SHIPPED, numbers=True) as ahead:
            raise KeyboardInterrupt
        assert ahead().spec.size == 300  # the thread has come to its end

    def test_files_of_others_are_read_where_they_are_asked_for(self, tmp_path: Path, checkpoint: Path) -> None:
        with zipfile.ZipFile(tmp_path / "m.zip", "w") as archive:
            for suffix in (".index", ".data-00000-of-00001"):
                archive.write(f"{checkpoint}{suffix}", f"m.ckpt{suffix}")
        with loaded_ahead(CheckpointSettings(str(tmp_path / "m.zip")), numbers=True) as ahead:
            assert ahead() is not ahead()


@pytest.mark.skipif(sys.platform == "win32", reason="no such signals there")
@pytest.mark.parametrize("place", ["tensorflow.python.framework", "ssd_detect.batch.flow"])
def test_ctrl_c_during_the_start(place: str, media: Path, tmp_path: Path) -> None:
    """Also where Python itself loses the interruption, as in a callback of its locks of modules: at the end then."""
    status, out, err = interrupted(place, media / "astronaut.png", tmp_path / "out.png")
    assert (status, out) == (130, "")
    assert "Traceback" not in err or "Exception ignored in" in err
    assert err.splitlines()[-1] == "Interrupted."
    assert not list(tmp_path.iterdir())


def interrupted(place: str, picture: Path, output: Path) -> tuple[int, str, str]:
    """Python tells on the error stream what it has imported; one Ctrl-C comes when that is `place`."""
    command = [sys.executable, "-X", "importtime", "-m", "ssd_detect", "image", str(picture), "-v", "--overwrite"]
    child = subprocess.Popen([*command, "-o", str(output)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert child.stderr is not None
    next(line for line in child.stderr if place in line)
    child.send_signal(signal.SIGINT)
    out, err = child.communicate(timeout=60)
    return child.returncode, out, err
