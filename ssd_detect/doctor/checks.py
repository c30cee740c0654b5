"""`checks_of`: facts in, the lines of the report out. Pure: no files, no processes, no clock."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from ssd_detect.doctor.advice import explain_import, gpu_line, how_it_ended, pip_line
from ssd_detect.doctor.facts import (
    DETECTION_PACKAGES,
    TENSORFLOW,
    VIDEO_PACKAGES,
    Box,
    DeviceFacts,
    Facts,
    Failure,
    Package,
    TensorFlowFacts,
    TrialFacts,
)

# What the shipped checkpoint finds in the shipped picture. Builds of TensorFlow and Pillow differ by far less.
EXPECTED_CLASS, EXPECTED_SCORE = "person", 0.930
EXPECTED_BOX: Box = (0.0, 0.0, 268.9, 320.0)
SCORE_TOLERANCE, PIXEL_TOLERANCE = 0.02, 8.0

_PYTHONS = ((3, 10), (3, 13))
_OLDEST_TENSORFLOW = (2, 16)
_SHOW_LOG = "ssd-detect doctor -v   shows what TensorFlow said before"


@dataclass(frozen=True)
class Check:
    """One line of the report.

    Args:
        name: what was looked at.
        mark: `fail` must be repaired; `warn` may cause trouble.
        found: what is there, or what is wrong.
        wanted: what should be there; empty when it is.
        step: what to do or type next; empty when there is nothing to do.
    """

    name: str
    mark: Literal["ok", "warn", "fail"]
    found: str
    wanted: str = ""
    step: str = ""

    def as_clause(self) -> str:
        """As a part of a sentence."""
        return self.found if self.name in ("devices", "detection") else f"{self.name} {self.found}"


def checks_of(facts: Facts) -> Iterator[Check]:
    """The lines in the order of causes: what stands first may be why a later one fails."""
    yield Check("system", "ok", f"{facts.system.name} ({facts.system.machine})")
    yield _python(facts)
    yield Check("ssd-detect", "ok", facts.own_version)
    yield from (_package(package, facts) for package in DETECTION_PACKAGES)
    yield from _tensorflow(facts)
    yield _detection(facts)
    yield from (_package(package, facts) for package in VIDEO_PACKAGES)


def _python(facts: Facts) -> Check:
    oldest, newest = (f"{major}.{minor}" for major, minor in _PYTHONS)
    found = f"{facts.python.version} ({facts.python.path})"
    if _PYTHONS[0] <= _release(facts.python.version) <= _PYTHONS[1]:
        return Check("Python", "ok", found)
    return Check("Python", "warn", found, f"{oldest} to {newest}", f"install ssd-detect into a Python {newest}")


def _package(package: Package, facts: Facts) -> Check:
    version = facts.packages[package.module]
    if isinstance(version, Failure):
        return _broken(package, version, facts)
    return Check(package.name, "ok", version)


def _broken(package: Package, failure: Failure, facts: Facts) -> Check:
    found, step = explain_import(package, failure, facts)
    wanted = package.requirement if failure.kind == "missing" else ""
    return Check(package.name, "fail", found, wanted, step)


def _tensorflow(facts: Facts) -> Iterator[Check]:
    tensorflow = facts.tensorflow
    assert tensorflow is not None
    if isinstance(tensorflow, Failure):
        yield _broken(TENSORFLOW, tensorflow, facts)
        return
    if _release(tensorflow.version) < _OLDEST_TENSORFLOW:
        step = pip_line(facts, "--upgrade", TENSORFLOW.requirement)
        yield Check(TENSORFLOW.name, "warn", tensorflow.version, TENSORFLOW.requirement, step)
    else:
        yield Check(TENSORFLOW.name, "ok", tensorflow.version)
    yield Check("built for", "ok", _built_for(tensorflow))
    yield _devices(facts, tensorflow)


def _built_for(tensorflow: TensorFlowFacts) -> str:
    if not tensorflow.is_cuda_build:
        return "the CPU only"
    if tensorflow.cuda_version is None:
        return "CUDA (this build does not say which)"
    return f"CUDA {tensorflow.cuda_version} and cuDNN {tensorflow.cudnn_version or '(unknown)'}"


def _devices(facts: Facts, tensorflow: TensorFlowFacts) -> Check:
    seen = ", ".join(_described(device) for device in tensorflow.devices) or "none"
    if not _lacks_device(facts):
        return Check("devices", "ok", seen)
    found = f"there is no {facts.device_asked}, TensorFlow sees {seen}"
    step = gpu_line(facts, tensorflow) if not tensorflow.gpus else "choose one of those GPUs with --device"
    return Check("devices", "fail", found, facts.device_asked, step or "ssd-detect doctor --device cpu")


def _described(device: DeviceFacts) -> str:
    if not device.is_gpu:
        return device.name
    capability = device.compute_capability
    return f"{device.name} {device.model or 'of unknown model'}" + (
        f" (compute capability {capability})" if capability else ""
    )


def _lacks_device(facts: Facts) -> bool:
    if not isinstance(facts.tensorflow, TensorFlowFacts) or not facts.device_asked.startswith("gpu"):
        return False
    return facts.device_asked.upper() not in {device.name for device in facts.tensorflow.devices}


def _detection(facts: Facts) -> Check:
    trial = facts.trial
    if trial is None:
        return Check("detection", "fail", "not tried, since TensorFlow does not start")
    if _lacks_device(facts):
        return Check("detection", "fail", f"not possible without {facts.device_asked}")
    if isinstance(trial, Failure):
        return Check("detection", "fail", how_it_ended(trial), step=_SHOW_LOG)
    if not is_as_expected(trial):
        return _unexpected(trial, facts)
    return Check("detection", "ok", _sound(trial))


def _unexpected(trial: TrialFacts, facts: Facts) -> Check:
    found = f"found {_object(trial.class_name, trial.score, trial.box)} in the picture that ships"
    step = "ssd-detect doctor --device cpu   tells whether the GPU is to blame"
    if trial.device_name == "CPU":
        step = pip_line(facts, "--force-reinstall", "ssd-detect")
    return Check("detection", "fail", found, _object(EXPECTED_CLASS, EXPECTED_SCORE, EXPECTED_BOX), step)


def is_as_expected(trial: TrialFacts) -> bool:
    """Whether the trial found what it finds on a sound machine."""
    if trial.class_name != EXPECTED_CLASS or trial.box is None:
        return False
    pixels = max(abs(edge - expected) for edge, expected in zip(trial.box, EXPECTED_BOX, strict=True))
    return abs(trial.score - EXPECTED_SCORE) <= SCORE_TOLERANCE and pixels <= PIXEL_TOLERANCE


def _sound(trial: TrialFacts) -> str:
    speed = f"first picture {trial.first_seconds:.2f} s, then {trial.median_seconds:.2f} s each"
    return f"{trial.class_name} found with score {trial.score:.2f} on {trial.device_name}; {speed}"


def _object(class_name: str | None, score: float, box: Box | None) -> str:
    if class_name is None or box is None:
        return "nothing"
    return f"{class_name} {score:.2f} at " + " ".join(f"{edge:.0f}" for edge in box)


def _release(version: str) -> tuple[int, int]:
    """Major and minor of a version."""
    match = re.match(r"(\d+)\.(\d+)", version)
    return (int(match.group(1)), int(match.group(2))) if match else (0, 0)
