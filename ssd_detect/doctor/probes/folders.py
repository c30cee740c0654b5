"""Folders that are written to, and whether they really can be."""

import os
import shutil
import tempfile
from pathlib import Path

from ssd_detect.doctor.facts import Folder, KernelCache
from ssd_detect.doctor.probes.sources import Sources

_BYTES = 1 << 20  # that are written: on a full disk an empty file can still be made


def folder_facts(purpose: str, path: Path | None, home: Path | None = None) -> Folder:
    """Try it: a file is made, filled and removed, in `path` or in the next folder above it that exists.

    Args:
        purpose: as in `Folder`.
        path: None for a current folder that no longer exists.
        home: the user's own home folder; None where there is none.
    """
    if path is None:
        return Folder(purpose, "", is_writable=False)
    tried = next((folder for folder in (path, *path.parents) if folder.is_dir()), path)
    error = _error_of_writing(tried)
    return Folder(
        purpose,
        str(path),
        is_writable=error is None,
        free_bytes=_free_bytes(tried),
        tried_in=str(tried),
        error=error,
        is_strangers=home is not None and home in tried.parents and not is_ours(tried),
    )


def _error_of_writing(folder: Path) -> str | None:
    try:
        with tempfile.TemporaryFile(dir=folder) as file:
            file.write(bytes(_BYTES))
    except OSError as error:
        return error.strerror or str(error)
    return None


def is_ours(folder: Path) -> bool:
    """Whether it is a folder that belongs to this user; where the system does not tell, it does."""
    return folder.is_dir() and (not hasattr(os, "getuid") or folder.stat().st_uid == os.getuid())


def own_home(sources: Sources) -> Path | None:
    """The folder that HOME names, if it can be this user's home."""
    home = sources.folder_of("HOME")
    return home if home and home.is_absolute() and home != home.parent and is_ours(home) else None


def temporary_folder(sources: Sources) -> Path:
    """Where temporary files go; the first that is looked at where no folder at all can be written to."""
    try:
        return Path(tempfile.gettempdir())
    except FileNotFoundError:
        return sources.folder_of("TMPDIR") or sources.root / "tmp"


def _free_bytes(folder: Path) -> int | None:
    try:
        return shutil.disk_usage(folder).free
    except OSError:
        return None


def kernel_cache(sources: Sources) -> KernelCache | None:
    """Where NVIDIA's driver keeps compiled kernels; None where CUDA does not exist or the home folder is unknown."""
    folder = sources.folder_of("CUDA_CACHE_PATH") or _usual_cache(sources)
    if folder is None or sources.kind == "Darwin":
        return None
    files = folder.rglob("*") if folder.is_dir() else ()
    return KernelCache(str(folder), sum(file.stat().st_size for file in files if file.is_file()))


def _usual_cache(sources: Sources) -> Path | None:
    variable, inner = ("APPDATA", "NVIDIA") if sources.kind == "Windows" else ("HOME", ".nv")
    folder = sources.folder_of(variable)
    return folder / inner / "ComputeCache" if folder else None
