"""Networks in int8: what they are made with, and how.

float32 ONNX ─► range of each activation over the calibration pictures ─► pairs of nodes around integers ─► ONNX

Not by `onnxruntime.quantization.quantize_static`: it makes integers of the heads' outputs too, leaves its choice of
nodes to the version that is installed, and writes to the log of the process.
"""

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import numpy as np
import onnx

from ssd_detect.arrays import Floats, Pixels
from ssd_detect.engines.activation_ranges import activation_ranges
from ssd_detect.engines.calibration import chosen_pictures
from ssd_detect.engines.qdq_nodes import quantise, quantised_tensors
from ssd_detect.errors import PictureError, SettingError
from ssd_detect.media.pictures import read_picture
from ssd_detect.model.resize import resized
from ssd_detect.model.spec import ModelSpec
from ssd_detect.settings import SessionSettings
from ssd_detect.shipped import CAT, COFFEE, PORTRAIT

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


def calibration_inputs(
    settings: SessionSettings, spec: ModelSpec, on_note: Callable[[str], None] = lambda line: None
) -> Iterator[Floats]:
    """What int8 is calibrated with: (size, size, 3) float32, 0 to 255.

    Args:
        settings: with the folder, or none.
        spec: of the network.
        on_note: is told of pictures that are damaged, and left out.

    Raises:
        SettingError: the folder of the settings is none, or holds no pictures; while it is read: all are damaged.
    """
    folder = settings.calibration
    pictures = _shipped_views() if folder is None else _readable(chosen_pictures(folder), on_note)
    return (resized(picture, spec.size, spec.resize) for picture in pictures)


def _readable(paths: Iterable[Path], on_note: Callable[[str], None]) -> Iterator[Pixels]:
    """Damaged ones are told and left out, unless there are no others."""
    first, is_any = None, False
    for path in paths:
        try:
            picture = read_picture(path)
        except PictureError as error:
            on_note(f"{error}; int8 is calibrated without it")
            first = first or error
            continue
        is_any = True
        yield picture
    if first is not None and not is_any:
        raise SettingError("no picture of the folder to calibrate int8 with can be read; name others") from first


def _shipped_views() -> Iterator[Pixels]:
    """Three pictures, each seen whole, closer in five places, darker and brighter."""
    for picture in map(read_picture, _SHIPPED):
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
