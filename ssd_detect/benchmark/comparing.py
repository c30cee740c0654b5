"""`--compare`: every engine on the same weights, pictures and threads, each in a worker of its own, in turns.

One that is not installed, refuses, dies or hangs is told of, and the others go on.
"""

import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from ssd_detect.benchmark.agreement import agreement, read_outputs
from ssd_detect.benchmark.cold_start import Started, cold_start_of, start_cold
from ssd_detect.benchmark.machine import look_at_machine
from ssd_detect.benchmark.measuring import chosen_pictures
from ssd_detect.benchmark.results import Agreement, Benchmark, EngineResult, Opened
from ssd_detect.benchmark.samples import Samples, interleaved
from ssd_detect.benchmark.settings import BenchmarkSettings
from ssd_detect.benchmark.workers import Worker, WorkerError
from ssd_detect.conventions import Arithmetic, EngineName
from ssd_detect.errors import CheckpointError, MissingPackageError, PictureError, SettingError, SsdDetectError

REFERENCE = EngineName.TENSORFLOW
_CONCERNS_ALL = (PictureError, CheckpointError)


@dataclass
class Contender:
    """One engine while it is measured; `name` is that of its row."""

    name: str
    settings: BenchmarkSettings
    worker: Worker | None = None
    opened: Opened | None = None
    seconds: list[float] = field(default_factory=list)
    peak: int | None = None
    idle_share: float | None = None
    outputs: Path | None = None
    starts: list[Started] = field(default_factory=list)
    missing: str = ""
    refusal: str = ""
    problem: str = ""

    @property
    def is_running(self) -> bool:
        """Whether it can be asked."""
        return self.worker is not None and not self.problem

    def ask(self, command: str, **arguments: Any) -> Any:
        """What its worker answers; None once something went wrong, which `problem` then says."""
        if self.worker is None or self.problem:
            return None
        try:
            return self.worker.ask(command, **arguments)
        except SsdDetectError as error:
            self.problem = str(error)
            return None

    def open(self, pictures: tuple[Path, ...], stack: ExitStack) -> None:
        """Start its worker, which goes with the stack.

        Raises:
            PictureError, CheckpointError: which no other engine would be spared.
        """
        worker = stack.enter_context(Worker(self.name))
        try:
            self.opened = worker.open(self.settings, pictures)
        except _CONCERNS_ALL:
            raise
        except MissingPackageError as error:
            self.missing = str(error)
        except SettingError as error:
            self.refusal = str(error)
        except (SsdDetectError, ImportError) as error:
            self.problem = str(error)
        else:
            self._take(worker, self.opened)

    def _take(self, worker: Worker, opened: Opened) -> None:
        asked = self.settings.session.engine.value
        if opened.engine == asked:
            self.worker = worker
        else:
            self.problem = f"{asked} was asked for, and {opened.engine} computed"


def contenders(settings: BenchmarkSettings) -> list[Contender]:
    """The reference in float32, then the chosen engine, or of `auto` every one, in the chosen arithmetic.

    All have the same threads.
    """
    settings = settings.with_threads(settings.most_threads)
    chosen, precision = settings.session.engine, settings.session.precision
    every = [engine for engine in EngineName if engine is not EngineName.AUTO]
    pairs = [(engine, precision) for engine in (every if chosen is EngineName.AUTO else [chosen])]
    reference = (REFERENCE, Arithmetic.FLOAT32)
    return [_contender(settings, *pair) for pair in dict.fromkeys([reference, *pairs])]


def _contender(settings: BenchmarkSettings, engine: EngineName, precision: Arithmetic) -> Contender:
    is_exact = precision is Arithmetic.FLOAT32
    calibration = settings.session.calibration if precision is Arithmetic.INT8 else None
    session = replace(settings.session, engine=engine, precision=precision, calibration=calibration)
    options = (*_without_calibration(settings.options), "--engine", engine.value, "--precision", precision.value)
    if calibration is not None:
        options = (*options, "--calibrate", str(calibration))
    name = engine.value if is_exact else f"{engine.value} {precision.value}"
    return Contender(name, replace(settings, session=session, options=options))


