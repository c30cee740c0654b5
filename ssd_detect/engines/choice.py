"""`auto`: the fastest of the engines that are installed, as measured on this machine, once.

Each engine runs in a process of its own, so that one that crashes is left out; they are called in turn, so that what
else the machine does meanwhile hits all of them.
"""

import statistics
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from ssd_detect.conventions import EngineName
from ssd_detect.counting import counted
from ssd_detect.engines.condition import condition
from ssd_detect.engines.converted import entry_of, prepare, room_explained, weights_file
from ssd_detect.engines.entry import CHOICES, Entry
from ssd_detect.engines.open import check_possible, is_ready, model_of
from ssd_detect.engines.packages import can_convert, is_installed
from ssd_detect.engines.processor import is_busy, load_average, usable_cores, within_cores
from ssd_detect.engines.support import candidates, check_supported
from ssd_detect.engines.trial_process import TrialProcess
from ssd_detect.errors import DeviceError, MissingPackageError, OutputError, SettingError, SsdDetectError
from ssd_detect.files import explained_writing
from ssd_detect.locks import held_alone
from ssd_detect.model.checkpoint import Checkpoint
from ssd_detect.settings import Device, SessionSettings

_ROUNDS = 5
_WEIGHTS = "auto.safetensors"
_TIE = 1.03  # a run of a minute does not tell such engines apart, however steady its calls seem
_USUAL_ORDER = (EngineName.OPENVINO, EngineName.ONNXRUNTIME, EngineName.OPENCV)  # fastest first, on most processors
_Note = Callable[[str], None]


class Timing(NamedTuple):
    """Of one engine: seconds to import and load it and to compute the first picture, and of its calls.

    Args:
        start: to the first picture.
        call: the median one.
        low, high: the quartiles of the calls, between which half of them are.
    """

    start: float
    call: float
    low: float
    high: float


def choose(checkpoint: Checkpoint, settings: SessionSettings, on_note: _Note) -> EngineName:
    """The engine to use for `settings`.

    Args:
        checkpoint: what to run.
        settings: device, precision, threads.
        on_note: is told that engines are measured and what came of it; of an earlier choice nothing.

    Raises:
        MissingPackageError: no engine that could do it is installed.
        SettingError, DeviceError: none can do it on this computer, or none works.
        OutputError: the cache cannot be written, and only engines could do it that are not ready.
    """
    settings = within_cores(settings)
    check_possible(settings)
    _check_gpu(settings)
    able = [engine for engine in candidates(settings) if _is_there(engine)]
    if not able:
        raise MissingPackageError(
            f"no engine that computes with {settings.precision.value} on device {settings.device} is installed: "
            'pip install "ssd-detect[openvino]" or "ssd-detect[onnx]"'
        )
    if len(able) == 1:
        return able[0]
    entry = entry_of(checkpoint, on_note)
    held = condition(settings, able)
    known = _known(entry, held, able)
    if known is not None:
        return known
    weights = entry.path(_WEIGHTS)
    wait = f"auto: waiting for another run that measures with {checkpoint.name}"
    try:
        with (
            room_explained(checkpoint),
            held_alone(weights, folder=_made(entry.folder.parent), on_wait=lambda: on_note(wait)),
        ):
            known = _known(entry, held, able)  # what the other run has found
            return known or _measured_choice(checkpoint, settings, able, held, on_note)
    except OutputError as error:
        return _unmeasured_choice(entry, settings, able, error, on_note)


def _unmeasured_choice(
    entry: Entry, settings: SessionSettings, able: Sequence[EngineName], error: OutputError, on_note: _Note
) -> EngineName:
    """Where the cache cannot be written: an engine that is ready, or TensorFlow, which needs nothing.

    Raises:
        OutputError: `error`, where there is neither.
    """
    ready = (engine for engine in _USUAL_ORDER if engine in able and _is_ready(entry, settings, engine))
    engine = next(ready, EngineName.TENSORFLOW)
    if engine not in able:
        raise error
    on_note(f"auto: takes {engine.value} unmeasured: {error}")
    return engine


def _is_ready(entry: Entry, settings: SessionSettings, engine: EngineName) -> bool:
    return is_ready(entry, replace(settings, engine=engine))


def _known(entry: Entry, held: str, able: Sequence[EngineName]) -> EngineName | None:
    """What an earlier run has chosen."""
    told = entry.told(CHOICES).get(held)
    return EngineName(told["engine"]) if isinstance(told, dict) and told.get("engine") in able else None


def _made(folder: Path) -> Path:
    with explained_writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
    return folder


