"""What a user can choose about an evaluation."""

from dataclasses import dataclass, field
from pathlib import Path

from ssd_detect.errors import SettingError
from ssd_detect.settings import CheckpointSettings, DetectionSettings, SessionSettings

METRICS = ("voc07", "voc10", "coco")
DEFAULT_IOU = 0.5
WHOLE_CURVES_FROM = 0.01
"""The score threshold of the papers' evaluations; what is saved with a higher one lacks the end of its curves."""


@dataclass(frozen=True)
class EvalSettings:
    """What is compared, and what is made of it.

    Args:
        dataset: folder or file.
        split: of the data set, such as `test`.
        checkpoint, detection, batch_size: as for `Detector`.
        metrics: of `METRICS`; the first one is the one that counts where a single number is wanted.
        iou_thresholds: for VOC's metrics; the first one counts likewise.
        bootstrap: resamples for an interval of the means; None makes none.
        limit: of the pictures, only so many, the first ones.
        folder: for the results; None writes none.
        keep_raw: keep the network's outputs in this file.
        from_raw: outputs of an earlier run, in the place of the network.
        predictions: saved detections, in the place of the network.
        thresholds: the file of score thresholds that `detection` holds, which is to stay as it is.
        write_thresholds: write a score threshold for each class into this file.
        precision: that these thresholds are to reach.
        json_file: write the numbers as JSON there, too.
        resume: go on with an earlier run in `folder`.
        overwrite: existing files may be replaced.
        command: what the user typed, for the report.
        session: as for `Detector`.

    Raises:
        SettingError: choices that exclude each other.
    """

    dataset: Path
    checkpoint: CheckpointSettings
    detection: DetectionSettings
    batch_size: int
    split: str | None = None
    metrics: tuple[str, ...] = METRICS
    iou_thresholds: tuple[float, ...] = (DEFAULT_IOU,)
    bootstrap: int | None = None
    limit: int | None = None
    folder: Path | None = None
    keep_raw: Path | None = None
    from_raw: Path | None = None
    predictions: Path | None = None
    thresholds: Path | None = None
    write_thresholds: Path | None = None
    precision: float = 0.9
    json_file: Path | None = None
    resume: bool = False
    overwrite: bool = False
    command: str = ""
    session: SessionSettings = field(default_factory=SessionSettings)

    def __post_init__(self) -> None:
        if self.from_raw is not None and self.predictions is not None:
            raise SettingError("--from-raw and --predictions exclude each other; leave one of them out")
        source = (
            "--from-raw" if self.from_raw is not None else "--predictions" if self.predictions is not None else None
        )
        for name, given in (("--keep-raw", self.keep_raw is not None), ("--resume", self.resume)):
            if source is not None and given:
                raise SettingError(f"{name} is for runs of the network, and {source} needs none; leave one of them out")
        if self.resume and self.folder is None:
            raise SettingError("--resume goes on in the folder of an earlier run; name it with -o")

    @property
    def targets(self) -> list[Path]:
        """The files that were named one by one."""
        named = (self.keep_raw, self.write_thresholds, self.json_file)
        return [path for path in named if path is not None]

    @property
    def overwrites(self) -> bool:
        """Whether results of an earlier run may be replaced: those of the one that goes on, too."""
        return self.overwrite or self.goes_on

    @property
    def goes_on(self) -> bool:
        """Whether there is a run of the network in `folder` to go on with."""
        from ssd_detect.batch.journal import has_journal  # needs NumPy, which a usage error does without

        return self.resume and self.folder is not None and has_journal(self.folder)

    def that_shape_the_report(self) -> tuple[tuple[str, object], ...]:
        """The choices, beside the detector's, that a run must share with the one that it goes on with."""
        return (
            ("dataset", str(self.dataset.resolve())),
            ("split", self.split),
            ("limit", self.limit),
            ("keep_raw", None if self.keep_raw is None else str(self.keep_raw.resolve())),
            ("metrics", self.metrics),
            ("iou_thresholds", self.iou_thresholds),
            ("bootstrap", self.bootstrap),
            ("precision", self.precision),
        )
