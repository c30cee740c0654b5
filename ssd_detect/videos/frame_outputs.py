"""What is made of each frame once its objects are known."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import Any, Protocol

from ssd_detect.arrays import Pixels
from ssd_detect.detections import Detections
from ssd_detect.formats.frame_record import FrameRecord, frame_to_dict
from ssd_detect.formats.video_summary import VideoSummary
from ssd_detect.media.crops import crop_detections, crop_name
from ssd_detect.media.drawing.draw import draw_detections
from ssd_detect.media.picture_files import save_picture
from ssd_detect.media.privacy import blur_objects
from ssd_detect.media.video.clock import FrameTime
from ssd_detect.media.video.run import DetectedFrame
from ssd_detect.stages import StageTimes
from ssd_detect.videos.settings import VideoJobSettings


class FrameSink(Protocol):
    """Takes the annotated frames of one video, with what was found in them."""

    def append(self, pixels: Pixels, time: FrameTime, record: Mapping[str, Any]) -> None:
        """Add a frame; raises OutputError."""


@dataclass
class FrameOutputs:
    """Everything that happens to a frame of one video.

    Args:
        name: of the video, as results tell it.
        key: place of its results.
        begin: second of the frames' clock from which a player counts; None: the first frame's.
        settings: of the run.
        sink: takes the annotated frames and the records.
        summary: counts them.
        times: gets the seconds of `draw`, `encode` and `write`.
        on_record: told of each record, for standard output.
        on_frame: called when a frame is done.
    """

    name: str
    key: PurePosixPath
    begin: Fraction | None
    settings: VideoJobSettings
    sink: FrameSink
    summary: VideoSummary
    times: StageTimes = field(default_factory=StageTimes)
    on_record: Callable[[Mapping[str, Any]], None] = lambda record: None
    on_frame: Callable[[], None] = lambda: None

    def write(self, found: DetectedFrame) -> None:
        """Blur, draw, save, count.

        Raises:
            OutputError: a file exists that must not be replaced, or the system refuses.
        """
        shown = self._reported(found.detections)
        time = found.frame.time
        self.begin = time.start if self.begin is None else self.begin
        seconds = float(time.start - self.begin)
        record = frame_to_dict(FrameRecord(self.name, found.number, seconds, shown, found.is_detected))
        with self.times.measure("draw"):
            clean, annotated = self._pictures(found, shown)
        self._save_pictures(found, shown, clean, annotated)
        with self.times.measure("encode"):
            self.sink.append(annotated, time, record)
        self.summary.add(seconds, float(time.end - time.start), shown, found.is_detected)
        self.on_record(record)
        self.on_frame()

    def _reported(self, detections: Detections) -> Detections:
        """Of everything found, what the user asked for; the rest was found to be blurred."""
        wanted = self.settings.detection
        if not self.settings.blur:
            return detections
        return detections.filter(classes=wanted.classes, exclude_classes=wanted.exclude_classes)

    def _pictures(self, found: DetectedFrame, shown: Detections) -> tuple[Pixels, Pixels]:
        """Without boxes and with them; the second is the first where nobody looks at it."""
        clean = found.frame.pixels
        if self.settings.blur:
            # An object that is in one of the frames around only is hidden all the way to the other.
            hidden = Detections.merge([found.detections, *found.around])
            clean = blur_objects(clean, hidden.filter(classes=self.settings.blur))
        if not self.settings.products.video and not self._is_snapshot(found.number):
            return clean, clean
        return clean, draw_detections(clean, shown, labels=self.settings.labels)

    def _is_snapshot(self, index: int) -> bool:
        every = self.settings.products.snapshot_every
        return every is not None and index % every == 0

    def _save_pictures(self, found: DetectedFrame, shown: Detections, clean: Pixels, annotated: Pixels) -> None:
        products = self.settings.products
        if products.snapshots is not None and self._is_snapshot(found.number):
            self._save(self._numbered(products.snapshots, found.number, ".jpg"), annotated)
        if products.crops is not None and found.is_detected:
            folder = products.crops / self.key.parent
            for crop in crop_detections(clean, shown):
                self._save(folder / crop_name(f"{self.key.name}_{found.number:06}", crop), crop.pixels)

    def _numbered(self, folder: Path, index: int, suffix: str) -> Path:
        return folder / self.key.with_name(f"{self.key.name}_{index:06}{suffix}")

    def _save(self, target: Path, pixels: Pixels) -> None:
        with self.times.measure("write"):
            save_picture(target, pixels, overwrite=self._overwrites)

    @cached_property
    def _overwrites(self) -> bool:
        return self.settings.products.overwrite or self.settings.resume
