"""Folders that are written to, and whether they really can be."""

import shutil
import tempfile
from pathlib import Path

from ssd_detect.doctor.facts import Folder, KernelCache
from ssd_detect.doctor.probes.sources import Sources


def folder_facts(purpose: str, path: Path) -> Folder:
    """Try it: a file is made and removed again, in `path` or in the next folder above it that exists."""
    existing = next((folder for folder in (path, *path.parents) if folder.is_dir()), path)
    try:
        with tempfile.TemporaryFile(dir=existing):
            is_writable = True
    except OSError:
        is_writable = False
    return Folder(purpose, str(path), is_writable, _free_bytes(existing))


def temporary_folder() -> Path:
    """Where temporary files go; the usual one where no folder at all can be written to."""
    try:
        return Path(tempfile.gettempdir())
    except FileNotFoundError:
        return Path("/tmp")


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
