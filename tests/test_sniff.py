"""What a file is, told by its content whatever its name; what is no checkpoint is said precisely."""

import io
import pickle
import time
import zipfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from safetensors.numpy import save
from tensorflow.core.protobuf.meta_graph_pb2 import MetaGraphDef

from ssd_detect.errors import CheckpointError
from ssd_detect.model.locate import locate
from ssd_detect.model.readers.sniff import sniff
from tests.tensorflow_files import frozen_graph, write_by_saver, write_saved_model_v1

WEIGHTS = {"a/weights": np.ones((2, 3), np.float32)}


def field(number: int, content: bytes | int) -> bytes:
    """A field of a protocol buffer; numbers and lengths below 128 and contents of any length."""
    if isinstance(content, int):
        return bytes([number << 3, content])
    key, size = number << 3 | 2, len(content)
    return b"".join(bytes([v & 0x7F | 0x80, v >> 7]) for v in (key, size)) + content


def zipped(*names: str) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name in names:
            archive.writestr(name, b"x")
    return file.getvalue()


LAYER = field(100, field(1, b"conv1_1") + field(2, b"Convolution"))
CAFFE = field(1, b"VGG_VOC0712_SSD_300x300_train") + LAYER + LAYER
CAFFE_V1 = field(1, b"VGG_ILSVRC_16_layers") + field(2, field(4, b"conv1_1"))
LEGACY_TORCH = pickle.dumps(0x1950A86A20F9469CFC6C, protocol=2) + pickle.dumps(1001, protocol=2)

KINDS: dict[str, tuple[str, bytes]] = {
    "safetensors": ("safetensors", save(WEIGHTS)),
    "frozen graph": ("frozen-graph", frozen_graph(WEIGHTS).SerializeToString()),
    "Caffe": ("caffe", CAFFE),
    "Caffe, old": ("caffe", CAFFE_V1),
    "Caffe without a name": ("caffe", CAFFE[CAFFE.index(b"train") + 5 :]),
    "HDF5": ("keras", b"\x89HDF\r\n\x1a\n" + bytes(100)),
    "Keras 3": ("keras", zipped("metadata.json", "config.json", "model.weights.h5")),
    "PyTorch": ("pytorch", zipped("archive/data.pkl", "archive/version", "archive/data/0")),
    "PyTorch before 1.6": ("pytorch", LEGACY_TORCH),
    "zip": ("zip", zipped("m.ckpt.index", "m.ckpt.data-00000-of-00001")),
}

