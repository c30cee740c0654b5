"""What came of videos, in numbers; and `schema/video-summary.schema.json`, the JSON file that holds them.

The file has one form for any number of videos: schema, a list `videos`, tool, checkpoint, thresholds. Times and
durations are in seconds and have at most 6 decimals.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ssd_detect.detections import BestGuess, Detections
from ssd_detect.formats.json_text import json_file
from ssd_detect.formats.provenance import Provenance
from ssd_detect.formats.rounding import rounded_seconds
from ssd_detect.formats.video_head import VideoHead
from ssd_detect.formats.writer import write_whole

SCHEMA = "ssd-detect.video-summary/1"


@dataclass
class ClassSummary:
    """What was seen of one class, over all frames, whether the network saw them or not.

    Args:
        first: time of the first frame with the class, in seconds.
        last: time of the last one.
        detections: over all frames.
        num_frames: frames with the class.
        seconds: how long these frames are shown, together.
        most_at_once: detections in the frame that has most of them.
    """

    first: float
    last: float
    detections: int = 0
    num_frames: int = 0
    seconds: float = 0.0
    most_at_once: int = 0

    def add(self, seconds: float, duration_seconds: float, count: int) -> None:
        """Count a frame that shows the class `count` times."""
        self.last = seconds
        self.detections += count
        self.num_frames += 1
        self.seconds += duration_seconds
        self.most_at_once = max(self.most_at_once, count)

    def to_dict(self) -> dict[str, Any]:
        """Plain values: detections, frames, seconds, first, last, most_at_once."""
        return {
            "detections": self.detections,
            "frames": self.num_frames,
            "seconds": rounded_seconds(self.seconds),
            "first": self.first,
            "last": self.last,
            "most_at_once": self.most_at_once,
        }


@dataclass
class VideoSummary:
    """What came of a video so far; it grows with the classes that were seen, not with the frames.

    Args:
        num_frames: frames done.
        num_detected: those of them that the network saw; in the others detections are held over or interpolated.
        seconds: from the begin of the first frame to the end of the last.
        classes: class name -> what was seen of it, in the order in which classes were first seen.
        best_guess: the best score of frames in which nothing reached the threshold; `add_dict` knows of none.
    """

    num_frames: int = 0
    num_detected: int = 0
    seconds: float = 0.0
    classes: dict[str, ClassSummary] = field(default_factory=dict)
    best_guess: BestGuess | None = None
    _start: float = 0.0

    @property
    def objects(self) -> Counter[str]:
        """Class name -> detections over all frames."""
        return Counter({name: seen.detections for name, seen in self.classes.items()})

    def add(self, seconds: float, duration_seconds: float, detections: Detections, detected: bool = True) -> None:
        """Count a frame; frames come in the order of their times.

        Args:
            seconds: when the frame appears.
            duration_seconds: how long it is shown, not rounded.
            detections: what was found in it.
            detected: the network saw it.
        """
        self._count(seconds, duration_seconds, Counter(found.class_name for found in detections), detected)
        guess = detections.best_guess
        if guess is not None and (self.best_guess is None or guess.score > self.best_guess.score):
            self.best_guess = guess

    def add_dict(self, values: Mapping[str, Any], duration_seconds: float) -> None:
        """Count a frame by its values of `frame_to_dict`; the sums become those that `add` would have made."""
        counts = Counter(found["class"] for found in values["detections"])
        self._count(values["time"], duration_seconds, counts, values["detected"])

    def _count(self, seconds: float, duration_seconds: float, counts: Counter[str], detected: bool) -> None:
        seconds = rounded_seconds(seconds)  # as in frame_to_dict
        if self.num_frames == 0:
            self._start = seconds
        self.num_frames += 1
        self.num_detected += detected
        self.seconds = seconds + duration_seconds - self._start
        for name, count in counts.items():
            self.classes.setdefault(name, ClassSummary(seconds, seconds)).add(seconds, duration_seconds, count)

    def to_dict(self) -> dict[str, Any]:
        """Plain values: frames, frames_detected, seconds, classes; the class with most detections comes first."""
        return {
            "frames": self.num_frames,
            "frames_detected": self.num_detected,
            "seconds": rounded_seconds(self.seconds),
            "classes": {name: self.classes[name].to_dict() for name, _ in self.objects.most_common()},
        }


@dataclass(frozen=True)
class VideoResult:
    """What the file holds of one video.

    Args:
        video: which one.
        summary: what was found in it.
        lost: what was missing in it, in words; None when nothing was.
        interrupted: the run ended before the video did.
    """

    video: VideoHead
    summary: VideoSummary
    lost: str | None = None
    interrupted: bool = False

    def to_dict(self) -> dict[str, Any]:
        """Plain values: file, width, height, rate, those of the summary, lost, interrupted."""
        return {
            **self.video.to_dict(),
            **self.summary.to_dict(),
            "lost": self.lost,
            "interrupted": self.interrupted,
        }


def write_video_summaries(
    path: Path, results: Sequence[VideoResult], provenance: Provenance, *, overwrite: bool = False
) -> None:
    """Write the JSON file of these videos, in their order; the file is whole or absent.

    Args:
        path: the file.
        results: may be empty.
        provenance: checkpoint and settings of the run.
        overwrite: replace an existing file.

    Raises:
        OutputError: the file exists and `overwrite` is off, or the system refuses.
        ValueError: a time or duration is not finite.
    """
    videos = [result.to_dict() for result in results]
    write_whole(path, json_file({"schema": SCHEMA, "videos": videos, **provenance.to_dict()}), overwrite=overwrite)
