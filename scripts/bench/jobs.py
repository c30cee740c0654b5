"""Runs of `ssd-detect video` and `ssd-detect image` with a detector that is there already."""

from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from measuring import resident_mebibytes

from ssd_detect.batch.job import JobHooks, PictureJob
from ssd_detect.batch.settings import JobSettings
from ssd_detect.errors import SsdDetectError
from ssd_detect.media.sources.inputs import find_inputs
from ssd_detect.media.video.sources.inputs import find_videos
from ssd_detect.media.video.sources.settings import SourceSettings
from ssd_detect.model.manifest import DEFAULT_CHECKPOINT
from ssd_detect.settings import CheckpointSettings, DetectionSettings, EncodingSettings, Selection
from ssd_detect.stages import StageTimes
from ssd_detect.videos.job import VideoJob, VideoJobHooks
from ssd_detect.videos.settings import Products, VideoJobSettings

if TYPE_CHECKING:  # it imports TensorFlow
    from ssd_detect.detector import Detector


@dataclass
class Run:
    """One run.

    Args:
        detector: used as it is.
        times: get the seconds of each stage.
        resident: MiB after each picture or frame.
    """

    detector: "Detector"
    times: StageTimes = field(default_factory=StageTimes)
    resident: list[float] = field(default_factory=list)

    def video(self, video: Path, copy: Path) -> int:
        """Make the annotated copy; returns how many frames it has."""
        before = len(self.resident)
        settings = VideoJobSettings(
            CheckpointSettings(DEFAULT_CHECKPOINT),
            DetectionSettings(),
            self.detector.batch_size,
            Products(file=copy, overwrite=True),
            SourceSettings(),
            Selection(),
            EncodingSettings(),
        )
        hooks = VideoJobHooks(
            load=lambda times: nullcontext(self.detector),
            progress=lambda name, total: nullcontext(lambda: None),
            on_outcome=lambda outcome: None,
            on_failure=_fail,
            on_record=lambda record: self.resident.append(resident_mebibytes()),
        )
        VideoJob(find_videos([str(video)], recursive=False), settings, hooks, self.times).run()
        return len(self.resident) - before

    def pictures(self, folder: Path, target: Path) -> int:
        """Copies, JSON and CSV of all pictures of a folder; returns how many."""
        before = len(self.resident)
        settings = JobSettings(
            CheckpointSettings(DEFAULT_CHECKPOINT),
            DetectionSettings(),
            self.detector.batch_size,
            folder=target,
            formats=("image", "json", "csv"),
            overwrite=True,
        )
        hooks = JobHooks(
            load=lambda times: nullcontext(self.detector),
            on_record=lambda record, targets: self.resident.append(resident_mebibytes()),
            on_failure=lambda name, error: _fail(error),
        )
        PictureJob(find_inputs([str(folder)], recursive=False), settings, hooks).run()
        return len(self.resident) - before


def _fail(error: SsdDetectError) -> None:
    raise error
