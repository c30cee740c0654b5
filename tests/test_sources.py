"""Files of every framework through the one door: told by content, checked before they are read, exact, and cheap."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import save_file

from ssd_detect.classes import COCO80, COCO91, VOC20
from ssd_detect.conventions import ColourOrder, Profile, Source
from ssd_detect.errors import CheckpointError, SettingError
from ssd_detect.model.checkpoint import Checkpoint, load_checkpoint
from ssd_detect.model.facts import Origin
from ssd_detect.model.spec import variable_shapes
from ssd_detect.settings import CheckpointSettings
from tests.caffe_files import write_caffe
from tests.keras_files import write_keras
from tests.ssd_names import (
    caffe_tensors,
    keras_tensors,
    seeded_weights,
    ssd_pytorch_tensors,
    torchvision_tensors,
)
from tests.tensorflow_files import write_frozen, write_v2
from tests.torch_files import state_dict, write_zip


def load(path: Path, **options: Any) -> Checkpoint:
    return load_checkpoint(CheckpointSettings(str(path), **options))


def exact(checkpoint: Checkpoint, weights: dict[str, Any]) -> bool:
    return checkpoint.variables.keys() == weights.keys() and all(
        checkpoint.variables[name].tobytes() == values.tobytes() for name, values in weights.items()
    )


class TestSources:
    """The names of the files tell nothing."""

    def test_caffe(self, tmp_path: Path) -> None:
        weights = seeded_weights(512, 21)
        checkpoint = load(write_caffe(tmp_path / "m", caffe_tensors(weights, 512)))
        assert exact(checkpoint, weights)
        assert (checkpoint.source, checkpoint.container) == (Source.CAFFE, "Caffe model")
        assert (checkpoint.colour_order, checkpoint.spec.profile) == (ColourOrder.BGR, Profile.CAFFE)
        assert (checkpoint.assumed, checkpoint.extra) == (("anchors voc512 (--anchors)",), ())

    def test_keras(self, tmp_path: Path) -> None:
        weights = seeded_weights(300, 81)
        checkpoint = load(write_keras(tmp_path / "m", keras_tensors(weights, 300)))
        assert exact(checkpoint, weights)
        assert (checkpoint.source, checkpoint.spec.class_names) == (Source.KERAS, COCO80)
        assert checkpoint.assumed == ()

    def test_ssd_pytorch(self, tmp_path: Path) -> None:
        weights = seeded_weights(300, 21)
        checkpoint = load(write_zip(tmp_path / "m", state_dict(ssd_pytorch_tensors(weights))))
        assert exact(checkpoint, weights)
        assert checkpoint.assumed == ("colour order rgb (--colour-order)",)
        path = write_zip(tmp_path / "bgr", state_dict(ssd_pytorch_tensors(weights, bgr=True)))
        checkpoint = load(path, colour_order=ColourOrder.BGR)
        assert exact(checkpoint, weights)
        assert (checkpoint.assumed, checkpoint.origins["colour_order"]) == ((), Origin.OPTION)

    def test_torchvision(self, tmp_path: Path) -> None:
        weights = seeded_weights(300, 91)
        checkpoint = load(write_zip(tmp_path / "m", state_dict(torchvision_tensors(weights))))
        assert exact(checkpoint, weights)
        assert (checkpoint.spec.class_names, checkpoint.assumed) == (COCO91, ())
        cut = load(tmp_path / "m", class_list="voc20")
        assert cut.spec.class_names == VOC20
        assert {n: v.shape for n, v in cut.variables.items()} == variable_shapes(300, 21)
        with pytest.raises(SettingError, match="class list is 'voc', expected one of"):
            load(tmp_path / "m", class_list="voc")

    def test_other_names_in_safetensors(self, tmp_path: Path) -> None:
        """PyTorch's tensors are kept in such files too."""
        weights = seeded_weights(300, 91)
        tensors = {name: np.ascontiguousarray(values) for name, values in torchvision_tensors(weights).items()}
        save_file(tensors, tmp_path / "m", {"format": "pt"})
        checkpoint = load(tmp_path / "m")
        assert exact(checkpoint, weights)
        assert checkpoint.source is Source.TORCHVISION


