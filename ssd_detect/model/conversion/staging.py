"""Where files are written before they are proved, and how they get their names."""

import glob
import itertools
import secrets
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from ssd_detect.errors import OutputError
from ssd_detect.files import check_target, explained_writing, give_name, shortened
from ssd_detect.model.conversion.settings import ConvertSettings, FileFormat
from ssd_detect.model.locate import locate

_SAVED_MODEL_FILE = "saved_model.pb"
# In this order: a TensorFlow checkpoint is there as soon as its index is.
_SUFFIXES = {
    FileFormat.TENSORFLOW: (".data-00000-of-00001", ".index"),
    FileFormat.SAFETENSORS: ("",),
    FileFormat.ONNX: ("",),
    FileFormat.SAVED_MODEL: ("",),
}


def target_files(target: Path, file_format: FileFormat) -> tuple[Path, ...]:
    """What will be at `target` at the end: files, or a SavedModel's folder."""
    return tuple(target.with_name(target.name + suffix) for suffix in _SUFFIXES[file_format])


def check_settings(settings: ConvertSettings) -> None:
    """Find out whether the source is there and the target may be written, which takes neither NumPy nor TensorFlow.

    Raises:
        CheckpointError: as `model.locate`.
        OutputError: as `check_targets`.
    """
    sources = locate(settings.checkpoint.given).files
    check_targets(settings.target, settings.file_format, sources, overwrite=settings.overwrite)


def check_targets(target: Path, file_format: FileFormat, sources: Sequence[Path], *, overwrite: bool) -> None:
    """Find out before the work begins whether `target` may be written; `sources` are the files that are converted.

    Raises:
        OutputError: as `files.check_target`; or a folder that is no SavedModel, or that holds a source.
    """
    if file_format is FileFormat.SAVED_MODEL:
        _check_folder(target, sources, overwrite=overwrite)
        return
    files = target_files(target, file_format)
    for file, source in itertools.product(files, sources):
        if file.exists() and file.samefile(source):  # a truer reason than that others of its files exist
            raise OutputError(f"{target}: is the input itself; name another output")
    for file in files:
        check_target(file, overwrite=overwrite)


def _check_folder(target: Path, sources: Sequence[Path], *, overwrite: bool) -> None:
    if not target.exists():
        check_target(target, overwrite=overwrite)
        return
    if not target.is_dir():
        raise OutputError(f"{target}: is a file, expected the name of a folder to write")
    content = {p.name for p in target.iterdir()}
    if content and _SAVED_MODEL_FILE not in content:
        raise OutputError(f"{target}: a folder of other files, expected a new one or a SavedModel; name another output")
    if content and not overwrite:
        raise OutputError(f"{target}: exists already; name another output or use --overwrite")
    if any(target.resolve() in source.resolve().parents for source in sources):
        raise OutputError(f"{target}: holds the input itself; name another output")


@contextmanager
def staged(target: Path) -> Iterator[Path]:
    """A hidden, empty folder beside `target`, on the same file system; it goes, with what is left in it, at the end.

    Its path is one that TensorFlow can read from: that takes *, ? and [ for patterns, and nothing but UTF-8.

    Raises:
        OutputError: the system refuses.
    """
    folder = target.absolute().with_name(f".{shortened(target.name)}.{secrets.token_hex(4)}")
    try:
        with explained_writing(target):
            folder.mkdir(parents=True)
        with _plain(folder) as path:
            yield path
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def _plain(folder: Path) -> Iterator[Path]:
    text = str(folder)
    if glob.escape(text) == text and "\\" not in text and text.isprintable():
        yield folder
        return
    with tempfile.TemporaryDirectory(prefix="ssd-detect-") as place:
        link = Path(place) / "stage"
        link.symlink_to(folder)
        yield link


def give_names(written: Path, target: Path, file_format: FileFormat, *, overwrite: bool) -> tuple[Path, ...]:
    """Let what was written under the name `written` become `target`; returns the files, or the folder.

    Raises:
        OutputError: somebody has written there meanwhile; the system refuses.
    """
    finals = target_files(target, file_format)
    if file_format is FileFormat.SAVED_MODEL:
        _give_folder(written, target, overwrite=overwrite)
        return finals
    for final in finals:
        check_target(final, overwrite=overwrite)
    for final in finals[1:]:  # an old index goes first: it must never be seen beside new data
        with explained_writing(target):
            final.unlink(missing_ok=True)
    for temporary, final in zip(target_files(written, file_format), finals, strict=True):
        give_name(temporary, final, overwrite=overwrite)
    return finals


def _give_folder(written: Path, target: Path, *, overwrite: bool) -> None:
    """A folder cannot be replaced in one step: the old one waits in the stage, and comes back if the new one fails."""
    _check_folder(target, (), overwrite=overwrite)
    replaced = written.with_name("replaced")
    with explained_writing(target):
        if target.exists():
            target.rename(replaced)
        try:
            written.rename(target)
        except BaseException:
            if replaced.exists():
                replaced.rename(target)
            raise
