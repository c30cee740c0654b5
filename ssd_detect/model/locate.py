"""Finding a checkpoint by whatever the user gives: a name, a file, a folder, a zip.

Imports neither TensorFlow nor NumPy.
"""

import re
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from ssd_detect.errors import CheckpointError
from ssd_detect.filetypes import other_than_file
from ssd_detect.model.manifest import manifest, shown_name, told_by_whom, unknown_name
from ssd_detect.model.readers.sniff import SUFFIXES, Kind, sniff

_DATA_SUFFIX = re.compile(r"\.data-\d{5}-of-(\d{5})$")
_MOST_TEXT = 1 << 20  # characters of TensorFlow's list of checkpoints
_V1_NAME = re.compile(r"\.ckpt(-\d+)?$")
_EXPECTED = (
    "expected a name (ssd-detect checkpoints list tells them), a TensorFlow checkpoint (its prefix, its .index or "
    ".data file, its folder, or a .zip of it), a SavedModel folder, or a file: "
    ".safetensors, .caffemodel, .pth, .h5, .pb"
)


@dataclass(frozen=True)
class FoundCheckpoint:
    """Where weights lie.

    Args:
        kind: what they are.
        path: the file; of a V2 checkpoint (`tensorflow`) the prefix of its files; of a SavedModel its folder.
        files: all that are read, to be hashed one after the other.
    """

    kind: Kind
    path: Path
    files: tuple[Path, ...]


def locate(given: str) -> FoundCheckpoint:
    """Find the checkpoint that `given` means; a name in the manifest wins over a path.

    Raises:
        CheckpointError: nothing there, several there, or something else; says what was found.
    """
    try:
        with told_by_whom(given):
            return _located(given)
    except OSError as error:  # a name that is too long, a folder into which we may not look
        raise CheckpointError(f"{shown_name(given)}: cannot read the checkpoint: {error.strerror or error}") from error


def _located(given: str) -> FoundCheckpoint:
    path = _path_in_manifest(given) if given in manifest() else Path(given)
    if path.is_dir():
        return _from_folder(path)
    prefix = _prefix_of(path)
    if _with_suffix(prefix, ".index").is_file() or _data_files(prefix):
        return _from_prefix(prefix)
    if path.is_file():
        return found_file(path)
    _check_regular(path)
    raise unknown_name(given, _EXPECTED)


def _check_regular(path: Path) -> None:
    if other := other_than_file(path):
        raise CheckpointError(f"{path}: is a {other}, expected a file; copy what it holds to one")


def _path_in_manifest(name: str) -> Path:
    entry = manifest()[name]
    path = entry.path()
    if path is None:
        raise CheckpointError(f"{name}: {entry.file} is not here; {entry.how_to_get}")
    return path


def found_file(path: Path) -> FoundCheckpoint:
    """The checkpoint that an existing file is, or belongs to.

    Raises:
        CheckpointError: it is none; says what it is.
    """
    if path.suffix == ".index":
        return _from_prefix(path.with_suffix(""))
    try:
        sniffed = sniff(path)
    except OSError as error:
        raise CheckpointError(f"{path}: cannot read the checkpoint: {error.strerror or error}") from error
    if sniffed.kind is None:
        raise CheckpointError(f"{path}: is no checkpoint ({sniffed.what}); {_EXPECTED}")
    if sniffed.kind == "saved-model":
        return _from_saved_model(path)
    return FoundCheckpoint(sniffed.kind, path, (path,))


def _from_saved_model(graph: Path) -> FoundCheckpoint:
    variables = graph.parent / "variables" / "variables"
    files = _from_prefix(variables).files if _with_suffix(variables, ".index").exists() else ()
    return FoundCheckpoint("saved-model", graph.parent, (graph, *files))


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
    for file in (index, *data):
        _check_regular(file)
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


def _from_folder(folder: Path) -> FoundCheckpoint:
    for pattern in ("*", "*/*", "*/*/*"):  # unzipping often puts the folder into a folder of the same name
        found = [p for p in sorted(folder.glob(pattern)) if p.is_file() and not p.name.startswith("._")]
        choice = _choice(folder, found)
        if len(choice) == 1:
            return found_file(choice[0])
        if choice:
            names = ", ".join(str(p.relative_to(folder)) for p in choice[:5])
            raise CheckpointError(f"{folder}: holds {len(choice)} checkpoints ({names}); name the one to use")
    raise CheckpointError(f"{folder}: a folder without a checkpoint; {_EXPECTED}")


def _choice(folder: Path, files: list[Path]) -> list[Path]:
    """Of a folder's files those by which checkpoints are opened."""
    graphs = [p for p in files if p.name == "saved_model.pb"]
    indexes = [p for p in files if p.suffix == ".index"]
    if graphs or indexes:
        return graphs or (_latest(folder, indexes) if len(indexes) > 1 else indexes)
    return [p for p in files if p.suffix.lower() in SUFFIXES or _V1_NAME.search(p.name)]


def _latest(folder: Path, indexes: list[Path]) -> list[Path]:
    """Of several checkpoints the one that TensorFlow's `checkpoint` file calls the latest; all, where it does not."""
    if other_than_file(folder / "checkpoint"):
        return indexes
    try:
        with (folder / "checkpoint").open(encoding="utf-8") as file:
            text = file.read(_MOST_TEXT)
    except (OSError, UnicodeDecodeError):
        return indexes
    match = re.search(r'^model_checkpoint_path: "([^"]+)"', text, re.MULTILINE)
    named = [p for p in indexes if match and p.name == PurePosixPath(match.group(1)).name + ".index"]
    return named or indexes
