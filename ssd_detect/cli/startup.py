"""Starting the detector from the command line: quickly, TensorFlow quiet, and with a word on what is assumed."""

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from importlib import import_module
from typing import TYPE_CHECKING

from ssd_detect.cli.interrupt import interrupted_at_once
from ssd_detect.cli.options import RunSettings
from ssd_detect.cli.talk import Talk
from ssd_detect.conventions import Arithmetic, EngineName
from ssd_detect.doctor.hints import SLOW_START, UNUSED_GPU, has_nvidia_gpu
from ssd_detect.doctor.probes.sources import Sources
from ssd_detect.environment import (
    Terminated,
    held_back_stderr,
    hide_gpus,
    keep_freed_memory,
    leave_keras_out,
    quick_imports,
    silence_tensorflow,
)
from ssd_detect.errors import DeviceError
from ssd_detect.optional_packages import reason_in_words
from ssd_detect.settings import SessionSettings
from ssd_detect.stages import StageTimes

if TYPE_CHECKING:
    from ssd_detect.arrays import Floats
    from ssd_detect.detector import Detector
    from ssd_detect.model.checkpoint import Checkpoint
    from ssd_detect.model.runs_on import RunsOn


def open_detector(
    run: RunSettings,
    times: StageTimes | None = None,
    sources: Sources | None = None,
    on_outputs: "Callable[[Floats, Floats], None] | None" = None,
) -> "Detector":
    """Import the engine, while a thread loads the checkpoint, and open the network.

    What `auto` takes is asked here, so that it is imported as an engine is that was typed. Ctrl-C interrupts at once:
    until the network is there, nothing is in hand.

    Args:
        run: what was chosen.
        times, on_outputs: as for `Detector`.
        sources: other than this machine's.
    """
    from ssd_detect.model.checkpoint import loaded_ahead

    engine = run.session.engine
    with (
        interrupted_at_once(),
        loaded_ahead(run.checkpoint, numbers=engine is EngineName.TENSORFLOW) as loaded,
        quick_imports(),
    ):
        session = _with_engine(run, loaded)
        _import_engine(session, run.talk)
        from ssd_detect.detector import Detector

        detector = Detector(
            loaded(),
            settings=run.detection,
            session=session,
            batch_size=run.batch_size,
            times=times,
            on_slow_start=lambda: run.talk.note(SLOW_START),
            on_outputs=on_outputs,
            on_note=run.talk.note,
        )
    if leaves_gpu_unused(detector, run, sources or Sources.of_this_machine()):
        run.talk.note(UNUSED_GPU)
    if detector.assumed:
        run.talk.note(f"checkpoint {detector.checkpoint_name}: assumed {', '.join(detector.assumed)}")
    tell_of_other_weights(run, detector.checkpoint_name, detector.checkpoint_sha256)
    run.talk.detail(
        f"checkpoint {detector.checkpoint_name} (SHA-256 {detector.checkpoint_sha256[:12]}…), "
        f"SSD{detector.spec.size}, {len(detector.class_names) - 1} classes, on {_in_words(detector.runs_on)}"
    )
    return detector


def _in_words(runs_on: "RunsOn") -> str:
    precision = "" if runs_on.precision is Arithmetic.FLOAT32 else f", {runs_on.precision.value}"
    return f"{runs_on.device} ({runs_on.engine.value} {runs_on.version}{precision})"


def _with_engine(run: RunSettings, loaded: "Callable[[], Checkpoint]") -> SessionSettings:
    """The settings with an engine's own name, also for `auto`."""
    if run.session.engine is not EngineName.AUTO:
        return run.session
    from ssd_detect.engines.choice import choose

    return replace(run.session, engine=choose(loaded(), run.session, run.talk.note))


def _import_engine(session: SessionSettings, talk: Talk) -> None:
    """Import what computes; in this thread, since no other could be stopped by Ctrl-C in the middle of it."""
    keep_freed_memory()
    if session.engine is not EngineName.TENSORFLOW:
        from ssd_detect.engines.packages import imported

        imported(session.engine)
        return
    _prepare_for_tensorflow(session, talk)
    try:
        with nullcontext() if talk.verbose else held_back_stderr():
            import_module("ssd_detect.model.session")
    except (ImportError, Terminated):  # told as of any package; by a signal
        raise
    except (Exception, SystemExit) as error:  # a broken package raises what it likes
        reason = reason_in_words(error)
        raise DeviceError(f"TensorFlow does not start ({reason}); type ssd-detect doctor to find out why") from error


def _prepare_for_tensorflow(session: SessionSettings, talk: Talk) -> None:
    """What has to be in the environment before its import."""
    leave_keras_out()
    if session.device.kind == "cpu":
        hide_gpus()
    if not talk.verbose:
        silence_tensorflow()


def tell_of_other_weights(run: RunSettings, name: str, sha256: str) -> None:
    """Say so where `--thresholds` are those of another checkpoint than the one whose scores they are for."""
    warning = None if run.thresholds is None else run.thresholds.warning_for(name, sha256)
    if warning is not None:
        run.talk.note(warning)


def leaves_gpu_unused(detector: "Detector", run: RunSettings, sources: Sources) -> bool:
    """Whether TensorFlow leaves a GPU alone without anybody having asked for that; other engines were asked for."""
    runs_on = detector.runs_on
    on_cpu = runs_on.engine is EngineName.TENSORFLOW and runs_on.device == "CPU"
    return on_cpu and run.session.device.kind == "auto" and has_nvidia_gpu(sources)


def tell_stage_times(detector: "Detector", talk: Talk) -> None:
    """One line with the milliseconds of each stage, under --verbose."""
    seconds = detector.times.seconds()
    talk.detail("time: " + ", ".join(f"{stage} {1000 * s:.1f} ms" for stage, s in seconds.items()))
