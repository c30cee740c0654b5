"""What was measured: frozen records, which `document` makes JSON of and the command line a table. Seconds and bytes."""

from collections.abc import Mapping
from dataclasses import dataclass

from ssd_detect.benchmark.samples import Samples
from ssd_detect.doctor.facts.record import Record
from ssd_detect.engines.processor import is_busy


@dataclass(frozen=True)
class Machine:
    """This computer.

    Args:
        processor: its model, as the system names it.
        cores: that this process may use; `all_cores`: that there are.
        memory_bytes: of the computer; None where the system does not tell.
        gpus: their models, as NVIDIA's driver names them.
        packages: distribution -> version, of those that compute, read and write.
        load: the system's mean number of busy processes in the last minute, before anything was measured; None on
            Windows.
    """

    processor: str
    cores: int
    all_cores: int
    memory_bytes: int | None
    system: str
    gpus: tuple[str, ...]
    python: str
    packages: Mapping[str, str]
    load: float | None

    @property
    def is_busy(self) -> bool:
        """Whether the numbers mislead, since other programs want the cores too."""
        return is_busy(self.load, self.cores)


@dataclass(frozen=True)
class BenchmarkPicture(Record):
    """A picture that was measured with; pixels."""

    name: str
    width: int
    height: int


@dataclass(frozen=True)
class Opened(Record):
    """A network that is ready.

    Args:
        checkpoint, sha256: its name and the hash of its file.
        size: of its square input, pixels; `num_classes` without the background.
        engine, version, device, precision: as `RunsOn`.
        threads: for the network.
        pictures: those that could be read.
        failures: why others could not, a line each.
        first_call_seconds: of the first picture, when much is prepared once; no sample of anything.
    """

    checkpoint: str
    sha256: str
    size: int
    num_classes: int
    engine: str
    version: str
    device: str
    precision: str
    threads: int
    pictures: tuple[BenchmarkPicture, ...]
    failures: tuple[str, ...]
    first_call_seconds: float


@dataclass(frozen=True)
class ColdStart:
    """`ssd-detect image` in new processes.

    Args:
        first_result: from the start until the first line of results is there.
        end: until the process has ended, the annotated picture written.
    """

    first_result: Samples
    end: Samples


@dataclass(frozen=True)
class StageTable:
    """One picture from file to annotated file.

    Args:
        picture: which one.
        whole: all of it.
        stages: name -> each one's part, in their order.
    """

    picture: BenchmarkPicture
    whole: Samples
    stages: Mapping[str, Samples]


@dataclass(frozen=True)
class BatchTimes:
    """So many pictures at once: seconds of a call, and the most memory that the process held meanwhile."""

    batch_size: int
    seconds: Samples
    peak_bytes: int | None


@dataclass(frozen=True)
class ThreadTimes:
    """One picture, with so many threads for the network."""

    threads: int
    seconds: Samples


@dataclass(frozen=True)
class VideoTimes:
    """A made video, end to end, and the same frames through the bare network; in turns.

    Args:
        frames: of the video; `batch_size` of them go through the network at once.
        run: reading, detecting, drawing, encoding and the closing of the file.
        network: the network's own calls alone, added up.
    """

    width: int
    height: int
    frames: int
    batch_size: int
    run: Samples
    network: Samples

    @property
    def ratio(self) -> float:
        """Throughput of the run as a share of the bare network's."""
        return self.network.median / self.run.median


@dataclass(frozen=True)
class Agreement:
    """One engine's outputs beside the reference's.

    Args:
        score_difference: the largest of any score, 0 to 1; infinite where one of them is no number.
        same_detections: whether the same objects were found in the same places.
        agrees: whether both are as they must be; None where other arithmetic than float32 was asked for.
    """

    score_difference: float
    same_detections: bool
    agrees: bool | None


@dataclass(frozen=True)
class EngineResult:
    """What `--compare` found about one engine.

    Args:
        engine: its name, and behind it the arithmetic unless that is float32.
        opened: None where it could not be opened.
        seconds: of all pictures, one at a time.
        peak_bytes: the most memory that its worker held.
        idle_share: of a core that the worker used while others were measured.
        agreement: with the reference; None for the reference itself, and where there is none.
        cold_start: None where it was not measured.
        missing: how to install it, where it is not installed.
        refusal: why it does not run with these settings, where they are not for it.
        problem: what went wrong, where something did.
    """

    engine: str
    opened: Opened | None = None
    seconds: Samples | None = None
    peak_bytes: int | None = None
    idle_share: float | None = None
    agreement: Agreement | None = None
    cold_start: ColdStart | None = None
    missing: str = ""
    refusal: str = ""
    problem: str = ""

    @property
    def is_fault(self) -> bool:
        """Whether it makes the comparison fail."""
        return bool(self.problem) or (self.agreement is not None and self.agreement.agrees is False)


@dataclass(frozen=True)
class Benchmark:
    """All of it; what was not measured is None or empty.

    Args:
        num_warm_ups: calls that were made before samples were taken, and are in none.
        failures: pictures that could not be read, a line each.
        compared: what `--compare` found, engine by engine, the reference first.
    """

    machine: Machine
    pictures: tuple[BenchmarkPicture, ...]
    opened: Opened | None = None
    num_warm_ups: int = 0
    cold_start: ColdStart | None = None
    stages: StageTable | None = None
    batches: tuple[BatchTimes, ...] = ()
    threads: tuple[ThreadTimes, ...] = ()
    video: VideoTimes | None = None
    peak_bytes: int | None = None
    failures: tuple[str, ...] = ()
    compared: tuple[EngineResult, ...] = ()

    def ratio_to_first(self, result: EngineResult) -> float | None:
        """How long an engine takes as a multiple of the first one's time; None where either was not measured."""
        first = self.compared[0].seconds
        return None if first is None or result.seconds is None else result.seconds.median / first.median
