"""What is measured, and how often."""

from dataclasses import dataclass, replace
from pathlib import Path

from ssd_detect.engines.processor import usable_cores
from ssd_detect.settings import CheckpointSettings, DetectionSettings, SessionSettings

DEFAULT_RUNS = 7
QUICK_RUNS = 3
MOST_PICTURES = 8
"""More than these are not taken: they wait in the memory of every worker."""

_VIDEO_SECONDS = 4.0
_LEAST_FRAMES, _MOST_FRAMES = 8, 480


@dataclass(frozen=True)
class BenchmarkSettings:
    """How this machine is measured.

    Args:
        checkpoint, detection, session, batch_size: as for `Detector`; the batch size is that of the video.
        pictures: files; the first `MOST_PICTURES` are taken. Empty: pictures that are made.
        options: of `ssd-detect image`, as typed, that choose the same checkpoint, engine and so on.
        runs: timed calls of each variant; at least 2, so that there is a spread.
        quick: leave out what takes long: threads, most batch sizes, all but one cold start.
    """

    checkpoint: CheckpointSettings
    detection: DetectionSettings
    session: SessionSettings
    batch_size: int
    pictures: tuple[Path, ...] = ()
    options: tuple[str, ...] = ()
    runs: int = DEFAULT_RUNS
    quick: bool = False

    @property
    def long_runs(self) -> int:
        """Timed calls of what takes seconds each."""
        return max(2, self.runs // 3)

    @property
    def cold_starts(self) -> int:
        """Processes that are started and timed."""
        return 1 if self.quick else max(3, self.runs // 2)

    @property
    def batch_sizes(self) -> tuple[int, ...]:
        """Pictures at once, growing."""
        return (1, 4) if self.quick else (1, 2, 4, 8)

    @property
    def most_threads(self) -> int:
        """That were asked for, else one for each core that this process may use."""
        return self.session.intra_op_threads or usable_cores()

    @property
    def thread_counts(self) -> tuple[int, ...]:
        """At most five, growing: 1, 2, 4, the half, all; of a quick run only all."""
        most = self.most_threads
        if self.quick:
            return (most,)
        return tuple(sorted({count for count in (1, 2, 4, most // 2, most) if 1 <= count <= most}))

    def num_frames(self, seconds_a_picture: float) -> int:
        """Frames of the made video: whole batches, for about four seconds, half of that in a quick run."""
        wanted = _VIDEO_SECONDS / (2 if self.quick else 1) / seconds_a_picture
        frames = min(max(wanted, _LEAST_FRAMES), _MOST_FRAMES)
        return max(1, round(frames / self.batch_size)) * self.batch_size

    def with_threads(self, threads: int) -> "BenchmarkSettings":
        """The same with so many threads for the network."""
        return replace(self, session=replace(self.session, intra_op_threads=threads))
