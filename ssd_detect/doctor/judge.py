"""`judge`: facts in; checks, a yes or no, and one sentence out. Pure: no files, no processes, no clock."""

from dataclasses import dataclass

from ssd_detect.doctor.advice import gpu_line
from ssd_detect.doctor.checks import Check, checks_of, is_as_expected
from ssd_detect.doctor.facts import Facts, Failure, TensorFlowFacts, TrialFacts


@dataclass(frozen=True)
class Verdict:
    """The checks, whether detection works, and the sentence that sums them up."""

    checks: tuple[Check, ...]
    works: bool
    sentence: str


def judge(facts: Facts) -> Verdict:
    """What the facts mean."""
    checks = tuple(checks_of(facts))
    failures = [check for check in checks if check.mark == "fail"]
    if _works(facts.trial):
        return Verdict(checks, True, _praise(facts, failures))
    return Verdict(checks, False, _complaint(facts, failures[0]))


def _works(trial: TrialFacts | Failure | None) -> bool:
    return isinstance(trial, TrialFacts) and is_as_expected(trial)


def _praise(facts: Facts, failures: list[Check]) -> str:
    where, advice = _place(facts), _gpu_advice(facts)
    if failures:
        return f"Works on {where}, but {failures[0].as_clause()}."
    return f"Works on {where}; {advice}" if advice else f"Works on {where}."


def _place(facts: Facts) -> str:
    assert isinstance(facts.trial, TrialFacts)
    assert isinstance(facts.tensorflow, TensorFlowFacts)
    gpu = next((device for device in facts.tensorflow.gpus if device.name == facts.trial.device_name), None)
    if gpu is None:
        return "the CPU"
    index = gpu.name.removeprefix("GPU:")
    return f"GPU {index} ({gpu.model})" if gpu.model else f"GPU {index}"


def _gpu_advice(facts: Facts) -> str:
    """What a user who expected a GPU needs to hear; empty when one is used or none was wanted."""
    if not isinstance(facts.tensorflow, TensorFlowFacts) or facts.tensorflow.gpus:
        return ""
    if facts.device_asked == "cpu":
        return "GPUs were left alone, as --device cpu asks."
    line = gpu_line(facts, facts.tensorflow)
    return f"for an NVIDIA GPU, if this machine has one:\n  {line}" if line else ""


def _complaint(facts: Facts, cause: Check) -> str:
    if _works(facts.cpu_trial):
        return f"Cannot detect on the GPU: {cause.as_clause()}; it works with --device cpu."
    return f"Cannot detect: {cause.as_clause()}."
