"""Checks of what is done with it all: checkpoint, detection, video."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from ssd_detect.doctor.advice import SHOW_LOG, own_line, pip_line, restore_own_files, steps
from ssd_detect.doctor.check import Check
from ssd_detect.doctor.checks.imports import NOT_TRIED, how_it_ended
from ssd_detect.doctor.checks.packages import package_check
from ssd_detect.doctor.expected import EXPECTED, is_as_expected, object_text
from ssd_detect.doctor.facts import VIDEO_PACKAGES, Facts, Failure, TrialFacts, Tried
from ssd_detect.doctor.situation import expects_gpu

_FEW = 4
_FONTS = "ssd_detect/media/drawing/fonts"
_HARDWARE = re.compile(r"_(nvenc|qsv|amf|videotoolbox)$")  # FFmpeg lists these wherever it runs; few machines have them
_SLOW_SECONDS = 30.0  # of a first call that can only be the compilation of kernels


def checkpoint_check(facts: Facts) -> Check:
    """Whether the file that ships is there, and is the one of the manifest."""
    checkpoint = facts.checkpoint
    step = restore_own_files(facts, "checkpoints")
    fault = Check("checkpoint", "checkpoint", "fail", "", "", step, stops="detection")
    if checkpoint is None:
        return replace(fault, found="is not known: its manifest cannot be read")
    if checkpoint.error is not None:
        return replace(fault, found=f"{checkpoint.name} cannot be read: {checkpoint.error}", details=(checkpoint.path,))
    if checkpoint.sha256 and checkpoint.wanted_sha256 and checkpoint.sha256 != checkpoint.wanted_sha256:
        wanted = checkpoint.wanted_sha256
        found = (
            f"{checkpoint.name} is damaged: its SHA-256 is {checkpoint.sha256[:12]}, the manifest says {wanted[:12]}"
        )
        return replace(fault, found=found, wanted=wanted, details=(checkpoint.path, checkpoint.sha256))
    whole = ", as in the manifest" if checkpoint.sha256 else ""
    return Check("checkpoint", "checkpoint", "ok", f"{checkpoint.name}{whole}", details=(checkpoint.path,))


def detection_check(facts: Facts, cause: Check | None) -> Check:
    """Whether the trial found what a sound machine finds; skipped where `cause` is why it could not."""
    trial, check = facts.trial, Check("detection", "detection", "fail", "", step=SHOW_LOG, stops="detection")
    if not is_as_expected(trial) and cause is not None and not facts.quick:
        return replace(check, mark="skipped", found=f"because of {cause.name}", step="", stops="nothing")
    if trial is None:
        found = "not tried, since --quick only looks" if facts.quick else "was not tried"
        mark_if_quick = replace(check, mark="skipped", step="", stops="nothing") if facts.quick else check
        return replace(mark_if_quick, found=found)
    if isinstance(trial, Failure):
        return replace(check, found=how_it_ended(trial))
    if not is_as_expected(trial):
        return _unexpected(check, trial, facts)
    return Check("detection", "detection", "ok", _sound(trial), details=_noise(facts))


def _unexpected(check: Check, trial: TrialFacts, facts: Facts) -> Check:
    found = f"found {object_text(trial.class_name, trial.score, trial.box)} in the picture that ships"
    step = "ssd-detect doctor --device cpu   tells whether the GPU is to blame"
    if trial.device_name == "CPU":
        step = own_line(pip_line(facts, "--force-reinstall", "."))
    return replace(check, found=found, wanted=EXPECTED, step=step)


def _sound(trial: TrialFacts) -> str:
    warm_up = ", with the compilation of kernels" if trial.first_seconds > _SLOW_SECONDS else ""
    speed = f"first picture {trial.first_seconds:.2f} s{warm_up}, then {trial.median_seconds:.3f} s each"
    return f"{trial.class_name} found with score {trial.score:.2f} on {trial.device_name}; {speed}"


def _noise(facts: Facts) -> tuple[str, ...]:
    """What the log says and does not mean, so that nobody chases it."""
    parts = dict(steps()["noise"])
    if not expects_gpu(facts):
        parts |= steps()["noise_without_gpu"]
    return tuple(f'harmless in the log: "{part}" ({why})' for part, why in parts.items() if part in facts.log)


# ---------------------------------------------------------------- video


def video_checks(facts: Facts, earlier: Check | None) -> Iterator[Check]:
    """PyAV, the encoders and the fonts.

    Args:
        facts: what is known about the machine.
        earlier: the fault of what all of them stand on too; None when there is none.
    """
    packages = [package_check(package, facts, "video") for package in VIDEO_PACKAGES]
    yield from packages
    cause = earlier or next((check for check in packages if check.is_fault), None)
    again = pip_line(facts, "--force-reinstall", VIDEO_PACKAGES[0].requirement)
    yield from _tried("encoder", "does not work", facts.encoders, again, cause)
    yield from _tried("font", "cannot be read", facts.fonts, restore_own_files(facts, _FONTS), cause)


def _tried(
    kind: str, trouble: str, tried: Sequence[Tried] | Failure | None, step: str, cause: Check | None
) -> Iterator[Check]:
    if tried is None:
        return
    if isinstance(tried, Failure):
        check = Check("video", f"{kind}s", "fail", f"could not be tried: {how_it_ended(tried)}", "", NOT_TRIED.step)
        yield replace(check, mark="skipped", found=f"because of {cause.name}", step="") if cause else check
        return
    for name, failure in _failed(tried):
        if not _HARDWARE.search(name):
            yield Check("video", kind, "fail", f"{name} {trouble}: {how_it_ended(failure)}", "", step)
    good = [one.name for one in tried if one.failure is None]
    absent = tuple(f"not on this machine: {name}" for name, _ in _failed(tried) if _HARDWARE.search(name))
    if good:
        details = (*(f"works: {name}" for name in good), *absent)
        yield Check("video", f"{kind}s", "ok", _shortened(good), details=details)


def _failed(tried: Sequence[Tried]) -> list[tuple[str, Failure]]:
    return [(one.name, one.failure) for one in tried if one.failure is not None]


def _shortened(names: Sequence[str]) -> str:
    more = len(names) - _FEW
    return ", ".join(names[:_FEW]) + (f" and {more} more" if more > 0 else "")
