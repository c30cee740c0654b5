"""`checks_of`: facts in, the lines of the report out. Pure: no files of the machine, no processes, no clock.

Causes come first. What follows from a fault that has been named is skipped, not reported as a second fault.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import get_args

from ssd_detect.doctor.check import NO_GPU, Check, Group
from ssd_detect.doctor.checks.devices import cache_check, devices_check, memory_check, operations_check
from ssd_detect.doctor.checks.driver import driver_check
from ssd_detect.doctor.checks.folders import folder_checks
from ssd_detect.doctor.checks.gpu import code_check, gpu_check, other_gpu_checks, visibility_check
from ssd_detect.doctor.checks.imports import NOT_INSTALLED
from ssd_detect.doctor.checks.libraries import cudnn_check, libraries_check, xla_check
from ssd_detect.doctor.checks.machine import machine_checks
from ssd_detect.doctor.checks.packages import build_check, package_checks
from ssd_detect.doctor.checks.work import checkpoint_check, detection_check, video_checks
from ssd_detect.doctor.expected import is_as_expected
from ssd_detect.doctor.facts import Facts, Failure
from ssd_detect.doctor.situation import asks_for_gpu, expects_gpu, on_gpu, running, sees_gpu

# In the order of causes; the report shows them by group.
_GPU_CHAIN: tuple[tuple[Group, str, Callable[[Facts], Check | None]], ...] = (
    ("NVIDIA driver", "GPU", gpu_check),
    ("TensorFlow", "build", build_check),
    ("NVIDIA driver", "CUDA_VISIBLE_DEVICES", visibility_check),
    ("devices", "GPU code", code_check),
    ("NVIDIA driver", "driver", driver_check),
    ("CUDA libraries", "libraries", libraries_check),
    ("CUDA libraries", "cuDNN", cudnn_check),
    ("CUDA libraries", "ptxas and libdevice", xla_check),
    ("devices", "memory", memory_check),
    ("devices", "kernel cache", cache_check),
    ("devices", "devices", devices_check),
    ("devices", "operations", operations_check),
)
_NEEDED_BY_VIDEO = ("NumPy", "Pillow", "OpenCV")
_ALWAYS_SKIPPED = ("driver", "libraries", "devices")  # the others are only of interest when they can be judged


def checks_of(facts: Facts, *, require_gpu: bool = False) -> tuple[Check, ...]:
    """The lines of the report, in the order of the groups.

    Args:
        facts: what is known about the machine.
        require_gpu: whether what keeps the GPU from working is a failure and no warning.
    """
    folders = [*folder_checks(facts)]
    base = [*machine_checks(facts), *package_checks(facts)]
    childless = _childless(facts, folders)
    fatal = childless or next((check for check in base if check.stops == "detection"), None)
    base = [_without_followers(check, fatal) for check in base]
    earlier = next((check for check in base if check.stops != "nothing"), None)
    chain = [*_gpu_checks(facts, earlier, childless), *other_gpu_checks(facts)]
    needed = require_gpu or asks_for_gpu(facts)
    if needed and _has_none(facts):
        chain.append(_nothing_to_use(facts))
    needed = needed or (sees_gpu(facts) and not is_as_expected(facts.trial))
    judged = [_lifted(check, needed) for check in (*base, *chain)]
    checkpoint = checkpoint_check(facts)
    if childless is not None and childless not in folders:
        folders.append(childless)
    cause = childless or next((check for check in (*judged, checkpoint) if _explains(check, facts)), None)
    rest = [checkpoint, detection_check(facts, cause), *video_checks(facts, childless or _broken(base)), *folders]
    order = get_args(Group)
    return tuple(sorted((*judged, *rest), key=lambda check: order.index(check.group)))  # which keeps equals in order


def _without_followers(check: Check, fatal: Check | None) -> Check:
    """TensorFlow's own line, where something before it is why it does not start."""
    follows = check.name == "TensorFlow" and check.stops == "detection" and check.found != NOT_INSTALLED
    if fatal is None or check is fatal or not follows:
        return check
    return replace(check, mark="skipped", found=f"because of {fatal.name}", wanted="", step="", id="", stops="nothing")


