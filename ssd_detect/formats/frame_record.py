"""One frame of a video and what was found in it, as a value and as plain JSON."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ssd_detect.detections import Detections
from ssd_detect.formats.file_reading import explained_reading
from ssd_detect.formats.json_detections import detections_from, detections_to_dict
from ssd_detect.formats.json_values import LARGEST, file_name, flag, number, whole
from ssd_detect.formats.rounding import rounded_seconds


@dataclass(frozen=True)
class FrameRecord:
    """One frame and what was found in it.

    Args:
        file: the video as the user named it.
        index: number of the frame among those that were read, from 0.
        seconds: when the frame appears, from the beginning of the video on its own clock; kept with 6 decimals.
        detections: what was found; may be empty.
        detected: the network saw this frame; when False, the detections are held over or interpolated.

    Raises:
        ValueError: a negative index, or a time that is no number; either beyond 1e9.
    """

    file: str
    index: int
    seconds: float
    detections: Detections
    detected: bool = True

    def __post_init__(self) -> None:
        if not 0 <= self.index <= LARGEST:
            raise ValueError(f"the frame's number is {self.index}, expected 0 to {LARGEST:g}")
        if not abs(self.seconds) <= LARGEST:
            raise ValueError(f"the frame's time is {self.seconds} s, expected one within {LARGEST:g} s of 0")
        object.__setattr__(self, "seconds", rounded_seconds(self.seconds))


def frame_to_dict(record: FrameRecord) -> dict[str, Any]:
    """Plain values: file, frame, time, detected, width, height, detections; the last three as those of pictures."""
    return {
        "file": record.file,
        "frame": record.index,
        "time": record.seconds,
        "detected": record.detected,
        **detections_to_dict(record.detections),
    }


def frame_from_dict(value: Any, class_names: Sequence[str], place: object = "the results of a frame") -> FrameRecord:
    """The record that `frame_to_dict` was given, with rounded numbers. Members that it does not know are passed over.

    Args:
        value: plain values, for instance of a line of JSON.
        class_names: of the checkpoint; index = class id, background first.
        place: where the value stands, for errors.

    Raises:
        FormatError: a member is missing or of the wrong kind, or the results contradict themselves or the class list.
    """
    with explained_reading(place):
        detections = detections_from(value, class_names)
        index, seconds = whole(value, "frame"), number(value, "time")
        return FrameRecord(file_name(value, "file"), index, seconds, detections, flag(value, "detected"))
