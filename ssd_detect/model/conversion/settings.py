"""What a user can choose about a conversion. No NumPy and no TensorFlow here, since options are made of these names."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from ssd_detect.errors import SettingError
from ssd_detect.model.readers.sniff import SUFFIXES
from ssd_detect.settings import CheckpointSettings, take_words


class FileFormat(str, Enum):
    """What is written."""

    TENSORFLOW = "tensorflow"  # a V2 checkpoint, PREFIX.index and PREFIX.data-00000-of-00001
    SAFETENSORS = "safetensors"
    ONNX = "onnx"
    SAVED_MODEL = "saved-model"  # a folder


class Precision(str, Enum):
    """How kernels are stored; biases and the L2 scales are float32 always."""

    FLOAT32 = "float32"
    FLOAT16 = "float16"
    INT8 = "int8"  # symmetric, one float32 scale an output channel


_FORMAT_OF_SUFFIX: Mapping[str, FileFormat] = {
    ".safetensors": FileFormat.SAFETENSORS,
    ".onnx": FileFormat.ONNX,
    ".ckpt": FileFormat.TENSORFLOW,
    "": FileFormat.SAVED_MODEL,
}
_KNOWN_SUFFIXES = frozenset({*_FORMAT_OF_SUFFIX, *SUFFIXES, ".index", ".meta", ".tflite"})


@dataclass(frozen=True)
class ConvertSettings:
    """A conversion.

    Args:
        checkpoint: what to convert; what it settles travels in the written file.
        target: file to write; of a TensorFlow checkpoint its prefix, of a SavedModel its folder.
        file_format: what to write.
        precision: how kernels are stored; other than float32 in .safetensors files only, the one format of the four
            for which readers of other precisions are at hand.
        overwrite: replace what is there.

    Raises:
        SettingError: a precision that the format does not have, a name that another format's files have, or a word that
            is neither.
    """

    checkpoint: CheckpointSettings
    target: Path
    file_format: FileFormat
    precision: Precision = Precision.FLOAT32
    overwrite: bool = False

    def __post_init__(self) -> None:
        take_words(self, file_format=FileFormat, precision=Precision)
        if self.precision is not Precision.FLOAT32 and self.file_format is not FileFormat.SAFETENSORS:
            raise SettingError(
                f"precision {self.precision.value} is for .safetensors files only, expected float32 for "
                f"{self.file_format.value}"
            )
        suffix = self.target.suffix.lower()
        if suffix and suffix in _KNOWN_SUFFIXES and _FORMAT_OF_SUFFIX.get(suffix) is not self.file_format:
            raise SettingError(
                f"{self.target}: {suffix} is what files of another format end in, expected {self.file_format.value}; "
                "name another output, or leave out --to"
            )


def format_of(target: Path) -> FileFormat:
    """The format that the name of `target` means; a name without a suffix is a folder, that of a SavedModel.

    Raises:
        SettingError: the name tells nothing.
    """
    suffix = target.suffix.lower()
    if suffix not in _FORMAT_OF_SUFFIX:
        raise SettingError(
            f"{target}: the name does not tell the format; end it in .safetensors, .onnx or .ckpt, name a folder for a "
            f"SavedModel, or use --to {'|'.join(f.value for f in FileFormat)}"
        )
    return _FORMAT_OF_SUFFIX[suffix]
