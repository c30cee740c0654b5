"""Whether a checkpoint is, bit for bit, what its name promises."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from ssd_detect.files import explained_writing, whole_file
from ssd_detect.filetypes import other_than_file
from ssd_detect.hashing import git_blob_of, sha256_of
from ssd_detect.model.locate import locate
from ssd_detect.model.manifest import ManifestEntry, entry_of


@dataclass(frozen=True)
class Checked:
    """The outcome for one checkpoint.

    Args:
        name: the entry's name, or the path where no entry is known.
        path: the file, or the prefix of its files.
        sha256: as it is.
        verdict: `good`: as it should be; `bad`: it is not; `unknown`: nobody knows how it should be.
        words: on what the verdict rests.
    """

    name: str
    path: Path
    sha256: str
    verdict: Literal["good", "bad", "unknown"]
    words: str


def check_entry(entry: ManifestEntry, path: Path, target: Path | None = None) -> Checked:
    """Compare what lies at `path` with what `entry` says, or with what was noted when it was first fetched.

    Args:
        target: where it is to lie; None: where it is.

    Raises:
        CheckpointError: cannot be read.
    """
    sha256 = sha256_of(files_of(path))
    noted = noted_sha256(target or path)
    if entry.sha256 is not None:
        kind, actual, expected = "SHA-256", sha256, entry.sha256
    elif entry.git_blob is not None:
        kind, actual, expected = "git blob id", git_blob_of(path), entry.git_blob
    elif noted is not None:
        kind, actual, expected = "SHA-256, as noted when it was first fetched,", sha256, noted
    else:
        return Checked(entry.name, path, sha256, "unknown", f"nobody has published its SHA-256, which is {sha256}")
    if actual == expected:
        return Checked(entry.name, path, sha256, "good", f"{kind} {expected}")
    return Checked(entry.name, path, sha256, "bad", f"its {kind} is {actual}, expected {expected}")


def check_path(path: Path) -> Checked:
    """Compare a checkpoint that lies anywhere with all that is known.

    Raises:
        CheckpointError: there is none, or it cannot be read.
    """
    sha256 = sha256_of(files_of(path))
    entry = entry_of(path, sha256)
    if entry is None:
        return Checked(str(path), path, sha256, "unknown", f"no list knows its SHA-256, which is {sha256}")
    return replace(check_entry(entry, path), name=str(path), words=f"is {entry.name}")


def files_of(path: Path) -> tuple[Path, ...]:
    """The files of a checkpoint, in the order in which they are hashed.

    Raises:
        CheckpointError: there is none.
    """
    try:
        is_file = path.is_file()
    except OSError:  # too long for a name; what looks for it says so
        is_file = False
    return (path,) if is_file else locate(str(path)).files


def note_of(path: Path) -> Path:
    """Where the SHA-256 of a fetched file is noted, in the format of `sha256sum`."""
    return path.with_name(path.name + ".sha256")


def noted_sha256(path: Path) -> str | None:
    """The SHA-256 that a file had when it was fetched; None: not noted."""
    if other_than_file(note_of(path)):
        return None
    try:
        return note_of(path).read_text(encoding="utf-8").split()[0]
    except (OSError, UnicodeDecodeError, IndexError):
        return None


def note_sha256(path: Path, sha256: str) -> None:
    """Note it beside `path`, which need not exist yet.

    Raises:
        OutputError: cannot be written.
    """
    with whole_file(note_of(path), overwrite=True) as temporary, explained_writing(note_of(path)):
        temporary.write_text(f"{sha256}  {path.name}\n", encoding="utf-8")
