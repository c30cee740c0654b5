"""Keeps the outputs of a run: a file a picture at first, so that a run that is broken off loses none."""

from collections import deque
from dataclasses import dataclass, field
from pathlib import Path

from ssd_detect.arrays import Floats
from ssd_detect.batch.pixel_writers import DonePicture
from ssd_detect.evaluating.raw_file import FLOOR, encoded
from ssd_detect.formats.writer import write_whole
from ssd_detect.media.sources.inputs import PictureInput


@dataclass(frozen=True)
class RawKeeper:
    """A `PixelWriter` that writes `<folder>/<key>.npy`.

    The network's outputs come from `Detector`, picture after picture, and wait here until their picture is written;
    both happen in the same order.

    Args:
        folder: for the files.
    """

    folder: Path
    _waiting: deque[bytes] = field(default_factory=deque, init=False)

    def take(self, scores: Floats, offsets: Floats) -> None:
        """Take the outputs of the next picture."""
        self._waiting.append(encoded(scores, offsets, FLOOR))

    def own_targets(self, source: PictureInput) -> list[Path]:
        """The picture's file."""
        return [self.folder / f"{source.key}.npy"]

    def append(self, done: DonePicture) -> None:
        """Write the picture's file; raises OutputError."""
        content = self._waiting.popleft()
        (target,) = self.own_targets(done.source)
        write_whole(target, content, overwrite=True)
