"""A run from its inputs to its summary: what is done already, what can be done, and doing it."""

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, ExitStack, closing
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from ssd_detect.batch.journal import (
    Finished,
    Journal,
    fingerprint,
    has_journal,
    is_unfinished,
    read_journal,
)
from ssd_detect.batch.pixel_writers import PixelWriter
from ssd_detect.batch.run import PictureRun, Started
from ssd_detect.batch.settings import JobSettings
from ssd_detect.batch.sources import read_source
from ssd_detect.batch.summary import RunSummary
from ssd_detect.batch.writers import planned_outputs, real_outputs
from ssd_detect.detections import Detections
from ssd_detect.errors import OutputError, SsdDetectError
from ssd_detect.files import check_target, file_stamp
from ssd_detect.formats.coco_images import check_coco_images
from ssd_detect.formats.provenance import Provenance
from ssd_detect.formats.record import PictureRecord
from ssd_detect.media.picture_files import check_suffix
from ssd_detect.media.sources.inputs import FoundInputs, PictureInput
from ssd_detect.model.locate import locate
from ssd_detect.stages import StageTimes

if TYPE_CHECKING:
    from ssd_detect.detector import Detector


@dataclass(frozen=True)
class JobHooks:
    """What the caller does and hears.

    Args:
        load: makes the detector, as a context manager; called once, after everything that is cheap has been checked.
        on_record: hears of each picture that is done, in order, and of the files that are its own.
        on_failure: hears of each input that fails: its name and why.
        on_note: hears what there is to know of how an input was read: its name and a short clause.
        should_stop: asked now and then; True ends the run in good order.
        pixel_writers: get each picture before the writers that the settings ask for.
    """

    load: Callable[[StageTimes], AbstractContextManager["Detector"]]
    on_record: Callable[[PictureRecord, list[Path]], None]
    on_failure: Callable[[str, SsdDetectError], None]
    on_note: Callable[[str, str], None] = lambda name, note: None
    should_stop: Callable[[], bool] = lambda: False
    pixel_writers: tuple[PixelWriter, ...] = ()


