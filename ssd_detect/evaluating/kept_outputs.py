"""Detections from a file of kept outputs, with any thresholds and profile; neither network nor TensorFlow."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from ssd_detect.arrays import Flags, Floats, Integers
from ssd_detect.boxes.anchors import make_anchors
from ssd_detect.boxes.outputs import OutputDecoder
from ssd_detect.boxes.profiles import resolved
from ssd_detect.classes import CLASS_LISTS
from ssd_detect.detections import Detections
from ssd_detect.errors import SettingError
from ssd_detect.evaluating.found import Found
from ssd_detect.evaluating.raw_file import RawFile, RawHeader
from ssd_detect.formats.file_reading import explained_reading
from ssd_detect.formats.provenance import Provenance
from ssd_detect.model.class_cut import kept_outputs
from ssd_detect.settings import CheckpointSettings, DetectionSettings
from ssd_detect.stages import StageTimes

_MOST_SCORE = np.float32(1.001)  # a softmax may round to a little above 1


def found_in_outputs(raw: RawFile, checkpoint: CheckpointSettings, detection: DetectionSettings) -> Found:
    """The detections in all pictures of the file.

    Args:
        raw: open while the pictures are read.
        checkpoint: of it count the choices that concern outputs: class names, class list, and anchors.
        detection: as for `Detector`.

    Raises:
        SettingError: a score threshold below what the file holds, choices that concern the network's input, or as
            `Detector`.
        FormatError: the file is damaged.
    """
    if checkpoint.resize is not None or checkpoint.colour_order is not None:
        raise SettingError(f"{raw.path}: holds outputs, which resize rule and colour order come before; leave them out")
    header = raw.header
    names = checkpoint.class_names or header.class_names
    if len(names) != len(header.class_names):
        raise SettingError(
            f"{raw.path}: has {len(header.class_names) - 1} classes (without the background), "
            f"the list of class names has {len(names) - 1}"
        )
    cut = kept_outputs(names, checkpoint.class_list) if checkpoint.class_list else None
    if checkpoint.class_list:
        names = CLASS_LISTS[checkpoint.class_list]
    decode = OutputDecoder(names, resolved(detection, header.profile), StageTimes())
    _check_floor(raw, decode, 0 if cut is None else len(header.class_names) - len(cut))
    anchors = _anchors(header, checkpoint)
    provenance = Provenance(header.checkpoint_name, header.checkpoint_sha256, decode.settings, header.precision)
    return Found(names, _detections(raw, decode, anchors, cut), provenance)


def _anchors(header: RawHeader, checkpoint: CheckpointSettings) -> Floats:
    return make_anchors(
        checkpoint.anchors or header.anchors,
        checkpoint.anchor_rounding or header.anchor_rounding,
        checkpoint.anchor_clip or header.anchor_clip,
    )


def _check_floor(raw: RawFile, decode: OutputDecoder, num_cut: int) -> None:
    """Refuse thresholds that anchors may pass which the file leaves out.

    Where classes are cut, the scores of the others grow: an anchor that was left out has less than `floor` in each of
    `num_cut` classes, so that the rest shares more than 1 - num_cut x floor.
    """
    left = 1 - num_cut * raw.header.floor
    limit = raw.header.floor / left if left > 0 else 1.0
    chosen = (
        decode.thresholds[decode.wanted].min() if decode.thresholds is not None else decode.settings.score_threshold
    )
    if chosen < np.float32(limit):
        raise SettingError(
            f"{raw.path}: holds what scores {limit:.4g} or more, the score threshold is {chosen:g}; "
            "raise it, or let the network run again"
        )


def _detections(
    raw: RawFile, decode: OutputDecoder, anchors: Floats, cut: list[int] | None
) -> Iterator[tuple[str, Detections]]:
    for i, picture in enumerate(raw.header.pictures):
        numbers, scores, offsets = raw.outputs(i)
        with explained_reading(f"{raw.path}: {picture.name}"):
            _check(numbers, scores, offsets, len(anchors))
            if cut is not None:
                scores = scores[:, cut]
                scores /= scores.sum(axis=1, keepdims=True)  # what a softmax over these classes alone gives
            found = decode(scores, offsets, anchors[numbers], (picture.width, picture.height))
        yield picture.name, replace(found, best_guess=None)  # its anchor may have been left out


def _check(numbers: Integers, scores: Floats, offsets: Floats, num_anchors: int) -> None:
    """Refuse what no network has given: none that a softmax follows scores NaN in one class and a number in another."""
    if len(numbers) and not 0 <= numbers.min() <= numbers.max() < num_anchors:
        raise ValueError(f"its anchors are not those of an SSD of {num_anchors} anchors")
    if (np.diff(numbers) <= 0).any():
        raise ValueError("its anchors are not ascending, expected each at most once")
    _check_values(numbers, scores, (scores >= 0) & (scores <= _MOST_SCORE), "score", "a number from 0 to 1")
    _check_values(numbers, offsets, np.isfinite(offsets), "offset", "a finite number")


def _check_values(numbers: Integers, values: Floats, fits: Flags, name: str, expected: str) -> None:
    if not fits.all():
        row, column = np.argwhere(~fits)[0]
        raise ValueError(f"holds the {name} {values[row, column]:g} of anchor {numbers[row]}, expected {expected}")
