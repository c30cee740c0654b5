"""An effect for moviepy 2 that finds objects and draws them into a clip.

    from moviepy import VideoFileClip
    from ssd_detect import Detector
    from ssd_detect.moviepy import DetectObjects

    with Detector() as detector, VideoFileClip("in.mp4") as clip:
        clip.with_effects([DetectObjects(detector)]).write_videofile("out.mp4")

For moviepy 1 there is `ssd_detect.detect_and_draw`, which needs no moviepy. `ssd-detect video` keeps each
frame's own time and the sound as it is; moviepy counts frames at a constant rate and encodes the sound again.
"""

import sys

from ssd_detect.errors import MissingPackageError, SettingError

try:  # before all that takes seconds to load
    from moviepy import Effect, VideoClip
except Exception as error:  # whatever a broken installation raises
    version = getattr(sys.modules.get("moviepy"), "__version__", None)
    found = f"this is {version}" if version else " ".join(str(error).split()) or type(error).__name__
    raise MissingPackageError(
        f'ssd_detect.moviepy needs moviepy 2, but {found}; type: pip install "moviepy>=2.1"; '
        "or stay with moviepy 1 and use clip.fl_image(ssd_detect.detect_and_draw(detector))"
    ) from error

from collections.abc import Callable, Sequence
from functools import partial

from ssd_detect.annotator import AnyFrame, FrameAnnotator, as_pixels
from ssd_detect.arrays import Pixels
from ssd_detect.detections import Detections
from ssd_detect.detector import Detector


class DetectObjects(Effect):  # type: ignore[misc]  # moviepy has no types
    """Boxes, and labels such as "person 0.93", in every frame of a clip; size, rate, length, sound and mask stay.

        with Detector() as detector, VideoFileClip("in.mp4") as clip:
            effect = DetectObjects(detector, blur=["person"])
            drawn = clip.subclipped(5, 10).with_effects([effect])
            drawn.write_videofile("out.mp4")  # inside the block: frames are made now
        print("saved out.mp4")

    One effect serves any number of clips, and does not change them. Frames are detected when they are asked for, one at
    a time; one that equals the frame before, as in a still, is not detected again.

    Args:
        detector: finds the objects; it must stay open until the clip is written.
        labels: False draws the boxes alone.
        blur: names of classes whose objects are made unrecognisable under their boxes.
        on_detections: called for each frame that is drawn with its time, seconds of the clip that the effect is put on,
            and its detections; once if moviepy asks for the same time twice on end.

    Raises:
        SettingError: a class to blur for which the detector does not look; when put on a clip: sound, or a mask.
            VideoError, when put on a clip or later: a frame that is not (H, W, 3) or (H, W, 4), or not finite;
            ClosedError, later: the detector is closed.
    """

    def __init__(
        self,
        detector: Detector,
        *,
        labels: bool = True,
        blur: Sequence[str] = (),
        on_detections: Callable[[float, Detections], None] | None = None,
    ) -> None:
        self._make_annotator = partial(FrameAnnotator, detector, labels=labels, blur=blur)
        self._make_annotator()  # says now what is wrong with `blur`
        self._on_detections = on_detections

    def apply(self, clip: VideoClip) -> VideoClip:
        """A copy of the clip with the effect; moviepy's `with_effects` calls this."""
        if not isinstance(clip, VideoClip) or clip.is_mask:
            what = f"a mask ({type(clip).__name__})" if isinstance(clip, VideoClip) else type(clip).__name__
            raise SettingError(f"DetectObjects is for clips with pictures in colour, got {what}")
        drawing = _Drawing(self._make_annotator(), self._on_detections)
        drawn = clip.transform(drawing)
        drawing.is_measured = True
        drawn.memoized_t = drawn.memoized_frame = None  # `transform` takes along a frame without boxes
        return drawn


class _Drawing:
    """What makes the frames of one clip; `transform` calls it with the clip's `get_frame` and a time in seconds."""

    def __init__(self, annotator: FrameAnnotator, on_detections: Callable[[float, Detections], None] | None) -> None:
        self._annotator, self._on_detections = annotator, on_detections
        self._told: float | None = None
        self.is_measured = False
        """False while moviepy only looks how large a frame is, for which it need not be detected."""

    def __call__(self, get_frame: Callable[[float], AnyFrame], seconds: float) -> Pixels:
        if not self.is_measured:
            return as_pixels(get_frame(seconds))
        drawn, found = self._annotator.annotate(get_frame(seconds))
        if self._on_detections is not None and seconds != self._told:
            self._told = seconds
            self._on_detections(float(seconds), found)
        return drawn
