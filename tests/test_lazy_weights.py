"""The numbers of a checkpoint are read when they are needed, once, and then as they were when it was found."""

import gc
import os
import tempfile
import tracemalloc
import zipfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import save_file

from ssd_detect.errors import CheckpointError
from ssd_detect.inspection.info import inspect_checkpoint
from ssd_detect.model.checkpoint import Checkpoint, load_checkpoint
from ssd_detect.model.spec import variable_shapes
from ssd_detect.settings import CheckpointSettings
from tests.tensorflow_files import write_v2

SHIPPED = "ssd_300_vgg_voc"
NAME = "conv6/biases"


def load(given: object, **options: Any) -> Checkpoint:
    return load_checkpoint(CheckpointSettings(str(given), **options))


@pytest.fixture(scope="module")
def bundle(seeded_variables: dict[str, Any], tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_v2(tmp_path_factory.mktemp("bundle") / "m.ckpt", seeded_variables)


@pytest.fixture
def copy(bundle: Path, tmp_path: Path) -> Path:
    """One that may be damaged."""
    for suffix in (".index", ".data-00000-of-00001"):
        (tmp_path / f"m.ckpt{suffix}").write_bytes(Path(f"{bundle}{suffix}").read_bytes())
    return tmp_path / "m.ckpt"


def data_of(prefix: Path) -> Path:
    return Path(f"{prefix}.data-00000-of-00001")


class TestLoading:
    def test_names_are_known_and_no_number_is_read(self, copy: Path) -> None:
        """The data are rubbish, and nobody has looked at them."""
        data_of(copy).write_bytes(b"\xff" * data_of(copy).stat().st_size)
        variables = load(copy).variables
        assert set(variables) == set(variable_shapes(300, 21))
        assert (len(variables), NAME in variables, "conv6/gone" in variables) == (71, True, False)
        with pytest.raises(KeyError, match="conv6/gone"):
            variables["conv6/gone"]
        with pytest.raises(CheckpointError, match="damaged or no checkpoint at all"):
            variables[NAME]

    def test_one_is_read_without_the_others(self, copy: Path, seeded_variables: dict[str, Any]) -> None:
        with data_of(copy).open("r+b") as file:
            file.seek(50_000_000)
            file.write(b"damage")
        checkpoint = load(copy)
        first = checkpoint.variables[NAME]
        assert first.tobytes() == seeded_variables[f"ssd_300_vgg/{NAME}"].tobytes()
        with pytest.raises(CheckpointError, match="wrong checksum"):
            checkpoint.read()
        assert checkpoint.variables[NAME] is first

    @pytest.mark.parametrize("options", [{}, {"class_list": "voc20"}], ids=["whole", "with its own class list"])
    def test_memory_of_the_shipped_one(self, options: dict[str, str]) -> None:
        """It holds 26 MB, which become 105 MB."""
        load(SHIPPED)  # the manifest stays in memory
        tracemalloc.start()
        checkpoint = load(SHIPPED, **options)
        loaded = tracemalloc.get_traced_memory()[1]
        checkpoint.read()
        read = tracemalloc.get_traced_memory()[0]
        tracemalloc.stop()
        assert loaded < 4e6
        assert read > 100e6

    @pytest.mark.parametrize("change", ["replaced", "touched", "gone"])
    def test_files_that_changed_after_their_hash_was_taken(self, copy: Path, change: str) -> None:
        checkpoint = load(copy)
        if change == "replaced":
            data_of(copy).unlink()
            data_of(copy).write_bytes(bytes(1000))
        elif change == "touched":
            os.utime(data_of(copy), ns=(1, 1))
        else:
            data_of(copy).unlink()
        words = {"replaced": "was changed while", "touched": "was changed while", "gone": "No such file"}[change]
        for _ in range(2):  # the first failure is not forgotten
            with pytest.raises(CheckpointError, match=words) as caught:
                checkpoint.read()
            assert len(str(caught.value).splitlines()) == 1

    def test_damage_is_told_by_info_as_before(self, copy: Path) -> None:
        with data_of(copy).open("r+b") as file:
            file.seek(50_000_000)
            file.write(b"damage")
        info, checkpoint = inspect_checkpoint(CheckpointSettings(str(copy)))
        assert checkpoint is None
        assert "wrong checksum" in str(info.problem)

    @pytest.mark.parametrize("fault", ["whole numbers", "no scale"])
    def test_what_types_tell_is_told_at_once(
        self, tmp_path: Path, seeded_variables: dict[str, Any], fault: str
    ) -> None:
        value = np.zeros(1024, np.int32) if fault == "whole numbers" else np.zeros(1024, np.int8)
        save_file({**seeded_variables, f"ssd_300_vgg/{NAME}": value}, tmp_path / "m.safetensors")
        words = {"whole numbers": "holds int32, expected floating", "no scale": r"biases/scale is missing"}[fault]
        with pytest.raises(CheckpointError, match=words):
            load(tmp_path / "m.safetensors")


class TestReading:
    def test_bit_for_bit_once_and_from_any_thread(self, bundle: Path, seeded_variables: dict[str, Any]) -> None:
        variables = load(bundle).variables
        with ThreadPoolExecutor(8) as pool:
            first, *others = pool.map(lambda _: variables[NAME], range(8))
        assert all(other is first for other in others)
        assert first.tobytes() == seeded_variables[f"ssd_300_vgg/{NAME}"].tobytes()
        assert all(v.tobytes() == seeded_variables[f"ssd_300_vgg/{n}"].tobytes() for n, v in variables.items())

    @pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="only Linux tells which files are open")
    @pytest.mark.parametrize("end", ["read", "dropped"])
    def test_the_file_is_closed_when_it_is_read_or_nobody_wants_it(
        self, bundle: Path, tmp_path: Path, end: str
    ) -> None:
        link = tmp_path / "m.ckpt"
        for suffix in (".index", ".data-00000-of-00001"):
            Path(f"{link}{suffix}").symlink_to(f"{bundle}{suffix}")
        checkpoint = load(link)
        if end == "read":
            checkpoint.read()
        else:
            del checkpoint
            gc.collect()
        assert not [path for path in open_files() if path.startswith(str(bundle))]

    @pytest.mark.parametrize("end", ["read", "damaged", "dropped"])
    def test_an_unpacked_zip_is_removed(
        self, bundle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, end: str
    ) -> None:
        monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
        (tmp_path / "temporary").mkdir()
        with zipfile.ZipFile(tmp_path / "m.zip", "w") as archive:
            archive.write(f"{bundle}.index", "m.ckpt.index")
            content = data_of(bundle).read_bytes()
            archive.writestr("m.ckpt.data-00000-of-00001", content[:-9] + bytes(9) if end == "damaged" else content)
        checkpoint = load(tmp_path / "m.zip")
        assert list((tmp_path / "temporary").iterdir())
        if end == "damaged":
            with pytest.raises(CheckpointError, match=r"m\.zip/?.*damaged") as caught:
                checkpoint.read()
            assert "temporary" not in str(caught.value)
        elif end == "read":
            checkpoint.read()
        else:
            del checkpoint
            gc.collect()
        assert not list((tmp_path / "temporary").iterdir())


def open_files() -> list[str]:
    paths = []
    for entry in Path("/proc/self/fd").iterdir():
        try:
            paths.append(str(entry.readlink()))
        except OSError:  # the one by which the folder was listed
            continue
    return paths
