"""Finding and reading checkpoints: every way to name one, and every way to be wrong."""

import hashlib
import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors import safe_open
from safetensors.numpy import save_file

from ssd_detect.classes import COCO80, COCO91, VOC20
from ssd_detect.conventions import ResizeRule, Source
from ssd_detect.errors import CheckpointError, SettingError
from ssd_detect.model.checkpoint import load_checkpoint
from ssd_detect.model.facts import Origin
from ssd_detect.model.locate import locate
from ssd_detect.model.manifest import checkpoints_folder, manifest
from ssd_detect.model.spec import variable_shapes
from ssd_detect.settings import CheckpointSettings
from tests.ssd_names import numbered_weights, ssd_pytorch_tensors
from tests.tensorflow_files import (
    write_by_saver,
    write_frozen,
    write_saved_model_v1,
    write_saved_model_v2,
    write_v2,
)

SHIPPED = "ssd_300_vgg_voc.int8.safetensors"


def load(given: object, **extra: Any) -> Any:
    return load_checkpoint(CheckpointSettings(str(given), **extra))


@pytest.fixture(scope="module")
def prefix(seeded_checkpoint: Callable[[int], Path]) -> Path:
    return seeded_checkpoint(300)


def link_checkpoint(prefix: Path, target: Path) -> Path:
    """The same checkpoint under another prefix."""
    target.parent.mkdir(parents=True, exist_ok=True)
    for suffix in (".index", ".data-00000-of-00001"):
        target.with_name(target.name + suffix).symlink_to(prefix.with_name(prefix.name + suffix))
    return target


class TestManifest:
    def test_every_entry_is_whole(self) -> None:
        shipped = [entry for entry in manifest().values() if entry.whereabouts() == "shipped"]
        assert [entry.name for entry in shipped] == ["ssd_300_vgg_voc"]
        for entry in shipped:
            assert hashlib.sha256(entry.file.read_bytes()).hexdigest() == entry.sha256

    def test_shipped_checkpoint(self) -> None:
        checkpoint = load("ssd_300_vgg_voc")
        assert (checkpoint.name, checkpoint.assumed) == ("ssd_300_vgg_voc", ())
        assert checkpoint.spec.class_names == VOC20
        assert (checkpoint.spec.size, checkpoint.spec.anchors) == (300, "coco300")
        assert checkpoint.spec.resize is ResizeRule.ANTIALIAS
        assert {n: v.shape for n, v in checkpoint.variables.items()} == variable_shapes(300, 21)

    def test_kernels_are_int8_times_scale(self) -> None:
        name = "block9/conv3x3/weights"
        with safe_open(checkpoints_folder() / SHIPPED, framework="numpy") as file:
            stored = file.get_tensor(f"ssd_300_vgg/{name}")
            scales = file.get_tensor(f"ssd_300_vgg/{name}/scale")
        assert stored.dtype == np.int8
        expected = stored.astype(np.float64) * scales
        np.testing.assert_allclose(load("ssd_300_vgg_voc").variables[name], expected, rtol=1e-6)

    def test_a_copy_of_it_is_recognised_by_its_hash(self, tmp_path: Path) -> None:
        copy = shutil.copy(checkpoints_folder() / SHIPPED, tmp_path / "mine.safetensors")
        checkpoint = load(copy)
        assert (checkpoint.name, checkpoint.assumed) == ("ssd_300_vgg_voc", ())