class PictureJob:
    """Everything that inputs and settings ask for.

    Args:
        found: the inputs.
        settings: what to make of them.
        hooks: the caller's part.

    Raises:
        OutputError: a file that all inputs share may not be written, or another run is to be resumed.
        CheckpointError: no such checkpoint.
    """

    def __init__(self, found: FoundInputs, settings: JobSettings, hooks: JobHooks) -> None:
        self._settings = settings
        self._hooks = hooks
        self._times = StageTimes()
        self.summary = RunSummary(num_skipped=found.num_skipped)
        for error in found.errors:
            self._fail(str(error).split(": ")[0], error)
        self._resumes = settings.resume and has_journal(settings.folder)
        self._overwrite = settings.overwrite or self._resumes  # what stands there is of the run that goes on
        self._plan = planned_outputs(settings, hooks.pixel_writers, overwrite=self._overwrite)
        self._sources = self._without_own_results(found.inputs)
        self._finished = self._finished_before() if self._resumes else {}

    @property
    def shared_targets(self) -> list[Path]:
        """The files that all pictures share."""
        return self._plan.shared_targets()

    def run(self) -> RunSummary:
        """Do it; returns what came of it.

        Raises:
            OutputError: a shared file may not be written.
            FormatError, SettingError: the COCO annotation file is damaged, or lacks a picture or a class.
            CheckpointError, SettingError, DeviceError: as `Detector`.
        """
        if self.summary.failures and self._settings.strict:
            return self.summary
        if self._is_complete():
            for entry in self._finished.values():
                self.summary.add_finished(entry)
            return self.summary
        self._refuse_to_forget()
        if self._settings.file is not None:
            check_suffix(self._settings.file)
        self._plan.check_shared()
        self._protect_inputs()
        possible = list(self._possible())
        if self._settings.coco_images is not None and "coco" in self._settings.formats:
            check_coco_images(self._settings.coco_images, [source.name for source in possible])
        if possible and not (self.summary.failures and self._settings.strict):
            self._do(possible)
        return self.summary

    def _refuse_to_forget(self) -> None:
        """A new run in the place of an unfinished one would lose what that one knows."""
        settings = self._settings
        if is_unfinished(settings.folder) and not self._overwrite and len(self._sources) > 1:
            raise OutputError(
                f"{settings.folder}: holds a run that was not finished; "
                "go on with --resume, or start anew with --overwrite"
            )

    def _protect_inputs(self) -> None:
        """No file that all pictures share may be one of them, or the checkpoint."""
        kept = [source.path for source in self._sources if source.path is not None]
        kept += locate(self._settings.checkpoint.given).files
        for target in self._plan.shared_targets():
            for path in kept if target.exists() else ():
                check_target(target, path, overwrite=True)

    def _do(self, sources: list[PictureInput]) -> None:
        with ExitStack() as stack:
            journal = stack.enter_context(closing(self._journal(sources)))
            run = PictureRun(
                sources=sources,
                finished=self._finished,
                read=lambda source: read_source(source, self._settings),
                reported=self._reported,
                journal=journal,
                batch_size=self._settings.batch_size,
                times=self._times,
                summary=self.summary,
                on_failure=lambda source, error: self._fail(source.name, error),
                on_note=lambda source, note: self._hooks.on_note(source.name, note),
                strict=self._settings.strict,
                should_stop=self._hooks.should_stop,
            )
            if run.do(lambda: self._start(stack)):
                journal.end()

    def _start(self, stack: ExitStack) -> Started:
        detector = stack.enter_context(self._hooks.load(self._times))
        reported = detector.settings.with_classes_of(self._settings.detection)
        provenance = Provenance(
            detector.checkpoint_name, detector.checkpoint_sha256, reported, self._settings.session.precision
        )
        outputs = real_outputs(
            self._settings,
            detector.class_names,
            provenance,
            self._hooks.on_record,
            self._times,
            self._hooks.pixel_writers,
            overwrite=self._overwrite,
        )
        return Started(detector, detector.class_names, outputs)

    def _journal(self, sources: list[PictureInput]) -> Journal:
        """Of runs over several pictures; a single one has nothing to go on with."""
        folder = self._settings.folder if len(sources) > 1 or self._finished else None
        return Journal(folder, self._fingerprint(), self._finished.values())

    def _fingerprint(self) -> str:
        given = self._settings.checkpoint.given
        checkpoint = [file_stamp(file) for file in locate(given).files]
        return fingerprint({"files": checkpoint, **self._settings.that_shape_results()})

    def _finished_before(self) -> dict[PurePosixPath, Finished]:
        """What an earlier run has done of these inputs, as far as the files are still as they were."""
        self._plan.remove_leftovers(self._sources)
        before = read_journal(self._settings.folder, self._fingerprint())
        return {s.key: before[s.key] for s in self._sources if s.key in before and self._is_as_it_was(s, before[s.key])}

    def _is_as_it_was(self, source: PictureInput, entry: Finished) -> bool:
        """Whether an entry is of this input (a key depends on the other inputs too), and all its files are there."""
        same = entry.values["file"] == source.name and entry.stamp == file_stamp(source.path)
        return same and all(path.is_file() for path in self._plan.targets(source))

    def _is_complete(self) -> bool:
        """Whether an earlier run has done all there is to do."""
        shared_are_there = all(path.is_file() for path in self._plan.shared_targets())
        ended = not is_unfinished(self._settings.folder)
        return bool(self._sources) and len(self._finished) == len(self._sources) and shared_are_there and ended

    def _possible(self) -> Iterable[PictureInput]:
        """The inputs that are done already or can be, in order."""
        return self._plan.possible(self._sources, lambda source, error: self._fail(source.name, error))

    def _without_own_results(self, sources: Iterable[PictureInput]) -> list[PictureInput]:
        """Leave out pictures that are the annotated copies of others: of an earlier run in the same folder."""
        sources = list(sources)
        copies = {path.resolve() for source in sources for path in self._plan.targets(source)}
        if self._settings.file is not None:
            return sources
        kept = [source for source in sources if source.path is None or source.path.resolve() not in copies]
        self.summary.num_skipped += len(sources) - len(kept)
        return kept

    def _reported(self, detections: Detections) -> Detections:
        """Of everything found, what the user asked for; the rest was found to be blurred."""
        if not self._settings.blur:
            return detections
        wanted = self._settings.detection
        return detections.filter(classes=wanted.classes, exclude_classes=wanted.exclude_classes)

    def _fail(self, name: str, error: SsdDetectError) -> None:
        self.summary.failures.append((name, error))
        self._hooks.on_failure(name, error)
