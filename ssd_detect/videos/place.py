"""Where the files of each video go, and where its frames wait until they are whole."""

import secrets
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

import av

from ssd_detect.batch.journal import file_stamp, fingerprint
from ssd_detect.errors import OutputError, VideoError
from ssd_detect.files import check_target
from ssd_detect.media.sources.inputs import SourceKind
from ssd_detect.media.video.encoding import CONTAINERS
from ssd_detect.media.video.sources.inputs import VideoInput
from ssd_detect.media.video.store import SegmentStore, is_work_folder, work_folder
from ssd_detect.model.locate import locate
from ssd_detect.videos.settings import Products, VideoJobSettings

_READ_ONCE = (SourceKind.URL, SourceKind.CAMERA, SourceKind.STDIN)
_USUAL_SUFFIX = ".mp4"


@dataclass(frozen=True)
class Place:
    """Everything on disk that belongs to one video of a run.

    Args:
        video: which one.
        target: its annotated copy; None when none is made.
        store: its frames; they stay when the run breaks off, if it can be read again.
        can_resume: whether it can.
    """

    video: VideoInput
    target: Path | None
    store: SegmentStore
    can_resume: bool

    def prepare(self, settings: VideoJobSettings) -> bool:
        """Get ready: go on with what is there, or clear it away; True when there is nothing left to do.

        Raises:
            OutputError: an unfinished run is there that nobody asked to go on with, or one with other settings.
            VideoError: the video cannot be read again from its beginning.
        """
        if settings.resume:
            return self._resume()
        if self.store.has_segments and not settings.products.overwrite:
            raise OutputError(
                f"{self.store.folder}: holds a run that was not finished; "
                "go on with --resume, or start anew with --overwrite"
            )
        self.store.clear()
        return False

    def _resume(self) -> bool:
        if not self.can_resume:
            raise VideoError(
                f"{self.video.name}: can be read only once, so --resume cannot go on with it; leave it out"
            )
        if self.store.has_segments:
            self.store.resume()
        if self.store.ended is not None and not self.is_done:  # the copy is gone, and its packets went before
            self.store.clear()
        return self.is_done

    @property
    def is_done(self) -> bool:
        """Whether an earlier run has finished this video."""
        if self.store.ended is not None:
            return self.target is None or self.target.exists()
        return self.target is not None and self.target.exists() and not self.may_replace

    @property
    def may_replace(self) -> bool:
        """Whether the copy that is there holds the frames of the run that goes on, and was not touched since."""
        return self.target is not None and self.store.partial_stamp == (file_stamp(self.target) or None)

    def leave(self) -> None:
        """After a failure: keep what another run can go on with."""
        if not (self.can_resume and self.store.has_segments):
            self.clear()

    def clear(self) -> None:
        """Remove everything but the target."""
        self.store.clear()
        if self.target is None:  # the folder of the video lies in that of the run, and in those of its key
            for folder in self.store.folder.parents:
                with suppress(OSError):  # it holds those of other videos
                    if any(is_work_folder(outer) for outer in (folder, *folder.parents)):
                        folder.rmdir()

    def keep_for_later(self) -> None:
        """After an interruption, when all files are written: keep whole segments only."""
        self.store.unseal()
        if self.target is not None and self.can_resume and self.store.has_segments:
            self.store.note_partial(file_stamp(self.target))
        self.leave()


def place_of(video: VideoInput, settings: VideoJobSettings, *, is_only: bool) -> Place:
    """Where the files of a video go; nothing is touched.

    Raises:
        CheckpointError: no such checkpoint.
    """
    target = _target(video, settings.products)
    folder = work_folder(target) if target is not None else _record_folder(video.key, settings.products, is_only)
    store = SegmentStore(folder, settings.segment_length, {"of": _fingerprint(video, target, settings)})
    return Place(video, target, store, video.kind not in _READ_ONCE)


def _target(video: VideoInput, products: Products) -> Path | None:
    if not products.video:
        return None
    if products.file is not None:
        return products.file
    suffix = video.path.suffix.lower() if video.path is not None else ""
    name = f"{video.key.name}{suffix if suffix in CONTAINERS else _USUAL_SUFFIX}"
    return (products.folder or Path()) / video.key.with_name(name)


def _record_folder(key: PurePosixPath, products: Products, is_only: bool) -> Path:
    """Beside the first file that is made of the records; where the system wants it if there is none."""
    beside = next((path for path in (*products.shared, products.crops, products.snapshots) if path is not None), None)
    if beside is None:
        return Path(tempfile.gettempdir()) / f"ssd-detect-{secrets.token_hex(8)}"
    return work_folder(beside) if is_only else work_folder(beside) / key


def _fingerprint(video: VideoInput, target: Path | None, settings: VideoJobSettings) -> str:
    choices: dict[str, Any] = {
        "video": [video.name, file_stamp(video.path)],
        "suffix": target.suffix if target is not None else None,
        "checkpoint files": [file_stamp(file) for file in locate(settings.checkpoint.given).files],
        "libraries": av.library_versions,  # another encoder may not fit behind the segments of this one
        **settings.that_shape_results(),
    }
    return fingerprint(choices)


def check_shared(products: Products, videos: Mapping[Path, str]) -> None:
    """Find out before the work begins whether the files of all videos may be written.

    Args:
        products: what is to be made.
        videos: inputs and annotated copies -> what they are.

    Raises:
        OutputError: one may not, or two are the same file.
    """
    named = {path.resolve(): what for path, what in videos.items()}
    for target in products.shared:
        check_target(target, overwrite=products.overwrite)
        if target.resolve() in named:
            raise OutputError(f"{target}: is {named[target.resolve()]}; name another output")
        named[target.resolve()] = "another output too"
