"""Find objects in pictures and videos with SSD, the single-shot detector.

    from ssd_detect import Detector, read_picture

    with Detector() as detector:                            # the checkpoint that ships
        detections = detector(read_picture("person.jpg"))   # RGB uint8 (H, W, 3)
        for class_name, score, box in detections:
            ...                                             # box: x0, y0, x1, y1 in pixels

and in every frame of a video:

    from ssd_detect import VideoReader, detect_frames

    with VideoReader("input.mp4") as video:
        for found in detect_frames(detector, video):        # found.frame.pixels, found.frame.time, found.detections
            ...

The names below are loaded on first use, so that importing this package costs nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ssd_detect.annotator import detect_and_draw as detect_and_draw
    from ssd_detect.detections import Detections as Detections
    from ssd_detect.detector import Detector as Detector
    from ssd_detect.media.drawing.draw import draw_detections as draw_detections
    from ssd_detect.media.pictures import read_picture as read_picture
    from ssd_detect.media.video.frames import VideoInfo as VideoInfo
    from ssd_detect.media.video.reader import VideoReader as VideoReader
    from ssd_detect.media.video.run import detect_frames as detect_frames
    from ssd_detect.media.video.sources.iterables import frames_at_rate as frames_at_rate
    from ssd_detect.media.video.writer import VideoWriter as VideoWriter
    from ssd_detect.settings import DetectionSettings as DetectionSettings

__version__ = "0.1.0"

_HOMES = {
    "Detections": "ssd_detect.detections",
    "DetectionSettings": "ssd_detect.settings",
    "Detector": "ssd_detect.detector",
    "VideoInfo": "ssd_detect.media.video.frames",
    "VideoReader": "ssd_detect.media.video.reader",
    "VideoWriter": "ssd_detect.media.video.writer",
    "detect_and_draw": "ssd_detect.annotator",
    "detect_frames": "ssd_detect.media.video.run",
    "draw_detections": "ssd_detect.media.drawing.draw",
    "frames_at_rate": "ssd_detect.media.video.sources.iterables",
    "read_picture": "ssd_detect.media.pictures",
}

__all__ = [
    "DetectionSettings",
    "Detections",
    "Detector",
    "VideoInfo",
    "VideoReader",
    "VideoWriter",
    "__version__",
    "detect_and_draw",
    "detect_frames",
    "draw_detections",
    "frames_at_rate",
    "read_picture",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'ssd_detect' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return __all__
