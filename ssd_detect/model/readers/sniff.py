"""What kind of file this is, told by its content; its name counts where that is unknown.

Imports neither TensorFlow nor NumPy.
"""

import re
import zipfile
from collections.abc import Mapping
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Literal, NamedTuple, TypeAlias

from ssd_detect.model.readers.faults import DamagedError
from ssd_detect.model.readers.protos import Message, as_text, fields, whole
from ssd_detect.model.readers.zips import ZIP_ERRORS, open_zip

Kind: TypeAlias = Literal[
    "tensorflow", "tensorflow-v1", "saved-model", "frozen-graph", "safetensors", "caffe", "pytorch", "keras", "zip"
]
"""A kind of checkpoint: `tensorflow` is a V2 checkpoint, `zip` a zip that holds another kind."""

SUFFIXES: Mapping[str, Kind] = {
    ".caffemodel": "caffe", ".pth": "pytorch", ".pt": "pytorch", ".h5": "keras", ".hdf5": "keras", ".keras": "keras",
    ".pb": "frozen-graph", ".safetensors": "safetensors", ".zip": "zip", ".ckpt": "tensorflow-v1",
}  # fmt: skip
"""What files are usually called; counts in folders, and for files that nothing else tells about."""

TABLE_MAGIC = bytes.fromhex("57fb808b247547db")
"""The last eight bytes of a table: of TensorFlow's V1 checkpoints, and of the index of its V2 checkpoints."""

_HDF5 = b"\x89HDF\r\n\x1a\n"
# torch.save before PyTorch 1.6: a pickle of the number 0x1950a86a20f9469cfc6c comes first.
_TORCH_PICKLE = bytes.fromhex("80028a0a6cfc9c46f9206aa850192e")
_ZIP_FAULTS: tuple[type[Exception], ...] = (DamagedError, *ZIP_ERRORS)
_MOST_FIELDS = 200  # enough to know a message by
_MOST_NAME_BYTES = 1000  # enough to know a name by


class Sniffed(NamedTuple):
    """A kind of checkpoint, or None and what the file is instead, in words."""

    kind: Kind | None
    what: str = ""


def sniff(path: Path) -> Sniffed:
    """Look at a file's first and last bytes.

    Raises:
        OSError: it cannot be read.
    """
    with path.open("rb") as file:
        head = file.read(4096)
        file.seek(max(0, path.stat().st_size - 8))
        tail = file.read(8)
    if not head:
        return Sniffed(None, "an empty file")
    if tail == TABLE_MAGIC:
        return Sniffed("tensorflow-v1")
    return _safetensors(path, head) or _by_signature(head) or _zip(path, head) or _text(head) or _message(path)


