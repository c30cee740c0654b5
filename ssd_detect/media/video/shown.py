"""From decoded frames to the pictures that a person sees."""

from fractions import Fraction

import av
from av.video.stream import VideoStream

from ssd_detect.arrays import Pixels
from ssd_detect.media.video.colour import ColourConverter, colour_notes, colour_of
from ssd_detect.media.video.orientation import orientation_of


class ShownFrames:
    """Makes the frames of one video track RGB and upright; one of another size than the first is scaled to that.

    Args:
        first: the first decoded frame, which tells how all are.
        stream: the track.
    """

    def __init__(self, first: av.VideoFrame, stream: VideoStream) -> None:
        self._orientation = orientation_of(first)
        self._stored = first.width, first.height
        turned, aspect = self._orientation.swaps_sides, stream.sample_aspect_ratio or None
        self.width, self.height = reversed(self._stored) if turned else self._stored
        self.pixel_aspect = Fraction(1 / aspect if turned else aspect) if aspect else None
        """Width of a pixel over its height, as shown; None when not told."""
        self.colour = colour_of(first, stream.codec_context)
        self.notes = colour_notes(first, self.colour)
        """What the user should know of it, each a short clause."""
        self._converter = ColourConverter(self.colour)

    def pixels(self, frame: av.VideoFrame) -> Pixels:
        """RGB uint8 (height, width, 3)."""
        return self._orientation.upright(self._converter.to_rgb(frame, *self._stored))
