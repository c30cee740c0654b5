"""Small files of every checkpoint format, whole and damaged, and some that try to run a program when they are opened.

They have the names of a network, but a handful of tensors only: every reader goes all the way through them, and loading
gets as far as the first tensor that is missing.
"""

import io
import os
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import save

from tests.torch_files import Calls, pickled, state_dict, write_legacy, write_zip

MARKER = "a-program-ran"
_ROOT = "ssd_300_vgg"
_SIDECAR = 'anchors = "voc300"\ncolour_order = "bgr"\nmean_rgb = [123.0, 117.0, 104.0]\n'


@dataclass(frozen=True)
class Sample:
    """One checkpoint.

    Args:
        files: name -> content.
        given: which of them is given to the program.
        damaged: which of them may be damaged.
        decoded_bytes: size of its numbers as float32, where that is more than what the files have.
    """

    files: dict[str, bytes]
    given: str
    damaged: tuple[str, ...]
    decoded_bytes: int = 0

    @classmethod
    def of_file(cls, name: str, content: bytes) -> "Sample":
        """A checkpoint of one file."""
        return cls({name: content}, name, (name,))

    @classmethod
    def of_folder(cls, folder: Path, given: str) -> "Sample":
        """Every file in a folder, each of which may be damaged."""
        files = {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}
        return cls(files, given, tuple(files))

    @property
    def bytes(self) -> int:
        """Size of all files together, or of what they decode to."""
        return max(self.decoded_bytes, sum(map(len, self.files.values())))

    def written_to(self, folder: Path) -> Path:
        """Write the files; where the one lies that is given to the program."""
        for name, content in self.files.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(content)
        return folder / self.given


def tensors(prefix: str, kernel: str, bias: str) -> dict[str, Any]:
    """A kernel, its bias and one more, under names made of these parts."""
    rng = np.random.default_rng(0)
    return {
        f"{prefix}{kernel}": rng.standard_normal((3, 3, 3, 8), np.float32),
        f"{prefix}{bias}": rng.standard_normal(8, np.float32),
        f"{prefix}other": np.arange(40, dtype=np.float32).reshape(5, 8),
    }


# ---------------------------------------------------------------------------------------------------- whole files


def whole_samples(folder: Path) -> dict[str, Sample]:
    """Kind -> a whole checkpoint of it; `folder` is for work. Imports TensorFlow."""
    ours = tensors(f"{_ROOT}/", "conv1/conv1_1/weights", "conv1/conv1_1/biases")
    lines = state_dict(tensors("", "vgg.0.weight", "vgg.0.bias"))
    caffe = caffemodel(tensors("", "conv1_1/0", "conv1_1/1"))
    return {
        **tensorflow_samples(folder, ours),
        "safetensors": Sample.of_file("m.safetensors", save(ours, {"anchors": "voc300", "resize": "legacy"})),
        "half safetensors": Sample.of_file("m.safetensors", save({k: v.astype("f2") for k, v in ours.items()})),
        "caffemodel": Sample.of_file("m.caffemodel", caffe),
        "caffemodel with sidecar": Sample(
            {"m.caffemodel": caffe, "m.caffemodel.toml": _SIDECAR.encode()}, "m.caffemodel", ("m.caffemodel.toml",)
        ),
        "pth zip": Sample.of_file("m.pth", write_zip(folder / "zip.pth", lines).read_bytes()),
        "pth legacy": Sample.of_file("m.pth", write_legacy(folder / "legacy.pth", lines).read_bytes()),
        **evil_samples(folder),
        "h5": Sample.of_file("m.h5", keras_weights(tensors("", "conv1_1/kernel", "conv1_1/bias"))),
    }


