"""Networks in int8: what they are made with, and how.

float32 ONNX ─► range of each activation over the calibration pictures ─► pairs of nodes around integers ─► ONNX

Not by `onnxruntime.quantization.quantize_static`: it makes integers of the heads' outputs too, leaves its choice of
nodes to the version that is installed, and writes to the log of the process.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
import onnx

from ssd_detect.arrays import Floats, Pixels
from ssd_detect.engines.activation_ranges import activation_ranges
from ssd_detect.engines.qdq_nodes import quantise, quantised_tensors
from ssd_detect.errors import PictureError, SettingError, SsdDetectError
from ssd_detect.media.pictures import read_picture
from ssd_detect.media.sources.folders import PICTURES, FolderSearch
from ssd_detect.model.resize import resized
from ssd_detect.model.spec import ModelSpec
from ssd_detect.settings import SessionSettings
from ssd_detect.shipped import CAT, COFFEE, PORTRAIT

MOST_PICTURES = 64
"""Of a folder: enough for the ranges to have settled, half a minute of calibration on two cores."""

_SHIPPED = (PORTRAIT, CAT, COFFEE)


def quantised_onnx(float_onnx: Path, target: Path, calibration: Iterable[Floats]) -> None:
    """Write the int8 form of a network that `checkpoints convert` has written; the same inputs make the same file.

    Inputs and outputs stay as they are, float32.

    Args:
        float_onnx: with the input `pictures` (B, size, size, 3).
        target: written as it is; the caller gives it its final name.
        calibration: (size, size, 3) float32, 0 to 255; taken one at a time.

    Raises:
        SettingError: no calibration pictures; a network that computes what is no number.
        MissingPackageError: onnxruntime is not installed.
        OSError: the system refuses to write.
    """
    model = onnx.load(float_onnx)
    quantise(model.graph, activation_ranges(model, quantised_tensors(model.graph), calibration))
    onnx.checker.check_model(model)
    target.write_bytes(model.SerializeToString(deterministic=True))


def calibration_inputs(settings: SessionSettings, spec: ModelSpec) -> Iterator[Floats]:
    """What int8 is calibrated with: (size, size, 3) float32, 0 to 255.

    Raises:
        SettingError: the folder of the settings is none, or holds no pictures.
        PictureError: while it is read: a picture of it is damaged.
    """
    pictures = _shipped_views() if settings.calibration is None else _read(_chosen(settings.calibration))
    return (resized(picture, spec.size, spec.resize) for picture in pictures)


def _chosen(folder: Path) -> list[Path]:
    """Of the pictures in a folder and below it, at most `MOST_PICTURES`, evenly spread over the sorted names."""
    if not folder.is_dir():
        raise SettingError(f"{folder}: is no folder, expected one of pictures to calibrate int8 with")
    try:
        found = FolderSearch(recursive=True, on_error=_refuse, medium=PICTURES).in_folder(folder)
    except PictureError as error:
        raise SettingError(f"{error}; int8 is calibrated with some {MOST_PICTURES} like those to come") from error
    places = np.linspace(0, len(found) - 1, min(len(found), MOST_PICTURES))
    return [found[round(place)] for place in places.tolist()]


def _refuse(error: SsdDetectError) -> None:
    raise error


def _read(paths: Iterable[Path]) -> Iterator[Pixels]:
    return (read_picture(path) for path in paths)


def _shipped_views() -> Iterator[Pixels]:
    """Three pictures, each seen whole, closer in five places, darker and brighter."""
    for picture in _read(_SHIPPED):
        yield picture
        yield from _closer(picture)
        for gain in (0.5, 1.6):
            yield np.minimum(picture * gain, 255).astype(np.uint8)


def _closer(picture: Pixels) -> Iterator[Pixels]:
    """The four corners and the middle, half as wide and high."""
    height, width = picture.shape[0] // 2, picture.shape[1] // 2
    for down, right in ((0.0, 0.0), (0.0, 1.0), (1.0, 0.0), (1.0, 1.0), (0.5, 0.5)):
        top, left = int(down * height), int(right * width)
        yield picture[top : top + height, left : left + width]
