"""Checkpoints in zips: what is needed of one is unpacked under names of our own, and never more than was agreed on."""

import re
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path, PurePosixPath

from ssd_detect.errors import CheckpointError
from ssd_detect.model.readers.faults import DamagedError, RefusedError
from ssd_detect.model.readers.sniff import SUFFIXES
from ssd_detect.model.readers.zips import ZIP_ERRORS, open_zip

MOST_BYTES = 4 << 30
"""A zip may expand to 4 GiB: SSD512 in float64 with Adam's slots takes 0.7 GB."""

MOST_TIMES = 200
"""A zip may expand to 200 times its size; weights hardly shrink at all, bombs a thousandfold."""

_ALWAYS_BYTES = 16 << 20  # what is this small does no harm, however often it goes into the archive
_REFUSALS = (RefusedError, RuntimeError)  # the latter of what is encrypted, or of a kind that Python does not know
_DAMAGE: tuple[type[Exception], ...] = (DamagedError, *ZIP_ERRORS)
_BLOCK_BYTES = 1 << 20
_BUNDLE_FILE = re.compile(r"\.(index|data-\d{5}-of-\d{5})")


def unpack(archive_path: Path, folder: Path) -> Path:
    """Unpack the one checkpoint in a zip into `folder`, whatever paths its members claim.

    Returns:
        What to look for in `folder`: a file, a SavedModel's `saved_model.pb`, or the index of a V2 checkpoint.

    Raises:
        CheckpointError: damaged, encrypted, larger than it may be; or holds no checkpoint, or several.
    """
    try:
        with archive_path.open("rb") as file, open_zip(file) as archive:
            members = _wanted(archive_path, archive.namelist())
            allowed = min(MOST_BYTES, max(MOST_TIMES * archive_path.stat().st_size, _ALWAYS_BYTES))
            for member, name in members.items():
                target = folder / name
                target.parent.mkdir(exist_ok=True)
                allowed -= _copy(archive, member, target, allowed)
    except _REFUSALS as error:
        raise CheckpointError(f"{archive_path}: cannot unpack this zip: {error}") from error
    except OSError as error:
        raise CheckpointError(f"{archive_path}: cannot unpack this zip: {error.strerror or error}") from error
    except _DAMAGE as error:
        reason = str(error) or type(error).__name__
        if not zipfile.is_zipfile(archive_path):  # its directory stands at its end
            reason = "its end is missing"
        raise CheckpointError(
            f"{archive_path}: cannot unpack this zip: it is cut off or damaged ({reason}); copy or download it again"
        ) from error
    return folder / next(iter(members.values()))


def _copy(archive: zipfile.ZipFile, member: str, target: Path, allowed: int) -> int:
    """Bytes that were written; the archive's own word on that does not count."""
    if archive.getinfo(member).compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise RefusedError("it is compressed in an unusual way; unpack it and give what is inside")
    written = 0
    with archive.open(member) as source, target.open("wb") as file:
        while block := source.read(_BLOCK_BYTES):
            written += len(block)
            if written > allowed:
                raise RefusedError(
                    f"it expands to more than {MOST_TIMES} times its size, or 4 GiB, as no checkpoint does"
                )
            file.write(block)
    return written


def _wanted(archive_path: Path, names: Iterable[str]) -> Mapping[str, str]:
    """Member -> name to unpack it under; what the checkpoint is opened by comes first."""
    files = [n for n in names if not n.endswith("/") and not PurePosixPath(n).name.startswith("._")]
    heads = list(_heads(files))
    if len(heads) != 1:
        found = f" ({', '.join(PurePosixPath(h).name for h in heads[:5])})" if heads else ""
        raise CheckpointError(
            f"{archive_path}: holds {len(heads)} checkpoints{found}, expected one: a .index with its .data file, a "
            "SavedModel folder, or one file of weights"
        )
    head = heads[0]
    if PurePosixPath(head).name == "saved_model.pb":
        variables = head.removesuffix("saved_model.pb") + "variables/variables"
        return {head: "saved_model.pb"} | _bundle(files, variables, "variables/variables")
    if not head.endswith(".index"):
        return {head: "model" + PurePosixPath(head).suffix.lower()}
    members = {head: "model.index"} | _bundle(files, head.removesuffix(".index"), "model")
    if len(members) == 1:
        raise CheckpointError(f"{archive_path}: holds {head} but not its .data file; both are needed")
    return members


def _bundle(files: list[str], prefix: str, name: str) -> dict[str, str]:
    """The members of the V2 checkpoint `prefix`, to be unpacked as the one of the prefix `name`."""
    rests = {file: file[len(prefix) :] for file in files if file.startswith(prefix)}
    return {file: name + rest for file, rest in rests.items() if _BUNDLE_FILE.fullmatch(rest)}


def _heads(files: list[str]) -> Iterator[str]:
    """What checkpoints are opened by: a SavedModel, else indexes, else single files."""
    for pattern in (r"(.*/)?saved_model\.pb", r".*\.index"):
        found = [name for name in files if re.fullmatch(pattern, name, re.DOTALL)]
        if found:
            return iter(found)
    return (name for name in files if PurePosixPath(name).suffix.lower() in SUFFIXES.keys() - {".zip"})