_PICTURES = (
    *((0, mark) for mark in (b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff", b"GIF87a", b"GIF89a", b"II*\0", b"MM\0*")),
    *((4, b"ftyp" + brand) for brand in (b"heic", b"heix", b"heif", b"mif1", b"msf1", b"avif", b"avis")),
    (8, b"WEBP"),
    (6, b"\0\0\0\0\x36\0\0\0"),  # BMP: two reserved words, then where the pixels begin, mostly
    (6, b"\0\0\0\0\x8a\0\0\0"),
)
_VIDEOS = (
    (4, b"ftyp"),
    (4, b"moov"),
    (0, b"\x1aE\xdf\xa3"),
    (8, b"AVI LIST"),
    (0, b"FLV\1"),
    (0, b"OggS"),
    (0, b"\0\0\1\xba"),
)
_PROGRAMS = (b"\x7fELF", b"MZ", b"\xcf\xfa\xed\xfe", b"\xca\xfe\xba\xbe")
_SIGNATURES: tuple[tuple[int, bytes, Sniffed], ...] = (
    (0, _HDF5, Sniffed("keras")),
    (0, _TORCH_PICKLE, Sniffed("pytorch")),
    (4, b"TFL3", Sniffed(None, "a TensorFlow Lite model, whose weights are changed for phones")),
    (0, b"\x1f\x8b", Sniffed(None, "a gzip archive; unpack it and give what is inside")),
    (0, b"\xfd7zXZ\0", Sniffed(None, "an xz archive; unpack it and give what is inside")),
    (0, b"BZh", Sniffed(None, "a bzip2 archive; unpack it and give what is inside")),
    (0, b"7z\xbc\xaf\x27\x1c", Sniffed(None, "a 7z archive; unpack it and give what is inside")),
    (0, b"Rar!\x1a\x07", Sniffed(None, "a RAR archive; unpack it and give what is inside")),
    (257, b"ustar", Sniffed(None, "a tar archive; unpack it and give what is inside")),
    (0, b"\x93NUMPY", Sniffed(None, "a NumPy array")),
    *((place, mark, Sniffed(None, "a picture")) for place, mark in _PICTURES),
    *((place, mark, Sniffed(None, "a video")) for place, mark in _VIDEOS),
    *((0, mark, Sniffed(None, "a program")) for mark in _PROGRAMS),
    (0, b"%PDF-", Sniffed(None, "a PDF document")),
    (0, b"SQLite format 3\0", Sniffed(None, "an SQLite database")),
    *(
        (0, bytes([0x80, protocol]), Sniffed(None, "a Python pickle, which may run any program, and no PyTorch file"))
        for protocol in range(2, 6)
    ),
)


def _by_signature(head: bytes) -> Sniffed | None:
    return next((s for place, mark, s in _SIGNATURES if head[place : place + len(mark)] == mark), None)


def _zip(path: Path, head: bytes) -> Sniffed | None:
    if not (head.startswith(b"PK\x03\x04") or zipfile.is_zipfile(path)):
        return None
    try:
        with path.open("rb") as file, open_zip(file) as archive:
            names = archive.namelist()
    except _ZIP_FAULTS:
        return Sniffed("zip")  # whoever unpacks it says what is wrong
    if any(re.fullmatch(r"[^/]+/data\.pkl", name) for name in names):
        if any(re.match(r"[^/]+/code/", name) for name in names):
            return Sniffed(None, "a TorchScript program; give the weights that its author saved by torch.save")
        return Sniffed("pytorch")
    if "model.weights.h5" in names:
        return Sniffed("keras")
    if names and all(name.endswith(".npy") for name in names):
        return Sniffed(None, "NumPy arrays (.npz)")
    return Sniffed("zip")


_TEXTS: tuple[tuple[str, str], ...] = (
    (r"\s*(<!--((?!-->).)*-->\s*)*<(!doctype html|html|head)\b", "an HTML page, saved in place of a download; open its "
     "address in a browser to see what it says, and get the file itself"),
    (r"version https://git-lfs\.github\.com/spec/", "a Git LFS pointer, which only names the file; type git lfs pull "
     "where it comes from"),
    (r"\s*<", "an XML file: the description of a network at most, without its weights"),
    (r"(\s|#[^\n]*\n)*(name|layers?|input|input_dim|state|force_backward|net|train_net)\s*[:{]",
     "the description of a Caffe network as text (.prototxt), the weights are in the .caffemodel beside it"),
    (r"\s*node\s*\{", "a TensorFlow graph as text (.pbtxt), without weights"),
    (r"\s*model_checkpoint_path:", "TensorFlow's list of checkpoints; give their folder, or one of them"),
    (r"\s*[{\[]", "a JSON file: the description of a network at most, without its weights"),
)  # fmt: skip


def _text(head: bytes) -> Sniffed | None:
    start = head.removeprefix(b"\xef\xbb\xbf")
    if not _is_text(start):
        return None
    text = start.decode("utf-8", "replace")
    known = (what for pattern, what in _TEXTS if re.match(pattern, text, re.IGNORECASE | re.DOTALL))
    return Sniffed(None, next(known, "a text file"))


def _is_text(head: bytes) -> bool:
    """Printable, apart from line ends and tabs; UTF-8, or nearly."""
    num_strange = head.decode("utf-8", "replace").count("\N{REPLACEMENT CHARACTER}")
    return not any(byte < 32 and byte not in b"\t\n\r\f" for byte in head) and 10 * num_strange <= len(head)


def _safetensors(path: Path, head: bytes) -> Sniffed | None:
    """Eight bytes say how long the JSON is that follows; this is often less than the whole of it."""
    looks_so = head[8:9] == b"{" and 2 <= int.from_bytes(head[:8], "little") <= path.stat().st_size - 8
    return Sniffed("safetensors") if looks_so else None


def _message(path: Path) -> Sniffed:
    """Protocol buffers have no signature, but each program's have fields of their own."""
    seen: dict[int, int | Message] = {}
    known = None
    with path.open("rb") as file:
        with suppress(DamagedError):  # cut off perhaps; what was seen until then tells enough, its reader says the rest
            for number, value in islice(fields(whole(file)), _MOST_FIELDS):
                seen.setdefault(number, value)
        with suppress(DamagedError):  # being cut off right now
            known = _known_message(seen)
    if known is not None:
        return known
    if kind := SUFFIXES.get(path.suffix.lower()):
        return Sniffed(kind)  # damaged, for all we know; its reader says in which way
    return Sniffed(None, f"a file of {path.stat().st_size:,} bytes in another format")


def _known_message(seen: dict[int, int | Message]) -> Sniffed | None:
    first = seen.get(1)
    if isinstance(first, int):
        if isinstance(seen.get(7), Message) or isinstance(seen.get(8), Message):
            return Sniffed(None, "an ONNX model; give the weights that it was made from")
        return Sniffed("saved-model") if first == 1 and isinstance(seen.get(2), Message) else None
    if isinstance(first, Message) and _is_node(first):
        return Sniffed("frozen-graph")
    if isinstance(seen.get(100), Message) or (_is_name(first) and isinstance(seen.get(2), Message)):
        return Sniffed("caffe")
    if isinstance(first, Message) and isinstance(seen.get(2), Message):
        return Sniffed(
            None,
            "TensorFlow's description of a graph (.meta), the weights are in the .index and .data files beside it",
        )
    return None


def _is_node(message: Message) -> bool:
    """A `NodeDef`: a name, then an operation."""
    try:
        (first, name), (second, operation) = islice(fields(message), 2)
        return (first, second) == (1, 2) and bool(as_text(name)) and as_text(operation).isidentifier()
    except (DamagedError, ValueError):
        return False


def _is_name(value: int | Message | None) -> bool:
    return isinstance(value, Message) and re.fullmatch(rb"[ -~]+", bytes(value[:_MOST_NAME_BYTES])) is not None
