"""A checkpoint into another format: read, write aside, prove, and only then give the name."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import tensorflow as tf

from ssd_detect.environment import import_untracked
from ssd_detect.errors import OutputError
from ssd_detect.files import explained_writing
from ssd_detect.model.checkpoint import Checkpoint, load_checkpoint
from ssd_detect.model.conversion.outgoing import Outgoing, ReadBack, outgoing_of
from ssd_detect.model.conversion.proof import Proof, prove
from ssd_detect.model.conversion.settings import ConvertSettings, FileFormat
from ssd_detect.model.conversion.staging import check_settings, give_names, staged
from ssd_detect.optional_packages import ONNXRUNTIME_DISTRIBUTIONS, explained_import, installed_of

_INSTALL = 'pip install "ssd-detect[onnx]"'


@dataclass(frozen=True)
class ConversionReport:
    """What was written.

    Args:
        files: the files, or the folder of a SavedModel.
        num_bytes: of all of it.
        proof: what the proof measured.
        assumed: what was only assumed about the source, in words; the written file says so too.
    """

    files: tuple[Path, ...]
    num_bytes: int
    proof: Proof
    assumed: tuple[str, ...]


class _Format(NamedTuple):
    """How one format is written and read. `name` is that of the file before it is proved."""

    name: str
    write: Callable[[Path, Outgoing], None]
    read: Callable[[Path, Outgoing], ReadBack]


def convert(settings: ConvertSettings, on_stage: Callable[[str], None] = lambda stage: None) -> ConversionReport:
    """Convert a checkpoint; what is not proved leaves nothing behind.

    Args:
        settings: what to convert into what.
        on_stage: is told `reading`, `writing` and `proving` as each begins.

    Raises:
        CheckpointError: the source cannot be used, or its weights do not fit the precision.
        SettingError: anchors or class names that do not fit the source.
        OutputError: the target may not be written, the system refuses, or the proof fails.
        MissingPackageError, DeviceError: onnx or onnxruntime is not installed, or does not start.
    """
    written_as = _format(settings.file_format)
    check_settings(settings)
    on_stage("reading")
    checkpoint = load_checkpoint(settings.checkpoint)
    outgoing = outgoing_of(checkpoint, settings.precision)
    with staged(settings.target) as folder:
        aside = folder / written_as.name
        on_stage("writing")
        _write(written_as, aside, outgoing, settings.target)
        on_stage("proving")
        proof = _proved(written_as, aside, checkpoint, outgoing, settings)
        files = give_names(aside, settings.target, settings.file_format, overwrite=settings.overwrite)
    return ConversionReport(files, sum(map(_num_bytes, files)), proof, checkpoint.assumed)


def _format(file_format: FileFormat) -> _Format:
    if file_format is FileFormat.ONNX:
        return _onnx()
    if file_format is FileFormat.SAVED_MODEL:
        from ssd_detect.model.conversion.to_saved_model import read_saved_model, write_saved_model

        return _Format("model", write_saved_model, read_saved_model)
    if file_format is FileFormat.TENSORFLOW:
        from ssd_detect.model.conversion.to_tensorflow import read_tensorflow, write_tensorflow

        return _Format("model.ckpt", write_tensorflow, read_tensorflow)
    from ssd_detect.model.conversion.to_safetensors import read_safetensors, write_safetensors

    return _Format("model.safetensors", write_safetensors, read_safetensors)


def _onnx() -> _Format:
    runtime = installed_of(ONNXRUNTIME_DISTRIBUTIONS)
    with explained_import("onnxruntime", runtime, "ONNX files need the package onnxruntime, for their proof", _INSTALL):
        import_untracked("onnxruntime")  # better missed now than after the writing
    with explained_import("onnx", "onnx", "ONNX files need the package onnx", _INSTALL):
        from ssd_detect.model.conversion.to_onnx import read_onnx, write_onnx
    return _Format("model.onnx", write_onnx, read_onnx)


def _write(written_as: _Format, aside: Path, outgoing: Outgoing, target: Path) -> None:
    try:
        with explained_writing(target):
            written_as.write(aside, outgoing)
    except tf.errors.OpError as error:
        reason = error.message.strip().splitlines()[0]
        raise OutputError(f"{target}: cannot be written: {reason}") from error


def _proved(
    written_as: _Format, aside: Path, checkpoint: Checkpoint, outgoing: Outgoing, settings: ConvertSettings
) -> Proof:
    try:
        return prove(checkpoint, outgoing, settings.precision, lambda: written_as.read(aside, outgoing))
    except OutputError as error:
        raise OutputError(f"{settings.target}: {error}") from error


def _num_bytes(path: Path) -> int:
    files = path.rglob("*") if path.is_dir() else [path]
    return sum(file.stat().st_size for file in files if file.is_file())
