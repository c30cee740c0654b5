"""Where the files of each video go, and where its frames wait until they are whole."""

import secrets
import tempfile
from collections.abc import Mapping
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

import av

from ssd_detect.batch.journal import fingerprint
from ssd_detect.errors import OutputError, SettingError, VideoError
from ssd_detect.files import check_target, file_stamp
from ssd_detect.locks import held_alone
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

    def held_alone(self) -> AbstractContextManager[None]:
        """Within the block no other run is at it; raises OutputError if one is."""
        return held_alone(self.target or self.store.folder)

    def prepare(self, settings: VideoJobSettings) -> bool:
        """Get ready: go on with what is there, or clear it away; True when there is nothing left to do.

        Raises:
            OutputError: an unfinished run is there that nobody asked to go on with, or one with other settings.
            VideoError: the video cannot be read again from its beginning.
        """
        if settings.resume:
            return self._resume(settings.products.overwrite)
        if self.store.has_segments and not settings.products.overwrite:
            raise OutputError(
                f"{self.store.folder}: holds a run that was not finished; "
                "go on with --resume, or start anew with --overwrite"
            )
        self.store.clear()
        return False

    def _resume(self, overwrite: bool) -> bool:
        if not self.can_resume:
            raise VideoError(
                f"{self.video.name}: can be read only once, so --resume cannot go on with it; leave it out"
            )
        if self.store.ended is not None and not self._has_target:  # somebody took the copy away
            self.store.clear()
        if self.is_begun:
            self.store.resume()
            self._check_foreign(overwrite)
        return self.is_done(overwrite)

    def _check_foreign(self, overwrite: bool) -> None:
        if self.store.ended is None and self.has_foreign_target and not overwrite:
            raise OutputError(
                f"{self.target}: exists already and is not what the run to resume has made; "
                "move it away, or use --overwrite too"
            )

    def is_done(self, overwrite: bool) -> bool:
        """Whether an earlier run has finished this video; `overwrite`: a copy of which nothing is known is no proof."""
        if self.store.ended is not None:
            return self._has_target
        return self.has_foreign_target and not self.store.has_segments and not overwrite

    @property
    def is_begun(self) -> bool:
        """Whether an earlier run has left something to go on with, or to tell again."""
        return self.store.has_segments or self.may_replace

    @property
    def _has_target(self) -> bool:
        return self.target is None or self.target.exists()

    @property
    def has_foreign_target(self) -> bool:
        """Whether a copy is there that is not known to be of the run that goes on."""
        return self.target is not None and self.target.exists() and not self.may_replace

    @property
    def may_replace(self) -> bool:
        """Whether the copy that is there holds the frames of the run that goes on, and was not touched since."""
        stamp = file_stamp(self.target)
        return stamp != "" and stamp == self.store.partial_stamp

    def leave(self) -> None:
        """After a failure: keep what another run can go on with."""
        if not (self.can_resume and self.is_begun):
            self.clear()

    def clear(self) -> None:
        """Remove everything but the target."""
        self.store.clear()
        if is_work_folder(self.store.folder.parent):
            with suppress(OSError):  # it holds those of other videos
                self.store.folder.parent.rmdir()

    def keep_for_later(self) -> None:
        """After an interruption, when all files are written: keep what an undisturbed run would have too."""
        self.store.unseal()
        self.leave()


def place_of(video: VideoInput, settings: VideoJobSettings) -> Place:
    """Where the files of a video go; nothing is touched.

    Raises:
        CheckpointError: no such checkpoint.
        SettingError: a run is to go on that leaves nothing on disk.
    """
    target = _target(video, settings.products)
    folder = work_folder(target) if target is not None else _record_folder(video.key, settings.products)
    if folder is None and settings.resume:
        raise SettingError("--resume has nothing to go on with when no file is written; name one, such as --jsonl FILE")
    can_resume = video.kind not in _READ_ONCE and folder is not None
    if folder is None:
        folder = Path(tempfile.gettempdir()) / f"ssd-detect-{secrets.token_hex(8)}"
    store = SegmentStore(folder, settings.segment_length, {"of": _fingerprint(video, target, settings)})
    return Place(video, target, store, can_resume)


def _target(video: VideoInput, products: Products) -> Path | None:
    if not products.video:
        return None
    if products.file is not None:
        return products.file
    suffix = video.path.suffix.lower() if video.path is not None else ""
    name = f"{video.key.name}{suffix if suffix in CONTAINERS else _USUAL_SUFFIX}"
    return (products.folder or Path()) / video.key.with_name(name)


def _record_folder(key: PurePosixPath, products: Products) -> Path | None:
    """Beside the first file that is made of the records; None if there is none."""
    beside = next(iter((*products.shared, *products.folders)), None)
    return None if beside is None else work_folder(beside) / fingerprint({"key": str(key)})


def _fingerprint(video: VideoInput, target: Path | None, settings: VideoJobSettings) -> str:
    choices: dict[str, Any] = {
        "video": [video.name, file_stamp(video.path)],
        "suffix": target.suffix if target is not None else None,
        "checkpoint files": [file_stamp(file) for file in locate(settings.checkpoint.given).files],
        "libraries": av.library_versions,  # another encoder may not fit behind the segments of this one
        **settings.that_shape_results(),
    }
    return fingerprint(choices)


def check_shared(products: Products, videos: Mapping[Path, str], *, overwrite: bool) -> None:
    """Find out before the work begins whether the files and folders of all videos may be written.

    Args:
        products: what is to be made.
        videos: inputs and annotated copies -> what they are.
        overwrite: files that exist may be replaced.

    Raises:
        OutputError: one may not, or two are the same file.
    """
    named = {path.resolve(): what for path, what in videos.items()}
    for target in products.shared:
        _refuse_if_named(target, named)
        check_target(target, overwrite=overwrite)
        named[target.resolve()] = "another output too"
    for folder in products.folders:
        _refuse_if_named(folder, named)
        check_target(folder / "picture.png" if folder.is_dir() else folder, overwrite=True)


def _refuse_if_named(output: Path, named: Mapping[Path, str]) -> None:
    """Also where two names are links to one file."""
    same = (what for path, what in named.items() if output.exists() and path.exists() and output.samefile(path))
    what = named.get(output.resolve()) or next(same, None)
    if what is not None:
        raise OutputError(f"{output}: is {what}; name another output")
