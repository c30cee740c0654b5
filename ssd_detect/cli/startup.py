"""Starting the detector from the command line: a quiet TensorFlow, hidden GPUs, and a word on what is assumed."""

from contextlib import nullcontext
from typing import TYPE_CHECKING

from ssd_detect.cli.options import RunSettings
from ssd_detect.cli.talk import Talk
from ssd_detect.environment import held_back_stderr, hide_gpus, silence_tensorflow
from ssd_detect.stages import StageTimes

if TYPE_CHECKING:
    from ssd_detect.detector import Detector


def open_detector(run: RunSettings, times: StageTimes | None = None) -> "Detector":
    """Import TensorFlow and load the checkpoint; `times` as for `Detector`."""
    if run.session.device.kind == "cpu":
        hide_gpus()
    if not run.talk.verbose:
        silence_tensorflow()
    with nullcontext() if run.talk.verbose else held_back_stderr():
        from ssd_detect.detector import Detector
    detector = Detector(
        run.checkpoint, settings=run.detection, session=run.session, batch_size=run.batch_size, times=times
    )
    if detector.assumed:
        run.talk.note(f"checkpoint {detector.checkpoint_name}: assumed {', '.join(detector.assumed)}")
    run.talk.detail(
        f"checkpoint {detector.checkpoint_name} (SHA-256 {detector.checkpoint_sha256[:12]}…), "
        f"SSD{detector.spec.size}, {len(detector.class_names) - 1} classes, on {detector.device_name}"
    )
    return detector


def tell_stage_times(detector: "Detector", talk: Talk) -> None:
    """One line with the milliseconds of each stage, under --verbose."""
    seconds = detector.times.seconds()
    talk.detail("time: " + ", ".join(f"{stage} {1000 * s:.1f} ms" for stage, s in seconds.items()))
