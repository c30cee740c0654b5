"""What a report is made of besides the result: where the numbers come from, and what was compared."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from ssd_detect.datasets.dataset import AnnotatedPicture
from ssd_detect.errors import SettingError
from ssd_detect.evaluation.tables import PredictionTable, TruthTable
from ssd_detect.formats.provenance import Provenance


@dataclass(frozen=True)
class RunFacts:
    """Where the numbers come from; shown as they are.

    Args:
        dataset: as the user named it.
        dataset_kind: its layout, such as `voc`.
        split: such as `test`; None: all there is.
        provenance: checkpoint and thresholds; None when saved predictions do not tell.
        predictions: the file of saved predictions or raw outputs that was scored; None when the network ran.
        command: what makes the numbers again.
        date: when they were made, with its time zone.
        not_read: names of pictures that cannot be read.
    """

    dataset: str
    dataset_kind: str
    split: str | None
    provenance: Provenance | None
    predictions: str | None
    command: str
    date: datetime
    not_read: tuple[str, ...] = ()


@dataclass(frozen=True)
class FindingSettings:
    """What the errors are counted at.

    Args:
        score_threshold: for the confusion matrix and the kinds of errors, a detection's score is above this; 0 to 1.
        iou_threshold: an object is hit from this IoU on; above 0, at most 1.
        precision: that the threshold of each class must reach; above 0, at most 1.

    Raises:
        SettingError: a value is outside its range.
    """

    score_threshold: float = 0.5
    iou_threshold: float = 0.5
    precision: float = 0.9

    def __post_init__(self) -> None:
        if not (math.isfinite(self.score_threshold) and 0.0 <= self.score_threshold <= 1.0):
            raise SettingError(f"score_threshold is {self.score_threshold}, expected a number from 0 to 1")
        for name in ("iou_threshold", "precision"):
            value = getattr(self, name)
            if not (math.isfinite(value) and 0.0 < value <= 1.0):
                raise SettingError(f"{name} is {value}, expected a number above 0, at most 1")


@dataclass(frozen=True, eq=False)
class ReportDetails:
    """What was compared.

    Args:
        facts: see `RunFacts`.
        class_names: background first.
        truth, predictions: of the pictures, in their order.
        pictures: those of the tables; read again for the examples of errors.
        settings: see `FindingSettings`.

    Raises:
        ValueError: another number of pictures than in the tables.
    """

    facts: RunFacts
    class_names: tuple[str, ...]
    truth: TruthTable
    predictions: PredictionTable
    pictures: Sequence[AnnotatedPicture]
    settings: FindingSettings = FindingSettings()

    def __post_init__(self) -> None:
        numbers = {len(self.pictures), self.truth.num_pictures, self.predictions.num_pictures}
        if len(numbers) > 1:
            raise ValueError(f"expected one number of pictures, found {sorted(numbers)}")
