"""Many pictures through one detector: read ahead, detect in batches, draw, write. Knows the detector as a callable."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from ssd_detect.arrays import Pixels
from ssd_detect.detections import Detections
from ssd_detect.errors import OutputError, PictureError, SsdDetectError
from ssd_detect.media.draw import draw_detections
from ssd_detect.media.pictures import read_picture, write_picture
from ssd_detect.media.pipeline import batches, read_ahead
from ssd_detect.media.targets import PictureJob
from ssd_detect.stages import StageTimes


@dataclass(frozen=True)
class PictureResult:
    """What became of a job: either `detections` or `error` is set."""

    job: PictureJob
    detections: Detections | None = None
    error: SsdDetectError | None = None


@dataclass(frozen=True)
class PictureRun:
    """How the jobs are done.

    Args:
        detect: pictures in, their detections out.
        batch_size: pictures handed to `detect` at once.
        labels: write class and score beside each box.
        overwrite: replace existing files.
        times: gets the seconds of `read` and `draw`.
    """

    detect: Callable[[Sequence[Pixels]], list[Detections]]
    batch_size: int
    labels: bool
    overwrite: bool
    times: StageTimes

    def results(self, jobs: Iterable[PictureJob]) -> Iterator[PictureResult]:
        """Do the jobs; a result each, in their order. A failure is a result too and does not stop the rest."""
        with read_ahead(map(self._read, jobs), depth=self.batch_size) as pictures:
            for batch in batches(pictures, self.batch_size):
                yield from self._batch_results(batch)

    def _read(self, job: PictureJob) -> tuple[PictureJob, Pixels | SsdDetectError]:
        try:
            with self.times.measure("read"):
                return job, read_picture(job.source)
        except PictureError as error:
            return job, error

    def _batch_results(self, batch: list[tuple[PictureJob, Pixels | SsdDetectError]]) -> Iterator[PictureResult]:
        found = iter(self.detect([item for _, item in batch if not isinstance(item, SsdDetectError)]))
        for job, item in batch:
            if isinstance(item, SsdDetectError):
                yield PictureResult(job, error=item)
            else:
                yield self._write(job, item, next(found))

    def _write(self, job: PictureJob, picture: Pixels, detections: Detections) -> PictureResult:
        try:
            with self.times.measure("draw"):
                annotated = draw_detections(picture, detections, labels=self.labels)
            with self.times.measure("write"):
                write_picture(job.target, annotated, overwrite=self.overwrite)
        except OutputError as error:
            return PictureResult(job, error=error)
        return PictureResult(job, detections)
