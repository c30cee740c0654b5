"""From the network's outputs for a batch to `Detections`, with all that is fixed for a run worked out once."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from ssd_detect.arrays import Flags, Floats, Integers
from ssd_detect.boxes.geometry import scale_unit_xyxy
from ssd_detect.boxes.postprocess import Candidates, candidates_of, keep_best
from ssd_detect.boxes.selection import Selected, score_limits, select_scores
from ssd_detect.classes import find_class_ids
from ssd_detect.detections import BestGuess, Detections, DroppedBoxes
from ssd_detect.errors import SettingError
from ssd_detect.settings import DetectionSettings
from ssd_detect.stages import StageTimes


@dataclass(frozen=True, eq=False)
class OutputDecoder:
    """Makes detections of scores and offsets.

    Args:
        class_names: of the network, background first.
        settings: resolved, see `boxes.profiles`.
        times: gets the seconds of `decode` and `nms`.

    Raises:
        UnknownClassError: a name of no class.
        SettingError: no class is left, or a class has two thresholds.
    """

    class_names: tuple[str, ...]
    settings: DetectionSettings
    times: StageTimes
    wanted: Flags = field(init=False)
    thresholds: Floats | None = field(init=False)
    limits: Floats = field(init=False)
    """(C,) float32, for `select_scores`."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "wanted", wanted_classes(self.settings, self.class_names))
        object.__setattr__(self, "thresholds", class_thresholds(self.settings, self.class_names))
        object.__setattr__(self, "limits", score_limits(self.wanted, self.settings, self.thresholds))

    def __call__(self, scores: Floats, offsets: Floats, anchors: Floats, size: tuple[int, int]) -> Detections:
        """The detections of one picture.

        Args:
            scores: (n, C) float32, 0 to 1.
            offsets: (n, 4) float32.
            anchors: (n, 4) float32 cxcywh unit.
            size: (width, height) of the picture in pixels.
        """
        with self.times.measure("decode"):
            selected = select_scores(scores[np.newaxis], offsets[np.newaxis], self.limits)
        return self.decode(selected, anchors, [size])[0]

    def decode(self, selected: Selected, anchors: Floats, sizes: Sequence[tuple[int, int]]) -> list[Detections]:
        """The detections of each picture of a batch.

        Args:
            selected: with `limits`.
            anchors: (N, 4) float32 cxcywh unit.
            sizes: (width, height) of each picture in pixels, B of them.
        """
        with self.times.measure("decode"):
            candidates, dropped = candidates_of(selected, anchors, self.settings)
        with self.times.measure("nms"):
            kept = keep_best(candidates, self.settings)
        borders = np.searchsorted(kept.picture_ids, np.arange(len(sizes) + 1)).tolist()
        return [
            self._detections(kept.at(slice(*borders[i : i + 2])), size, selected.peaks[i], dropped[i])
            for i, size in enumerate(sizes)
        ]

    def _detections(self, kept: Candidates, size: tuple[int, int], peaks: Floats, dropped: Integers) -> Detections:
        return Detections(
            boxes=scale_unit_xyxy(kept.boxes_unit, *size),
            scores=kept.scores,
            class_ids=kept.class_ids,
            size=size,
            class_names=self.class_names,
            best_guess=None if len(kept.scores) else self._best_guess(peaks),
            dropped=DroppedBoxes(*dropped.tolist()),
        )

    def _best_guess(self, peaks: Floats) -> BestGuess:
        """The wanted class with the highest of the peaks (C,); the first one among equals."""
        class_id = int(np.argmax(np.where(self.wanted, peaks, -1)))
        return BestGuess(self.class_names[class_id], float(peaks[class_id]))


def wanted_classes(settings: DetectionSettings, class_names: Sequence[str]) -> Flags:
    """(C,) bool: the classes that `settings` ask for; never the background.

    Raises:
        UnknownClassError: a name of no class.
        SettingError: none is left.
    """
    wanted = np.ones(len(class_names), np.bool_)
    if settings.classes:
        wanted[:] = False
        wanted[list(find_class_ids(settings.classes, class_names))] = True
    wanted[[0, *find_class_ids(settings.exclude_classes, class_names)]] = False
    if not wanted.any():
        raise SettingError("no class is left to look for: every wanted class is excluded too")
    return wanted


def class_thresholds(settings: DetectionSettings, class_names: Sequence[str]) -> Floats | None:
    """(C,) float32: the score threshold of each class; None where all have the same.

    Raises:
        UnknownClassError: a name of no class.
        SettingError: a class has two.
    """
    if not settings.class_thresholds:
        return None
    names, values = zip(*settings.class_thresholds, strict=True)
    ids = find_class_ids(names, class_names)
    twice = [class_names[i] for place, i in enumerate(ids) if i in ids[:place]]
    if twice:
        raise SettingError(f"class {twice[0]!r} has two score thresholds, expected one")
    thresholds = np.full(len(class_names), settings.score_threshold, np.float32)
    thresholds[list(ids)] = values
    return thresholds
