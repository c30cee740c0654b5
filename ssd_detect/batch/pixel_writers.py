"""Results that need the picture itself: the annotated copy and the crops."""

from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Protocol
from urllib.parse import urlsplit

from ssd_detect.arrays import Pixels
from ssd_detect.detections import Detections
from ssd_detect.formats.record import PictureRecord
from ssd_detect.media.crops import crop_detections, crop_name
from ssd_detect.media.drawing.draw import draw_in_place
from ssd_detect.media.picture_files import is_writable_suffix, save_picture
from ssd_detect.media.pictures import Picture
from ssd_detect.media.privacy import blur_objects, origin_without_previews
from ssd_detect.media.sources.inputs import PictureInput
from ssd_detect.stages import StageTimes


@dataclass(frozen=True)
class DonePicture:
    """A picture after detection.

    Args:
        source: where it came from.
        picture: its pixels, as read.
        found: everything that was detected, for blurring.
        record: what of it is reported.
    """

    source: PictureInput
    picture: Picture
    found: Detections
    record: PictureRecord

    def blurred(self, classes: tuple[str, ...]) -> Pixels:
        """The pixels with the objects of these classes made unrecognisable; a new array."""
        return blur_objects(self.picture.pixels, self.found.filter(classes=classes))


class PixelWriter(Protocol):
    """Writes something made of a picture and its detections."""

    def own_targets(self, source: PictureInput) -> list[Path]:
        """The files that this input gets, as far as they are known before the detection."""

    def append(self, done: DonePicture) -> None:
        """Write; raises OutputError."""


@dataclass(frozen=True)
class AnnotatedWriter:
    """The picture with its boxes, drawn into the picture itself to save memory: no writer may follow this one.

    Args:
        folder: copies go below it, named by their input's key.
        file: the one name for the one copy, instead.
        labels: write class and score beside each box.
        blur: classes whose objects are made unrecognisable.
        overwrite: replace existing files.
        times: gets the seconds of `draw` and `write`.
    """

    folder: Path
    file: Path | None
    labels: bool
    blur: tuple[str, ...]
    overwrite: bool
    times: StageTimes

    def own_targets(self, source: PictureInput) -> list[Path]:
        """The copy's name: that of the input and `_detections`, in the input's format if that can be written."""
        return [self.target(source)]

    def target(self, source: PictureInput) -> Path:
        """Where the copy of this input goes."""
        if self.file is not None:
            return self.file
        suffix = _suffix(source) if is_writable_suffix(_suffix(source)) else ".png"
        return self.folder / source.key.with_name(f"{source.key.name}_detections{suffix}")

    def append(self, done: DonePicture) -> None:
        """Blur, draw, save."""
        with self.times.measure("draw"):
            pixels, origin = done.picture.pixels, done.picture.origin
            if self.blur:
                pixels, origin = done.blurred(self.blur), origin_without_previews(origin)
            draw_in_place(pixels, done.record.detections, labels=self.labels)
        with self.times.measure("write"):
            save_picture(self.target(done.source), pixels, origin, overwrite=self.overwrite)


@dataclass(frozen=True)
class CropsWriter:
    """Each object cut out of the picture without boxes, below the folder, named by picture, class and number.

    Args:
        folder, blur, overwrite, times: as for `AnnotatedWriter`.
    """

    folder: Path
    blur: tuple[str, ...]
    overwrite: bool
    times: StageTimes

    def own_targets(self, source: PictureInput) -> list[Path]:
        """Nobody knows before what will be found."""
        return []

    def append(self, done: DonePicture) -> None:
        """Cut and save."""
        key = done.source.key
        with self.times.measure("write"):
            pixels = done.blurred(self.blur) if self.blur else done.picture.pixels
            for crop in crop_detections(pixels, done.record.detections):
                target = self.folder / key.with_name(crop_name(key.name, crop))
                save_picture(target, crop.pixels, overwrite=self.overwrite)


def _suffix(source: PictureInput) -> str:
    if source.path is not None:
        return source.path.suffix
    return PurePosixPath(urlsplit(source.url).path).suffix if source.url else ""
