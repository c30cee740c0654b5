"""`judge`: facts in; checks, a yes or no, and one sentence out. Pure: no look at the machine, no process, no clock."""

from ssd_detect.doctor.advice import in_sentence
from ssd_detect.doctor.check import NO_GPU, Check, Verdict
from ssd_detect.doctor.checks import checks_of
from ssd_detect.doctor.expected import is_as_expected
from ssd_detect.doctor.facts import Facts
from ssd_detect.doctor.situation import asks_for_gpu, expects_gpu, gpu_in_question, on_gpu, running

_ARTICLES = {"driver": "its ", "build": "the "}  # before names of checks that are not names


def judge(facts: Facts, *, require_gpu: bool = False) -> Verdict:
    """What the facts mean.

    Args:
        facts: what is known about the machine.
        require_gpu: whether detection has to work on a GPU, so that what keeps it from that is a failure.
    """
    checks = checks_of(facts, require_gpu=require_gpu)
    works = _seems_to_work(checks, facts) if facts.quick else is_as_expected(facts.trial)
    works_on_gpu = works and (_gpu_seems_to_work(checks, facts) if facts.quick else on_gpu(facts.trial))
    sentence = _praise(checks, facts, works_on_gpu) if works else _complaint(checks, facts)
    return Verdict(checks, works, works_on_gpu, proved=not facts.quick, sentence=sentence)


def cause_of(verdict: Verdict) -> Check | None:
    """The check that the sentence is about; None when there is no fault."""
    faults = [check for check in verdict.checks if check.is_fault]
    ranks = [_stopping(faults, "detection"), _stopping(faults, "gpu")]
    ranks += [next((check for check in faults if check.mark == mark), None) for mark in ("fail", "warn")]
    return next((check for check in ranks if check is not None), None)


def _stopping(faults: list[Check], what: str) -> Check | None:
    return next((check for check in faults if check.stops == what), None)


def _seems_to_work(checks: tuple[Check, ...], facts: Facts) -> bool:
    needed = ("detection", "gpu") if asks_for_gpu(facts) else ("detection",)
    return not any(check.is_fault and check.stops in needed for check in checks)


def _gpu_seems_to_work(checks: tuple[Check, ...], facts: Facts) -> bool:
    return (
        expects_gpu(facts) and facts.device_asked != "cpu" and not any(c.is_fault and c.stops == "gpu" for c in checks)
    )


# ---------------------------------------------------------------- the sentence


def _praise(checks: tuple[Check, ...], facts: Facts, works_on_gpu: bool) -> str:
    faults = [check for check in checks if check.is_fault]
    gpu_fault = _stopping(faults, "gpu")
    but = _but([fault for fault in faults if fault is not gpu_fault], fails_only=gpu_fault is not None)
    start = f"{_verb(facts, bool(faults), works_on_gpu)} on {_place(facts, works_on_gpu)}{but}"
    if gpu_fault is not None and gpu_fault.found == NO_GPU:
        return f"{_verb(facts, True, works_on_gpu)} on the CPU, but {NO_GPU}."
    if gpu_fault is not None:
        article = _ARTICLES.get(gpu_fault.name, "")
        return f"{start}; for the GPU: {article}{gpu_fault.as_clause()}; {in_sentence(gpu_fault.step)}"
    if facts.device_asked == "cpu" and not facts.quick:
        return f"{start}; GPUs were left alone, as --device cpu asks."
    proof = "; ssd-detect doctor without --quick proves it" if facts.quick and not faults else ""
    return f"{start}{proof}."


def _verb(facts: Facts, has_faults: bool, works_on_gpu: bool) -> str:
    if facts.quick:
        return "Should work"
    return "Everything works" if works_on_gpu and not has_faults else "Works"


def _but(faults: list[Check], fails_only: bool) -> str:
    """The first failure besides the GPU's; a warning only where nothing is worse."""
    told = [fault for fault in faults if fault.mark == "fail"]
    told = told or ([] if fails_only else faults)
    return f", but {told[0].as_clause()}" if told else ""


def _place(facts: Facts, works_on_gpu: bool) -> str:
    if not works_on_gpu:
        return "the CPU"
    index, name = _gpu(facts)
    return f"GPU {index} ({name})" if name else f"GPU {index}"


def _gpu(facts: Facts) -> tuple[str, str | None]:
    """Number and name, as TensorFlow has them; before it is asked, as the driver has them."""
    tensorflow, trial = running(facts), facts.trial
    for device in tensorflow.gpus if tensorflow else ():
        if on_gpu(trial) and device.name == getattr(trial, "device_name", None):
            return device.name.removeprefix("GPU:"), device.model
    gpu = gpu_in_question(facts)
    return (str(gpu.index), gpu.name) if gpu else ("0", None)


def _complaint(checks: tuple[Check, ...], facts: Facts) -> str:
    faults = [check for check in checks if check.is_fault]
    cause = _stopping(faults, "detection") or _stopping(faults, "gpu") or faults[0]
    cpu = "; it works with --device cpu" if is_as_expected(facts.cpu_trial) else ""
    return f"Cannot detect: {cause.as_clause()}{cpu}; {in_sentence(cause.step)}"
