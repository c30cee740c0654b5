"""The run itself: inputs in their order, through reading, network and writing, which overlap."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any

from ssd_detect.arrays import Pixels
from ssd_detect.batch.flow import Batch, PixelBudget, ReadItem, read_batches
from ssd_detect.batch.journal import Finished, Journal
from ssd_detect.batch.outputs import Outputs
from ssd_detect.batch.pixel_writers import DonePicture
from ssd_detect.batch.summary import RunSummary
from ssd_detect.detections import Detections
from ssd_detect.errors import OutputError, SsdDetectError
from ssd_detect.files import file_stamp
from ssd_detect.formats.record import PictureRecord
from ssd_detect.media.detecting import Detect, in_two_steps
from ssd_detect.media.pictures import Picture
from ssd_detect.media.pipeline import read_ahead, write_behind
from ssd_detect.media.sources.inputs import PictureInput
from ssd_detect.stages import StageTimes


@dataclass(frozen=True)
class Started:
    """What is there once the checkpoint is loaded: the detector, its class names, and the writers."""

    detect: Detect
    class_names: tuple[str, ...]
    outputs: Outputs


@dataclass
class PictureRun:
    """One run over many pictures.

    Args:
        sources: all inputs, in the order of their results.
        finished: those that an earlier run finished.
        read: gets the picture of an input, and its SHA-256 where that was asked for.
        reported: of everything detected, what is reported.
        journal: takes down what is finished.
        batch_size: pictures that go through the network at once.
        times: gets the seconds of `read`.
        summary: what came of it so far.
        on_failure: told of each input that fails.
        on_note: told what the user should know of how an input was read.
        strict: stop at the first failure.
        should_stop: asked after each batch; True ends the run, with what is in hand finished.
    """

    sources: Sequence[PictureInput]
    finished: Mapping[PurePosixPath, Finished]
    read: Callable[[PictureInput], tuple[Picture, str | None]]
    reported: Callable[[Detections], Detections]
    journal: Journal
    batch_size: int
    times: StageTimes
    summary: RunSummary
    on_failure: Callable[[PictureInput, SsdDetectError], None]
    on_note: Callable[[PictureInput, str], None]
    strict: bool = False
    should_stop: Callable[[], bool] = lambda: False
    _ahead: Iterator[PictureInput] = field(init=False)
    _halted: bool = field(init=False, default=False)

    def __post_init__(self) -> None:
        self._ahead = iter(self.sources)

    def do(self, start: Callable[[], Started]) -> bool:
        """Do all inputs; the first pictures are read while `start` loads the checkpoint. False if stopped early."""
        budget = PixelBudget()
        todo = [source for source in self.sources if source.key not in self.finished]
        ahead = read_ahead(read_batches(todo, self._read, self.batch_size, budget), depth=1)
        with ahead as batches, closing(budget):  # when nobody writes any more, nobody waits for room
            started = start()
            with started.outputs.opened():
                stopped = self._through(batches, started, budget)
                if not stopped:
                    self._pass_finished(None, started)
        return not stopped

    def _through(self, batches: Iterator[Batch[PictureInput]], started: Started, budget: PixelBudget) -> bool:
        """Detect and write batch by batch; True if the run is to stop before its end."""

        def write(batch: Batch[PictureInput]) -> None:
            for item in batch.items:
                if not self._halted:
                    self._pass_finished(item.source, started)
                    self._finish(item, started)
            budget.give_back(batch.num_pixels)

        prepare, detect = in_two_steps(started.detect)
        ahead = read_ahead(_prepared(batches, prepare), depth=1)  # its end waits for the reader, so not for room
        with write_behind(write, depth=1) as writing, ahead as ready, closing(budget):
            for batch in ready:
                batch.detect(detect)
                writing.put(batch)
                if self._halted or self.should_stop():
                    return True
        return self._halted  # the last batch may have failed

    def _read(self, source: PictureInput) -> tuple[Picture, str | None]:
        with self.times.measure("read"):
            return self.read(source)

    def _pass_finished(self, until: PictureInput | None, started: Started) -> None:
        """Report what the earlier run finished, up to this input, so that the order is that of one run."""
        for source in self._ahead:
            if source is until:
                return
            entry = self.finished.get(source.key)
            if entry is not None:
                record = entry.record(started.class_names)
                started.outputs.append_record(record)
                self._tell(source, record, started, resumed=True)

    def _finish(self, item: ReadItem[PictureInput], started: Started) -> None:
        source, picture, found = item.source, item.picture, item.detections
        if item.error is not None:
            self._fail(source, item.error)
        if picture is None or found is None:
            return
        for note in picture.notes:
            self.on_note(source, note)
        try:
            record = PictureRecord(source.name, source.key, self.reported(found), item.sha256)
            started.outputs.append(DonePicture(source, picture, found, record))
        except OutputError as error:
            self._fail(source, error)
            return
        self.journal.append(record, file_stamp(source.path))
        self._tell(source, record, started)

    def _tell(self, source: PictureInput, record: PictureRecord, started: Started, *, resumed: bool = False) -> None:
        self.summary.add(record, resumed=resumed)
        started.outputs.report(record, started.outputs.targets(source))

    def _fail(self, source: PictureInput, error: SsdDetectError) -> None:
        self.on_failure(source, error)
        self._halted = self.strict


def _prepared(
    batches: Iterator[Batch[PictureInput]], prepare: Callable[[Pixels], Any]
) -> Iterator[Batch[PictureInput]]:
    for batch in batches:
        batch.prepare(prepare)
        yield batch
