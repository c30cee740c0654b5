"""What a user can choose about a run over videos."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from ssd_detect import __version__
from ssd_detect.media.video.sources.settings import SourceSettings
from ssd_detect.settings import CheckpointSettings, DetectionSettings, EncodingSettings, Selection, SessionSettings

_LEAST_SEGMENT = 100  # frames that a killed run loses at most, but for the rounding


@dataclass(frozen=True)
class Products:
    """What a run leaves.

    Args:
        folder: annotated copies go below it, named as their videos; None when `file` names the only one.
        file: the annotated copy of the one video.
        video: make annotated copies at all.
        json_lines, csv, summary: a file each for the frames and the sums of all videos.
        crops: a folder for each object as a picture.
        snapshots: a folder for annotated frames.
        snapshot_every: of so many frames one.
        overwrite: replace existing files.
        streams: the caller tells records to somebody, and in a run that goes on again those of the one before.
    """

    folder: Path | None = None
    file: Path | None = None
    video: bool = True
    json_lines: Path | None = None
    csv: Path | None = None
    summary: Path | None = None
    crops: Path | None = None
    snapshots: Path | None = None
    snapshot_every: int | None = None
    overwrite: bool = False
    streams: bool = False

    @property
    def shared(self) -> list[Path]:
        """The files that all videos share."""
        return [path for path in (self.json_lines, self.csv, self.summary) if path is not None]

    @property
    def folders(self) -> list[Path]:
        """Those for pictures."""
        return [path for path in (self.crops, self.snapshots) if path is not None]


@dataclass(frozen=True)
class VideoJobSettings:
    """How videos become results.

    Args:
        checkpoint, detection, batch_size: as for `Detector`.
        products: what to make.
        source: how streams and cameras are read.
        selection: which frames.
        encoding: codec and quality of the copies.
        audio: take the sound over.
        labels: write class and score beside each box.
        blur: classes whose objects are made unrecognisable, whether reported or not.
        interpolates: objects move evenly in frames between those that the network sees.
        keeps_up: of a live source, write every frame, and let the network see what it can.
        resume: go on with an earlier run.
        session: as for `Detector`.
    """

    checkpoint: CheckpointSettings
    detection: DetectionSettings
    batch_size: int
    products: Products
    source: SourceSettings
    selection: Selection
    encoding: EncodingSettings
    audio: bool = True
    labels: bool = True
    blur: tuple[str, ...] = ()
    interpolates: bool = True
    keeps_up: bool = False
    resume: bool = False
    session: SessionSettings = field(default_factory=SessionSettings)

    @property
    def detected(self) -> DetectionSettings:
        """What the detector looks for: what is reported, and what is blurred."""
        return self.detection.also_for(self.blur)

    @property
    def group_size(self) -> int:
        """Frames that the network sees at once: fewer with a stride, since those between them wait too."""
        return max(1, self.batch_size // self.selection.stride)

    @property
    def segment_length(self) -> int:
        """Frames a segment: whole groups, so that a run that goes on makes the same ones."""
        group = self.group_size * self.selection.stride
        return -(-_LEAST_SEGMENT // group) * group

    def that_shape_results(self) -> Mapping[str, Any]:
        """The choices that two runs must share if one is to go on with the other."""
        products = {"crops": self.products.crops, "snapshots": self.products.snapshot_every}
        left_out = ("products", "source", "resume", "session")
        chosen = {name: value for name, value in asdict(self).items() if name not in left_out}
        return chosen | products | {"version": __version__} | self.session.that_shape_results()
