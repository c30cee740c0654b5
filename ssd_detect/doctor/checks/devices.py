"""Checks of the devices: is there memory, are kernels kept, does TensorFlow list them, do operations run on them?"""

from dataclasses import replace

from ssd_detect.doctor.advice import SHOW_LOG, set_variable, unset
from ssd_detect.doctor.check import Check
from ssd_detect.doctor.checks.gpu import is_compiled_first
from ssd_detect.doctor.checks.gpu_users import name_of, step_for_users
from ssd_detect.doctor.checks.imports import how_it_ended
from ssd_detect.doctor.facts import DeviceFacts, DeviceTrial, Facts, Failure, Gpu
from ssd_detect.doctor.situation import asks_for_gpu, expects_gpu, gpu_in_question, running, sees_gpu
from ssd_detect.doctor.tables import message_in

_NEEDED_MIB = 1024  # for detection: the network, cuDNN's workspace, CUDA's own; gpu-facts F17
_WARM_CACHE = 50 * 2**20  # bytes; a cache smaller than that holds no whole TensorFlow; gpu-facts F28
_CACHE_SIZE = "4294967296"


def memory_check(facts: Facts) -> Check | None:
    """Whether the GPU in question has memory left; None where that is unknown."""
    gpu = gpu_in_question(facts)
    if gpu is None or gpu.free_mib is None:
        return None
    check = Check("devices", "memory", "ok", f"of GPU {gpu.index}: {_memory(gpu)} free")
    fault = replace(check, mark="warn", id="F17", step=step_for_users(gpu), stops="gpu")
    if (gpu.compute_mode or "").lower().startswith("exclusive") and gpu.processes:
        names = ", ".join(name_of(process) for process in gpu.processes)
        found = f"of GPU {gpu.index} is kept for one process (compute mode {gpu.compute_mode}), which is {names}"
        return replace(fault, found=found)
    if gpu.free_mib >= _NEEDED_MIB:
        return check
    found = f"of GPU {gpu.index} is taken: {_memory(gpu)} are free, about {_NEEDED_MIB} are needed"
    return replace(fault, found=found, wanted=f"{_NEEDED_MIB} MiB")


def _memory(gpu: Gpu) -> str:
    total = f" of {gpu.total_mib}" if gpu.total_mib is not None else ""
    return f"{gpu.free_mib}{total} MiB"


def cache_check(facts: Facts) -> Check | None:
    """Whether compiled kernels are kept; None where nothing is compiled."""
    if not is_compiled_first(facts):
        return None
    check = Check("devices", "kernel cache", "warn", "", id="F28")
    if facts.environment.get("CUDA_CACHE_DISABLE") == "1":
        found = "is off (CUDA_CACHE_DISABLE=1), so that each run compiles for minutes"
        return replace(check, found=found, step=unset(facts, "CUDA_CACHE_DISABLE"))
    cache = facts.kernel_cache
    if cache is None:
        return None
    if facts.quick and cache.size < _WARM_CACHE:
        keep = set_variable(facts, "CUDA_CACHE_MAXSIZE", _CACHE_SIZE)
        step = f"{keep}   (keeps what is compiled), then ssd-detect doctor, which compiles it"
        return replace(check, found="is empty: the first run compiles for minutes", step=step)
    return replace(check, mark="ok", found=f"{cache.size / 2**20:.0f} MiB in {cache.path}")


# ---------------------------------------------------------------- what TensorFlow lists


def devices_check(facts: Facts) -> Check | None:
    """Whether TensorFlow lists what was asked for, and the GPU that is there; None when it was not asked."""
    tensorflow = running(facts)
    if tensorflow is None:
        return None
    seen = ", ".join(_described(device) for device in tensorflow.devices) or "none"
    check = Check("devices", "devices", "ok", seen)
    if asks_for_gpu(facts) and facts.device_asked.upper() not in {device.name for device in tensorflow.devices}:
        found = f"there is no {facts.device_asked}, TensorFlow sees {seen}"
        step = "choose one of those GPUs with --device" if tensorflow.gpus else "ssd-detect doctor --device cpu"
        return replace(check, mark="fail", found=found, wanted=facts.device_asked, step=step, stops="gpu")
    if sees_gpu(facts) or not expects_gpu(facts) or facts.device_asked == "cpu":
        return check
    message = message_in(facts.log)
    why = f": {message.meaning}" if message else ", and no reason is known"
    return replace(
        check, mark="warn", found=f"TensorFlow lists no GPU{why}", wanted="GPU:0", step=SHOW_LOG, stops="gpu"
    )


def _described(device: DeviceFacts) -> str:
    if not device.is_gpu:
        return device.name
    capability = device.compute_capability
    return f"{device.name} {device.model or 'of unknown model'}" + (
        f" (compute capability {capability})" if capability else ""
    )


def operations_check(facts: Facts) -> Check | None:
    """Whether real operations ran on each device; None when not tried."""
    trials = facts.device_trials
    if trials is None:
        return None
    check = Check("devices", "operations", "warn", "", step=SHOW_LOG, stops="gpu")
    if isinstance(trials, Failure):
        return replace(check, found=f"operations could not be tried: {how_it_ended(trials)}")
    bad = next((trial for trial in trials if not trial.works), None)
    if bad is None:
        names = ", ".join(trial.name for trial in trials)
        details = tuple(_timed(trial) for trial in trials)
        return Check("devices", "operations", "ok", f"operations run on {names}", details=details)
    return _bad(replace(check, stops="gpu" if bad.name.startswith("GPU") else "detection"), bad)


def _bad(check: Check, trial: DeviceTrial) -> Check:
    failed = next((operation for operation in trial.operations if operation.failure is not None), None)
    if failed is None or failed.failure is None:
        return replace(check, found=f"{trial.name} was not tried")
    found = f"{trial.name} fails in {failed.name}: {how_it_ended(failed.failure)}"
    message = message_in(failed.failure.detail)
    if message is None:
        return replace(check, found=found)
    return replace(check, found=f"{found} ({message.meaning})")


def _timed(trial: DeviceTrial) -> str:
    words = [
        f"{operation.name} {operation.first_seconds:.3f} s, again {operation.second_seconds:.4f} s"
        for operation in trial.operations
        if operation.first_seconds is not None and operation.second_seconds is not None
    ]
    return f"{trial.name}: {'; '.join(words) or 'not timed'}"
