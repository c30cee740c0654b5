"""What every output format is given, and what each one promises."""

from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from types import TracebackType
from typing import Protocol

from ssd_detect.detections import Detections
from ssd_detect.formats.provenance import Provenance


@dataclass(frozen=True)
class PictureRecord:
    """One picture and what was found in it.

    Args:
        file: the picture as the user named it: a path, a URL, or `-`.
        key: where its results belong below the output folder, without suffix; no two inputs share one, whatever the
            letter case.
        detections: what was found; may be empty.
        sha256: of the picture's file, where that was asked for.
    """

    file: str
    key: PurePosixPath
    detections: Detections
    sha256: str | None = None


@dataclass(frozen=True)
class OutputSettings:
    """Where and how results are written.

    Args:
        folder: everything goes below it.
        class_names: of the checkpoint; index = class id, background first.
        provenance: checkpoint and settings of the run.
        overwrite: existing files may be replaced.
        coco_images: an annotation file whose picture ids and category ids the COCO results shall use.
    """

    folder: Path
    class_names: tuple[str, ...]
    provenance: Provenance
    overwrite: bool = False
    coco_images: Path | None = None


class DetectionsWriter(Protocol):
    """Writes records in one format. A context manager: what is shared by all pictures becomes whole at its end."""

    def own_targets(self, key: PurePosixPath) -> list[Path]:
        """The files that the picture with this key gets for itself."""

    def shared_targets(self) -> list[Path]:
        """The files that all pictures share."""

    def append(self, record: PictureRecord) -> None:
        """Write one picture's detections.

        Raises:
            OutputError: the system refuses, or a file exists that must not be replaced.
        """

    def __enter__(self) -> "DetectionsWriter": ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...