def _check_gpu(settings: SessionSettings) -> None:
    """Refuse what needs a GPU where there is none, before engine by engine does so."""
    from ssd_detect.doctor.hints import has_nvidia_gpu
    from ssd_detect.doctor.probes.sources import Sources

    if settings.device.kind == "cpu" or has_nvidia_gpu(Sources.of_this_machine()):
        return
    if settings.device.kind == "gpu":
        raise DeviceError(f"device {settings.device} is not there: this computer has no NVIDIA GPU; use --device cpu")
    check_supported(replace(settings, device=Device("cpu")))


def _is_there(engine: EngineName) -> bool:
    return is_installed(engine) and (engine is EngineName.TENSORFLOW or can_convert())


def _measured_choice(
    checkpoint: Checkpoint, settings: SessionSettings, able: list[EngineName], held: str, on_note: _Note
) -> EngineName:
    load, cores = load_average(), usable_cores()  # before we add to it
    entry = prepare(checkpoint, EngineName.AUTO, on_note)
    model = model_of(entry, checkpoint, settings, on_note)
    on_note(f"auto: measuring {', '.join(engine.value for engine in able)} (about a minute)")
    with weights_file(checkpoint, entry.path(_WEIGHTS)) as weights:
        asked = {"entry": str(entry.folder), "model": model, "weights": str(weights)}
        timings = measured(able, settings, asked, on_note)
    engine = quickest(timings)
    if is_busy(load, cores):
        until = f"for this run only, as this machine is busy (load {load:.1f} on {counted(cores, 'core')})"
    else:
        until = "from now on"
        _remember(entry, held, engine, timings)
    told = ", ".join(f"{one.value} {timing.call:.3f} s" for one, timing in timings.items())
    is_least = timings[engine].call == min(timing.call for timing in timings.values())
    why = "" if is_least else "; no other is surely quicker, and it is the first to start"
    on_note(f"auto: takes {engine.value} {until}; a picture takes {told}{why}")
    return engine


def _remember(entry: Entry, held: str, engine: EngineName, timings: Mapping[EngineName, Timing]) -> None:
    values = {one.value: timing._asdict() for one, timing in timings.items()}
    entry.note(CHOICES, held, {"engine": engine.value, "seconds": values})


def quickest(timings: Mapping[EngineName, Timing]) -> EngineName:
    """The one with the shortest call; of those that the spread of calls does not tell from it, that which starts first.

    Args:
        timings: of at least one.
    """
    best = min(timings.values(), key=lambda timing: timing.call)
    limit = max(best.high, best.call * _TIE)
    close = {engine: timing.start for engine, timing in timings.items() if min(timing.low, timing.call) <= limit}
    return min(close, key=lambda engine: close[engine])


def measured(
    engines: Sequence[EngineName], settings: SessionSettings, asked: Mapping[str, str], on_note: _Note
) -> dict[EngineName, Timing]:
    """Time each engine; one that fails is left out, and `on_note` is told why.

    Raises:
        SettingError, DeviceError: all fail; says why each does.

    Args:
        engines: which.
        settings: device, precision, threads.
        asked: of `trial`: folder of the cache's entry, name of the model in it, file of weights for TensorFlow.
        on_note: told of failures.
    """
    assert engines
    trials: dict[EngineName, TrialProcess] = {}
    starts: dict[EngineName, float] = {}
    calls: dict[EngineName, list[float]] = {engine: [] for engine in engines}
    with ExitStack() as stack:
        for engine in engines:
            trials[engine] = stack.enter_context(TrialProcess(engine, settings, asked))
            starts[engine] = trials[engine].start()
        for _ in range(_ROUNDS):
            for engine, trial in trials.items():
                calls[engine].append(trial.call())
    works = [engine for engine, trial in trials.items() if trial.failure is None]
    if not works:
        raise _none_works(trials)
    for engine, trial in trials.items():
        if trial.failure is not None:
            on_note(f"auto: {engine.value} is left out: {trial.failure}")
    return {engine: _timing(starts[engine], calls[engine]) for engine in works}


def _none_works(trials: Mapping[EngineName, TrialProcess]) -> SsdDetectError:
    """A usage error if each of them says so."""
    kind = SettingError if all(trial.is_refused for trial in trials.values()) else DeviceError
    told = "; ".join(f"{engine.value}: {trial.failure}" for engine, trial in trials.items())
    return kind(f"no engine that is installed can do it: {told}")


def _timing(start: float, calls: Sequence[float]) -> Timing:
    low, call, high = statistics.quantiles(calls, n=4, method="inclusive")
    return Timing(start, call, low, high)