OTHERS: dict[str, tuple[str, bytes]] = {
    "HTML": ("an HTML page, saved in place of a download", b"\n<!DOCTYPE html>\n<html><title>Sign in</title>"),
    "HTML, bare": ("an HTML page", "<HTML><body>zu groß für die Prüfung</body>".encode("latin-1")),
    "Git LFS": ("a Git LFS pointer.*git lfs pull", b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\n"),
    "meta": (
        r"TensorFlow's description of a graph \(.meta\), the weights are in the .index",
        MetaGraphDef(
            meta_info_def=MetaGraphDef.MetaInfoDef(tensorflow_version="1.12.0"), graph_def=frozen_graph(WEIGHTS)
        ).SerializeToString(),
    ),
    "TFLite": ("a TensorFlow Lite model", b"\x1c\0\0\0TFL3" + bytes(100)),
    "ONNX": ("an ONNX model", field(1, 8) + field(2, b"pytorch") + field(7, field(1, b"node"))),
    "XML": ("an XML file", b'<?xml version="1.0"?>\n<net name="ssd"/>'),
    "prototxt": (
        "the description of a Caffe network.*the weights are in the .caffemodel",
        b'name: "VGG"\nlayer {\n}\n',
    ),
    "prototxt with a comment": ("the description of a Caffe network", b"# SSD300\n\nlayer {\n}\n"),
    "pbtxt": ("a TensorFlow graph as text", b'node {\n  name: "a"\n}\n'),
    "list": ("TensorFlow's list of checkpoints", b'model_checkpoint_path: "m.ckpt-2"\n'),
    "JSON": ("a JSON file", b'{"class_name": "Model"}'),
    "text": ("a text file", "anything else, ähem".encode()),
    "pickle": ("a Python pickle, which may run any program", pickle.dumps({"a": 1}, protocol=4)),
    "TorchScript": ("a TorchScript program", zipped("m/data.pkl", "m/code/__torch__.py")),
    "npz": (r"NumPy arrays \(.npz\)", zipped("a.npy", "b.npy")),
    "npy": ("a NumPy array", b"\x93NUMPY\x01\0" + bytes(50)),
    "gzip": ("a gzip archive; unpack it", b"\x1f\x8b\x08" + bytes(50)),
    "tar": ("a tar archive; unpack it", b"models/VGGNet".ljust(257, b"\0") + b"ustar\0" + bytes(300)),
    "7z": ("a 7z archive", b"7z\xbc\xaf\x27\x1c" + bytes(50)),
    "PNG": ("a picture", b"\x89PNG\r\n\x1a\n" + bytes(50)),
    "JPEG": ("a picture", b"\xff\xd8\xff\xe0\0\x10JFIF\0" + bytes(50)),
    "GIF": ("a picture", b"GIF89a" + bytes(50)),
    "WebP": ("a picture", b"RIFF\x10\0\0\0WEBPVP8 " + bytes(50)),
    "BMP": ("a picture", b"BM\x42\0\0\0\0\0\0\0\x36\0\0\0" + bytes(50)),
    "HEIC": ("a picture", b"\0\0\0\x18ftypheic" + bytes(50)),
    "MP4": ("a video", b"\0\0\0\x18ftypmp42" + bytes(50)),
    "Matroska": ("a video", b"\x1aE\xdf\xa3" + bytes(50)),
    "AVI": ("a video", b"RIFF\x10\0\0\0AVI LIST" + bytes(50)),
    "ELF": ("a program", b"\x7fELF\x02\x01\x01" + bytes(50)),
    "PE": ("a program", b"MZ\x90\0\x03" + bytes(50)),
    "PDF": ("a PDF document", b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n"),
    "empty": ("an empty file", b""),
    "high bytes": ("a file of 400 bytes in another format", b"\xff" * 400),
    "noise": ("a file of 150 bytes in another format", b"\0\1\2" * 50),
}


@pytest.mark.parametrize("case", KINDS)
def test_kinds(tmp_path: Path, case: str) -> None:
    kind, content = KINDS[case]
    (tmp_path / "some file").write_bytes(content)
    assert sniff(tmp_path / "some file") == (kind, "")
    (tmp_path / "misnamed.pth").write_bytes(content)
    found = locate(str(tmp_path / "misnamed.pth"))
    assert (found.kind, found.files) == (kind, (tmp_path / "misnamed.pth",))


@pytest.mark.parametrize("size", [0x0280, 0x0480, 0x5A4D])
def test_a_safetensors_header_as_long_as_others_begin(tmp_path: Path, size: int) -> None:
    """The length that stands first reads as the start of a pickle, or of a program."""
    header = b"{}".ljust(size)
    (tmp_path / "m.safetensors").write_bytes(len(header).to_bytes(8, "little") + header)
    assert sniff(tmp_path / "m.safetensors").kind == "safetensors"


def test_tables_and_saved_models(tmp_path: Path) -> None:
    assert sniff(write_by_saver(tmp_path / "m", WEIGHTS, 1)).kind == "tensorflow-v1"
    assert sniff(write_saved_model_v1(tmp_path / "s", WEIGHTS) / "saved_model.pb").kind == "saved-model"


@pytest.mark.parametrize("case", OTHERS)
def test_others(tmp_path: Path, case: str) -> None:
    what, content = OTHERS[case]
    (tmp_path / "m.bin").write_bytes(content)
    with pytest.raises(CheckpointError, match=rf"m\.bin: is no checkpoint \({what}.*; expected a name") as caught:
        locate(str(tmp_path / "m.bin"))
    assert len(str(caught.value).splitlines()) == 1


@pytest.mark.parametrize(
    ("suffix", "kind"),
    [
        (".caffemodel", "caffe"),
        (".PTH", "pytorch"),
        (".h5", "keras"),
        (".pb", "frozen-graph"),
        (".ckpt", "tensorflow-v1"),
    ],
)
def test_name_counts_where_content_tells_nothing(tmp_path: Path, suffix: str, kind: str) -> None:
    """So that whoever reads it can say what is damaged."""
    path = tmp_path / f"m{suffix}"
    path.write_bytes(bytes(200))
    assert sniff(path).kind == kind


@pytest.mark.parametrize("case", ["Caffe", "frozen graph", "safetensors"])
def test_cut_off_files_are_still_known(tmp_path: Path, case: str) -> None:
    kind, content = KINDS[case]
    (tmp_path / "m.bin").write_bytes(content[:-3])
    assert sniff(tmp_path / "m.bin").kind == kind


@pytest.mark.parametrize("text", [b"#\n" * 3000, b"<!---->" * 3000, b" " * 9000, b"<!-- " * 3000, b"# " * 3000])
def test_texts_that_repeat_themselves_take_no_time(tmp_path: Path, text: bytes) -> None:
    """Patterns that may match in many ways would try them all."""
    (tmp_path / "m.bin").write_bytes(text)
    start = time.process_time()
    assert sniff(tmp_path / "m.bin").kind is None
    assert time.process_time() - start < 1


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(content=st.one_of(st.binary(max_size=300), *(st.binary(max_size=60).map(c.__add__) for _, c in KINDS.values())))
def test_anything_is_looked_at_without_harm(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "m.bin").write_bytes(content)
    kind, what = sniff(tmp_path / "m.bin")
    assert (kind is None) == bool(what)
