"""A clip through the whole of `ssd-detect video`, with a detector that is there already."""

from contextlib import nullcontext
from pathlib import Path

from ssd_detect.benchmark.settings import BenchmarkSettings
from ssd_detect.detector import Detector
from ssd_detect.errors import SsdDetectError
from ssd_detect.media.video.sources.inputs import find_videos
from ssd_detect.media.video.sources.settings import SourceSettings
from ssd_detect.settings import EncodingSettings, Selection
from ssd_detect.videos.job import VideoJob, VideoJobHooks
from ssd_detect.videos.settings import Products, VideoJobSettings


def run_video(clip: Path, target: Path, detector: Detector, settings: BenchmarkSettings) -> None:
    """Make the annotated copy, in the place of an earlier one.

    Raises:
        SsdDetectError: as the run.
    """
    failures: list[SsdDetectError] = []
    job = VideoJob(
        find_videos([str(clip)], recursive=False),
        VideoJobSettings(
            settings.checkpoint,
            settings.detection,
            settings.batch_size,
            Products(file=target, overwrite=True),
            SourceSettings(),
            Selection(),
            EncodingSettings(),
        ),
        VideoJobHooks(
            load=lambda times: nullcontext(detector),
            progress=lambda name, total: nullcontext(lambda: None),
            on_outcome=lambda outcome: None,
            on_failure=failures.append,
        ),
    )
    job.run()
    for failure in failures:
        raise failure
