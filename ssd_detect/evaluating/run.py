"""An evaluation from its settings to its result. The file of this room to read first.

data set ─┬─► network (journal, resume) ─► detections.jsonl ─┐
          ├─► kept outputs ──────────────────────────────────┼─► tables ─► numbers ─► files
          └─► saved predictions ─────────────────────────────┘
"""

import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path, PurePosixPath

from ssd_detect.boxes.outputs import wanted_classes
from ssd_detect.counting import counted
from ssd_detect.datasets.dataset import AnnotatedPicture, Dataset, Treatment
from ssd_detect.datasets.opening import open_dataset
from ssd_detect.detections import Detections
from ssd_detect.errors import FormatError
from ssd_detect.evaluating.files import check_files, is_coco_file
from ssd_detect.evaluating.found import Found
from ssd_detect.evaluating.kept_inputs import check_inputs
from ssd_detect.evaluating.kept_outputs import found_in_outputs
from ssd_detect.evaluating.network import PREDICTIONS, EvalHooks, NetworkRun
from ssd_detect.evaluating.raw_file import open_raw
from ssd_detect.evaluating.saved import found_in_predictions
from ssd_detect.evaluating.settings import WHOLE_CURVES_FROM, EvalSettings
from ssd_detect.evaluating.tables import Foreign, PictureNumbers, PredictionRows, truth_of
from ssd_detect.evaluation.bootstrap import BootstrapSettings
from ssd_detect.evaluation.evaluate import EvaluationSettings, evaluate
from ssd_detect.evaluation.results import EvaluationResult
from ssd_detect.formats.jsonl import open_json_lines
from ssd_detect.formats.provenance import Provenance
from ssd_detect.formats.record import PictureRecord
from ssd_detect.reporting.details import FindingSettings, ReportDetails, RunFacts


@dataclass(frozen=True, eq=False)
class Evaluated:
    """What came of it.

    Args:
        result: the numbers; its notes are those of `evaluate` and of what was compared.
        details: what they were made of.
    """

    result: EvaluationResult
    details: ReportDetails