class TestFinding:
    @pytest.mark.parametrize("suffix", ["", ".index", ".data-00000-of-00001", ".meta"])
    def test_prefix_and_each_of_its_files(self, prefix: Path, suffix: str) -> None:
        assert locate(f"{prefix}{suffix}").path == prefix

    @pytest.mark.parametrize("inner", [".", "ssd_300_vgg.ckpt", "a/ssd_300_vgg.ckpt"])
    def test_folder_and_doubled_folder(self, prefix: Path, tmp_path: Path, inner: str) -> None:
        link_checkpoint(prefix, tmp_path / inner / "ssd_300_vgg.ckpt")
        assert locate(str(tmp_path)).path == tmp_path / inner / "ssd_300_vgg.ckpt"

    def test_prefix_that_is_also_the_folders_name(self, prefix: Path, tmp_path: Path) -> None:
        link_checkpoint(prefix, tmp_path / "ssd_300_vgg.ckpt" / "ssd_300_vgg.ckpt")
        assert locate(str(tmp_path / "ssd_300_vgg.ckpt")).kind == "tensorflow"

    def test_the_latest_of_several_in_a_training_folder(self, prefix: Path, tmp_path: Path) -> None:
        for step in (1, 2, 3):
            link_checkpoint(prefix, tmp_path / f"model.ckpt-{step}")
        with pytest.raises(CheckpointError, match=r"holds 3 checkpoints \(model.ckpt-1.index.*name the one to use"):
            locate(str(tmp_path))
        (tmp_path / "checkpoint").write_text('model_checkpoint_path: "/gone/model.ckpt-2"\n')
        assert locate(str(tmp_path)).path.name == "model.ckpt-2"

    @pytest.mark.slow
    def test_released_zip_gives_the_same_weights(self, prefix: Path, tmp_path: Path) -> None:
        archive = tmp_path / "ssd_300_vgg.ckpt.zip"
        with zipfile.ZipFile(archive, "w") as file:
            file.writestr("__MACOSX/._ssd_300_vgg.ckpt.index", b"junk")
            for suffix in (".index", ".data-00000-of-00001"):
                file.write(f"{prefix}{suffix}", f"ssd_300_vgg.ckpt/ssd_300_vgg.ckpt{suffix}")
        expected, actual = load(prefix).variables, load(archive).variables
        for name, values in expected.items():
            np.testing.assert_array_equal(actual[name], values)

    @pytest.mark.parametrize("folder", ["a b", "фото ñ 测试", "models [v2]", "what?*", "it's"])
    def test_odd_paths(self, prefix: Path, tmp_path: Path, folder: str) -> None:
        assert load(link_checkpoint(prefix, tmp_path / folder / "m.ckpt")).name == "m.ckpt"

    def test_path_that_is_not_utf8(self, prefix: Path, tmp_path: Path) -> None:
        assert load(link_checkpoint(prefix, tmp_path / "caf\udce9" / "m.ckpt")).spec.size == 300


class TestEveryKind:
    """Seeded SSD300 weights in each kind of file that TensorFlow writes."""

    @pytest.mark.parametrize(
        ("write", "container"),
        [
            (lambda folder, v: write_v2(folder / "m.ckpt", v, shards=2), "TensorFlow V2 checkpoint"),
            (lambda folder, v: write_by_saver(folder / "m.ckpt", v, 1), "TensorFlow V1 checkpoint"),
            pytest.param(
                lambda folder, v: write_by_saver(folder / "m.ckpt", v, 1, pieces=3),
                "TensorFlow V1 checkpoint",
                marks=pytest.mark.slow,
            ),
            (lambda folder, v: write_frozen(folder / "m.pb", v, prefix="import/"), "TensorFlow frozen graph"),
            (lambda folder, v: write_saved_model_v1(folder / "m", v), "TensorFlow SavedModel"),
            (lambda folder, v: write_saved_model_v2(folder / "m", v), "TensorFlow SavedModel"),
        ],
        ids=["V2 in shards", "V1", "V1 in pieces", "frozen", "SavedModel", "SavedModel 2"],
    )
    def test_bit_for_bit(self, tmp_path: Path, seeded_variables: dict[str, Any], write: Any, container: str) -> None:
        checkpoint = load(write(tmp_path, seeded_variables))
        assert checkpoint.container == container
        assert same_weights(checkpoint, seeded_variables)

    def test_two_bytes_a_number(self, tmp_path: Path, seeded_variables: dict[str, Any]) -> None:
        halves = {name: values.astype(np.float16) for name, values in seeded_variables.items()}
        checkpoint = load(write_v2(tmp_path / "m.ckpt", halves))
        assert same_weights(checkpoint, {name: values.astype(np.float32) for name, values in halves.items()})

    def test_a_folder_of_a_folder_of_a_saved_model(self, tmp_path: Path, seeded_variables: dict[str, Any]) -> None:
        write_saved_model_v1(tmp_path / "export" / "1", seeded_variables)
        found = locate(str(tmp_path / "export"))
        assert (found.kind, found.path) == ("saved-model", tmp_path / "export" / "1")
        assert [f.name for f in found.files] == [
            "saved_model.pb",
            "variables.index",
            "variables.data-00000-of-00001",
        ]
        assert locate(str(found.files[0])) == found

    def test_tensorflow_is_not_imported(self, prefix: Path) -> None:
        script = (
            "import sys; from ssd_detect.model.checkpoint import load_checkpoint; "
            "from ssd_detect.settings import CheckpointSettings; "
            "[load_checkpoint(CheckpointSettings(given)) for given in sys.argv[1:]]; "
            "sys.exit('tensorflow' in sys.modules)"
        )
        subprocess.run([sys.executable, "-c", script, "ssd_300_vgg_voc", str(prefix)], check=True)