class TestFaults:
    def test_the_native_name_and_shape_are_told(self, tmp_path: Path) -> None:
        tensors = ssd_pytorch_tensors(seeded_weights(300, 21))
        tensors["extras.3.weight"] = np.zeros((256, 128, 1, 1), np.float32)
        with pytest.raises(
            CheckpointError,
            match=r"variable extras\.3\.weight has shape \(256, 128, 1, 1\), expected \(256, 128, 3, 3\)",
        ):
            load(write_zip(tmp_path / "m", state_dict(tensors)))

    @pytest.mark.parametrize(
        ("tensors", "message"),
        [
            ({"vgg_16/conv1/conv1_1/weights": (3, 3, 3, 64), "vgg_16/fc8/weights": (1,)}, "VGG16 for classification"),
            ({"conv1_1/weights": (1,), "x/conv1/conv1_1/weights": (1,)}, "conv_cls/biases is missing"),
            ({"a/conv1/conv1_1/weights": (1,), "b/conv1/conv1_1/weights": (1,)}, "holds several networks"),
            ({}, "it holds 0 tensors, none at all"),
        ],
    )
    def test_other_networks(self, tmp_path: Path, tensors: dict[str, tuple[int, ...]], message: str) -> None:
        save_file({name: np.zeros(shape, np.float32) for name, shape in tensors.items()}, tmp_path / "m")
        with pytest.raises(CheckpointError, match=message) as caught:
            load(tmp_path / "m")
        assert str(caught.value).startswith(f"{tmp_path / 'm'}: ")
        assert len(str(caught.value).splitlines()) == 1

    def test_numbers_too_large_for_float32(self, tmp_path: Path, seeded_variables: dict[str, Any]) -> None:
        large = {"ssd_300_vgg/conv6/biases": np.full(1024, 1e300)}
        save_file(seeded_variables | large, tmp_path / "m")
        with pytest.raises(CheckpointError, match="conv6/biases holds infinite or undefined numbers"):
            load(tmp_path / "m").read()

    def test_whole_numbers(self, tmp_path: Path, seeded_variables: dict[str, Any]) -> None:
        save_file(seeded_variables | {"ssd_300_vgg/conv6/biases": np.zeros(1024, np.int32)}, tmp_path / "m")
        with pytest.raises(CheckpointError, match="conv6/biases holds int32, expected floating-point numbers"):
            load(tmp_path / "m")


# Mapped files are not counted: the system takes their pages back when it needs them.
_LIMITED = """
import re, resource, sys
from pathlib import Path
from ssd_detect.model.checkpoint import load_checkpoint
from ssd_detect.settings import CheckpointSettings
import ssd_detect.model.readers.caffe, ssd_detect.model.readers.safetensors_file
before = int(re.search(r"VmData:\\s*(\\d+) kB", Path("/proc/self/status").read_text()).group(1)) * 1024
resource.setrlimit(resource.RLIMIT_DATA, (before + int(sys.argv[2]),) * 2)
load_checkpoint(CheckpointSettings(sys.argv[1])).read()
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="only Linux limits it so")
@pytest.mark.slow
@pytest.mark.parametrize("kind", ["V2", "frozen", "frozen halves", "Caffe", "safetensors"])
def test_memory_stays_below_twice_the_honest_size(tmp_path: Path, seeded_variables: dict[str, Any], kind: str) -> None:
    """The size of the float32 weights, 105 MB; with half of that, it cannot be done."""
    weights = {name.removeprefix("ssd_300_vgg/"): values for name, values in seeded_variables.items()}
    write: dict[str, Callable[[Path], object]] = {
        "V2": lambda path: write_v2(path, seeded_variables),
        "frozen": lambda path: write_frozen(path, seeded_variables),
        "frozen halves": lambda path: write_frozen(
            path, {name: values.astype(np.float16) for name, values in seeded_variables.items()}
        ),
        "Caffe": lambda path: write_caffe(path, caffe_tensors(weights, 300)),
        "safetensors": lambda path: save_file(seeded_variables, path),
    }
    write[kind](tmp_path / "m")
    honest_size = sum(values.nbytes for values in seeded_variables.values())
    subprocess.run([sys.executable, "-c", _LIMITED, tmp_path / "m", str(2 * honest_size)], check=True)
    too_little = [sys.executable, "-c", _LIMITED, str(tmp_path / "m"), str(honest_size // 2)]
    assert subprocess.run(too_little, capture_output=True).returncode != 0
