"""Frames in, frames with boxes out: for anything that edits a video by a function from frame to frame.

    from ssd_detect import detect_and_draw

    new_clip = clip.image_transform(detect_and_draw(detector))  # moviepy 2
    new_clip = clip.fl_image(detect_and_draw(detector))         # moviepy 1

Nothing here imports moviepy; its own kind of effect is `ssd_detect.moviepy.DetectObjects`.
"""

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ssd_detect.arrays import Pixels
from ssd_detect.boxes.outputs import wanted_classes
from ssd_detect.classes import find_class_ids
from ssd_detect.detections import Detections
from ssd_detect.detector import Detector
from ssd_detect.errors import SettingError, VideoError
from ssd_detect.media.drawing.draw import draw_detections
from ssd_detect.media.privacy import blur_objects

AnyFrame: TypeAlias = NDArray[Any]
"""What editors hand around: (H, W, 3) or (H, W, 4), whole or floating-point numbers, 0-255."""


def detect_and_draw(
    detector: Detector, *, labels: bool = True, blur: Sequence[str] = ()
) -> Callable[[AnyFrame], Pixels]:
    """A function that takes a frame and returns a new one with what the detector finds in it.

    The frame may be (H, W, 3) RGB or (H, W, 4) with alpha, of whole or floating-point numbers from 0 to 255; the result
    has the same shape and is uint8. Alpha stays as it is. A frame that equals the one before is not detected again.

    Args:
        detector: finds the objects; it must stay open while frames are made.
        labels: False draws the boxes alone.
        blur: names of classes whose objects are made unrecognisable under their boxes.

    Raises:
        SettingError: a class to blur for which the detector does not look. The function raises VideoError for an array
            that is no frame, and ClosedError once the detector is closed.
    """
    annotator = FrameAnnotator(detector, labels=labels, blur=blur)
    return lambda frame: annotator.annotate(frame)[0]


class FrameAnnotator:
    """Finds and draws, and remembers the last frame: editors ask for the same one several times.

    Args and Raises: as for `detect_and_draw`.
    """

    def __init__(self, detector: Detector, *, labels: bool = True, blur: Sequence[str] = ()) -> None:
        _check_blur(blur, detector)
        self._detector, self._labels, self._blur = detector, labels, tuple(blur)
        self._last: tuple[tuple[int, ...], bytes, Detections] | None = None

    def annotate(self, frame: AnyFrame) -> tuple[Pixels, Detections]:
        """A new frame, uint8 of the same shape, and what was found in it."""
        pixels = as_pixels(frame)
        rgb, found = self._detect(pixels[..., :3])
        hidden = blur_objects(rgb, found.filter(classes=self._blur)) if self._blur else rgb
        drawn = draw_detections(hidden, found, labels=self._labels)
        has_alpha = pixels.shape[2] == 4
        return np.concatenate([drawn, pixels[..., 3:]], axis=2) if has_alpha else drawn, found  # (H, W, 3 or 4)

    def _detect(self, pixels: Pixels) -> tuple[Pixels, Detections]:
        """The frame (H, W, 3), read-only and a copy since some clips draw every frame into one array; what is in it.

        Bytes are compared up to the first that differs: another frame costs next to nothing, the same one a reading.
        """
        content, last = pixels.tobytes(), self._last
        rgb = np.frombuffer(content, np.uint8).reshape(pixels.shape)
        if last is None or last[:2] != (pixels.shape, content):
            self._last = last = (pixels.shape, content, self._detector(rgb))
        return rgb, last[2]


def as_pixels(frame: AnyFrame) -> Pixels:
    """The frame as uint8: other numbers are rounded, and cut off below 0 and above 255.

    Raises:
        VideoError: not an array (H, W, 3) or (H, W, 4) of numbers, or one with NaN or infinity in it.
    """
    expected = "expected a frame (height, width, 3 or 4) of numbers from 0 to 255"
    if not isinstance(frame, np.ndarray):
        raise VideoError(f"{expected}, got {type(frame).__name__}")
    if frame.ndim != 3 or frame.shape[2] not in (3, 4) or 0 in frame.shape or frame.dtype.kind not in "iuf":
        raise VideoError(f"{expected}, got {frame.dtype} {frame.shape}")
    if frame.dtype == np.uint8:
        return frame
    if not np.isfinite(frame).all():
        raise VideoError(f"{expected}, got one with NaN or infinity in it")
    return np.clip(np.rint(frame), 0, 255).astype(np.uint8)


def _check_blur(blur: Sequence[str], detector: Detector) -> None:
    """An object that nobody looks for would stay recognisable without a word."""
    if isinstance(blur, str):
        raise SettingError(f"blur is {blur!r}, expected a sequence of class names such as [{blur!r}]")
    names, wanted = detector.class_names, wanted_classes(detector.settings, detector.class_names)
    unseen = [names[i] for i in find_class_ids(blur, names) if not wanted[i]]
    if unseen:
        raise SettingError(
            f"cannot blur {unseen[0]!r}: the detector's settings leave this class out; let it look for it"
        )
