"""What a user can choose about a run over pictures."""

from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from ssd_detect.settings import (
    DEFAULT_MAX_PIXELS,
    CheckpointSettings,
    DetectionSettings,
    FetchSettings,
    SessionSettings,
)


@dataclass(frozen=True)
class JobSettings:
    """How pictures become results.

    Args:
        checkpoint, detection, batch_size: as for `Detector`.
        folder: results go below it.
        file: the one name for the annotated copy of the one input, instead.
        formats: names of `formats.names.WRITERS`, and `image` and `crops`.
        json_lines: one more file of JSON lines.
        coco_images: for `coco`: annotations whose picture and category ids to use.
        sha256: note the SHA-256 of each input.
        labels: write class and score beside each box.
        blur: classes whose objects are made unrecognisable in the annotated copy, whether reported or not.
        resume: go on with an earlier run.
        strict: stop at the first failure.
        overwrite: replace existing files.
        max_pixels: refuse larger pictures.
        fetch: how URLs are read.
        session: as for `Detector`.
    """

    checkpoint: CheckpointSettings
    detection: DetectionSettings
    batch_size: int
    folder: Path = Path()
    file: Path | None = None
    formats: tuple[str, ...] = ("image",)
    json_lines: Path | None = None
    coco_images: Path | None = None
    sha256: bool = False
    labels: bool = True
    blur: tuple[str, ...] = ()
    resume: bool = False
    strict: bool = False
    overwrite: bool = False
    max_pixels: int = DEFAULT_MAX_PIXELS
    fetch: FetchSettings = field(default_factory=FetchSettings)
    session: SessionSettings = field(default_factory=SessionSettings)

    @property
    def detected(self) -> DetectionSettings:
        """What the detector looks for: what is reported, and what is blurred."""
        return self.detection.also_for(self.blur)

    def that_shape_results(self) -> dict[str, Any]:
        """The choices that two runs must share if one is to go on with the other."""
        left_out = ("batch_size", "resume", "strict", "overwrite", "max_pixels", "fetch", "session")
        chosen = {name: value for name, value in asdict(self).items() if name not in left_out}
        return chosen | self.session.that_shape_results()
