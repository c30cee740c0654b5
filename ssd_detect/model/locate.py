"""Finding a checkpoint by whatever the user gives: a name, a file, a folder, a zip. Imports no TensorFlow."""

import re
import shutil
import tempfile
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Literal

from ssd_detect.errors import CheckpointError
from ssd_detect.model.manifest import manifest

_DATA_SUFFIX = re.compile(r"\.data-\d{5}-of-(\d{5})$")
_EXPECTED = (
    "expected a name ({names}), a TensorFlow checkpoint (its prefix, its .index or .data file, its folder, or a .zip "
    "of it) or a .safetensors file"
)
_GLOB_CHARACTERS = frozenset("*?[]\\")


@dataclass(frozen=True)
class FoundCheckpoint:
    """Where weights lie. `path` is the file, or for `tensorflow` the prefix of its files; `files` are to be hashed."""

    kind: Literal["tensorflow", "zip", "safetensors"]
    path: Path
    files: tuple[Path, ...]


def locate(given: str) -> FoundCheckpoint:
    """Find the checkpoint that `given` means; a name in the manifest wins over a path.

    Raises:
        CheckpointError: nothing there, several there, or something else; says what was found.
    """
    if given in manifest():
        return _from_file(manifest()[given].file)
    path = Path(given)
    if path.is_dir():
        return _from_folder(path)
    prefix = _prefix_of(path)
    if _with_suffix(prefix, ".index").is_file() or _data_files(prefix):
        return _from_prefix(prefix)
    if path.is_file():
        return _from_file(path)
    raise CheckpointError(f"{given}: no such checkpoint; {_expected()}")


def _expected() -> str:
    return _EXPECTED.format(names=", ".join(manifest()))


def _prefix_of(path: Path) -> Path:
    """The prefix that a file of a TensorFlow checkpoint belongs to; other paths are prefixes themselves."""
    name = _DATA_SUFFIX.sub("", path.name)
    for suffix in (".index", ".meta"):
        name = name.removesuffix(suffix)
    return path.with_name(name) if name else path


def _with_suffix(prefix: Path, suffix: str) -> Path:
    return prefix.with_name(prefix.name + suffix)


def _data_files(prefix: Path) -> list[Path]:
    if not prefix.parent.is_dir():
        return []
    head = prefix.name + ".data-"
    return sorted(p for p in prefix.parent.iterdir() if p.name.startswith(head) and _DATA_SUFFIX.search(p.name))


def _from_prefix(prefix: Path) -> FoundCheckpoint:
    index, data = _with_suffix(prefix, ".index"), _data_files(prefix)
    if not index.is_file():
        raise CheckpointError(f"{prefix}: {data[0].name} is there, but {index.name} is missing; both are needed")
    if index.stat().st_size == 0:
        raise CheckpointError(
            f"{index}: is empty (0 bytes), expected the index of a TensorFlow checkpoint; copy it again"
        )
    match = _DATA_SUFFIX.search(data[0].name) if data else None
    wanted = int(match.group(1)) if match else 1
    if len(data) < wanted:
        missing = (
            f"{prefix.name}.data-00000-of-{wanted:05d}"
            if not data
            else f"{wanted - len(data)} of its {wanted} data files"
        )
        raise CheckpointError(f"{prefix}: {index.name} is there, but {missing} is missing; both are needed")
    return FoundCheckpoint("tensorflow", prefix, (index, *data))


def _from_file(path: Path) -> FoundCheckpoint:
    if not path.is_file():
        raise CheckpointError(f"{path}: the checkpoint file is missing; install ssd-detect again")
    if path.suffix.lower() == ".safetensors":
        return FoundCheckpoint("safetensors", path, (path,))
    if zipfile.is_zipfile(path):
        return FoundCheckpoint("zip", path, (path,))
    raise CheckpointError(f"{path}: is no checkpoint ({_what_is(path)}); {_expected()}")


