"""Gathers the `Facts` of a machine: looked up in files, asked of the driver, and proved in a `Child`."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from ssd_detect import __version__
from ssd_detect.doctor.child import Child
from ssd_detect.doctor.facts import (
    PACKAGES,
    TENSORFLOW,
    DeviceTrial,
    DriverFacts,
    Facts,
    Failure,
    GpuReport,
    LibrarySearch,
    Record,
    TensorFlowFacts,
    TrialFacts,
    Tried,
)
from ssd_detect.doctor.probes.driver import driver_facts, gpu_report, tried_library
from ssd_detect.doctor.probes.look_up import Attempts, kernel_cache_of, look_up, windows_bus
from ssd_detect.doctor.probes.sources import Sources
from ssd_detect.doctor.situation import expects_gpu

Tell = Callable[[str], None]
_R = TypeVar("_R", bound=Record)


@dataclass(frozen=True)
class Patience:
    """How many seconds a question may take.

    Args:
        an_import: TensorFlow's takes 7 s from a cold disk, and far more over a network.
        detection: on a new kind of GPU the first call compiles kernels; up to twenty minutes were reported.
        encoding: all encoders together.
        driver: a question to NVIDIA's driver, which hangs on a dead GPU.
        command: a small program such as ldconfig.
    """

    an_import: float = 120.0
    detection: float = 1200.0
    encoding: float = 60.0
    driver: float = 20.0
    command: float = 10.0


_PATIENCE = Patience()
# All of a quick run has two seconds; a GPU that takes longer than this to wake is reported as unknown.
_QUICK = Patience(driver=1.0, command=0.5)


def gather(
    device: str,
    tell: Tell = lambda step: None,
    patience: Patience | None = None,
    *,
    quick: bool = False,
    sources: Sources | None = None,
) -> Facts:
    """Find out everything.

    Args:
        device: `auto`, `cpu` or `gpu:N`: where detection is tried.
        tell: gets the name of each step before it begins.
        patience: when a step is given up.
        quick: import and try nothing.
        sources: where to look; this machine unless told otherwise. What a child process does is done on this machine.
    """
    sources, attempts = sources or Sources.of_this_machine(), Attempts()
    patience = patience or (_QUICK if quick else _PATIENCE)
    tell("system")
    facts = Facts(
        own_version=__version__, device_asked=device, quick=quick, **look_up(sources, attempts, patience.command)
    )
    if sources.kind != "Darwin":  # which has no NVIDIA driver any more
        facts = _ask_driver(facts, sources, attempts, tell, patience)
    if expects_gpu(facts):
        cache = kernel_cache_of(sources, attempts)
        facts = replace(facts, **{**cache, "folders": (*facts.folders, *cache["folders"])})
    if not quick:
        bus = windows_bus(attempts, patience.command) if sources.kind == "Windows" else facts.bus
        facts = _prove(replace(facts, bus=bus), tell, patience)
    return replace(facts, log="".join(f"{note}\n" for note in attempts.notes) + facts.log)


def _ask_driver(facts: Facts, sources: Sources, attempts: Attempts, tell: Tell, patience: Patience) -> Facts:
    """NVML and CUDA are asked at the same time, by two children: either may need a second to wake the GPUs."""
    tell("NVIDIA driver")
    # The children end first, and with them what waits for their answers.
    with ThreadPoolExecutor(1) as pool, Child("auto") as one, Child("auto") as other:
        waking = pool.submit(
            attempts.of, gpu_report, one, sources, patience.driver, patience.command, otherwise=GpuReport()
        )
        driver = attempts.of(driver_facts, other, patience.driver, otherwise=DriverFacts())
        search = facts.library_search if facts.quick else _loaded(facts.library_search, other, tell, patience)
        report = waking.result()
    log = facts.log + one.log + other.log
    return replace(facts, gpu_report=report, driver=driver, library_search=search, log=log)


def _loaded(search: LibrarySearch, child: Child, tell: Tell, patience: Patience) -> LibrarySearch:
    tell("CUDA and cuDNN libraries")
    return replace(search, libraries=tuple(tried_library(child, one, patience.driver) for one in search.libraries))


def _prove(facts: Facts, tell: Tell, patience: Patience) -> Facts:
    """Import and try: what could fail, hang or kill is asked of a child."""
    with Child(facts.device_asked) as child:
        packages = {
            package.module: _imported(child, package.module, package.name, tell, patience) for package in PACKAGES
        }
        tensorflow = _tensorflow(child, tell, patience)
        proved: dict[str, Any] = {"packages": packages, "tensorflow": tensorflow}
        if not isinstance(tensorflow, Failure):
            tell("devices")
            proved["device_trials"] = _records(DeviceTrial, child.ask("devices", patience.detection))
            proved["trial"] = _trial(child, tell, patience)
        tell("encoders and fonts")
        for name in ("encoders", "fonts"):
            proved[name] = _records(Tried, child.ask(name, patience.encoding))
    facts = replace(facts, **proved, log=facts.log + child.log)
    return _with_cpu_trial(facts, tell, patience) if isinstance(facts.trial, Failure) else facts


def _imported(child: Child, module: str, name: str, tell: Tell, patience: Patience) -> str | Failure:
    tell(name)
    answer: str | Failure = child.ask(module, patience.an_import)
    return answer


def _tensorflow(child: Child, tell: Tell, patience: Patience) -> TensorFlowFacts | Failure:
    tell(TENSORFLOW.name)
    answer = child.ask(TENSORFLOW.module, patience.an_import)
    return answer if isinstance(answer, Failure) else TensorFlowFacts.from_json(answer)


def _records(kind: type[_R], answer: Any) -> tuple[_R, ...] | Failure:
    return answer if isinstance(answer, Failure) else tuple(kind.from_json(one) for one in answer)


def _trial(child: Child, tell: Tell, patience: Patience) -> TrialFacts | Failure:
    tell("detection")
    answer = child.ask("detection", patience.detection)
    return answer if isinstance(answer, Failure) else TrialFacts.from_json(answer)


def _with_cpu_trial(facts: Facts, tell: Tell, patience: Patience) -> Facts:
    """Detection on the CPU too, where the GPU may be to blame."""
    has_gpu = isinstance(facts.tensorflow, TensorFlowFacts) and bool(facts.tensorflow.gpus)
    if facts.device_asked == "cpu" or not (has_gpu or facts.device_asked.startswith("gpu")):
        return facts
    with Child("cpu") as child:
        trial = _trial(child, tell, patience)
    return replace(facts, cpu_trial=trial, log=facts.log + child.log)
