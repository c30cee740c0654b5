"""Kept outputs of the network: `eval --keep-raw` writes them, `eval --from-raw` makes detections of them again.

A zip, uncompressed: `header.json` (schema `ssd-detect.raw/1`), then `000000.npy` and so on, one for each picture of
the header's list: a NumPy array with a row for each anchor whose best class scores at least the header's floor, with
the fields `anchor` (its number, ascending), `offsets` (4) and `scores` (one for each class, background first), as the
network gave them. The header tells how many rows each picture has. `numpy.load` opens the file. The floor keeps it
small: an SSD300 has 8732 anchors, of which some hundreds say more than that nothing is there.
"""

import io
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ssd_detect import __version__
from ssd_detect.arrays import Floats, Integers
from ssd_detect.conventions import AnchorClip, AnchorRounding, Arithmetic, Profile
from ssd_detect.errors import FormatError
from ssd_detect.files import explained_writing, whole_file
from ssd_detect.formats.file_reading import explained_reading
from ssd_detect.formats.json_text import json_file
from ssd_detect.formats.json_values import check_schema, file_name, items, member, number, parse_json, text, whole

SCHEMA = "ssd-detect.raw/1"
FLOOR = 0.005
"""Half of what evaluations begin at."""

_HEADER = "header.json"
_ENCRYPTED = 1  # bit of a zip member's flags


class RawPicture(NamedTuple):
    """A picture whose outputs are kept: its name in the data set, its sides in pixels, and the rows of its array, which
    `write_raw` counts.
    """

    name: str
    width: int
    height: int
    rows: int = 0


@dataclass(frozen=True)
class RawHeader:
    """What outputs mean.

    Args:
        checkpoint_name, checkpoint_sha256: of the network.
        class_names: of its outputs, background first.
        anchors, anchor_rounding, anchor_clip, profile: as in `model.spec.ModelSpec`.
        floor: anchors whose best class scores less are left out.
        pictures: in the order of the arrays.
        precision: what the network computed with.
    """

    checkpoint_name: str
    checkpoint_sha256: str
    class_names: tuple[str, ...]
    anchors: str
    anchor_rounding: AnchorRounding
    anchor_clip: AnchorClip
    profile: Profile
    floor: float
    pictures: tuple[RawPicture, ...]
    precision: Arithmetic = Arithmetic.FLOAT32

    def to_dict(self) -> dict[str, Any]:
        """Plain values; the arithmetic unless it is float32."""
        arithmetic = {} if self.precision is Arithmetic.FLOAT32 else {"arithmetic": self.precision.value}
        return {
            "schema": SCHEMA,
            "tool": {"name": "ssd-detect", "version": __version__},
            "checkpoint": {"name": self.checkpoint_name, "sha256": self.checkpoint_sha256},
            **arithmetic,
            "class_names": list(self.class_names),
            "anchors": self.anchors,
            "anchor_rounding": self.anchor_rounding.value,
            "anchor_clip": self.anchor_clip.value,
            "profile": self.profile.value,
            "floor": self.floor,
            "pictures": [one._asdict() for one in self.pictures],
        }

    @classmethod
    def from_dict(cls, value: Any) -> "RawHeader":
        """The inverse.

        Raises:
            ValueError: of another schema, or a member is missing or of the wrong kind.
        """
        check_schema(value, SCHEMA)
        checkpoint = member(value, "checkpoint")
        names = items(value, "class_names")
        if len(names) < 2 or not all(isinstance(name, str) for name in names):
            raise ValueError("'class_names' is no list of at least two names")
        floor = number(value, "floor")
        if not 0 <= floor <= 1:
            raise ValueError(f"'floor' is {floor:g}, expected a number from 0 to 1")
        return cls(
            checkpoint_name=text(checkpoint, "name"),
            checkpoint_sha256=text(checkpoint, "sha256"),
            class_names=tuple(names),
            anchors=text(value, "anchors"),
            anchor_rounding=AnchorRounding(text(value, "anchor_rounding")),
            anchor_clip=AnchorClip(text(value, "anchor_clip")),
            profile=Profile(text(value, "profile")),
            floor=floor,
            pictures=tuple(map(_raw_picture, items(value, "pictures"))),
            precision=Arithmetic(value.get("arithmetic", Arithmetic.FLOAT32)),
        )


def _raw_picture(value: Any) -> RawPicture:
    one = RawPicture(file_name(value, "name"), whole(value, "width"), whole(value, "height"), whole(value, "rows"))
    if min(one.width, one.height) < 1:
        raise ValueError(f"the size of {one.name} is {one.width}x{one.height}, expected at least 1x1")
    return one


class RawOutputs(NamedTuple):
    """What is kept of a picture: (k,) numbers of anchors, ascending, (k, C) scores, (k, 4) offsets."""

    anchors: Integers
    scores: Floats
    offsets: Floats


