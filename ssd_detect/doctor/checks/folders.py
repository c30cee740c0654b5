"""Checks of the folders: whether results, temporary files and compiled kernels can be written."""

from collections.abc import Iterator
from dataclasses import replace

from ssd_detect.doctor.advice import quoted, set_variable
from ssd_detect.doctor.check import Check, Mark
from ssd_detect.doctor.facts import Facts, Folder
from ssd_detect.doctor.situation import expects_gpu

_FULL = 100 * 2**20  # bytes; less does not hold the results of a film
_WRITABLE = "(a folder that you may write to)"


def folder_checks(facts: Facts) -> Iterator[Check]:
    """Each folder; that of compiled kernels only where a GPU compiles some."""
    for folder in facts.folders:
        if folder.purpose != "cache" or expects_gpu(facts):
            yield _folder(folder, facts)


def _folder(folder: Folder, facts: Facts) -> Check:
    free = "" if folder.free_bytes is None else f", {folder.free_bytes / 2**30:.1f} GiB free"
    check = Check("folders", f"{folder.purpose} folder", "ok", f"{folder.path}{free}")
    mark: Mark = "warn" if folder.purpose == "cache" else "fail"
    if not folder.path:
        step = "cd   (into a folder that exists), or choose one with --output"
        return replace(check, mark=mark, found="is the current one, which no longer exists", step=step)
    if folder.is_writable is False:
        return _unwritable(replace(check, mark=mark), folder, facts)
    if folder.free_bytes is not None and folder.free_bytes < _FULL:
        found = f"{folder.path} has {folder.free_bytes / 2**20:.0f} MiB free"
        return replace(check, mark=mark, found=found, wanted=f"{_FULL / 2**20:.0f} MiB", step=_more_room(folder, facts))
    return check


def _more_room(folder: Folder, facts: Facts) -> str:
    if folder.purpose == "output":
        return "make room there, or choose another folder with --output"
    if folder.purpose == "temporary":
        return f"make room there, or: {_another_temporary_folder(facts)}"
    return "make room there"


def _unwritable(check: Check, folder: Folder, facts: Facts) -> Check:
    found = f"{folder.path} cannot be written" + (f": {folder.error}" if folder.error else "")
    if folder.purpose == "output":
        return replace(check, found=found, step="choose another folder with --output, or change into one")
    if folder.purpose == "temporary":  # without which no child process can be asked
        found = f"there is no temporary folder with room: {found}"
        return replace(check, found=found, step=_another_temporary_folder(facts), stops="detection")
    return _unwritable_cache(replace(check, found=found), folder, facts)


def _another_temporary_folder(facts: Facts) -> str:
    name = "TEMP" if facts.system.kind == "Windows" else "TMPDIR"
    return f"{set_variable(facts, name, 'FOLDER')}   {_WRITABLE}"


def _unwritable_cache(check: Check, folder: Folder, facts: Facts) -> Check:
    if folder.is_strangers and folder.tried_in:
        return replace(check, step=f"sudo chown -R $USER {quoted(facts, folder.tried_in)}   (needs root)")
    if facts.system.has_own_home is False and "CUDA_CACHE_PATH" not in facts.environment:
        found = f"{check.found}; HOME does not name a folder of this user"
        return replace(check, found=found, step=f"{set_variable(facts, 'HOME', 'FOLDER')}   (your own home folder)")
    return replace(check, step=f"{set_variable(facts, 'CUDA_CACHE_PATH', 'FOLDER')}   {_WRITABLE}")