def _without_calibration(options: tuple[str, ...]) -> tuple[str, ...]:
    """Which the reference refuses; the last of an option that is given twice counts."""
    if "--calibrate" not in options:
        return options
    place = options.index("--calibrate")
    return _without_calibration(options[:place] + options[place + 2 :])


def compare(settings: BenchmarkSettings, tell: Callable[[str], None] = lambda step: None) -> Benchmark:
    """Measure every engine, and check that they agree with the reference.

    Args:
        settings: what was chosen; the engine `auto` stands for all of them.
        tell: gets the name of each step before it begins.

    Raises:
        PictureError: no picture can be read.
        CheckpointError: no usable checkpoint.
    """
    tell("the machine")
    machine = look_at_machine()
    everyone = contenders(settings)
    with tempfile.TemporaryDirectory(prefix="ssd-detect-") as name:
        folder = Path(name)
        pictures = chosen_pictures(settings, folder)
        with ExitStack() as stack:
            for contender in everyone:
                tell(f"{contender.name}: start")
                contender.open(pictures, stack)
            num_warm_ups = take_turns(everyone, settings.runs, tell)
            _look_at_outputs(everyone, folder, tell)
        _start_cold(everyone, pictures[0], settings.cold_starts, tell)
        compared = tuple(_results(everyone))
    opened = next((contender.opened for contender in everyone if contender.opened), None)
    return Benchmark(
        machine=machine,
        pictures=opened.pictures if opened else (),
        num_warm_ups=num_warm_ups,
        failures=opened.failures if opened else (),
        compared=compared,
    )


def take_turns(everyone: Iterable[Contender], runs: int, tell: Callable[[str], None]) -> int:
    """Time all pictures once for each engine in each round; the first round warms up. Returns the warm-up calls."""
    running = [contender for contender in everyone if contender.is_running]

    def call(contender: Contender) -> Any:
        tell(f"{contender.name}: all pictures")
        return contender.ask("each")

    turns = interleaved({one.name: partial(call, one) for one in running}, runs + 1)
    for contender in running:
        contender.seconds = [seconds for seconds in turns[contender.name][1:] if seconds is not None]
    return 2 * len(running)  # the first call, and a round


def _look_at_outputs(everyone: Iterable[Contender], folder: Path, tell: Callable[[str], None]) -> None:
    for number, contender in enumerate(everyone):
        tell(f"{contender.name}: outputs")
        contender.peak, idle = contender.ask("peak"), contender.ask("idle")
        if idle is not None and idle["seconds"] > 0:
            contender.idle_share = idle["cpu_seconds"] / idle["seconds"]
        target = folder / f"outputs{number}.npz"
        contender.ask("outputs", target=str(target))
        contender.outputs = target if contender.is_running else None


def _start_cold(everyone: Iterable[Contender], picture: Path, rounds: int, tell: Callable[[str], None]) -> None:
    """In turns too, when all workers have gone."""
    for number in range(rounds):
        for contender in everyone:
            if contender.is_running:
                tell(f"{contender.name}: cold start {number + 1} of {rounds}")
                try:
                    contender.starts.append(start_cold(picture, contender.settings.options))
                except WorkerError as error:
                    contender.problem = str(error)


def _results(everyone: list[Contender]) -> Iterator[EngineResult]:
    reference = everyone[0]
    for contender in everyone:
        yield EngineResult(
            engine=contender.name,
            opened=contender.opened,
            seconds=Samples(tuple(contender.seconds)) if contender.seconds else None,
            peak_bytes=contender.peak,
            idle_share=contender.idle_share,
            agreement=None if contender is reference else _agreement(reference, contender),
            cold_start=cold_start_of(contender.starts) if contender.starts else None,
            missing=contender.missing,
            refusal=contender.refusal,
            problem=contender.problem,
        )


def _agreement(reference: Contender, contender: Contender) -> Agreement | None:
    if reference.outputs is None or contender.outputs is None:
        return None
    exact = contender.settings.session.precision is Arithmetic.FLOAT32
    outputs = read_outputs(reference.outputs), read_outputs(contender.outputs)
    return agreement(*outputs, contender.settings.detection, exact=exact)