def same_weights(checkpoint: Any, variables: dict[str, Any]) -> bool:
    """Whether all are there, bit for bit."""
    expected = {name.removeprefix("ssd_300_vgg/"): values for name, values in variables.items()}
    found = checkpoint.variables
    return found.keys() == expected.keys() and all(
        found[n].dtype == np.float32 and found[n].flags.c_contiguous and found[n].tobytes() == v.tobytes()
        for n, v in expected.items()
    )


class TestFaults:
    @pytest.mark.parametrize(
        ("name", "content", "message"),
        [
            (
                "notes.txt",
                b"hello\n",
                r"is no checkpoint \(a text file\); expected a name \(ssd-detect checkpoints list",
            ),
            ("empty.ckpt", b"", "an empty file"),
            ("other.bin", b"\0\1\2" * 50, "a file of 150 bytes in another format"),
            ("fake.safetensors", b"\x10" + bytes(7) + b"{ no JSON at all}", "damaged or no checkpoint at all"),
            ("fake.zip", b"PK\x05\x06" + b"\0" * 18, "holds 0 checkpoints"),
        ],
    )
    def test_other_files(self, tmp_path: Path, name: str, content: bytes, message: str) -> None:
        (tmp_path / name).write_bytes(content)
        with pytest.raises(CheckpointError, match=message):
            load(tmp_path / name)

    def test_nothing_there(self, tmp_path: Path) -> None:
        with pytest.raises(CheckpointError, match=r"gone\.ckpt: no such checkpoint; expected a name"):
            load(tmp_path / "gone.ckpt")

    @pytest.mark.skipif(sys.platform == "win32", reason="no such pipes there")
    def test_no_regular_file(self, tmp_path: Path) -> None:
        """Reading one may take for ever."""
        os.mkfifo(tmp_path / "m.pth")
        (tmp_path / "m.ckpt.index").write_bytes(b"x")
        os.mkfifo(tmp_path / "m.ckpt.data-00000-of-00001")
        for given, words in (("m.pth", "m.pth: is a pipe"), ("m.ckpt", "data-00000-of-00001: is a pipe")):
            with pytest.raises(CheckpointError, match=f"{words}, expected a file"):
                load(tmp_path / given)
        with pytest.raises(CheckpointError, match="/dev/null: is a device, expected a file"):
            load(Path("/dev/null"))

    @pytest.mark.skipif(sys.platform == "win32", reason="such a name is looked for in another way there")
    def test_name_that_is_too_long(self) -> None:
        with pytest.raises(
            CheckpointError, match=r"aaa: (cannot read the checkpoint: File name too|no such checkpoint)"
        ):
            load("a" * 300)

    def test_folder_without(self, tmp_path: Path) -> None:
        with pytest.raises(CheckpointError, match="a folder without a checkpoint"):
            load(tmp_path)

    def test_data_missing(self, prefix: Path, tmp_path: Path) -> None:
        shutil.copy(f"{prefix}.index", tmp_path / "m.ckpt.index")
        with pytest.raises(CheckpointError, match=r"m\.ckpt\.data-00000-of-00001 is missing; both are needed"):
            load(tmp_path / "m.ckpt")

    def test_index_missing(self, tmp_path: Path) -> None:
        (tmp_path / "m.ckpt.data-00000-of-00001").write_bytes(b"x")
        with pytest.raises(CheckpointError, match=r"m\.ckpt\.index is missing; both are needed"):
            load(tmp_path / "m.ckpt")

    def test_a_shard_missing(self, tmp_path: Path) -> None:
        (tmp_path / "m.ckpt.index").write_bytes(b"x")
        (tmp_path / "m.ckpt.data-00000-of-00002").write_bytes(b"x")
        with pytest.raises(CheckpointError, match="1 of its 2 data files is missing"):
            load(tmp_path / "m.ckpt")

    @pytest.mark.parametrize("damage", ["empty", "cut", "noise"])
    def test_damaged_index(self, prefix: Path, tmp_path: Path, damage: str) -> None:
        whole = Path(f"{prefix}.index").read_bytes()
        link_checkpoint(prefix, tmp_path / "m.ckpt")
        index = tmp_path / "m.ckpt.index"
        index.unlink()
        index.write_bytes({"empty": b"", "cut": whole[: len(whole) // 2], "noise": bytes(len(whole))}[damage])
        with pytest.raises(CheckpointError, match="is empty" if damage == "empty" else "damaged or no checkpoint"):
            load(tmp_path / "m.ckpt")

    def test_damaged_data(self, tmp_path: Path, seeded_variables: dict[str, Any]) -> None:
        path = write_v2(tmp_path / "m.ckpt", seeded_variables)
        with Path(f"{path}.data-00000-of-00001").open("r+b") as file:
            file.seek(50_000_000)
            file.write(b"damage")
        with pytest.raises(CheckpointError, match="damaged or no checkpoint"):
            load(path).read()

    def test_cut_off_data(self, prefix: Path, tmp_path: Path) -> None:
        """A download that broke off."""
        shutil.copy(f"{prefix}.index", tmp_path / "m.ckpt.index")
        with Path(f"{prefix}.data-00000-of-00001").open("rb") as file:
            (tmp_path / "m.ckpt.data-00000-of-00001").write_bytes(file.read(1_000_000))
        with pytest.raises(CheckpointError, match="damaged or no checkpoint"):
            load(tmp_path / "m.ckpt").read()

    def test_damaged_zip(self, prefix: Path, tmp_path: Path) -> None:
        archive = tmp_path / "m.zip"
        with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as file:
            file.write(f"{prefix}.index", "m.ckpt.index")
            file.writestr("m.ckpt.data-00000-of-00001", bytes(10_000))
        content = bytearray(archive.read_bytes())
        content[60:200] = bytes(140)
        archive.write_bytes(content)
        with pytest.raises(CheckpointError, match="cannot unpack this zip"):
            load(archive)

    def test_another_network(self, tmp_path: Path) -> None:
        path = write_v2(tmp_path / "m.ckpt", {"own/conv/kernel": np.zeros(3, np.float32)})
        with pytest.raises(
            CheckpointError, match=r"of another network.*it holds 1 tensor, for example own/conv/kernel"
        ):
            load(path)


class TestVariables:
    def small(self, seeded_variables: dict[str, Any], **changes: Any) -> dict[str, Any]:
        """Seeded variables under full names; a change of None leaves one out."""
        variables = seeded_variables | {f"ssd_300_vgg/{name}": value for name, value in changes.items()}
        return {name: value for name, value in variables.items() if value is not None}

    def test_missing_and_misshapen_are_named(self, tmp_path: Path, seeded_variables: dict[str, Any]) -> None:
        variables = self.small(
            seeded_variables, **{"conv6/biases": None, "block9/conv1x1/biases": np.zeros(64, np.float32)}
        )
        save_file(variables, tmp_path / "m.safetensors")
        message = r"ssd_300_vgg/conv6/biases is missing, expected shape \(1024,\) \(and 1 more"
        with pytest.raises(CheckpointError, match=message):
            load(tmp_path / "m.safetensors")
        save_file(variables | {"ssd_300_vgg/conv6/biases": np.zeros(1024, np.float32)}, tmp_path / "m.safetensors")
        message = r"block9/conv1x1/biases has shape \(64,\), expected \(128,\)"
        with pytest.raises(CheckpointError, match=message):
            load(tmp_path / "m.safetensors")

    def test_optimiser_slots_are_ignored_and_any_root_is_taken(
        self, tmp_path: Path, seeded_variables: dict[str, Any]
    ) -> None:
        renamed = {name.replace("ssd_300_vgg", "mine/net"): value for name, value in seeded_variables.items()}
        extra = {"mine/net/conv6/biases/Momentum": np.zeros(1024, np.float32), "global_step": np.array(7)}
        extra |= {"mine/net/conv1/conv1_1/weights/Adam": np.zeros(2, np.float32), "beta1_power": np.float32(0.9)}
        checkpoint = load(write_v2(tmp_path / "m.ckpt", renamed | extra))
        np.testing.assert_array_equal(
            checkpoint.variables["conv6/biases"], seeded_variables["ssd_300_vgg/conv6/biases"]
        )
        assert set(checkpoint.variables) == set(variable_shapes(300, 21))
        assert (checkpoint.step, checkpoint.extra) == (7, tuple(sorted(extra)))

    def test_undefined_numbers(self, tmp_path: Path, seeded_variables: dict[str, Any]) -> None:
        bad = np.zeros(1024, np.float32)
        bad[3] = np.nan
        save_file(self.small(seeded_variables, **{"conv6/biases": bad}), tmp_path / "m.safetensors")
        with pytest.raises(CheckpointError, match="ssd_300_vgg/conv6/biases holds infinite or undefined numbers"):
            load(tmp_path / "m.safetensors").read()

    def test_nothing_but_zeros(self, tmp_path: Path, seeded_variables: dict[str, Any]) -> None:
        """As in a file that was to be filled by a download; biases may be 0."""
        empty = {
            name: np.zeros_like(seeded_variables[f"ssd_300_vgg/{name}"]) for name in ("conv6/weights", "conv6/biases")
        }
        save_file(self.small(seeded_variables, **empty), tmp_path / "m.safetensors")
        with pytest.raises(CheckpointError, match="conv6/weights holds nothing but zeros: damaged, or a download that"):
            load(tmp_path / "m.safetensors").read()
        del empty["conv6/weights"]
        save_file(self.small(seeded_variables, **empty), tmp_path / "m.safetensors")
        load(tmp_path / "m.safetensors").read()

    def test_a_file_too_large(self, tmp_path: Path) -> None:
        path = tmp_path / "m.safetensors"
        with path.open("wb") as file:
            file.write((2).to_bytes(8, "little") + b"{}")
            file.truncate(300 * 10**9)  # takes no room
        with pytest.raises(CheckpointError, match=r"m.safetensors: has 300.0 GB, expected 4 at most of an SSD$"):
            load(path)

    def test_int8_without_scale(self, tmp_path: Path, seeded_variables: dict[str, Any]) -> None:
        kernel = np.zeros((1, 1, 1024, 1024), np.int8)
        save_file(self.small(seeded_variables, **{"conv7/weights": kernel}), tmp_path / "m.safetensors")
        with pytest.raises(CheckpointError, match=r"conv7/weights/scale is missing, expected shape \(1024,\)"):
            load(tmp_path / "m.safetensors")

    def test_int8_in_the_layout_of_another_source(self, tmp_path: Path) -> None:
        """Scales belong to output channels, which are the first axis there."""
        tensors = ssd_pytorch_tensors(numbered_weights(300, 2))
        kernel, scales = "vgg.0.weight", "vgg.0.weight/scale"
        whole = tensors[kernel].astype(np.float32)
        values = {**tensors, kernel: np.ones(whole.shape, np.int8), scales: np.arange(64, dtype=np.float32)}
        save_file(values, tmp_path / "m.safetensors")
        first = load(tmp_path / "m.safetensors").variables["conv1/conv1_1/weights"]
        np.testing.assert_array_equal(first, np.broadcast_to(values[scales], (3, 3, 3, 64)))
        save_file({**values, scales: np.ones(3, np.float32)}, tmp_path / "m.safetensors")
        with pytest.raises(CheckpointError, match=r"weight/scale has shape \(3,\), expected shape \(64,\)"):
            load(tmp_path / "m.safetensors")

    def test_two_networks(self, tmp_path: Path, seeded_variables: dict[str, Any]) -> None:
        second = {"other/conv1/conv1_1/weights": np.zeros(1, np.float32)}
        save_file(seeded_variables | second, tmp_path / "m.safetensors")
        with pytest.raises(CheckpointError, match="holds several networks"):
            load(tmp_path / "m.safetensors")


class TestAssumptions:
    def variables(self, seeded_variables: dict[str, Any], num_classes: int) -> dict[str, Any]:
        shapes = variable_shapes(300, num_classes)
        heads = {f"ssd_300_vgg/{n}": np.zeros(s, np.float32) for n, s in shapes.items() if "conv_cls" in n}
        return seeded_variables | heads

    def test_reference_checkpoint_is_taken_as_the_reference_takes_it(self, prefix: Path) -> None:
        checkpoint = load(prefix)
        assert checkpoint.spec.class_names == VOC20
        assert (checkpoint.spec.anchors, checkpoint.spec.resize) == ("coco300", ResizeRule.LEGACY)
        assert checkpoint.assumed == ("anchors coco300 (--anchors)",)
        assert (checkpoint.source, checkpoint.step) == (Source.TENSORFLOW, 120000)
        assert checkpoint.origins["anchors"] is Origin.ASSUMED
        assert checkpoint.origins["resize"] is Origin.HABIT

    @pytest.mark.parametrize(("count", "names"), [(81, COCO80), (91, COCO91)])
    def test_coco(self, tmp_path: Path, seeded_variables: dict[str, Any], count: int, names: tuple[str, ...]) -> None:
        save_file(self.variables(seeded_variables, count), tmp_path / "m.safetensors")
        assert load(tmp_path / "m.safetensors").spec.class_names == names

    @pytest.mark.parametrize("count", [2, 4, 26])
    def test_own_classes(self, tmp_path: Path, seeded_variables: dict[str, Any], count: int) -> None:
        save_file(self.variables(seeded_variables, count), tmp_path / "m.safetensors")
        checkpoint = load(tmp_path / "m.safetensors")
        names = checkpoint.spec.class_names
        assert (len(names), names[1]) == (count, "class 1")
        words = "class 1, …" if count == 2 else "class 1, class 2, …"
        assert set(checkpoint.assumed) == {"anchors coco300 (--anchors)", f"class names {words} (--classes-file)"}
        own = ("background", *(f"thing {i}" for i in range(1, count)))
        checkpoint = load(tmp_path / "m.safetensors", class_names=own, anchors="voc300")
        assert checkpoint.spec.class_names == own
        assert checkpoint.assumed == ()
        assert checkpoint.origins["anchors"] is checkpoint.origins["class_names"] is Origin.OPTION
        with pytest.raises(SettingError, match=rf"has {count - 1} class(es)? \(without the background\), .* has 20"):
            load(tmp_path / "m.safetensors", class_names=VOC20)

    def test_metadata_of_our_own_files_is_believed(self, tmp_path: Path, seeded_variables: dict[str, Any]) -> None:
        metadata = {"anchors": "voc300", "resize": "half_pixel", "mean_rgb": "1,2.5,3", "classes": "voc20"}
        save_file(seeded_variables, tmp_path / "m.safetensors", metadata)
        checkpoint = load(tmp_path / "m.safetensors")
        assert (checkpoint.spec.anchors, checkpoint.spec.resize) == ("voc300", ResizeRule.HALF_PIXEL)
        assert (checkpoint.spec.mean_rgb, checkpoint.assumed) == ((1.0, 2.5, 3.0), ())
        assert checkpoint.origins["mean_rgb"] is Origin.METADATA

    def test_anchors_of_the_other_size(self, prefix: Path) -> None:
        with pytest.raises(SettingError, match=r"anchor preset coco512 does not fit.*SSD300"):
            load(prefix, anchors="coco512")