def _what_is(path: Path) -> str:
    with path.open("rb") as file:
        head = file.read(512)
    if not head:
        return "an empty file"
    if head.isascii() and b"\0" not in head:
        return "a text file"
    return f"a file of {path.stat().st_size:,} bytes in another format"


def _from_folder(folder: Path) -> FoundCheckpoint:
    for pattern in ("*", "*/*", "*/*/*"):  # unzipping often puts the folder into a folder of the same name
        found = [p for p in sorted(folder.glob(pattern)) if p.is_file() and not p.name.startswith("._")]
        indexes = [p for p in found if p.suffix == ".index"]
        others = [p for p in found if p.suffix.lower() in (".safetensors", ".zip")]
        choice = _latest(folder, indexes) if len(indexes) > 1 else indexes or others
        if len(choice) == 1:
            return _from_prefix(_prefix_of(choice[0])) if choice[0].suffix == ".index" else _from_file(choice[0])
        if choice:
            names = ", ".join(str(p.relative_to(folder)) for p in choice[:5])
            raise CheckpointError(f"{folder}: holds {len(choice)} checkpoints ({names}); name the one to use")
    raise CheckpointError(f"{folder}: a folder without a checkpoint; {_expected()}")


def _latest(folder: Path, indexes: list[Path]) -> list[Path]:
    """Of several checkpoints the one that TensorFlow's `checkpoint` file calls the latest; all, where it does not."""
    try:
        text = (folder / "checkpoint").read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return indexes
    match = re.search(r'^model_checkpoint_path: "([^"]+)"', text, re.MULTILINE)
    named = [p for p in indexes if match and p.name == PurePosixPath(match.group(1)).name + ".index"]
    return named or indexes


@contextmanager
def tensorflow_prefix(found: FoundCheckpoint) -> Iterator[str]:
    """A prefix that TensorFlow can open: zips are unpacked, and odd paths bypassed, in a temporary folder."""
    if found.kind == "tensorflow" and _is_plain(found.path):
        yield str(found.path)
        return
    with tempfile.TemporaryDirectory(prefix="ssd-detect-") as folder:
        if found.kind == "zip":
            yield _unpack(found.path, Path(folder))
        else:
            for file in found.files:
                _link_or_copy(file, Path(folder) / ("model" + file.name.removeprefix(found.path.name)))
            yield str(Path(folder) / "model")


def _is_plain(path: Path) -> bool:
    """TensorFlow takes *, ? and [ in a path for patterns, and cannot take bytes that are not UTF-8."""
    text = str(path)
    return not (_GLOB_CHARACTERS & set(text)) and not any("\ud800" <= c <= "\udfff" for c in text)


def _link_or_copy(source: Path, target: Path) -> None:
    try:
        target.symlink_to(source.resolve())
    except OSError:  # Windows without the right to make links
        shutil.copyfile(source, target)


def _unpack(archive_path: Path, folder: Path) -> str:
    """Unpack the one checkpoint in a zip under plain names, whatever paths its members claim; return its prefix."""
    try:
        with zipfile.ZipFile(archive_path) as archive:
            indexes = [
                n for n in archive.namelist() if n.endswith(".index") and not PurePosixPath(n).name.startswith("._")
            ]
            if len(indexes) != 1:
                raise CheckpointError(
                    f"{archive_path}: holds {len(indexes)} TensorFlow checkpoints, expected one (.index and .data file)"
                )
            prefix = indexes[0].removesuffix(".index")
            for member in archive.namelist():
                rest = member.removeprefix(prefix)
                if rest != member and (rest == ".index" or _DATA_SUFFIX.fullmatch(rest)):
                    with archive.open(member) as source, (folder / ("model" + rest)).open("wb") as target:
                        shutil.copyfileobj(source, target)
    except (zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError, OSError, EOFError) as error:
        raise CheckpointError(f"{archive_path}: cannot unpack this zip: {error}") from error
    if not _data_files(folder / "model"):
        raise CheckpointError(f"{archive_path}: holds {prefix}.index but not its .data file; both are needed")
    return str(folder / "model")