def tensorflow_samples(folder: Path, variables: dict[str, Any]) -> dict[str, Sample]:
    """Both generations of checkpoints, a zip, a SavedModel and a frozen graph, as TensorFlow itself writes them."""
    import tensorflow as tf

    tf.get_logger().setLevel("ERROR")  # what is old is what is wanted here
    v1 = tf.compat.v1
    with tf.Graph().as_default() as graph, v1.Session() as session:
        made = [v1.get_variable(name, initializer=values, use_resource=False) for name, values in variables.items()]
        made.append(v1.get_variable("global_step", initializer=np.int64(7), use_resource=False))
        session.run(v1.global_variables_initializer())
        for version in (v1.train.SaverDef.V1, v1.train.SaverDef.V2):
            (folder / str(version)).mkdir()
            saver = v1.train.Saver(made, write_version=version)
            saver.save(session, str(folder / str(version) / "m.ckpt"), write_meta_graph=False, write_state=False)
        builder = v1.saved_model.Builder(str(folder / "saved"))
        builder.add_meta_graph_and_variables(session, ["serve"])
        builder.save()
        frozen = v1.graph_util.convert_variables_to_constants(
            session, graph.as_graph_def(), [variable.op.name for variable in made]
        )
    bundle = Sample.of_folder(folder / str(v1.train.SaverDef.V2), "m.ckpt")
    return {
        "TF V1": Sample.of_folder(folder / str(v1.train.SaverDef.V1), "m.ckpt"),
        "TF V2": bundle,
        "TF V2 zip": Sample.of_file("m.zip", zipped(bundle.files)),
        "SavedModel": Sample.of_folder(folder / "saved", "."),
        "frozen graph": Sample.of_file("m.pb", frozen.SerializeToString(deterministic=True)),
    }


def zipped(files: dict[str, bytes]) -> bytes:
    """Stored without compression, so that damage meets the content; of no date, so that it is always the same."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in files.items():
            archive.writestr(zipfile.ZipInfo(name), content)
    return buffer.getvalue()


def caffemodel(blobs: dict[str, Any]) -> bytes:
    """A NetParameter: layers (field 100) of name (1), type (2) and blobs (7) of data (5) and shape (7)."""
    layers: dict[str, list[bytes]] = {}
    for name, values in blobs.items():
        shape = _field(7, _field(1, b"".join(map(_varint, values.shape))))
        layers.setdefault(name.split("/")[0], []).append(_field(7, shape + _field(5, values.tobytes())))
    written = [
        _field(100, _field(1, name.encode()) + _field(2, b"Convolution") + b"".join(of_layer))
        for name, of_layer in layers.items()
    ]
    return _field(1, b"VGG_VOC0712_SSD_300x300_deploy") + b"".join(written)


def _field(number: int, content: bytes) -> bytes:
    return _varint(number << 3 | 2) + _varint(len(content)) + content


def _varint(value: int) -> bytes:
    written = bytearray()
    while value > 0x7F:
        written.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*written, value])


def keras_weights(datasets: dict[str, Any]) -> bytes:
    """What Keras 2's `save_weights` writes: a group a layer, with its tensors named in attributes."""
    import h5py

    buffer = io.BytesIO()
    with h5py.File(buffer, "w") as file:
        layers = sorted({name.split("/")[0] for name in datasets})
        file.attrs["layer_names"] = [layer.encode() for layer in layers]
        file.attrs["backend"], file.attrs["keras_version"] = b"tensorflow", b"2.1.5"
        for layer in layers:
            group = file.create_group(layer)
            names = [name for name in datasets if name.split("/")[0] == layer]
            group.attrs["weight_names"] = [f"{name}:0".encode() for name in names]
            for name in names:
                group.create_dataset(f"{name}:0", data=datasets[name])
    return buffer.getvalue()


def evil_samples(folder: Path) -> dict[str, Sample]:
    """PyTorch files that make a file named `MARKER` in the working folder, if anybody runs them."""
    written = {}
    for name, call in (
        ("function", Calls(os.system, (f"touch {MARKER}",))),
        ("code", Calls(eval, (f"open({MARKER!r}, 'w')",))),
    ):
        dictionary = state_dict({"vgg.0.bias": np.zeros(8, np.float32)})
        dictionary["vgg.0.weight"] = call
        for protocol, suffix in ((0, "pkl"), (2, "pth"), (4, "pth")):
            path = folder / f"{name}{protocol}"
            write = {0: _write_bare, 2: write_legacy, 4: write_zip}[protocol]
            content = write(path, dictionary, protocol).read_bytes()
            written[f"evil {name}, protocol {protocol}"] = Sample.of_file(f"m.{suffix}", content)
    return written


def _write_bare(path: Path, value: Any, protocol: int) -> Path:
    path.write_bytes(pickled(value, protocol)[0])
    return path