def encoded(scores: Floats, offsets: Floats, floor: float) -> bytes:
    """The array of a picture as the content of an .npy file, of (N, C) scores and (N, 4) offsets."""
    kept = np.flatnonzero(np.fmax.reduce(scores[:, 1:], axis=1) >= np.float32(floor))  # fmax passes over NaN
    rows = np.empty(len(kept), _row(scores.shape[1]))
    rows["anchor"], rows["offsets"], rows["scores"] = kept, offsets[kept], scores[kept]
    content = io.BytesIO()
    np.lib.format.write_array(content, rows, allow_pickle=False)
    return content.getvalue()


def _row(num_classes: int) -> np.dtype[Any]:
    return np.dtype([("anchor", "<i4"), ("offsets", "<f4", (4,)), ("scores", "<f4", (num_classes,))])


def write_raw(path: Path, header: RawHeader, arrays: Sequence[Path], *, overwrite: bool) -> None:
    """Put the file together, wholly or not at all.

    Args:
        path: its name.
        header: of it; the rows of its pictures are those of the arrays.
        arrays: files with what `encoded` returned, in the order of the header's pictures.
        overwrite: an existing file may be replaced.

    Raises:
        OutputError: the system refuses, or the file exists.
    """
    with (
        whole_file(path, overwrite=overwrite) as temporary,
        explained_writing(path),
        zipfile.ZipFile(temporary, "w") as archive,
    ):
        pictures = tuple(
            one._replace(rows=_num_rows(array)) for one, array in zip(header.pictures, arrays, strict=True)
        )
        content = json_file(replace(header, pictures=pictures).to_dict())
        archive.writestr(zipfile.ZipInfo(_HEADER), content)  # of no date: the same run, the same file
        for i, array in enumerate(arrays):
            archive.writestr(zipfile.ZipInfo(_member(i)), array.read_bytes())


def _num_rows(array: Path) -> int:
    with array.open("rb") as stream:
        np.lib.format.read_magic(stream)
        return int(np.lib.format.read_array_header_1_0(stream)[0][0])


def _member(index: int) -> str:
    return f"{index:06d}.npy"


class RawFile:
    """A file of outputs, open for reading; made by `open_raw`."""

    def __init__(self, path: Path, archive: zipfile.ZipFile, header: RawHeader) -> None:
        self.path, self.header = path, header
        self._archive = archive
        self._row = _row(len(header.class_names))

    def outputs(self, index: int) -> RawOutputs:
        """Those of a picture of the header's list.

        Raises:
            FormatError: missing or damaged.
        """
        with explained_reading(f"{self.path}: {self.header.pictures[index].name}"), explained_zip():
            rows = _rows(_content(self._archive, _member(index)), self._row)
            told = self.header.pictures[index].rows
            if len(rows) != told:
                raise ValueError(f"it holds {len(rows)} rows of outputs, {_HEADER} tells of {told}")
            anchors = rows["anchor"].astype(np.int64)
        return RawOutputs(anchors, np.ascontiguousarray(rows["scores"]), np.ascontiguousarray(rows["offsets"]))


def _content(archive: zipfile.ZipFile, name: str) -> bytes:
    """A member as it stands in the file: what is compressed could take any amount of memory."""
    member_info = archive.getinfo(name)
    if member_info.compress_type != zipfile.ZIP_STORED or member_info.flag_bits & _ENCRYPTED:
        raise ValueError(f"{name} is compressed or encrypted there, expected neither")
    return archive.read(member_info)


def _rows(content: bytes, expected: np.dtype[Any]) -> np.ndarray:
    """The rows of an .npy file, which are no more than it holds, whatever it says; read-only."""
    stream = io.BytesIO(content)
    version = np.lib.format.read_magic(stream)
    if version != (1, 0):
        raise ValueError(f"its outputs are of version {version} of NumPy's format, expected 1.0")
    shape, _, dtype = np.lib.format.read_array_header_1_0(stream)
    if dtype != expected or len(shape) != 1:
        raise ValueError(f"its outputs are {dtype} {shape}, expected rows of {expected}")
    rows = np.frombuffer(content, expected, offset=stream.tell())
    if len(rows) != shape[0]:
        raise ValueError(f"it holds {len(rows)} rows of outputs, expected {shape[0]}")
    return rows


@contextmanager
def open_raw(path: Path) -> Iterator[RawFile]:
    """Within the block the file's outputs can be read.

    Raises:
        FormatError: missing, damaged, or of another kind.
    """
    with ExitStack() as closing:
        with explained_reading(path), explained_zip():
            archive = closing.enter_context(zipfile.ZipFile(path))
            header = RawHeader.from_dict(parse_json(_content(archive, _HEADER).decode("utf-8")))
        yield RawFile(path, archive, header)


def is_raw_file(path: Path) -> bool:
    """Whether the file is one of kept outputs, be it damaged behind its header."""
    try:
        with open_raw(path):
            return True
    except FormatError:
        return False


@contextmanager
def explained_zip() -> Iterator[None]:
    """Turn what zipfile says of damage into a ValueError in our words."""
    try:
        yield
    except (zipfile.BadZipFile, EOFError, NotImplementedError) as error:
        raise ValueError(f"is damaged or no file of kept outputs: {error}") from error
    except KeyError as error:
        raise ValueError(f"is damaged or no file of kept outputs: {error.args[0]}") from error
