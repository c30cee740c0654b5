"""Detections by the network: a run over the data set's pictures as `image` does it, with its journal."""

import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, NamedTuple

from ssd_detect.batch.job import JobHooks, PictureJob
from ssd_detect.batch.settings import JobSettings
from ssd_detect.conventions import Arithmetic
from ssd_detect.datasets.dataset import AnnotatedPicture
from ssd_detect.detections import Detections
from ssd_detect.errors import OutputError, SsdDetectError
from ssd_detect.evaluating.found import Found
from ssd_detect.evaluating.raw_file import FLOOR, RawHeader, RawPicture, open_raw, write_raw
from ssd_detect.evaluating.raw_keeper import RawKeeper
from ssd_detect.evaluating.settings import EvalSettings
from ssd_detect.files import check_target
from ssd_detect.formats.jsonl import read_json_lines_file
from ssd_detect.formats.provenance import Provenance
from ssd_detect.media.sources.inputs import FoundInputs, PictureInput
from ssd_detect.stages import StageTimes

if TYPE_CHECKING:
    from ssd_detect.arrays import Floats
    from ssd_detect.detector import Detector

_PARTS = ".ssd-detect-raw"
PREDICTIONS = "detections.jsonl"


@dataclass(frozen=True)
class EvalHooks:
    """What the caller does and hears.

    Args:
        load: makes the detector, as a context manager; takes where times go, and `on_outputs` as for `Detector`.
        on_picture: hears that a picture is done.
        on_failure: hears of each picture that fails: its name and why.
        should_stop: asked now and then; True ends the run in good order.
    """

    load: "Callable[[StageTimes, Callable[[Floats, Floats], None] | None], AbstractContextManager[Detector]]"
    on_picture: Callable[[], None] = lambda: None
    on_failure: Callable[[str, SsdDetectError], None] = lambda name, error: None
    should_stop: Callable[[], bool] = lambda: False


@dataclass(frozen=True)
class _EvalJobSettings(JobSettings):
    """With the choices of the evaluation that it must share with a run that it goes on with."""

    evaluation: tuple[tuple[str, object], ...] = ()


class _Facts(NamedTuple):
    """What is to be remembered of a detector: where its detections come from, and what its outputs mean."""

    provenance: Provenance
    header: RawHeader


class NetworkRun:
    """Detects in the pictures of a data set.

    Args:
        pictures: of the data set.
        settings: see `EvalSettings`.
        folder: for the detections and the journal.
        hooks: the caller's part.
    """

    def __init__(
        self, pictures: Sequence[AnnotatedPicture], settings: EvalSettings, folder: Path, hooks: EvalHooks
    ) -> None:
        self._sources = tuple(
            PictureInput(one.name, one.path, None, PurePosixPath(f"{i:06d}")) for i, one in enumerate(pictures)
        )
        self._settings, self._folder, self._hooks = settings, folder, hooks
        self._raw_target = None if self._has_raw_already(pictures) else settings.keep_raw
        self._keeper = None if self._raw_target is None else RawKeeper(folder / _PARTS)
        self._facts: _Facts | None = None

    def _has_raw_already(self, pictures: Sequence[AnnotatedPicture]) -> bool:
        """Whether the run to go on with has ended, and left the outputs of all these pictures."""
        path = self._settings.keep_raw
        if path is None or not self._settings.resume or not path.is_file():
            return False
        with open_raw(path) as raw:
            there = {one.name for one in raw.header.pictures}
        if not there >= {one.name for one in pictures}:
            raise OutputError(f"{path}: holds outputs of other pictures already; name another file or use --overwrite")
        return True

    def run(self) -> Found | None:
        """Do it; None when the caller wanted it to stop, with what was done kept for `--resume`.

        Raises:
            OutputError: a file may not be written, or another run is to be resumed.
            CheckpointError, SettingError, DeviceError: as `Detector`.
        """
        if self._raw_target is not None:
            check_target(self._raw_target, overwrite=self._settings.overwrite)
        hooks = JobHooks(
            load=self._load,
            on_record=lambda record, targets: self._hooks.on_picture(),
            on_failure=self._hooks.on_failure,
            should_stop=self._hooks.should_stop,
            pixel_writers=() if self._keeper is None else (self._keeper,),
        )
        summary = PictureJob(FoundInputs(self._sources, 0, ()), self._job_settings(), hooks).run()
        if self._hooks.should_stop():
            return None
        facts = self._known_facts()
        names = facts.header.class_names
        if self._raw_target is not None:
            self._put_together(self._raw_target, facts.header)
        return Found(names, self._pictures(names), facts.provenance, tuple(name for name, _ in summary.failures))

    def _job_settings(self) -> JobSettings:
        return _EvalJobSettings(
            checkpoint=self._settings.checkpoint,
            detection=self._settings.detection,
            batch_size=self._settings.batch_size,
            folder=self._folder,
            formats=("jsonl",),
            session=self._settings.session,
            resume=self._settings.resume,
            overwrite=self._settings.overwrite,
            evaluation=self._settings.that_shape_the_report(),
        )

    @contextmanager
    def _load(self, times: StageTimes) -> "Iterator[Detector]":
        with self._hooks.load(times, None if self._keeper is None else self._keeper.take) as detector:
            self._facts = _facts(detector, self._settings.session.precision)
            yield detector

    def _known_facts(self) -> _Facts:
        """What the detector was; one is loaded where there was nothing to detect any more."""
        if self._facts is None:
            with self._load(StageTimes()):
                pass
        assert self._facts is not None
        return self._facts

    def _pictures(self, class_names: tuple[str, ...]) -> Iterator[tuple[str, Detections]]:
        path = self._folder / PREDICTIONS
        if path.is_file():  # not where all pictures failed
            for record in read_json_lines_file(path, class_names):
                yield record.file, record.detections

    def _put_together(self, target: Path, header: RawHeader) -> None:
        """One file of the outputs of all pictures that could be read."""
        keys = {source.name: source.key for source in self._sources}
        sizes = {name: found.size for name, found in self._pictures(header.class_names)}
        parts = self._folder / _PARTS
        whole = replace(header, pictures=tuple(RawPicture(name, *size) for name, size in sizes.items()))
        arrays = [parts / f"{keys[name]}.npy" for name in sizes]
        write_raw(target, whole, arrays, overwrite=self._settings.overwrite)
        with suppress(OSError):
            shutil.rmtree(parts)


def _facts(detector: "Detector", precision: Arithmetic) -> _Facts:
    name, sha256, spec = detector.checkpoint_name, detector.checkpoint_sha256, detector.spec
    header = RawHeader(
        checkpoint_name=name,
        checkpoint_sha256=sha256,
        class_names=spec.class_names,
        anchors=spec.anchors,
        anchor_rounding=spec.anchor_rounding,
        anchor_clip=spec.anchor_clip,
        profile=spec.profile,
        floor=FLOOR,
        precision=precision,
        pictures=(),
    )
    return _Facts(Provenance(name, sha256, detector.settings, precision), header)