@dataclass(frozen=True, eq=False)
class Evaluation:
    """A data set, opened, and what is to be compared with it.

    Args:
        dataset: with at most as many pictures as the settings allow.
        settings: see `EvalSettings`.
        beyond: pictures that the limit has cut off.
    """

    dataset: Dataset
    settings: EvalSettings
    beyond: tuple[AnnotatedPicture, ...]

    @classmethod
    def of(cls, settings: EvalSettings) -> "Evaluation":
        """Open the data set, and check that the settings make sense and results can be written.

        Raises:
            SettingError: a number is out of range.
            FormatError, SettingError: no data set; see `open_dataset`. A data set without pictures.
            OutputError: a file of the results may not be written, or is one of those that are read.
        """
        numbers_wanted(settings)  # both refuse what is out of range
        _findings(settings)
        check_files(settings)
        dataset = open_dataset(settings.dataset, split=settings.split)
        check_inputs(settings, dataset)
        if not dataset.pictures:
            where = "" if settings.split is None else f" in the split {settings.split!r}"
            raise FormatError(
                f"{settings.dataset}: has no picture that can be used{where}; see ssd-detect dataset check"
            )
        kept = dataset.pictures[: settings.limit]
        return cls(replace(dataset, pictures=kept), settings, dataset.pictures[len(kept) :])

    @property
    def not_read(self) -> list[tuple[str, str]]:
        """Name and reason of each picture that reading the data set had to leave out."""
        return [(str(one.file), one.text) for one in self.dataset.problems if one.treatment is Treatment.SKIPPED]

    def run(self, hooks: EvalHooks) -> Evaluated | None:
        """Detect, compare; None when the caller wanted it to stop.

        Raises:
            SsdDetectError: as the source of the detections.
        """
        with ExitStack() as stack:
            found = self._found(hooks, stack)
            return None if found is None else self._compare(found)

    def _found(self, hooks: EvalHooks, stack: ExitStack) -> Found | None:
        settings, dataset = self.settings, self.dataset
        if settings.from_raw is not None:
            raw = stack.enter_context(open_raw(settings.from_raw))
            return found_in_outputs(raw, settings.checkpoint, settings.detection)
        if settings.predictions is not None:
            return found_in_predictions(
                settings.predictions,
                class_names=settings.checkpoint.class_names,
                dataset_names=dataset.class_names,
                coco_images=dataset.root if is_coco_file(dataset) else None,
            )
        folder = settings.folder or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="ssd-detect-")))
        return NetworkRun(dataset.pictures, settings, folder, hooks).run()

    @contextmanager
    def _keeping(self, provenance: Provenance | None) -> Iterator[Callable[[str, Detections], None]]:
        """What takes a picture that counts: detections of kept outputs go into the folder of the results."""
        folder = self.settings.folder
        if folder is None or self.settings.from_raw is None or provenance is None:
            yield lambda name, detections: None
            return
        with open_json_lines(folder / PREDICTIONS, provenance, overwrite=self.settings.overwrites) as lines:
            yield lambda name, detections: lines.append(PictureRecord(name, PurePosixPath(name), detections))

    def _compare(self, found: Found) -> Evaluated:
        settings, pictures, names = self.settings, self.dataset.pictures, found.class_names
        wanted = wanted_classes(settings.detection, names)
        truth = truth_of(pictures, self.dataset.class_names, names, wanted)
        rows = PredictionRows(PictureNumbers(self.dataset.root, pictures, self.beyond), wanted)
        with self._keeping(found.provenance) as keep:
            for name, detections in found.pictures:
                if self._counts(rows, name, detections):
                    keep(name, detections)
            self._check_some_count(rows)
        predictions = rows.table(len(pictures))
        result = evaluate(truth.table, predictions, names, numbers_wanted(settings))
        notes = (*result.notes, *truth.notes(), *_notes_of_source(found), *self._notes(rows, found.failures))
        details = ReportDetails(self._facts(found), names, truth.table, predictions, pictures, _findings(settings))
        return Evaluated(replace(result, notes=notes), details)

    def _counts(self, rows: PredictionRows, name: str, detections: Detections) -> bool:
        source = self.settings.from_raw or self.settings.predictions
        try:
            return rows.add(name, detections)
        except FormatError as error:
            raise error if source is None else FormatError(f"{source}: {error}") from error

    def _check_some_count(self, rows: PredictionRows) -> None:
        if rows.foreign and not rows.numbers:
            raise FormatError(f"no picture of the detections is one of the data set: {self._reason(rows.foreign[0])}")

    def _notes(self, rows: PredictionRows, failures: Sequence[str]) -> Iterator[str]:
        """What is to be known about the pictures, a sentence each."""
        yield "Scores count with 6 decimals and boxes with 3, as they are written."
        if self.beyond:
            first = counted(len(self.dataset.pictures), "picture counts", "pictures count").removeprefix("1 ")
            more = counted(len(self.beyond), "more is", "more are")
            yield f"Only the first {first}; {more} there."
        if failures:
            yield f"Pictures that cannot be read, and count as pictures without detections: {len(failures)}."
        if self.not_read:
            yield f"Pictures that are left out, since they or their annotations cannot be read: {len(self.not_read)}."
        missing = len(self.dataset.pictures) - len(rows.numbers) - len(failures)
        if missing:
            yield f"Pictures that the detections do not name, and that count as pictures without any: {missing}."
        if rows.foreign:
            first_reason = self._reason(rows.foreign[0])
            yield f"Pictures whose detections are left out: {len(rows.foreign)}; the first: {first_reason}."
        yield from self._problem_notes()

    def _reason(self, foreign: Foreign) -> str:
        """Why these detections do not count: the data set may have the picture, and no usable annotation for it."""
        name = PurePosixPath(foreign.file)
        for file, text in self.not_read:
            told = {PurePosixPath(word).name for word in text.replace(",", " ").split()}  # COCO: one file has all
            if Path(file).stem == name.stem or name.name in told:
                return f"{foreign.file}: reading the data set left it out: {file}: {text}"
        of_split = "" if self.settings.split is None else f"; only its split {self.settings.split!r} counts"
        return f"{foreign.reason}{of_split}"

    def _problem_notes(self) -> Iterator[str]:
        counts = Counter(one.treatment for one in self.dataset.problems if one.treatment is not Treatment.KEPT)
        if counts:
            told = ", ".join(f"{count} {treatment.value}" for treatment, count in counts.items())
            yield f"Problems of the data set: {told}; ssd-detect dataset check lists them."

    def _facts(self, found: Found) -> RunFacts:
        settings = self.settings
        scored = settings.predictions or settings.from_raw
        return RunFacts(
            dataset=str(settings.dataset),
            dataset_kind=self.dataset.kind.value,
            split=settings.split,
            provenance=found.provenance,
            predictions=None if scored is None else str(scored),
            command=settings.command,
            date=datetime.now().astimezone(),
            not_read=(*(name for name, _ in self.not_read), *found.failures),
        )


def _notes_of_source(found: Found) -> Iterator[str]:
    if found.unknown_classes:
        yield (
            f"The data set has none of these classes of the detections: {', '.join(found.unknown_classes)}; no list "
            "tells whether they are right; --classes-file names all that could be found."
        )
    if found.saved_threshold is not None and found.saved_threshold > WHOLE_CURVES_FROM:
        yield (
            f"The detections were saved with score threshold {found.saved_threshold:g}: what scored less is missing "
            f"and the average precision is too low; save with --score-threshold {WHOLE_CURVES_FROM:g}."
        )


def numbers_wanted(settings: EvalSettings) -> EvaluationSettings:
    """The same in the words of `evaluate`."""
    return EvaluationSettings(
        metrics=tuple(metric for metric in ("voc07", "voc10") if metric in settings.metrics),
        iou_thresholds=settings.iou_thresholds,
        coco="coco" in settings.metrics,
        bootstrap=None if settings.bootstrap is None else BootstrapSettings(num_resamples=settings.bootstrap),
    )


def _findings(settings: EvalSettings) -> FindingSettings:
    return FindingSettings(iou_threshold=settings.iou_thresholds[0], precision=settings.precision)