def _childless(facts: Facts, folders: list[Check]) -> Check | None:
    """Why no child process could be asked; None where one could."""
    room = next((check for check in folders if check.stops == "detection"), None)
    failure = facts.tensorflow
    if room is not None or not (isinstance(failure, Failure) and failure.kind == "unasked"):
        return room
    found, step = f"there is no child process to be had: {failure.detail}", "end other programs, then try again"
    return Check("system", "child process", "fail", found, "", step, stops="detection")


def _broken(base: list[Check]) -> Check | None:
    """The package that encoders and fonts cannot be tried without."""
    return next((check for check in base if check.name in _NEEDED_BY_VIDEO and check.stops == "detection"), None)


def _explains(check: Check, facts: Facts) -> bool:
    return check.is_fault and (check.stops == "detection" or (check.stops == "gpu" and not is_as_expected(facts.trial)))


# ---------------------------------------------------------------- the GPU


def _gpu_checks(facts: Facts, earlier: Check | None, childless: Check | None) -> Iterator[Check]:
    if childless is not None:
        yield Check("NVIDIA driver", "GPU", "skipped", f"because of {childless.name}")
    elif facts.device_asked == "cpu":
        yield Check("NVIDIA driver", "GPU", "skipped", "left alone, as --device cpu asks")
        yield from _listed(facts)
    elif not expects_gpu(facts):
        yield Check("NVIDIA driver", "GPU", "ok", _none_found(facts))
        yield from _listed(facts)
    else:
        yield from _chain(facts, earlier)


def _none_found(facts: Facts) -> str:
    if facts.system.kind == "Darwin":
        return "NVIDIA's CUDA does not exist on macOS; Apple's GPU works through the plugin tensorflow-metal"
    return "no NVIDIA GPU found, which is no fault: detection runs on the CPU"


def _listed(facts: Facts) -> Iterator[Check]:
    for judge in (devices_check, operations_check):
        check = judge(facts)
        if check is not None:
            yield check


def _chain(facts: Facts, earlier: Check | None) -> Iterator[Check]:
    """Each check, until one finds what stops the GPU; then those that follow from it are skipped."""
    cause = earlier if earlier is not None and earlier.stops == "gpu" else None
    for group, name, judge in _GPU_CHAIN:
        check = None if cause else judge(facts)
        if check is None:
            reason = cause or (earlier if earlier is not None and name in ("libraries", "devices") else None)
            if reason is not None and name in _ALWAYS_SKIPPED:
                yield Check(group, name, "skipped", f"because of {reason.name}")
            continue
        check = _proved(check, facts)
        cause = check if check.stops in ("gpu", "detection") else None
        yield check


def _proved(check: Check, facts: Facts) -> Check:
    """A detection on the GPU proves more than any table."""
    if check.stops != "gpu" or not (on_gpu(facts.trial) and is_as_expected(facts.trial)):
        return check
    return replace(
        check, mark="ok", found=f"works, although {check.as_clause()}", wanted="", step="", id="", stops="nothing"
    )


def _lifted(check: Check, needed: bool) -> Check:
    return replace(check, mark="fail") if needed and check.stops == "gpu" and check.mark == "warn" else check


def _has_none(facts: Facts) -> bool:
    """Where a GPU is needed and no check above says why there is none."""
    if on_gpu(facts.trial) or (asks_for_gpu(facts) and running(facts) is not None):
        return False
    return facts.device_asked == "cpu" or not expects_gpu(facts)


def _nothing_to_use(facts: Facts) -> Check:
    found, step = NO_GPU, "use a computer with an NVIDIA GPU, or the CPU"
    if facts.device_asked == "cpu":
        found, step = "there is no GPU to use, since --device cpu leaves all alone", "leave out --device cpu"
    elif asks_for_gpu(facts):
        step = "ssd-detect doctor --device cpu"
    return Check("devices", "devices", "fail", found, "a GPU", step, stops="gpu")
